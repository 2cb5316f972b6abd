"""What a job's files are called: the one place that `tune` writes by and `run` looks by."""

from __future__ import annotations

import os

from stretto.errors import StrettoError
from stretto.launch.command import Command, parse_command
from stretto.launch.job import Job
from stretto.light import TYPE_CHECKING, later
from stretto.paths import Path

if TYPE_CHECKING:
    import shlex
    from collections.abc import Sequence
else:
    shlex = later("shlex")


#: Python modules that run a script or another module, which follows in the command
RUNNERS = ("mpi4py", "mpi4py.run", "mpi4py.futures", "cProfile")


def interpreter(name: str) -> str | None:
    """Return which program runs another one, in its arguments: ``python`` for ``python3.12``."""
    for kind in ("python", "perl", "bash", "sh"):
        following = name.removeprefix(kind).lstrip("0123456789.")
        if name.startswith(kind) and (not following or following.startswith("-")):
            return kind
    return None


def _is_text(kind: str, word: str) -> bool:
    """Tell whether the program's text comes after a word (``bash -e`` is no such option)."""
    letters = "eE" if kind == "perl" else "c"
    return word[:1] == "-" and word[-1] in letters and word[1:].replace("_", "c").isalnum()


def app_name(job: Job) -> str:
    """Return a name for the files: the program's, or the script's that an interpreter runs."""
    return command_name(job.command)


def command_name(command: Command) -> str:
    """Return what `app_name` says of a command whose MPI need not be known."""
    word = program_word(command)
    if word is None:
        return "job"  # no command at all (`stretto env --mpi`), or one that shows no program
    at = command.applications[0].program
    before = command.words[command.words.index(word) - 1]
    script = at is not None and command.words[at] != word and before != "-m"
    name = Path(word).stem if script else Path(word).name
    # it stands in names of files, in lists of variables and in commands to type
    plain = "".join(c if c.isalnum() or c in "_.-" else " " for c in name)
    while "  " in plain:
        plain = plain.replace("  ", " ")
    return plain.replace(" ", "_") or "job"


def program_word(command: Command) -> str | None:
    """Return the program as typed (``./heat``), or the script or module that is interpreted."""
    applications = command.applications
    if not applications or applications[0].program is None:
        return None
    application = applications[0]
    assert application.program is not None
    words = command.words
    kind = interpreter(Path(words[application.program]).name)
    if kind is not None:
        before = ""
        for word in words[application.program + 1 : application.end]:
            if _is_text(kind, word):
                break
            if kind == "python" and before == "-m":
                if word not in RUNNERS:
                    return word
                before = ""
                continue
            before = word
            if not word.startswith("-") and Path(word).suffix:
                return word
    return words[application.program]


def program_of(words: Sequence[str]) -> str:
    """Return the program of a recorded command as typed, or the line where none is known.

    Of an absolute path it is the last part.
    """
    try:
        found = program_word(parse_command(words, dict(os.environ)))
    except StrettoError:  # its launcher is not here
        found = next((w for w in words[1:] if w.startswith(("./", "../", "/"))), None)
    if found is None:
        return shlex.join(words)
    return Path(found).name if found.startswith("/") else found


def learned_table(job: Job) -> Path:
    """Return the table that `stretto learn -- CMD` writes when not told another."""
    return tuned_directory(job) / f"{app_name(job)}.learned.table"


def tuned_directory(job: Job) -> Path:
    """Return where `stretto tune -- CMD` puts its files when not told: in the working directory."""
    return Path(f"stretto-{app_name(job)}")
