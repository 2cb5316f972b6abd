"""Fitting a platform: the network from point-to-point and multi-pair curves, the node from its own.

What is fitted is the closed form of each benchmark under the model (`predict`), by least squares of
the logarithms, so that every size counts alike; the same input gives the same platform. What the
measurements do not say is taken from a base platform, with its source.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stretto.errors import StrettoError
from stretto.model.measurements import Residual, Series
from stretto.model.platform import MEASURED_BY as BY
from stretto.model.platform import Link, Platform
from stretto.model.price import price

SENDS = ("sends", "node_sends")


@dataclass(frozen=True)
class Fit:
    """A fitted platform, and how well it fits."""

    platform: Platform
    residuals: tuple[Residual, ...]
    notes: tuple[str, ...]

    @property
    def median_factor(self) -> float:
        """Median over all values of how far fit and measurement are apart, as a factor >= 1."""
        return float(np.median([math.exp(abs(math.log(r.ratio))) for r in self.residuals]))


def in_a_window(link: Link, nbytes: int, nic_gap: float, nic_byte: float) -> float:
    """Return the time from one message of a long row of them to the next, sent nonblocking."""
    return max(
        link.send_overhead + link.send_byte * nbytes,
        link.recv_overhead + link.recv_byte * nbytes,
        link.gap_byte * nbytes,
        nic_gap,
        nic_byte * nbytes,
    )


def one_way(link: Link, nbytes: int, nic_byte: float = 0.0) -> float:
    """Return the time of one message, from the send to the end of the receive."""
    core = link.send_overhead + link.recv_overhead + (link.send_byte + link.recv_byte) * nbytes
    asked = link.rendezvous + 2 * link.latency if nbytes > link.eager_bytes else 0.0
    return core + asked + link.latency + max(link.gap_byte, nic_byte) * nbytes


def predict(
    series: Series, link: Link, nic_gap: float, nic_byte: float, nbytes: int, rails: int = 1
) -> float:
    """Return what the model says of one measured value, in its unit (us or MB/s)."""
    if series.kind in ("latency", "node_latency"):
        return 1e6 * one_way(link, nbytes, nic_byte)
    if series.kind in SENDS:
        waits = link.rendezvous + 2 * link.latency if nbytes > link.eager_bytes else 0.0
        each = max(in_a_window(link, nbytes, nic_gap, nic_byte), link.gap_message)
        return 1e6 * (each + waits)
    # The window's end is not counted apart: of messages in a row TCP puts several into one packet,
    # so that a row's rate would make the single messages of a collective too cheap.
    asked = (link.rendezvous + 2 * link.latency if nbytes > link.eager_bytes else 0.0) / (
        series.window
    )
    if series.kind == "multi_pair":
        pairs = series.pairs
        each = in_a_window(link, nbytes, pairs / rails * nic_gap, pairs / rails * nic_byte)
        return 1e-6 * pairs * nbytes / (each + asked)
    each = in_a_window(link, nbytes, nic_gap, nic_byte)
    if series.kind == "bibandwidth":
        core = 2 * (link.send_overhead + link.send_byte * nbytes)
        return 2e-6 * nbytes / (max(each, core) + asked)
    return 1e-6 * nbytes / (each + asked)


def _link(values: Sequence[float], eager: float) -> Link:
    latency, overhead, byte, gap, rendezvous, *send = values
    return Link(
        latency=latency, send_overhead=overhead, recv_overhead=overhead, send_byte=byte,
        recv_byte=byte, gap_message=sum(send), gap_byte=gap, eager_bytes=eager,
        rendezvous=rendezvous,
    )  # fmt: skip


def _starts(
    latency: Series,
    bandwidth: Series | None,
    sends: Series | None,
    multi: Series | None,
    rails: int,
) -> list[list[float]]:
    """Return first values: as the ends of the curves give them, bandwidth read in two ways."""
    small = min(v for _, v in latency.points) * 1e-6
    last_n, last_t = latency.points[-1]
    slopes = [max(last_t * 1e-6 - small, 0.1 * small) / max(last_n, 1)]
    overhead = 0.1 * small
    if bandwidth is not None:
        overhead = min(0.4 * small, min(n / (v * 1e6) for n, v in bandwidth.points if n > 0))
        slopes.append(1e-6 / max(v for _, v in bandwidth.points))
    rest = [] if sends is None else [min(v for _, v in sends.points) * 1e-6]
    if multi is not None:
        rest += [
            rails * min(n / (v * 1e6) for n, v in multi.points if n > 0),
            rails * 1e-6 / max(v for _, v in multi.points),
        ]
    return [[small - 2 * overhead, overhead, 0.2 * g, g, 0.5 * small, *rest] for g in slopes]


def fit_level(
    curves: Sequence[Series], base: Platform, network: bool
) -> tuple[Link, float, float, tuple[Residual, ...]]:
    """Fit one level's link, and of the network also the interface (gap a message, gap a byte)."""
    latency = next((s for s in curves if s.kind in ("latency", "node_latency")), None)
    if latency is None:
        raise StrettoError(
            "a fit needs measured latencies", remedy="add latency=FILE (and node_latency=FILE)"
        )
    multi = next((s for s in curves if s.kind == "multi_pair"), None)
    small = min(v for _, v in latency.points) * 1e-6
    rails = base.rails_used(multi.pairs) if multi else 1
    sends = next((s for s in curves if s.kind in SENDS), None)
    starts = _starts(
        latency, next((s for s in curves if "bandwidth" in s.kind), None), sends, multi, rails
    )
    own = 5 if sends is None else 6

    def values_of(x: np.ndarray) -> tuple[list[float], float, float]:
        v = [float(e) for e in np.exp(x)]
        return v[:own], (v[own] if multi else 0.0), (v[own + 1] if multi else 0.0)

    weights = {s: 1.0 / math.sqrt(len(s.points)) for s in curves}  # every curve counts alike

    def misfit(eager: float) -> Callable[[np.ndarray], np.ndarray]:
        def difference(x: np.ndarray) -> np.ndarray:
            values, gap, byte = values_of(x)
            link = _link(values, eager)
            return np.array([
                math.log(predict(s, link, gap, byte, n, rails) / value) * weights[s]
                for s in curves for n, value in s.points if n > 0
            ])  # fmt: skip

        return difference

    best: tuple[float, float, np.ndarray] | None = None
    for eager in (float(n) for n, _ in latency.points if n >= 512):
        for start in starts:
            low = np.log(start) - np.log(300.0)
            low[0] = min(np.log(0.3 * small), np.log(start[0]) - 0.1)  # a latency is no overhead
            cost, x = _least(misfit(eager), start, 300.0, 0.05, 100, low)
            if best is None or cost < best[0] * (1 - 1e-9):
                best = (cost, eager, x)
    if best is None:
        raise StrettoError("a fit needs sizes of 512 B and more", latency.place, "measure them")
    values, gap, byte = values_of(best[2])
    if values[2] < 0.02 * values[3]:
        values[2] = 0.0  # lost in the time per byte of the wire
    if sends is not None and values[5] <= values[1]:
        values[5] = 0.0  # a send costs no more than its overhead
    link = _link([_rounded(v) for v in values], best[1])
    gap, byte = (_rounded(gap), _rounded(byte)) if network else (0.0, 0.0)
    residuals = tuple(
        Residual(s.kind, s.place, n, value, predict(s, link, gap, byte, n, rails))
        for s in curves for n, value in s.points if n > 0
    )  # fmt: skip
    return link, gap, byte, residuals


