"""Layouts of a campaign, and the order in which they are measured."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.errors import UsageError

#: a layout learns from none that is further away (doublings of nodes and ranks per node together)
FAR = 2.5


@dataclass(frozen=True, order=True)
class Layout:
    """Nodes, and ranks on each of them."""

    nodes: int
    ppn: int

    @property
    def nranks(self) -> int:
        return self.nodes * self.ppn

    @property
    def name(self) -> str:
        """``4x2``: as in file names."""
        return f"{self.nodes}x{self.ppn}"

    @property
    def words(self) -> str:
        return f"{self.nodes} x {self.ppn}"

    def distance(self, other: Layout) -> float:
        """Return how many doublings of nodes and of ranks per node lie between two layouts."""
        return abs(math.log2(self.nodes / other.nodes)) + abs(math.log2(self.ppn / other.ppn))


def parse_layout(text: str, place: str = "--interpolate") -> Layout:
    found = re.fullmatch(r"\s*([1-9]\d{0,6})\s*x\s*([1-9]\d{0,6})\s*", text)
    if not found:
        raise UsageError(f"{text!r} is not a layout", place, "write NODESxPPN, for example 4x2")
    return Layout(int(found.group(1)), int(found.group(2)))


def ordered(layouts: Iterable[Layout]) -> list[Layout]:
    """Return layouts in the order of measuring: the extremes first, then what lies between.

    Each next one is the layout that is furthest from all before it, so that what is measured early
    tells most about the rest.
    """
    rest = sorted(set(layouts), key=lambda x: (-x.nranks, -x.nodes))
    out: list[Layout] = []
    while rest:
        far = max(rest, key=lambda x: min((x.distance(y) for y in out), default=0.0))
        rest.remove(far)
        out.append(far)
    return out


def enclosing(layout: Layout, others: Iterable[Layout]) -> list[Layout]:
    """Return the two nearest layouts that enclose another one in nodes and in ranks per node.

    None where there are no such two: what is best changes with scale, and nothing is concluded
    beyond what was measured. Equal counts enclose.
    """
    pairs = [(a, b) for a, b in itertools.combinations(others, 2) if _between(layout, a, b)]

    def apart(pair: tuple[Layout, Layout]) -> tuple[float, int, int]:
        a, b = pair
        return a.distance(layout) + b.distance(layout), -a.nranks, -b.nranks

    return list(min(pairs, key=apart, default=()))


def teachers(layout: Layout, order: Sequence[Layout]) -> list[Layout]:
    """Return the layouts measured before this one that it learns from.

    The two that enclose it, unless they are far, and those that they learn from.
    """
    before = order[: list(order).index(layout)]
    out: list[Layout] = []
    for one in enclosing(layout, [x for x in before if x.distance(layout) <= FAR]):
        out += [x for x in (one, *teachers(one, order)) if x not in out]
    return out


def _between(x: Layout, a: Layout, b: Layout) -> bool:
    return min(a.nodes, b.nodes) <= x.nodes <= max(a.nodes, b.nodes) and min(
        a.ppn, b.ppn
    ) <= x.ppn <= max(a.ppn, b.ppn)
