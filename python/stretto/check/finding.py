"""A finding: what was looked at, how grave it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stretto.check.kinds import KINDS

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    topic
        ``cpu``, ``memory``, ``network``, ``mpi``, ``launch``.
    severity
        ``ok``; ``note`` (good to know); ``warning`` (costs speed); ``problem`` (will not work).
    text
        What was found.
    remedy
        What to do about it.
    kind
        One of `KINDS`, empty for what is in order.
    seen
        The evidence, where the text does not say it all: a line of the MPI's output, say.
    nodes
        The nodes it is about; empty for this machine or all nodes.
    """

    topic: str
    severity: Severity
    text: str
    remedy: str | None = None
    kind: str = ""
    seen: str | None = None
    nodes: tuple[str, ...] = ()


def worst(findings: Sequence[Finding]) -> Severity:
    """Return the gravest severity among findings."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default="ok")


def by_cost(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of what they cost, the worst first."""
    order = {kind: at for at, kind in enumerate(KINDS)}
    return sorted(
        findings, key=lambda f: (-SEVERITIES.index(f.severity), order.get(f.kind, len(order)))
    )


def size_words(number: int) -> str:
    """Return a number of bytes in words: ``4 GiB``."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1024, "KiB")):
        if number >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number} B"
