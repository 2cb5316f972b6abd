"""The network of the comparisons with SMPI: what a fast cluster's is like, and no more."""

from __future__ import annotations

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
