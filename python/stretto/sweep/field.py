"""A chain of sizes on one layout while its candidates are judged: who is measured, who is not.

What `contest` and `contenders` work on. It is made anew from complete rounds, or kept between two
looks as long as these are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stretto.campaign.compare import BARE, NATIVE
from stretto.campaign.settings import Case
from stretto.files.table import WITHOUT_SIZE
from stretto.sweep.elimination import Dropped, shape_of
from stretto.sweep.kriged import Estimate, Point
from stretto.sweep.layout import Layout
from stretto.sweep.levelled import levelled
from stretto.sweep.location import location
from stretto.sweep.pooled import estimates
from stretto.sweep.times import Medians, Shape


@dataclass
class Field:
    """A chain of sizes: who is measured at each, and who is not, with the reason.

    Attributes
    ----------
    variants
        Kinds of launches of the campaign: what shares one is compared in pairs.
    rounds
        As the user asked for.
    dear
        Sizes that take much of the layout's time: a tenth.
    over
        Sizes that are measured no longer.
    since
        Rounds from which candidates that were not begun with are measured.
    """

    layout: Layout
    chain: list[Shape]
    times: Medians
    variants: tuple[str, ...]
    rounds: int
    dear: set[Shape]
    alive: dict[Shape, list[str]] = field(default_factory=dict)
    waiting: dict[Shape, dict[str, Dropped]] = field(default_factory=dict)
    never: list[Dropped] = field(default_factory=list)
    bare: set[Shape] = field(default_factory=set)
    elsewhere: dict[str, list[tuple[Point, tuple[float, ...]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    over: set[Shape] = field(default_factory=set)
    since: dict[tuple[Shape, str], int] = field(default_factory=dict)
    fitted: Mapping[str, Mapping[Point, Estimate]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether one choice has to do for all sizes, so that they are judged together."""
        return self.chain[0][0] in WITHOUT_SIZE

    def at(self, shape: Shape) -> Point:
        """Return the point of a shape."""
        return Point(self.layout.nodes, self.layout.ppn, shape[1])

    def until(self, shape: Shape, name: str, done: int) -> dict[int, float]:
        """Return a candidate's times at a size in the rounds done."""
        seen = self.times.get(shape, {}).get(name, {})
        return {r: t for r, t in sorted(seen.items()) if r < done}

    def launches(self, shape: Shape, done: int) -> int:
        """Return in how many of the rounds done a size was measured."""
        return len({r for t in self.times.get(shape, {}).values() for r in t if r < done})

    def fails(self, shape: Shape, name: str, done: int) -> bool:
        """Return whether a candidate was to be measured at a size and has brought no time."""
        if name in self.waiting[shape] or self.launches(shape, done) == 0:
            return False
        return self.since.get((shape, name), 0) < done and not self.until(shape, name, done)

    def base(self, shape: Shape) -> str | None:
        """Return what stands for the MPI's own choice at a size; None: not measured."""
        seen = self.times.get(shape, {})
        return next((n for n in (NATIVE, BARE) if n in self.alive[shape] and n in seen), None)

    def native(self, shape: Shape, done: int) -> Estimate | None:
        """Return where the MPI's own choice lies at a size; None: not measured."""
        name = self.base(shape)
        mine = tuple(levelled(self.times, shape, done).get(name, {}).values()) if name else ()
        return Estimate(*location(mine)) if mine else None

    def fit(self, done: int) -> Mapping[str, Mapping[Point, Estimate]]:
        """Return the estimates for all candidates at the chain's sizes, after so many rounds."""
        names = {n for s in self.chain for n in (*self.alive[s], *self.waiting[s])}
        here = {s: levelled(self.times, s, done) for s in self.chain}
        seen: dict[str, dict[Point, tuple[float, ...]]] = {}
        for name in sorted(names - {NATIVE, BARE}):
            points = seen[name] = {}
            mine = [(self.at(s), tuple(here[s].get(name, {}).values())) for s in self.chain]
            for at, launches in [*self.elsewhere[name], *mine]:
                if launches:
                    points[at] = (*points.get(at, ()), *launches)
        self.fitted = estimates(seen, [self.at(s) for s in self.chain])
        return self.fitted

    def measure(self, shape: Shape, name: str, done: int) -> None:
        """Begin (again) with a candidate at a size."""
        del self.waiting[shape][name]
        self.alive[shape].append(name)
        self.since[shape, name] = done

    def drop(self, shape: Shape, name: str, done: int, why: str) -> None:
        """Measure a candidate no longer at a size."""
        self.alive[shape].remove(name)
        mine = len(self.until(shape, name, done))
        self.waiting[shape][name] = Dropped(shape[0], shape[1], name, mine, why)

    def learn(self, times: Medians) -> None:
        """Take the times of this layout: those of further rounds, too."""
        self.times = times

    def past(self, done: int) -> dict[Shape, dict[str, dict[int, float]]]:
        """Return all times of the rounds done."""
        return {s: {n: self.until(s, n, done) for n in self.times.get(s, {})} for s in self.chain}


def make_field(
    layout: Layout,
    cases: Sequence[Case],
    times: Medians,
    others: Mapping[Layout, Medians],
    unlikely: Mapping[Shape, Mapping[str, str]],
    variants: tuple[str, ...],
    rounds: int,
    dear: set[Shape],
) -> Field:
    """Return a chain of sizes before its first round.

    Parameters
    ----------
    layout, cases
        That are measured; sizes ascending.
    times, others, unlikely
        As for `contest.contest`.
    variants, rounds, dear
        See `Field`.
    """
    chain = [shape_of(c) for c in cases]
    f = Field(layout, chain, times, variants, rounds, dear)
    for shape, case in zip(chain, cases, strict=True):
        out = {n: w for n, w in unlikely.get(shape, {}).items() if n not in (NATIVE, BARE)}
        f.alive[shape] = [n for n in case.candidates if n not in out]
        f.waiting[shape] = {}
        f.never += [
            Dropped(shape[0], shape[1], n, 0, w) for n, w in out.items() if n in case.candidates
        ]
        if BARE in case.candidates:
            f.bare.add(shape)
    f.learn(times)
    for where, found in sorted(others.items()):
        for shape in found:
            if same(shape, chain[0]):
                for name, seen in levelled(found, shape).items():
                    at = Point(where.nodes, where.ppn, shape[1])
                    f.elsewhere[name].append((at, tuple(t for _, t in sorted(seen.items()))))
    return f


def same(a: Shape, b: Shape) -> bool:
    """Return whether two shapes differ in size only (and in the datatype that fits it)."""
    return (a[0], a[3], a[4]) == (b[0], b[3], b[4])
