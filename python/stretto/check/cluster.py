"""Judging the nodes of a job together: ranks, transports, rails and cards, differences of nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stretto.check.facts import Facts
from stretto.check.finding import Finding, finding, fine, note, problem, warning
from stretto.check.machine import cards_of, fast, stream_limit_gbps
from stretto.check.nodes import Survey
from stretto.check.transport import Transports
from stretto.counted import counted
from stretto.grouped import grouped
from stretto.mpi.base import MPIInstallation
from stretto.mpi.settings.nodes import INTERNAL

#: variables that choose network devices: all of these formats are lists of names
_DEVICE_LISTS = (
    "OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES", "I_MPI_OFI_NIC_LIST", "FI_EFA_IFACE",
    "FI_TCP_IFACE",
)  # fmt: skip
#: clocks that differ by less need no mention: `make` and log files begin to suffer above
_CLOCKS_S = 1.0


@dataclass(frozen=True)
class Placed:
    """Where one rank was started: its node, and the hardware threads it is bound to.

    `inherited`: those of the launcher's daemon, which a rank has if nothing binds it. `rank`: its
    number, -1 where it is not known.
    """

    node: str
    cpus: tuple[int, ...]
    inherited: tuple[int, ...] = ()
    rank: int = -1


def judge_transports(nodes: Mapping[str, Facts], seen: Transports) -> Iterator[Finding]:
    for names, words in ((seen.between, "between nodes"), (seen.within, "within a node")):
        if names and (len(nodes) > 1 or names is seen.within):
            listed = ", ".join(sorted(names))
            yield fine("network", f"transport {words}: {listed}")
    # without a driver of its own: RDMA in software over the same card
    each = [{f"{x.kind} {x.name}" for x in f.fabrics if x.up and x.driver} for f in nodes.values()]
    fabrics = sorted(set.union(*each)) if all(each) else []
    slow = seen.tcp_between if len(nodes) > 1 else None
    if slow and fabrics:
        yield warning(
            "tcp-fallback",
            f"messages between nodes use TCP although {', '.join(fabrics)} is available: latency "
            "is several times higher",
            "Open MPI: --mca pml ucx (InfiniBand) or --mca pml cm --mca mtl ofi (EFA); Intel MPI: "
            "I_MPI_OFI_PROVIDER=efa or mlx; the MPI must be built with UCX or libfabric",
            slow,
        )
    elif slow:
        limits = [x for f in nodes.values() if (x := stream_limit_gbps(f))]
        speed = max((i.speed_mbits or 0 for f in nodes.values() for i in fast(f)), default=0)
        if limits:
            yield warning(
                "one-stream",
                "messages use TCP, and one connection on these cards reaches at most "
                f"{limits[0]:g} "
                f"of {speed / 1000:g} Gb/s",
                "measure it: stretto net tcp, stretto net rails; try more connections on the "
                "application: stretto settings -- CMD (Open MPI: btl_tcp_links)",
                slow,
            )
    if seen.tcp_within:
        yield warning(
            "tcp-within-node",
            "messages between ranks of one node use TCP instead of shared memory",
            "leave btl, I_MPI_FABRICS and UCX_TLS unset, or add shared memory: sm (Open MPI 5) or "
            "vader (4), shm:ofi (Intel MPI), sm (UCX)",
            seen.tcp_within,
        )


def judge_rails(
    nodes: Mapping[str, Facts], mpi: MPIInstallation, given: Mapping[str, str]
) -> Iterator[Finding]:
    """Judge whether a job can use all cards of its nodes."""
    rails = min(map(_rails, nodes.values()), default=0)
    if rails < 2:
        return
    for name in _DEVICE_LISTS:
        value = given.get(name, "")
        chosen = [x for x in re.split(r"[,;\s]+", value) if x]
        if len(chosen) == 1 and value != "all" and not re.search(r"[/*?^[]", value):
            yield warning(
                "one-rail",
                f"{name}={value} uses one of {rails} network cards",
                f"unset {name}, or name all cards",
            )
    version = tuple(int(x) for x in re.findall(r"\d+", mpi.identity.version)[:2])
    by_hand = mpi.family == "intel" and (2021, 6) <= version < (2021, 12)
    if by_hand and given.get("I_MPI_MULTIRAIL", "0") in ("", "0"):
        yield warning(
            "one-rail",
            f"{mpi.name} uses one of {rails} network cards unless I_MPI_MULTIRAIL is set "
            "(2021.6 to 2021.11; later versions use all of them)",
            "export I_MPI_MULTIRAIL=1",
        )


def _rails(facts: Facts) -> int:
    """Return how many cards of the fastest kind a node has: of Ethernet, those of one speed."""
    fabrics = [x for x in facts.fabrics if x.up]
    speeds = [i.speed_mbits or 0 for i in fast(facts)]
    return len(fabrics) or speeds.count(max(speeds, default=0))


def judge_cards(nodes: Mapping[str, Facts], placed: Sequence[Placed]) -> Iterator[Finding]:
    for node, facts in nodes.items():
        cards = _cards_by_socket(facts)
        if not cards or facts.sockets < 2:
            continue
        masks = [r.cpus for r in placed if r.node == node]
        ranks = [_socket(facts, cpus) for cpus in masks]
        on = Counter(socket for socket in ranks if socket is not None)
        if not on or None in ranks:
            continue
        bound = {cpu for cpus in masks for cpu in cpus}  # with threads, a rank has several cores
        need = max(len(ranks), sum(1 for core in _every_core(facts) if bound & set(core)))
        where = (node,) if len(nodes) > 1 else ()
        idle = [s for s in cards if not on[s]]
        far = sum(number for socket, number in on.items() if socket not in cards)
        near = next(iter(cards))
        if idle and len(cards) > 1:
            unused = [x for s in idle for x in cards[s]]
            total = sum(map(len, cards.values()))
            yield warning(
                "unused-rail",
                f"no rank is on the socket of {', '.join(unused)}: each rank uses the card of its "
                f"socket, so that {len(unused)} of {counted(total, 'card')} stays unused",
                "spread the ranks over the sockets: Open MPI 4 --map-by socket, Open MPI 5 "
                "--map-by package; MPICH -bind-to core -map-by socket; Intel MPI "
                "I_MPI_PIN_ORDER=scatter; Slurm -m block:cyclic",
                nodes=where,
            )
        elif far and need <= _cores(facts, near):
            cpus = ",".join(str(c) for c in _first_threads(facts, near))
            yield note(
                "far-card",
                f"{far} of {counted(len(ranks), 'rank')} are not on the socket of "
                f"{', '.join(cards[near])}, which has {_cores(facts, near)} cores",
                f"put the ranks on socket {near}: Open MPI --cpu-set {cpus} --bind-to core; Intel "
                f"MPI I_MPI_PIN_PROCESSOR_LIST={cpus}; Slurm --cpu-bind=map_cpu:{cpus}",
                nodes=where,
            )


def _cards_by_socket(facts: Facts) -> dict[int, list[str]]:
    """Return the names of the fastest kind of card by their socket; empty where one is unknown."""
    out: dict[int, list[str]] = {}
    for card in cards_of(facts):
        cpus = facts.numa.get(card.numa, ()) if card.numa is not None else ()
        socket = _socket(facts, cpus)
        if socket is None:
            return {}
        out.setdefault(socket, []).append(card.name)
    return out


def _socket(facts: Facts, cpus: Sequence[int]) -> int | None:
    """Return the socket of hardware threads, None where they are on several or unknown."""
    found = {facts.packages.get(cpu) for cpu in cpus}
    return found.pop() if len(found) == 1 else None


def _every_core(facts: Facts) -> tuple[tuple[int, ...], ...]:
    return facts.siblings or tuple((cpu,) for cpu in sorted(facts.packages))


def _first_threads(facts: Facts, socket: int) -> list[int]:
    """Return one hardware thread of each core of a socket."""
    return [core[0] for core in _every_core(facts) if facts.packages.get(core[0]) == socket]


def _cores(facts: Facts, socket: int) -> int:
    return len(_first_threads(facts, socket))


def judge_differences(survey: Survey, took_s: float) -> Iterator[Finding]:
    """Judge whether the nodes of a job are alike.

    `took_s`: seconds that the launcher ran: the clocks were read at some moment within.
    """
    nodes = survey.nodes
    if len(nodes) < 2:
        return
    shared = set.intersection(*({i.name for i in f.interfaces} for f in nodes.values()))
    for what, value in _COMPARED.items():
        groups: dict[str, list[str]] = {}
        for node, facts in nodes.items():
            kept = tuple(i for i in facts.interfaces if what != "MTU" or i.name in shared)
            groups.setdefault(value(replace(facts, interfaces=kept)), []).append(node)
        memory = [f.memory_bytes for f in nodes.values()]
        if what == "memory" and max(memory) - min(memory) < 0.04 * max(memory):
            continue  # two values that are rounded apart
        if len(groups) > 1:
            words = "; ".join(f"{v} on {_some(names)}" for v, names in sorted(groups.items()))
            mtu = what == "MTU"
            yield finding(
                "note" if what == "kernel" else "warning",
                "mtu-mismatch" if mtu else "mixed-nodes",
                f"the nodes differ in {what}: {words}",
                "set the same MTU on all nodes: packets that are too large are fragmented or lost"
                if mtu
                else "request nodes of one type (Slurm: --constraint): the slowest node sets the "
                "pace",
            )
    if len(survey.clocks) > 1:
        apart = max(survey.clocks.values()) - min(survey.clocks.values()) - took_s
        if apart > _CLOCKS_S:
            first = min(survey.clocks, key=survey.clocks.__getitem__)
            last = max(survey.clocks, key=survey.clocks.__getitem__)
            yield note(
                "clocks",
                f"the clocks of {first} and {last} differ by at least {apart:.3g} s: times of "
                "files and logs cannot be compared",
                "run chronyd or ntpd on all nodes",
            )


def _cards(facts: Facts) -> str:
    kinds = Counter(f"{x.kind} {x.rate}" for x in facts.fabrics if x.up)
    kinds += Counter(f"{(i.speed_mbits or 0) / 1000:g} Gb/s {i.driver}" for i in fast(facts))
    return ", ".join(f"{n} x {kind}" for kind, n in sorted(kinds.items())) or "no fast card"


_COMPARED: dict[str, Callable[[Facts], str]] = {
    "processor": lambda f: f.cpu,
    "cores": lambda f: counted(f.cores, "core"),
    "memory": lambda f: f"{round(f.memory_bytes / 2**30 / 4) * 4 or 1} GiB",
    "network cards": _cards,
    "MTU": lambda f: (
        ", ".join(f"{i.name} {i.mtu}" for i in f.interfaces if not INTERNAL.match(i.name))
        or "no card"
    ),
    "kernel": lambda f: f.kernel,
}


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def judge_placement(
    placed: Sequence[Placed], nodes: Mapping[str, Facts], here: Facts
) -> Iterator[Finding]:
    """Judge where the ranks are: bound to cores, two on one core, spread over NUMA domains.

    `here`: this machine; nodes that are not known are taken to be like it.
    """
    by_node = grouped((rank.node, rank.cpus) for rank in placed)
    most = max(len(v) for v in by_node.values())
    unequal = len({len(v) for v in by_node.values()}) > 1
    words = (
        f"{counted(len(placed), 'rank')} on {counted(len(by_node), 'node')}, at most {most} on one"
    )
    words = f"started by the launcher: {words}"
    yield note("unequal-nodes", words) if unequal else fine("launch", words)
    yield from _binding(by_node, nodes, here)
    several = len(by_node) > 1
    for node, cpus in by_node.items():
        for one in _on_node(cpus, nodes.get(node, here)):
            yield replace(one, nodes=(node,) if several else ())


def _binding(
    by_node: Mapping[str, Sequence[tuple[int, ...]]], nodes: Mapping[str, Facts], here: Facts
) -> Iterator[Finding]:
    """Judge whether ranks are bound to one core each; one a node has the node to itself."""
    ranks = sum(map(len, by_node.values()))
    loose = free = 0
    crowded = False
    for node, masks in by_node.items():
        facts = nodes.get(node, here)
        crowded |= len(masks) > facts.cores
        for cpus in masks:
            loose += len(_cores_of(cpus, facts)) > 1
            free += set(cpus) >= set(facts.allowed)
    if not loose:
        yield fine("launch", "every rank is bound to one core")
    elif loose == free == ranks:
        yield finding(
            "note" if crowded or ranks == len(by_node) else "warning",
            "unbound",
            "ranks are not bound: the kernel moves them between cores and away from their memory",
            "Open MPI: --bind-to core; MPICH: -bind-to core; Slurm: --cpu-bind=cores; Intel MPI "
            "binds later, in MPI_Init (I_MPI_PIN=1)",
        )
    else:
        yield note(
            "wide-binding",
            f"{loose} of {counted(ranks, 'rank')} {'is' if loose == 1 else 'are'} bound to more "
            "than one core",
            "pure MPI programs: bind to cores; with threads, as many cores as threads",
        )


def _on_node(cpus: Sequence[tuple[int, ...]], facts: Facts) -> Iterator[Finding]:
    """Judge the ranks of one node: cores taken twice, domains left out."""
    single = [c for c in cpus if len(_cores_of(c, facts)) == 1]
    if len(set(single)) < len(single):
        yield problem(
            "same-core",
            "several ranks are bound to the same core",
            "for two launchers on one node, or nested jobs: switch off binding, or give each "
            "launcher separate cores",
        )
    cores = [core for c in set(single) for core in _cores_of(c, facts)]
    if len(set(cores)) < len(cores):
        yield warning(
            "hyperthreads",
            f"{len(cores)} ranks are bound to threads of {counted(len(set(cores)), 'core')}: two "
            "ranks share the execution units of one core",
            "bind one rank to each core: Open MPI --map-by core --bind-to core (without "
            "--use-hwthread-cpus); "
            "MPICH -bind-to core; Intel MPI I_MPI_PIN_CELL=core; Slurm --hint=nomultithread",
        )
    numa = {n: set(threads) for n, threads in facts.numa.items() if threads}  # some: memory only
    used = {n for n, threads in numa.items() for c in cpus if set(c) & threads}
    if len(numa) > 1 and len(used) == 1 and len(cpus) > 1:
        yield warning(
            "one-domain",
            f"all ranks are on one of {len(numa)} NUMA nodes: at least half of the memory "
            "bandwidth is not used",
            "spread them: Open MPI --map-by numa; MPICH -bind-to core -map-by numa; Slurm -m "
            "block:cyclic",
        )


def _cores_of(cpus: Sequence[int], facts: Facts) -> set[int]:
    """Return the cores, by their first hardware thread, of which a mask has one thread or more."""
    core = {cpu: group[0] for group in facts.siblings for cpu in group}
    return {core.get(cpu, cpu) for cpu in cpus}
