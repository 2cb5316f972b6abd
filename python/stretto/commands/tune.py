"""``stretto tune``: measures, decides and writes the table; with CMD, proves the gain on it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from stretto.commands.options import CommandLine
from stretto.errors import UsageError
from stretto.output import say

EXAMPLE = """stretto tune -- mpirun -n 64 ./app input.dat
stretto tune --budget 10m --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun -n 8 ./app
stretto tune -n 2 --collective allreduce,bcast     # a table for all applications
stretto tune --settings -- mpirun -n 64 ./app     # eager limits, HAN, binding, ...
stretto tune --from imported/openmpi-4.0.1-8x36.bench.jsonl     # decide, measure nothing
stretto tune --campaign cluster.toml --dry-run     # all layouts of a cluster: docs/campaign.md
stretto tune --nodes 1,2,4 --ppn 1,2 --hosts a,b,c,d --collective allreduce
stretto tune --platform hpc7g --nodes 2-128 --ppn 64     # simulated, for a cluster to come"""

#: of a table for one layout
SIZES = "8:1M:4"


def command(
    cmd: CommandLine = None,
    budget: Annotated[str | None, typer.Option(help="Time for all of it: 90s, 10m, 1h.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Expression with one group that finds CMD's own figure in its output; of several "
            "matches the last (standard output, then standard error)."
        ),
    ] = None,
    metric_better: Annotated[str, typer.Option(help="lower or higher.")] = "lower",
    metric_unit: Annotated[str | None, typer.Option(help="Its unit, for print-outs.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", help="Directory (without CMD: the table's file)."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=0, help="Pairs of runs of CMD (6; a test needs six).")
    ] = None,
    reset_command: Annotated[
        str | None,
        typer.Option(help="Puts the directory into its first state, instead of a fresh copy."),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Run CMD in this directory, as it is, each time.")
    ] = False,
    nranks: Annotated[
        int | None, typer.Option("-n", "--ranks", min=2, help="Ranks of a general table (2).")
    ] = None,
    ppn: Annotated[
        str | None, typer.Option(help="Ranks per node; of a campaign several: 1,2.")
    ] = None,
    hosts: Annotated[str | None, typer.Option(help="Nodes: a,b,c.")] = None,
    collective: Annotated[str | None, typer.Option(help="Only these: allreduce,bcast.")] = None,
    sizes: Annotated[
        str | None, typer.Option("--bytes", help="Sizes of a general table (8:1M:4).")
    ] = None,
    candidates: Annotated[
        str | None, typer.Option(help="Choices to try; by default all that fit.")
    ] = None,
    launches: Annotated[
        int | None, typer.Option(min=1, help="Launches of the measuring program (10).")
    ] = None,
    mpi: Annotated[
        str | None, typer.Option(help="openmpi, mpich, intel, a launcher, or a prefix.")
    ] = None,
    timeout: Annotated[str | None, typer.Option(help="Longest time of one run of CMD.")] = None,
    seed: Annotated[int, typer.Option(help="Of all orders that are random.")] = 1,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin again instead of going on.")
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Lines of CMD's output that match do not count in the comparison."),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(help="Compare only these files that CMD writes: '*.csv' (all by default)."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, however long.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and measure nothing.")
    ] = False,
    platform: Annotated[
        str | None,
        typer.Option(
            help="Measure nothing: make a table by simulation, for this platform. With --campaign, "
            "or --nodes and --hosts: prices by which a campaign leaves out what is hopeless."
        ),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="A campaign over these: 1,2,4; with --platform also 2-128 (doubling)."),
    ] = None,
    campaign: Annotated[
        Path | None, typer.Option(help="A campaign's file: all layouts, one table.")
    ] = None,
    interpolate: Annotated[
        str | None, typer.Option(help="Of a campaign: layouts to fill in, as 3x2,6x2.")
    ] = None,
    refine: Annotated[
        Path | None,
        typer.Option(help="Of a campaign: a simulated table, for what is not measured."),
    ] = None,
    launcher: Annotated[
        str | None, typer.Option(help="Of a campaign: mpirun, srun or auto.")
    ] = None,
    separate_launches: Annotated[
        bool,
        typer.Option(
            "--separate-launches",
            help="Of a campaign: a launch for each of the MPI's own algorithms, even where several "
            "can alternate in one.",
        ),
    ] = False,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Of a campaign: layouts side by side on the nodes.")
    ] = False,
    results: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Measure nothing: decide from these bench results."),
    ] = None,
    settings: Annotated[
        bool,
        typer.Option(
            "--settings",
            help="Try the MPI's settings on CMD instead: links, eager limits, HAN, single copy, "
            "rails, binding. --candidates 'NAME=VALUE;...' names them.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose algorithms by measurement; with CMD, only for what it uses, and prove the gain on it.

    Without CMD a table for all applications is made for a layout; stretto run finds it by itself.
    """
    from stretto.campaign.request import split_candidates
    from stretto.campaign.settings import parse_collectives, parse_duration, whole
    from stretto.commands.tune_show import show_decided, try_settings, tune_application, tune_layout
    from stretto.files.table import TUNABLE

    if cmd and cmd[0].endswith(".toml"):
        raise UsageError(
            f"{cmd[0]} is no program, but looks like a campaign's file",
            "CMD",
            f"did you mean --campaign {shlex.quote(cmd[0])}?",
        )
    seconds = None if budget is None else parse_duration(budget)
    only = None if collective is None else parse_collectives(collective)
    for name in only or []:
        if name not in TUNABLE:
            raise UsageError(
                f"Stretto leaves {name} to the MPI, so there is nothing to tune",
                "--collective",
                f"there are {', '.join(TUNABLE)}",
            )
    names = None
    if candidates is not None:  # a setting may be several variables, with commas between
        parts = candidates.split(";") if settings else split_candidates(candidates)
        names = [c.strip() for c in parts if c.strip()]
    of_cmd = ((metric, "--metric"), (pairs, "--pairs"), (reset_command, "--reset-command"),
              (in_place or None, "--in-place"), (timeout, "--timeout"), (ignore, "--ignore"),
              (compare, "--compare"), (settings or None, "--settings"))  # fmt: skip
    if results:
        _refuse("--from", (
            (budget, "--budget"), (hosts, "--hosts"), (launches, "--launches"), (nodes, "--nodes"),
            (candidates, "--candidates"), (collective, "--collective"), (platform, "--platform"),
            (nranks, "--ranks"), (ppn, "--ppn"), (sizes, "--bytes"), (mpi, "--mpi"),
            (campaign, "--campaign"), (interpolate, "--interpolate"), (launcher, "--launcher"),
            (refine, "--refine"), (separate_launches or None, "--separate-launches"),
            (dry_run or None, "--dry-run"), (parallel or None, "--parallel"), *of_cmd,
        ))  # fmt: skip
        if cmd:
            raise UsageError(
                f"--from measures nothing, so {shlex.join(cmd)!r} is not run",
                "--from",
                "leave CMD out; several files: --from A --from B",
            )
        show_decided(results, out, as_json)
        return
    sweeps = {"--campaign": campaign, "--interpolate": interpolate, "--launcher": launcher,
              "--refine": refine, "--parallel": parallel or None,
              "--separate-launches": separate_launches or None}  # fmt: skip
    # there are hosts to measure on: then a platform is what it is in a campaign's file, prices
    priced = campaign is not None or (nodes is not None and hosts is not None)
    if not cmd and (priced or (nodes is not None and platform is None)):
        from stretto.sweep.command import tune_campaign

        if restart:
            raise UsageError(
                "a campaign never throws results away", "--restart", "name a new directory: --out"
            )
        _refuse(
            "a campaign", ((nranks, "--ranks"), *of_cmd), "ranks are nodes x --ppn; no CMD runs"
        )
        code = tune_campaign(
            campaign,
            {"nodes": nodes, "ppn": ppn, "hosts": hosts, "collectives": collective, "bytes": sizes,
             "candidates": candidates, "launches": launches, "budget": budget, "mpis": mpi,
             "out": None if out is None else str(out), "interpolate": interpolate,
             "refine": None if refine is None else str(refine),
             "launcher": launcher, "seed": seed if seed != 1 else None, "platform": platform,
             "separate_launches": separate_launches or None, "parallel": parallel or None},
            say, yes, dry_run, as_json,
        )  # fmt: skip
        raise typer.Exit(code)
    for option, given in sweeps.items():
        if given is not None:
            what = "CMD (a campaign runs no command)" if cmd else "--platform"
            raise UsageError(f"{option} is of a campaign", option, f"leave {what} or it out")
    if ppn is not None and not (whole(ppn) and int(ppn) > 0):
        raise UsageError(f"{ppn!r} is no number of ranks", "--ppn", "several need --nodes, too")
    each = None if ppn is None else int(ppn)
    if platform is not None or nodes is not None:
        from stretto.commands.tune_simulated import tune_by_simulation

        for value, option in ((budget, "--budget"), (hosts, "--hosts"), (launches, "--launches"),
                              (candidates, "--candidates")):  # fmt: skip
            if value is not None and not cmd:
                raise UsageError(f"{option} has no meaning with --platform", option, "leave it out")
        tune_by_simulation(
            cmd, platform, nodes, each, only, sizes or SIZES, mpi, out, seed, as_json, dry_run
        )
        return
    if cmd:
        limit = None if timeout is None else parse_duration(timeout, "--timeout")
        from stretto.tune.outputs import Rules
        from stretto.tune.place import COPIES, Place
        from stretto.tune.stage import Options
        from stretto.tune.trials import make_metric

        if reset_command is not None and in_place:
            raise UsageError("--reset-command and --in-place exclude one another", None, "take one")
        directory = _directory(cmd, out, mpi)
        options = Options(
            words=cmd,
            out=directory,
            metric=make_metric(metric, metric_better, metric_unit),
            place=Place(Path.cwd(), directory / COPIES, reset_command, in_place),
            budget_s=seconds,
            pairs=pairs,
            launches=launches,
            only=only,
            candidates=names,
            mpi=mpi,
            timeout_s=limit,
            seed=seed,
            restart=restart,
            rules=Rules(tuple(ignore or []), tuple(compare or [])),
            yes=yes,
            dry_run=dry_run,
        )
        if settings:
            if only is not None or launches is not None:
                raise UsageError("--settings is of no collective", None, "leave them out")
            try_settings(options, as_json)
            return
        tune_application(options, as_json)
        return
    if "--" in sys.argv:
        raise UsageError("there is no command after --", None, "write: -- mpirun -n 4 ./app")
    for unused, option in (
        (metric, "--metric"),
        (pairs, "--pairs"),
        (reset_command, "--reset-command"),
        (settings, "--settings"),
        (ignore, "--ignore"),
        (compare, "--compare"),
    ):
        if unused:
            raise UsageError(f"{option} needs a command", None, "give it after --: -- mpirun ./app")
    from stretto.campaign.request import where
    from stretto.tune.general import LayoutRequest

    request = LayoutRequest(
        where(nranks or 2, each, hosts, mpi), out, only, sizes or SIZES, names, launches or 10,
        seconds, seed, restart, yes, dry_run,
    )  # fmt: skip
    tune_layout(request, as_json)


def _refuse(where: str, given: Iterable[tuple[object, str]], remedy: str = "leave it out") -> None:
    """Refuse options that would silently do nothing."""
    for value, option in given:
        if value is not None:
            raise UsageError(f"{option} has no meaning with {where}", option, remedy)


def _directory(words: list[str], out: Path | None, mpi: str | None) -> Path:
    """Return tune's output directory for a command."""
    from stretto.launch.job import understand
    from stretto.launch.naming import tuned_directory

    directory = out or tuned_directory(understand(words, mpi=mpi))
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "--out", "name another")
    if directory.resolve() == Path.cwd().resolve():  # what lies in it would be taken for tune's own
        raise UsageError(
            "tune cannot keep its own files among those of the case", "--out",
            "name another directory, a new one for example",
        )  # fmt: skip
    return directory.absolute()
