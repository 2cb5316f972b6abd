"""Times by candidate and round, without the effects of launches.

All that is measured in one launch is disturbed alike, far more than one candidate against another
(docs/decisions/0019-side-by-side.md). `medians` puts native, bare and what shares their launches
side by side in each round; `levelled` (in levelled.py) puts the rounds side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from stretto.files.bench import Bench, standing_exclusions
from stretto.measure.compare import BARE, NATIVE, deciding_mode
from stretto.measure.reference import Timed, exponent, leaves_messages

#: one call shape at one size
Shape = tuple[str, int, str, str, int]
#: times in us by shape, candidate and round
Medians = Mapping[Shape, Mapping[str, Mapping[int, float]]]
#: the same of some shapes
Levels = dict[Shape, dict[str, dict[int, float]]]


class Seen(dict[Shape, dict[str, dict[int, float]]]):
    """Times by shape, candidate and round.

    `together`: by shape and candidate: rounds in which its time shares the launch of native's or
    bare's, being of their launch, or put beside them by the reference. Of others, and where the
    times were made elsewhere, nothing is known.
    `raw`: by shape, candidate and round: the launch and the time in us as it was measured there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.together: dict[Shape, dict[str, set[int]]] = {}
        self.raw: dict[Shape, dict[str, dict[int, tuple[int, float]]]] = {}
        #: what `levelled` has worked out: chains by their shapes' common part
        self.levels: dict[tuple[str, str, int], Levels | None] = {}


def medians(bench: Bench, nvariants: int) -> Medians:
    """Return shape -> candidate -> round -> median time in us, of the mode that decides there.

    `nvariants`: launches of a round. Where native and bare were measured in different ones, the
    times of those that share bare's are put beside native: multiplied by what native took there
    over what bare did, which is the same call. Times of launches with neither are multiplied by
    what the reference took in native's (or bare's) over what it took in theirs (by a power of that:
    `exponent`, of the rounds so far). Launches differ by more than their candidates do.
    """
    found: dict[Shape, dict[str, dict[str, dict[int, float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    gone = standing_exclusions(bench.records)
    launches: dict[tuple[Shape, str, int], dict[str, _Time]] = defaultdict(dict)
    beside: dict[tuple[Shape, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    raw: dict[tuple[Shape, str], dict[str, dict[int, tuple[int, float]]]]
    raw = defaultdict(lambda: defaultdict(dict))
    for s in bench.samples:
        own_gone = s.candidate in (NATIVE, BARE) and (s.collective, s.candidate) in gone
        if s.correct and s.times_us and not own_gone:
            shape = (s.collective, s.bytes, s.datatype or "", s.operation or "", s.root or 0)
            at = shape, s.mode, s.launch // nvariants
            reference = s.reference_us if leaves_messages(s.candidate) else None
            launches[at][s.candidate] = _Time(s.launch, median(s.times_us), reference)
    timed: dict[tuple[Shape, str], dict[str, list[Timed]]] = defaultdict(lambda: defaultdict(list))
    for (shape, mode, turn), seen in sorted(launches.items(), key=lambda x: x[0][2]):
        native, bare = seen.get(NATIVE), seen.get(BARE)
        before = timed[shape, mode]
        for name, time in seen.items():
            if time.reference is not None and time.us > 0:
                before[name].append(Timed(time.us, time.reference))
        own = NATIVE if native else BARE
        for name, time in seen.items():
            # by the two alone: another candidate's exclusion must not change this one's past
            scale = _scale(time, native, bare, (before[own], before[name]))
            found[shape][mode][name][turn] = time.us * (scale or 1.0)
            raw[shape, mode][name][turn] = time.launch, time.us
            if scale is not None:
                beside[shape, mode][name].add(turn)
    out = Seen()
    for shape, modes in found.items():
        base: dict[str, float] = {}
        for mode, candidates in modes.items():
            for name in (NATIVE, BARE):
                if candidates.get(name):  # of the first round: later ones must not change the past
                    base[mode] = candidates[name][min(candidates[name])]
                    break
        left = [m for m, seen in modes.items() if any((shape[0], c) not in gone for c in seen)]
        if not left:
            continue
        mode = deciding_mode(base) if base else left[0]
        out[shape] = {c: dict(t) for c, t in modes[mode].items() if (shape[0], c) not in gone}
        out.together[shape] = dict(beside[shape, mode])
        out.raw[shape] = dict(raw[shape, mode])
    return out


@dataclass(frozen=True)
class _Time:
    """A candidate's median time in a launch, and the reference's there, in us."""

    launch: int
    us: float
    reference: float | None


def _scale(
    time: _Time, native: _Time | None, bare: _Time | None, pair: Sequence[Sequence[Timed]]
) -> float | None:
    """Return by what a time of a round is put beside native's, or bare's; None: it cannot be."""
    if native is not None and time.launch == native.launch:
        return 1.0
    if bare is not None and time.launch == bare.launch:
        return native.us / bare.us if native is not None and bare.us > 0 else 1.0
    base = native or bare
    if base is None or base.reference is None or time.reference is None:
        return None
    return float((base.reference / time.reference) ** exponent(pair))


def until(bench: Bench, launches: int) -> Bench:
    kept = [r for r in bench.records if getattr(r, "launch", -1) < launches]
    return bench if len(kept) == len(bench.records) else Bench(bench.header, kept)
