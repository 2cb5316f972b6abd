"""What a job's files are called: the one place that `tune` writes by and `run` looks by."""

from __future__ import annotations

import re
from pathlib import Path

from stretto.launch.job import Job

#: programs that run another one, which stands in their arguments
INTERPRETER = re.compile(r"(python|perl|bash|sh)[0-9.]*(-.*)?\Z")


def app_name(job: Job) -> str:
    """Return a name for the files: the program's, or the script's that an interpreter runs."""
    applications = job.command.applications
    if not applications or applications[0].program is None:
        return "job"  # no command at all (`stretto env --mpi`), or one that shows no program
    application = applications[0]
    assert application.program is not None
    words = job.command.words
    name = Path(words[application.program]).name
    if INTERPRETER.match(name):
        for word in words[application.program + 1 : application.end]:
            if not word.startswith("-") and Path(word).suffix:
                name = Path(word).stem
                break
    return name or "job"


def tuned_directory(job: Job) -> Path:
    """Return where `stretto tune -- CMD` puts its files when not told: in the working directory."""
    return Path(f"stretto-{app_name(job)}")
