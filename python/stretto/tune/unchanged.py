"""Whether CMD is still what earlier runs were of: its programs, and the files of the case."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from stretto.launch.job import Job
from stretto.launch.naming import INTERPRETER
from stretto.mpi.detect import which


def program_files(job: Job) -> list[Path]:
    """Return the programs that a command starts, and the scripts that interpreters run."""
    words, out = job.command.words, []
    environ = {**job.environ, **job.command.assignments}
    for application in job.command.applications:
        if application.program is None:
            continue
        found = which(words[application.program], environ, job.cwd)
        if found is not None:
            out.append(job.cwd / found)
        if INTERPRETER.match(Path(words[application.program]).name):
            arguments = words[application.program + 1 : application.end]
            script = job.cwd / next((w for w in arguments if not w.startswith("-")), "")
            with suppress(OSError):  # the text of `sh -c TEXT` may be no name at all
                if script.is_file():
                    out.append(script)
    return list(dict.fromkeys(out))


def newer(paths: Iterable[Path], since: str) -> list[Path]:
    """Return the files that were written, replaced or renamed after a moment.

    `since`: as files between the stages have it, in whole seconds; anything else finds nothing.
    """
    try:
        moment = datetime.strptime(since, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return []
    out = []
    for path in paths:
        with suppress(OSError):  # removed meanwhile
            # A copy may have kept the time of its contents (cp -p), but not that of its inode.
            if path.lstat().st_ctime >= moment.timestamp() + 1:
                out.append(path)
    return sorted(out)
