"""Times by candidate and round, with the luck of launches taken out of them.

All that is measured in one launch is disturbed alike, far more than one candidate against another
(docs/decisions/0019-side-by-side.md). `medians` puts native, bare and what shares their launches
side by side in each round; `levelled` puts the rounds side by side, for a fit over sizes and
layouts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median

import numpy as np

from stretto.campaign.compare import BARE, NATIVE, deciding_mode
from stretto.files.bench import Bench, standing_exclusions

#: one call shape at one size
Shape = tuple[str, int, str, str, int]
#: times in us by shape, candidate and round
Medians = Mapping[Shape, Mapping[str, Mapping[int, float]]]


class Seen(dict[Shape, dict[str, dict[int, float]]]):
    """Times by shape, candidate and round.

    Attributes
    ----------
    together
        By shape: candidates measured in the launches of native or bare, each round with the same
        luck. Of others, and where the times were made elsewhere, nothing is known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.together: dict[Shape, set[str]] = {}


def medians(bench: Bench, nvariants: int) -> Medians:
    """Return shape -> candidate -> round -> median time in us, of the mode that decides there.

    Parameters
    ----------
    bench
        All that was measured on a layout.
    nvariants
        Launches of a round. Where native and bare were measured in different ones, the times of
        those that share bare's are put beside native: multiplied by what native took there over
        what bare did, which is the same call. Launches differ by more than their candidates do.
    """
    found: dict[Shape, dict[str, dict[str, dict[int, float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    gone = standing_exclusions(bench.records)
    launches: dict[tuple[Shape, str, int], dict[str, tuple[int, float]]] = defaultdict(dict)
    apart: dict[Shape, set[str]] = defaultdict(set)
    for s in bench.samples:
        if s.correct and s.times_us and (s.collective, s.candidate) not in gone:
            shape = (s.collective, s.bytes, s.datatype or "", s.operation or "", s.root or 0)
            at = shape, s.mode, s.launch // nvariants
            launches[at][s.candidate] = s.launch, median(s.times_us)
    for (shape, mode, turn), seen in launches.items():
        native, bare = seen.get(NATIVE), seen.get(BARE)
        scale = native[1] / bare[1] if native and bare and bare[1] > 0 else 1.0
        for name, (launch, us) in seen.items():
            bares = bare is not None and launch == bare[0]
            natives = native is not None and launch == native[0]
            found[shape][mode][name][turn] = us if natives or not bares else us * scale
            if not natives and not bares:
                apart[shape].add(name)
    out = Seen()
    for shape, modes in found.items():
        base: dict[str, float] = {}
        for mode, candidates in modes.items():
            for name in (NATIVE, BARE):
                if candidates.get(name):  # of the first round: later ones must not change the past
                    base[mode] = candidates[name][min(candidates[name])]
                    break
        if base:
            out[shape] = {c: dict(t) for c, t in modes[deciding_mode(base)].items()}
        else:
            out[shape] = {c: dict(t) for c, t in next(iter(modes.values())).items()}
        out.together[shape] = set(out[shape]) - apart[shape]
    return out


def levelled(
    times: Medians,
    shape: Shape,
    done: int | None = None,
) -> dict[str, dict[int, float]]:
    """Return a shape's times by candidate and round as if all rounds had had the same luck.

    Parameters
    ----------
    times
        From `medians`.
    shape
        Which one.
    done
        Only the rounds before this one; by default all.
    """
    here = {
        name: {r: t for r, t in sorted(seen.items()) if done is None or r < done}
        for name, seen in times.get(shape, {}).items()
    }
    together = times.together.get(shape, set()) if isinstance(times, Seen) else set()
    base = {**here.get(BARE, {}), **here.get(NATIVE, {})}
    base = {r: t for r, t in base.items() if t > 0}
    if not together or len(base) < 2:
        return here
    level = float(np.exp(np.median(np.log(list(base.values())))))
    return {
        name: {r: t * level / base[r] if r in base else t for r, t in seen.items()}
        if name in together
        else seen
        for name, seen in here.items()
    }
