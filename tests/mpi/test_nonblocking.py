"""Nonblocking collectives of ours: results, ways of completing them, mixed with other requests."""

from __future__ import annotations

import os
import re

import pytest

import programs
from mpis import ALL, MPIS
from programs import SHM, job, same, under

FLAT = (
    "allreduce=ring;bcast=knomial(3);reduce=knomial(2);allgather=bruck_k(3);"
    "barrier=dissemination(2);alltoall=pairwise;alltoallv=pairwise;scan=linear;"
    "gatherv=knomial(2);scatterv=knomial(3)"
)


@pytest.mark.parametrize(
    ("mode", "ranks", "ppn", "choices"),
    [("calls", 2, 0, SHM), ("calls", 3, 1, FLAT), ("thread", 3, 2, FLAT)],
    ids=["calls-shm", "calls-flat", "thread-flat"],
)
@pytest.mark.parametrize("name", [n for n in ALL if not n.startswith("intel")])
def test_results_and_requests(name: str, mode: str, ranks: int, ppn: int, choices: str) -> None:
    settings = {"nonblocking": mode, "after": 0 if ppn == 1 else 1, "fake_ppn": ppn}
    done = job(name, "nonblocking 11 120 20000", ranks=ranks, choice=choices, verbose=1, **settings)
    assert same(done) == 120 * ranks
    assert "stay with the MPI" not in done.stderr
    for one in choices.split(";"):  # the program calls nonblocking forms only, but for barriers
        collective, choice = one.split("=")
        assert f"{choice} (forced)" in done.stderr, f"{collective}={choice} did not run"


@pytest.mark.parametrize(
    ("name", "program"),
    [
        (name, program)
        for name in ALL
        for program in ("nonblocking", "persistent")
        # Open MPI 4 has no persistent collectives, and under Intel MPI nonblocking ones are its own
        if not name.startswith("intel") and (name, program) != ("openmpi4", "persistent")
    ],
)
def test_behind_a_tool_that_looks_at_requests(name: str, program: str) -> None:
    """It hands requests of ours to PMPI_Wait and the like, and leaves what makes them to us."""
    tool = programs.program(name, "request_tool", "-shared", "-fPIC")
    settings = {"nonblocking": "calls", "after": 1, "choice": FLAT, "verbose": 1}
    done = job(name, f"{program} 13 60 4000", in_front=tool, timeout=120, **settings)
    assert ", 0 differences" in done.stdout
    assert "ring (forced)" in done.stderr
    seen = re.findall(r"^request_tool: (\d+)$", done.stderr, flags=re.M)
    assert len(seen) == 3 and all(int(n) > 60 for n in seen)


RAGGED = (
    "alltoallv=bruck_v(2);gatherv=knomial(2);scatterv=knomial(3);allgatherv=bruck_k(2)",
    "alltoallv=aggregated;gatherv=shm+knomial(2);scatterv=shm+linear(2);allgatherv=shm+ring",
    "alltoallv=shm;gatherv=shm;scatterv=shm;allgatherv=shm",
)


@pytest.mark.parametrize(("mode", "choices"), [("calls", 0), ("thread", 1), ("calls", 2)])
@pytest.mark.parametrize("name", [n for n in MPIS if n != "intel"])
def test_ragged_exchanges_at_once(name: str, mode: str, choices: int) -> None:
    """Sizes that are told, remembered or do not fit, two dozen exchanges under way at a time."""
    settings = {"nonblocking": mode, "after": choices % 2, "fake_ppn": 2 if choices == 1 else 0}
    more = {"choice": RAGGED[choices], "verbose": 1, **settings}
    done = job(name, "ragged_outstanding 400 3 cut", ranks=4, **more)
    assert "400 exchanges, 0 faults" in done.stdout
    for one in RAGGED[choices].split(";"):
        assert one.split("=")[1] + " (forced)" in done.stderr, one


def test_intel_mpi_keeps_its_own() -> None:
    """It fails when two threads are in it; its results are its own affair, and not compared."""
    mpi = ALL["intel"].require()
    command = [programs.program("intel", "nonblocking"), "11", "1", "8"]
    done = mpi.run(2, command, rank_env=under(mpi, nonblocking="thread", choice=SHM))
    assert "nonblocking collectives stay with the MPI: Intel MPI" in done.stderr


@pytest.mark.parametrize("algorithm", ["direct(128)", "node_aware"])
def test_the_plan_that_is_carried_out_stays(algorithm: str) -> None:
    """While a neighbourhood collective waits, more shapes are decided than plans are kept."""
    choice = f"neighbor_alltoall={algorithm};bcast=binomial(256)"
    settings = {"nonblocking": "calls", "after": 1, "fake_ppn": 2, "verbose": 1}
    done = job("openmpi4", "many_plans", choice=choice, **settings)
    assert "many_plans done" in done.stdout
    for ran in (algorithm, "binomial(256)"):
        assert f"{ran} (forced)" in done.stderr


@pytest.mark.parametrize("choice", ["shm", "recursive_doubling"])
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_the_helper_rounds_as_the_application_does(name: str, choice: str) -> None:
    settings = {"nonblocking": "thread", "after": 1, "verbose": 1}
    done = job(name, "rounding", ranks=2, choice=f"allreduce={choice}", **settings)
    assert "rounding done" in done.stdout
    assert f"{choice} (forced)" in done.stderr


def _threads(
    ranks: int, cpu: str, *before: str, mpi: str = "openmpi4"
) -> tuple[list[set[str]], str]:
    """On which hardware threads the threads of each rank may run, and what was said."""
    settings = {"nonblocking": "thread", "nonblocking_cpu": cpu, "after": 1}
    choice = "allreduce=recursive_doubling"
    done = job(mpi, "helper_place", ranks=ranks, before=before, choice=choice, **settings)
    lines = re.findall(r"rank \d+ may run on: (.*)", done.stdout)
    assert len(lines) == ranks
    return [set(line.split(" / ")) for line in lines], done.stderr


@pytest.mark.parametrize("mpi", ["openmpi4", "mpich"])
def test_the_helper_runs_where_it_is_told(mpi: str) -> None:
    first = str(min(os.sched_getaffinity(0)))
    for threads in _threads(2, first, mpi=mpi)[0]:
        assert first in threads  # that one thread, and the others wherever they were
    assert all(first not in t for t in _threads(2, "", mpi=mpi)[0])


def test_a_helper_beside_a_bound_rank_and_none_beside_unbound_ones() -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    (threads,), said = _threads(1, "spare", "taskset", "-c", str(first))
    assert "no hardware thread" not in said
    others = [t for t in threads if t.isdigit() and int(t) != first]
    assert len(others) == 1, (threads, second)
    unbound, said = _threads(2, "spare")
    assert "no hardware thread of this node is free" in said
    assert len({frozenset(t) for t in unbound}) == 1


def test_a_place_that_is_none_is_said() -> None:
    assert "'1,x' is neither `spare` nor numbers" in _threads(1, "1,x")[1]
    assert "cannot use hardware thread 8000" in _threads(1, "8000")[1]