def _least(
    misfit: Callable[[np.ndarray], np.ndarray],
    start: Sequence[float],
    reach: float,
    scale: float,
    most: int,
    low: np.ndarray | None = None,
    **more: Any,
) -> tuple[float, np.ndarray]:
    """Return the cost, and the logarithms of the values within `reach` that fit best."""
    from scipy.optimize import least_squares  # an extra: only fitting needs it

    first = np.log(start)
    ends = (first - math.log(reach) if low is None else low, first + math.log(reach))
    found = least_squares(
        misfit, first, bounds=ends, loss="soft_l1", f_scale=scale, max_nfev=most, **more
    )
    return float(found.cost), found.x


def _rounded(value: float) -> float:
    """Return four digits: more would only pretend, and files say what was used to the last bit."""
    return float(f"{value:.4g}")


def fit(name: str, curves: Sequence[Series], base: Platform, when: str) -> Fit:
    levels, sources = dict(base.levels), dict(base.sources)
    changed: dict[str, float] = {}
    residuals: list[Residual] = []
    notes: list[str] = []
    others: list[str] = []
    groups: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
        (
            "network",
            ("latency", "bandwidth", "bibandwidth", "multi_pair", "sends"),
            ("rail", "network"),
        ),
        ("node", ("node_latency", "node_bandwidth", "node_sends"), ("cache", "numa", "node")),
    )
    for what, kinds, members in groups:
        own = [s for s in curves if s.kind in kinds]
        if not own:
            notes.append(f"no measurement of {what}: values of {base.name}")
            continue
        link, gap, byte, found = fit_level(own, base, what == "network")
        residuals += found
        words = ", ".join(dict.fromkeys(Path(s.place.split(" (")[0]).name for s in own))
        software = list(dict.fromkeys(s.software for s in own if s.software))
        others += [name for name in software if name not in others]
        source = f"fitted: {words}{f', {BY}' * bool(software)}{', '.join(software)}, {when}"
        for member in members:
            levels[member] = link
            for key in (f.name for f in dataclasses.fields(Link)):
                sources.pop(f"{member}.{key}", None)
                if getattr(link, key) != getattr(Link(), key):
                    sources[f"{member}.{key}"] = source
            sources[f"{member}.latency"] = sources[f"{member}.eager_bytes"] = source
        if gap or byte:
            changed |= {"nic_gap_message": gap, "nic_recv_gap_message": gap, "nic_gap_byte": byte}
            sources |= dict.fromkeys(changed, source)
        if what == "network" and not any(s.kind == "multi_pair" for s in own):
            notes.append("no measurement of multi_pair: rates of the interface as in " + base.name)
    whose = f" to figures {BY}{', '.join(others)}" if others else ""
    words = f"Fitted by stretto platform fit{whose}; otherwise as {base.name}."
    platform = dataclasses.replace(
        base, name=name, description=words,
        levels=levels, sources=sources, **changed,
    )  # fmt: skip
    nodal = [s for s in curves if s.kind in ("node_bcast", "node_allreduce")]
    if nodal:
        platform, priced = fit_node(platform, nodal, when)
        residuals += priced
    return Fit(platform, tuple(residuals), tuple(notes))


