"""Candidates against the baseline, over launches, with every comparison in one family of tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stretto.counted import counted, sized
from stretto.files.bench import Bench, Sample, standing_exclusions
from stretto.files.layout import RankLayout
from stretto.files.outcome import Outcome, Verdict
from stretto.measure.idle import disturbed
from stretto.measure.reference import Timed, exponent, leaves_messages
from stretto.measure.stats import (
    FEWEST,
    Interval,
    benjamini_hochberg,
    median_interval,
    paired_test,
    rank_sum_test,
    ratio_apart,
)
from stretto.measure.verdict import judge, settled

NATIVE = "native"
BARE = "bare"
#: below this a single call cannot be timed, and batches decide (us)
BATCHES_BELOW_US = 2.0
#: part of the launches that may run on a busy machine before "no difference" is inconclusive
BUSY_LAUNCHES = 0.25


@dataclass(frozen=True, order=True)
class Cell:
    """One call shape at one size and in one mode."""

    collective: str
    bytes: int
    datatype: str
    operation: str
    root: int
    mode: str
    #: as that of a `Sample`; empty: blocks of one size
    pattern: str = ""


@dataclass(frozen=True)
class Timing:
    """A candidate's time in one cell over launches, in microseconds.

    `kinds`: launches of a round: launch i belongs to round i // kinds; 0: not known.
    `reference`: by launch, what a fixed exchange of messages took, where one was timed.
    `busy`: launches in which the machine was busy with other things.
    """

    cell: Cell
    candidate: str
    interval: Interval
    by_launch: tuple[tuple[int, float], ...]
    kinds: int = 0
    reference: tuple[tuple[int, float], ...] = ()
    busy: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Comparison:
    """One candidate against the baseline in one cell.

    `ratio`: time of the candidate / the baseline's, over launches, with its interval.
    `p`, `q`: of the rank test, and adjusted for all comparisons made together; None: no test was
    made.
    `baseline_us`: the baseline's median time, in microseconds.
    `verdict`: what it amounts to: ``faster`` and ``slower`` need q < 5% and a difference above 3%.
    """

    cell: Cell
    candidate: str
    baseline: str
    ratio: Interval
    ratios: tuple[float, ...]
    p: float | None
    q: float | None
    verdict: Verdict
    paired: bool = False
    baseline_us: float | None = None
    #: ranks, nodes and ranks per node that it was measured on, where several are compared
    layout: tuple[int, int, int] | None = None
    #: that the machine was busy in its launches; None: in few or none
    busy: str | None = None
    baseline_launches: int = 0
    #: in another mode than the one that decides a test finds the candidate slower
    slower_elsewhere: bool = False

    @property
    def launches(self) -> int:
        return self.ratio.n

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def why(self) -> str:
        """The verdict's reason, and what is missing."""
        return self.verdict.words

    def no_slower(self, by: float) -> bool:
        """Tell whether a test was made, and the candidate is not slower by more than a part."""
        tested = self.verdict.tested and self.outcome != "slower"
        return tested and (self.outcome == "faster" or self.ratio.median <= 1 + by)


def cell_of(s: Sample) -> Cell:
    kind = s.datatype or "", s.operation or "", s.root or 0
    return Cell(s.collective, s.bytes, *kind, s.mode, s.pattern or "")


