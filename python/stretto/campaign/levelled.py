"""Times as if all launches had had the same launch effect (median polish).

A launch is disturbed as a whole, and at neighbouring sizes alike (`bench/launch_noise.py`); beside
that each candidate varies by itself. What all candidates of a launch have in common is removed: not
by the time of the MPI alone, whose own variation would then go into all others, but by a median
polish over candidates and rounds (Tukey, Exploratory Data Analysis, 1977, 11). A candidate with a
round or two, among many others, is known far better by that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from stretto.campaign.kriged import Array
from stretto.campaign.times import Levels, Medians, Seen, Shape
from stretto.measure.compare import BARE, NATIVE
from stretto.mpi.algorithms.base import PREFIX

#: sizes within so many doublings of bytes have the same launch effect
ALIKE = 4.0
#: how often launch effects and candidates' times are computed anew from one another
POLISH = 4
#: of the logarithm: what moves the median of some rounds by more is no effect of single launches
BESIDE = 0.4
#: nor what moves a single one by more: launches as a whole were seen to lie up to 2.3 times off
SINGLE = 0.92


@dataclass(frozen=True)
class _Row:
    """A candidate at a size, in the launches of one kind: logarithms of times by round."""

    shape: Shape
    name: str
    seen: Mapping[int, float]


@dataclass
class _Polished:
    """In logarithms: usual times by shape and candidate; by shape and round the launch effect.

    Beside the effect stands what each one's own variation is to be multiplied by: of k candidates
    that make up the effect, each shows less of its own.
    """

    usual: dict[tuple[Shape, str], float]
    effect: dict[tuple[Shape, int], tuple[float, float]]

    def without(self, row: _Row) -> dict[int, float]:
        out = {}
        middle = self.usual.get((row.shape, row.name))
        for r, at in row.seen.items():
            by, grown = self.effect.get((row.shape, r), (0.0, 1.0))
            out[r] = at - by
            if middle is not None:
                out[r] = middle + grown * (out[r] - middle)
        return out


def levelled(times: Medians, shape: Shape) -> dict[str, dict[int, float]]:
    """Return a shape's times by candidate and round as if all rounds had had the same effect."""
    here = {name: dict(sorted(seen.items())) for name, seen in times.get(shape, {}).items()}
    together = times.together.get(shape, {}) if isinstance(times, Seen) else {}
    base = {**here.get(BARE, {}), **here.get(NATIVE, {})}
    base = {r: t for r, t in base.items() if t > 0}
    if not together or len(base) < 2:
        return here
    level = float(np.exp(np.median(np.log(list(base.values())))))
    beside = _beside(base, level)
    out = {
        name: {r: t / beside.get(r, 1.0) for r, t in seen.items()} for name, seen in here.items()
    }
    if isinstance(times, Seen):
        by_launch = of_launches(times, shape)
        if by_launch is not None:
            return {n: {**seen, **by_launch.get(n, {})} for n, seen in out.items()}
    for group in _groups(here):
        rows = []
        for name in group:
            near = {r: t for r, t in here[name].items() if t > 0 and r in base}
            ahead = {
                r: math.log(t / base[r]) for r, t in near.items() if r in together.get(name, ())
            }
            rows.append(_Row(shape, name, ahead))
        for name, seen in _ahead(rows).items():
            out[name] |= {r: level * math.exp(a) for r, a in seen.items()}
    return out


def _groups(names: Collection[str]) -> list[list[str]]:
    """Return the candidates that share launches: native algorithms with bare, others."""
    natives = [n for n in names if n == BARE or n.startswith(PREFIX)]
    others = [n for n in names if n not in natives]
    if BARE not in names:
        natives, others = [], [*natives, *others]
    return [sorted(g) for g in (natives, others) if g]


def _ahead(rows: Sequence[_Row]) -> dict[str, dict[int, float]]:
    """Return the logarithms of times over native, without launch effects.

    `rows`: of one shape; of native (`NATIVE` or `BARE`) 0 in each round.
    """
    names = {row.name: row for row in rows}
    own = names.get(NATIVE)
    own = own if own is not None and own.seen else names.get(BARE)
    if own is None or not own.seen:
        return {row.name: dict(row.seen) for row in rows}
    found = _polished(rows)
    zero = found.usual.get((own.shape, own.name), 0.0)
    return {row.name: {r: at - zero for r, at in found.without(row).items()} for row in rows}


def of_launches(times: Seen, shape: Shape) -> dict[str, dict[int, float]] | None:
    """Return times at a size without launch effects, by candidate and round.

    Only of what shared a launch with the native choice. None: some candidates were put beside it
    by a reference, or nothing was measured in two launches.
    """
    key = (shape[0], shape[3], shape[4])
    if key not in times.levels:
        chain = [s for s in times.raw if (s[0], s[3], s[4]) == key]
        times.levels[key] = _levels(times, chain)
    found = times.levels[key]
    return found.get(shape) if found is not None else None


