"""How far rows reach where an MPI's files do not look at the size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exports import FOUR, mpir
from mpis import MPIS
from stretto.cli import main
from stretto.export.reach import ENOUGH, shortage
from stretto.export.rules import Rule
from stretto.files.export import ExportPoint
from stretto.files.identity import MPIIdentity
from test_export_said import WHOLE, exported, reaching


def test_what_is_short_of_all_sizes() -> None:
    def of(*sizes: int) -> str | None:
        points = tuple(ExportPoint(n, "MPI_BYTE", None, 0, 0.5) for n in sizes)
        return shortage(Rule("scan", FOUR, 0, None, (("a", "b"),), points=points))

    assert of() == "0 bytes is the largest that was measured"
    assert of(8) == "8 bytes is the largest that was measured"
    assert of(1024, 16384, 1 << 18, ENOUGH) == "1024 bytes is the smallest that was measured"
    assert of(8, ENOUGH) == f"nothing was measured between 8 and {ENOUGH} bytes"
    assert of(*WHOLE) is None and of(0, *WHOLE) is None


@pytest.mark.mpi
@pytest.mark.parametrize("at", range(3))
def test_a_row_of_mpich_for_all_sizes_is_measured_at_all_of_them(
    at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mpich = MPIIdentity("mpich", "mpich", "5.0.2", "MPICH 5.0.2")
    name = ",".join(f"{n}={v}" for n, v in mpir("alltoallv", "scattered"))
    case = list(reaching("mpich", "alltoallv", name, mpich))[at]
    prefix = ("--mpi", str(MPIS["mpich"].require().prefix))
    exported(replace(case, words=(*prefix, *case.words)), tmp_path, capsys)


def test_in_a_slurm_job_rows_are_checked_on_its_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were unproven in a job that had all nodes which they need."""
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr("stretto.cli.export._check", lambda *given: asked.append(given[3]) or [])
    monkeypatch.setattr("stretto.cli.export.is_this", lambda *of: None)
    for nodes, words in (
        (("n1", "n2"), []),
        (("n1", "n2"), ["--hosts", "a,b,c"]),
        (("n1",), []),
        ((), []),
    ):
        monkeypatch.setattr("stretto.cli.export.allocated", lambda environ, nodes=nodes: nodes)
        assert main(["export", "--check", "--out", str(tmp_path), *words]) == 0
    assert asked == [("n1", "n2"), ("a", "b", "c"), (), ()]
