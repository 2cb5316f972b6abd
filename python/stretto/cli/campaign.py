"""``stretto campaign``: measures all layouts of a cluster, and makes one table for each MPI."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import files, mpis, platforms
from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.campaign import submit as slurm
    from stretto.campaign.begun import refuse_place
    from stretto.campaign.command import finish, lines_of, outcome_json, plan_of, request_of
    from stretto.campaign.request import Request
    from stretto.campaign.run import run_campaign
    from stretto.campaign.status import read_status, status_lines

EXAMPLE = """stretto campaign plan cluster.toml        # what it would measure, and how long
stretto campaign run cluster.toml         # measures; the same command continues
stretto campaign run --nodes 1,2,4 --ppn 1,2 --hosts a,b,c,d --collective allreduce
stretto campaign status cluster.campaign
stretto campaign submit cluster.toml --time 4:00:00 --print"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


def _options(
    file: Annotated[
        Path | None,
        typer.Argument(help="Campaign file; options override it.", autocompletion=files(".toml")),
    ] = None,
    collectives: o.Collective = None,
    sizes: Annotated[str | None, o.option(o.WHAT, f"Sizes in bytes: {o.SIZES}.", "--bytes")] = None,
    candidates: o.Candidates = None,
    platform: Annotated[
        str | None,
        o.option(
            o.WHAT,
            "Platform for a simulation that excludes slow candidates.",
            autocompletion=platforms,
        ),
    ] = None,
    interpolate: Annotated[
        str | None, o.option(o.WHAT, "Layouts that get interpolated rows: 3x2,6x2.")
    ] = None,
    refine: Annotated[
        Path | None,
        o.option(
            o.WHAT,
            "Simulated table for layouts that are not measured.",
            autocompletion=files(".table"),
        ),
    ] = None,
    separate_launches: o.SeparateLaunches = False,
    seed: Annotated[int | None, o.option(o.WHAT, "Random seed (1).")] = None,
    nodes: Annotated[str | None, o.option(o.JOB, f"Nodes: {o.COUNTS}.")] = None,
    ppn: Annotated[str | None, o.option(o.JOB, f"Ranks per node: {o.COUNTS}.")] = None,
    hosts: o.Hosts = None,
    mpis: Annotated[
        str | None,
        o.option(o.JOB, "MPIs, one after another: openmpi,mpich.", "--mpi", autocompletion=mpis),
    ] = None,
    launcher: Annotated[str | None, o.option(o.JOB, "mpirun, srun or auto.")] = None,
    parallel: Annotated[
        bool, o.option(o.JOB, "Measure layouts side by side on disjoint nodes.", "--parallel")
    ] = False,
    launches: Annotated[
        int | None, o.option(o.COST, "Maximum launches of a candidate (36).", min=1)
    ] = None,
    budget: o.Budget = None,
    out: Annotated[Path | None, o.out_file("Directory (default: NAME.campaign).")] = None,
    as_json: o.Json = False,
) -> None:
    """What `run` and `plan` have in common."""


def _request(file: Path | None, given: dict[str, Any]) -> Request:
    if file is not None and file.is_dir():
        raise UsageError(
            f"{file} is a directory", "FILE",
            f"give the campaign file, or: stretto campaign status {shlex.quote(str(file))}",
        )  # fmt: skip
    given["bytes"] = given.pop("sizes", None)
    return request_of(file, {k: v for k, v in given.items() if v is not None and v is not False})


@app.command("plan")
@o.sharing(_options)
def plan(file: Path | None, as_json: bool, **given: Any) -> None:
    """Print what a campaign would measure and how long that takes; measure nothing."""
    found = plan_of(_request(file, given), say)
    if as_json:
        print_json(found)


@app.command("run")
@o.sharing(_options)
def run(file: Path | None, as_json: bool, *, yes: o.Yes = False, **given: Any) -> None:
    """Measure all layouts of a cluster, and write one table for each MPI.

    The same command continues after an interruption. Several processes may share a directory.
    """
    request = _request(file, given)
    outcomes = run_campaign(request, ["stretto", *sys.argv[1:]], say, yes)
    if as_json:
        mpis = [outcome_json(o) for o in outcomes]
        print_json({"directory": str(request.out), "mpis": mpis})
    else:
        print("\n".join(line for outcome in outcomes for line in lines_of(outcome)))
    raise typer.Exit(finish(request, outcomes, say))


@app.command("status")
def status(
    directory: Annotated[Path, typer.Argument(help="Campaign directory.", autocompletion=files())],
    verbose: Annotated[
        bool,
        o.option(
            o.OUTPUT, "List every candidate that was dropped, with the reason.", "--verbose", "-v"
        ),
    ] = False,
    as_json: o.Json = False,
) -> None:
    """Show the progress of a campaign: by layout, excluded candidates, time left."""
    if directory.suffix == ".toml" and directory.is_file():
        out = shlex.quote(str(request_of(directory, {}).out))
        raise UsageError(
            "this is a campaign file, not a campaign directory", str(directory),
            f"stretto campaign status {out}",
        )  # fmt: skip
    with Progress("reading the results"):
        found = read_status(directory)
    if as_json:
        print_json(found)
        return
    print("\n".join(status_lines(found, verbose)))


@app.command("submit")
def submit(
    file: Annotated[Path, typer.Argument(help="Campaign file.", autocompletion=files(".toml"))],
    time: Annotated[
        str,
        o.option(o.COST, "Time limit of a job: 4:00:00, 90m, 4h, or minutes; 5 minutes or more."),
    ] = "4:00:00",
    jobs: Annotated[
        int, o.option(o.JOB, "Simultaneous jobs (a job array), each on separate nodes.", min=1)
    ] = 1,
    sbatch: Annotated[
        list[str] | None,
        o.option(o.JOB, "One more option for sbatch: '--partition=hpc' (may be repeated)."),
    ] = None,
    show: Annotated[
        bool, o.option(o.OUTPUT, "Print the script; submit nothing.", "--print")
    ] = False,
    as_json: o.Json = False,
) -> None:
    """Submit a campaign to Slurm; it measures on the nodes of the job.

    The job requests the nodes of the largest layout, or those of `hosts` if there are as many.
    It ends before its time limit, requeues itself, and then continues.
    """
    job = slurm.SlurmJob(slurm.seconds(time), jobs, tuple(sbatch or []))
    request = _request(file, {})
    slurm.refuse_job(request, job)
    if not show:
        refuse_place(request.out)
    for line in [*slurm.cost_lines(request, say), *slurm.host_lines(request, job)]:
        say(f"stretto: {line}")
    if show:
        print(slurm.script(request, file, job, os.environ), end="")
        return
    path, number = slurm.submit(request, file, job)
    if as_json:
        print_json({"job": number, "script": str(path), "directory": str(request.out)})
        return
    print(f"job {number}: {path}; next: stretto campaign status {shlex.quote(str(request.out))}")
