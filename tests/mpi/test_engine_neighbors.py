"""Neighbourhood collectives: equal to the MPI's own on random topologies, and what stays native."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import ALL, MPIS
from programs import job, same

NAMES = ("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv")


def forced(choice: str) -> str:
    return ";".join(f"{c}={choice}" for c in NAMES)


def equal(name: str, choice: str, ranks: int, *words: str, ppn: int = 2, **more: object) -> None:
    """Compare calls on random topologies with native ones; check that Stretto carried them out."""
    settings = {"choice": forced(choice), "after": 0, "verbose": 1, "fake_ppn": ppn, **more}
    done = job(name, "neighbors", *words, ranks=ranks, **settings)
    assert same(done) == int(words[1]) * int(words[2]) * ranks
    for one in NAMES if ranks > 1 else ():
        ran = rf"{one} of any size .*: {re.escape(choice)}(\(\d+\))? \(forced\)"
        assert re.search(ran, done.stderr), one


@pytest.mark.parametrize("choice", ["direct", "node_aware"])
@pytest.mark.parametrize("name", ALL)
def test_neighbors_equal_the_mpis_own(name: str, choice: str) -> None:
    """Ragged and empty blocks, other datatypes at each end, gaps, repeated edges, MPI_BOTTOM."""
    equal(name, choice, 4, "3", "9", "16")


@pytest.mark.parametrize("choice", ["direct", "node_aware"])
@pytest.mark.parametrize("name", MPIS)
def test_graph_whose_ends_do_not_match_stays_native(name: str, choice: str) -> None:
    """Nothing goes along its edges: MPI_Graph_create hung, MPI_Comm_create_group died of SIGFPE."""
    settings = {"choice": forced(choice), "after": 0, "verbose": 1, "fake_ppn": 2}
    done = job(name, "odd_graphs", ranks=4, timeout=300, **settings)
    assert "odd_graphs: 43 communicators, 0 differences" in done.stdout
    assert re.search(
        rf"neighbor_alltoall of any size .*: {choice}(\(\d+\))? \(forced\)", done.stderr
    )


@pytest.mark.parametrize(
    ("ranks", "ppn", "choice"),
    [(1, 0, "direct"), (2, 1, "node_aware"), (5, 2, "node_aware"), (8, 3, "node_aware"),
     (8, 4, "node_aware"), (6, 0, "node_aware"), (7, 0, "direct(1)"), (5, 0, "direct(3)")],
)  # fmt: skip
def test_other_numbers_of_ranks(ranks: int, ppn: int, choice: str) -> None:
    equal("openmpi4", choice, ranks, str(ranks), "9", "12", ppn=ppn)


def test_checked_calls_without_mistakes_run() -> None:
    equal("openmpi4", "node_aware", 3, "5", "6", "8", check_calls=1)


def test_a_mismatch_is_named_and_ends_the_job() -> None:
    settings = {"choice": forced("direct"), "check_calls": 1, "check_seconds": 60}
    done = job("openmpi4", "mismatch neighbor", timeout=300, fails=True, **settings)
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


def test_sizes_that_ranks_do_not_share_decide_nothing(tmp_path: Path) -> None:
    """A row for some sizes is not used; without a row the graph is not even gathered."""
    table = tmp_path / "t.table"
    table.write_text(TABLE)
    settings = {"table": table, "after": 0, "verbose": 1}
    done = job("openmpi4", "neighbors 1 3 20", ranks=2, **settings)
    assert same(done)
    assert re.search(r"neighbor_allgather of any size .*: native \(no row for it\)", done.stderr)
    used = rf"neighbor_alltoall of any size .*: direct\(16\) \({table}:6\)"
    assert re.search(used, done.stderr)
