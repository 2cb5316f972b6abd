"""Collectives of blocks (alltoall, gather, v-forms, scans), the call checker, a fixed order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import MPIS
from programs import SHM, job, same

TABLE = """stretto-table 1
mpi openmpi 4.1.4
layout nodes=1 ppn=2
created 2026-11-21T20:00:00Z stretto 0.1.0 host test cpu "test"
row alltoall 1 2 0-1023 linear -
row alltoallv 1 2 0-1023 linear -
row gatherv 1 2 0-inf linear -
end 3
"""


def test_sizes_that_ranks_do_not_share_decide_nothing(tmp_path: Path) -> None:
    """A row for some sizes is not used where each rank knows its own sizes only."""
    table = tmp_path / "t.table"
    table.write_text(TABLE)
    done = job("openmpi4", "conformance 1 300", ranks=2, table=table, verbose=1)
    assert re.search(rf"alltoall of \d+ bytes .*: linear\(32\) \({table}:5\)", done.stderr)
    assert re.search(r"alltoallv of any size .*: native \(no row for it\)", done.stderr)
    assert re.search(rf"gatherv of any size .*: linear\(32\) \({table}:7\)", done.stderr)


MISTAKES = {
    "root": "rank 2 calls MPI_Bcast with root 1, rank 0 with root 0, as the 17th collective",
    "function": "rank 2 calls MPI_Barrier, rank 0 MPI_Allreduce, as the 17th collective",
    "count": "rank 2 calls MPI_Allreduce of 20 bytes, rank 0 of 16 bytes",
    "op": "rank 2 calls MPI_Allreduce with MPI_MAX, rank 0 with MPI_SUM",
    "blocks": "rank 2 and rank 0 call MPI_Reduce_scatter with different block sizes",
    "pair": "MPI_Alltoallv: rank 2 sends 12 bytes to rank 0, which expects 8",
    "gatherv": "MPI_Gatherv: rank 2 sends 12 bytes to rank 0, which expects 8",
    "missing": "after 8 s in MPI_Allreduce, the 17th collective, still missing: rank 2",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mismatch_is_named_and_ends_the_job(mistake: str) -> None:
    # a rank that another program keeps off its core is not missing
    limit = 8 if mistake == "missing" else 60
    done = job(
        "openmpi4", "mismatch", mistake, check_calls=1, check_seconds=limit, timeout=300, fails=True
    )
    assert f"stretto: {MISTAKES[mistake]}" in done.stderr, done.stderr
    assert "came to its end" not in done.stdout


OVERLAPS = (
    *(f"MPI_{c}" for c in ("Allreduce", "Reduce", "Scan", "Exscan")),
    *(f"MPI_{c}" for c in ("Reduce_scatter", "Reduce_scatter_block", "Allgather", "Allgatherv")),
    *(f"MPI_{c}" for c in ("Alltoall", "Alltoallv", "Alltoallw", "Gather", "Gatherv")),
    *(f"MPI_{c}" for c in ("Scatter", "Scatterv", "Neighbor_alltoall", "Neighbor_allgather")),
)


@pytest.mark.parametrize(
    ("name", "call"),
    [*(("openmpi4", call) for call in OVERLAPS), ("mpich", "MPI_Allgather"), ("intel", "MPI_Scan")],
)
def test_buffers_that_overlap_are_named(name: str, call: str) -> None:
    """On one rank of three; without the check Stretto computes a result, MPICH has an error."""
    choice = f"{SHM};neighbor_alltoall=direct;neighbor_allgather=direct"
    done = job(name, "overlap", call, check_calls=1, choice=choice, timeout=300, fails=True)
    remedy = "pass MPI_IN_PLACE as sendbuf, or two buffers"
    if "Scatter" in call:
        remedy = "pass MPI_IN_PLACE as recvbuf, or two buffers"
    elif "Neighbor" in call:
        remedy = "pass two buffers"
    said = f"rank 1 calls {call} with sendbuf and recvbuf that overlap ({remedy}), as the "
    assert f"stretto: {said}" in done.stderr, done.stderr
    assert "came to its end" not in done.stdout


@pytest.mark.parametrize("name", MPIS)
def test_buffers_that_lie_beside_one_another_are_not_named(name: str) -> None:
    done = job(name, "overlap legal", check_calls=1, choice=f"{SHM};neighbor_allgather=direct")
    assert "came to its end" in done.stdout


@pytest.mark.parametrize("name", MPIS)
def test_checked_programs_without_mistakes_run(name: str) -> None:
    done = job(name, "mismatch none", check_calls=1, choice=SHM)
    assert "came to its end" in done.stdout
    done = job(name, "conformance 5 150 6000", check_calls=1, choice=SHM)
    assert same(done) == 450


def test_reproducible_reductions_do_not_depend_on_the_layout() -> None:
    """Sums of floating-point numbers, bit for bit, however the ranks lie on nodes."""
    layered = "allreduce=shm+recursive_doubling;reduce=shm+knomial(2)"
    choices = {0: "allreduce=shm;reduce=shm", 1: layered, 2: layered, 3: layered}
    free, fixed = (
        {
            job(
                "openmpi4", "order_of_sums", ranks=6, reproducible=on, fake_ppn=ppn, choice=choice
            ).stdout
            for ppn, choice in choices.items()
        }
        for on in (0, 1)
    )
    assert len(fixed) == 1, fixed
    assert len(free) > 1, "the sums are exact: this test shows nothing"
