"""What candidates are compared with: native, and below 2 us the MPI with nothing preloaded.

In a launch with the interposer a native call passes through it, which costs some nanoseconds: where
a whole call takes a few hundred, that would count in our favour. There the same call is timed in
launches of its own without any library of ours (``bare``), and decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stretto.campaign.compare import (
    BARE,
    BATCHES_BELOW_US,
    NATIVE,
    Cell,
    Comparison,
    Timing,
    compare,
)

#: up to this size, on one node, calls may take less than 2 us, so that bare is measured beside them
BARE_BYTES = 32768


def with_bare(candidates: list[str], size: int, nodes: int) -> list[str]:
    """Return the candidates, with bare where native's own passing through may matter.

    Parameters
    ----------
    candidates
        What is measured.
    size, nodes
        Bytes, and nodes of the communicator.
    """
    if NATIVE not in candidates or BARE in candidates or size > BARE_BYTES or nodes > 1:
        return candidates
    return [*candidates, BARE]


def baseline_of(candidates: Mapping[str, Timing]) -> str:
    """Return what a cell's candidates are compared with.

    Parameters
    ----------
    candidates
        The cell's timings.
    """
    native = candidates.get(NATIVE)
    if native is None or (BARE in candidates and native.interval.median < BATCHES_BELOW_US):
        return BARE
    return NATIVE


def fair(times: Mapping[Cell, Mapping[str, Timing]]) -> list[Comparison]:
    """Compare every candidate with the baseline of its cell.

    Bare was measured in other processes, and processes differ: a candidate is faster only if it is
    faster than bare and, within the same processes, faster than native.

    Parameters
    ----------
    times
        From `stretto.campaign.compare.timings`.
    """
    beside = {(c.cell, c.candidate): c for c in compare(times, NATIVE)}
    out = []
    for c in compare(times, baseline_of):
        other = beside.get((c.cell, c.candidate))
        if c.baseline == BARE and c.outcome == "faster" and other and other.outcome != "faster":
            why = f"{c.why} than the bare MPI, but not than native in the same processes"
            c = replace(c, outcome="same", why=f"{why}: {other.why}")
        out.append(c)
    return out
