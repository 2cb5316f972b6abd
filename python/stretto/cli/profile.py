"""``stretto profile``: one run with the recorder, one file, and a readable table."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.apply import settings_for
from stretto.cli.options import CommandLine
from stretto.errors import UsageError
from stretto.files.profile import format_profile, read_profile
from stretto.output import beside_command, print_json, say
from stretto.profile.record import check_result, record
from stretto.profile.show import show, wide_console

EXAMPLE = """\
stretto profile -- mpirun -n 64 ./app input.dat
stretto profile -o before.profile.json -- srun -n 128 ./app
stretto profile --show before.profile.json"""


def command(
    cmd: CommandLine = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The profile to write; by default PROGRAM.profile.json here."
        ),
    ] = None,
    shown: Annotated[
        Path | None,
        typer.Option("--show", metavar="FILE", help="Run nothing: display a profile again."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Record the run with this table applied (see stretto run).")
    ] = None,
    choice: Annotated[
        str | None, typer.Option(help="Record the run with these choices: 'allreduce=shm'.")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(help="MPI of a script: openmpi, mpich, intel, or a launcher's path."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of call shapes to list.")] = 15,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the profile itself, as JSON, to stdout.")
    ] = False,
) -> None:
    """Run CMD with the recorder and write one profile.

    Every MPI call is counted and timed per rank, communicator, size and operation; in
    collectives, waiting for the last rank is separated from the operation. A command that fails or
    is killed also leaves its profile (exit code 3). If a script starts several MPI programs, each
    gets a file, the longest one the given name. If stdout is a file or a pipe, the table goes to
    stderr.

    Parameters
    ----------
    cmd, output, shown, table, choice, mpi, top, as_json
        See the help text.
    """
    if shown is not None:
        if cmd:
            raise UsageError("--show runs nothing", remedy="leave either --show or CMD away")
        profile = read_profile(shown)
        if as_json:
            print_json(json.loads(format_profile(profile)))
        else:
            show(profile, wide_console(), top)
        return
    # with --json stdout is one JSON document: what the command prints goes to stderr
    applied = None
    if table is not None or choice is not None:
        applied = functools.partial(settings_for, table=table, choice=choice, verbose=False)
    recorded = record(cmd or [], output, mpi, applied, capture="yes" if as_json else "no")
    if as_json:
        sys.stderr.write(recorded.result.stdout + recorded.result.stderr)
        print_json(json.loads(format_profile(recorded.profile)))
    else:
        show(recorded.profile, wide_console(beside_command()), top)
    for note in [*recorded.job.notes, *recorded.joined[0].notes]:
        say(f"stretto: note: {note}")
    say(f"stretto: the profile is in {recorded.paths[0]}")
    for path in recorded.paths[1:]:
        say(f"stretto: another MPI program of this run: {path}")
    check_result(recorded)
