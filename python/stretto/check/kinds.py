"""Kinds of findings, the costliest first: `stretto check` prints them in this order.

docs/reference/findings.md has a section for each: what it costs, how to see it, how to mend it.
"""

from __future__ import annotations

KINDS = (
    # nothing runs, or not what was asked for
    "no-mpi", "not-built", "no-start", "alone", "program-missing", "no-shm", "fabric-down",
    "locked-memory", "efa-missing", "cpu-quota", "same-core", "rules-missing",
    # can cost a factor of 10 and more
    "tcp-fallback", "tcp-within-node", "too-many-ranks", "busy", "shm-full",
    # can cost a factor of several
    "one-stream", "hyperthreads", "rules-overridden", "unknown-setting", "bad-version",
    # can cost a factor of 2
    "one-rail", "far-card", "unused-rail", "unbound", "one-domain", "wide-binding", "mixed-nodes",
    "mtu-mismatch", "socket-buffer", "two-copies", "governor", "part-of-node",
    # a few percent, or good to know
    "mpi-tool", "clocks", "clock-source", "old-mpi", "small-mtu", "numa-balancing", "huge-pages",
    "memory-limit", "process-limit", "rails", "unequal-nodes", "no-network", "assumed",
)  # fmt: skip
