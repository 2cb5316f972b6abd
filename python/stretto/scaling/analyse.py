"""What runs at several points say: speed-up, efficiency, cost, and where it stops scaling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stretto.files.outcome import Outcome, Verdict
from stretto.files.scale import Kind, ScaleRun
from stretto.files.verdict import Metric, is_time
from stretto.launch.resize import RunPoint
from stretto.measure.compare import compare_times
from stretto.measure.idle import busy_before
from stretto.measure.stats import Interval, benjamini_hochberg, median_interval
from stretto.measure.verdict import THRESHOLD, judge


@dataclass(frozen=True)
class MeasuredPoint:
    """One point, native or tuned.

    `value`: of the metric: median over the runs, with its 95% interval.
    `wall_s`: median wall time of a run, in seconds: what a run costs.
    `speedup`: ratio of the medians to the reference's: above 1 is faster.
    `efficiency`: speed-up / (cores / the reference's cores).
    `cost`: of one run, in the price's unit; None without a price.
    `energy_j`: median energy of a run; None: not measured.
    """

    point: RunPoint
    kind: Kind
    value: Interval
    wall_s: float
    speedup: float
    efficiency: float
    cost: float | None
    by_round: tuple[tuple[int, float], ...]
    energy_j: float | None = None


@dataclass(frozen=True)
class PointGain:
    """Tuned against native at one point.

    `ratio`: of the medians, as time / time: below 1 is faster, for rates as well. Its interval is
    that of the ratios of single rounds.
    """

    point: RunPoint
    ratio: Interval
    verdict: Verdict


@dataclass(frozen=True)
class Turn:
    """Where more cores no longer help.

    `best`: the fastest point by its median.
    `slower`: points with more cores that are slower, each with the verdict of the rank test.
    `enough`: of the points with fewer cores that are not slower, with the verdict of the test: the
    one with the fewest; None: all are. Without a test: of those that look as fast.
    `equal`: the other points with as many cores, the fastest first, each with its verdict.
    """

    kind: Kind
    best: MeasuredPoint
    slower: tuple[tuple[MeasuredPoint, Verdict], ...]
    enough: tuple[MeasuredPoint, Verdict] | None = None
    equal: tuple[tuple[MeasuredPoint, Verdict], ...] = ()

    @property
    def certain(self) -> bool:
        return any(verdict.outcome == "slower" for _, verdict in self.slower)


@dataclass(frozen=True)
class Findings:
    """All that follows from the runs.

    `reference`, `reference_kind`: whose time speed-up and efficiency refer to: the fastest point
    of those with the fewest cores; native, unless no native run succeeded.
    `unverified`: points of native runs of which none told on how many ranks it ran.
    `unseen_threads`: points with threads at which no rank was seen to have that number.
    `busy`: that the machine was busy, in words; None: it was not, or it is not known.
    `energy`: where the energy comes from, in words; None: it was not measured.
    """

    metric: Metric
    reference: RunPoint
    reference_kind: Kind
    points: tuple[MeasuredPoint, ...]
    gains: tuple[PointGain, ...]
    turns: tuple[Turn, ...]
    cheapest: MeasuredPoint | None
    failed: tuple[tuple[RunPoint, Kind, str], ...]
    unverified: tuple[RunPoint, ...] = ()
    unseen_threads: tuple[RunPoint, ...] = ()
    busy: str | None = None
    energy: str | None = None

    def of(self, kind: Kind) -> list[MeasuredPoint]:
        """Return the points of a kind, fewest cores first."""
        return [m for m in self.points if m.kind == kind]

    @property
    def layouts(self) -> list[tuple[int, int]]:
        """Return ranks per node and threads per rank of a study at equal cores, by threads.

        Empty, unless each number of nodes has several points, all with as many cores.
        """
        nodes: dict[int, set[RunPoint]] = defaultdict(set)
        for m in self.points:
            nodes[m.point.nodes].add(m.point)
        for points in nodes.values():
            if len(points) < 2 or len({p.cores for p in points}) > 1:
                return []
        found = {(p.ppn, p.threads) for points in nodes.values() for p in points if p.threads}
        return sorted(((ppn, threads) for ppn, threads in found), key=lambda x: (x[1], x[0]))


def point_of(run: ScaleRun) -> RunPoint:
    return RunPoint(run.nodes, run.ppn, run.threads)


def analyse(
    runs: Sequence[ScaleRun], metric: Metric, price: float | None, energy: str | None = None
) -> Findings | None:
    """Return what the runs say; None where no run succeeded.

    `price`: of a node for an hour; None: nothing is said of cost. `energy`: as in the header.
    """
    values: dict[tuple[RunPoint, Kind], dict[int, ScaleRun]] = defaultdict(dict)
    last: dict[tuple[RunPoint, Kind], str] = {}
    tables = {  # the latest one of each point
        point_of(r): r.detail
        for r in runs if r.kind == "tuned" and r.status == 0
    }  # fmt: skip
    for r in runs:
        key = point_of(r), r.kind
        if r.status == 0 and r.value is not None:
            if r.kind == "native" or r.detail == tables[key[0]]:
                values[key][r.round] = r
        else:
            last[key] = r.detail
    if not values:
        return None
    # Time per unit of work, whatever the metric: then smaller is faster everywhere.
    times = {key: {i: _time(r, metric) for i, r in found.items()} for key, found in values.items()}
    medians = {
        key: median_interval([r.value for r in found.values() if r.value is not None])
        for key, found in values.items()
    }
    natives = [p for p, kind in values if kind == "native"] or [p for p, _ in values]
    base_kind: Kind = "native" if any(kind == "native" for _, kind in values) else "tuned"
    worse = 1 if metric.better == "lower" else -1
    reference = min(natives, key=lambda p: (p.cores, worse * medians[p, base_kind].median, p))
    base = medians[reference, base_kind].median
    points = []
    for (point, kind), found in sorted(values.items(), key=lambda v: (v[0][0].cores, v[0])):
        value = medians[point, kind]
        speedup = base / value.median if metric.better == "lower" else value.median / base
        wall = median_interval([r.wall_s for r in found.values()]).median
        energies = [r.energy_j for r in found.values() if r.energy_j is not None]
        points.append(
            MeasuredPoint(
                point,
                kind,
                value,
                wall,
                speedup,
                speedup * reference.cores / point.cores,
                None if price is None else price * point.nodes * wall / 3600,
                tuple(sorted(times[point, kind].items())),
                median_interval(energies).median if energies else None,
            )
        )
    busy = busy_before([r.others for r in runs if r.status == 0])
    gains, turns = _tests(points, metric, busy)
    priced = [m for m in points if m.cost is not None]
    cheapest = min(priced, key=lambda m: m.cost or 0.0) if priced else None
    failed = tuple((p, k, text) for (p, k), text in last.items() if (p, k) not in values)
    unverified = tuple(
        m.point
        for m in points
        if m.kind == "native" and all(r.ranks is None for r in values[m.point, "native"].values())
    )
    unseen = dict.fromkeys(
        p
        for (p, _), found in sorted(values.items())
        if p.threads is not None and not any(r.threads_seen for r in found.values())
    )
    return Findings(
        metric, reference, base_kind, tuple(points), tuple(gains), tuple(turns), cheapest, failed,
        unverified, tuple(unseen), busy, energy,
    )  # fmt: skip


def _time(run: ScaleRun, metric: Metric) -> float:
    assert run.value is not None
    return run.value if metric.better == "lower" else 1 / run.value


def _tests(
    points: Sequence[MeasuredPoint], metric: Metric, busy: str | None
) -> tuple[list[PointGain], list[Turn]]:
    by_key = {(m.point, m.kind): m for m in points}
    pairs = [(m, by_key[m.point, "native"]) for m in points
             if m.kind == "tuned" and (m.point, "native") in by_key]  # fmt: skip
    others: list[tuple[MeasuredPoint, MeasuredPoint]] = []
    bests: dict[Kind, MeasuredPoint] = {}
    for kind in ("native", "tuned"):
        mine = [m for m in points if m.kind == kind]
        if mine:
            best = bests[kind] = max(mine, key=lambda m: (m.speedup, -m.point.cores))
            others += [(m, best) for m in mine if m is not best]
    raw = [compare_times(dict(a.by_round), dict(b.by_round)) for a, b in [*pairs, *others]]
    adjusted = benjamini_hochberg([p for _, _, p, _ in raw])
    verdicts = [
        judged(a, b, metric, found, p, q, busy)
        for (a, b), (found, _, p, _), q in zip([*pairs, *others], raw, adjusted, strict=True)
    ]
    gains = [PointGain(a.point, *verdict) for (a, _), verdict in zip(pairs, verdicts, strict=False)]
    later: Mapping[Kind, list[tuple[MeasuredPoint, Verdict]]] = defaultdict(list)
    equal: Mapping[Kind, list[tuple[MeasuredPoint, Verdict]]] = defaultdict(list)
    enough: dict[Kind, tuple[MeasuredPoint, Verdict]] = {}
    for (m, best), (ratio, verdict) in zip(others, verdicts[len(pairs) :], strict=True):
        if m.point.cores == best.point.cores:
            equal[m.kind].append((m, verdict))
        elif m.point.cores > best.point.cores:
            if ratio.median > 1:
                later[m.kind].append((m, verdict))
        elif verdict.outcome != "slower" and ratio.median <= 1 + THRESHOLD:
            enough.setdefault(m.kind, (m, verdict))  # points are in order of their cores
    turns = [
        Turn(
            kind, best, tuple(later[kind]), enough.get(kind),
            tuple(sorted(equal[kind], key=lambda e: -e[0].speedup)),
        )
        for kind, best in bests.items()
    ]  # fmt: skip
    return gains, turns


def judged(
    a: MeasuredPoint, b: MeasuredPoint, metric: Metric, found: Interval,
    p: float | None, q: float | None, busy: str | None,
) -> tuple[Interval, Verdict]:  # fmt: skip
    """Return the ratio of two points' medians, as time / time, and the verdict on the first.

    The verdict's percentage is that of the metric, in words that fit it: higher or lower, where it
    is not a time. `found`: the ratio's interval, and how many runs it has. `p`, `q`: of the test.
    """
    shown = a.value.median / b.value.median
    verdict = judge(replace(found, median=shown), q, found.n, "run", p=p, busy=busy)
    ratio = shown if metric.better == "lower" else 1 / shown
    if verdict.outcome in ("faster", "slower"):
        outcome: Outcome = "faster" if ratio < 1 else "slower"
        word = ("lower" if shown < 1 else "higher") if not is_time(metric) else outcome
        why = verdict.why.replace(verdict.outcome, word)
        verdict = replace(verdict, outcome=outcome, why=why)
    low, high = (
        None if end is None else pick(end, ratio)
        for end, pick in ((found.low, min), (found.high, max))
    )
    return Interval(ratio, low, high, found.n), verdict
