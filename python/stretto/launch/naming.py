"""What a job's files are called: the one place that `tune` writes by and `run` looks by."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from stretto.errors import StrettoError
from stretto.launch.command import Command, parse_command
from stretto.launch.job import Job

#: programs that run another one, which stands in their arguments
INTERPRETER = re.compile(r"(python|perl|bash|sh)[0-9.]*(-.*)?\Z")
#: behind it stands the program's text, not its file (``bash -e`` is no such option)
_TEXT = {"perl": re.compile(r"-\w*[eE]\Z"), "": re.compile(r"-\w*c\Z")}


def app_name(job: Job) -> str:
    """Return a name for the files: the program's, or the script's that an interpreter runs."""
    return command_name(job.command)


def command_name(command: Command) -> str:
    """Return what `app_name` says of a command whose MPI need not be known."""
    word = program_word(command)
    if word is None:
        return "job"  # no command at all (`stretto env --mpi`), or one that shows no program
    at = command.applications[0].program
    script = at is not None and command.words[at] != word
    name = Path(word).stem if script else Path(word).name
    # it stands in names of files, in lists of variables and in commands to type
    return re.sub(r"[^\w.-]+", "_", name) or "job"


def program_word(command: Command) -> str | None:
    """Return the program as typed (``./heat``), or the script that an interpreter runs."""
    applications = command.applications
    if not applications or applications[0].program is None:
        return None
    application = applications[0]
    assert application.program is not None
    words = command.words
    found = INTERPRETER.match(Path(words[application.program]).name)
    if found is not None:
        text = _TEXT.get(found[1], _TEXT[""])
        for word in words[application.program + 1 : application.end]:
            if text.match(word):
                break
            if not word.startswith("-") and Path(word).suffix:
                return word
    return words[application.program]


def program_of(words: Sequence[str]) -> str:
    """Return the program of a recorded command as typed, or the line where it is not known."""
    try:
        found = program_word(parse_command(words, dict(os.environ)))
    except StrettoError:  # its launcher is not here
        found = next((w for w in words[1:] if w.startswith(("./", "../", "/"))), None)
    return found or shlex.join(words)


def learned_table(job: Job) -> Path:
    """Return the table that `stretto learn -- CMD` writes when not told another."""
    return tuned_directory(job) / f"{app_name(job)}.learned.table"


def tuned_directory(job: Job) -> Path:
    """Return where `stretto tune -- CMD` puts its files when not told: in the working directory."""
    return Path(f"stretto-{app_name(job)}")
