"""Finding MPI installations: from a launcher, from a program, on the machine."""

from __future__ import annotations

import os
import sys

from stretto.errors import StrettoError, pip_install
from stretto.files.identity import TITLES as PRODUCTS
from stretto.files.identity import MPIIdentity
from stretto.light import TYPE_CHECKING, dataclass, later
from stretto.mpi.base import MPIInstallation
from stretto.mpi.elf import Needed, find_needed, is_elf, system_directories
from stretto.mpi.intel import IntelMPI
from stretto.mpi.library import (
    LIBRARY_NAMES,
    asked,
    cached,
    identify_library,
    launcher_words,
    require,
)
from stretto.mpi.mpich import MPICH
from stretto.mpi.openmpi import OpenMPI
from stretto.paths import Path

if TYPE_CHECKING:
    import json
    import re
    from collections.abc import Iterator, Mapping

    from stretto.kinds import Abi, Family, LauncherKind
else:
    json, re = later("json"), later("re")

CLASSES: dict[Family, type[MPIInstallation]] = {
    "openmpi": OpenMPI,
    "mpich": MPICH,
    "intel": IntelMPI,
}
TITLES = {**PRODUCTS, "slurm": "Slurm"}
#: names of an MPI's library, by family, the most telling first
_SONAMES: dict[Family, tuple[str, ...]] = {
    "openmpi": ("libmpi.so.40", "libmpi.so"),
    "mpich": ("libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpi.so"),
    "intel": ("libmpi.so.12", "libmpi.so"),
}
_LAUNCHERS: dict[Family, tuple[str, ...]] = {
    "openmpi": ("mpirun", "mpiexec", "orterun", "mpirun.openmpi", "mpiexec.openmpi"),
    "mpich": ("mpiexec.hydra", "mpiexec", "mpirun", "mpiexec.mpich", "mpirun.mpich"),
    "intel": ("mpiexec.hydra", "mpirun", "mpiexec"),
}


#: the names by which launchers are called
LAUNCHER_NAMES = (
    "mpirun", "mpiexec", "mpiexec.hydra", "mpiexec.gforker", "orterun", "prterun", "mpirun.openmpi",
    "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpirun_rsh", "srun",
)  # fmt: skip


@dataclass(frozen=True)
class Launcher:
    """A launcher: where it is, which family it belongs to, and its version (None if not told)."""

    path: Path
    kind: LauncherKind
    version: str | None


def identify_launcher(path: Path, environ: Mapping[str, str] | None = None) -> Launcher:
    """Ask a launcher what it is.

    An srun that does not say (Slurm is not configured here) is Slurm's by its name; `need_slurm`
    refuses it.
    """

    def ask() -> tuple[str, bool]:
        words, succeeded = launcher_words(path, environ)
        if (told := _kind(words)) is not None:
            kind, version = told
            return f"{kind} {version or ''}", succeeded
        first = next((w.strip() for w in words.splitlines() if w.strip()), "nothing")
        raise StrettoError(
            f"Stretto does not know this launcher; its --version prints: {first}",
            path,
            "load the module of the MPI first, or start the job with its mpirun or mpiexec",
        )

    try:
        kind, _, version = cached("launcher", path, ask).partition(" ")
    except StrettoError:
        if path.name == "srun" and path.is_file():
            return Launcher(path, "slurm", None)
        raise
    return Launcher(path, kind, version or None)  # type: ignore[arg-type]


def is_launcher(path: Path) -> bool:
    """Tell whether a file starts ranks, so that it may be asked what it is, whatever it is called.

    By its name, or that of a file which it is a link to; a copy of Open MPI's by its libraries.
    Nothing is run: another program that is given ``--version`` might begin its work.
    """
    for _ in range(40):  # as many links as the system follows
        if path.name in LAUNCHER_NAMES:
            return True
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    if not is_elf(path):
        return False
    for name in ("mpirun", "mpiexec"):
        following = path.name.removeprefix(name)[:1]
        if path.name.startswith(name) and not (following.isascii() and following.isalnum()):
            return True
    runtime = find_needed(path, ("libopen-rte.so", "libprrte.so", *LIBRARY_NAMES), {})
    return bool(runtime) and not any(n.name.startswith(LIBRARY_NAMES) for n in runtime)


