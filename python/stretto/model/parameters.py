"""The parameters of a platform: unit, range, meaning; from ``src/plan/platform.def``."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

from stretto.plan import plan_library, taken


@dataclass(frozen=True)
class Parameter:
    name: str
    unit: str
    low: float
    high: float
    default: float
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


@functools.cache
def parameters(scope: str) -> dict[str, Parameter]:
    """Return the parameters of a level (``level``), or those of a whole platform (``platform``)."""
    rows = json.loads(taken(plan_library().stretto_export_parameters()))
    return {
        r["name"]: Parameter(r["name"], r["unit"], r["min"], r["max"], r["default"], r["help"])
        for r in rows
        if r["scope"] == scope
    }
