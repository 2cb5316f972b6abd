"""The rows that a run with ``stretto learn`` has left, in words."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.files.table import Row
from stretto.report import format as fmt
from stretto.report.load import System
from stretto.report.points import NATIVE


def learned_rows(system: System) -> list[Row]:
    """Return the learned rows of all tables, those that saved most first."""
    rows: list[Row] = []
    for row in system.rows:
        if row.source == "learned" and row not in rows:  # a merged table repeats it
            rows.append(row)
    return sorted(rows, key=lambda r: (-(r.number("saved_s") or 0), r.collective, r.low))


def saved(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the seconds that all choices saved, and an interval of at least 95 %."""
    mean = sum(r.number("saved_s") or 0 for r in rows)
    spread = sum(r.number("saved_spread_s") or 0 for r in rows)
    return mean, mean - spread, mean + spread


def saved_sentence(rows: Sequence[Row]) -> str:
    """Return the headline: what was saved, and by which call most."""
    best = next((r for r in rows if r.ratio and r.choice != NATIVE), None)
    if best is None or best.ratio is None:
        if any(r.choice != NATIVE for r in rows):
            return "Faster algorithms were chosen, but not yet compared with native again."
        return "Native is kept: no algorithm tried in the run is faster."
    mean, low, high = map(fmt.seconds, saved(rows))
    text = f"Learning saved {mean} ({low} to {high}) while the job ran"
    if saved(rows)[1] <= 0:
        text = "No gain of the whole run is significant"
    return (
        f"{text}; most by {best.collective} of {fmt.size_range(best.low, best.high)}: "
        f"{fmt.factor(1 / best.ratio)} faster with {best.choice}."
    )


def order_sentence(rows: Sequence[Row]) -> str:
    changed = [r for r in rows if "order" in r.evidence]
    if not changed:
        return "The order of the sums in reductions did not change during the run."
    names = ", ".join(dict.fromkeys(r.collective for r in changed))
    return (
        f"The order of the sums changed during the run in {fmt.plural(len(changed), 'shape')} "
        f"({names}); stretto learn --reproducible keeps one order."
    )


def gain_words(row: Row) -> str:
    """Return what a call gains: an interval of times, or why there is none."""
    if row.choice == NATIVE:
        return "nothing faster"
    if row.ratio is None:
        return "not tested yet"
    native = row.number("native_us") or 0.0
    low, high = (native * (1 - (row.number(key) or 0.0)) for key in ("high", "low"))
    return f"{fmt.microseconds(low)} to {fmt.microseconds(high)}"