def _kind(words: str) -> tuple[LauncherKind, str | None] | None:
    """Return kind and version of a launcher by what it says of itself, None where it does not."""
    rules: list[tuple[LauncherKind, str]] = [
        ("openmpi", r"\(Open MPI\) v?(\d[\w.]*)"),
        ("openmpi", r"\(OpenRTE\) (\d[\w.]*)"),
        ("openmpi", r"(?:PRRTE|prterun|prte)\b[^\d\n]*(\d[\w.]*)"),
        ("openmpi", r"()help-prte(?:run)?\.txt"),  # prterun without its prefix finds no help text
        ("intel", r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)"),
        ("mpich", r"HYDRA build details:\s*Version:\s*(\d[\w.]*)"),
        ("slurm", r"^slurm(?:-\w+)? (\d[\w.]*)"),
    ]
    for kind, pattern in rules:
        found = re.search(pattern, words, re.MULTILINE)
        if found:
            if kind == "openmpi" and not re.search(r"\((?:Open MPI|OpenRTE)\)", words):
                # prterun tells PRRTE's version, not that of the Open MPI it came with; OpenRTE,
                # as Open MPI 4 calls its launcher by other names, has Open MPI's.
                return kind, None
            return kind, found.group(1)
    if "mpiexec -usize" in words:  # MPICH's gforker knows no --version
        return "mpich", None
    return None


def need_slurm(path: Path, environ: Mapping[str, str] | None = None) -> None:
    """Refuse an srun that finds no Slurm: it would start nothing."""
    if identify_launcher(path, environ).version is not None:
        return
    words, _ = launcher_words(path, environ)
    lines = [w.strip() for w in words.splitlines() if w.strip()]
    told = next((w for w in lines if "fatal" in w), lines[0] if lines else "nothing")
    raise StrettoError(
        f"this srun finds no configured Slurm; its --version prints: {told}",
        path,
        "load the site's Slurm module, or set SLURM_CONF to its slurm.conf; if these exist only "
        "inside the job, name its MPI: --mpi openmpi, mpich or intel",
    )


def from_launcher(path: Path, environ: Mapping[str, str] | None = None) -> MPIInstallation:
    """Return the installation that a launcher belongs to.

    Links (Debian's alternatives, ``/usr/bin/mpirun``) are followed to find the library.
    """
    launcher = identify_launcher(path, environ)
    if launcher.kind == "slurm":
        need_slurm(path, environ)
        raise StrettoError("srun does not show the MPI of the program", path, "name the program")
    family: Family = launcher.kind
    prefixes = list(dict.fromkeys([path.resolve().parent.parent, path.absolute().parent.parent]))
    problem: StrettoError | None = None
    for prefix in prefixes:
        for libmpi in _libraries(prefix, family):
            try:
                identity = identify_library(libmpi, environ)
            except StrettoError as error:
                problem = error
                continue
            if identity.family == family or (family != "openmpi" and identity.family != "openmpi"):
                return _make(identity, prefix, libmpi, path)
    if problem is not None:
        raise problem
    if launcher.version is None:
        raise StrettoError(
            f"the library of this {TITLES[family]} launcher was not found",
            path,
            "load the MPI's module, so that its lib directory is found",
        )
    abi: Abi = "openmpi" if family == "openmpi" else "mpich"
    identity = MPIIdentity(family, abi, launcher.version, "")
    return _make(identity, prefixes[0], None, path)


def _make(
    identity: MPIIdentity, prefix: Path, libmpi: Path | None, launcher: Path | None
) -> MPIInstallation:
    system = system_directories()
    private = (
        libmpi is not None
        and libmpi.parent not in system
        and libmpi.parent.resolve() not in [d.resolve() for d in system]
    )
    return CLASSES[identity.family](
        identity.family, identity.abi, identity.version, identity.library, prefix, libmpi, launcher,
        private,
    )  # fmt: skip


def _libraries(prefix: Path, family: Family) -> Iterator[Path]:
    """Yield the files under a prefix that may be the library of a family, the likeliest first."""
    triplet = getattr(sys.implementation, "_multiarch", "")
    directories = [
        prefix / "lib",
        prefix / "lib64",
        prefix / "lib" / "release",
        prefix / "lib" / triplet,
        prefix / "lib" / triplet / family / "lib",
    ]
    for name in _SONAMES[family]:
        for directory in directories:
            if (directory / name).is_file():
                yield directory / name


def from_library(libmpi: Path, environ: Mapping[str, str] | None = None) -> MPIInstallation:
    """Return the installation that a library belongs to, with the launcher beside it."""
    identity = identify_library(libmpi, environ)
    real = libmpi.resolve()
    prefix = real.parent.parent
    for parent in (libmpi.absolute(), real):
        for candidate in list(parent.parents)[1:5]:
            for name in _LAUNCHERS[identity.family]:
                launcher = candidate / "bin" / name
                if not os.access(launcher, os.X_OK):
                    continue
                try:
                    kind = identify_launcher(launcher, environ).kind
                except StrettoError:
                    continue
                if kind == identity.family:
                    return _make(identity, candidate, libmpi, launcher)
    return _make(identity, prefix, libmpi, None)


def needed_mpi(program: Path, environ: Mapping[str, str]) -> Needed | None:
    """Return the MPI library that a program loads, None when it loads none by itself."""
    found = find_needed(program, LIBRARY_NAMES, environ)
    located = [n for n in found if n.path is not None]
    return located[0] if located else (found[0] if found else None)


