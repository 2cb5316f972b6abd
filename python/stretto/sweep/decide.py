"""From the measurements of all layouts to one table: smooth, short, and honest about its losses.

Per collective, layout and size a candidate may be chosen that is significantly faster than what the
MPI does by itself (or proven all around, with launches here that bear it out: `borne_out`), and not
more than 2% slower than the fastest of those. Among these choices a shortest path takes the fewest
rows, the simplest choice, and what the layout before it has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from stretto.campaign.baseline import beside_another, fair
from stretto.campaign.compare import (
    BARE,
    NATIVE,
    Cell,
    Comparison,
    Timing,
    compare_times,
    decisive,
    timings,
)
from stretto.campaign.verdict import ALPHA
from stretto.files.bench import Bench
from stretto.files.rows import Row
from stretto.mpi.algorithms.base import PREFIX
from stretto.sweep.borne_out import Expected, Gains, borne_out, expected, gains_of
from stretto.sweep.kriged import Estimate, Point
from stretto.sweep.layout import Layout
from stretto.sweep.levelled import levelled
from stretto.sweep.pooled import estimates
from stretto.sweep.regret import regrets_of
from stretto.sweep.times import Medians, Shape, medians
from stretto.tune.complete import calls_of
from stretto.tune.decide import LOSS, TIED, decide, one_choice

#: what the shortest path pays: for a change of choice, for a choice other than the layout's before
#: it, for each step of complexity; the loss itself is at most LOSS
CHANGE, STRANGER, COMPLEX = 1.0, 0.05, 0.01

Chosen = dict[str, dict[int, str]]  # collective -> size -> choice
Fitted = Mapping[str, Mapping[int, Mapping[str, Estimate]]]  # collective -> size -> candidate
Times = Mapping[Cell, Mapping[str, Timing]]
#: of each layout, how many records were compared, and what came of it
Compared = dict[Layout, tuple[int, Times, list[Comparison]]]


def complexity(choice: str) -> int:
    """Return how much a choice has to explain: the MPI's own least, compositions most.

    Parameters
    ----------
    choice
        ``native``, ``ring``, ``shm+bruck_k(8)``, ``native:NAME=VALUE``.
    """
    if choice == NATIVE:
        return 0
    if choice.startswith(PREFIX):
        return 1 + choice.count("=")
    return 1 + choice.count("+") + choice.count("(") + choice.count(",")


def smooth(
    options: Mapping[int, Mapping[str, float]],
    before: Mapping[int, str] | None = None,
    tied: Mapping[int, Collection[str]] | None = None,
) -> dict[int, str]:
    """Return the choice at each size, see the module's head.

    Parameters
    ----------
    options
        Size to the choices that are significantly faster there, with their ratio to native.
    before
        Choices of the nearest layout that was decided already.
    tied
        Size to those that no test tells from the fastest.
    """
    before = before or {}
    costs: list[dict[str, tuple[float, str | None]]] = []
    sizes = sorted(options)
    for i, size in enumerate(sizes):
        best = min(options[size].values(), default=1.0)
        ties = (tied or {}).get(size, ())
        allowed = {
            n: r
            for n, r in options[size].items()
            if r <= best * (1 + LOSS) or (n in ties and r <= best * (1 + TIED))
        }
        if best * (1 + LOSS) >= 1.0:
            allowed[NATIVE] = 1.0
        here: dict[str, tuple[float, str | None]] = {}
        for name, ratio in sorted(allowed.items()):
            own = math.log(ratio / min(best, 1.0)) + COMPLEX * complexity(name)
            own += STRANGER * (size in before and before[size] != name)
            if i == 0:
                here[name] = (own, None)
                continue
            last = costs[-1]
            came = min(last, key=lambda b: (last[b][0] + CHANGE * (b != name), b != name, b))
            here[name] = (last[came][0] + CHANGE * (came != name) + own, came)
        costs.append(here)
    out: dict[int, str] = {}
    name_at: str | None = None
    for i in range(len(sizes) - 1, -1, -1):
        if name_at is None:
            name_at = min(costs[i], key=lambda n: (costs[i][n][0], n))
        out[sizes[i]] = name_at
        name_at = costs[i][name_at][1]
    return dict(sorted(out.items()))


@dataclass(frozen=True)
class Decided:
    """One layout's choices.

    Attributes
    ----------
    ratios
        By collective, size and candidate: time / native's, of what is significantly faster.
    borne
        As ``ratios``, of what is proven at neighbours and borne out by the launches here.
    expected
        By collective, size and candidate: the gain that neighbours lead one to expect.
    gains
        What was measured, by collective, size and candidate.
    regrets
        From `regrets_of`: by collective and size.
    """

    layout: Layout
    rows: list[Row]
    chosen: Chosen
    ratios: dict[str, dict[int, dict[str, float]]]
    regrets: dict[str, dict[int, float]] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    borne: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    expected: dict[str, dict[int, dict[str, Expected]]] = field(default_factory=dict)
    gains: Gains = field(default_factory=dict)


def compare_layout(
    bench: Bench, layout: Layout, compared: Compared | None = None
) -> tuple[Times, list[Comparison]]:
    """Return the times on a layout, and every candidate's comparison with the MPI.

    Parameters
    ----------
    bench, layout, compared
        As for `decide_layout`.
    """
    known = compared.get(layout) if compared is not None else None
    if known is not None and known[0] == len(bench.records):
        return known[1:]
    times = timings(bench)
    comparisons = decisive(fair(times), times)
    if compared is not None:
        compared[layout] = len(bench.records), times, comparisons
    return times, comparisons


def decide_layout(
    bench: Bench,
    layout: Layout,
    nvariants: int,
    before: Decided | None = None,
    fitted: Fitted | None = None,
    compared: Compared | None = None,
    gains: Mapping[Layout, Gains] | None = None,
) -> Decided:
    """Decide on one layout.

    Parameters
    ----------
    bench
        All that was measured on it.
    layout
        It.
    nvariants
        Launches of a round.
    before
        The nearest layout that was decided already.
    fitted
        By collective and size, what all layouts together say of the candidates' times here.
    compared
        What earlier calls have worked out; it changes the time that this takes, and nothing else.
    gains
        Of all layouts, this one among them; by default it stands alone.
    """
    times, comparisons = compare_layout(bench, layout, compared)
    if gains is None:
        gains = {layout: gains_of(comparisons, calls_of(times))}
    around = expected(layout, gains)
    borne = borne_out(gains[layout], around)
    chosen: Chosen = {}
    ratios: dict[str, dict[int, dict[str, float]]] = {}

    def choose(collective: str, options: Mapping[int, Mapping[str, float]]) -> dict[int, str]:
        ratios[collective] = {size: dict(found) for size, found in options.items()}
        here = (fitted or {}).get(collective, {})
        told, tied = {}, {}
        for size, proven in options.items():
            more = borne.get(collective, {}).get(size, {})
            seen = {**_unbeaten(times, collective, size, more, proven), **proven}
            told[size], tied[size] = _judged(times, collective, size, seen, here.get(size, {}))
        found = smooth(told, before.chosen.get(collective) if before is not None else None, tied)
        chosen[collective] = one_choice(collective, found, options)
        return chosen[collective]

    rows = decide(
        comparisons,
        layout.nodes,
        layout.ppn,
        choose=choose,
        usable=lambda c: c not in (NATIVE, BARE),
        calls=calls_of(times),
    )
    return Decided(
        layout,
        rows,
        chosen,
        ratios,
        regrets_of(bench, nvariants, chosen),
        list(comparisons),
        borne,
        around,
        gains[layout],
    )


def _judged(
    times: Mapping[Cell, Mapping[str, Timing]],
    collective: str,
    size: int,
    ratios: Mapping[str, float],
    fitted: Mapping[str, Estimate],
) -> tuple[dict[str, float], set[str]]:
    """Return what counts as each candidate's ratio to native, and who is tied with the fastest.

    Where a fit knows all of them, it says who is fastest and by how much, except of those that the
    rank test finds slower than its choice: they keep what was measured, if that is more.
    """
    if len(ratios) < 2 or not all(n in fitted for n in ratios):
        best = min(ratios, key=lambda n: (ratios[n], n), default="")
        return dict(ratios), _tied(times, collective, size, ratios, best)
    order = sorted(ratios, key=lambda n: (fitted[n].mean, n))
    # A candidate that the test finds slower than another one is not the fastest, fit or not.
    best = next((n for n in order if not _beaten(times, collective, size, ratios, n)), order[0])
    tied = _tied(times, collective, size, ratios, best)
    out = {}
    for name in ratios:
        lag = fitted[name].mean - fitted[best].mean
        out[name] = min(ratios[best] * math.exp(lag), 1.0)
        if name not in tied:
            out[name] = max(out[name], ratios[name], ratios[best])
        elif lag + math.hypot(fitted[name].sd, fitted[best].sd) > math.log1p(TIED):
            tied.discard(name)
    return out, tied


def _unbeaten(
    times: Times,
    collective: str,
    size: int,
    borne: Mapping[str, float],
    proven: Collection[str],
) -> dict[str, float]:
    """Return those of the borne out candidates that no test finds slower than a proven one."""
    out = dict(borne)
    for cell, found in times.items():
        if (cell.collective, cell.bytes) != (collective, size):
            continue
        for name in [n for n in out if n in found]:
            for other in [p for p in proven if p in found and p != name]:
                ratio, p = _against(found, name, other)
                if p is not None and p < ALPHA and ratio > 1:
                    out.pop(name, None)
    return out


def _beaten(
    times: Mapping[Cell, Mapping[str, Timing]],
    collective: str,
    size: int,
    ratios: Mapping[str, float],
    name: str,
) -> bool:
    """Return whether a test finds a candidate slower than the one with the least ratio."""
    least = min(ratios, key=lambda n: (ratios[n], n))
    for cell, found in times.items():
        here = (cell.collective, cell.bytes) == (collective, size) and least in found
        if here and name != least and name in found:
            p = _told_apart(found, name, least)
            if p is not None and p < ALPHA:
                return True
    return False


def _tied(
    times: Mapping[Cell, Mapping[str, Timing]],
    collective: str,
    size: int,
    ratios: Mapping[str, float],
    best: str,
) -> set[str]:
    """Return the candidates that no rank test tells from the best, in any mode or shape."""
    if len(ratios) < 2:
        return set(ratios)
    out = set(ratios)
    for cell, found in times.items():
        if (cell.collective, cell.bytes) != (collective, size) or best not in found:
            continue
        for name in [n for n in out if n != best and n in found]:
            p = _told_apart(found, name, best)
            if p is None or p < ALPHA:
                out.discard(name)
    return out


def _told_apart(found: Mapping[str, Timing], name: str, other: str) -> float | None:
    """Return the p of a test of two candidates; None where none can be made."""
    return _against(found, name, other)[1]


def _against(found: Mapping[str, Timing], name: str, other: str) -> tuple[float, float | None]:
    """Return a candidate's time / another's, and the p of `_told_apart`."""
    ratio, _, p, _ = compare_times(*beside_another(found, name, other), found[name].kinds)
    return ratio.median, p


def decide_all(
    benches: Mapping[Layout, Bench],
    nvariants: Mapping[Layout, int],
    fitted: Mapping[Layout, Fitted] | None = None,
    compared: Compared | None = None,
) -> dict[Layout, Decided]:
    """Decide on all layouts, each with its neighbours and the nearest one before it in mind.

    Parameters
    ----------
    benches
        What was measured on each.
    nvariants
        Launches of a round on each.
    fitted
        From `fit_all`; by default it is made here.
    compared
        As for `decide_layout`.
    """
    if fitted is None:
        fitted = fit_all({x: medians(b, nvariants[x]) for x, b in benches.items()})
    compared = {} if compared is None else compared
    gains = {}
    for layout, bench in benches.items():
        times, comparisons = compare_layout(bench, layout, compared)
        gains[layout] = gains_of(comparisons, calls_of(times))
    out: dict[Layout, Decided] = {}
    for layout in sorted(benches):
        near = min(out, key=lambda x: (x.distance(layout), x), default=None)
        out[layout] = decide_layout(
            benches[layout],
            layout,
            nvariants[layout],
            out[near] if near is not None else None,
            fitted[layout],
            compared,
            gains,
        )
    return out


def fit_all(
    times: Mapping[Layout, Medians], wanted: Mapping[Layout, Iterable[Shape]] | None = None
) -> Mapping[Layout, Fitted]:
    """Return what all sizes and layouts together say of each point.

    Where roots or datatypes differ at one size, the slowest counts.

    Parameters
    ----------
    times
        What was measured on each layout.
    wanted
        On each layout, the shapes at which all candidates are estimated; by default each is where
        it was measured.
    """
    out: dict[Layout, dict[str, dict[int, dict[str, Estimate]]]]
    out = {x: defaultdict(lambda: defaultdict(dict)) for x in times}
    seen: dict[tuple[str, str, int], dict[str, dict[Point, tuple[float, ...]]]]
    seen = defaultdict(lambda: defaultdict(dict))
    for layout, shapes in times.items():
        for shape in shapes:
            collective, size, _, operation, root = shape
            at = Point(layout.nodes, layout.ppn, size)
            for name, launches in levelled(shapes, shape).items():
                mine = seen[collective, operation, root][name]
                mine[at] = (*mine.get(at, ()), *(t for _, t in sorted(launches.items())))
    asked: dict[tuple[str, str, int], set[Point]] = defaultdict(set)
    for layout, shapes_here in (wanted or {}).items():
        for collective, size, _, operation, root in shapes_here:
            asked[collective, operation, root].add(Point(layout.nodes, layout.ppn, size))
    for chain, names in seen.items():
        collective = chain[0]
        # the MPI's own choice changes its algorithm where it likes: nothing smooth
        names = {n: p for n, p in names.items() if n not in (NATIVE, BARE)}
        where = sorted(asked[chain].union(*names.values()))
        for name, estimated in estimates(names, where).items():
            for at, found in estimated.items():
                known = out[Layout(at.nodes, at.ppn)][collective][at.bytes]
                if name not in known or known[name].mean < found.mean:
                    known[name] = found
    return out
