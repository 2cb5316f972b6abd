"""The measured points: one for each collective, candidate, layout, size and mode.

The report measures nothing and decides nothing; it sums up what bench files hold. Launches differ
from one another more than calls within a launch do, so the unit is the launch: its median is one
observation, and the interval is taken over launches. Where there are too few launches for that, the
point says so. Figures and tables are made from these points; they see no single time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from stretto.files.bench import BLOCKING, Bench, Excluded, standing_exclusions
from stretto.files.layout import RankLayout
from stretto.files.table import Table
from stretto.files.verdict import Run
from stretto.measure.compare import BARE
from stretto.measure.settings import REDUCTIONS
from stretto.measure.stats import median_interval
from stretto.report import format as fmt

NATIVE = "native"
#: what native is called where it was measured without Stretto (`BARE`) only
DEFAULT = "default of the MPI"
Kind = Literal["launches", "range", "calls", "none"]
KIND_TEXT: dict[Kind, str] = {
    "launches": "95 % interval of the median over launches",
    "range": "smallest to largest (fewer than six launches: no 95 % interval exists)",
    "calls": "95 % interval of the median within one launch (variation between launches unknown)",
    "none": "no interval (one time only)",
}
#: times by file and launch
_Launches = dict[tuple[int, int], list[float]]
#: collective, layout, mode and variant; candidate, bytes and source
_PanelKey = tuple[str, RankLayout, str, str]
_PointKey = tuple[str, int, str]


@dataclass(frozen=True)
class MedianInterval:
    """A median and what is known of its uncertainty.

    `median`, `low`, `high`: in the unit of the observations; `low` and `high` equal `median` where
    `kind` is ``none``.
    `kind`: what `low` and `high` are: a key of `KIND_TEXT`.
    `launches`, `observations`: how many launches, and how many times in all.
    """

    median: float
    low: float
    high: float
    kind: Kind
    launches: int
    observations: int


def estimate(launches: Iterable[Sequence[float]]) -> MedianInterval | None:
    """Return the median over launches with its interval; None when there is no time at all.

    `launches`: per launch, its times (any unit). Empty launches are passed over.
    """
    every = [times for times in launches if len(times)]
    if not every:
        return None
    kind: Kind = "launches" if len(every) > 1 else "calls"
    values = [median(times) for times in every] if len(every) > 1 else every[0]
    found = median_interval(values)
    low, high = found.low, found.high
    if low is None or high is None:
        low, high, kind = min(values), max(values), "range" if len(values) > 1 else "none"
    return MedianInterval(found.median, low, high, kind, len(every), sum(map(len, every)))


def usable(runs: Sequence[Run], kind: str) -> list[Run]:
    return [r for r in runs if r.kind == kind and r.value is not None and r.exit == 0]


def estimate_runs(runs: Sequence[Run]) -> MedianInterval | None:
    return estimate([r.value] for r in runs if r.value is not None)


@dataclass(frozen=True)
class CandidatePoint:
    """What was measured (or simulated) for one candidate at one size.

    `estimate`: time per call in microseconds.
    `correct`: False when any launch found wrong contents in the buffers; such a candidate is never
    chosen.
    `relative`: time divided by native's in the same launch, over the launches that measured both;
    None where no launch did.
    `shown`: what it is called, where that is not the candidate.
    """

    candidate: str
    layout: RankLayout
    bytes: int
    estimate: MedianInterval
    source: str
    correct: bool = True
    relative: MedianInterval | None = None
    shown: str = ""

    @property
    def name(self) -> str:
        """Return the candidate for people."""
        return self.shown or self.candidate

    @property
    def simulated(self) -> bool:
        return self.source == "simulated"


def _slug(words: Iterable[str]) -> str:
    return fmt.identifier(
        "-".join(w.removeprefix("MPI_").replace(" ", "").lower() for w in words if w)
    )


@dataclass
class Panel:
    """All points of one collective, layout, mode and variant, and what the table chose there.

    `variant`: datatype and operation, as in ``MPI_DOUBLE, MPI_SUM``.
    `chosen`: bytes to the name that the table gives; sizes without a row, or a table, are missing.
    `failed`: candidates that were to be measured and gave no time or wrong contents, with the
    reason.
    """

    collective: str
    layout: RankLayout
    mode: str
    variant: str
    points: list[CandidatePoint]
    chosen: dict[int, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    #: ``persistent calls``; empty: blocking ones
    calls: str = ""

    @property
    def name(self) -> str:
        """Return the panel's name, usable as an id and file name."""
        return _slug([self.collective, self.layout.slug, self.mode, *self.variant.split(", ")])

    @property
    def kind(self) -> str:
        """Return the name without the layout: what panels of several layouts have in common."""
        return _slug([self.collective, self.mode, *self.variant.split(", ")])

    @property
    def setting(self) -> str:
        """Return layout, datatype, operation, mode and calls, as under a chart's title."""
        words = fmt.layout(self.layout), self.variant, self.mode, self.calls
        return ", ".join(w for w in words if w)

    @property
    def function(self) -> str:
        return f"MPI_{self.collective.capitalize()}"

    def title(self, number: int) -> str:
        """Return the function and the message size; a barrier has none."""
        return self.function + (f" of {fmt.size(number)}" if number else "")

    @property
    def simulated(self) -> bool:
        return any(p.simulated for p in self.points)

    @property
    def native_name(self) -> str:
        """Return what the MPI alone is called here: native, or `DEFAULT`."""
        return next((p.name for p in self.points if p.candidate == NATIVE), NATIVE)

    @property
    def native_words(self) -> str:
        """Return the same within a sentence."""
        return NATIVE if self.native_name == NATIVE else f"the {self.native_name}"

    @property
    def sizes(self) -> list[int]:
        return sorted({p.bytes for p in self.points})

    @property
    def candidates(self) -> list[str]:
        """Return the candidates with points: native first, then by name."""
        return sorted({p.candidate for p in self.points}, key=lambda n: (n != NATIVE, n))

    def at(self, number: int) -> list[CandidatePoint]:
        """Return the points of one size, fastest first."""
        here = [p for p in self.points if p.bytes == number]
        return sorted(here, key=lambda p: p.estimate.median)

    def of(self, candidate: str) -> list[CandidatePoint]:
        return sorted((p for p in self.points if p.candidate == candidate), key=lambda p: p.bytes)

    def point(self, candidate: str | None, number: int) -> CandidatePoint | None:
        return next(
            (p for p in self.points if p.bytes == number and p.candidate == candidate), None
        )

    def choice_at(self, number: int) -> CandidatePoint | None:
        return self.point(self.chosen.get(number), number)

    def gain(self, number: int) -> float | None:
        """Return how many times faster than native the choice at this size is."""
        native, taken = self.point(NATIVE, number), self.choice_at(number)
        if native is None or taken is None or taken.estimate.median <= 0:
            return None
        return native.estimate.median / taken.estimate.median


