"""From the measurements of all layouts to one table: smooth, short, and honest about its losses.

Per collective, layout and size a candidate may be chosen that is significantly faster than what the
MPI does by itself, or that the fit over all sizes and layouts finds faster beyond its uncertainty
while launches here do not speak against it, and that is not more than 2% slower than the fastest of
those. Among these choices a shortest path takes few rows (`tune.decide.choose`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from stretto.campaign.kriged import Estimate
from stretto.campaign.layout import Layout
from stretto.campaign.pooled import estimate
from stretto.campaign.regret import regrets_of
from stretto.campaign.times import Shape, medians
from stretto.files.bench import Bench
from stretto.files.rows import Row
from stretto.files.table import WITHOUT_SIZE
from stretto.measure.baseline import fair
from stretto.measure.compare import BARE, NATIVE, Comparison, decisive, timings
from stretto.measure.verdict import THRESHOLD
from stretto.tune.decide import TIED, calls_of, choose, complete, decide, one_choice, ties

#: a gain by the fit counts as one from so many of its standard deviations on
SURE = 3.0

Chosen = dict[str, dict[int, str]]  # collective -> size -> choice
#: what all layouts together say of the candidates' times at the shapes of one
Fitted = Mapping[Shape, Mapping[str, Estimate]]


@dataclass(frozen=True)
class Decided:
    """One layout's choices.

    `ratios`: by collective, size and candidate: time / native's, of what is significantly faster.
    `regrets`: from `regrets_of`: by collective and size.
    """

    layout: Layout
    rows: list[Row]
    chosen: Chosen
    ratios: dict[str, dict[int, dict[str, float]]]
    regrets: dict[str, dict[int, float]] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)


def decide_layout(bench: Bench, layout: Layout, nvariants: int, fitted: Fitted) -> Decided:
    times = timings(bench)
    comparisons = decisive(fair(times), times)
    slowest = _slowest(fitted)
    whole = complete(comparisons, calls_of(times))
    more = faster_by_fit(
        [c for sizes in whole.values() for of in sizes.values() for c in of], slowest
    )
    found: dict[str, dict[int, list[Comparison]]] = defaultdict(lambda: defaultdict(list))
    for c in comparisons:
        found[c.cell.collective][c.cell.bytes].append(c)
    chosen: Chosen = {}
    ratios: dict[str, dict[int, dict[str, float]]] = {}

    def chosen_of(collective: str, options: Mapping[int, Mapping[str, float]]) -> dict[int, str]:
        ratios[collective] = {size: dict(found) for size, found in options.items()}
        seen = {s: {**more.get((collective, s), {}), **known} for s, known in options.items()}
        equal = ties(found[collective], seen)
        weighed, tied = {}, {}
        for size, mine in seen.items():
            here = slowest.get((collective, size), {})
            weighed[size], tied[size] = _judged(mine, equal[size], here)
        chosen[collective] = one_choice(collective, choose(weighed, tied), options)
        return chosen[collective]

    rows = decide(
        comparisons, layout.nodes, layout.ppn, chooser=chosen_of,
        usable=lambda c: c not in (NATIVE, BARE), calls=calls_of(times),
    )  # fmt: skip
    regrets = regrets_of(bench, nvariants, chosen)
    return Decided(layout, rows, chosen, ratios, regrets, list(comparisons))


def _slowest(fitted: Fitted) -> dict[tuple[str, int], dict[str, Estimate]]:
    out: dict[tuple[str, int], dict[str, Estimate]] = defaultdict(dict)
    for shape, found in fitted.items():
        here = out[shape[:2]]
        for name, e in found.items():
            if name not in here or here[name].mean < e.mean:
                here[name] = e
    return out


def faster_by_fit(
    comparisons: Sequence[Comparison], fitted: Mapping[tuple[str, int], Mapping[str, Estimate]]
) -> dict[tuple[str, int], dict[str, float]]:
    """Return time / native's of what the fit finds faster where no test does, by its doubt.

    At restless points launches of one candidate differ by 30 to 45%, and a test would need hundreds
    of them. A candidate needs a test there, in each of its shapes, that does not find it slower,
    and half of the launches on its side.
    """
    found: dict[tuple[str, int, str], list[Comparison]] = defaultdict(list)
    for c in comparisons:
        if c.candidate not in (NATIVE, BARE) and c.cell.collective not in WITHOUT_SIZE:
            found[c.cell.collective, c.cell.bytes, c.candidate].append(c)
    out: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for (collective, size, name), shapes in found.items():
        here = fitted.get((collective, size), {})
        own = here.get(NATIVE) or here.get(BARE)
        against = any(
            c.outcome == "slower" or c.slower_elsewhere or c.q is None or median(c.ratios) > 1
            for c in shapes
        )
        if against or own is None or name not in here:
            continue
        gain = own.mean - here[name].mean
        doubt = math.hypot(own.sd, here[name].sd)
        if gain > max(-math.log(1 - THRESHOLD), SURE * doubt):
            out[collective, size][name] = math.exp(-gain)
    return out


def _judged(
    ratios: Mapping[str, float], equal: Collection[str], fitted: Mapping[str, Estimate]
) -> tuple[dict[str, float], set[str]]:
    """Return what counts as each candidate's ratio to native, and who is tied with the fastest.

    The fit says who of those that no test tells from the fastest is the fastest, and by how much.
    """
    if len(ratios) < 2 or not all(n in fitted for n in ratios):
        return dict(ratios), set(equal)
    best = min(equal, key=lambda n: (fitted[n].mean, n))
    out, tied = {}, set()
    for name in ratios:
        lag = fitted[name].mean - fitted[best].mean
        out[name] = min(ratios[best] * math.exp(lag), 1.0)
        if name not in equal:
            out[name] = max(out[name], ratios[name], ratios[best])
        elif lag + math.hypot(fitted[name].sd, fitted[best].sd) <= math.log1p(TIED):
            tied.add(name)
    return out, tied


def decide_all(
    benches: Mapping[Layout, Bench], nvariants: Mapping[Layout, int]
) -> dict[Layout, Decided]:
    times = {x: medians(b, nvariants[x]) for x, b in benches.items()}
    fitted = estimate(times, times)
    return {x: decide_layout(benches[x], x, nvariants[x], fitted[x]) for x in sorted(benches)}
