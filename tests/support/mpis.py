"""The MPIs that tests run with: where each is, how it compiles, how it launches.

``make test`` puts the three from PyPI into ``.venv/mpi``; another place may be named by
STRETTO_TEST_MPI_DIR. Open MPI 4 is the distribution's, in /usr. Where STRETTO_TEST_ALL=1 (as in
CI), a missing one is a failure; elsewhere its tests are skipped, with the reason.

Typical use::

    @pytest.mark.parametrize("name", MPIS)
    def test_something(name: str, tmp_path: Path) -> None:
        mpi = MPIS[name].require()
        program = mpi.compile(SOURCE, tmp_path / "program")
        done = mpi.run(2, [str(program)], rank_env={"LD_PRELOAD": str(library(mpi.family))})

``MPIS`` are the four with an ABI of their own, ``STANDARD_ABI`` two of them again through the ABI
of MPI-5, ``ALL`` both.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from processes import run_program

if TYPE_CHECKING:
    from stretto.mpi import MPIInstallation

REPOSITORY = Path(__file__).resolve().parents[2]


def _root() -> Path:
    """Where the MPIs from PyPI are, each in a prefix of its own."""
    named = os.environ.get("STRETTO_TEST_MPI_DIR", os.environ.get("STRETTO_TEST_MPI"))
    if named:
        return Path(named)
    installed = Path(sys.prefix) / "mpi"
    return installed if installed.is_dir() else REPOSITORY / ".venv" / "mpi"


ROOT = _root()
MULTIARCH = sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"
STRICT = os.environ.get("STRETTO_TEST_ALL", "0") not in ("", "0")


def missing(what: str) -> None:
    """Skip the test because something is not on this machine, or fail where all must be there."""
    if STRICT:
        pytest.fail(f"{what}, and STRETTO_TEST_ALL=1 wants everything tested")
    pytest.skip(what)


_held: list[int] = []  # how this process holds the machine; what is nested has it already


@contextlib.contextmanager
def _holding(how: int) -> Iterator[None]:
    """Hold the machine for MPI jobs, in turn; pytest-timeout's clock stands meanwhile."""
    if _held:
        assert how == fcntl.LOCK_SH or how in _held, "alone_here inside beside_others"
        yield
        return
    folder = Path(tempfile.gettempdir())
    with (folder / "mpi.turn").open("a") as turn, (folder / "mpi.room").open("a") as room:
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(room, how)
            fcntl.flock(turn, fcntl.LOCK_UN)
        finally:
            signal.setitimer(signal.ITIMER_REAL, left)
        _held.append(how)
        try:
            yield
        finally:
            _held.clear()


def alone_here() -> contextlib.AbstractContextManager[None]:
    """Run beside no other test's MPI job: for ranks that spin, which starve those that yield."""
    return _holding(fcntl.LOCK_EX)


def beside_others() -> contextlib.AbstractContextManager[None]:
    """Run an MPI job beside other tests' jobs, but for those that are `alone_here`."""
    return _holding(fcntl.LOCK_SH)


