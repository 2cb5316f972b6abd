"""How Slurm's srun starts ranks: its words, and what it must not take over from the job."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence

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


def find_mpi_type(installation: MPIInstallation) -> str:
    """Return what to give ``srun --mpi=`` for an MPI, of what this Slurm has."""
    wanted = MPI_TYPES[installation.family]
    try:
        done = subprocess.run(
            ["srun", "--mpi=list"],
            capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StrettoError(f"srun cannot be asked: {error}", "srun --mpi=list") from error
    there = (done.stdout + done.stderr).replace(",", " ").split()
    for name in wanted:
        if name in there:
            return name
    raise StrettoError(
        f"this Slurm starts no {installation.name}: it has none of {', '.join(wanted)}",
        "srun --mpi=list",
        "take launcher = 'mpirun'",
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
