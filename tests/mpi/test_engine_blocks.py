"""Collectives of blocks (alltoall, gather, v-forms, scans), the call checker, a fixed order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import ALL, MPIS, REPOSITORY
from programs import job, same

NAMES = (
    "alltoall", "alltoallv", "gather", "gatherv", "scatter", "scatterv", "allgatherv",
    "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
)  # fmt: skip
SHM = ";".join(f"{c}=shm" for c in NAMES)


def _flat(nth: int) -> str:
    """Return the nth algorithm of each collective, as the registry has them now."""
    rows = re.findall(r"^ALGORITHM\((\w+), \w+, (\w+),", REGISTRY.read_text(), flags=re.M)
    chosen = []
    for collective in NAMES:
        names = [name for c, name in rows if c == collective]
        chosen.append(f"{collective}={names[nth % len(names)]}")
    return ";".join(chosen)


REGISTRY = REPOSITORY / "src" / "coll" / "algorithms.def"
CHOICES = {"shm": SHM, "first": _flat(0), "last": _flat(-1)}


@pytest.mark.parametrize("which", CHOICES)
@pytest.mark.parametrize("name", ALL)
def test_blocks_equal_the_mpis_own(name: str, which: str) -> None:
    """Ragged and empty blocks, in place, derived types of each rank's own, user operations."""
    # communicators are set up when they are made, but for the one that PMPI_Comm_dup makes
    done = job(name, "conformance 17 300 40000", choice=CHOICES[which], verbose=1, after=0)
    assert same(done) == 900
    for one in CHOICES[which].split(";"):  # it was ours that was compared
        collective, choice = one.split("=")
        assert re.search(rf"{collective} of .*: {choice}(\(\w+\))? \(forced\)", done.stderr), one


@pytest.mark.parametrize(("ranks", "ppn"), [(1, 0), (5, 0), (8, 0), (6, 2)])
@pytest.mark.parametrize("which", CHOICES)
def test_other_numbers_of_ranks(ranks: int, ppn: int, which: str) -> None:
    done = job(
        "openmpi4",
        "conformance 23 150 20000",
        ranks=ranks,
        choice=CHOICES[which],
        fake_ppn=ppn,
    )
    assert same(done) == 150 * ranks


#: node phases around an algorithm between nodes: every node action of a plan is carried out
COMPOSED = {
    "allreduce": "lanes+ring",
    "alltoall": "shm+linear",
    "allgather": "shm+ring",
    "allgatherv": "shm+ring",
    "barrier": "shm+dissemination",
    "bcast": "shm+knomial(2)",
    "exscan": "shm+recursive_doubling",
    "gather": "shm+knomial(2)",
    "gatherv": "shm+knomial(2)",
    "reduce": "shm+knomial(2)",
    "reduce_scatter": "shm+ring",
    "reduce_scatter_block": "shm+pairwise",
    "scan": "shm+linear",
    "scatter": "shm+linear",
    "scatterv": "shm+knomial(3)",
}


#: every collective that has lanes; alltoall's X must not hand blocks on where nodes are unequal
LANES = {
    "allreduce": "lanes+recursive_doubling",
    "allgather": "lanes+bruck_k(2)",
    "allgatherv": "lanes+ring",
    "alltoall": "lanes+pairwise",
    "bcast": "lanes(2)+knomial(2)",
    "reduce": "lanes+knomial(2)",
    "reduce_scatter": "lanes+recursive_halving",
    "reduce_scatter_block": "lanes+pairwise",
}


@pytest.mark.parametrize(
    ("ranks", "ppn", "composed"),
    [
        *((ranks, ppn, COMPOSED) for ranks, ppn in [(6, 2), (8, 4), (7, 3), (5, 2)]),
        *((ranks, ppn, LANES) for ranks, ppn in [(6, 2), (8, 3), (6, 4)]),
    ],
)
def test_composed_with_node_phases(ranks: int, ppn: int, composed: dict[str, str]) -> None:
    choice = ";".join(f"{c}={x}" for c, x in composed.items())
    done = job(
        "openmpi4",
        "conformance 7 200 20000",
        ranks=ranks,
        choice=choice,
        fake_ppn=ppn,
        verbose=1,
    )
    assert same(done) == 200 * ranks
    layout = f"{-(-ranks // ppn)} x {ppn}"
    for collective in composed:
        shm = rf"{collective} of .* \({layout}\): (shm|lanes).* \(forced\)"
        assert re.search(shm, done.stderr), collective


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
    "blocks": "rank 2 and rank 0 call MPI_Reduce_scatter with other sizes of the blocks",
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
