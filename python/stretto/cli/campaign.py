"""``stretto campaign``: looks at a campaign (``stretto tune --campaign``), and submits one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.output import print_json, say

EXAMPLE = """stretto tune --campaign cluster.toml --dry-run     # what it would measure, how long
stretto tune --campaign cluster.toml               # measures; the same command goes on
stretto campaign status cluster.campaign
stretto campaign submit cluster.toml --time 4:00:00 --print"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("status")
def status(
    directory: Annotated[Path, typer.Argument(help="The campaign's directory.")],
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Every candidate that was dropped, and why.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how far a campaign is: per layout, excluded candidates, time left."""
    import shlex

    from stretto.campaign.command import request_of
    from stretto.campaign.status import read_status, status_lines
    from stretto.errors import UsageError

    if directory.suffix == ".toml" and directory.is_file():
        out = shlex.quote(str(request_of(directory, {}).out))
        raise UsageError(
            "this is a campaign's file, not its directory",
            str(directory),
            f"stretto campaign status {out}",
        )
    found = read_status(directory)
    if as_json:
        print_json(found)
        return
    print("\n".join(status_lines(found, verbose)))


@app.command("submit")
def submit(
    file: Annotated[Path, typer.Argument(help="The campaign's file.")],
    time: Annotated[
        str,
        typer.Option(help="Limit for each job: as sbatch takes it, 90m, 4h; at least 5 minutes."),
    ] = "4:00:00",
    jobs: Annotated[
        int, typer.Option(min=1, help="Jobs at once (an array), each on nodes of its own.")
    ] = 1,
    sbatch: Annotated[
        list[str] | None,
        typer.Option(help="One more option for sbatch: '--partition=hpc' (may be repeated)."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="Print the script; submit nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Submit a campaign to Slurm: it measures on the nodes of the job.

    The job asks for the nodes of the largest layout, or for those of `hosts` if there are as many.
    It ends before its time limit and goes back into the queue, where it continues.
    """
    import os
    import shlex

    from stretto.campaign.begun import refuse_place
    from stretto.campaign.command import request_of
    from stretto.campaign.sbatch import refuse_short
    from stretto.campaign.submit import (
        SlurmJob,
        cost_lines,
        host_lines,
        refuse_job,
        sbatch_time,
        script,
    )
    from stretto.campaign.submit import submit as hand_in
    from stretto.errors import UsageError

    for option in sbatch or []:
        if not option.startswith("-") or "\n" in option:
            raise UsageError(f"{option!r} is no option", "--sbatch", "write '--partition=hpc'")
    job = SlurmJob(sbatch_time(time), jobs, tuple(sbatch or []))
    refuse_short(job.time, job.options)
    request = request_of(file, {})
    refuse_job(request, job)
    if not show:
        refuse_place(request.out)
    for line in [*cost_lines(request, say), *host_lines(request, job)]:
        say(f"stretto: {line}")
    if show:
        print(script(request, file, job, os.environ), end="")
        return
    path, number = hand_in(request, file, job)
    if as_json:
        print_json({"job": number, "script": str(path), "directory": str(request.out)})
        return
    print(f"job {number}: {path}; next: stretto campaign status {shlex.quote(str(request.out))}")
