"""What every MPI installation can tell: where it is, and how programs are started with it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from stretto.errors import StrettoError
from stretto.files.identity import MPIIdentity, titled
from stretto.light import TYPE_CHECKING, dataclass, replace
from stretto.paths import Path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.kinds import Abi, Binding, Family


@dataclass(frozen=True)
class MPIInstallation(ABC):
    """One MPI on this machine.

    `libmpi`: the library itself; None for a launcher whose library was not found. `launcher`: its
    mpirun or mpiexec; None when there is none (jobs then start by srun). `private`: it lies where
    ld.so does not look by itself (PyPI's wheels, a module): programs that do not know its place
    need `environment`.
    """

    family: Family
    abi: Abi
    version: str
    library: str
    prefix: Path
    libmpi: Path | None
    launcher: Path | None
    private: bool = False

    @property
    def identity(self) -> MPIIdentity:
        return MPIIdentity(self.family, self.abi, self.version, self.library)

    @property
    def name(self) -> str:
        return titled(self.identity)

    @property
    def major(self) -> int:
        head = self.version.split(".")[0]
        return int(head) if head.isdecimal() else 0

    def with_abi(self, abi: Abi) -> MPIInstallation:
        """Return the same installation used through another ABI (a binary of the MPI-5 ABI)."""
        return replace(self, abi=abi)

    def need_launcher(self) -> Path:
        """Return the launcher, or raise an error that says how to get one."""
        if self.launcher is None:
            raise StrettoError(
                f"{self.name} has no launcher here",
                self.prefix,
                "load the module that brings its mpirun, or give it: stretto ... -- mpirun ...",
            )
        return self.launcher

    def environment(self) -> dict[str, str]:
        """Return the variables that a job of this MPI needs on this machine, by itself.

        Variables that hold paths are complete: what the process's environment has is kept in them.
        """
        if not self.private or self.libmpi is None:
            return {}
        return {"LD_LIBRARY_PATH": prepend_path("LD_LIBRARY_PATH", self.libmpi.parent)}

    @abstractmethod
    def root_environment(self) -> dict[str, str]:
        """Return the variables that let root start jobs (in containers), empty when not needed."""

    @abstractmethod
    def oversubscription(self) -> tuple[list[str], dict[str, str]]:
        """Return options and variables for more ranks than cores, waiting gently."""

    def batch_environment(self) -> dict[str, str]:
        """Return what the launcher needs inside a batch system's job to reach its other nodes."""
        return {}

    @abstractmethod
    def remote_environment(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """Return options and variables that bring `variables` to every rank, on every node.

        The returned variables go into the launcher's own environment, the options right after
        the launcher's name. LD_PRELOAD, when among `variables`, reaches only the ranks.
        """

    @abstractmethod
    def script_environment(
        self, variables: Mapping[str, str], base: Mapping[str, str]
    ) -> dict[str, str]:
        """Return what to set for a script that calls the launcher; its words stay as they are."""

    @abstractmethod
    def launch_options(
        self, nranks: int, ppn: int | None, hosts: Sequence[str], bind: Binding
    ) -> list[str]:
        """Return the launcher's options for so many ranks (`ppn` a node) on `hosts`."""

    def launch(
        self,
        nranks: int,
        program: Sequence[str],
        ppn: int | None = None,
        hosts: Sequence[str] = (),
        bind: Binding = "default",
        variables: Mapping[str, str] | None = None,
        oversubscribe: bool = False,
    ) -> tuple[list[str], dict[str, str]]:
        """Return command line and environment that run `program` on `nranks` ranks.

        `ppn`: ranks per node; None leaves it to the launcher. `hosts`: node names; empty: this
        machine, or what the batch system gave. `bind`: bind ranks to cores, to nothing, or as the
        launcher does by default. `oversubscribe`: more ranks than cores: allowed, and waiting
        gently.
        """
        options, env = self.remote_environment(variables or {})
        environ = {**os.environ, **self.environment(), **self.batch_environment(), **env}
        if os.geteuid() == 0:
            environ |= self.root_environment()
        if oversubscribe:
            more, gentle = self.oversubscription()
            options += more
            for name, value in gentle.items():
                environ.setdefault(name, value)
            bind = "none"
        options += self.launch_options(nranks, ppn, hosts, bind)
        return [str(self.need_launcher()), *options, *program], environ


def prepend_path(name: str, directory: Path) -> str:
    """Return the value of a path variable with `directory` put in front."""
    old = os.environ.get(name, "")
    parts = [p for p in old.split(":") if p and p != str(directory)]
    return ":".join([str(directory), *parts])
