"""Interpolated rows and the model: each with its price, and what it finds hopeless to the MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stretto.errors import StrettoError
from stretto.files.identity import Family
from stretto.files.rows import Row
from stretto.measure.compare import NATIVE
from stretto.model.native import BASELINES, native_choice
from stretto.model.platform import Platform
from stretto.model.sweep import TOO_MANY, SimulatedCell, messages_of, seconds_of

#: what stands for an MPI that the model has no decisions of
STAND_IN = "openmpi"


def priced(
    rows: Sequence[Row], platform: Platform, family: Family, limit: float
) -> tuple[list[Row], list[str]]:
    """Return interpolated rows with the model's price, and a sentence for each that it refuses.

    Measured neighbours say that a choice is good on both sides; where it is hopeless by the model,
    something changes between them that nobody measured, and the MPI decides. So it does where the
    choice cannot be carried out. Where the model does not know what the MPI does, or there are too
    many messages, a row stays without a price.
    """
    out: list[Row] = []
    refused: list[str] = []
    for row in rows:
        ratio, why = None, ""
        try:
            ratio = None if row.choice.startswith(NATIVE) else _ratio(row, platform, family)
        except StrettoError as error:
            why = f"cannot be priced ({error.message})"
        if ratio is not None and ratio > limit:
            why = f"priced at {ratio:.1f} times the MPI's own decision"
        if why:
            refused.append(
                f"{row.collective} on {row.nodes}x{row.ppn} from {row.low} bytes on: {row.choice} "
                f"is interpolated, and {why} on {platform.name} (simulated): left to the MPI"
            )
            out.append(replace(row, choice=NATIVE, evidence={}))
        elif ratio is None:
            out.append(row)
        else:
            price = {"priced": f"{ratio:.3f}", "priced_source": "simulated"}
            out.append(replace(row, evidence={**row.evidence, **price}))
    return out, refused


def _ratio(row: Row, platform: Platform, family: Family) -> float | None:
    if row.nodes is None or row.ppn is None or not row.evidence.get("sizes"):
        return None
    baseline = family if family in BASELINES else STAND_IN
    found: list[float] = []
    for size in map(int, row.evidence["sizes"].split(",")):
        cell = SimulatedCell(row.collective, row.nodes, row.ppn, size)
        if messages_of(cell, row.choice) > TOO_MANY:
            return None
        own = seconds_of(cell, row.choice, platform)
        try:
            native = native_choice(baseline, row.collective, row.nodes * row.ppn, row.nodes, size)
            if messages_of(cell, native) > TOO_MANY:
                return None
            found.append(own / seconds_of(cell, native, platform))
        except StrettoError:
            return None  # the MPI's way is not described
    return max(found)
