"""How the sizes of a collective's blocks differ, as ``stretto-bench`` takes it: a pattern.

A pattern is ``FACTOR:PERCENT,...``: so many percent of the blocks have so many times the mean size,
factors ascending (``src/bench/blocks.c``). An empty one: all blocks are alike. Of a neighbourhood
collective its graph stands in front: ``GRAPH`` or ``GRAPH/FACTOR:PERCENT,...``
(``src/bench/graph.c``).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stretto.errors import StrettoError, UsageError
from stretto.files.profile import Call, Profile
from stretto.files.table import NEIGHBORHOODS, ROW_OF, WITHOUT_SIZE
from stretto.measure.settings import IRREGULAR

#: sizes of a pattern at most; more are joined
MOST_SIZES = 8
#: blocks all within this of their mean are taken as alike
ALIKE = 0.1


def pattern(weights: Mapping[float, float]) -> str:
    """Return the pattern of blocks: size (in any unit) to how many there are."""
    found = sorted((size, n) for size, n in weights.items() if n > 0)
    while len(found) > MOST_SIZES:  # the two neighbours of which the rarer has the fewest blocks
        at = min(range(1, len(found) - 1), key=lambda i: found[i][1] + found[i + 1][1])
        found[at : at + 2] = [_joined(found[at], found[at + 1])]
    all_blocks = sum(n for _, n in found)
    mean = sum(size * n for size, n in found) / all_blocks if all_blocks else 0.0
    if mean <= 0 or all(abs(size / mean - 1) <= ALIKE for size, _ in found):
        return ""
    parts: dict[str, float] = defaultdict(float)
    for size, n in found:
        parts[f"{size / mean:.3g}"] += 100 * n / all_blocks
    return ",".join(f"{factor}:{percent:.3g}" for factor, percent in parts.items())


def _joined(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    n = a[1] + b[1]
    return (a[0] * a[1] + b[0] * b[1]) / n, n


def parse_pattern(text: str) -> str:
    """Return the pattern that a user typed: factors are relative, in any order."""
    remedy = "write FACTOR:PERCENT,..., e.g. 0:50,1:50 (half of the blocks are empty)"
    weights: dict[float, float] = defaultdict(float)
    for part in text.split(","):
        try:
            factor, percent = (float(word) for word in part.split(":"))
        except ValueError:
            raise UsageError(f"{part!r} is not FACTOR:PERCENT", "--blocks", remedy) from None
        if not (0 <= factor <= 1e6 and 0 < percent <= 100):
            raise UsageError(f"{part!r} is out of range", "--blocks", remedy)
        weights[factor] += percent
    if abs(sum(weights.values()) - 100) > 0.5:
        raise UsageError(f"the percentages of {text!r} do not add up to 100", "--blocks", remedy)
    if len(weights) > MOST_SIZES:
        raise UsageError(f"more than {MOST_SIZES} sizes", "--blocks", remedy)
    if not any(weights):
        raise UsageError("all blocks are empty", "--blocks", remedy)
    return pattern(weights)


def pattern_of(rows: Iterable[Call]) -> str:
    """Return the pattern of the calls of rows: by pair where it was recorded, else by rank."""
    by_pair: dict[float, float] = defaultdict(float)
    by_rank: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        known = row.blocks or []
        share = row.total_calls / max(1, sum(n for _, n in known))
        for size, n in known:
            by_pair[size] += n * share
        for calls, moved in zip(row.calls, row.bytes, strict=True):
            if calls:
                place = by_rank[(moved // calls).bit_length()]
                place[0] += moved
                place[1] += calls
    if by_pair:
        return pattern(by_pair)
    return pattern({moved / calls: calls for moved, calls in by_rank.values()})


def check_graph(graph: str, nranks: int) -> None:
    """Refuse a graph that the measuring program would refuse after a launch."""
    sizes = re.fullmatch(r"(?:torus|grid)\((\d+o?(?:x\d+o?){0,3})\)", graph)
    near = re.fullmatch(r"near\((-?\d+(?:,-?\d+){0,63})\)", graph)
    if not (sizes or near or re.fullmatch(r"(torus|grid)[1-4]", graph)):
        raise UsageError(
            f"{graph!r} is not a graph", "--graph",
            "write torus(4x2), grid(4x2), torus2, grid3 or near(-1,1)",
        )  # fmt: skip
    ranks = math.prod(int(n.strip("o")) for n in sizes[1].split("x")) if sizes else nranks
    if ranks != nranks or (near and max(abs(int(n)) for n in near[1].split(",")) >= nranks):
        raise UsageError(f"{graph} does not fit {nranks} ranks", "--graph", "give another -n")


def whole_pattern(collective: str, blocks: str, graph: str | None) -> str:
    """Return the pattern of a collective from its parts, without those that it does not have."""
    blocks = blocks if collective in IRREGULAR else ""
    if collective not in NEIGHBORHOODS:
        return blocks
    return f"{graph}/{blocks}" if blocks else graph or ""


def measured_as(call: Call) -> str | None:
    """Return the collective whose algorithms carry out a blocking call; None: no collective."""
    if call.kind == "neighborhood" and call.function.startswith("MPI_I"):
        return None
    if call.kind not in ("collective", "neighborhood"):
        return None
    name = call.collective
    return None if name is None else ROW_OF.get(name, name)


def recorded_pattern(profile: Profile, collective: str, place: str) -> str:
    """Return the pattern of the collective's calls that took most time in a profile."""
    found: dict[int | None, list[Call]] = defaultdict(list)
    for call in profile.recorded_part().calls:
        if measured_as(call) == collective:
            found[call.communicator].append(call)
    kinds = [kind for rows in found.values() for kind in kinds_of_calls(rows)]
    if not kinds:
        raise StrettoError(
            f"{collective} is not in this profile", place,
            "name a collective of the profile with --collective, or record with: stretto profile "
            "-- CMD",
        )  # fmt: skip
    rows = max(kinds, key=lambda rows: sum(sum(row.time_s) for row in rows))
    if collective in NEIGHBORHOODS and rows[0].graph is None:
        raise StrettoError(
            f"the profile has no graph of {collective}", place, "name one with --graph"
        )
    return whole_pattern(collective, pattern_of(rows), rows[0].graph)


