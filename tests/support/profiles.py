"""Profiles of runs that never were: two or four ranks on one node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Call, Communicator, FileUse, Matrix, Node, Profile
from stretto.place.order import RankTraffic

#: ranks of `many`
N = 4
#: of a file: all its 32 parts
WHOLE = 2**32 - 1


def row(function: str, kind: Any, **values: Any) -> Call:
    """Make a row for two ranks."""
    base: dict[str, Any] = {
        "communicator": 0,
        "operation": None,
        "datatype": None,
        "bytes_min": 8,
        "bytes_max": 15,
        "calls": [1000, 1000],
        "bytes": [8000, 8000],
        "time_s": [0.0, 0.0],
    }
    return Call(function, kind, **(base | values))


def profile(calls: list[Call], compute: tuple[float, float] = (1.0, 1.0), **values: Any) -> Profile:
    """Make a profile of two ranks on one node."""
    mpi = [sum(c.time_s[r] for c in calls) for r in range(2)]
    io = values.get("io_s", [0.0, 0.0])
    base: dict[str, Any] = {
        "stretto": "0",
        "created": "",
        "host": Host("h", "c", 2, "k", 1),
        "mpi": MPIIdentity("openmpi", "openmpi", "4.1.4"),
        "command": ["mpirun", "-n", "2", "./a b"],
        "nranks": 2,
        "nodes": [Node("h", [0, 1])],
        "complete": True,
        "incomplete_ranks": [],
        "wall_s": [compute[r] + mpi[r] + io[r] for r in range(2)],
        "mpi_s": mpi,
        "io_s": [0.0, 0.0],
        "clock_error_s": [0.0, 0.0],
        "communicators": [Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)],
        "calls": calls,
    }
    return Profile(**(base | values))


def used(
    *parts: int, time_s: float = 1.0, reads: bool = True, system: str = "nfs", mpi_io: bool = False
) -> FileUse:
    """Return a file of 1 GiB of which ranks read or wrote these parts (32 bits), 0 and on."""
    n = len(parts)
    volumes, none, times = [p.bit_count() << 25 for p in parts], [0] * n, [time_s] * n
    return FileUse(
        "/data/in", system, 1 << 30, mpi_io, list(range(n)), [1 - mpi_io] * n, [0 + mpi_io] * n,
        [1] * n, [1] * n,
        volumes if reads else none, none if reads else volumes, list(parts) if reads else none,
        times if reads else [0.0] * n, [0.0] * n if reads else times, [0.0] * n,
    )  # fmt: skip


def many(
    calls: list[Call], compute: tuple[float, ...] = (1.0,) * N, messages: Any = (), **values: Any
) -> Profile:
    """Return a profile of four ranks on one node."""
    mpi = [sum(c.time_s[r] for c in calls) for r in range(N)]
    base: dict[str, Any] = {
        "nranks": N, "nodes": [Node("h", [*range(N)], 1.0, 64)], "mpi_s": mpi, "io_s": [0.0] * N,
        "wall_s": [max(c + m for c, m in zip(compute, mpi, strict=True))] * N, "calls": calls,
        "clock_error_s": [0.0] * N, "matrix": Matrix(list(messages)),
        "communicators": [Communicator(0, "MPI_COMM_WORLD", N, 1, N)],
    }  # fmt: skip
    return replace(profile([]), **(base | values))


def of_four(function: str, kind: Any, time_s: list[float], **values: Any) -> Call:
    base = {"calls": [100] * N, "bytes": [800] * N, "time_s": time_s}
    return row(function, kind, **(base | values))


def torus(width: int, height: int, at: np.ndarray) -> RankTraffic:
    """Return messages of a torus whose place i has rank at[i]."""
    places = np.arange(width * height)
    x, y = places % width, places // width
    right, down = y * width + (x + 1) % width, (y + 1) % height * width + x
    source = at[np.concatenate([places, right, places, down])]
    target = at[np.concatenate([right, places, down, places])]
    count = np.full(len(source), 10.0)
    return RankTraffic(width * height, source, target, count, 1e5 * count)
