"""``stretto run``: a command with the tuned collectives of a table."""

from __future__ import annotations

from stretto.cli import options as o

EXAMPLE = """\
stretto run -- mpirun -n 64 ./app input.dat
stretto run --table my.table -- srun -n 128 ./app
stretto run --choice 'allreduce=shm;bcast=shm' --verbose -- mpirun -n 4 ./app"""


def command(
    cmd: o.CommandLine = None,
    table: o.AppliedTable = None,
    choice: o.Choice = None,
    settings: o.AppliedSettings = None,
    mpi: o.ScriptMpi = None,
    verbose: o.Verbose = False,
) -> None:
    """Run CMD with the tuned collectives of a table.

    CMD is your usual command with its launcher, or a script that calls the launcher. Without a
    table and --choice, nothing changes, and one line reports this. CMD replaces this process, so
    exit code and signals are those of the job.
    """
    from stretto.cli.start import start

    start(cmd or [], table, choice, settings, mpi, verbose)
