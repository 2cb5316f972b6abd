"""How long ranks waited for each other in one collective, from their time stamps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stretto.files.profile import Communicator
from stretto.profile.waiting import Row, Samples, _caused, _join, barrier_shares, with_all_evidence

WAIT = "MPI_Wait"
STAMPS = ("started", "enter", "leave")


def row(function: str, detail: str | None = None) -> Row:
    """Return a row of MPI_COMM_WORLD, of a wait where a detail is given."""
    kind: Any = "wait" if detail else "neighborhood" if "eighbor" in function else "collective"
    return (function, kind, 0, None, None, 4, detail)


@pytest.mark.parametrize(
    ("of", "ranks", "waited", "blocking"),
    [
        # of each rank: started, enter, leave; a blocking call starts when it is entered
        (row("MPI_Allreduce"), [(0, 0, 12), (10, 10, 12)], [10, 0], [10, 0]),
        # complete before rank 1 waits, too: the rest is the operation
        (row(WAIT, "MPI_Iallreduce"), [(0, 2, 8), (5, 20, 20)], [3, 0], [5, 0]),
        # not complete before that: no progress until then
        (row(WAIT, "MPI_Iallreduce"), [(0, 2, 22), (5, 20, 22)], [18, 0], [5, 0]),
        # only the root is waited for
        (row(WAIT, "MPI_Ibcast"), [(0, 2, 8), (5, 6, 8)], [0, 0], [0, 0]),
        (row(WAIT, "MPI_Ibcast"), [(5, 6, 8), (0, 2, 8)], [0, 4], [0, 5]),
        # rank 1 left before the root came
        (row(WAIT, "MPI_Ireduce"), [(9, 9, 12), (0, 2, 3)], [0, 0], [0, 0]),
        # a persistent one is as a nonblocking one
        (row(WAIT, "MPI_Bcast_init"), [(5, 6, 8), (0, 2, 8)], [0, 4], [0, 5]),
        # neighbours: not beyond what the rank took that took least
        (row("MPI_Neighbor_alltoall"), [(0, 0, 5), (10, 10, 12)], [3, 0], [10, 0]),
        (row(WAIT, "MPI_Ineighbor_alltoall"), [(0, 2, 12), (9, 10, 12)], [8, 0], [9, 0]),
    ],
)
def test_waiting_of_each_kind_ends_when_the_others_came(
    of: Row, ranks: list[tuple[int, int, int]], waited: list[int], blocking: list[int]
) -> None:
    """Rank 0 is the root where there is one."""
    out = Samples(rows=[of])
    stamps = {
        k: np.array(v, np.int64) for k, v in zip(STAMPS, zip(*ranks, strict=True), strict=True)
    }
    events = stamps | {
        "communicator": np.full(2, 7, np.uint64), "sequence": np.full(2, 1, np.uint64),
        "root": np.array([True, False]), "row": np.zeros(2, np.int64), "rank": np.arange(2),
    }  # fmt: skip
    _join(out, events, [Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)])
    assert (out.wait_s * 1e9).round().tolist() == waited
    assert (out.blocking_wait_s * 1e9).round().tolist() == blocking


def test_waiting_counts_for_the_rank_that_came_last() -> None:
    """Of a broadcast the root, of neighbours none."""
    names = np.array(["MPI_Allreduce", "MPI_Bcast", "MPI_Neighbor_alltoall"])
    events = {
        "row": np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), "rank": np.array([0, 1, 2] * 3),
        "started": np.array([0, 50, 10, 7, 90, 20, 0, 1, 2]),
        "root": np.array([False] * 3 + [True] + [False] * 5),
    }  # fmt: skip
    group, wait = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([50, 0, 40, 0, 3, 0, 9, 9, 9])
    assert list(_caused(events, names, group, wait)) == [3.0, 90.0, 0.0]


BARE: Row = ("MPI_Barrier", "collective", 0, None, None, 0, None)


FILES: Row = (*BARE[:6], "after files")


PUT: Row = (*BARE[:6], "after one-sided")


def test_evidence_of_all_ranks_is_joined() -> None:
    rows = [BARE, FILES, PUT]
    group, rank = np.array([0, 0, 4, 4, 7, 7]), np.array([0, 1] * 3)
    own = np.array([1, 2, 0, 0, 1, 0])
    shared = with_all_evidence(rows, own, group)
    both = (*BARE[:6], "after one-sided, after files")
    assert [rows[k] for k in shared] == [both, both, BARE, BARE, FILES, FILES]
    shares = barrier_shares(rows, rank, own, shared, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 3.0]))
    # events are samples: the counters divide as they do
    assert shares.of(1, BARE, 20) == [(BARE, 10, 0.25), (FILES, 10, 0.75)]
    assert shares.of(1, BARE, 1) == [(FILES, 1, 1.0)]
    assert shares.of(0, FILES, 20) == [(FILES, 10, 0.5), (both, 10, 0.5)]
    assert shares.of(2, BARE, 5) == [((*BARE[:6], "not joined"), 5, 1.0)]
    assert shares.of(2, FILES, 5) == [(FILES, 5, 1.0)]
    reduce: Row = ("MPI_Allreduce", "collective", 0, "MPI_SUM", None, 4, None)
    assert shares.of(1, reduce, 5) == [(reduce, 5, 1.0)]
