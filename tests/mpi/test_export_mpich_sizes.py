"""MPICH's trees tell no sizes of gather, scatter, scan: one row for all of them, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from exports import mpir, result_file
from mpis import MPIS, alone_here
from stretto.cli import main
from stretto.export.check import CheckPlan, check
from stretto.files.export import EXPORT, NAME
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher
from stretto.mpi.base import MPIInstallation

pytestmark = pytest.mark.mpi

Out = pytest.CaptureFixture[str]


def forced(collective: str, name: str) -> str:
    return "native:" + ",".join(f"{n}={v}" for n, v in mpir(collective, name))


@pytest.fixture
def mpi(monkeypatch: pytest.MonkeyPatch) -> MPIInstallation:
    """MPICH, found with its own environment and nothing of another's."""
    found = MPIS["mpich"].require()
    for variable, value in found.environment.items():
        monkeypatch.setenv(variable, value)
    return from_launcher(Path(found.launcher(1)[0]), found.environment)


def scans(path: Path, mpi: MPIInstallation, largest: float) -> Path:
    """A scan that is faster everywhere but at one size, with `largest` of the MPI's time there."""
    name = forced("scan", "recursive_doubling")
    ratios = {8: 0.5, 128: 0.6, 2048: 0.7, 32768: largest, 1 << 19: 0.7}
    times = {("scan", s): {"bare": 50.0, name: 50.0 * r} for s, r in ratios.items()}
    return result_file(path, times, layout=RankLayout(1, 3, 3), mpi=mpi.identity)


def export(results: Path, mpi: MPIInstallation, out: Path) -> list[tuple[str, int, int | None]]:
    words = ["export", "--to", "mpich", "--mpi", str(mpi.need_launcher()), "--out", str(out)]
    assert main([*words, str(results)]) == 0
    return [(r.collective, r.low, r.high) for r in EXPORT.read(out / NAME).rows]


@pytest.mark.long
def test_what_is_nowhere_slower_has_one_row_for_all_sizes(
    mpi: MPIInstallation, tmp_path: Path
) -> None:
    out = tmp_path / "tuning"
    assert export(scans(tmp_path / "a.bench.jsonl", mpi, 1.0), mpi, out) == [("scan", 0, None)]
    with alone_here():
        found = check(out, CheckPlan(mpi), quiet=True)
    # Its two scans are the same within a node: the row holds, and nothing can show it.
    assert {(v.words.partition(" ")[0], v.status) for v in found} == {
        ("scan", "unproven"),
        ("calls", "proven"),
    }
    path = out / "stretto-mpich-mpir.json"
    scan, leaf = path.read_text(encoding="utf-8").partition('"collective=scan"')[::2]
    within = leaf.index('"comm_size<=3"')
    spoilt = leaf[within:].replace("Scan_intra_recursive_doubling", "Scan_intra_smp", 1)
    path.write_text(f'{scan}"collective=scan"{leaf[:within]}{spoilt}', encoding="utf-8")
    with alone_here():
        wrong = [v for v in check(out, CheckPlan(mpi), quiet=True) if v.status == "wrong"]
    assert wrong and "is to get algorithm=MPIR_Scan_intra_recursive_doubling" in wrong[0].why


def test_what_is_slower_somewhere_has_none(
    mpi: MPIInstallation, tmp_path: Path, capsys: Out
) -> None:
    results = scans(tmp_path / "a.bench.jsonl", mpi, 1.2)
    assert export(results, mpi, tmp_path / "tuning") == []
    said = capsys.readouterr().err
    assert "scan on 3 ranks on 1 x 3: these files do not look at its size, and nothing" in said


def test_what_the_trees_do_in_all_calls_is_no_row(
    mpi: MPIInstallation, tmp_path: Path, capsys: Out
) -> None:
    """5.0.2 has one gather: where it seems faster than itself, nothing can be written."""
    both = {"bare": 50.0, forced("gather", "binomial"): 30.0}
    times = {("gather", s): both for s in (8, 128, 2048, 32768, 1 << 19)}
    results = result_file(tmp_path / "a.bench.jsonl", times, mpi=mpi.identity)
    out = tmp_path / "tuning"
    assert export(results, mpi, out) == []
    assert "gather on 5 ranks on 1 x 5: what was faster is all that" in capsys.readouterr().err
    assert not list(out.glob("stretto-mpich-*"))
