"""The parameters of a platform: unit, range, meaning; the same as ``src/plan/platform.def``.

A test compares the two, so that neither can change alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    `name`, `unit`, `low`, `high`, `help`: as in ``platform.def``.
    """

    name: str
    unit: str
    low: float
    high: float
    help: str


#: how a value of a unit may be written in a file: word, and what it is in seconds or bytes
UNITS: dict[str, dict[str, float]] = {
    "s": {"us": 1e-6, "ns": 1e-9, "ms": 1e-3, "s": 1.0},
    "s/B": {"GBps": 1e9, "MBps": 1e6, "s_per_byte": 1.0},
    "B": {"bytes": 1.0},
    "1/s": {"per_second": 1.0},
    "count": {"value": 1.0},
    "ratio": {"value": 1.0},
    "flag": {"value": 1.0},
    "word": {"value": 1.0},
}
#: what the numbers of a parameter whose unit is ``word`` stand for (``stretto_rail_use``)
WORDS: dict[str, tuple[str, ...]] = {"rail_use": ("by_core", "by_local_rank", "striped")}

LEVEL: dict[str, Parameter] = {
    p.name: p
    for p in (
        Parameter(
            "latency",
            "s",
            0,
            1,
            "last byte sent to last byte there, without the overheads and without time per byte",
        ),
        Parameter("send_overhead", "s", 0, 1, "the sender's core is busy with one message (o_s)"),
        Parameter(
            "recv_overhead",
            "s",
            0,
            1,
            "the receiver's core is busy with one message (o_r), while it waits for it",
        ),
        Parameter(
            "send_byte",
            "s/B",
            0,
            0.001,
            "the sender's core is busy for each byte (copying, TCP in the kernel)",
        ),
        Parameter("recv_byte", "s/B", 0, 0.001, "the receiver's core is busy for each byte"),
        Parameter(
            "gap_message",
            "s",
            0,
            1,
            "from one message of a rank to its next at the least (g)",
        ),
        Parameter(
            "gap_byte",
            "s/B",
            0,
            0.001,
            "1 / bandwidth of one flow (G): the messages from one rank to one other, as in one "
            "TCP stream",
        ),
        Parameter(
            "eager_bytes",
            "B",
            0,
            1e15,
            "longest message that is sent without asking; longer ones wait for the receiver "
            "(rendezvous)",
        ),
        Parameter(
            "rendezvous",
            "s",
            0,
            1,
            "work of a rendezvous besides its two latencies (request to send, clear to send)",
        ),
        Parameter(
            "unexpected",
            "s",
            0,
            1,
            "more receive overhead of an eager message that came before its receive",
        ),
        Parameter(
            "unexpected_byte",
            "s/B",
            0,
            0.001,
            "the same for each byte: the copy out of the MPI's buffer",
        ),
    )
}

PLAIN: dict[str, Parameter] = {
    p.name: p
    for p in (
        Parameter("rails", "count", 1, 64, "network interfaces of a node"),
        Parameter("nic_gap_message", "s", 0, 1, "1 / message rate of one interface, sending"),
        Parameter(
            "nic_recv_gap_message",
            "s",
            0,
            1,
            "1 / message rate of one interface, receiving",
        ),
        Parameter("nic_gap_byte", "s/B", 0, 0.001, "1 / bandwidth of one interface, each way"),
        Parameter(
            "rail_use",
            "word",
            0,
            2,
            "rails of a rank's messages: by_core, by_local_rank (each rank has one rail), or "
            "striped",
        ),
        Parameter(
            "stripe_bytes",
            "B",
            0,
            1e15,
            "striped: messages from so many bytes on use all rails at once; shorter ones that of "
            "their rank's core",
        ),
        Parameter(
            "group_nodes",
            "count",
            0,
            1e07,
            "nodes of one leaf switch, in the order of the nodes; 0: all of them",
        ),
        Parameter("group_latency", "s", 0, 1, "more latency between groups"),
        Parameter(
            "oversubscription",
            "ratio",
            1,
            1000,
            "bandwidth of a group's interfaces / bandwidth of its uplinks; at 1 the fabric is "
            "never in the way",
        ),
        Parameter(
            "uplinks",
            "count",
            1,
            4096,
            "uplinks of a group that share that bandwidth; a flow stays on one of them unless "
            "multipath",
        ),
        Parameter(
            "multipath",
            "flag",
            0,
            1,
            "packets of one message take all uplinks at once (as in AWS SRD)",
        ),
        Parameter(
            "packet_bytes",
            "B",
            1,
            1e15,
            "bytes of a packet: long messages share an interface by packets",
        ),
        Parameter(
            "reorder",
            "s",
            0,
            1,
            "multipath: packets come late by 0 to this much, and the message is there when the "
            "last one is",
        ),
        Parameter(
            "cores",
            "count",
            1,
            4096,
            "cores of a node; local rank i of n sits on core i, or i * cores / n when spread",
        ),
        Parameter(
            "cores_cache",
            "count",
            1,
            4096,
            "neighbouring cores that share a last-level cache",
        ),
        Parameter(
            "cores_numa",
            "count",
            1,
            4096,
            "neighbouring cores that share a memory (NUMA domain)",
        ),
        Parameter(
            "spread",
            "flag",
            0,
            1,
            "ranks are spread evenly over the cores; always where ranks outnumber them",
        ),
        Parameter("copy", "s", 0, 1, "start of a local copy"),
        Parameter("copy_byte", "s/B", 0, 0.001, "a local copy, for each byte"),
        Parameter("reduce", "s", 0, 1, "start of a local reduction"),
        Parameter(
            "reduce_byte",
            "s/B",
            0,
            0.001,
            "a local reduction, for each byte of one operand (gamma)",
        ),
        Parameter(
            "memory_byte",
            "s/B",
            0,
            0.001,
            "1 / bandwidth of a NUMA domain's memory, which its ranks share, for a byte copied "
            "or reduced",
        ),
        Parameter(
            "cache_bytes",
            "B",
            0,
            1e15,
            "copies and reductions of fewer bytes stay in the caches",
        ),
        Parameter(
            "flag",
            "s",
            0,
            1,
            "a cache line from core to core, within a NUMA domain: written to seen",
        ),
        Parameter("flag_far", "s", 0, 1, "the same to another NUMA domain of the node"),
        Parameter(
            "flag_next",
            "s",
            0,
            1,
            "each further line that a rank reads from others in the same step",
        ),
        Parameter(
            "line_byte",
            "s/B",
            0,
            0.001,
            "small messages: each byte beyond the first line, written and read",
        ),
        Parameter(
            "fan",
            "count",
            2,
            64,
            "ranks that read one another's lines directly (STRETTO_NODE_FAN)",
        ),
        Parameter("small_bytes", "B", 0, 1e15, "longest message that goes through lines"),
        Parameter(
            "chunk_bytes",
            "B",
            64,
            1e15,
            "longer ones are cut into such chunks and pipelined",
        ),
        Parameter(
            "latency_sigma",
            "ratio",
            0,
            10,
            "latencies are multiplied by exp(sigma x - sigma^2 / 2), x normal: mean 1; 0 = none",
        ),
        Parameter(
            "detour_rate",
            "1/s",
            0,
            1e09,
            "interruptions of a busy core in a second (Poisson); 0 = none",
        ),
        Parameter("detour", "s", 0, 10, "mean length of an interruption (exponential)"),
    )
}
