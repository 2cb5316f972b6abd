"""``stretto env``: the lines for a job script which then needs no Python."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.complete import mpis
from stretto.cli.lazy import lazily
from stretto.errors import UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.cli.apply import applied_to
    from stretto.launch.command import Command
    from stretto.launch.inject import rank_variables
    from stretto.launch.job import Job, understand
    from stretto.launch.layout import JobLayout
    from stretto.mpi.detect import find_installation

EXAMPLE = """\
stretto env -- mpirun -n 64 ./app > stretto.sh
stretto env --table my.table --mpi openmpi
eval "$(stretto env --mpi mpich --nodes 4 --ppn 64)" """.rstrip()


def command(
    cmd: o.CommandLine = None,
    table: o.AppliedTable = None,
    choice: o.Choice = None,
    settings: o.AppliedSettings = None,
    mpi: Annotated[
        str | None,
        o.option(
            o.JOB,
            "The MPI, instead of CMD: openmpi, mpich, intel, or a launcher's path.",
            autocompletion=mpis,
        ),
    ] = None,
    nodes: Annotated[
        int | None, o.option(o.JOB, "Nodes of the job, to find its table.", min=1)
    ] = None,
    ppn: Annotated[
        int | None, o.option(o.JOB, "Ranks per node of the job, to find its table.", min=1)
    ] = None,
    verbose: o.Verbose = False,
    as_json: o.Json = False,
) -> None:
    """Print shell lines for a job script without Python.

    They set LD_PRELOAD and STRETTO_TABLE on all nodes. Write them to a file, and put
    `source ./stretto.sh` into the job script above the line with mpirun, mpiexec or srun. Below
    that line they have no effect, and the job runs without Stretto and without a message. With
    --verbose, a job that loads Stretto prints its algorithms.
    """
    job = _job(cmd, mpi, nodes, ppn)
    for note in job.notes:
        say(f"stretto: note: {note}")
    applied = applied_to(job, table, choice, verbose, settings)
    variables = (
        rank_variables(job, applied.libraries, applied.variables) if applied.libraries else {}
    )
    lines = job.mpi.script_environment(variables, job.environ) if variables else {}
    lines |= applied.settings
    if as_json:
        print_json({"variables": lines, "says": applied.words})
        return
    print(f"# stretto: {applied.words}")
    for name, value in lines.items():
        print(f"export {name}={shlex.quote(value)}")


def _job(cmd: list[str] | None, mpi: str | None, nodes: int | None, ppn: int | None) -> Job:
    if cmd:
        job = understand(cmd, mpi=mpi)
    elif mpi is not None:
        environ = dict(os.environ)
        job = Job(
            Command(()), find_installation(mpi), JobLayout(None, None, None), environ, Path.cwd()
        )
    else:
        raise UsageError(
            "neither a command nor an MPI was given",
            None,
            "stretto env -- mpirun -n 64 ./app, or: stretto env --mpi openmpi --nodes 1 --ppn 64",
        )
    if nodes is None and ppn is None:
        return job
    layout = JobLayout(
        job.layout.nranks, nodes or job.layout.nodes, ppn or job.layout.ppn, job.layout.hosts
    )
    return replace(job, layout=layout)
