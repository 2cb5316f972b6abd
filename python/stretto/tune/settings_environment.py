"""What of the environment decides how fast a run of CMD is: it belongs to what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stretto.errors import StrettoError
from stretto.launch.job import Job
from stretto.mpi.surroundings import deciding, differing

#: the threads of each rank and where they are, for GCC's, Intel's and LLVM's OpenMP
_THREADS = re.compile(r"(OMP|GOMP|KMP)_(?!DISPLAY|VERSION|SETTINGS|WARNINGS)\w+")


def environment_of(job: Job) -> dict[str, str]:
    """Return the variables that decide how fast a job runs: of its MPI, and of its threads."""
    environ = {**job.environ, **job.command.assignments}
    threads = {n: v for n, v in environ.items() if _THREADS.fullmatch(n)}
    return dict(sorted({**deciding(job.mpi.family, environ), **threads}.items()))


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
            f"set the environment as it was (load the same modules); or {remedy}",
        )  # fmt: skip
