"""``stretto run``: a command with the tuned collectives of a table."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.cli.options import AppliedSettings, AppliedTable, CommandLine

EXAMPLE = """\
stretto run -- mpirun -n 64 ./app input.dat
stretto run --table my.table -- srun -n 128 ./app
stretto run --choice 'allreduce=shm;bcast=shm' --verbose -- mpirun -n 4 ./app"""


def command(
    cmd: CommandLine = None,
    table: AppliedTable = None,
    choice: Annotated[
        str | None,
        typer.Option(help="Choices for all sizes, before the table: 'allreduce=shm;bcast=ring'."),
    ] = None,
    settings: AppliedSettings = None,
    mpi: Annotated[
        str | None,
        typer.Option(help="MPI of a script: openmpi, mpich, intel, or a launcher's path."),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print which algorithm runs for each call, and why."),
    ] = False,
) -> None:
    """Run CMD with the tuned collectives of a table.

    CMD is the command without Stretto, launcher included, or a script that calls the launcher.
    Without a table and --choice, nothing changes and one line reports it. CMD replaces this
    process: its exit code and its reactions to signals are those of the job.

    Parameters
    ----------
    cmd, table, choice, settings, mpi, verbose
        See the help text.
    """
    from stretto.cli.start import start

    start(cmd or [], table, choice, settings, mpi, verbose)
