"""What candidates are compared with: native, or the MPI with nothing preloaded.

All that is measured in one launch shares its effect (`bench/launch_noise.py`): native algorithms
are compared with bare where it shares their launches, and Stretto's with native. A native call that
passes through the interposer takes some nanoseconds more. Where that counts (below 2 us) the same
call is timed in launches without any library of ours (``bare``), which decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import Bench
from stretto.measure.compare import (
    BARE,
    BATCHES_BELOW_US,
    NATIVE,
    Cell,
    Comparison,
    Timing,
    common_launches,
    compare,
)
from stretto.mpi.algorithms.base import PREFIX

#: up to this size, on one node, calls may take less than 2 us, so that bare is measured beside them
BARE_BYTES = 32768


def with_bare(candidates: list[str], size: int, nodes: int) -> list[str]:
    """Return the candidates, with bare where native's own passing through may matter."""
    if NATIVE not in candidates or BARE in candidates or size > BARE_BYTES or nodes > 1:
        return candidates
    return [*candidates, BARE]


def need_baseline(bench: Bench, path: Path) -> None:
    if not bench.samples:
        cut = ": its last line is cut off" if bench.truncated else ""
        raise StrettoError(
            f"these results contain no measurement{cut}", path,
            "repeat the stretto bench command; it continues where it stopped",
        )  # fmt: skip
    if not {s.candidate for s in bench.samples} & {NATIVE, BARE}:
        raise StrettoError(
            "these results lack the baseline: neither native nor bare was measured", path,
            "measure it: stretto bench --candidates bare; for imported results, add a run without "
            "{algorithm}, or with the name default (Open MPI: 0)",
        )  # fmt: skip


def baseline_of(candidates: Mapping[str, Timing], name: str) -> str:
    if name.startswith(PREFIX) and BARE in candidates:
        mine, bare = (dict(candidates[n].by_launch) for n in (name, BARE))
        if common_launches(mine, bare):
            return BARE
    native = candidates.get(NATIVE)
    if native is None or (BARE in candidates and native.interval.median < BATCHES_BELOW_US):
        return BARE
    return NATIVE


def fair(times: Mapping[Cell, Mapping[str, Timing]], bare: bool = False) -> list[Comparison]:
    """Compare every candidate with the baseline of its cell; `bare`: with it wherever it is.

    Where bare was measured in other processes, a candidate is faster only if it is faster than bare
    and, within the same processes, faster than native: processes differ.
    """
    beside = {(c.cell, c.candidate): c for c in compare(times, NATIVE)}
    out = []

    def base(candidates: Mapping[str, Timing], name: str) -> str:
        return BARE if bare and BARE in candidates else baseline_of(candidates, name)

    for c in compare(times, base):
        other = beside.get((c.cell, c.candidate))
        alone = c.baseline == BARE and not c.paired
        if alone and c.outcome == "faster" and other and other.outcome != "faster":
            why = f"{c.why} than the bare MPI, but not than native in the same processes"
            c = replace(c, verdict=replace(c.verdict, outcome="same", why=f"{why}: {other.why}"))
        out.append(c)
    return out
