"""Fitting what a node phase costs from collectives measured on one node, by pricing them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stretto.model.measurements import Residual, Series
from stretto.model.platform import Platform
from stretto.model.price import price

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
    from scipy.optimize import least_squares  # an extra: only fitting needs it

    points = [(s, n, v) for s in curves for n, v in _thinned(s)]

    def difference(x: np.ndarray) -> np.ndarray:
        at = _with(platform, [float(e) for e in np.exp(x)])
        return np.array([math.log(max(node_time(s, at, n), 1e-6) / v) for s, n, v in points])

    found = least_squares(
        difference,
        np.log(_START),
        bounds=(np.log(_START) - math.log(10), np.log(_START) + math.log(10)),
        loss="soft_l1",
        f_scale=0.1,
        diff_step=[0.02] * len(_NAMES),
        max_nfev=60,
    )
    fitted = _with(platform, [float(e) for e in np.exp(found.x)])
    words = ", ".join(dict.fromkeys(Path(s.place.split(" (")[0]).name for s in curves))
    source = f"fitted: {words}, {when}"
    sources = {**platform.sources, **dict.fromkeys((*_NAMES, "flag_far"), source)}
    fitted = dataclasses.replace(fitted, sources=sources)
    return fitted, [
        Residual(s.kind, s.place, n, v, node_time(s, fitted, n))
        for s in curves
        for n, v in s.points
    ]
