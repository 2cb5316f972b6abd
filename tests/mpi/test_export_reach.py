"""How far rows reach where an MPI's files do not look at the size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from exports import FOUR, mpir, result_file
from mpis import MPIS
from stretto.cli import main
from stretto.export.reach import ENOUGH, held, shortage
from stretto.export.rules import Rule
from stretto.export.sizes import OWN_SIZE
from stretto.files.export import EXPORT, NAME, ExportPoint
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout

MPI = {
    "openmpi": MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11"),
    "intel": MPIIdentity("intel", "mpich", "2021.18.1", "Intel(R) MPI Library 2021.18"),
    "mpich": MPIIdentity("mpich", "mpich", "5.0.2", "MPICH 5.0.2"),
}
WHOLE = (8, 64, 1024, 16384, 1 << 18, ENOUGH)


def test_what_is_short_of_all_sizes() -> None:
    def of(*sizes: int) -> str | None:
        points = tuple(ExportPoint(n, "MPI_BYTE", None, 0, 0.5) for n in sizes)
        return shortage(Rule("scan", FOUR, 0, None, (("a", "b"),), points=points))

    assert of() == "0 bytes is the largest that was measured"
    assert of(8) == "8 bytes is the largest that was measured"
    assert of(1024, 16384, 1 << 18, ENOUGH) == "1024 bytes is the smallest that was measured"
    assert of(8, ENOUGH) == f"nothing was measured between 8 and {ENOUGH} bytes"
    assert of(*WHOLE) is None and of(0, *WHOLE) is None


def test_barriers_and_rows_by_size_reach_no_further() -> None:
    setting = (("a", "b"),)
    rules = [Rule(c, RankLayout(2, 2, 4), 0, None, setting) for c in ("barrier", "bcast", "scan")]
    kept, (lost,) = held(rules, ("barrier", "scan"), beyond=False)
    assert [r.settings for r in kept] == [setting, setting, ()]
    assert lost.startswith("scan on 4 ranks on 2 x 2: a row would hold for all sizes")
    assert held(rules, ("barrier", "scan"), beyond=True) == (rules, [])


def exported(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    target: str,
    collective: str,
    name: str,
    sizes: Sequence[int],
    *words: str,
) -> tuple[int, str]:
    family = target.partition("-")[0]
    path = result_file(
        tmp_path / f"{len(sizes)}-{len(words)}.bench.jsonl",
        {(collective, s): {"bare": 100.0, f"native:{name}": 50.0} for s in sizes},
        FOUR,
        MPI[family],
    )
    out = tmp_path / f"out{len(sizes)}-{len(words)}"
    if family == "mpich":
        words = ("--mpi", str(MPIS["mpich"].require().prefix), *words)
    assert main(["export", "--to", target, "--out", str(out), "--json", *words, str(path)]) == 0
    lost = json.loads(capsys.readouterr().out)["lost"]
    return len(EXPORT.read(out / NAME).rows), " ".join(lost)


OF_OPENMPI = [
    (t, c, f"coll_tuned_{c}_algorithm={n},coll_tuned_use_dynamic_rules=1")
    for t in ("openmpi-4", "openmpi-5", "openmpi-6")
    for c, n in (("allgather", 1), ("allgatherv", 3), ("gather", 1), ("scan", 2), ("alltoallv", 1))
]


@pytest.mark.parametrize(
    ("target", "collective", "name"),
    [
        *OF_OPENMPI,
        ("intel", "alltoallv", "I_MPI_ADJUST_ALLTOALLV=2"),
        pytest.param(
            "mpich", "alltoallv", ",".join(f"{n}={v}" for n, v in mpir("alltoallv", "scattered")),
            marks=pytest.mark.mpi,
        ),
    ],
)  # fmt: skip
def test_a_row_for_all_sizes_is_measured_at_all_of_them(
    target: str, collective: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of 8 bytes held up to any size without a word."""
    given = tmp_path, capsys, target, collective, name
    rows, lost = exported(*given, (8,))
    assert rows == 0 and "would hold for all sizes, and 8 bytes is the largest" in lost
    assert f"to {ENOUGH}, at most 16 times apart (stretto bench --bytes)" in lost
    assert ("--plain-calls writes rows by size" in lost) == (collective in OWN_SIZE)
    said = f"{collective} on 4 ranks on 1 x 4: its row holds for all sizes, and was measured at "
    rows, lost = exported(*given, (8,), "--beyond-measured")
    assert rows == 1 and f"{said}8 bytes" in lost
    rows, lost = exported(*given, WHOLE)
    assert rows == 1 and f"{said}8, 64, 1024, 16384, 262144, {ENOUGH} bytes" in lost


def test_a_barrier_has_no_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for target, name in (
        ("openmpi-5", "coll_tuned_barrier_algorithm=2,coll_tuned_use_dynamic_rules=1"),
        ("intel", "I_MPI_ADJUST_BARRIER=3"),
    ):
        (tmp_path / target).mkdir()
        rows, lost = exported(tmp_path / target, capsys, target, "barrier", name, (0,))
        assert rows == 1 and "all sizes" not in lost


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
