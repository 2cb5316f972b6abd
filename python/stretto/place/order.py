"""An order of ranks: which rank goes to which node and core, so that messages stay near."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from stretto.errors import StrettoError
from stretto.files.profile import Profile
from stretto.model.platform import Platform
from stretto.place.partition import (
    Array,
    Floats,
    Graph,
    between,
    divide,
    graph_of,
    improve,
    part_of_graph,
)
from stretto.place.site import LEVELS, JobNodes, Seat

#: orders that are tried, for how long a new one may begin, and how long pairs of nodes are refined
MOST_TRIES, TRY_S, REFINE_S = 20, 6.0, 3.0
#: a smaller part of the bytes between nodes is no reason to move ranks
LEAST = 0.01


@dataclass(frozen=True)
class RankTraffic:
    """Messages between ranks: one entry a pair and direction."""

    size: int
    source: Array
    target: Array
    messages: Floats
    bytes: Floats

    @property
    def graph(self) -> Graph:
        return graph_of(self.size, self.source, self.target, self.bytes)


@dataclass(frozen=True)
class Placement:
    """Node of each rank, and which of the node's seats."""

    name: str
    node: Array
    seat: Array


@dataclass(frozen=True)
class Cost:
    """What an order costs: bytes between nodes, sockets of a node, caches of a socket.

    `card`: the most bytes that one network card sends or receives. `share`: of all bytes, between
    nodes. `priced_s`: None without a platform.
    """

    order: str
    nodes: float
    share: float
    card: float
    sockets: float
    caches: float
    priced_s: float | None = None


def traffic_of(profile: Profile) -> RankTraffic:
    """Return the messages of a recorded run; refuse one without any."""
    cells = np.asarray(profile.matrix.messages, float).reshape(-1, 4)
    cells = cells[cells[:, 0] != cells[:, 1]]
    if not cells[:, 3].any():
        raise StrettoError(
            "no rank sent a message to another rank in this run, so no order of ranks is better",
            " ".join(profile.command),
            "for collectives, use: stretto tune -- CMD",
        )
    ends = cells[:, :2].astype(np.int64)
    return RankTraffic(profile.nranks, ends[:, 0], ends[:, 1], cells[:, 2], cells[:, 3])


def placement(name: str, node: Array) -> Placement:
    """Return a placement of which each node's ranks take its seats in their order."""
    seat = np.zeros(len(node), np.int64)
    for one in np.unique(node):
        mine = np.flatnonzero(node == one)
        seat[mine] = np.arange(len(mine))
    return Placement(name, node, seat)


def block(sizes: Sequence[int]) -> Array:
    return np.repeat(np.arange(len(sizes)), sizes)


def round_robin(sizes: Sequence[int]) -> Array:
    turns = [(turn, node) for node, size in enumerate(sizes) for turn in range(size)]
    return np.array([node for _, node in sorted(turns)], np.int64)


def recorded(profile: Profile, site: JobNodes) -> Array | None:
    """Return the nodes of the recorded run; None where the site has other ones."""
    sizes = [len(n.ranks) for n in profile.nodes]
    if sizes != site.sizes:
        return None
    out = np.zeros(profile.nranks, np.int64)
    for number, node in enumerate(profile.nodes):
        out[node.ranks] = number
    return out


def best_order(
    traffic: RankTraffic,
    site: JobNodes,
    given: Array | None,
    seed: int = 1,
    tries: int = MOST_TRIES,
) -> tuple[Placement, int]:
    """Return the order with the fewest bytes between nodes, and how many were tried.

    Inside a node the ranks are divided in the same way among its sockets, domains and caches.
    """
    graph, sizes = traffic.graph, site.sizes
    begin, found = time.monotonic(), [block(sizes), round_robin(sizes)]
    found += [] if given is None else [given]
    plain = len(found)
    for start in _starts(graph, sizes, tuple(found), seed, tries):
        found.append(improve(graph, start(), time.monotonic() + REFINE_S))
        if time.monotonic() - begin > TRY_S:
            break
    best = min(found, key=lambda part: between(graph, part))
    node = _named(best, sizes)
    seat = np.zeros(traffic.size, np.int64)
    for number, seats in enumerate(site.seats):
        mine = np.flatnonzero(node == number)
        seat[mine] = _sit(part_of_graph(graph, mine), seats, np.random.default_rng(seed))
    return Placement("best", node, seat), len(found) - plain


def _starts(
    graph: Graph, sizes: list[int], known: Sequence[Array], seed: int, tries: int
) -> Iterator[Callable[[], Array]]:
    """Yield orders to begin with, those first that tend to be the best."""
    if len(sizes) == 1:
        return
    yield partial(divide, graph, sizes, np.random.default_rng(seed))
    yield from (part.copy for part in known)
    for number in range(tries - len(known) - 1):
        yield partial(divide, graph, sizes, np.random.default_rng([seed, number]))


def _named(part: Array, sizes: Sequence[int]) -> Array:
    """Give the parts to the nodes of their size, the lowest rank to the first node."""
    node = np.zeros_like(part)
    first = [int(np.flatnonzero(part == p)[0]) for p in range(len(sizes))]
    for size in set(sizes):
        alike = [p for p in range(len(sizes)) if sizes[p] == size]
        for to, old in zip(alike, sorted(alike, key=lambda p: first[p]), strict=True):
            node[part == old] = to
    return node


