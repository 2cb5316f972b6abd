"""Asking an MPI library or launcher what it is: by calling it in a process of its own.

Answers are kept in the cache directory, keyed by the file's path, size and time of change; what
was said on failing is not: it may be of a module that is not loaded yet.
"""

from __future__ import annotations

import os
import sys

from stretto.errors import StrettoError
from stretto.files.identity import MPIIdentity
from stretto.files.regular import read_regular
from stretto.home import home
from stretto.light import TYPE_CHECKING, later, suppress
from stretto.paths import Path
from stretto.version import __version__

if TYPE_CHECKING:
    import re
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

    from stretto.files import io
    from stretto.kinds import Abi, Family
else:
    io, re, subprocess = later("stretto.files.io"), later("re"), later("subprocess")

#: what ranks and tools of an MPI look for; the beginnings of the libraries' names
LIBRARY_NAMES = (
    "libmpi.so", "libmpi_abi.so", "libmpich.so", "libmpi_cray.so", "libmpi_gnu", "libmpi_ilp64.so",
)  # fmt: skip

# MPI_Get_library_version may be called before MPI_Init (MPI-3, section 8.1).
_ASK = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
if lib.MPI_Get_library_version(text, ctypes.byref(length)):
    sys.exit("MPI_Get_library_version failed")
sys.stdout.write(text.value.decode("utf-8", "replace"))
"""
_TIMEOUT_S = 120
#: remedy where a library does not load
LOADS = "ldd on that file shows what is missing; load the MPI's module first"


def abi_of_name(name: str) -> Abi | None:
    """Return the ABI family that a library's name stands for.

    Open MPI's libmpi has had versions 40 (4.x, 5.x) and 20 (2.x) and below; the MPICH family 12.
    """
    if name.startswith("libmpi_abi.so"):
        return "mpi5"
    if name.startswith(("libmpich.so", "libmpi_cray.so", "libmpi_gnu")):
        return "mpich"
    number = name.removeprefix("libmpi.so.").partition(".")[0]
    if number == name or not number.isdecimal():
        return None
    if int(number) == 12:
        return "mpich"
    return "openmpi" if int(number) >= 40 else None


def parse_library_version(text: str, abi: Abi | None, place: str) -> MPIIdentity:
    """Make an identity of what `MPI_Get_library_version` says."""
    first = text.strip().splitlines()[0].strip() if text.strip() else ""
    patterns: list[tuple[Family, str]] = [
        ("openmpi", r"Open MPI v?(\d[\w.]*)"),
        ("intel", r"Intel\(R\) MPI Library (\d[\w.]*)"),
        ("mpich", r"MPICH Version:\s*(\d[\w.]*)"),
        ("mpich", r"MVAPICH\S* Version\s*:\s*(\d[\w.]*)"),
        ("mpich", r"CRAY MPICH version (\d[\w.]*)"),
    ]
    for family, pattern in patterns:
        found = re.search(pattern, text)
        if found:
            own: Abi = "openmpi" if family == "openmpi" else "mpich"
            return MPIIdentity(family, abi or own, found.group(1), " ".join(first.split()))
    raise StrettoError(
        f"Stretto does not know the family of this MPI library: {first or 'no version text'}",
        place,
        "Stretto knows Open MPI 4 and 5, MPICH and its derivatives, and Intel MPI",
    )


def asked(
    argv: Sequence[str], environ: Mapping[str, str] | None, what: str, place: Path
) -> subprocess.CompletedProcess[str]:
    """Run a program that answers a question, without LD_PRELOAD and without input.

    `what`, `place`: the error's words where it cannot be started, or does not end in time.
    """
    env = dict(os.environ if environ is None else environ)
    env.pop("LD_PRELOAD", None)
    try:
        return subprocess.run(
            argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StrettoError(f"{what}: {error}", place) from error


def require(done: subprocess.CompletedProcess[str], what: str, place: Path, remedy: str) -> str:
    """Return the output of a program that succeeded; raise its last words otherwise."""
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise StrettoError(f"{what}: {words[-1]}", place, remedy)
    return done.stdout


def identify_library(libmpi: Path, environ: Mapping[str, str] | None = None) -> MPIIdentity:
    """Ask an MPI library what it is."""
    real = libmpi.resolve()

    def ask() -> tuple[str, bool]:
        argv = [sys.executable, "-I", "-c", _ASK, str(real)]
        what = "the MPI library could not be loaded"
        text = require(asked(argv, environ, what, libmpi), what, libmpi, LOADS)
        found = parse_library_version(text, None, str(libmpi))
        return f"{found.family} {found.abi} {found.version} {found.library}", True

    family, own, version, library = cached("library", real, ask).split(" ", 3)
    if family == "openmpi" and re.match(r"libmpi\.so\.(?!40\b)\d", real.name):
        # a program links with that name, and Stretto's library then finds no MPI in it
        raise StrettoError(
            f"the library of this Open MPI is {real.name}; Stretto supports libmpi.so.40",
            libmpi,
            "in a build of the main branch, set libmpi_so_version=40:0:0 in its file VERSION",
        )
    # The names beside the real one tell the ABI: libmpi.so.40.30.4 has the link libmpi.so.40.
    abi = abi_of_name(real.name) or abi_of_name(libmpi.name) or own
    return MPIIdentity(family, abi, version, library)  # type: ignore[arg-type]


def launcher_words(launcher: Path, environ: Mapping[str, str] | None = None) -> tuple[str, bool]:
    """Return what ``LAUNCHER --version`` prints, and whether it succeeded."""
    env = dict(os.environ if environ is None else environ)
    # Intel's mpirun is a script that looks for mpiexec.hydra along PATH.
    env["PATH"] = f"{launcher.parent}:{env.get('PATH', os.defpath)}"
    done = asked([str(launcher), "--version"], env, "the launcher does not answer", launcher)
    return f"{done.stdout}\n{done.stderr}", done.returncode == 0


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base else home() / ".cache") / "stretto" / "mpi"


def cached(kind: str, path: Path, ask: Callable[[], tuple[str, bool]]) -> str:
    """Return what `ask` answers about a file, asked anew only when the file has changed.

    `ask`: gives the answer, and whether it is to be kept, which is for an answer that is whole and
    was given without failing; its errors are passed on and nothing is kept.
    """
    try:
        facts = path.resolve().stat()
    except OSError as error:
        raise StrettoError("there is no such file", path) from error
    key = [__version__, kind, str(path), facts.st_size, facts.st_mtime_ns, facts.st_ino]
    stamp = repr(key)
    file = _cache_directory() / f"{kind}{str(path).replace('/', '-')[-150:]}.txt"
    with suppress(OSError, ValueError):
        known, _, kept = read_regular(file).decode().partition("\n")
        if known == stamp:
            return kept
    text, keep = ask()
    if not keep:
        return text
    with suppress(StrettoError):
        io.write_atomic(file, f"{stamp}\n{text}", "the cache")
    return text