def _levels(times: Seen, chain: Sequence[Shape]) -> Levels | None:
    kinds: dict[str, list[_Row]] = {NATIVE: [], BARE: []}
    for shape in chain:
        for name, seen in times.raw[shape].items():
            rounds = {r: x for r, x in seen.items() if x[1] > 0}
            kind = _kind(times, shape, rounds)
            if kind is None:
                if times.together[shape].get(name, set()).intersection(rounds):
                    return None
                continue
            log = {r: math.log(us) for r, (_, us) in rounds.items()}
            kinds[kind].append(_Row(shape, name, log))
    found = {kind: _polished(rows) for kind, rows in kinds.items()}
    offset = _offsets(found[NATIVE], found[BARE], chain)
    out: Levels = {}
    for kind, polished in found.items():
        for row in kinds[kind]:
            more = offset.get(row.shape, 0.0) if kind == BARE else 0.0
            here = out.setdefault(row.shape, {}).setdefault(row.name, {})
            here |= {r: math.exp(at + more) for r, at in polished.without(row).items()}
    return {
        s: n for s, n in out.items() if any((s, x) in m.usual for m in found.values() for x in n)
    }


def _kind(times: Seen, shape: Shape, rounds: Mapping[int, tuple[int, float]]) -> str | None:
    """Return whose launches a candidate shared in all of its rounds: native's, bare's; None."""
    for own in (NATIVE, BARE):
        base = times.raw[shape].get(own, {})
        if rounds and all(r in base and base[r][0] == launch for r, (launch, _) in rounds.items()):
            return own
    return None


def _polished(rows: Sequence[_Row]) -> _Polished:
    several = [row for row in rows if len(row.seen) > 1]  # one alone says nothing of its launch
    if not several:
        return _Polished({}, {})
    rounds = {r: i for i, r in enumerate(sorted({r for row in several for r in row.seen}))}
    at = np.full((len(several), len(rounds)), np.nan)
    for i, row in enumerate(several):
        for r, log in row.seen.items():
            at[i, rounds[r]] = log
    bytes_of = np.array([row.shape[1] for row in several])
    sizes = sorted({row.shape[1] for row in rows})
    near = {z: np.flatnonzero(np.abs(np.log2((bytes_of + 8) / (z + 8))) <= ALIKE) for z in sizes}
    own = {z: np.flatnonzero(bytes_of == z) for z in sizes}
    middle = _medians(at, 1)
    effect: dict[int, Array] = {}
    grown: dict[int, Array] = {}
    for z in sizes:
        many = (~np.isnan(at[near[z]])).sum(axis=0)
        grown[z] = np.where(many > 1, np.sqrt(many / np.maximum(many - 1, 1)), 1.0)
    for _ in range(POLISH):
        off = at - middle[:, None]
        for z in sizes:
            effect[z] = np.nan_to_num(_medians(off[near[z]], 0))
            if own[z].size:
                middle[own[z]] = _medians(at[own[z]] - effect[z], 1)
    usual = {(row.shape, row.name): float(m) for row, m in zip(several, middle, strict=True)}
    shapes = {row.shape for row in rows}
    return _Polished(
        usual,
        {
            (s, r): (float(effect[s[1]][i]), float(grown[s[1]][i]))
            for s in shapes
            for r, i in rounds.items()
        },
    )


def _medians(values: Array, axis: int) -> Array:
    if values.shape[axis] == 0:
        return np.full(values.shape[1 - axis], np.nan)
    ordered = np.sort(values, axis=axis)  # what is not known comes last
    n, last = (~np.isnan(values)).sum(axis=axis), values.shape[axis] - 1
    middle = [
        np.take_along_axis(ordered, np.expand_dims(np.clip(k, 0, last), axis), axis)
        for k in ((n - 1) // 2, n // 2)
    ]
    return np.asarray(0.5 * (middle[0] + middle[1]).squeeze(axis), dtype=np.float64)


def _offsets(native: _Polished, bare: _Polished, chain: Sequence[Shape]) -> dict[Shape, float]:
    """Return by how much the effect of native's launches is usually above that of bare's, by size.

    Native and bare make the same call: they differ by the effects of their launches, and by each
    one's own variation, which is another one at neighbouring sizes.
    """
    differ = {
        s: native.usual[s, NATIVE] - bare.usual[s, BARE]
        for s in chain
        if (s, NATIVE) in native.usual and (s, BARE) in bare.usual
    }
    out = {}
    for shape in chain:
        here = [
            d for s, d in differ.items() if abs(math.log2((s[1] + 8) / (shape[1] + 8))) <= ALIKE
        ]
        if here:
            out[shape] = float(np.median(here))
    return out


def _beside(base: Mapping[int, float], level: float) -> dict[int, float]:
    """Return by how much all was slower in rounds than is usual: something ran beside the campaign.

    `base`, `level`: times of the native choice by round, and what is usual. What counts is the
    median of a round and as many before as after it, two at most (at either end: of three rounds),
    which the effect of a single launch does not move beyond `BESIDE`; or the round alone, where it
    lies further off that median than launch effects do.
    """
    rounds = sorted(base)
    last, out = len(rounds) - 1, {}
    if last < 2:
        return {}
    for i, r in enumerate(rounds):
        side = max(1, min(2, i, last - i))
        first = min(max(i - side, 0), last - 2 * side)
        near = median(base[x] for x in rounds[first : first + 2 * side + 1])
        by = (base[r] if abs(math.log(base[r] / near)) > SINGLE else near) / level
        if abs(math.log(by)) > BESIDE:
            out[r] = by
    return out
