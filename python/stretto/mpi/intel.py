"""Intel MPI: Hydra of its own, and settings by ``I_MPI_*``."""

from __future__ import annotations

import os

from stretto.light import TYPE_CHECKING
from stretto.mpi.base import prepend_path
from stretto.mpi.mpich import Hydra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.kinds import Binding

_BY_SLURM = {"I_MPI_HYDRA_BOOTSTRAP": "slurm"}


class IntelMPI(Hydra):
    def environment(self) -> dict[str, str]:
        """Return prefix, fabric providers, library path and PATH as Intel's vars.sh would set them.

        What that script has set already is left as it is.
        """
        out = super().environment()
        if self.libmpi is None or not out:
            return out
        if self.launcher is not None:
            # mpirun is a script that calls mpiexec.hydra by name.
            out["PATH"] = prepend_path("PATH", self.launcher.parent)
        if os.environ.get("I_MPI_ROOT") != str(self.prefix):
            out["I_MPI_ROOT"] = str(self.prefix)
            if any(self.libmpi.parent.glob("lib*-fi.so")):  # as in PyPI's wheel
                out["FI_PROVIDER_PATH"] = str(self.libmpi.parent)
        return out

    def batch_environment(self) -> dict[str, str]:
        """Return that Slurm starts the processes on a job's other nodes, unless the user says how.

        Intel's mpirun, a script, does the same for mpiexec.hydra, which by itself takes ssh.
        """
        told = "I_MPI_HYDRA_BOOTSTRAP" in os.environ or "I_MPI_HYDRA_BOOTSTRAP_EXEC" in os.environ
        return {} if told or not os.environ.get("SLURM_JOB_ID") else _BY_SLURM

    def oversubscription(self) -> tuple[list[str], dict[str, str]]:
        """Return the settings that allow it and make waiting ranks yield."""
        return [], {"I_MPI_THREAD_YIELD": "2", "I_MPI_PIN": "0"}

    def launch_options(
        self, nranks: int, ppn: int | None, hosts: Sequence[str], bind: Binding
    ) -> list[str]:
        options = []
        if bind != "default":
            options += ["-genv", "I_MPI_PIN", "1" if bind == "core" else "0"]
        if bind == "core":
            options += ["-genv", "I_MPI_PIN_DOMAIN", "core"]
        if hosts:
            options += ["-hosts", ",".join(hosts)]
        if ppn:
            options += ["-ppn", str(ppn)]
        return [*options, "-n", str(nranks)]
