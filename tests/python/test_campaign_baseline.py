"""Below 2 us the MPI with nothing preloaded decides, not native through the interposer."""

from __future__ import annotations

from stretto.campaign.baseline import BARE_BYTES, baseline_of, fair, with_bare
from stretto.campaign.compare import Cell, Timing, decisive
from stretto.campaign.stats import median_interval
from stretto.tune.decide import decide

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
    assert baseline_of(measured(0.2, 0.19, 0.1)) == "bare"
    assert baseline_of(measured(3.0, 2.9, 1.0)) == "native"


def test_what_only_beats_the_interposers_own_cost_is_not_faster() -> None:
    (c,) = fair({CELL: measured(native=0.110, bare=0.100, shm=0.100)})
    assert (c.candidate, c.baseline, c.outcome) == ("shm", "bare", "same")
    (c,) = fair({CELL: measured(native=0.110, bare=0.100, shm=0.050)})
    assert c.outcome == "faster" and c.baseline_us is not None and c.baseline_us < 0.102


def test_what_only_beats_other_processes_is_not_faster() -> None:
    (c,) = fair({CELL: measured(native=0.080, bare=0.100, shm=0.080)})
    assert c.outcome == "same" and "in the same processes" in c.why


def test_the_row_says_what_it_rests_on() -> None:
    """The slower root and datatype decide, and the evidence names all of them."""
    last = Cell("reduce", 8, "MPI_DOUBLE", "MPI_SUM", 1, "throughput")
    times = {CELL: measured(0.2, 0.2, 0.1), last: measured(0.2, 0.2, 0.15, last)}
    first, *_ = decide(decisive(fair(times), times), 1, 2)
    assert first.choice == "shm" and first.evidence["ratio"] == "0.750"
    assert first.evidence["types"] == "MPI_DOUBLE/MPI_SUM+MPI_INT/MPI_MAX"
    assert (first.evidence["roots"], first.evidence["roots_used"]) == ("0+1", "unknown")
    assert first.evidence["baseline"] == "bare"
    times[last] = measured(0.2, 0.2, 0.2, last)
    assert decide(decisive(fair(times), times), 1, 2)[0].choice == "native"
