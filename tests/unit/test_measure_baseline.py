"""What candidates are compared with: who shares their launches, and below 2 us the bare MPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from stretto.measure.baseline import BARE_BYTES, baseline_of, fair, with_bare
from stretto.measure.compare import Cell, Timing, put_beside
from stretto.measure.stats import median_interval

CELL = Cell("reduce", 8, "MPI_INT", "MPI_MAX", 0, "throughput")


def timing(name: str, us: float, first: int = 0, cell: Cell = CELL) -> Timing:
    """Ten launches (bare ones have numbers of their own) that differ by little."""
    values = [us * (1 + 0.001 * i) for i in range(10)]
    pairs = tuple((first + 2 * i, v) for i, v in enumerate(values))
    return Timing(cell, name, median_interval(values), pairs)


def measured(native: float, bare: float, shm: float, cell: Cell = CELL) -> dict[str, Timing]:
    return {
        "native": timing("native", native, cell=cell),
        "shm": timing("shm", shm, cell=cell),
        "bare": timing("bare", bare, 1, cell),
    }


def test_bare_stands_beside_short_calls_only() -> None:
    assert with_bare(["native", "shm"], 8, 1) == ["native", "shm", "bare"]
    assert with_bare(["native", "shm"], BARE_BYTES + 1, 1) == ["native", "shm"]
    assert with_bare(["native", "shm"], 8, 2) == ["native", "shm"]
    assert with_bare(["bare"], 8, 1) == ["bare"]
    assert baseline_of(measured(0.2, 0.19, 0.1), "shm") == "bare"
    assert baseline_of(measured(3.0, 2.9, 1.0), "shm") == "native"


def test_what_only_beats_the_interposers_own_cost_is_not_faster() -> None:
    (c,) = fair({CELL: measured(native=0.110, bare=0.100, shm=0.100)})
    assert (c.candidate, c.baseline, c.outcome) == ("shm", "bare", "same")
    (c,) = fair({CELL: measured(native=0.110, bare=0.100, shm=0.050)})
    assert c.outcome == "faster" and c.baseline_us is not None and c.baseline_us < 0.102


def test_what_only_beats_other_processes_is_not_faster() -> None:
    (c,) = fair({CELL: measured(native=0.080, bare=0.100, shm=0.080)})
    assert c.outcome == "same" and "in the same processes" in c.why


#: what launches of one kind share, and those of another: far more than any candidate's gain
LUCK = (
    (1.0, 1.7, 1.1, 0.9, 1.4, 1.0, 2.1, 1.2, 1.0, 1.3, 1.05, 1.6),
    (1.5, 1.0, 1.0, 1.9, 0.95, 1.3, 1.0, 1.1, 1.8, 1.0, 1.2, 1.4),
)


def lucky(name: str, us: float, launches_of: int, n: int = 12, cell: Cell = CELL) -> Timing:
    """Twelve launches that share their luck with all others of their kind."""
    own = [us * LUCK[launches_of][i] * (1 + 0.002 * (i % 5)) for i in range(n)]
    pairs = tuple((2 * i + launches_of, v) for i, v in enumerate(own))
    return Timing(cell, name, median_interval(own), pairs)


def test_each_is_compared_with_the_baseline_of_its_own_launches() -> None:
    times = {
        "native": lucky("native", 100.0, 0),
        "shm": lucky("shm", 90.0, 0),
        "bare": lucky("bare", 100.0, 1),
        "native:A=1": lucky("native:A=1", 90.0, 1),
        "native:A=2": lucky("native:A=2", 100.0, 1),
    }
    found = {c.candidate: c for c in fair({CELL: times})}
    assert set(found) == {"shm", "native:A=1", "native:A=2"}
    assert {n: c.baseline for n, c in found.items()} == {
        "shm": "native", "native:A=1": "bare", "native:A=2": "bare",
    }  # fmt: skip
    assert all(c.paired for c in found.values())
    assert [found[n].outcome for n in found] == ["faster", "faster", "same"]
    assert found["native:A=1"].ratio.median == pytest.approx(0.9)
    # Launches apart, of which nobody knows when they were made, tell nothing of a tenth.
    apart = {**times, "native:A=1": replace(times["native:A=1"], by_launch=tuple(
        (launch + 100, us) for launch, us in times["native:A=1"].by_launch))}  # fmt: skip
    (c,) = [c for c in fair({CELL: apart}) if c.candidate == "native:A=1"]
    assert (c.baseline, c.paired, c.outcome) == ("native", False, "inconclusive")


def test_launches_apart_are_compared_in_rounds_that_both_have() -> None:
    def at(name: str, times: Mapping[int, float], kind: int) -> Timing:
        pairs = tuple((3 * r + kind, us) for r, us in sorted(times.items()))
        return Timing(CELL, name, median_interval(list(times.values())), pairs, 3)

    wobble = {r: 1 + 0.01 * ((7 * r) % 5) for r in range(24)}
    times = {
        "native": at("native", {r: (1000 if r < 12 else 25) * wobble[r] for r in range(24)}, 0),
        "native:A=1": at("native:A=1", {r: 28 * wobble[r] for r in range(12, 24)}, 1),
        "native:A=2": at("native:A=2", {r: 20 * wobble[r] for r in range(12, 24)}, 1),
    }
    found = {c.candidate: c for c in fair({CELL: times})}
    assert [found[n].outcome for n in found] == ["slower", "faster"]
    assert found["native:A=1"].ratio.median == pytest.approx(1.12)
    assert all(c.launches == 12 and not c.paired for c in found.values())
    # Without rounds in common nothing is said, whatever the times are.
    early = {r: 1000 * wobble[r] for r in range(12)}
    (c,) = fair({CELL: {"native": at("native", early, 0), "native:A=1": times["native:A=1"]}})
    assert (c.outcome, c.p, c.launches) == ("inconclusive", None, 0)


def test_put_beside_with_a_reference_returns_multiples_of_it() -> None:
    times = {
        "native": lucky("native", 100.0, 0),
        "shm": lucky("shm", 80.0, 0),
        "native:A=1": lucky("native:A=1", 70.0, 1),
    }
    for name, launches_of in (("native", 0), ("shm", 0), ("native:A=1", 1)):
        beside = lucky("reference", 20.0, launches_of).by_launch
        times[name] = replace(times[name], reference=beside)
    for name, multiple in (("native", 5.0), ("shm", 4.0)):
        mine, other = put_beside(times[name], times["native:A=1"])
        assert all(v == pytest.approx(multiple, rel=0.01) for v in mine.values())
        assert all(v == pytest.approx(3.5, rel=0.01) for v in other.values())
    for missing, kept in ((1, 11), (6, 6), (7, None)):  # six are enough for a test
        part = replace(times["native:A=1"], reference=times["native:A=1"].reference[missing:])
        a, b = put_beside(times["native"], part)
        if kept is None:
            assert (a, b) == tuple(dict(times[n].by_launch) for n in ("native", "native:A=1"))
        else:
            assert len(b) == kept and all(v == pytest.approx(3.5, rel=0.01) for v in b.values())