def timings(bench: Bench) -> dict[Cell, dict[str, Timing]]:
    """Return, for each cell and candidate, the median of each launch and their interval.

    Wrong results and excluded candidates are left out: no time of theirs counts.
    """
    gone = set(standing_exclusions(bench.records))
    gone |= {(s.collective, s.candidate) for s in bench.samples if not s.correct}
    variants = bench.header.settings.get("variants")
    kinds = len(variants) if isinstance(variants, list | tuple) else 0
    busy = frozenset(disturbed(bench))
    medians: dict[Cell, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    references: dict[tuple[Cell, str], dict[int, float]] = defaultdict(dict)
    for sample in bench.samples:
        if (sample.collective, sample.candidate) not in gone and sample.times_us:
            cell = cell_of(sample)
            medians[cell][sample.candidate][sample.launch] = float(np.median(sample.times_us))
            if sample.reference_us is not None and leaves_messages(sample.candidate):
                references[cell, sample.candidate][sample.launch] = sample.reference_us
    return {
        cell: {
            name: Timing(
                cell,
                name,
                median_interval(list(launches.values())),
                tuple(sorted(launches.items())),
                kinds,
                tuple(sorted(references[cell, name].items())),
                busy & launches.keys(),
            )
            for name, launches in candidates.items()
        }
        for cell, candidates in sorted(medians.items())
    }


def compare_times(
    candidate: Mapping[int, float],
    baseline: Mapping[int, float],
    kinds: int = 0,
    test: bool = True,
) -> tuple[Interval, tuple[float, ...], float | None, bool]:
    """Return ratio, the single ratios, p and whether the two shared their launches.

    Launches that both have are pairs; of different processes the rounds that both have are (a
    machine may be another one for hours), and without common rounds there is no p. Where rounds are
    not known any launch may stand beside any other (`ratio_apart`).

    `candidate`, `baseline`: launch number to median time.
    `kinds`: launches of a round; 0 where rounds are not known.
    `test`: False: no p, which takes the most time.
    """
    both = common_launches(candidate, baseline)
    shared = bool(both)
    if not shared and kinds:
        candidate, baseline = (
            {i // kinds: t for i, t in sorted(x.items())} for x in (candidate, baseline)
        )
        both = sorted(set(candidate) & set(baseline))
        if not both:
            alone = float(np.median(list(candidate.values())) / np.median(list(baseline.values())))
            return Interval(alone, None, None, 0), (), None, False
    if both:
        pairs = [candidate[i] / baseline[i] for i in both]
        a, b = [candidate[i] for i in both], [baseline[i] for i in both]
        return median_interval(pairs), tuple(pairs), paired_test(a, b) if test else None, shared
    a = [candidate[i] for i in sorted(candidate)]
    b = [baseline[i] for i in sorted(baseline)]
    # they show how far single ratios scatter, whichever launches stand together
    ratios = tuple(x / y for x, y in zip(a, b, strict=False))
    return ratio_apart(a, b), ratios, rank_sum_test(a, b) if test else None, False


def put_beside(a: Timing, b: Timing) -> tuple[dict[int, float], dict[int, float]]:
    """Return two candidates' times by launch, as they can be compared.

    Where they share no launches, but a reference was timed: as multiples of a power of it
    (`exponent`), if enough rounds have one for a test.
    """
    both = dict(a.by_launch), dict(b.by_launch)
    if common_launches(*both):
        return both
    references = dict(a.reference), dict(b.reference)
    timed = [
        {k: Timed(us, r[k]) for k, us in t.items() if k in r and us > 0}
        for t, r in zip(both, references, strict=True)
    ]
    whole = all(len(x) == len(t) for x, t in zip(timed, both, strict=True))
    one, other = ({k // a.kinds if a.kinds else k for k in x} for x in timed)
    enough = len(one & other) if a.kinds else min(len(one), len(other))
    if not (whole or enough >= FEWEST):
        return both
    power = exponent([list(t.values()) for t in timed])
    first, second = ({k: t.us / t.reference**power for k, t in x.items()} for x in timed)
    return first, second


def common_launches(a: Collection[int], b: Collection[int]) -> list[int]:
    """Return the launches that two candidates share; none, unless one of them is in all of both.

    `a`, `b`: the numbers of their launches.
    """
    both = sorted(set(a) & set(b))
    return both if len(both) >= min(len(a), len(b)) else []


def compare(
    times: Mapping[Cell, Mapping[str, Timing]],
    baseline: str | Callable[[Mapping[str, Timing], str], str] = NATIVE,
) -> list[Comparison]:
    """Compare every candidate with the baseline in every cell; all tests form one family."""
    raw: list[tuple[Cell, str, str, Interval, tuple[float, ...], float | None, bool]] = []
    for cell, candidates in times.items():
        others = {baseline} if isinstance(baseline, str) else {NATIVE, BARE}
        for name, timing in candidates.items():
            against = baseline if isinstance(baseline, str) else baseline(candidates, name)
            base = candidates.get(against)
            if base is not None and name not in others:
                found = compare_times(*put_beside(timing, base), timing.kinds)
                raw.append((cell, name, against, *found))
    adjusted = benjamini_hochberg([r[5] for r in raw])
    out = []
    for (cell, name, against, ratio, ratios, p, paired), q in zip(raw, adjusted, strict=True):
        mine, base = times[cell][name], times[cell][against]
        busy = _busy(mine, base)
        verdict = judge(ratio, q, ratio.n, p=p, busy=busy)
        out.append(
            Comparison(
                cell, name, against, ratio, ratios, p, q, verdict, paired, base.interval.median,
                busy=busy, baseline_launches=base.interval.n,
            )
        )  # fmt: skip
    return out


def _busy(*timings: Timing) -> str | None:
    busy = {k for t in timings for k in t.busy}
    return busy_words(len({k for t in timings for k, _ in t.by_launch}), len(busy))


def busy_words(launches: int, busy: int) -> str | None:
    """Return in how many launches the machine was busy, None where it was in few of them."""
    if busy <= BUSY_LAUNCHES * launches:
        return None
    return f"it was busy in {busy} of {launches} launches"


def deciding_mode(native_us: Mapping[str, float]) -> str:
    """Return the mode that decides in a cell, of those that were measured.

    Below 2 us single calls cannot be timed, and the batches decide; above, calls that all ranks
    begin together, which is what an application's ranks wait for.
    """
    if "latency" not in native_us:
        return "throughput"
    if "throughput" not in native_us:
        return "latency"
    return "throughput" if native_us["throughput"] < BATCHES_BELOW_US else "latency"


def decisive(
    comparisons: Iterable[Comparison], times: Mapping[Cell, Mapping[str, Timing]]
) -> list[Comparison]:
    """Return one comparison for each candidate and size: of the deciding mode.

    A candidate that is significantly slower in the other mode is not ``faster`` (a broadcast whose
    root merely runs ahead).
    """
    native: dict[Cell, dict[str, float]] = defaultdict(dict)
    for cell, candidates in times.items():
        for comparison_base in (NATIVE, BARE):
            if comparison_base in candidates:
                native[shape_of_cell(cell)][cell.mode] = candidates[comparison_base].interval.median
                break
    grouped: dict[tuple[Cell, str], dict[str, Comparison]] = defaultdict(dict)
    for c in comparisons:
        grouped[shape_of_cell(c.cell), c.candidate][c.cell.mode] = c
    out = []
    for (shape, _), by_mode in grouped.items():
        mode = deciding_mode({m: t for m, t in native[shape].items() if m in by_mode})
        chosen = by_mode[mode]
        for other in by_mode.values():
            if other.cell.mode == mode or other.outcome != "slower":
                continue
            chosen = replace(chosen, slower_elsewhere=True)
            if chosen.outcome == "faster":
                why = f"{chosen.why} in {mode}, but {other.why} in {other.cell.mode}"
                chosen = replace(chosen, verdict=Verdict("same", why))
        out.append(chosen)
    return out


def shape_of_cell(cell: Cell) -> Cell:
    """Return a cell without its mode."""
    return replace(cell, mode="")


def best(comparisons: Sequence[Comparison]) -> Comparison | None:
    """Fastest of those that are significantly faster than the baseline, None if none is."""
    faster = [c for c in comparisons if c.outcome == "faster"]
    return min(faster, key=lambda c: (c.ratio.median, c.candidate)) if faster else None


def open_points(comparisons: Iterable[Comparison]) -> tuple[list[Comparison], int]:
    """Return where it is open whether something is faster, and of how many calls."""
    calls: dict[tuple[object, ...], list[Comparison]] = defaultdict(list)
    for c in comparisons:
        calls[c.layout, shape_of_cell(c.cell)].append(c)
    found = []
    for here in calls.values():
        if best(here) is None and not _settled(here):
            untold = [c for c in here if c.outcome == "inconclusive"] or here
            found.append(min(untold, key=lambda c: c.ratio.median))
    return found, len(calls)


def open_words(comparisons: Iterable[Comparison]) -> str | None:
    """Return at how many calls the result is open, with a reason; None where there is none."""
    found, calls = open_points(comparisons)
    if not calls:
        return "inconclusive: nothing was compared; missing: more launches, or more --budget"
    if not found:
        return None
    c = named_open(found)
    nodes = "" if c.layout is None else f" on {RankLayout(*c.layout[1:], c.layout[0]).where}"
    example = f", e.g. {c.cell.collective} of {sized(c.cell.bytes)}{nodes}" if calls > 1 else ""
    return f"inconclusive at {len(found)} of {counted(calls, 'call')}{example}: {c.verdict.words}"


def named_open(points: Sequence[Comparison]) -> Comparison:
    """Return the one of several open points whose reason is named for all."""
    return max(points, key=lambda c: (not c.verdict.tested, len(c.verdict.missing)))


def best_words(comparisons: Sequence[Comparison], label: Callable[[str], str]) -> str:
    """Return the best choice of one size in words; the baseline only where something was tested."""
    chosen = best(comparisons)
    if chosen is not None:
        return f"{label(chosen.candidate)} x{chosen.ratio.median:.2f}"
    return NATIVE if _settled(comparisons) else "inconclusive"


def _settled(comparisons: Sequence[Comparison]) -> bool:
    found = [(c.verdict, c.ratio.median) for c in comparisons]
    return settled(found, max((c.baseline_launches for c in comparisons), default=0))
