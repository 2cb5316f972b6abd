"""What stands behind a row: its evidence, and what `stretto tune` prints of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stretto.campaign import conclude
from stretto.campaign.command import lines_of
from stretto.files.outcome import Outcome, Verdict
from stretto.files.rows import Row
from stretto.measure.compare import Cell, Comparison
from stretto.measure.stats import Interval
from stretto.tune.decide import decide
from stretto.tune.evidence import rows_lines


def comparison(size: int, ratio: float, outcome: Outcome, q: float, root: int = 0) -> Comparison:
    """One of pairwise's, as a campaign finds it."""
    cell = Cell("alltoallv", size, "MPI_BYTE", "", root, "latency")
    interval = Interval(ratio, 0.98 * ratio, 1.02 * ratio, 12)
    return Comparison(
        cell, "pairwise", "native", interval, (ratio,) * 12, q, q, Verdict(outcome, "because")
    )  # fmt: skip


FASTER = comparison(64, 0.7, "faster", 1e-6)


def test_one_row_for_all_sizes_is_slower_in_no_mode_and_no_shape() -> None:
    """At 1 KiB batches are 60% slower, calls begun together the same: that was harmless."""
    same = comparison(1024, 1.0, "same", 0.3)
    assert [r.choice for r in decide([FASTER, same], 2, 2)] == ["pairwise"]
    slower = replace(same, slower_elsewhere=True)
    assert [r.choice for r in decide([FASTER, slower], 2, 2)] == ["native"]
    # and where another root, which is no slower, has the greater ratio
    other = replace(comparison(1024, 1.01, "same", 0.3, root=3), candidate="pairwise")
    assert [r.choice for r in decide([FASTER, comparison(64, 0.7, "faster", 1e-6, 3),
                                      slower, other], 2, 2)] == ["native"]  # fmt: skip


def test_a_row_for_all_sizes_says_where_it_gains_nothing() -> None:
    """Its p was that of the sizes where no test says anything: 0.3."""
    (row,) = decide([FASTER, comparison(1024, 1.0, "same", 0.3)], 2, 2)
    assert row.evidence["p"] == "1e-06" and row.evidence["harmless"] == "1024"
    assert row.evidence["sizes"] == "64,1024" and "by_fit" not in row.evidence
    (proven,) = decide([FASTER, comparison(1024, 0.8, "faster", 0.01)], 2, 2)
    assert proven.evidence["p"] == "0.01" and "harmless" not in proven.evidence


def test_sizes_without_a_proof_are_printed() -> None:
    common = {"ratio": "0.8", "p": "0.001", "launches": "9", "source": "measured"}
    rows = [
        Row("allreduce", 4, 4, 0, 4096, "ring", {**common, "by_fit": "64,1024"}),
        Row("alltoallv", 4, 4, 0, None, "pairwise", {**common, "harmless": "8"}),
        Row("bcast", 4, 4, 0, 8, "ring", common),
        Row("barrier", 4, 4, 0, None, "shm", common),
    ]
    outcome = conclude.Outcome("m", Path("t"), [Path("d/r")], rows, None, True)
    for lines in (lines_of(outcome), rows_lines(rows)):
        borne, harmless, plain = lines[1:4]
        assert "faster by the fit over sizes and layouts at 64 B, 1 KiB" in borne
        assert "no slower at 8 B" in harmless
        assert "0 B to 4 KiB: ring" in borne and "all sizes: pairwise" in harmless
        assert "borne" not in plain and "slower" not in plain
    *_, harmless, plain, barrier = rows_lines(rows)
    assert " all sizes: pairwise" in harmless and " 0 B to 8 B: ring" in plain
    assert barrier.split()[:2] == ["barrier", "shm,"], "it has no size"
