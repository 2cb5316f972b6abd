"""From comparisons to a short table: the significantly best choice at each size, else native.

Neighbouring sizes are merged by a shortest path: a row costs as much as `ROW_COST` of gain, so that
the table does not change its mind where nothing is gained by it; but at no size may a choice stand
that was not significantly faster than native there, or that loses more than `LOSS` against the
fastest (`TIED`, where no test tells the two apart). Collectives in which no rank knows the others'
sizes have one row for all sizes (`for_all_sizes`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stretto.files.table import WITHOUT_SIZE, Row
from stretto.measure.compare import BARE, NATIVE, Cell, Comparison, shape_of_cell
from stretto.measure.stats import geometric_mean, paired_test, rank_sum_test
from stretto.measure.verdict import ALPHA
from stretto.tune.evidence import evidence_of, shapes_of

#: a change of choice must gain more than this (sum of log ratios over the sizes)
ROW_COST = math.log(1.03)
#: a choice may be so much slower than the fastest at a size, for a shorter table
LOSS = 0.02
#: and so much slower, where no test tells it from the fastest
TIED = 0.06
#: between sizes that lie further apart nothing is concluded
GAP = 16
#: where one choice has to do for all sizes, it may be so much slower than native at some of them
SAME = 0.02
#: what holds at this size holds for all smaller ones: one cache line or less either way
SMALLEST = 16


#: ranks, nodes and ranks per node
Layout = tuple[int, int, int]
#: a cell without its mode, and where it was measured (as `Comparison.layout`)
Call = tuple[Cell, Layout | None]
#: size -> choices that are significantly faster there -> time / native's
Options = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class SizeRange:
    """Sizes that a measured one stands for, both included (an application's size class)."""

    low: int
    high: int

    def joined(self, other: SizeRange) -> SizeRange:
        return SizeRange(min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class Segment:
    """Sizes from `low` to `high` (None: without end) with one choice."""

    low: int
    high: int | None
    choice: str
    measured: tuple[int, ...]


def choose(
    options: Mapping[int, Mapping[str, float]], tied: Mapping[int, Collection[str]] | None = None
) -> dict[int, str]:
    """Return the choice at each size: least time with few changes.

    `options`: size to the choices that are significantly faster there, with their ratio to native.
    `tied`: from `ties`; by default none is tied with the fastest.
    """
    sizes = sorted(options)
    costs: list[dict[str, tuple[float, str | None]]] = []
    for i, size in enumerate(sizes):
        here: dict[str, tuple[float, str | None]] = {}
        every = {NATIVE: 1.0, **options[size]}
        best, equal = min(every.values()), (tied or {}).get(size, ())
        for name, ratio in every.items():
            if ratio > best * (1 + (TIED if name in equal else LOSS)):
                continue
            own = math.log(ratio)
            if i == 0:
                here[name] = (own, None)
                continue
            before = min(
                costs[-1],
                key=lambda b: (costs[-1][b][0] + (0.0 if b == name else ROW_COST), b != name, b),
            )
            step = 0.0 if before == name else ROW_COST
            here[name] = (costs[-1][before][0] + step + own, before)
        costs.append(here)
    out: dict[int, str] = {}
    last: str | None = None
    for i in range(len(sizes) - 1, -1, -1):
        if last is None:
            last = min(costs[i], key=lambda n: (costs[i][n][0], n != NATIVE, n))
        out[sizes[i]] = last
        last = costs[i][last][1]
    return dict(sorted(out.items()))


def ties(sizes: Mapping[int, Sequence[Comparison]], options: Options) -> dict[int, set[str]]:
    """Return, by size, the choices that no test tells from the fastest, in any shape."""
    out: dict[int, set[str]] = {}
    for size, ratios in options.items():
        best = min(ratios, key=lambda n: (ratios[n], n), default=NATIVE)
        fastest = {(c.cell, c.baseline): c.ratios for c in sizes[size] if c.candidate == best}
        out[size] = set(ratios)
        for c in sizes[size]:
            if c.candidate == best or c.candidate not in ratios:
                continue
            of_best = fastest.get((c.cell, c.baseline), ())
            test = paired_test if len(of_best) == len(c.ratios) else rank_sum_test
            p = test(c.ratios, of_best)
            if p is None or p < ALPHA:
                out[size].discard(c.candidate)
    return out


def segments(chosen: Mapping[int, str], spans: Mapping[int, SizeRange]) -> list[Segment]:
    """Turn choices at measured sizes into ranges that cover all sizes.

    Between two measured sizes with one choice, not more than 16 times apart, that choice holds;
    between two different ones the geometric mean divides, except that native gets what nobody
    measured beside it. Beyond the largest measured size: native.

    `spans`: what each size stands for; a size that is not there stands for itself.
    """
    sizes = sorted(chosen)
    if not sizes:
        return [Segment(0, None, NATIVE, ())]
    owns = [spans.get(size, SizeRange(size, size)) for size in sizes]
    low = [min(span.low, size) for span, size in zip(owns, sizes, strict=True)]
    high = [max(span.high, size) for span, size in zip(owns, sizes, strict=True)]
    if sizes[0] <= SMALLEST:
        low[0] = 0
    for i in range(len(sizes) - 1):
        high[i], low[i + 1] = _boundary(
            (sizes[i], sizes[i + 1]), (chosen[sizes[i]], chosen[sizes[i + 1]]), high[i], low[i + 1]
        )
    out: list[Segment] = []
    at = 0  # the first byte that no segment has yet
    for i, size in enumerate(sizes):
        if at < low[i]:
            _append(out, Segment(at, low[i] - 1, NATIVE, ()))
        _append(out, Segment(low[i], high[i], chosen[size], (size,)))
        at = high[i] + 1
    _append(out, Segment(at, None, NATIVE, ()))
    return out


def segments_of(
    collective: str, chosen: dict[int, str], options: Options, spans: Mapping[int, SizeRange]
) -> list[Segment]:
    """Return `segments`, or one for all sizes where the choice cannot depend on the size."""
    if chosen and collective in ("barrier", *WITHOUT_SIZE):
        choice = next(iter(one_choice(collective, chosen, options).values()))
        return [Segment(0, None, choice, tuple(sorted(chosen)))]
    return segments(chosen, spans)


def _boundary(
    sizes: tuple[int, int], choices: tuple[str, str], high: int, low: int
) -> tuple[int, int]:
    """Return where the first of two neighbouring sizes ends and where the second begins.

    `high`, `low`: end of what the first stands for, begin of what the second does; native fills the
    gap.
    """
    high = min(high, sizes[1] - 1)
    low = max(low, high + 1)
    if sizes[1] > GAP * max(sizes[0], 1) and sizes[1] > SMALLEST:
        return high, low
    if choices[0] == choices[1]:
        return low - 1, low
    if NATIVE in choices:
        return high, low
    cut = min(max(math.isqrt(sizes[0] * sizes[1]), high), low - 1)
    return cut, cut + 1


def _append(out: list[Segment], segment: Segment) -> None:
    if out and out[-1].choice == segment.choice:
        out[-1] = Segment(
            out[-1].low, segment.high, segment.choice, out[-1].measured + segment.measured
        )
    else:
        out.append(segment)


def for_all_sizes(
    comparisons: Mapping[int, Sequence[Comparison]], usable: Callable[[str], bool]
) -> dict[int, dict[str, float]]:
    """Return the options of a collective whose choice cannot depend on the size.

    A candidate is one where it was significantly faster than the MPI at one size or more, and
    nowhere slower: by the test, in any mode or shape, or by more than `SAME` in the median.
    """
    ratios: dict[str, list[float]] = defaultdict(list)
    faster: set[str] = set()
    for found in comparisons.values():
        slower = {c.candidate for c in found if c.slower_elsewhere}
        for c in one_shape_each(found):
            harmless = c.no_slower(SAME) and c.candidate not in slower
            if usable(c.candidate) and (c.outcome == "faster" or harmless):
                ratios[c.candidate].append(c.ratio.median)
                faster |= {c.candidate} if c.outcome == "faster" else set()
    means = {
        name: geometric_mean(found)
        for name, found in ratios.items()
        if name in faster and len(found) == len(comparisons)
    }
    return {size: dict(means) for size in comparisons}


def one_choice(collective: str, chosen: dict[int, str], options: Options) -> dict[int, str]:
    """Return choices by size, all the same where the choice cannot depend on the size."""
    if collective not in WITHOUT_SIZE or len(set(chosen.values())) < 2:
        return chosen
    ratio = next(iter(options.values()))
    best = min(chosen.values(), key=lambda n: (ratio.get(n, 1.0), n))
    return dict.fromkeys(chosen, best)


def call_of(cell: Cell, layout: Layout | None = None) -> Call:
    return shape_of_cell(cell), layout


def calls_of(
    times: Mapping[Cell, Mapping[str, object]],
    layout: Layout | None = None,
    baselines: Collection[str] = (NATIVE, BARE),
) -> list[Call]:
    """Return the calls in which the MPI by itself was measured, each once and in their order.

    `layout`: of these times, where several are decided on together.
    `baselines`: what counts as the MPI by itself.
    """
    measured = [cell for cell, found in times.items() if set(baselines) & set(found)]
    return list(dict.fromkeys(call_of(cell, layout) for cell in measured))


def complete(
    comparisons: Iterable[Comparison], calls: Iterable[Call]
) -> dict[str, dict[int, list[Comparison]]]:
    """Return the comparisons that may become rows, by collective and size.

    A row holds for every shape of a size: a candidate that lacks one of a size's calls (it crashed
    or was refused there) has none, and a size at which the MPI alone was measured has an empty
    list, over which rows beside it must not reach.

    `calls`: from `calls_of`; those of the comparisons count, too.
    """
    found: dict[tuple[str, int], list[Comparison]] = defaultdict(list)
    wanted: dict[tuple[str, int], set[Call]] = defaultdict(set)
    have: dict[tuple[str, int, str], set[Call]] = defaultdict(set)
    for call in calls:
        wanted[call[0].collective, call[0].bytes].add(call)
    for c in comparisons:
        call, place = call_of(c.cell, c.layout), (c.cell.collective, c.cell.bytes)
        found[place].append(c)
        wanted[place].add(call)
        have[(*place, c.candidate)].add(call)
    out: dict[str, dict[int, list[Comparison]]] = defaultdict(dict)
    for place, needed in wanted.items():
        collective, size = place
        out[collective][size] = [c for c in found[place] if have[(*place, c.candidate)] >= needed]
    return dict(out)


def _own(candidate: str) -> bool:
    return not candidate.startswith((NATIVE, BARE))


def decide(
    comparisons: Iterable[Comparison],
    nodes: int | None,
    ppn: int | None,
    spans: Mapping[str, Mapping[int, SizeRange]] | None = None,
    source: str = "measured",
    chooser: Callable[[str, Options], dict[int, str]] | None = None,
    usable: Callable[[str], bool] = _own,
    calls: Iterable[Call] = (),
) -> list[Row]:
    """Return the rows of the table, for each collective from 0 bytes without end.

    `comparisons`: from `stretto.measure.compare.decisive`.
    `spans`: by collective, what each measured size stands for.
    `chooser`: from a collective and its options to the choice at each size; None: `choose`.
    `usable`: whether a candidate may be chosen; by default Stretto's own only.
    `calls`: from `calls_of`, as for `complete`.
    """
    comparisons = list(comparisons)
    compared = dict.fromkeys(c.cell.collective for c in comparisons)
    by_collective = complete(comparisons, calls)
    rows: list[Row] = []
    for collective in compared:
        sizes = by_collective[collective]
        options = {
            size: {
                c.candidate: c.ratio.median
                for c in one_shape_each(found)
                if c.outcome == "faster" and usable(c.candidate)
            }
            for size, found in sizes.items()
        }
        own_spans = (spans or {}).get(collective, {})
        if collective in WITHOUT_SIZE:
            options = for_all_sizes(sizes, usable)
        if chooser is not None:
            chosen = chooser(collective, options)
        else:
            chosen = choose(options, ties(sizes, options))
        for segment in segments_of(collective, chosen, options, own_spans):
            mine = [[c for c in sizes[size] if segment.choice in (NATIVE, c.candidate)]
                    for size in segment.measured]  # fmt: skip
            behind = [c for found in mine for c in found]
            found = [c for found in mine for c in one_shape_each(found)]
            evidence = evidence_of(segment.choice, segment.measured, found, source)
            evidence |= shapes_of(behind)
            low, high = segment.low, segment.high
            rows.append(Row(collective, nodes, ppn, low, high, segment.choice, evidence))
    return rows


def one_shape_each(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Keep, for each candidate, its worst shape: a table row holds for all datatypes and roots."""

    def rank(c: Comparison) -> int:
        if c.outcome == "slower":
            return 3
        return 0 if c.outcome == "faster" else 1 if c.verdict.tested else 2

    worst: dict[str, Comparison] = {}
    for c in comparisons:
        old = worst.get(c.candidate)
        key = (rank(c), c.ratio.median)
        if old is None or key > (rank(old), old.ratio.median):
            worst[c.candidate] = c
    return list(worst.values())