def _sit(graph: Graph, seats: Sequence[Seat | None], random: np.random.Generator) -> Array:
    """Return the seat of each rank of a node: ranks that talk share a socket, then a cache."""
    seat = np.arange(graph.size)
    _sit_within(graph, seat.copy(), seats, 0, seat, random)
    return seat


def _sit_within(
    graph: Graph, ranks: Array, seats: Sequence[Seat | None], level: int, seat: Array,
    random: np.random.Generator,
) -> None:  # fmt: skip
    """Seat some ranks in as many seats, which are together down to a level; fills `seat`."""
    numbers = np.sort(seat[ranks])
    groups: dict[int, list[int]] = {}
    for i in numbers:
        one = seats[int(i)]
        if one is None or level == len(LEVELS):
            seat[ranks] = numbers
            return
        groups.setdefault(LEVELS[level](one.cores[0]), []).append(int(i))
    if len(groups) == 1:
        _sit_within(graph, ranks, seats, level + 1, seat, random)
        return
    sizes = [len(g) for g in groups.values()]
    small = part_of_graph(graph, ranks)
    turn = {i: number for number, group in enumerate(groups.values()) for i in group}
    as_they_come = np.array([turn[int(i)] for i in numbers], np.int64)
    starts = [as_they_come, block(sizes), divide(small, sizes, random)]
    parts = [improve(small, p, time.monotonic() + 0.5) for p in starts]
    part = _named(min(parts, key=lambda p: between(small, p)), sizes)
    for number, group in enumerate(groups.values()):
        mine = ranks[part == number]
        seat[mine] = group
        _sit_within(graph, mine, seats, level + 1, seat, random)


def cost(
    traffic: RankTraffic, site: JobNodes, placed: Placement, platform: Platform | None = None
) -> Cost:
    where = [(n, site.seats[n][s]) for n, s in zip(placed.node, placed.seat, strict=True)]
    cards = _numbers([(n, s and s.card) for n, s in where])
    sockets = _numbers([(n, s and s.cores[0].socket) for n, s in where])
    caches = _numbers([(n, s and (s.cores[0].socket, s.cores[0].numa, s.cores[0].l3))
                       for n, s in where])  # fmt: skip
    source, target, volume = traffic.source, traffic.target, traffic.bytes
    apart = placed.node[source] != placed.node[target]
    far = ~apart & (sockets[source] != sockets[target])
    next_ = ~apart & ~far & (caches[source] != caches[target])
    nodes = float(volume[apart].sum())
    sent, got = (np.bincount(cards[x[apart]], volume[apart]) for x in (source, target))
    busiest = max(sent.max(initial=0.0), got.max(initial=0.0))
    priced = None
    if platform is not None:
        level = np.select([apart, far, next_], [4, 2, 1], 0)
        priced = _price(traffic, platform, level, cards)
    return Cost(
        placed.name, nodes, nodes / float(volume.sum()), float(busiest),
        float(volume[far].sum()), float(volume[next_].sum()), priced,
    )  # fmt: skip


def _numbers(keys: Sequence[object]) -> Array:
    """Return a number for each key, the same for equal ones."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def _price(traffic: RankTraffic, platform: Platform, level: Array, cards: Array) -> float:
    """Return the time of the slowest rank or card: a sum over messages, as in LogGP.

    Messages do not overlap on a rank, cards work beside the ranks; waiting is left out.
    """
    links = [platform.levels[name] for name in ("cache", "numa", "node", "rail", "network")]

    def each(name: str) -> Floats:
        return np.array([getattr(link, name) for link in links])[level]

    messages, volume = traffic.messages, traffic.bytes
    send = messages * (each("latency") + each("send_overhead") + each("gap_message"))
    send += volume * (each("send_byte") + each("gap_byte"))
    receive = messages * each("recv_overhead") + volume * each("recv_byte")
    ranks = np.bincount(traffic.source, send, traffic.size)
    ranks += np.bincount(traffic.target, receive, traffic.size)
    out = level == 4
    load = messages * platform.nic_gap_message + volume * platform.nic_gap_byte
    busy = [np.bincount(cards[x[out]], load[out]) for x in (traffic.source, traffic.target)]
    return float(max(ranks.max(initial=0.0), *(b.max(initial=0.0) for b in busy)))


@dataclass(frozen=True)
class Ordering:
    """What placing came to: the best order, that of before, and the costs of all."""

    best: Placement
    before: Placement
    costs: list[Cost]
    tried: int

    @property
    def given(self) -> str:
        return self.before.name

    def of(self, name: str) -> Cost:
        return next(c for c in self.costs if c.order == name)

    @property
    def gain(self) -> bool:
        """Whether the best order moves enough bytes to be worth a try."""
        now, then = self.of(self.given), self.of("best")
        several = now.nodes > 0 or then.nodes > 0
        before, after = (now.nodes, then.nodes) if several else (now.sockets, then.sockets)
        return after < before * (1 - LEAST)


def find_order(
    traffic: RankTraffic, site: JobNodes, given: Array | None, platform: Platform | None = None,
    seed: int = 1,
) -> Ordering:  # fmt: skip
    """Compute an order and compare it with block, round-robin and the given one."""
    sizes = site.sizes
    best, tried = best_order(traffic, site, given, seed)
    others = [placement("block", block(sizes)), placement("round-robin", round_robin(sizes))]
    if given is not None:
        others.insert(0, placement("given", given))
    costs = [cost(traffic, site, one, platform) for one in (*others, best)]
    return Ordering(best, others[0], costs, tried)
