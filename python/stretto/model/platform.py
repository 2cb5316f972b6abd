"""A platform: what a message, a copy and a node phase cost on one kind of cluster.

The dataclasses mirror ``src/plan/platform.def``, where every parameter has its unit, its range and
its meaning; `parameters` gives that list. Seconds and bytes throughout; counts and flags are floats
too, as in C.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


#: From near to far, as in ``stretto_level`` (src/plan/price.h).
LEVELS = ("cache", "numa", "node", "rail", "network")
RAIL_USE = WORDS["rail_use"]
#: before the software whose figures a source is of, where it is not Stretto
MEASURED_BY = "measured by "


@dataclass(frozen=True)
class Link:
    """What one message between two ranks of a level costs; see ``platform.def``."""

    latency: float = 1e-06
    send_overhead: float = 0.0
    recv_overhead: float = 0.0
    send_byte: float = 0.0
    recv_byte: float = 0.0
    gap_message: float = 0.0
    gap_byte: float = 0.0
    eager_bytes: float = 8192.0
    rendezvous: float = 0.0
    unexpected: float = 0.0
    unexpected_byte: float = 0.0


@dataclass(frozen=True)
class Platform:
    """One kind of cluster.

    `name`, `description`: for people.
    `levels`: `Link` by name of the level; all of `LEVELS` are there.
    `sources`: where a parameter's value comes from: ``{"nic_gap_byte": "osu_mbw_mr, 36 pairs"}``, a
    level's as ``"rail.latency"``.
    """

    name: str = "unnamed"
    description: str = ""
    levels: Mapping[str, Link] = field(default_factory=lambda: {n: Link() for n in LEVELS})
    sources: Mapping[str, str] = field(default_factory=dict)
    rails: float = 1.0
    nic_gap_message: float = 0.0
    nic_recv_gap_message: float = 0.0
    nic_gap_byte: float = 0.0
    rail_use: float = 0.0
    stripe_bytes: float = 0.0
    group_nodes: float = 0.0
    group_latency: float = 0.0
    oversubscription: float = 1.0
    uplinks: float = 1.0
    multipath: float = 0.0
    packet_bytes: float = 8192.0
    reorder: float = 0.0
    cores: float = 64.0
    cores_cache: float = 64.0
    cores_numa: float = 64.0
    spread: float = 0.0
    copy: float = 0.0
    copy_byte: float = 0.0
    reduce: float = 0.0
    reduce_byte: float = 0.0
    memory_byte: float = 0.0
    cache_bytes: float = 1000000000000000.0
    flag: float = 1e-07
    flag_far: float = 1e-07
    flag_next: float = 0.0
    line_byte: float = 0.0
    fan: float = 8.0
    small_bytes: float = 4144.0
    chunk_bytes: float = 16384.0
    latency_sigma: float = 0.0
    detour_rate: float = 0.0
    detour: float = 0.0

    def numbers(self) -> list[float]:
        """Return all parameters in the order of ``stretto_platform``."""
        links = [
            float(getattr(self.levels[level], f.name))
            for level in LEVELS
            for f in dataclasses.fields(Link)
        ]
        return links + [float(getattr(self, name)) for name in plain()]

    @property
    def striped(self) -> bool:
        """Whether one message can use all rails; else each rank has one."""
        return RAIL_USE[int(self.rail_use)] == "striped"

    def rails_used(self, ranks: int) -> int:
        """Return how many of a node's rails its ranks use between them."""
        rails, cores = int(self.rails), int(self.cores)
        if self.striped:
            return rails
        if RAIL_USE[int(self.rail_use)] == "by_local_rank":
            return min(rails, ranks)
        spread = self.spread > 0 or ranks > cores
        at = (i * cores // ranks if spread else i for i in range(ranks))
        return len({core * rails // cores for core in at})


def foreign_note(platform: Platform) -> str | None:
    """Return that a platform is made of another software's figures; None where it is not."""
    form = re.compile(rf"{MEASURED_BY}([^,]+(?:, (?:OSU|IMB)\b[^,]*)*)")
    matches = (form.search(source) for source in platform.sources.values())
    found = dict.fromkeys(match[1] for match in matches if match)
    if not found:
        return None
    return f"platform {platform.name} is fitted to figures {MEASURED_BY}{'; '.join(found)}"


def crowded_note(platform: Platform, ppns: Sequence[int]) -> str | None:
    """Return that nodes have fewer cores than ranks; None where they have enough."""
    cores = int(platform.cores)
    many = [str(p) for p in ppns if p > cores]
    if not many:
        return None
    return (
        f"{', '.join(many)} ranks per node (--ppn), but {platform.name} has {cores} cores per "
        "node: the prediction assumes a core for each rank"
    )


def plain() -> list[str]:
    """Return the names of the parameters that are not a level's, in order."""
    words = ("name", "description", "levels", "sources")
    return [f.name for f in dataclasses.fields(Platform) if f.name not in words]
