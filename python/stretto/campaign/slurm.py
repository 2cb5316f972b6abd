"""What Slurm reports of jobs, nodes and processors, and how its srun starts ranks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

from stretto.campaign.layout import Layout
from stretto.errors import StrettoError
from stretto.measure.commandline import Starter
from stretto.mpi.base import MPIInstallation

#: what `srun --mpi=` wants for each family, the first that this Slurm has
MPI_TYPES = {
    "openmpi": ("pmix", "pmix_v5", "pmix_v4", "pmix_v3"),
    "mpich": ("pmi2", "cray_shasta", "pmix"),
    "intel": ("pmi2", "pmix"),
}
#: of a job that asked for other ranks, cores, hosts, or another place for what they print: each
#: step says its own
_STEP = (
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_TASKS_PER_NODE",
    "SRUN_CPUS_PER_TASK",
    "SLURM_DISTRIBUTION",
    "SLURM_HOSTFILE",
    "SLURM_EXCLUSIVE",
    "SLURM_CPU_BIND",
    "SLURM_EXPORT_ENV",
    "SRUN_EXPORT_ENV",
    "SLURM_STDINMODE",
    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",
    "SLURM_LABELIO",
    "LD_PRELOAD",
)


def run(*words: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str] | None:
    """Run one of Slurm's commands; None where it cannot be run, or does not answer.

    What the user has set for squeue (states, partitions, users) would leave out jobs that run.
    """
    own = ("SQUEUE_", "SLURM_CLUSTERS")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(own)}
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=timeout_s, check=False,
            stdin=subprocess.DEVNULL, env=environ,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None


def cores_of_job(environ: Mapping[str, str]) -> int | None:
    """Return the cores that a Slurm job may use on each node, the fewest; None: it does not say.

    `environ`: the environment, where ``SLURM_JOB_CPUS_PER_NODE`` reads like ``36(x8),18``; hardware
    threads of one core, which it may count, count once.
    """
    fewest = cpus_of_job(environ)
    return None if fewest is None else -(-fewest // per_core(environ))


def cpus_of_job(environ: Mapping[str, str]) -> int | None:
    """Return the processors, as Slurm counts them, that a job may use on each node, the fewest."""
    words = environ.get("SLURM_JOB_CPUS_PER_NODE", "")
    found = [re.fullmatch(r"([0-9]+)(\(x[0-9]+\))?", word) for word in words.split(",")]
    numbers = [int(m[1]) for m in found if m is not None]
    return min(numbers) if len(numbers) == len(found) and min(numbers, default=0) > 0 else None


def per_core(environ: Mapping[str, str]) -> int:
    """Return how many of the processors that a Slurm job reports are one core.

    Seen with Slurm 22.05, nodes of 4 cores with 2 threads each, all their cores in the job:
    ``SLURM_JOB_CPUS_PER_NODE`` is 8, but 4 with ``--hint=nomultithread`` or
    ``--threads-per-core=1``, which ``SLURM_THREADS_PER_CORE`` tells. Where a site has given its
    nodes as many CPUs as they have cores, cores are counted as well.
    """
    asked = environ.get("SLURM_THREADS_PER_CORE", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    names = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST")
    if not names or shutil.which("scontrol") is None:
        return 1
    done = run("scontrol", "show", "node", "-o", names)
    if done is None or done.returncode != 0:
        return 1  # as many cores as processors, then, unless the nodes report fewer
    return max((_of_node(line) for line in done.stdout.splitlines()), default=1)


def _of_node(line: str) -> int:
    said = {k: int(n) for k, n in re.findall(r"\b(\w+)=(\d+)(?=\s|$)", line)}
    cores = said.get("Sockets", 0) * said.get("CoresPerSocket", 0)
    if cores == 0:
        return 1
    return max(1, min(said.get("ThreadsPerCore", 1), said.get("CPUTot", 0) // cores))


def find_mpi_type(installation: MPIInstallation) -> str:
    """Return what to give ``srun --mpi=`` for an MPI, of what this Slurm has."""
    wanted = MPI_TYPES[installation.family]
    done = run("srun", "--mpi=list")
    if done is None:
        raise StrettoError("srun cannot be asked", "srun --mpi=list")
    there = (done.stdout + done.stderr).replace(",", " ").split()
    for name in wanted:
        if name in there:
            return name
    raise StrettoError(
        f"this Slurm cannot start {installation.name}: it has none of {', '.join(wanted)}",
        "srun --mpi=list",
        "use launcher = 'mpirun'",
    )


def srun_starter(mpi_type: str) -> Callable[[Layout, Sequence[str]], Starter]:
    """Return what makes a starter for a layout on some of the allocation's nodes.

    One rank a core, hyperthreads left alone, node after node, with the environment that this
    process has, also in a job that was submitted without one (``--export=NONE``). ``--overlap``
    lets the step share the cores of a step around it (an interactive one), where it would otherwise
    wait for ever. The variables are set by ``env`` on the nodes: LD_PRELOAD must not reach srun
    itself.

    `mpi_type`: for ``--mpi=``.
    """

    def of(layout: Layout, hosts: Sequence[str]) -> Starter:
        def start(
            program: list[str], variables: dict[str, str]
        ) -> tuple[list[str], dict[str, str]]:
            words = ["srun", f"--mpi={mpi_type}", "-N", str(layout.nodes), "-n", str(layout.nranks)]
            words += [f"--ntasks-per-node={layout.ppn}", "--distribution=block:block"]
            words += ["--overlap", "--hint=nomultithread", "--kill-on-bad-exit=1", "--export=ALL"]
            if hosts:
                words += ["-w", ",".join(hosts)]
            environ = {k: v for k, v in os.environ.items() if k not in _STEP}
            settings = [f"{k}={v}" for k, v in variables.items()]
            return [*words, *(["env", *settings] if settings else []), *program], environ

        return start

    return of
