"""Starting a real MPI program with a command's launcher: whether the ranks find each other."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping

from stretto.built import library
from stretto.check.finding import Finding
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.launch.execute import Result
from stretto.launch.job import Job

_LIMIT_S = 20
#: the types of srun --mpi by which an MPI finds its other ranks, the best first
_TYPES = {
    "openmpi": r"pmix(_v\d+)?\Z",
    "mpich": r"(cray_shasta|pmi2|pmix(_v\d+)?)\Z",
    "intel": r"(pmi2|pmix(_v\d+)?)\Z",
}
#: what a shell ends with that cannot start a program
_NOT_THERE = (126, 127)


def start_words(job: Job, more: Mapping[str, str] | None = None) -> str:
    """Return a line of shell that becomes an MPI program; empty where none is built.

    Parameters
    ----------
    job
        The job.
    more
        Variables that it gets besides.
    """
    try:
        program = library("bench", job.mpi.abi)
    except StrettoError:
        return ""
    needed = [f"{n}={v}" for n, v in {**job.mpi.environment(), **(more or {})}.items()]
    return f"; exec {shlex.join(['env', *needed, str(program), '--hello'])}"


def judge_start(job: Job, started: int, result: Result) -> Finding | None:
    """Judge how the MPI program fared; None where its ranks found each other, or it is not there.

    Parameters
    ----------
    job, result
        The job, and what its launcher did with `start_words`.
    started
        How many ranks the launcher has started.
    """
    sizes = [int(n) for n in re.findall(r"stretto-bench: rank \d+ of (\d+)", result.stdout)]
    if result.status in _NOT_THERE or (sizes and (started == 1 or max(sizes) > 1)):
        return None
    remedy = _remedy(job)
    if sizes:
        return Finding(
            "launch",
            "problem",
            f"each of {started} ranks runs as a job of one rank: this launcher does not connect "
            f"programs of {job.mpi.name}",
            remedy,
            "alone",
        )
    said = " ".join(x.strip() for x in result.stderr.splitlines() if re.search(r"\w", x))
    how = f"do not all come through MPI_Init{' in time' if result.timed_out else ''}"
    return Finding(
        "launch",
        "problem",
        f"{counted(started, 'rank')} of {job.mpi.name} {how}: {said[:240] or 'no reason is given'}",
        remedy,
        "no-start",
    )


def _remedy(job: Job) -> str:
    if job.command.kind != "slurm":
        return f"start it with the mpirun or mpiexec of {job.mpi.name}"
    listed = srun_types(job)
    pattern = re.compile(_TYPES[job.mpi.family])
    fitting = sorted((t for t in listed if pattern.match(t)), key=lambda t: (len(t), t))
    given = [v for values in job.command.values("mpi") for v in values]
    left = [t for t in fitting if t not in given]
    if left:
        return f"srun --mpi={left[0]} (srun --mpi=list has {', '.join(listed)})"
    return (
        f"srun --mpi=list has {', '.join(listed) or 'nothing'}: use the mpirun or mpiexec of "
        f"{job.mpi.name} inside the allocation"
    )


def srun_types(job: Job) -> list[str]:
    """Return the types that ``srun --mpi=list`` prints, none where it does not answer.

    Parameters
    ----------
    job
        A job that begins with srun.
    """
    try:
        done = subprocess.run(
            [str(job.command.launcher), "--mpi=list"],
            env=job.environ, capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    # Slurm 20 writes "srun: pmi2" to stderr, Slurm 22 a list, and the versions of pmix behind it
    lines = [re.sub(r"^srun:", "", x).strip() for x in (done.stdout + done.stderr).splitlines()]
    return [x for x in lines if re.fullmatch(r"[a-z]\w*", x)]
