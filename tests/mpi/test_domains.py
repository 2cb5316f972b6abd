"""Node phases by domain in real jobs: pretended domains, results equal the MPI's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, Mpi, library

APPS = REPOSITORY / "tests" / "programs"
COLLECTIVES = ("allreduce", "bcast", "reduce", "allgather", "barrier")
SHM = ";".join(f"{c}=shm" for c in COLLECTIVES)
LAYERED = "allreduce=shm+recursive_doubling;bcast=shm+knomial(2);reduce=shm+knomial(2)"


def _run(folder: Path, mpi: Mpi, ranks: int, **settings: object) -> str:
    program = folder / f"conformance-{mpi.name}"
    mpi.compile(APPS / "conformance.c", program, "-O1", "-pthread")
    env = {"LD_PRELOAD": str(library(mpi.family)), "STRETTO_VERBOSE": "1"}
    env |= {name: str(value) for name, value in settings.items()}
    done = mpi.run(ranks, [str(program), "8", "150", "60000"], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) comparisons, 0 differences", done.stdout)
    assert found and int(found[1]) == 150 * ranks
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
def test_results_by_domain(tmp_path: Path, name: str, ranks: int, domains: int, found: int) -> None:
    said = _run(
        tmp_path, MPIS[name].require(), ranks, STRETTO_CHOICE=SHM, STRETTO_FAKE_DOMAINS=domains
    )
    assert f"{ranks} ranks lie in {found} domains (STRETTO_FAKE_DOMAINS)" in said


def test_domains_within_several_nodes(tmp_path: Path) -> None:
    said = _run(
        tmp_path,
        MPIS["openmpi4"].require(),
        8,
        STRETTO_CHOICE=LAYERED,
        STRETTO_FAKE_PPN=4,
        STRETTO_FAKE_DOMAINS=2,
    )
    assert "this node's 4 ranks lie in 2 domains" in said


def test_domains_are_told_or_left_out(tmp_path: Path) -> None:
    """This machine's own: whatever it has, the ranks agree and the results are right."""
    mpi = MPIS["openmpi4"].require()
    said = _run(tmp_path, mpi, 2, STRETTO_CHOICE=SHM)
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    told = re.search(r"ranks lie in (\d+) NUMA domains|count as one", said)
    assert told if nodes > 1 else not told  # one domain is not worth a line
    said = _run(tmp_path, mpi, 2, STRETTO_CHOICE=SHM, STRETTO_DOMAINS=0)
    assert "NUMA" not in said
