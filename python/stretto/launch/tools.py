"""Other tools of the MPI profiling interface in a command: they take calls from Stretto."""

from __future__ import annotations

from stretto.launch.command import Command
from stretto.launch.reach import preloads
from stretto.light import TYPE_CHECKING, dataclass, later
from stretto.mpi.detect import which
from stretto.mpi.elf import defines, find_library, is_elf, needed_by, read_dynamic
from stretto.paths import Path

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping, Sequence
else:
    re = later("re")

#: the libraries of an MPI, Fortran's and C++'s among them, and ours
_OWN = (
    "mpi", "mpich", "mpichfort", "mpichcxx", "mpichf90", "mpicxx", "mpi_mpifh", "mpi_cxx",
    "mpi_cray", "mpi_abi", "mpi_ilp64", "mpi_java",
)  # fmt: skip
#: beginnings of others
_OWN_FAMILIES = ("mpifort", "open-", "mpi_usempi", "mpi_gnu", "mpi_intel", "mpi_ibm")
#: libraries of AddressSanitizer, which ends a program when another library is preloaded
_SANITIZER = ("libasan.so", "libclang_rt.asan")
#: what it needs then
SANITIZER_OPTION = "verify_asan_link_order=0"
_PRELOAD = r"\bLD_PRELOAD=([^,;]*)"


@dataclass(frozen=True)
class Tool:
    """Something that exports MPI functions as Stretto does.

    `preloaded`: by LD_PRELOAD; else the program holds or links it.
    """

    name: str
    preloaded: bool

    @property
    def words(self) -> str:
        """What it does, and what to do about it."""
        how, remedy = (
            ("preloaded", "remove it from LD_PRELOAD")
            if self.preloaded
            else ("part of the program", "link the program without it")
        )
        return (
            f"{self.name} ({how}) exports MPI functions: Stretto does not see the calls that "
            f"it intercepts; {remedy} while Stretto records or tunes"
        )


def mpi_tools(
    command: Command, environ: Mapping[str, str], cwd: Path, scripts: Sequence[str] = ()
) -> list[Tool]:
    """Return all that exports MPI functions in a job beside its MPI and Stretto.

    Preloaded by the environment, by ``env``, ``-x``, ``-genv`` or ``--export``, or in a script;
    linked to the program; or in the program itself. What a module sets in a script is not seen.
    """
    words = _preloaded(command, environ, scripts)
    found = [Tool(word, True) for word in words if _exports(word, environ, cwd)]
    linked = (Tool(name, False) for name in _linked(command, environ, cwd))
    return list(dict.fromkeys([*found, *linked]))


def sanitized(command: Command, environ: Mapping[str, str], cwd: Path) -> str | None:
    """Return a program that loads AddressSanitizer, None where none is seen."""
    for _, word, path in _binaries(command, environ, cwd):
        dynamic = read_dynamic(path.resolve())
        if dynamic is not None and any(n.startswith(_SANITIZER) for n in dynamic.needed):
            return word
    return None


def _binaries(
    command: Command, environ: Mapping[str, str], cwd: Path
) -> Iterator[tuple[int, str, Path]]:
    """Yield number of the application, word and file of all binaries that a command names."""
    for number, application in enumerate(command.applications):
        if application.program is None:
            continue
        for at in range(application.program, application.end):
            word = command.words[at]
            first = at == application.program
            path = which(word, environ, cwd) if first or "/" in word else None
            if path is not None and is_elf(path):
                yield number, word, path


def _preloaded(
    command: Command, environ: Mapping[str, str], scripts: Sequence[str]
) -> Iterator[str]:
    values = [environ.get("LD_PRELOAD", ""), command.assignments.get("LD_PRELOAD", "")]
    for option in command.options:
        if option.values[:1] == ("LD_PRELOAD",) and len(option.values) == 2:
            values.append(option.values[1])  # -genv NAME VALUE
    arguments = {
        i for a in command.applications if a.program is not None for i in range(a.program, a.end)
    }
    for at, word in enumerate(command.words):
        if at not in arguments and "LD_PRELOAD=" in word:
            values += re.findall(_PRELOAD, word)
    values += [value for text in scripts for value in preloads(text)]
    for value in values:
        yield from (word for word in value.replace(":", " ").split() if "$" not in word)


def _own(name: str) -> bool:
    """Tell whether a library's name is one of an MPI's or of ours."""
    stem, dot, _ = name.partition(".so")
    stem = stem.removeprefix("lib")
    family = stem.startswith(_OWN_FAMILIES) and "-" not in stem.removeprefix("open-")
    own = stem in _OWN or stem.startswith("stretto") or family
    return own and bool(dot) and name.startswith("lib")


def _exports(word: str, environ: Mapping[str, str], cwd: Path) -> bool:
    path: Path | None = cwd / word
    if "/" not in word:
        own = read_dynamic(Path("/proc/self/exe").resolve())  # any program of this machine
        path = find_library(word, [own], environ) if own is not None else None
    if path is None or _own(path.name):
        return False
    return _takes(path)


def _takes(path: Path) -> bool:
    """Return whether a file takes MPI calls: of C, or of Fortran without going on in Fortran."""
    return defines(path, "MPI_") or (defines(path, "mpi_") and defines(path, "PMPI_", used=True))


def _linked(command: Command, environ: Mapping[str, str], cwd: Path) -> Iterator[str]:
    """Yield programs that define MPI functions, and what they load before the MPI that does."""
    seen: set[int] = set()
    for number, word, path in _binaries(command, environ, cwd):
        libraries = [] if number in seen else needed_by(path, environ)
        if not any(_own(n.name) for n in libraries):
            continue  # a wrapper, or data
        seen.add(number)
        if _takes(path):
            yield word
        for library in libraries:
            if _own(library.name):
                break  # what comes behind the MPI takes nothing
            if library.path is not None and _takes(library.path):
                yield library.name