#: the parameters of node phases that times of bcast and allreduce determine
_NAMES = ("flag", "flag_next", "line_byte", "copy_byte", "reduce_byte", "memory_byte")
_START = (1.5e-7, 5e-8, 1e-10, 1e-10, 1e-10, 1e-11)
#: at most so many sizes of a curve: every evaluation prices them all
_SIZES = 12


def _with(platform: Platform, values: Sequence[float]) -> Platform:
    found = {n: float(f"{v:.4g}") for n, v in zip(_NAMES, values, strict=True)}
    found["flag_far"] = max(platform.flag_far / max(platform.flag, 1e-12), 1.0) * found["flag"]
    return dataclasses.replace(platform, **found)  # type: ignore[arg-type]


def _thinned(series: Series) -> list[tuple[int, float]]:
    points = list(series.points)
    step = max(1, -(-len(points) // _SIZES))
    return points[::step]


def node_time(series: Series, platform: Platform, nbytes: int) -> float:
    """Return the priced time of the node phase of a curve, in us."""
    name = series.kind.removeprefix("node_")
    return 1e6 * price(name, "shm", [0] * series.pairs, nbytes, platform, element=1).seconds


def fit_node(
    platform: Platform, curves: Sequence[Series], when: str
) -> tuple[Platform, list[Residual]]:
    """Fit the node phases.

    `curves`: ``node_bcast`` and ``node_allreduce``.
    """
    points = [(s, n, v) for s in curves for n, v in _thinned(s)]

    def difference(x: np.ndarray) -> np.ndarray:
        at = _with(platform, [float(e) for e in np.exp(x)])
        return np.array([math.log(max(node_time(s, at, n), 1e-6) / v) for s, n, v in points])

    _, x = _least(difference, _START, 10.0, 0.1, 60, diff_step=[0.02] * len(_NAMES))
    fitted = _with(platform, [float(e) for e in np.exp(x)])
    words = ", ".join(dict.fromkeys(Path(s.place.split(" (")[0]).name for s in curves))
    source = f"fitted: {words}, {when}"
    sources = {**platform.sources, **dict.fromkeys((*_NAMES, "flag_far"), source)}
    fitted = dataclasses.replace(fitted, sources=sources)
    return fitted, [
        Residual(s.kind, s.place, n, v, node_time(s, fitted, n))
        for s in curves
        for n, v in s.points
    ]
