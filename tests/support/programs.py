"""Programs of tests/programs: compiled once for each MPI, and run under Stretto's library."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpis import ALL, REPOSITORY, Mpi, library

PROGRAMS = REPOSITORY / "tests" / "programs"
#: every collective that shared memory serves, by it
SHM = ";".join(
    f"{collective}=shm"
    for collective in (
        "allreduce", "bcast", "reduce", "allgather", "allgatherv", "gather", "gatherv", "scatter",
        "scatterv", "reduce_scatter_block", "reduce_scatter", "scan", "exscan", "barrier",
        "alltoall", "alltoallv",
    )
)  # fmt: skip
_BUILT = tempfile.TemporaryDirectory(prefix="stretto-programs-")


@functools.cache
def program(name: str, source: str, *options: str) -> str:
    """Return a program of tests/programs for an MPI, in a file that tells both names."""
    folder = Path(_BUILT.name, *options)
    folder.mkdir(parents=True, exist_ok=True)
    built = folder / f"{source}-{name}"
    flags = ("-O1", "-pthread", "-ldl", "-Wl,--no-as-needed,-lm", *options)
    return str(ALL[name].require().compile(PROGRAMS / f"{source}.c", built, *flags))


def under(mpi: Mpi, **settings: object) -> dict[str, str]:
    """Return what ranks need: the interposer, and settings (``after=1`` is STRETTO_AFTER=1)."""
    preload = {"LD_PRELOAD": str(library(mpi.interposer))}
    return preload | {f"STRETTO_{k.upper()}": str(v) for k, v in settings.items()}


def job(
    name: str,
    command: str,
    *words: str,
    ranks: int = 3,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    within: Sequence[str] = (),
    in_front: object = None,
    timeout: float = 600,
    fails: bool = False,
    **settings: object,
) -> subprocess.CompletedProcess[str]:
    """Run a program under Stretto's library; `command`: its name, and words without blanks.

    `words`: more of them. `options`: of the compiler. `env`: more variables of the ranks. `before`:
    words before the program, as ``sh -c SCRIPT``. `within`: words before the launcher.
    `in_front`: a library that is preloaded, too.
    """
    mpi = ALL[name].require()
    rank_env = under(mpi, **settings) | dict(env or {})
    if in_front is not None:
        rank_env["LD_PRELOAD"] = f"{in_front}:{rank_env['LD_PRELOAD']}"
    source, *first = command.split()
    argv = [*before, program(name, source, *options), *first, *words]
    done = mpi.run(ranks, argv, rank_env=rank_env, timeout=timeout, within=within)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def shim(source: str, *options: str) -> str:
    """Return a library of tests/programs to preload (``in_front``)."""
    return program("openmpi4", source, "-shared", "-fPIC", *options)


def same(done: subprocess.CompletedProcess[str]) -> int:
    """Return how many results were compared; none differs from the MPI's."""
    found = re.search(r"(\d+) comparisons, 0 differences", done.stdout)
    assert found, done.stdout + done.stderr
    return int(found[1])
