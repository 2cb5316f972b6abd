"""Messages between ranks, measured through each MPI (no figure decides a test)."""

from __future__ import annotations

import pytest

from mpis import MPIS, Mpi, alone_here, beside_others
from stretto.built import library
from stretto.net.p2p import P2PLaunch, Point, figures, points, read_launch


def launch(mpi: Mpi, ranks: int, level: str, *words: str, budget: float = 60) -> tuple[int, str]:
    abi = "openmpi" if mpi.family == "openmpi" else "mpich"
    program = [str(library("p2p", abi)), level, "-", "2", "500", str(budget), *words]
    env = mpi.environment | {"LD_LIBRARY_PATH": str(mpi.libmpi.parent)}
    with beside_others() if mpi.yields or ranks == 2 else alone_here():
        done = mpi.run(ranks, program, env=env, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", MPIS)
def test_p2p_measures_every_point_with_each_mpi(name: str) -> None:
    """An odd number of ranks: the last one has no partner; the buffers fit collectives as well."""
    mpi = MPIS[name].require()
    wanted = points([8, 100_000], 5)
    status, output = launch(mpi, 5, "single", *(p.word for p in wanted))
    assert status == 0, output
    found = read_launch(output, "mpirun")
    assert not found.cut and len(found.hosts) == 5
    assert set(found.batches) == set(wanted)
    assert all(len(batches) == 2 for batches in found.batches.values())
    assert all(f.value.median > 0 or f.unit == "%" for f in figures([found]))


@pytest.mark.parametrize("name", MPIS)
def test_p2p_threads_of_each_level(name: str) -> None:
    mpi = MPIS[name].require()
    for level, tests in (("serialized", ["turns"]), ("multiple", ["threads", "shared", "turns"])):
        wanted = [Point("latency", 8), *(Point(t, 8, threads=3) for t in tests)]
        status, output = launch(mpi, 2, level, *(p.word for p in wanted))
        assert status == 0, output
        found: P2PLaunch = read_launch(output, "mpirun")
        assert set(found.batches) == set(wanted)
        assert found.level == level or found.level == "multiple"


def test_p2p_refuses_what_does_not_fit() -> None:
    mpi = MPIS["openmpi4"].require()
    for level, words, text in (
        ("single", ["latency:8:2:1:1"], "2 pairs need 4 ranks, and there are 2"),
        ("single", ["threads:8:1:1:2"], "threads needs MPI_THREAD_multiple"),
        ("single", ["latency:8:1:1"], "not a point"),
        ("single", ["latency:8:1:1:99"], "out of range"),
        ("single", ["ring:8:1:1:1"], "not a point"),
        ("any", ["latency:8:1:1:1"], "usage: mpirun"),
    ):
        status, output = launch(mpi, 2, level, *words)
        assert status != 0 and text in output, (words, output)
    status, output = launch(mpi, 2, "single", "latency:8:1:1:1", budget=1e-9)
    assert status == 0 and read_launch(output, "mpirun").cut, output
