"""Nonblocking collectives of ours: results, ways of completing them, mixed with other requests."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mpis import ALL, MPIS, REPOSITORY, library

SHARED = (
    "allreduce",
    "bcast",
    "reduce",
    "allgather",
    "barrier",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgatherv",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
)
SHM = ";".join(f"{collective}=shm" for collective in SHARED)
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
def test_results_and_requests(
    name: str, mode: str, ranks: int, ppn: int, choices: str, tmp_path: Path
) -> None:
    mpi = ALL[name].require()
    source = REPOSITORY / "tests" / "programs" / "nonblocking.c"
    program = mpi.compile(source, tmp_path / "nonblocking", "-O1")
    env = {
        "LD_PRELOAD": str(library(mpi.interposer)),
        "STRETTO_NONBLOCKING": mode,
        "STRETTO_AFTER": "0" if ppn == 1 else "1",
        "STRETTO_VERBOSE": "1",
        "STRETTO_CHOICE": choices,
        "STRETTO_FAKE_PPN": str(ppn),
    }
    done = mpi.run(ranks, [str(program), "11", "120", "20000"], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) comparisons, 0 differences", done.stdout)
    assert found and int(found[1]) == 120 * ranks
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
def test_behind_a_tool_that_looks_at_requests(name: str, program: str, tmp_path: Path) -> None:
    """It hands requests of ours to PMPI_Wait and the like, and leaves what makes them to us."""
    mpi = ALL[name].require()
    apps = REPOSITORY / "tests" / "programs"
    command = [str(mpi.compile(apps / f"{program}.c", tmp_path / program, "-O1"))]
    tool = mpi.compile(apps / "request_tool.c", tmp_path / "tool.so", "-shared", "-fPIC")
    env = {
        "LD_PRELOAD": f"{tool}:{library(mpi.interposer)}",
        "STRETTO_NONBLOCKING": "calls",
        "STRETTO_AFTER": "1",
        "STRETTO_VERBOSE": "1",
        "STRETTO_CHOICE": FLAT,
    }
    done = mpi.run(3, [*command, "13", "60", "4000"], rank_env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
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
def test_ragged_exchanges_at_once(name: str, mode: str, choices: int, tmp_path: Path) -> None:
    """Sizes that are told, remembered or do not fit, two dozen exchanges under way at a time."""
    mpi = MPIS[name].require()
    source = REPOSITORY / "tests" / "programs" / "ragged_outstanding.c"
    program = mpi.compile(source, tmp_path / "ragged", "-O1")
    env = {
        "LD_PRELOAD": str(library(mpi.interposer)),
        "STRETTO_NONBLOCKING": mode,
        "STRETTO_AFTER": str(choices % 2),
        "STRETTO_VERBOSE": "1",
        "STRETTO_CHOICE": RAGGED[choices],
        "STRETTO_FAKE_PPN": "2" if choices == 1 else "0",
    }
    done = mpi.run(4, [str(program), "400", "3", "cut"], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 exchanges, 0 faults" in done.stdout
    for one in RAGGED[choices].split(";"):
        assert one.split("=")[1] + " (forced)" in done.stderr, one


def test_intel_mpi_keeps_its_own(tmp_path: Path) -> None:
    """It fails when two threads are in it; its results are its own affair, and not compared."""
    mpi = ALL["intel"].require()
    source = REPOSITORY / "tests" / "programs" / "nonblocking.c"
    program = mpi.compile(source, tmp_path / "nonblocking", "-O1")
    env = {
        "LD_PRELOAD": str(library(mpi.interposer)),
        "STRETTO_NONBLOCKING": "thread",
        "STRETTO_CHOICE": SHM,
    }
    done = mpi.run(2, [str(program), "11", "1", "8"], rank_env=env)
    assert "nonblocking collectives stay with the MPI: Intel MPI" in done.stderr


@pytest.mark.parametrize("algorithm", ["direct(128)", "node_aware"])
def test_the_plan_that_is_carried_out_stays(algorithm: str, tmp_path: Path) -> None:
    """While a neighbourhood collective waits, more shapes are decided than plans are kept."""
    mpi = ALL["openmpi4"].require()
    source = REPOSITORY / "tests" / "programs" / "many_plans.c"
    program = mpi.compile(source, tmp_path / "many_plans", "-O1")
    env = {
        "LD_PRELOAD": str(library(mpi.interposer)),
        "STRETTO_NONBLOCKING": "calls",
        "STRETTO_AFTER": "1",
        "STRETTO_VERBOSE": "1",
        "STRETTO_FAKE_PPN": "2",
        "STRETTO_CHOICE": f"neighbor_alltoall={algorithm};bcast=binomial(256)",
    }
    done = mpi.run(3, [str(program)], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "many_plans done" in done.stdout
    for ran in (algorithm, "binomial(256)"):
        assert f"{ran} (forced)" in done.stderr


@pytest.mark.parametrize("choice", ["shm", "recursive_doubling"])
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_the_helper_rounds_as_the_application_does(name: str, choice: str, tmp_path: Path) -> None:
    mpi = ALL[name].require()
    source = REPOSITORY / "tests" / "programs" / "rounding.c"
    program = mpi.compile(source, tmp_path / "rounding", "-O1", "-Wl,--no-as-needed,-lm")
    env = {
        "LD_PRELOAD": str(library(mpi.interposer)),
        "STRETTO_NONBLOCKING": "thread",
        "STRETTO_AFTER": "1",
        "STRETTO_VERBOSE": "1",
        "STRETTO_CHOICE": f"allreduce={choice}",
    }
    done = mpi.run(2, [str(program)], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rounding done" in done.stdout
    assert f"{choice} (forced)" in done.stderr


def _threads(
    tmp_path: Path, ranks: int, cpu: str, *before: str, mpi: str = "openmpi4"
) -> tuple[list[set[str]], str]:
    """On which hardware threads the threads of each rank may run, and what was said."""
    found = ALL[mpi].require()
    source = REPOSITORY / "tests" / "programs" / "helper_place.c"
    program = found.compile(source, tmp_path / "helper_place", "-O1")
    env = {
        "LD_PRELOAD": str(library(found.interposer)),
        "STRETTO_NONBLOCKING": "thread",
        "STRETTO_NONBLOCKING_CPU": cpu,
        "STRETTO_AFTER": "1",
        "STRETTO_CHOICE": "allreduce=recursive_doubling",
    }
    done = found.run(ranks, [*before, str(program)], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"rank \d+ may run on: (.*)", done.stdout)
    assert len(lines) == ranks
    return [set(line.split(" / ")) for line in lines], done.stderr


@pytest.mark.parametrize("mpi", ["openmpi4", "mpich"])
def test_the_helper_runs_where_it_is_told(mpi: str, tmp_path: Path) -> None:
    first = str(min(os.sched_getaffinity(0)))
    for threads in _threads(tmp_path, 2, first, mpi=mpi)[0]:
        assert first in threads  # that one thread, and the others wherever they were
    assert all(first not in t for t in _threads(tmp_path, 2, "", mpi=mpi)[0])


def test_a_helper_beside_a_bound_rank_and_none_beside_unbound_ones(tmp_path: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    (threads,), said = _threads(tmp_path, 1, "spare", "taskset", "-c", str(first))
    assert "no hardware thread" not in said
    others = [t for t in threads if t.isdigit() and int(t) != first]
    assert len(others) == 1, (threads, second)
    unbound, said = _threads(tmp_path, 2, "spare")
    assert "no hardware thread of this node is left over" in said
    assert len({frozenset(t) for t in unbound}) == 1


def test_a_place_that_is_none_is_said(tmp_path: Path) -> None:
    assert "'1,x' is neither `spare` nor numbers" in _threads(tmp_path, 1, "1,x")[1]
    assert "cannot use hardware thread 8000" in _threads(tmp_path, 1, "8000")[1]