def kinds_of_calls(rows: Sequence[Call]) -> list[list[Call]]:
    """Return the rows of one collective on one communicator by kinds of calls: by size class.

    Where no rank knows the others' sizes each rank counts a call in the class of its own block.
    Rows of which no rank is in two are then taken for one kind, and made one row.
    """
    classes: dict[int, list[Call]] = defaultdict(list)
    for row in rows:
        if measured_as(row) not in WITHOUT_SIZE:
            classes[row.bytes_max.bit_length()].append(row)
    kinds: list[tuple[set[int], list[Call]]] = []
    for row in sorted(rows, key=lambda r: -r.bytes_max):
        if measured_as(row) not in WITHOUT_SIZE:
            continue
        ranks = {r for r, n in enumerate(row.calls) if n}
        for there, found in kinds:
            if not there & ranks:
                there |= ranks
                found.append(row)
                break
        else:
            kinds.append((ranks, [row]))
    return [*classes.values(), *([_one(found)] for _, found in kinds)]


def _one(rows: Sequence[Call]) -> Call:
    """Return rows of different ranks as one."""
    if len(rows) == 1:
        return rows[0]

    def total(name: str) -> Any:
        lists = [getattr(row, name) for row in rows]
        return None if None in lists else [sum(values) for values in zip(*lists, strict=True)]

    typical = [row.typical_s for row in rows]
    return replace(
        rows[0],
        bytes_min=min(row.bytes_min for row in rows),
        **{name: total(name) for name in ("calls", "bytes", "time_s", "wait_s", "transfer_s")},
        sampled=min(row.sampled for row in rows),
        typical_s=None if None in typical else max(t for t in typical if t is not None),
        blocks=[block for row in rows for block in row.blocks or []] or None,
        graph=next((row.graph for row in rows if row.graph), None),
    )
