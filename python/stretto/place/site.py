"""The nodes that ranks are placed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stretto.check.facts import Facts
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.files.profile import Profile
from stretto.place.cores import Seat, cores_of, seats


@dataclass(frozen=True)
class JobNodes:
    """The nodes of a job: names, and for each of a node's ranks its seat.

    A seat is None where the cores of the node are not known. `named`: the names are real ones.
    """

    names: tuple[str, ...]
    seats: tuple[tuple[Seat | None, ...], ...]
    named: bool = True

    @property
    def sizes(self) -> list[int]:
        return [len(seats) for seats in self.seats]

    @property
    def known(self) -> bool:
        """Whether the cores of all ranks are known."""
        return all(seat is not None for node in self.seats for seat in node)

    @property
    def bound(self) -> bool:
        """Whether each rank has cores of its own."""
        return self.known and all(len(set(node)) == len(node) for node in self.seats)


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
    each rank; None: an equal share of the node's. Ranks that outnumber the cores of their node
    share them all.
    """
    facts = facts or {}
    known: dict[tuple[str, int], tuple[Seat | None, ...]] = {}
    keys = [(n if n in facts else "", size) for n, size in zip(names, sizes, strict=True)]
    for name, size in dict.fromkeys(keys):
        known[name, size] = _seats(facts.get(name, like), size, width)
    return JobNodes(tuple(names), tuple(known[key] for key in keys), named)


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
            "name all of them",
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
        "without --machine the order ends at the nodes, not at their cores"
    )
