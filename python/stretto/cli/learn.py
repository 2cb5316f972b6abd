"""``stretto learn``: one run of a command that gets faster while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stretto.cli import options as o

EXAMPLE = """\
stretto learn -- mpirun -n 64 ./app input.dat
stretto learn --reproducible -- srun -n 128 ./app
stretto learn --out site.table --table site.table -- mpirun -n 64 ./app"""


def command(
    cmd: o.CommandLine = None,
    table: o.AppliedTable = None,
    out: Annotated[
        Path | None,
        o.option(
            o.OUTPUT, "Table to write (default: stretto-APP/APP.learned.table).", "--out", "-o"
        ),
    ] = None,
    reproducible: Annotated[
        bool,
        o.option(o.RUNS, "Keep one order of sums; learn only collectives without sums."),
    ] = False,
    mpi: o.ScriptMpi = None,
    verbose: o.Verbose = False,
) -> None:
    """Run CMD once, learn which algorithm is fastest for its calls, and write a table.

    The calls of CMD itself try candidates against the native algorithm, in short blocks. At the
    end the output states the time saved, with an interval. The next run starts with the table.
    Blocking collectives with more than 200 calls of one size class are tried; a choice needs some
    hundred calls more.
    """
    from stretto.cli.start import start

    start(cmd or [], table, mpi=mpi, verbose=verbose, learn=True, out=out, fixed=reproducible)
