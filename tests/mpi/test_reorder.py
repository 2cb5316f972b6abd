"""STRETTO_REORDER=1: topologies equal native ones but for the order, which keeps data on nodes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import MPIS
from programs import job, under


def _compared(name: str, ranks: int, ppn: int, **more: object) -> str:
    settings = {"reorder": 1, "verbose": 1, "fake_ppn": ppn, **more}
    done = job(name, f"reorder 9 48 {ppn}", ranks=ranks, timeout=300, **settings)  # type: ignore[arg-type]
    found = re.search(
        r"48 cases, (\d+) reordered, between nodes (\d+) -> (\d+), "
        r"optimum in (\d+) of (\d+) grids, 0 differences",
        done.stdout,
    )
    assert found, done.stdout
    reordered, before, after, best, grids = map(int, found.groups())
    assert reordered > 0 and after < before
    assert best == grids > 0
    return done.stderr


@pytest.mark.parametrize(
    ("name", "ranks", "ppn"),
    [
        ("openmpi4", 7, 3),
        ("openmpi5", 5, 2),
        ("mpich", 3, 2),
        ("intel", 5, 3),
        pytest.param("mpich-abi", 3, 2, marks=pytest.mark.long),
        pytest.param("intel-abi", 4, 2, marks=pytest.mark.long),
    ],
)
def test_topologies_are_native_ones_in_an_order_that_is_not_worse(
    name: str, ranks: int, ppn: int
) -> None:
    said = _compared(name, ranks, ppn)
    counted = r"edges between nodes \d+ -> \d+ of \d+"
    assert re.search(rf"MPI_Cart_create of [0-9x]+ on \d+ ranks: {counted}", said), said
    for kind in ("Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent"):
        assert re.search(rf"MPI_{kind} of \d+ ranks: weight between nodes \d+ -> \d+", said)


def test_reordered_communicators_are_set_up_and_go_by_domain() -> None:
    choice = "neighbor_alltoall=node_aware;neighbor_allgather=direct"
    said = _compared("openmpi4", 8, 4, choice=choice, after=0, fake_domains=2)
    assert re.search(r", between domains of a node \d+ -> \d+", said)
    assert "neighbor_alltoall of any size on 8 ranks (2 x 4): node_aware (forced)" in said


FORTRAN = """
program grid
  use mpi
  implicit none
  integer :: comm, code
  call MPI_Init(code)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [1, 4], [.false., .false.], .true., comm, code)
  call MPI_Comm_free(comm, code)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [4], [.true.], .false., comm, code)
  call MPI_Comm_free(comm, code)
  call MPI_Finalize(code)
end program grid
"""


def test_reorder_of_fortran_programs_is_answered(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    source = tmp_path / "grid.f90"
    source.write_text(FORTRAN)
    program = str(mpi.fortran(source, tmp_path / "grid", "mpi"))
    rank_env = under(mpi, reorder=1, verbose=1, fake_ppn=2)
    done = mpi.run(4, [program], rank_env=rank_env, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"stretto: MPI_Cart.*", done.stderr)
    assert lines == [
        "stretto: MPI_Cart_create of 1x4 on 4 ranks: the given order is kept: "
        "edges between nodes 1 of 3"
    ]
