"""The nodes that ranks are placed on, and a node's cores for its ranks: spread, near cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from stretto.check.cluster import Placed
from stretto.check.facts import Facts
from stretto.check.machine import cards_of
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.files.profile import Profile
from stretto.grouped import grouped


@dataclass(frozen=True)
class JobNodes:
    """The nodes of a job: names, and for each of a node's ranks its seat.

    A seat is None where the cores of the node are not known. `named`: the names are real ones.
    `loose`: ranks are not bound to their seats.
    """

    names: tuple[str, ...]
    seats: tuple[tuple[Seat | None, ...], ...]
    named: bool = True
    loose: bool = False

    @property
    def sizes(self) -> list[int]:
        return [len(seats) for seats in self.seats]

    @property
    def known(self) -> bool:
        return all(seat is not None for node in self.seats for seat in node)

    @property
    def bound(self) -> bool:
        return self.known and not self.loose

    @property
    def overlapping(self) -> bool:
        """Whether several ranks of a node are bound to the same core."""
        used = [[core.number for seat in node if seat for core in seat.cores]
                for node in self.seats]  # fmt: skip
        return any(len(set(cores)) < len(cores) for cores in used)

    @property
    def unseated(self) -> JobNodes:
        """The nodes without seats: the launcher binds ranks by its own options."""
        return replace(self, seats=tuple((None,) * size for size in self.sizes))


def site_of(
    names: Sequence[str],
    sizes: Sequence[int],
    named: bool,
    like: Facts | None,
    width: int | None = None,
    facts: Mapping[str, Facts] | None = None,
) -> JobNodes:
    """Return the nodes with the seats of their ranks.

    `facts`: of nodes that are known; the others are `like` one (None: not known). `width`: cores of
    each rank; None: an equal share of the node's. Where ranks outnumber the cores of their node,
    no rank is bound.
    """
    facts = facts or {}
    known: dict[tuple[str, int], tuple[Seat | None, ...]] = {}
    keys = [(n if n in facts else "", size) for n, size in zip(names, sizes, strict=True)]
    for name, size in dict.fromkeys(keys):
        known[name, size] = _seats(facts.get(name, like), size, width)
    every = tuple(known[key] for key in keys)
    loose = any(None not in node and len(set(node)) < len(node) for node in every)
    return JobNodes(tuple(names), every, named, loose)


def bound_as_started(
    names: Sequence[str],
    sizes: Sequence[int],
    placed: Sequence[Placed],
    facts: Mapping[str, Facts],
) -> JobNodes:
    """Return the nodes with the seats that a job's launcher gave its ranks, the lowest rank first.

    No seat is known where a node's facts are missing or other ranks were started than `sizes`.
    """
    masks = grouped((rank.node, (rank.rank, rank.cpus)) for rank in placed)
    every: list[tuple[Seat | None, ...]] = []
    for name, size in zip(names, sizes, strict=True):
        node, mine = facts.get(name), sorted(masks.get(name, []))
        if node is None or len(mine) != size:
            every.append((None,) * size)
            continue
        cores = cores_of(node)
        every.append(tuple(_seat(node, cores, set(mask)) for _, mask in mine))
    loose = bool(placed) and all(
        set(rank.cpus) >= set(rank.inherited or facts[rank.node].allowed)
        for rank in placed
        if rank.inherited or rank.node in facts
    )
    return JobNodes(tuple(names), tuple(every), True, loose)


def _seat(node: Facts, cores: Sequence[Core], mask: set[int]) -> Seat | None:
    mine = tuple(c for c in cores if not mask.isdisjoint(c.threads))
    if not mine:
        return None
    (seat,) = _with_cards(node, [mine])
    return replace(seat, mask=tuple(sorted(mask)))


def _seats(node: Facts | None, size: int, width: int | None) -> tuple[Seat | None, ...]:
    if node is None:
        return (None,) * size
    cores = tuple(cores_of(node))
    wide = width or max(1, len(cores) // size)
    if size * wide <= len(cores):
        return tuple(seats(node, size, wide))
    if width is not None and width > 1:
        raise UsageError(
            f"{size} ranks of {width} cores do not fit on {node.name}, which has {len(cores)} "
            "cores", "--threads", f"give at most {len(cores) // size or 1}",
        )  # fmt: skip
    return (Seat(cores),) * size


def sizes_of(
    profile: Profile, nodes: int | None, per_node: int | None, hosts: Sequence[str]
) -> tuple[list[str], list[int], bool]:
    """Return names and numbers of ranks of the nodes, and whether the names are real.

    Without anything else they are those of the recorded run.
    """
    ranks = profile.nranks
    wanted = nodes if nodes is not None else len(hosts) if hosts else None
    if wanted is None and per_node is not None:
        wanted = -(-ranks // per_node)
    if wanted is None:
        return [n.name for n in profile.nodes], [len(n.ranks) for n in profile.nodes], True
    if hosts and len(hosts) < wanted:
        raise UsageError(
            f"{counted(len(hosts), 'host')} named for {counted(wanted, 'node')}", "--hosts",
            "give one name per node",
        )  # fmt: skip
    if wanted > ranks or (per_node is not None and wanted * per_node < ranks):
        raise UsageError(
            f"{ranks} ranks do not fit: {wanted} nodes"
            + (f" of {per_node} ranks" if per_node else " are more than ranks"),
            "--nodes", "give other numbers",
        )  # fmt: skip
    if per_node is not None:
        sizes = [min(per_node, max(0, ranks - i * per_node)) for i in range(wanted)]
        sizes = [s for s in sizes if s]
    else:
        sizes = [ranks // wanted + (i < ranks % wanted) for i in range(wanted)]
    names = list(hosts)[: len(sizes)]
    recorded = [n.name for n in profile.nodes]
    if not names and len(recorded) == len(sizes):
        names = recorded
    return names or [f"node{i + 1}" for i in range(len(sizes))], sizes, bool(names)


def like_recorded(profile: Profile, facts: Facts) -> str | None:
    """Return why this machine is not like the recorded nodes, None where it may be."""
    known = {node.cores for node in profile.nodes if node.cores is not None}
    if known <= {facts.threads}:
        return None
    return (
        f"the recorded nodes have {max(known)} processors, and {facts.name} has {facts.threads}: "
        "without --machine only nodes are assigned, not cores"
    )


@dataclass(frozen=True)
class Core:
    """One core; `threads` are the kernel's numbers, `number` is hwloc's (Open MPI's) number.

    `socket`, `numa`, `l3`: numbers of what it belongs to, -1 where it is not known.
    """

    number: int
    threads: tuple[int, ...]
    socket: int
    numa: int
    l3: int


@dataclass(frozen=True)
class Seat:
    """The cores of one rank of a node, and the nearest card; `far`: on another socket.

    `mask`: the hardware threads that a launcher bound the rank to; empty: the first of each core.
    """

    cores: tuple[Core, ...]
    card: str | None = None
    far: bool = False
    mask: tuple[int, ...] = ()

    @property
    def cpus(self) -> tuple[int, ...]:
        """The hardware threads to bind to, as the kernel numbers them."""
        return self.mask or tuple(core.threads[0] for core in self.cores)


def cores_of(facts: Facts) -> list[Core]:
    """Return the cores of a node that may be used, in hwloc's order.

    hwloc orders what shares something together, and by the lowest number of the kernel in it.
    """
    inside = set(facts.cpuset) or {cpu for core in facts.siblings for cpu in core}
    every = facts.siblings or tuple((cpu,) for cpu in facts.allowed)
    here = [kept for core in every if (kept := tuple(c for c in core if c in inside or not inside))]
    numa = {cpu: n for n, cpus in facts.numa.items() for cpu in cpus}
    l3 = {cpu: i for i, cpus in enumerate(facts.l3) for cpu in cpus}
    found = [
        Core(0, t, facts.packages.get(t[0], -1), numa.get(t[0], -1), l3.get(t[0], -1)) for t in here
    ]
    lowest: dict[tuple[int, ...], int] = {}
    for core in found:
        for key in _keys(core):
            lowest[key] = min(lowest.get(key, core.threads[0]), core.threads[0])
    found.sort(key=lambda c: (*(lowest[k] for k in _keys(c)), c.threads[0]))
    allowed = set(facts.allowed)
    return [
        Core(i, mine, c.socket, c.numa, c.l3)
        for i, c in enumerate(found)
        if (mine := tuple(t for t in c.threads if t in allowed))
    ]


def _keys(core: Core) -> list[tuple[int, ...]]:
    return [
        (core.socket,), (core.socket, core.numa), (core.socket, core.numa, core.l3),
    ]  # fmt: skip


LEVELS: tuple[Callable[[Core], int], ...] = (
    lambda c: c.socket, lambda c: c.numa, lambda c: c.l3,
)  # fmt: skip


def seats(facts: Facts, ranks: int, width: int = 1) -> list[Seat]:
    """Return where the ranks of a node go, the first rank first.

    `width`: cores of each rank. The ranks are spread evenly over sockets, then NUMA domains, then
    level-3 caches; ranks that follow one another are near one another. A rank's cores share a cache
    where they fit.
    """
    cores = cores_of(facts)
    if ranks * width > len(cores):
        raise UsageError(
            f"{counted(ranks, 'rank')} of {counted(width, 'core')} need {ranks * width} cores, but "
            f"{facts.name} has {len(cores)} usable ones",
            "--ppn",
            f"give at most {len(cores) // width}, or another --machine",
        )
    near = {
        cpu for card in cards_of(facts) if card.numa is not None
        for cpu in facts.numa.get(card.numa, ())
    }  # fmt: skip
    chosen = _spread(cores, ranks, width, near)
    if len(chosen) < ranks:  # what shares a cache has room for no further rank: cross caches
        chosen = _at_distances(cores, ranks, width)
    return _with_cards(facts, chosen)


def _at_distances(cores: Sequence[Core], ranks: int, width: int) -> list[tuple[Core, ...]]:
    """Return the cores of each rank, whose first ones are at equal distances."""
    starts = (i * len(cores) // ranks for i in range(ranks))
    return [tuple(cores[at : at + width]) for at in starts]


def _spread(
    cores: Sequence[Core], ranks: int, width: int, near: Collection[int], level: int = 0
) -> list[tuple[Core, ...]]:
    """Return the cores of each rank; of groups with equal shares, one `near` a card comes first."""
    groups: dict[int, list[Core]] = {}
    if level < len(LEVELS):
        for core in cores:
            groups.setdefault(LEVELS[level](core), []).append(core)
    if len(groups) == 1:
        return _spread(cores, ranks, width, near, level + 1)
    if not groups or max(map(len, groups.values())) < width:
        return _at_distances(cores, min(ranks, len(cores) // width), width)
    close = [g for g, mine in groups.items() if any(c.threads[0] in near for c in mine)]
    away = [g for g in groups if g not in close]
    first = _evenly(close, ranks) + _evenly(away, ranks - len(close))
    turn = {g: first.index(g) if g in first else len(groups) for g in groups}
    shares = dict.fromkeys(groups, 0)
    for _ in range(ranks):
        free = [g for g in groups if (shares[g] + 1) * width <= len(groups[g])]
        if not free:
            break
        shares[min(free, key=lambda g: (shares[g] / len(groups[g]), turn[g]))] += 1
    return [
        seat
        for g, mine in groups.items()
        for seat in _spread(mine, shares[g], width, near, level + 1)
    ]


def _evenly(groups: Sequence[int], number: int) -> list[int]:
    """Return so many of the groups, or all, at equal distances."""
    number = max(0, min(number, len(groups)))
    return [groups[i * len(groups) // number] for i in range(number)]


def _with_cards(facts: Facts, chosen: Sequence[tuple[Core, ...]]) -> list[Seat]:
    """Give each rank the nearest card; several that are equally near share the ranks evenly."""
    cards = cards_of(facts) or [i for i in facts.interfaces if i.driver and i.numa is not None]
    socket_of = {n: {facts.packages.get(cpu, -1) for cpu in cpus} for n, cpus in facts.numa.items()}
    used: Counter[str] = Counter()
    out = []
    for mine in chosen:
        near = {}
        for card in cards:
            sockets = socket_of.get(-1 if card.numa is None else card.numa)
            other = sockets is not None and mine[0].socket not in sockets
            near[card.name] = 0 if card.numa == mine[0].numa else 2 if other else 1
        best = min(near, key=lambda name: (near[name], used[name]), default=None)
        used[best or ""] += 1
        out.append(Seat(mine, best, best is not None and near[best] == 2))
    return out
