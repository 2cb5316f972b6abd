"""Dividing ranks into nodes of fixed sizes, so that few bytes go between them.

Recursive bisection on coarsened graphs (heavy-edge matching), with the moves of Fiduccia and
Mattheyses at every level; then pairs of parts are refined against each other.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]
Floats = NDArray[np.float64]

#: vertices of a graph that is coarse enough to be divided by growing a part
_COARSE = 48
#: parts that are grown there, each from another vertex
_SEEDS = 6
_PASSES = 6


@dataclass(frozen=True)
class Graph:
    """Who sends how much to whom: a symmetric matrix by rows, without a diagonal.

    `first`: where each row begins in `peers` and `bytes`; one longer than there are rows.
    `weight`: ranks that each vertex stands for.
    """

    first: Array
    peers: Array
    bytes: Floats
    weight: Array

    @property
    def size(self) -> int:
        return len(self.weight)

    @property
    def rows(self) -> Array:
        """The row of each entry."""
        return np.repeat(np.arange(self.size), np.diff(self.first))


def graph_of(size: int, source: Array, target: Array, volume: Floats) -> Graph:
    """Return the graph of messages; both directions of a pair count together."""
    kept = source != target
    one, two = (np.concatenate(x)[np.tile(kept, 2)] for x in ((source, target), (target, source)))
    return _collect(one, two, np.tile(volume, 2)[np.tile(kept, 2)], np.ones(size, np.int64))


def _collect(rows: Array, columns: Array, volume: Floats, weight: Array) -> Graph:
    """Return a graph of entries in any order, adding those of the same pair."""
    size = len(weight)
    key, inverse = np.unique(rows * size + columns, return_inverse=True)
    first = np.searchsorted(key, np.arange(size + 1) * size)
    total = np.bincount(inverse, volume, len(key)).astype(np.float64)
    return Graph(first, key % max(size, 1), total, weight)


def part_of_graph(graph: Graph, vertices: Array) -> Graph:
    """Return the graph of some vertices, numbered in their order."""
    number = np.full(graph.size, -1, np.int64)
    number[vertices] = np.arange(len(vertices))
    counts = graph.first[vertices + 1] - graph.first[vertices]
    starts = np.repeat(graph.first[vertices] - np.cumsum(counts) + counts, counts)
    entries = starts + np.arange(len(starts))
    columns = number[graph.peers[entries]]
    rows = np.repeat(np.arange(len(vertices)), counts)
    kept = columns >= 0
    order = np.cumsum(np.bincount(rows[kept], minlength=len(vertices)))
    first = np.concatenate([[0], order])
    return Graph(first, columns[kept], graph.bytes[entries][kept], graph.weight[vertices])


def between(graph: Graph, part: Array) -> float:
    return float(graph.bytes[part[graph.rows] != part[graph.peers]].sum()) / 2


def divide(graph: Graph, sizes: Sequence[int], random: np.random.Generator) -> Array:
    """Return the part of each vertex; the parts get exactly `sizes` vertices."""
    part = np.zeros(graph.size, np.int64)
    _divide(graph, np.arange(graph.size), list(sizes), 0, part, random)
    return part


def _divide(
    graph: Graph, vertices: Array, sizes: list[int], number: int, part: Array,
    random: np.random.Generator,
) -> None:  # fmt: skip
    if len(sizes) == 1:
        part[vertices] = number
        return
    half = len(sizes) // 2
    side = _bisect(part_of_graph(graph, vertices), sum(sizes[:half]), random)
    _divide(graph, vertices[side == 0], sizes[:half], number, part, random)
    _divide(graph, vertices[side == 1], sizes[half:], number + half, part, random)


def _bisect(graph: Graph, target: int, random: np.random.Generator) -> Array:
    """Return the side of each vertex; side 0 weighs exactly `target` where vertices weigh 1."""
    levels: list[tuple[Graph, Array]] = []
    fine = graph
    while fine.size > _COARSE:
        joined = _match(fine, random)
        count = int(joined.max()) + 1
        if count > 0.95 * fine.size:
            break
        levels.append((fine, joined))
        weight = np.bincount(joined, fine.weight, count).astype(np.int64)
        rows, columns = joined[fine.rows], joined[fine.peers]
        kept = rows != columns
        fine = _collect(rows[kept], columns[kept], fine.bytes[kept], weight)
    side = _grow(fine, target, random, not levels)
    while levels:
        fine, joined = levels.pop()
        side = _refine(fine, side[joined], target, 0 if not levels else int(fine.weight.max()))
    return side


def _match(graph: Graph, random: np.random.Generator) -> Array:
    """Return a number for each vertex, the same for two that are joined: most bytes first."""
    size, rows = graph.size, graph.rows
    noise = random.random(size)
    mate = np.full(size, -1, np.int64)
    most = max(2, int(graph.weight.sum()) // 16)
    heavy = graph.bytes * (1 + 1e-9 * (noise[rows] + noise[graph.peers]))
    open_ = graph.weight[rows] + graph.weight[graph.peers] <= most
    for _ in range(8):
        free = open_ & (mate[rows] < 0) & (mate[graph.peers] < 0)
        if not free.any():
            break
        at, value = rows[free], heavy[free]
        best = np.zeros(size)
        np.maximum.at(best, at, value)
        wish = np.full(size, -1, np.int64)
        taken = value == best[at]
        wish[at[taken]] = graph.peers[free][taken]
        both = np.flatnonzero((wish >= 0) & (wish[wish] == np.arange(size)))
        mate[both] = wish[both]
    mate = np.where(mate < 0, np.arange(size), mate)
    joined: Array = np.unique(np.minimum(mate, np.arange(size)), return_inverse=True)[1]
    return joined


def _grow(graph: Graph, target: int, random: np.random.Generator, exact: bool) -> Array:
    """Return the best of several sides, each grown from one vertex by the most bytes."""
    tolerance = 0 if exact else int(graph.weight.max(initial=1))
    best, least = np.ones(graph.size, np.int64), np.inf
    for seed in random.permutation(graph.size)[:_SEEDS]:
        side = np.ones(graph.size, np.int64)
        pull = np.full(graph.size, 0.0)
        weight, at = 0, int(seed)
        while True:
            side[at] = 0
            weight += int(graph.weight[at])
            if weight >= target or not side.any():
                break
            row = slice(graph.first[at], graph.first[at + 1])
            pull[graph.peers[row]] += graph.bytes[row]
            at = int(np.argmax(np.where(side == 1, pull, -1.0)))
        side = _refine(graph, side, target, tolerance)
        cut = between(graph, side)
        if cut < least:
            best, least = side, cut
    return best


def _refine(graph: Graph, side: Array, target: int, tolerance: int) -> Array:
    """Return a side with fewer bytes between, that weighs `target` within `tolerance`."""
    lists = (graph.first.tolist(), graph.peers.tolist(), graph.bytes.tolist())
    for _ in range(_PASSES):
        new, gained = _pass(graph, lists, side, target, tolerance)
        side = new
        if gained <= 0:
            break
    return side


def _pass(
    graph: Graph, lists: tuple[list[int], list[int], list[float]], side: Array, target: int,
    tolerance: int,
) -> tuple[Array, float]:  # fmt: skip
    """Move each vertex at most once, the best first; keep the best state on the way."""
    first, peers, volume = lists
    apart = np.where(side[graph.rows] != side[graph.peers], graph.bytes, -graph.bytes)
    gains: list[float] = np.bincount(graph.rows, apart, graph.size).tolist()
    now, weight = side.tolist(), graph.weight.tolist()
    heaps: tuple[list[tuple[float, int]], ...] = ([], [])
    for v, gain in enumerate(gains):
        heaps[now[v]].append((-gain, v))
    for heap in heaps:
        heapq.heapify(heap)
    moved = [False] * graph.size
    excess = int(graph.weight[side == 0].sum()) - target
    room = max(tolerance, int(graph.weight.max(initial=1)))
    begin = (max(abs(excess) - tolerance, 0), 0.0)
    best, kept, gained = begin, 0, 0.0
    order: list[int] = []
    patience = 60 + graph.size // 20
    while len(order) - kept < patience:
        found = _next(heaps, gains, moved, excess, room, weight)
        if found is None:
            break
        v = found
        old = now[v]
        now[v], moved[v] = 1 - old, True
        excess += weight[v] if old else -weight[v]
        gained += gains[v]
        order.append(v)
        state = (max(abs(excess) - tolerance, 0), -gained)
        if state[0] < best[0] or (state[0] == best[0] and state[1] < best[1] - 1e-9):
            best, kept = state, len(order)
        for i in range(first[v], first[v + 1]):
            u = peers[i]
            if not moved[u]:
                gains[u] += 2 * volume[i] if now[u] == old else -2 * volume[i]
                heapq.heappush(heaps[now[u]], (-gains[u], u))
    out = side.copy()
    back = np.array(order[:kept], np.int64)
    out[back] = 1 - out[back]
    improved = best[0] < begin[0] or -best[1] > 1e-9 * max(1.0, abs(gained))
    return out, (1.0 if improved and kept else 0.0)


def _next(
    heaps: tuple[list[tuple[float, int]], ...], gains: list[float], moved: list[bool],
    excess: int, room: int, weight: list[int],
) -> int | None:  # fmt: skip
    """Take the vertex of most gain from the side that may give one."""
    tops = []
    for one in (0, 1):
        heap = heaps[one]
        while heap and (moved[heap[0][1]] or -heap[0][0] != gains[heap[0][1]]):
            heapq.heappop(heap)
        if not heap:
            continue
        after = excess - weight[heap[0][1]] if one == 0 else excess + weight[heap[0][1]]
        if abs(after) <= room or abs(after) < abs(excess):
            tops.append((heap[0], one))
    if not tops:
        return None
    _, one = min(tops)
    return heapq.heappop(heaps[one])[1]


def improve(graph: Graph, part: Array, until: float) -> Array:
    """Return parts of the same sizes with fewer bytes between, refining pairs of them.

    `until`: when to stop, on `time.monotonic`'s clock.
    """
    part = part.copy()
    changed = np.ones(int(part.max(initial=0)) + 1, bool)
    while changed.any():
        fresh = np.zeros_like(changed)
        count = len(changed)
        rows, columns = part[graph.rows], part[graph.peers]
        apart = rows < columns
        cut = np.bincount(rows[apart] * count + columns[apart], graph.bytes[apart], count * count)
        for pair in np.argsort(-cut, kind="stable")[: np.count_nonzero(cut)]:
            one, two = divmod(int(pair), count)
            if not (changed[one] or changed[two] or fresh[one] or fresh[two]):
                continue
            if time.monotonic() > until:
                return part
            vertices = np.flatnonzero((part == one) | (part == two))
            small = part_of_graph(graph, vertices)
            side = (part[vertices] == two).astype(np.int64)
            new = _refine(small, side, int((side == 0).sum()), 0)
            if between(small, new) < between(small, side) * (1 - 1e-9):
                part[vertices] = np.where(new == 1, two, one)
                fresh[[one, two]] = True
        changed = fresh
    return part
