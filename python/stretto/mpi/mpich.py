"""MPICH and what is built on it (MVAPICH, Cray): launched by Hydra.

Hydra hands its own environment to every rank on every node. ``-genv`` sets a variable for the ranks
only, all applications of ``A : B`` included, and holds even with ``-genvnone`` (seen on 5.0.2).
"""

from __future__ import annotations

from stretto.light import TYPE_CHECKING
from stretto.mpi.base import MPIInstallation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.kinds import Binding


class Hydra(MPIInstallation):
    def root_environment(self) -> dict[str, str]:
        """Hydra lets root start jobs."""
        return {}

    def remote_environment(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        return [w for n, v in variables.items() for w in ("-genv", n, v)], {}

    def script_environment(
        self, variables: Mapping[str, str], base: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the variables themselves: Hydra hands them on."""
        del base
        return dict(variables)


class MPICH(Hydra):
    def oversubscription(self) -> tuple[list[str], dict[str, str]]:
        """Hydra always allows it; MPICH's ranks poll (no setting makes them yield)."""
        return [], {}

    def launch_options(
        self, nranks: int, ppn: int | None, hosts: Sequence[str], bind: Binding
    ) -> list[str]:
        options = ["-n", str(nranks)]
        if hosts:
            slots = f":{ppn}" if ppn else ""
            options += ["-hosts", ",".join(f"{h}{slots}" for h in hosts)]
        elif ppn:
            options += ["-ppn", str(ppn)]
        if bind != "default":
            options += ["-bind-to", bind]
        return options