def ever_chosen(panels: Iterable[Panel]) -> list[str]:
    """Return the names chosen at some size, other than native, most often chosen first."""
    times = Counter(name for p in panels for name in p.chosen.values() if name != NATIVE)
    return sorted(times, key=lambda n: (-times[n], n))


def ever_fastest(panels: Iterable[Panel]) -> list[str]:
    """Return the names other than native that are fastest at some size, most often first.

    Sizes for which a table has a choice do not count.
    """
    first = [
        next((p.candidate for p in panel.at(n) if p.correct and p.candidate != NATIVE), NATIVE)
        for panel in panels
        for n in panel.sizes
        if n not in panel.chosen
    ]
    times = Counter(name for name in first if name != NATIVE)
    return sorted(times, key=lambda n: (-times[n], n))


def panels_of(benches: Sequence[Bench], tables: Sequence[Table] = ()) -> list[Panel]:
    """Sum samples up into panels, sorted, with what the tables choose and what gave no time."""
    times: dict[_PanelKey, dict[_PointKey, _Launches]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    wanted: dict[tuple[str, RankLayout], set[str]] = defaultdict(set)
    dropped: dict[tuple[str, RankLayout], dict[str, str]] = defaultdict(dict)
    wrong: dict[_PanelKey, set[_PointKey]] = defaultdict(set)
    for number, bench in enumerate(benches):
        # native of such calls has a thread level that it does not need by itself
        skipped = {NATIVE} if bench.header.calls != BLOCKING and _has_bare(bench) else set()
        where = {q.launch: RankLayout(q.nodes, q.ppn, q.nranks) for q in bench.launches}
        for launch in bench.launches:
            for collective, names in launch.candidates.items():
                wanted[collective, where[launch.launch]] |= set(names) - skipped
        for e in standing_exclusions(bench.records).values():
            # its times are shown, and no decision rests on them
            dropped[e.collective, where[e.launch]][e.candidate] = _why(e)
        for s in bench.samples:
            if s.candidate in skipped:
                continue
            operation = s.operation if s.collective in REDUCTIONS else None
            words = (s.datatype, operation, f"root {s.root}" if s.root else "", s.pattern)
            key = s.collective, where[s.launch], s.mode, ", ".join(filter(None, words))
            point = s.candidate, s.bytes, s.source
            times[key][point][number, s.launch] += s.times_us
            if not s.correct:
                wrong[key].add(point)
                dropped[s.collective, where[s.launch]][s.candidate] = "gave wrong results"
    out = [Panel(*key, _points(key[1], times[key], wrong[key])) for key in sorted(times)]
    calls = {bench.header.calls for bench in benches}  # of one kind
    for panel in out:
        place = panel.collective, panel.layout
        got = {name for key in times if key[:2] == place for name, *_ in times[key]}
        panel.failed = dict.fromkeys(wanted[place] - got, "gave no time") | dropped[place]
        panel.calls = next((f"{c} calls" for c in calls if c != BLOCKING), "")
        _choose(panel, tables)
    return out


def _has_bare(bench: Bench) -> bool:
    return any(s.candidate == BARE for s in bench.samples)


def _points(
    layout: RankLayout, times: dict[_PointKey, _Launches], wrong: set[_PointKey]
) -> list[CandidatePoint]:
    out = []
    # where native was not measured, as in imported results, the MPI without Stretto is native
    native = NATIVE if any(name == NATIVE for name, *_ in times) else BARE
    for (candidate, number, source), by_launch in times.items():
        if source == "simulated" and (candidate, number, "measured") in times:
            continue  # what was measured needs no model
        found = estimate(by_launch.values())
        if found is not None:
            relative = _relative(by_launch, times.get((native, number, source), {}))
            correct = (candidate, number, source) not in wrong
            name, shown = (NATIVE, DEFAULT) if candidate == native == BARE else (candidate, "")
            out.append(
                CandidatePoint(name, layout, number, found, source, correct, relative, shown)
            )
    return out


def _why(excluded: Excluded) -> str:
    words = {
        "refused": "was refused", "wrong": "gave wrong results", "hung": "hung",
        "failed": "failed", "not_done": "was left to the MPI",
    }  # fmt: skip
    detail = f": {excluded.detail.strip().rstrip('.')}" if excluded.detail.strip() else ""
    at = "" if excluded.collective == "barrier" else f" at {fmt.size(excluded.bytes)}"
    return f"{words[excluded.reason]}{at}{detail}"


def _relative(mine: _Launches, native: _Launches) -> MedianInterval | None:
    """Return the ratio to native, launch by launch.

    What makes one launch slower than another (placement, the machine's mood) touches both of its
    candidates; in their ratio it cancels.
    """
    both = sorted(mine.keys() & native.keys())
    bases = {launch: median(native[launch]) for launch in both}
    return estimate([median(mine[q]) / bases[q]] for q in both if bases[q] > 0)


def _choose(panel: Panel, tables: Sequence[Table]) -> None:
    """Fill in what the first table that knows of it chooses at each size of a panel."""
    for number in panel.sizes:
        for table in tables:
            row = table.find(panel.collective, panel.layout.nodes, panel.layout.ppn, number)
            if row is not None:
                panel.chosen[number] = row.choice
                break
