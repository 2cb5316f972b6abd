"""The numbers of a profile that the causes of lost time are made of."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path

from stretto.counted import counted, seconds
from stretto.files.profile import Call, Profile
from stretto.profile.show import awaits_message, compute_s

#: below this share of the run a cause is minor
MINOR = 0.03
#: of all file time, when one rank's is serial I/O
SERIAL_SHARE = 0.6
#: and the mean of the others is at most this part of that rank's
SERIAL_OTHERS = 0.25
#: fewer barriers than this a rank are no cause of anything
FEW_BARRIERS = 10
#: communicators that so few calls of a rank make are those of the start of the program
FEW_CREATIONS = 10
#: calls of a rank from which on their median is taken as typical; fewer carry no verdict
ENOUGH_CALLS = 20


@dataclass(frozen=True)
class Network:
    """What communication should cost: seconds and bytes a second, within a node and between nodes.

    The defaults are those of common machines (shared memory; a 25 Gbit/s cloud network); they
    judge, they do not measure.
    """

    node_latency_s: float = 0.05e-6
    node_message_s: float = 1e-6
    node_bandwidth: float = 8e9
    latency_s: float = 10e-6
    bandwidth: float = 2e9


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def collective_of(call: Call) -> str:
    """Return which function a row's time is of: for a wait the one that is awaited."""
    return call.detail or call.function if call.kind == "wait" else call.function


def volume_of(call: Call) -> float:
    """Bytes of all calls of a row; of waits, which count none, by their sizes' middle."""
    if call.kind != "wait":
        return float(sum(call.bytes))
    return call.total_calls * (call.bytes_min + call.bytes_max) / 2


def few(call: Call) -> bool:
    """Whether a row has too few calls to separate the algorithm from a disturbed call."""
    return max(call.calls) < ENOUGH_CALLS


class Numbers:
    """What waiting, messages, files and collectives take, and the least they should take."""

    def __init__(self, profile: Profile, where: Path | None, network: Network) -> None:
        self.p = profile
        self.net = network
        self.n = profile.nranks
        self.wall = max(max(profile.wall_s), 1e-9)
        self.compute = compute_s(profile)
        self.command = shlex.join(profile.command)
        self.file = where
        self.sizes = {c.id: c for c in profile.communicators}
        self.blocking = [c for c in profile.calls if c.kind == "collective"]

    def messages(self) -> tuple[float, float, float, float, float]:
        """Return waiting for messages, what goes to each, to bytes and to packing, time spent."""
        node_of = {r: i for i, node in enumerate(self.p.nodes) for r in node.ranks}
        single, moved = [0.0] * self.n, [0.0] * self.n
        for source, target, messages, volume in self.p.matrix.messages:
            if node_of[source] == node_of[target]:
                each, rate = self.net.node_message_s, self.net.node_bandwidth
            else:
                each, rate = self.net.latency_s, self.net.bandwidth
            for rank in (source, target):
                single[rank] += messages * each
                moved[rank] += volume / rate
        spent = [0.0] * self.n
        for call in self.p.calls:
            if call.kind == "p2p" or awaits_message(call):
                for r, time_s in enumerate(call.time_s):
                    spent[r] += time_s
        cost = [a + b for a, b in zip(single, moved, strict=True)]
        beyond = [max(s - c, 0.0) for s, c in zip(spent, cost, strict=True)]
        packing = [min(b, p) for b, p in zip(beyond, self.packing(), strict=True)]
        # who spends less than they should cost does so in both
        part = [min(s / c, 1.0) if c > 0 else 0.0 for s, c in zip(spent, cost, strict=True)]
        return (
            mean([b - p for b, p in zip(beyond, packing, strict=True)]),
            mean([a * p for a, p in zip(single, part, strict=True)]),
            mean([b * p for b, p in zip(moved, part, strict=True)]),
            mean(packing),
            mean(spent),
        )

    def messages_a_rank(self) -> float:
        """Return how many messages a rank sends and receives, in the mean."""
        return 2 * sum(m[2] for m in self.p.matrix.messages) / self.n

    def messages_words(self) -> str:
        return f"{counted(round(self.messages_a_rank()), 'message')} per rank"

    def assumed_words(self) -> str:
        """Return what a message should cost, where messages go."""
        node_of = {r: i for i, node in enumerate(self.p.nodes) for r in node.ranks}
        far = {node_of[s] != node_of[t] for s, t, *_ in self.p.matrix.messages}
        near = f"{seconds(self.net.node_message_s)} within a node"
        between = f"{seconds(self.net.latency_s)} between nodes (--latency)"
        return " and ".join([near] * (far != {True}) + [between] * (True in far))

    def packing(self) -> list[float]:
        """Return what packing derived datatypes takes beyond copies, by rank.

        Measured where they are sent; unpacking a byte is taken to cost as much as packing one.
        """
        measured = [c for c in self.p.calls if c.pack_s is not None]
        size = sum(sum(c.bytes) for c in measured)
        each = sum(sum(c.pack_s or []) for c in measured) / size if size else 0.0
        types = {c.datatype for c in measured}
        out = [0.0] * self.n
        for call in self.p.calls:
            if call.kind != "p2p" or call.datatype not in types:
                continue
            if call.pack_s is not None:
                out = [a + b for a, b in zip(out, call.pack_s, strict=True)]
            if "recv" in call.function.lower():
                out = [a + each * b for a, b in zip(out, call.bytes, strict=True)]
        return out

    def least(self, call: Call) -> tuple[float, float]:
        """Return latency and volume parts of the least that a row's calls should take, a rank."""
        c = self.sizes.get(-1 if call.communicator is None else call.communicator)
        ranks, nodes, ppn = (c.size, max(c.nodes, 1), max(c.ppn, 1)) if c else (self.n, 1, self.n)
        calls = sum(call.calls) / self.n
        depth = math.ceil(math.log2(max(ppn, 1))) * self.net.node_latency_s
        depth += math.ceil(math.log2(max(nodes, 1))) * self.net.latency_s
        volume = volume_of(call) / self.n
        name = collective_of(call).lower().removesuffix("_init")
        if any(part in name for part in ("alltoall", "allgather", "reduce_scatter")):
            volume *= max(ranks - 1, 1)
        elif name.endswith("allreduce"):
            volume *= 2 * (ranks - 1) / max(ranks, 1)
        rate = self.net.bandwidth if nodes > 1 else self.net.node_bandwidth
        return calls * depth, volume / rate

    def collectives(
        self, calls: list[Call]
    ) -> tuple[float, float, float, list[tuple[float, Call]]]:
        """Return what goes to algorithms, volume and interruptions, and the rows by their loss."""
        algorithm = volume = interrupted = 0.0
        shapes = []
        for call in calls:
            if call.transfer_s is None or few(call):
                continue
            whole = mean(call.transfer_s)
            transfer = min(whole, self.typical(call))
            interrupted += whole - transfer
            latency, moving = self.least(call)
            lost = max(transfer - latency - moving, 0.0)
            algorithm += lost
            volume += min(moving, max(transfer - latency, 0.0))
            shapes.append((lost, call))
        return algorithm, volume, interrupted, sorted(shapes, key=lambda s: -s[0])

    def typical(self, call: Call) -> float:
        """Return a row's operation time, a rank, were all its calls like the median one.

        A few calls tell nothing of what is typical.
        """
        whole = mean(call.transfer_s or call.time_s)
        if call.typical_s is None or call.sampled < ENOUGH_CALLS:
            return whole
        return min(whole, call.typical_s * sum(call.calls) / self.n)
