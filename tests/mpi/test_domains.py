"""Node phases by domain in real jobs: pretended domains, results equal the MPI's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import SHM, job, same

LAYERED = "allreduce=shm+recursive_doubling;bcast=shm+knomial(2);reduce=shm+knomial(2)"

LANES = (
    "allreduce=lanes(2)+ring;bcast=lanes(2)+knomial(2);reduce=lanes(2)+knomial(2);"
    "allgather=lanes(2)+ring;reduce_scatter_block=lanes(2)+pairwise"
)


def compared(name: str, ranks: int, choice: str = SHM, **settings: object) -> str:
    done = job(name, "conformance 8 150 60000", ranks=ranks, choice=choice, verbose=1, **settings)  # type: ignore[arg-type]
    assert same(done) == 150 * ranks
    assert "allreduce" in done.stderr and "(forced)" in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("name", "ranks", "domains", "found"),
    [
        ("openmpi4", 4, 2, 2),
        ("openmpi4", 7, 3, 3),
        ("openmpi4", 6, -2, 2),
        ("mpich", 4, 2, 2),
        ("openmpi5", 5, -3, 3),
    ],
)
def test_results_by_domain(name: str, ranks: int, domains: int, found: int) -> None:
    said = compared(name, ranks, fake_domains=domains)
    assert f"{ranks} ranks lie in {found} domains (STRETTO_FAKE_DOMAINS)" in said


@pytest.mark.parametrize("choice", [LAYERED, LANES])
def test_domains_within_several_nodes(choice: str) -> None:
    """Two lanes of a node are in different domains."""
    said = compared("openmpi4", 8, choice, fake_ppn=4, fake_domains=2)
    assert "this node's 4 ranks lie in 2 domains" in said


def test_domains_are_told_or_left_out() -> None:
    """This machine's own: whatever it has, the ranks agree and the results are right."""
    said = compared("openmpi4", 2)
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    told = re.search(r"ranks lie in (\d+) NUMA domains|count as one", said)
    assert told if nodes > 1 else not told  # one domain is not worth a line
    assert "NUMA" not in compared("openmpi4", 2, domains=0)
