"""A finding: what was looked at, how grave it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from stretto.errors import UsageError

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")
#: kinds of findings with their topic, the costliest first: `stretto check` prints them in this
#: order, and docs/reference/findings.md has a section for each
KINDS = {
    # nothing runs, or not what was asked for
    "no-mpi": "mpi", "not-built": "mpi", "no-start": "launch", "alone": "launch",
    "program-missing": "launch", "no-shm": "memory", "fabric-down": "network",
    "locked-memory": "network", "efa-missing": "network", "cpu-quota": "cpu",
    "same-core": "launch", "rules-missing": "launch",
    # can cost a factor of 10 and more
    "tcp-fallback": "network", "tcp-within-node": "network", "too-many-ranks": "cpu",
    "busy": "cpu", "shm-full": "memory",
    # can cost a factor of several
    "one-stream": "network", "hyperthreads": "launch", "rules-overridden": "launch",
    "unknown-setting": "launch", "bad-version": "mpi",
    # can cost a factor of 2
    "one-rail": "network", "far-card": "launch", "unused-rail": "launch", "unbound": "launch",
    "one-domain": "launch", "wide-binding": "launch", "mixed-nodes": "cpu",
    "mtu-mismatch": "network", "socket-buffer": "network", "two-copies": "memory",
    "governor": "cpu", "part-of-node": "cpu",
    # a few percent, or good to know
    "mpi-tool": "launch", "clocks": "cpu", "clock-source": "cpu", "old-mpi": "mpi",
    "small-mtu": "network", "numa-balancing": "cpu", "huge-pages": "memory",
    "dead-segments": "memory", "memory-limit": "memory", "process-limit": "cpu", "rails": "network",
    "unequal-nodes": "launch", "no-network": "network", "assumed": "launch",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    `severity`: ``ok``; ``note`` (good to know); ``warning`` (costs speed); ``problem`` (will not
    work). `kind`: one of `KINDS`, empty for what is in order. `seen`: the evidence, where the text
    does not say it all. `nodes`: those it is about; empty for this machine or all nodes.
    """

    topic: str
    severity: Severity
    text: str
    remedy: str | None = None
    kind: str = ""
    seen: str | None = None
    nodes: tuple[str, ...] = ()


def finding(
    severity: Severity,
    kind: str,
    text: str,
    remedy: str | None = None,
    seen: str | None = None,
    nodes: tuple[str, ...] = (),
) -> Finding:
    return Finding(KINDS[kind], severity, text, remedy, kind, seen, nodes)


note, warning, problem = (partial(finding, s) for s in ("note", "warning", "problem"))


def fine(topic: str, text: str) -> Finding:
    return Finding(topic, "ok", text)


def read_kinds(text: str) -> set[str]:
    """Return the kinds in a list such as ``huge-pages,busy``."""
    found = {word.strip() for word in text.split(",") if word.strip()}
    if found - set(KINDS):
        raise UsageError(
            f"{sorted(found - set(KINDS))[0]!r} is not a kind of finding", "--ignore",
            "write names as printed in brackets: huge-pages,busy",
        )  # fmt: skip
    return found


def worst(findings: Sequence[Finding]) -> Severity:
    return max((f.severity for f in findings), key=SEVERITIES.index, default="ok")


def by_cost(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of what they cost, the worst first."""
    order = {kind: at for at, kind in enumerate(KINDS)}
    return sorted(
        findings, key=lambda f: (-SEVERITIES.index(f.severity), order.get(f.kind, len(order)))
    )
