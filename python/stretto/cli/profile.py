"""``stretto profile``: one run with the recorder, one file, and a readable table."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.complete import files
from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import beside_command, print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.cli.apply import settings_for
    from stretto.files.profile import format_profile, read_profile
    from stretto.profile.record import check_result, record
    from stretto.profile.show import show, wide_console

EXAMPLE = """\
stretto profile -- mpirun -n 64 ./app input.dat
stretto profile -o before.profile.json -- srun -n 128 ./app
stretto profile --show before.profile.json"""


def command(
    cmd: o.CommandLine = None,
    shown: Annotated[
        Path | None,
        o.option(
            o.RUNS,
            "Run nothing: display a profile again.",
            "--show",
            metavar="FILE",
            autocompletion=files(".profile.json"),
        ),
    ] = None,
    table: Annotated[
        Path | None,
        o.option(o.JOB, "Record the run with this table applied.", autocompletion=files(".table")),
    ] = None,
    choice: o.Choice = None,
    mpi: o.ScriptMpi = None,
    out: o.OutProfile = None,
    top: Annotated[int, o.option(o.OUTPUT, "Number of call shapes to list.", min=1)] = 15,
    as_json: o.Json = False,
) -> None:
    """Run CMD with the recorder and write one profile.

    Every MPI call is counted and timed per rank, communicator, size and operation. In collectives,
    waiting for the last rank is separated from the operation. A command that fails or is killed
    also leaves a profile (exit code 3). If a script starts several MPI programs, each gets a file,
    and the longest one gets the given name. If stdout is a file or a pipe, the table goes to
    stderr.
    """
    if shown is not None:
        if cmd:
            raise UsageError("--show runs nothing", remedy="leave out --show or CMD")
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
    with Progress("running the command", quiet=not as_json):
        recorded = record(cmd or [], out, mpi, applied, capture="yes" if as_json else "no")
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
