"""All MPIs and all their algorithms for one call: who is how far from the best.

Reads bench results of several MPIs. An MPI's default is what it does with nothing preloaded
(``bare``), or through Stretto without a change (``native``) where that was not measured.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stretto.files.identity import MPIIdentity
from stretto.files.outcome import Verdict
from stretto.measure.compare import (
    BARE,
    NATIVE,
    Cell,
    Timing,
    busy_words,
    compare_times,
    deciding_mode,
    put_beside,
    timings,
)
from stretto.measure.settings import REDUCTIONS
from stretto.measure.stats import FEWEST, Interval, benjamini_hochberg
from stretto.measure.verdict import inconclusive, judge
from stretto.mpi.algorithms.base import FILES, PREFIX
from stretto.mpi.algorithms.pairs import pairs_of
from stretto.mpi.algorithms.words import shown_label
from stretto.report.sources import Source

Kind = Literal["default", "own", "stretto"]
#: why a default is the best, where there is no other reason
NOTHING_FASTER = "nothing measured was faster"
#: and why its own algorithms cannot be compared
NONE_OF_ITS_OWN = "none of its algorithms was measured"
#: settings that stand beside an algorithm's own in a candidate
_ENABLING = re.compile(r"DEVICE_COLLECTIVES?=|use_dynamic_rules=|coll_han_priority=0$")


@dataclass(frozen=True, order=True)
class RankedCall:
    """One call on one layout; `shape` is datatype and operation where they matter.

    The datatype matters to reductions, and wherever one MPI was measured with several in one call.
    """

    collective: str
    nodes: int
    ppn: int
    nranks: int
    shape: str
    root: int
    bytes: int


@dataclass(frozen=True)
class RankingEntry:
    """One algorithm of one MPI (or Stretto's, under that MPI) at one place.

    `kind`: ``default``: what the MPI does by itself; ``own``: one of its algorithms, forced;
    ``stretto``: one of Stretto's.
    `simulated`: no machine has run this.
    `file`: the results file that it comes from: launches of two files are no pairs.
    `beside_us`, `common`: what it would have taken in the launches of its MPI's default, by the
    ratio over the launches or rounds that both have, and how many these are. Without a default: its
    own.
    """

    mpi: str
    candidate: str
    label: str
    kind: Kind
    mode: str
    timing: Timing
    simulated: bool
    file: str
    beside_us: float = 0.0
    common: int = 0

    @property
    def time(self) -> Interval:
        """Microseconds a call: median over launches, with its 95% interval."""
        return self.timing.interval

    @property
    def few(self) -> bool:
        """Whether it has too few launches beside the default for a test."""
        return self.common < FEWEST


@dataclass(frozen=True)
class Gap:
    """How far an MPI's default is from something faster.

    `best`: the `fastest`; the default itself where nothing was.
    `ratio`: the default's time / that of `best`: of one file the median over launches or rounds
    that both have, of two over all pairs of launches.
    `verdict`: whether the default is significantly ``slower``; `NONE_OF_ITS_OWN` where there was
    nothing to compare it with.
    """

    best: RankingEntry
    ratio: float
    verdict: Verdict

    @property
    def known(self) -> bool:
        return self.verdict.why != NONE_OF_ITS_OWN


@dataclass(frozen=True)
class Distance:
    """An MPI's default, from its own best algorithm, and from the best of all."""

    mpi: str
    default: RankingEntry
    own: Gap
    every: Gap


@dataclass(frozen=True)
class Ranking:
    """One place: all entries, the fastest first, and how far each MPI's default is."""

    place: RankedCall
    mode: str
    entries: tuple[RankingEntry, ...]
    distances: tuple[Distance, ...]
    #: MPIs that were measured there in another mode only
    missing: tuple[str, ...] = ()

    @property
    def simulated(self) -> bool:
        return any(e.simulated for e in self.entries)


def _kind(candidate: str) -> Kind:
    if candidate in (BARE, NATIVE):
        return "default"
    return "own" if candidate.startswith(PREFIX) else "stretto"


def _several_types(files: Iterable[Source]) -> set[str]:
    found: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for source in files:
        where = {r.launch: (r.nodes, r.ppn, r.nranks) for r in source.bench.launches}
        for s in source.bench.samples:
            call = (source.mpi, *where[s.launch], s.collective, s.bytes, s.root)
            found[call].add(s.datatype or "")
    return {str(call[4]) for call, types in found.items() if len(types) > 1}


def _entries(
    source: Source, labels: Mapping[str, str], typed: Collection[str]
) -> dict[RankedCall, list[RankingEntry]]:
    """Return all entries of a file, layout by layout: launches of several are not mixed."""
    out: dict[RankedCall, list[RankingEntry]] = defaultdict(list)
    layouts: dict[tuple[int, int, int], set[int]] = defaultdict(set)
    for r in source.bench.launches:
        layouts[r.nodes, r.ppn, r.nranks].add(r.launch)
    simulated = {
        (s.collective, s.candidate) for s in source.bench.samples if s.source == "simulated"
    }
    for (nodes, ppn, nranks), launches in layouts.items():
        records = [r for r in source.bench.records if getattr(r, "launch", None) in launches]
        for cell, timed in timings(replace(source.bench, records=records)).items():
            reduction = cell.collective in REDUCTIONS
            shape = f"{cell.datatype} {cell.operation}".strip() if reduction else ""
            if cell.collective in typed and not reduction:
                shape = cell.datatype or ""
            if cell.pattern:
                shape = f"{shape} {cell.pattern}".strip()
            place = RankedCall(cell.collective, nodes, ppn, nranks, shape, cell.root, cell.bytes)
            out[place] += [
                _entry(source, cell, t, labels, (cell.collective, name) in simulated, nodes)
                for name, t in timed.items()
            ]
    return out


def _entry(
    source: Source, cell: Cell, timing: Timing, labels: Mapping[str, str], sim: bool, nodes: int
) -> RankingEntry:
    name = timing.candidate
    words = {BARE: "default", NATIVE: "default, through Stretto", FILES: "an export's files"}
    label = words.get(name) or labelled(name, source.bench.header.mpi, nodes, labels)
    own = _kind(name), cell.mode, timing, sim, str(source.path)
    return RankingEntry(source.mpi, name, label, *own)


def labelled(
    candidate: str, mpi: MPIIdentity, nodes: int, labels: Mapping[str, str] | None = None
) -> str:
    """Return a candidate in short: ``tuned ring``; of Stretto's and the MPI by itself, its name."""
    # from its version 5 on, HAN stands above coll/tuned wherever there are several nodes
    han = mpi.family == "openmpi" and nodes > 1 and not re.match(r"[0-4](\.|$)", mpi.version)
    # its own settings first: what is on PATH must not change what a figure calls it
    own = shown_label(candidate, han) if candidate.startswith(PREFIX) else None
    return own or (labels or {}).get(candidate) or _short(candidate)


def _short(candidate: str) -> str:
    """Return settings without those that only let the others count, where nobody knows a name."""
    parts = [f"{n}={v}" for n, v in pairs_of(candidate.removeprefix(PREFIX))]
    telling = [p for p in parts if not _ENABLING.search(p)]
    return ",".join(telling or parts) if candidate.startswith(PREFIX) else candidate


def rank(
    files: Sequence[Source],
    labels: Mapping[str, Mapping[str, str]],
    natives_only: bool = False,
    mode: str | None = None,
) -> list[Ranking]:
    """Rank everything, place by place.

    `mode`: ``latency`` or ``throughput``; None: the one that decides (`deciding_mode`), of those
    that most MPIs have.
    """
    places: dict[RankedCall, list[RankingEntry]] = defaultdict(list)
    typed = _several_types(files)
    for source in files:
        for place, entries in _entries(source, labels.get(source.mpi, {}), typed).items():
            places[place] += [e for e in entries if not natives_only or e.kind != "stretto"]
    drafts = []
    for place, entries in sorted(places.items()):
        chosen = mode or _mode(entries)
        kept = sorted((e for e in entries if e.mode == chosen), key=_by_time)
        if kept:
            missing = sorted({e.mpi for e in entries} - {e.mpi for e in kept})
            drafts.append(Ranking(place, chosen, _beside_defaults(kept), (), tuple(missing)))
    return _with_distances(drafts)


def _by_time(entry: RankingEntry) -> tuple[float, str, str]:
    return entry.time.median, entry.mpi, entry.candidate


def _mode(entries: Iterable[RankingEntry]) -> str:
    """Return the mode that the most MPIs share; of several, the one that decides."""
    mpis: dict[str, set[str]] = defaultdict(set)
    defaults: dict[str, float] = {}
    for e in entries:
        mpis[e.mode].add(e.mpi)
        if e.kind == "default":
            defaults[e.mode] = min(e.time.median, defaults.get(e.mode, e.time.median))
    most = max(len(found) for found in mpis.values())
    shared = {m: defaults.get(m, 0.0) for m, found in mpis.items() if len(found) == most}
    return deciding_mode(shared)


def default_of(entries: Iterable[RankingEntry], mpi: str) -> RankingEntry | None:
    """Return an MPI's default: bare where it was measured, else native; None without either."""
    found = {e.candidate: e for e in entries if e.mpi == mpi}
    return found.get(BARE) or found.get(NATIVE)


def fastest(entries: Iterable[RankingEntry]) -> RankingEntry:
    """Return the fastest of those with launches enough for a test; of all where there is none such.

    Times are those beside the MPIs' defaults: a candidate that was dropped after one launch has
    that launch's effect, and the least of many such times is no speed.

    `entries`: at least one.
    """
    return min(entries, key=lambda e: (e.few, e.beside_us, e.kind != "default", *_by_time(e)))


def _beside_defaults(entries: Sequence[RankingEntry]) -> tuple[RankingEntry, ...]:
    defaults = {mpi: default_of(entries, mpi) for mpi in {e.mpi for e in entries}}
    out = []
    for e in entries:
        us, common, default = e.time.median, e.time.n, defaults[e.mpi]
        if default is not None and default is not e:
            ratio, _ = _compared(default, e, test=False)
            us, common = default.time.median / ratio.median, ratio.n
        out.append(replace(e, beside_us=us, common=common))
    return tuple(out)


def _with_distances(drafts: Sequence[Ranking]) -> list[Ranking]:
    """Add the distances; all tests of all places form one family."""
    pairs: list[tuple[int, RankingEntry, list[RankingEntry]]] = []
    for i, ranking in enumerate(drafts):
        for mpi in dict.fromkeys(e.mpi for e in ranking.entries):
            default = default_of(ranking.entries, mpi)
            if default is None:
                continue
            # what a model says is no rival of what was measured
            peers = [e for e in ranking.entries if e.simulated == default.simulated]
            own = [e for e in peers if e.mpi == mpi and e.kind == "own"]
            rivals = [e for e in peers if e.kind != "default"]
            rivals += [d for m in {e.mpi for e in peers} if (d := default_of(peers, m))]
            pairs += [(i, default, [default, *own]), (i, default, rivals)]
    bests = [fastest(rivals) for _, _, rivals in pairs]
    tested = [_compared(default, best) for (_, default, _), best in zip(pairs, bests, strict=True)]
    adjusted = benjamini_hochberg([p for _, p in tested])
    gaps = [
        _gap(default, best, rivals, ratio, p, q)
        for (_, default, rivals), best, (ratio, p), q in zip(
            pairs, bests, tested, adjusted, strict=True
        )
    ]
    distances: dict[int, list[Distance]] = defaultdict(list)
    for (i, default, own), gap, every in zip(pairs[::2], gaps[::2], gaps[1::2], strict=True):
        if own == [default]:  # being the best of nothing is no finding
            gap = Gap(default, 1.0, inconclusive(NONE_OF_ITS_OWN))
        distances[i].append(Distance(default.mpi, default, gap, every))
    return [
        replace(r, distances=tuple(sorted(distances[i], key=lambda d: _by_time(d.default))))
        for i, r in enumerate(drafts)
    ]


def _compared(
    default: RankingEntry, best: RankingEntry, test: bool = True
) -> tuple[Interval, float | None]:
    """Return the default's time / the best's, and p; None also where they are the same."""
    if default is best:
        return Interval(1.0, 1.0, 1.0, default.time.n), None
    one, two = default.timing, best.timing
    if default.file == best.file:
        ratio, _, p, _ = compare_times(*put_beside(one, two), one.kinds, test)
        return ratio, p
    # Launches of two files with equal numbers are no pairs.
    other = {i + (1 << 40): t for i, t in two.by_launch}
    ratio, _, p, _ = compare_times(dict(one.by_launch), other, test=test)
    return ratio, p


def _gap(
    default: RankingEntry,
    best: RankingEntry,
    rivals: Sequence[RankingEntry],
    ratio: Interval,
    p: float | None,
    q: float | None,
) -> Gap:
    if default is not best:
        busy_in = len(default.timing.busy) + len(best.timing.busy)
        busy = busy_words(default.time.n + best.time.n, busy_in)
        return Gap(best, ratio.median, judge(ratio, q, ratio.n, p=p, busy=busy))
    others = [e for e in rivals if e is not default]
    faster = any(e.beside_us < default.beside_us for e in others)
    if default.few or (faster and all(e.few for e in others)):
        most = max((e.common for e in others), default=default.common)
        return Gap(best, 1.0, judge(ratio, None, most))
    if faster:
        why = f"nothing with at least {FEWEST} common launches was faster"
        return Gap(best, 1.0, Verdict("same", why))
    return Gap(best, 1.0, Verdict("same", NOTHING_FASTER))
