"""The luck of launches, as all candidates and neighbouring sizes in them tell it together.

A launch is disturbed as a whole, at neighbouring sizes alike (`bench/launch_noise.py`); beside that
each candidate has a luck of its own at each size. What one size's few candidates of a launch say of
its luck is mostly their own: where the MPI and one other candidate alone had several launches, half
of the MPI's bad luck in a round was put into all that were measured in it once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stretto.campaign.location import Array
from stretto.campaign.times import Levels, Seen, Shape
from stretto.measure.compare import BARE, NATIVE

#: sizes within so many doublings of bytes have a launch's luck alike
ALIKE = 4.0
#: times that launches' luck and candidates' times are made anew from one another
POLISH = 4


def of_launches(times: Seen, shape: Shape) -> dict[str, dict[int, float]] | None:
    """Return times at a size as if all launches had had the same luck, by candidate and round.

    Only of what shared a launch with the MPI's own choice, whose times there are told too. None:
    some candidates were put beside it by a reference, or nothing was measured in two launches.
    """
    key = (shape[0], shape[3], shape[4])
    if key not in times.levels:
        chain = [s for s in times.raw if (s[0], s[3], s[4]) == key]
        times.levels[key] = _levels(times, chain)
    found = times.levels[key]
    return found.get(shape) if found is not None else None


@dataclass(frozen=True)
class _Row:
    """A candidate at a size, in the launches of one kind: logarithms of us by round."""

    shape: Shape
    name: str
    seen: Mapping[int, float]


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
    for kind, (usual, luck) in found.items():
        for row in kinds[kind]:
            here = out.setdefault(row.shape, {}).setdefault(row.name, {})
            more = offset.get(row.shape, 0.0) if kind == BARE else 0.0
            middle = usual.get((row.shape, row.name))
            for r, at in row.seen.items():
                by, grown = luck.get((row.shape, r), (0.0, 1.0))
                off = at - by
                if middle is not None:  # of k that tell the luck each shows less of its own
                    off = middle + grown * (off - middle)
                here[r] = math.exp(off + more)
    return {s: n for s, n in out.items() if any((s, x) in m for m, _ in found.values() for x in n)}


def _kind(times: Seen, shape: Shape, rounds: Mapping[int, tuple[int, float]]) -> str | None:
    """Return whose launches a candidate shared in all of its rounds: native's, bare's; None."""
    for own in (NATIVE, BARE):
        base = times.raw[shape].get(own, {})
        if rounds and all(r in base and base[r][0] == launch for r, (launch, _) in rounds.items()):
            return own
    return None


#: in logarithms: by size and candidate its usual time, and by size and round the launch's luck and
#: what each one's own is to be multiplied by beside it
_Polished = tuple[dict[tuple[Shape, str], float], dict[tuple[Shape, int], tuple[float, float]]]


def _polished(rows: Sequence[_Row]) -> _Polished:
    """Return what candidates usually take, and launches' luck at each size (a median polish)."""
    told = [row for row in rows if len(row.seen) > 1]  # one alone says nothing of its launch
    if not told:
        return {}, {}
    rounds = {r: i for i, r in enumerate(sorted({r for row in told for r in row.seen}))}
    at = np.full((len(told), len(rounds)), np.nan)
    for i, row in enumerate(told):
        for r, log in row.seen.items():
            at[i, rounds[r]] = log
    bytes_of = np.array([row.shape[1] for row in told])
    sizes = sorted({row.shape[1] for row in rows})
    near = {z: np.flatnonzero(np.abs(np.log2((bytes_of + 8) / (z + 8))) <= ALIKE) for z in sizes}
    own = {z: np.flatnonzero(bytes_of == z) for z in sizes}
    middle = _medians(at, 1)
    luck: dict[int, Array] = {}
    grown: dict[int, Array] = {}
    for z in sizes:
        many = np.maximum((~np.isnan(at[near[z]])).sum(axis=0), 2)
        grown[z] = np.sqrt(many / (many - 1))
    for _ in range(POLISH):
        off = at - middle[:, None]
        for z in sizes:
            luck[z] = np.nan_to_num(_medians(off[near[z]], 0))
            if own[z].size:
                middle[own[z]] = _medians(at[own[z]] - luck[z], 1)
    usual = {(row.shape, row.name): float(m) for row, m in zip(told, middle, strict=True)}
    shapes = {row.shape for row in rows}
    return usual, {
        (s, r): (float(luck[s[1]][i]), float(grown[s[1]][i]))
        for s in shapes
        for r, i in rounds.items()
    }


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
    """Return by how much native's launches usually had the worse luck than bare's at each size.

    Native and bare make the same call, so that what they differ by is the luck of their launches,
    and each one's own, of which neighbouring sizes have another one.
    """
    differ = {
        s: native[0][s, NATIVE] - bare[0][s, BARE]
        for s in chain
        if (s, NATIVE) in native[0] and (s, BARE) in bare[0]
    }
    out = {}
    for shape in chain:
        here = [
            d for s, d in differ.items() if abs(math.log2((s[1] + 8) / (shape[1] + 8))) <= ALIKE
        ]
        if here:
            out[shape] = float(np.median(here))
    return out
