"""The rows that a run with ``stretto learn`` has left, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.files.table import Row
from stretto.report import format as fmt
from stretto.report.load import System
from stretto.report.points import NATIVE


@dataclass(frozen=True)
class Saved:
    """Seconds saved by all choices, with a 95 % interval."""

    mean: float
    low: float
    high: float


def learned_rows(system: System) -> list[Row]:
    """Return the learned rows of all tables, those that saved most first."""
    rows: list[Row] = []
    for row in (r for t in system.tables for r in t.rows):
        if row.evidence.get("source") == "learned" and row not in rows:  # a merged table repeats it
            rows.append(row)
    return sorted(rows, key=lambda r: (-_number(r, "saved_s"), r.collective, r.low))


def saved(rows: Sequence[Row]) -> Saved:
    mean = sum(_number(r, "saved_s") for r in rows)
    spread = math.hypot(*(_number(r, "saved_spread_s") for r in rows))
    return Saved(mean, mean - spread, mean + spread)


def saved_sentence(rows: Sequence[Row]) -> str:
    """Return the headline: what was saved, and by which call most."""
    best = next((r for r in rows if r.ratio and r.choice != NATIVE), None)
    if best is None or best.ratio is None:
        if any(r.choice != NATIVE for r in rows):
            return "Faster algorithms were chosen, but not yet compared with native again."
        return "Native stays: nothing that was tried in the run is faster."
    total = saved(rows)
    text = (
        f"Learning saved {fmt.seconds(total.mean)} "
        f"({fmt.seconds(total.low)} to {fmt.seconds(total.high)}) while the job ran"
        if total.low > 0
        else "No gain of the whole run is significant"
    )
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


def shapes(rows: Sequence[Row]) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for r in rows:
        native, ratio = _number(r, "native_us"), r.ratio
        low, high = (native * (1 - _number(r, key)) for key in ("high", "low"))
        proven = ratio is not None and r.choice != NATIVE
        out.append(
            {
                "collective": r.collective,
                "layout": f"{r.nodes} {fmt.TIMES} {r.ppn}",
                "bytes": fmt.NONE if r.high is None else fmt.size_range(r.low, r.high),
                "choice": r.choice,
                "native": r.choice == NATIVE,
                "before": fmt.microseconds(native) if native else fmt.NONE,
                "now": fmt.microseconds(_number(r, "us")) if proven else fmt.NONE,
                "gain": f"{fmt.microseconds(low)} to {fmt.microseconds(high)}"
                if proven
                else ("not tested yet" if r.choice != NATIVE else "nothing faster"),
                "calls": fmt.count(int(_number(r, "calls"))),
                "saved": fmt.seconds(_number(r, "saved_s")) if proven else fmt.NONE,
                "tried": r.evidence.get("tried", fmt.NONE).replace(";", ", "),
                "order": "changed" if "order" in r.evidence else "",
            }
        )
    return out


def _number(row: Row, key: str) -> float:
    try:
        value = float(row.evidence.get(key, "0"))
    except ValueError:
        return 0
    return value if math.isfinite(value) else 0