@dataclass(frozen=True)
class Mpi:
    """One installed MPI; ``name`` is openmpi4, openmpi5, mpich, intel, mpich-abi or intel-abi."""

    name: str
    prefix: Path
    library: str

    @property
    def standard(self) -> bool:
        """Whether programs are built for the standard ABI of MPI-5."""
        return self.name.endswith("-abi")

    @property
    def family(self) -> str:
        """The ABI family of Stretto's libraries for it."""
        if self.standard:
            return "mpi5"
        return "openmpi" if self.name.startswith("openmpi") else "mpich"

    @property
    def interposer(self) -> str:
        """The name of Stretto's interposer for it, for `library`."""
        return "openmpi5" if self.name == "openmpi5" else self.family

    @property
    def include(self) -> Path:
        """The folder of its mpi.h, and of mpi_abi.h where it has one."""
        if self.name == "openmpi4":
            return self.prefix / "lib" / MULTIARCH / "openmpi" / "include"
        if self.name == "mpich-debian":
            return self.prefix / "include" / MULTIARCH / "mpich"
        return self.prefix / "include"

    @property
    def libmpi(self) -> Path:
        """Its libmpi, by soname."""
        return self.prefix / self.library

    @property
    def _runtime(self) -> str:
        """The implementation, whatever the ABI."""
        return self.name.removesuffix("-abi")

    def require(self) -> Mpi:
        """Return itself, or skip or fail the test when it is not there."""
        if not self.libmpi.exists() or not self.include.is_dir():
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
            env["LD_LIBRARY_PATH"] = str(self.libmpi.parent)
        if self._runtime == "intel":
            env |= {"I_MPI_ROOT": str(self.prefix), "FI_PROVIDER_PATH": f"{self.prefix}/lib"}
            env |= {"I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}
        if self.name == "mpich-debian":  # else UCX opens networks that other tests take down
            env["UCX_TLS"] = "self,sm"
        if self.name.startswith("openmpi"):
            env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            env |= {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            env |= {"OMPI_MCA_mpi_yield_when_idle": "1"}
        return env

    def compile(self, source: Path, program: Path, *options: str) -> Path:
        """Build a C program (or library) against this MPI, whatever paths its wrappers recorded."""
        argv = ["gcc", f"-I{self.include}", *options, str(source), "-o", str(program)]
        if self.standard:  # programs say mpi.h
            argv[1:1] = [f"-I{REPOSITORY / 'tests' / 'c' / 'abi' / 'standard'}"]
        return self._build([*argv, *self._link("-Wl,--allow-shlib-undefined")], program)

    def _link(self, *words: str) -> list[str]:
        # in /usr libmpi.so.40 is found by the loader without a runpath
        path = [] if self.prefix == Path("/usr") else [f"-Wl,-rpath,{self.libmpi.parent}"]
        return [str(self.libmpi), *words, *path]

    def _build(self, argv: Sequence[str], program: Path) -> Path:
        done = run_program(argv, env=self.environment)
        assert done.returncode == 0, f"{' '.join(argv)}\n{done.stderr}"
        return program

    def fortran(self, source: Path, program: Path, dialect: str) -> Path:
        """Build a Fortran program; ``dialect`` is mpif.h, mpi or mpi_f08.

        Of the MPIs here the two of Debian have all three for gfortran, Intel MPI the first two, the
        wheels of Open MPI and MPICH none.
        """
        words = [have("gfortran", "gfortran"), "-w", "-fallow-argument-mismatch", str(source)]
        words += ["-J", str(program.parent), "-o", str(program)]  # modules of the program's own
        if self.name == "openmpi4":
            return self._build([have("mpif90.openmpi", "libopenmpi-dev"), *words[1:]], program)
        if self.name == "mpich-debian":
            library = self.libmpi.with_name("libmpichfort.so.12")
            modules = sorted((self.libmpi.parent / "fortran").glob("gfortran-mod-*/mpich"))
            words += [f"-I{self.include}", f"-I{modules[-1]}", str(library)]
            return self._build([*words, *self._link("-Wl,--allow-shlib-undefined")], program)
        assert self.name == "intel", f"{self.name} has no Fortran"
        assert dialect != "mpi_f08", "Intel MPI's mpi_f08 module is for Intel's compiler only"
        version = run_program([words[0], "-dumpversion"], check=True).stdout.strip()
        folders = (self.include / "mpi" / "gfortran").glob("*")
        modules = sorted(folders, key=lambda path: tuple(map(int, path.name.split("."))))
        fitting = [m for m in modules if m.name.split(".")[0] == version.split(".")[0]]
        words += [f"-I{self.include}", f"-I{(fitting or modules)[-1]}"]
        words += [str(self.libmpi.with_name("libmpifort.so.12"))]
        return self._build([*words, *self._link()], program)

    @property
    def yields(self) -> bool:
        """Whether its ranks give way while they wait: MPICH's spin, and starve those that do."""
        return not self._runtime.startswith("mpich")

    def launcher(self, ranks: int) -> list[str]:
        """Return the words that start so many ranks on this machine."""
        name = "mpiexec.hydra" if self._runtime == "intel" else "mpirun"
        prefix = ROOT / "mpich" if self.name == "mpich-debian" else self.prefix
        words = [str(prefix / "bin" / name)]
        if self.name.startswith("openmpi"):
            words += (
                ["--oversubscribe"] if self.name == "openmpi4" else ["--map-by", ":OVERSUBSCRIBE"]
            )
            words += ["--bind-to", "none"]
        return [*words, "-n", str(ranks)]

    def python(self) -> list[str]:
        """Return the words that start a Python whose mpi4py uses this MPI."""
        try:
            import mpi4py
        except ImportError:
            missing("mpi4py is not installed")
        # a wheel of mpi4py has a module for each ABI; MPI4PY_MPIABI selects one
        abis = {p.name.split(".")[1] for p in Path(mpi4py.__path__[0]).glob("MPI.*.so")}
        if self.family not in abis:
            missing(f"this mpi4py was not built for {self.family}: it is not the one from PyPI")
        words = ["env", f"MPI4PY_MPIABI={self.family}", f"MPI4PY_LIBMPI={self.libmpi}"]
        return [*words, sys.executable]

    def alone(
        self, command: Sequence[str], env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as the only rank: without a launcher, which takes much longer to start."""
        return run_program(command, env=self.environment | dict(env or {}), timeout=600)

    def run(
        self,
        ranks: int,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        rank_env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 600,
        within: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on so many ranks; ``rank_env`` reaches only the ranks.

        `within`: words before the launcher.
        """
        words = [*within, *self.launcher(ranks)]
        for name, value in (rank_env or {}).items():
            words += (
                ["-x", f"{name}={value}"] if self.family == "openmpi" else ["-genv", name, value]
            )
        with beside_others() if self.yields or ranks <= 2 else alone_here():
            return run_program(
                [*words, *command], env=self.environment | dict(env or {}), cwd=cwd, timeout=timeout
            )


MPIS = {
    mpi.name: mpi
    for mpi in (
        Mpi("openmpi4", Path("/usr"), f"lib/{MULTIARCH}/libmpi.so.40"),
        Mpi("openmpi5", ROOT / "openmpi", "lib/libmpi.so.40"),
        Mpi("mpich", ROOT / "mpich", "lib/libmpi.so.12"),
        Mpi("intel", ROOT / "intel", "lib/libmpi.so.12"),
    )
}
STANDARD_ABI = {
    mpi.name: mpi
    for mpi in (
        Mpi("mpich-abi", ROOT / "mpich", "lib/libmpi_abi.so.1"),
        Mpi("intel-abi", ROOT / "intel", "lib/libmpi_abi.so.1"),
    )
}
ALL = MPIS | STANDARD_ABI
#: MPICH with Fortran, which the wheel lacks. For those who want it, in the folder of the MPIs:
#: apt-get download libmpich12 libmpich-dev libucx0 libhwloc15; dpkg -x each of them mpich-debian
DEBIAN_MPICH = Mpi("mpich-debian", ROOT / "mpich-debian" / "usr", f"lib/{MULTIARCH}/libmpich.so.12")


def library(family: str, kind: str = "") -> Path:
    """Return one of Stretto's installed libraries: ``libstretto-[KIND-]FAMILY.so``."""
    name = f"libstretto-{kind + '-' if kind else ''}{family}.so"
    override = os.environ.get("STRETTO_TEST_LIB")  # a build folder, say
    if override:
        places = [Path(override)]
    else:
        import stretto

        places = [Path(p) / "lib" for p in stretto.__path__]
    for place in places:
        if (place / name).exists():
            return place / name
    pytest.fail(f"{name} is not in {', '.join(map(str, places))}: is stretto installed?")


def rarely(values: Iterable[Any], kept: Sequence[Any]) -> list[Any]:
    """Values to parametrize with, of which CI tries those `kept`, `make test-long` the others."""
    return [v if v in kept else pytest.param(v, marks=pytest.mark.long) for v in values]


def have(program: str, package: str) -> str:
    """Return a program's path, or skip or fail the test when it is not there."""
    path = shutil.which(program)
    if path is None:
        missing(f"{program} is not installed (apt-get install {package})")
    assert path is not None
    return path


#: MPICH's ranks spin without giving way (ch4), so that of six on two cores each message waits for
#: the end of a time slice, 20 ms an allreduce; with threads they yield while they wait, and need a
#: tenth. For jobs that count messages; nothing is timed with it, and no engine runs in it.
MPICH_YIELDS = {"MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_MULTIPLE"}


def installation(
    name: str, monkeypatch: pytest.MonkeyPatch, more: Mapping[str, str] | None = None
) -> MPIInstallation:
    """The MPI as Stretto finds it, with its own environment, `more`, and nothing of another's."""
    from stretto.mpi import from_launcher

    mpi = MPIS[name].require()
    for variable, value in (mpi.environment | dict(more or {})).items():
        if os.environ.get(variable) != value:
            monkeypatch.setenv(variable, value)
    return from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)
