"""The network of the comparisons with SMPI: what a fast cluster's is like, and no more."""

from __future__ import annotations

import dataclasses

from stretto.model.platform import LEVELS, Link, Platform

_LINK = Link(latency=1.5e-6, send_overhead=0.4e-6, recv_overhead=0.4e-6, eager_bytes=65535.0)
#: everything that SMPI can express
PLATFORM = Platform(
    name="plain",
    description="latency, overheads, one interface of 12.5 GB/s a node, eager below 64 KiB",
    levels=dict.fromkeys(LEVELS, _LINK),
    nic_gap_byte=1 / 12.5e9,
    reduce_byte=0.1e-9,
    flag=0.0,
    flag_far=0.0,
)

#: the same with several ranks a node, their messages 0.3 us and 10 GB/s each. Phases through shared
#: memory are priced as trees of such messages here, which is what they are simulated as.
_LOCAL = dataclasses.replace(_LINK, latency=0.3e-6, gap_byte=1 / 10e9)
NODES = dataclasses.replace(
    PLATFORM,
    name="plain nodes",
    levels={level: _LOCAL if level in ("cache", "numa", "node") else _LINK for level in LEVELS},
    flag=1.1e-6,
    flag_far=1.1e-6,
    line_byte=1 / 10e9,
)
