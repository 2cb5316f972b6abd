"""Whether CMD is what earlier runs were of: programs, files of the case, and environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from stretto.errors import StrettoError
from stretto.launch.job import Job
from stretto.launch.naming import interpreter
from stretto.mpi.detect import which
from stretto.mpi.surroundings import deciding, differing

#: the threads of each rank and where they are, for GCC's, Intel's and LLVM's OpenMP
_THREADS = re.compile(r"(OMP|GOMP|KMP)_(?!DISPLAY|VERSION|SETTINGS|WARNINGS)\w+")


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
        if interpreter(Path(words[application.program]).name):
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


def environment_of(job: Job) -> dict[str, str]:
    """Return the variables that decide how fast a job runs: of its MPI, and of its threads."""
    environ = {**job.environ, **job.command.assignments}
    threads = {n: v for n, v in environ.items() if _THREADS.fullmatch(n)}
    return dict(sorted({**deciding(job.mpi.family, environ), **threads}.items()))


def refuse_other(
    pairs: Iterable[tuple[str, object, object]], place: Path | str, remedy: str
) -> None:
    """Refuse to go on with what was made otherwise.

    `pairs`: what it is called, as it was then, and as it is now.
    """
    for what, then, now in pairs:
        if then != now:
            raise StrettoError(f"this is of another {what}: {then}, not {now}", place, remedy)


def refuse_other_environment(
    before: Mapping[str, str] | None, now: Mapping[str, str] | None, place: Path | str, remedy: str
) -> None:
    """Refuse to add to runs of another environment; None: not known (of an earlier version).

    `before`, `now`: from `environment_of`.
    """
    words = None if before is None or now is None else differing(before, now)
    if words is not None:
        raise StrettoError(
            f"the runs here were made with {words}", place,
            f"use the same environment (load the same modules); or {remedy}",
        )  # fmt: skip
