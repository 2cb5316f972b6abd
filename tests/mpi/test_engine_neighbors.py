"""Neighbourhood collectives: equal to the MPI's own on random topologies, and what stays native."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import ALL, MPIS, REPOSITORY, Mpi, library

APPS = REPOSITORY / "tests" / "programs"
NAMES = ("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory):
    """Compile a program of tests/programs for an MPI, once."""
    folder = tmp_path_factory.mktemp("apps")

    def compiled(mpi: Mpi, name: str) -> str:
        program = folder / f"{name}-{mpi.name}"
        if not program.exists():
            mpi.compile(APPS / f"{name}.c", program, "-O1")
        return str(program)

    return compiled


def _preload(mpi: Mpi, choice: str, **settings: object) -> dict[str, str]:
    forced = ";".join(f"{c}={choice}" for c in NAMES)
    more = {"STRETTO_CHOICE": forced, "STRETTO_AFTER": 0, "STRETTO_VERBOSE": 1} | settings
    return {"LD_PRELOAD": str(library(mpi.family))} | {k: str(v) for k, v in more.items()}


def _equal(done, comparisons: int, choice: str, ranks: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{comparisons} comparisons, 0 differences" in done.stdout
    for name in NAMES if ranks > 1 else ():  # it was ours that was compared
        ran = rf"{name} of any size .*: {re.escape(choice)}(\(\d+\))? \(forced\)"
        assert re.search(ran, done.stderr), name


@pytest.mark.parametrize("choice", ["direct", "node_aware"])
@pytest.mark.parametrize("name", ALL)
def test_neighbors_equal_the_mpis_own(build, name: str, choice: str) -> None:
    """Ragged and empty blocks, other datatypes at each end, gaps, repeated edges, MPI_BOTTOM."""
    mpi = ALL[name].require()
    env = _preload(mpi, choice, STRETTO_FAKE_PPN=2)
    done = mpi.run(4, [build(mpi, "neighbors"), "3", "9", "16"], rank_env=env)
    _equal(done, 9 * 16 * 4, choice, 4)


@pytest.mark.parametrize("choice", ["direct", "node_aware"])
@pytest.mark.parametrize("name", MPIS)
def test_graph_whose_ends_do_not_match_stays_native(build, name: str, choice: str) -> None:
    """Nothing goes along its edges: MPI_Graph_create hung, MPI_Comm_create_group died of SIGFPE."""
    mpi = MPIS[name].require()
    env = _preload(mpi, choice, STRETTO_FAKE_PPN=2)
    done = mpi.run(4, [build(mpi, "odd_graphs")], rank_env=env, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "odd_graphs: 43 communicators, 0 differences" in done.stdout
    assert re.search(
        rf"neighbor_alltoall of any size .*: {choice}(\(\d+\))? \(forced\)", done.stderr
    )


@pytest.mark.parametrize(
    ("ranks", "ppn", "choice"),
    [(1, 0, "direct"), (2, 1, "node_aware"), (5, 2, "node_aware"), (8, 3, "node_aware"),
     (8, 4, "node_aware"), (6, 0, "node_aware"), (7, 0, "direct(1)"), (5, 0, "direct(3)")],
)  # fmt: skip
def test_other_numbers_of_ranks(build, ranks: int, ppn: int, choice: str) -> None:
    mpi = MPIS["openmpi4"].require()
    env = _preload(mpi, choice, STRETTO_FAKE_PPN=ppn)
    done = mpi.run(ranks, [build(mpi, "neighbors"), str(ranks), "9", "12"], rank_env=env)
    _equal(done, 9 * 12 * ranks, choice, ranks)


def test_checked_calls_without_mistakes_run(build) -> None:
    mpi = MPIS["openmpi4"].require()
    env = _preload(mpi, "node_aware", STRETTO_FAKE_PPN=2, STRETTO_CHECK_CALLS=1)
    done = mpi.run(3, [build(mpi, "neighbors"), "5", "6", "8"], rank_env=env)
    _equal(done, 6 * 8 * 3, "node_aware", 3)


def test_a_mismatch_is_named_and_ends_the_job(build) -> None:
    mpi = MPIS["openmpi4"].require()
    env = _preload(mpi, "direct", STRETTO_CHECK_CALLS=1, STRETTO_CHECK_SECONDS=60)
    done = mpi.run(3, [build(mpi, "mismatch"), "neighbor"], rank_env=env, timeout=300)
    assert done.returncode != 0
    said = "MPI_Neighbor_alltoall: rank 2 sends 12 bytes to rank 1, which expects 8"
    assert f"stretto: {said}" in done.stderr, done.stderr
    assert "came to its end" not in done.stdout


TABLE = """stretto-table 1
mpi openmpi 4.1.4
layout nodes=1 ppn=2
created 2026-11-21T20:00:00Z stretto 0.1.0 host test cpu "test"
row neighbor_allgather 1 2 0-1023 direct -
row neighbor_alltoall 1 2 0-inf direct(16) -
end 2
"""


def test_sizes_that_ranks_do_not_share_decide_nothing(build, tmp_path: Path) -> None:
    """A row for some sizes is not used; without a row the graph is not even gathered."""
    mpi = MPIS["openmpi4"].require()
    table = tmp_path / "t.table"
    table.write_text(TABLE)
    env = _preload(mpi, "native", STRETTO_TABLE=table)
    del env["STRETTO_CHOICE"]
    done = mpi.run(2, [build(mpi, "neighbors"), "1", "3", "20"], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differences" in done.stdout
    assert re.search(r"neighbor_allgather of any size .*: native \(no row for it\)", done.stderr)
    used = rf"neighbor_alltoall of any size .*: direct\(16\) \({table}:6\)"
    assert re.search(used, done.stderr)
