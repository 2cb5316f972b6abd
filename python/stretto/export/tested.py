"""At how many measured points a test was possible: that nothing is faster can be said of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stretto.counted import counted
from stretto.files.bench import Bench
from stretto.grouped import grouped
from stretto.measure.compare import BARE, NATIVE, Cell, Comparison, Timing
from stretto.measure.stats import FEWEST
from stretto.tune.decide import one_shape_each


@dataclass(frozen=True)
class TestedPoint:
    """A collective and size on one layout.

    `launches`: the most that a candidate and the baseline have there.
    """

    collective: str
    launches: int
    tested: bool
    remedy: str


def points_in(
    bench: Bench,
    times: Mapping[Cell, Mapping[str, Timing]],
    comparisons: Iterable[Comparison],
) -> list[TestedPoint]:
    """Return the points of a results file at which anything was compared.

    A campaign gives up candidates that lose after a few launches: there a point was tested where
    the baseline has the launches for it.
    """
    by_point = grouped(((c.cell.collective, c.cell.bytes), c) for c in comparisons)
    campaign = "node_cpu" in bench.header.settings
    remedy = f"repeat the measuring command (--launches {FEWEST} or more)"
    if "imported" in bench.header.settings:
        remedy = f"measure {FEWEST} or more, and import all of them together"
    out = []
    for (collective, _), found in by_point.items():
        tested = any(c.verdict.tested for c in one_shape_each(found))
        if campaign and not tested:
            tested = all(_of_baseline(times[c.cell]) >= FEWEST for c in found)
        out.append(TestedPoint(collective, max(c.launches for c in found), tested, remedy))
    return out


def _of_baseline(candidates: Mapping[str, Timing]) -> int:
    return max((len(t.by_launch) for n, t in candidates.items() if n in (NATIVE, BARE)), default=0)


def too_few(points: Sequence[TestedPoint]) -> list[str]:
    """Return the sentence on points where no test can be made, none where there are none."""
    few = [p for p in points if not p.tested]
    if not few:
        return []
    most = max(p.launches for p in few)
    where = "" if len(few) == len(points) else f" at {len(few)} of {counted(len(points), 'point')}"
    return [
        f"at most {counted(most, 'launch')}, too few for a test (at least {FEWEST}){where}: no "
        f"algorithm can count as faster there; {few[0].remedy}"
    ]


def nothing(points: Sequence[TestedPoint], what: str) -> str | None:
    """Return the sentence where nothing was faster; None where nothing could be tested."""
    tested = sum(p.tested for p in points)
    if points and not tested:
        return None
    words = f"{what} was significantly faster than native"
    if tested < len(points):
        words += f" at the {counted(tested, 'point')} where a test can be made"
    return words