# Run by the job's own Python: which MPI library does mpi4py load there?
_ASK_MPI4PY = """
import json
import mpi4py
mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI
maps = open("/proc/self/maps").read().split("\\n")
names = {line.split(None, 5)[5] for line in maps if len(line.split(None, 5)) == 6}
print(json.dumps({"version": MPI.Get_library_version(), "files": sorted(names)}))
"""


def from_python(interpreter: Path, environ: Mapping[str, str]) -> Path:
    """Return the MPI library that mpi4py loads under a Python interpreter."""
    done = asked([str(interpreter), "-c", _ASK_MPI4PY], environ, "this Python does not start",
                  interpreter)  # fmt: skip
    remedy = "install mpi4py in it, or say which MPI the script uses (--mpi)"
    text = require(done, "this Python cannot load mpi4py", interpreter, remedy)
    files: list[str] = json.loads(text.strip().splitlines()[-1])["files"]
    for name in files:
        path = Path(name)
        if path.name.startswith(LIBRARY_NAMES):
            return path
    raise StrettoError("mpi4py loads no libmpi as a shared library", interpreter)


def which(name: str, environ: Mapping[str, str], cwd: Path | None = None) -> Path | None:
    """Return the program that a shell would start for `name`, None when there is none."""
    if "/" in name:
        path = (cwd or Path.cwd()) / name
        return path if os.access(path, os.X_OK) and path.is_file() else None
    for directory in environ.get("PATH", os.defpath).split(":"):
        if os.access(f"{directory or '.'}/{name}", os.X_OK):
            path = Path(directory or ".") / name
            if path.is_file():
                return path
    return None


def installations(environ: Mapping[str, str] | None = None) -> list[MPIInstallation]:
    """Return the MPI installations found on this machine, one for each library.

    Looked at: the Python environment that Stretto is in (PyPI's wheels), the launchers along PATH
    (Debian's variants too), what modules announce (``MPI_HOME``, ``I_MPI_ROOT``), and the usual
    directories of distributions.
    """
    env = dict(os.environ if environ is None else environ)
    out: list[MPIInstallation] = []
    seen: set[Path] = set()
    for path in _launcher_files(env):
        try:
            found = from_launcher(path, env)
        except StrettoError:
            continue  # srun, or a launcher of something else
        key = (found.libmpi or path).resolve()
        if key not in seen:
            seen.add(key)
            out.append(found)
    return out


def _launcher_files(env: Mapping[str, str]) -> Iterator[Path]:
    names = ["mpirun", "mpiexec", "mpiexec.hydra", "mpirun.openmpi", "mpirun.mpich"]
    names += ["mpiexec.openmpi", "mpiexec.mpich"]
    directories = [Path(sys.prefix) / "bin"]
    directories += [Path(d) for d in env.get("PATH", "").split(":") if d]
    for variable in ("MPI_HOME", "MPI_ROOT", "I_MPI_ROOT", "OPAL_PREFIX", "MPICH_DIR"):
        if env.get(variable):
            directories.append(Path(env[variable]) / "bin")
    usual = ("/usr/lib64/openmpi/bin", "/usr/lib64/mpich/bin", "/opt/amazon/openmpi/bin")
    directories += [Path(d) for d in usual]
    # map: glob gives paths of pathlib, which are never equal to others (stretto.paths)
    directories += sorted(map(Path, Path("/opt/intel/oneapi/mpi").glob("*/bin")), reverse=True)
    seen: set[Path] = set()
    for directory in directories:
        for name in names:
            path = directory / name
            if os.access(path, os.X_OK) and path.is_file() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def find_installation(
    wanted: str | None = None, environ: Mapping[str, str] | None = None
) -> MPIInstallation:
    """Return the installation to use where the user named no launcher.

    `wanted`: a family (``openmpi``), a launcher, or a prefix; None takes the first found.
    """
    env = dict(os.environ if environ is None else environ)
    if wanted is not None and wanted not in CLASSES:
        path = Path(wanted)
        if path.is_dir():
            for name in ("mpirun", "mpiexec", "mpiexec.hydra"):
                if os.access(path / "bin" / name, os.X_OK):
                    return from_launcher(path / "bin" / name, env)
        found = which(wanted, env)
        if found is None:
            raise StrettoError(
                f"there is no MPI {wanted!r}",
                None,
                "give a family (openmpi, mpich, intel), a launcher such as /usr/bin/mpirun, "
                "or the directory that an MPI is installed in",
            )
        return from_launcher(found, env)
    everything = installations(env)
    for installation in everything:
        if wanted in (None, installation.family):
            return installation
    have = ", ".join(i.name for i in everything) or "none at all"
    title = TITLES[wanted] if wanted else "MPI"
    raise StrettoError(
        f"no {title} is installed here (found: {have})",
        None,
        "name its directory or its launcher: --mpi PREFIX; load its module, or install one: "
        f"{pip_install(wanted or 'openmpi')}{'' if wanted else ' (or mpich, intel)'}",
    )
