"""The MPIs that tests run with: where each is, how it compiles, how it launches.

``make test`` puts the three from PyPI into ``.venv/mpi``; another place may be named by
STRETTO_TEST_MPI. Open MPI 4 is the distribution's, in /usr. Where STRETTO_TEST_ALL=1 (as in CI), a
missing one is a failure; elsewhere its tests are skipped, with the reason.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("STRETTO_TEST_MPI", Path(sys.prefix) / "mpi"))
REPOSITORY = Path(__file__).resolve().parents[2]
STRICT = os.environ.get("STRETTO_TEST_ALL", "0") not in ("", "0")


def missing(what: str) -> None:
    """Skip the test because something is not on this machine, or fail where all must be there."""
    if STRICT:
        pytest.fail(f"{what}, and STRETTO_TEST_ALL=1 wants everything tested")
    pytest.skip(what)


@contextlib.contextmanager
def one_job_at_a_time() -> Iterator[None]:
    """Keep busy-polling jobs of parallel test runs from fighting over the cores."""
    with Path(tempfile.gettempdir(), "mpi.lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Mpi:
    """One installed MPI; ``name`` is openmpi4, openmpi5, mpich or intel."""

    name: str
    prefix: Path
    library: str

    @property
    def family(self) -> str:
        """The ABI family of Stretto's libraries for it."""
        return "openmpi" if self.name.startswith("openmpi") else "mpich"

    def require(self) -> Mpi:
        """Return itself, or skip or fail the test when it is not there."""
        if (
            not (self.prefix / "bin" / "mpicc").exists()
            and not (self.prefix / self.library).exists()
        ):
            missing(
                f"{self.name} is not in {self.prefix} (make mpi, or apt-get install openmpi-bin)"
            )
        return self

    @property
    def environment(self) -> dict[str, str]:
        """What a process of this MPI needs in its environment (no LD_PRELOAD)."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PRTE_"))}
        for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "I_MPI_ROOT", "FI_PROVIDER_PATH"):
            env.pop(name, None)
        if self.prefix != Path("/usr"):
            env["PATH"] = f"{self.prefix}/bin:{env['PATH']}"
            env["LD_LIBRARY_PATH"] = f"{self.prefix}/lib"
        if self.name == "intel":
            env |= {"I_MPI_ROOT": str(self.prefix), "FI_PROVIDER_PATH": f"{self.prefix}/lib"}
            env |= {"I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}
        if self.name.startswith("openmpi"):
            env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            env |= {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            env |= {"OMPI_MCA_mpi_yield_when_idle": "1"}
        return env

    def compile(self, source: Path, program: Path, *options: str) -> Path:
        """Build a C program with this MPI's own compiler wrapper."""
        argv = [str(self.prefix / "bin" / "mpicc"), *options, str(source), "-o", str(program)]
        if self.name == "intel":  # its wrapper wants a set-up shell; gcc does not
            argv = ["gcc", *options, f"-I{self.prefix}/include", str(source), "-o", str(program)]
            argv += [f"-L{self.prefix}/lib", "-lmpi", f"-Wl,-rpath,{self.prefix}/lib"]
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return program

    def launcher(self, ranks: int) -> list[str]:
        """Return the words that start so many ranks on this machine."""
        name = "mpiexec.hydra" if self.name == "intel" else "mpirun"
        words = [str(self.prefix / "bin" / name)]
        if self.name.startswith("openmpi"):
            words += (
                ["--oversubscribe"] if self.name == "openmpi4" else ["--map-by", ":OVERSUBSCRIBE"]
            )
            words += ["--bind-to", "none"]
        return [*words, "-n", str(ranks)]

    def run(
        self,
        ranks: int,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        rank_env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on so many ranks; ``rank_env`` reaches only the ranks."""
        words = self.launcher(ranks)
        for name, value in (rank_env or {}).items():
            words += (
                ["-x", f"{name}={value}"] if self.family == "openmpi" else ["-genv", name, value]
            )
        with one_job_at_a_time():
            return subprocess.run(
                [*words, *command],
                env=self.environment | dict(env or {}),
                cwd=cwd,
                capture_output=True,
                text=True,
                timeout=timeout,
                stdin=subprocess.DEVNULL,
                check=False,
            )


MPIS = {
    mpi.name: mpi
    for mpi in (
        Mpi("openmpi4", Path("/usr"), "lib/x86_64-linux-gnu/libmpi.so.40"),
        Mpi("openmpi5", ROOT / "openmpi", "lib/libmpi.so.40"),
        Mpi("mpich", ROOT / "mpich", "lib/libmpi.so.12"),
        Mpi("intel", ROOT / "intel", "lib/libmpi.so.12"),
    )
}


def library(family: str, kind: str = "") -> Path:
    """Return one of Stretto's installed libraries: ``libstretto-[KIND-]FAMILY.so``."""
    import stretto

    name = f"libstretto-{kind + '-' if kind else ''}{family}.so"
    override = os.environ.get("STRETTO_TEST_LIB")
    places = [Path(override)] if override else [Path(p) / "lib" for p in stretto.__path__]
    for place in places:
        if (place / name).exists():
            return place / name
    pytest.fail(f"{name} is not in {', '.join(map(str, places))}: is stretto installed?")


def have(program: str, package: str) -> str:
    """Return a program's path, or skip or fail the test when it is not there."""
    path = shutil.which(program)
    if path is None:
        missing(f"{program} is not installed (apt-get install {package})")
    assert path is not None
    return path
