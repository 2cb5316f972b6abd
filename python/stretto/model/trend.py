"""Extrapolation of measured runs: profiles of one program on several numbers of ranks.

Each part of an average rank's time (computing, waiting, other communication, files) follows a power
of the ranks, fitted to all runs. How wrong that may be shows in three ways, and the widest counts:
the power of the two largest runs, that power changing on as it did before, and what the fit got
wrong when it predicted the largest run from the smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from stretto.errors import UsageError
from stretto.files.profile import Profile

#: runs on so many numbers of ranks at least: two for a slope, one to test it
FEWEST_RUNS = 3
#: an interval is at least so wide, either way: runs differ by as much
LEAST_ERROR = 0.1

#: ranks -> seconds
_Curve = Mapping[int, float]


def trend_at(
    profiles: Sequence[Profile], ranks: Sequence[int]
) -> dict[int, tuple[float, float, float]]:
    """Return time and interval, in seconds, at other numbers of ranks.

    Numbers that were recorded, and smaller ones, are left out.
    """
    runs = {p.nranks: p for p in sorted(profiles, key=lambda p: p.nranks)}
    if len(runs) < FEWEST_RUNS or len(runs) < len(profiles):
        raise UsageError(
            f"an extrapolation needs runs on {FEWEST_RUNS} or more different numbers of ranks, "
            f"these are on {', '.join(str(p.nranks) for p in profiles)}",
            "--profile", "record them: stretto profile -o 4.profile.json -- mpirun -n 4 ...",
        )  # fmt: skip
    programs = {tuple(p.executables or ()) for p in profiles}
    if len(programs) > 1:
        raise UsageError("the profiles are of different programs", "--profile", "give those of one")
    parts = [_parts(p) for p in runs.values()]
    curves = [dict(zip(runs, values, strict=True)) for values in zip(*parts, strict=True)]
    out = {}
    for n in sorted({*ranks} - {*range(max(runs) + 1)}):
        found = [_of_part(curve, n) for curve in curves]
        middle, low, high = (sum(values) for values in zip(*found, strict=True))
        out[n] = middle, low, high
    return out


def _of_part(curve: _Curve, n: int) -> tuple[float, float, float]:
    *_, third, before, last = curve
    fitted = _power(curve, n)
    if min(curve.values()) <= 0:
        return fitted, 0.0, max(fitted, *curve.values())
    steps = max(1.0, math.log(n / last) / math.log(last / before))
    missed = abs(math.log(_power(_without(curve, last), last) / curve[last]))
    error = math.exp(max(LEAST_ERROR, missed) * steps)
    slopes = [
        math.log(curve[b] / curve[a]) / math.log(b / a)
        for a, b in ((third, before), (before, last))
    ]
    slope = slopes[1] + (slopes[1] - slopes[0]) * steps
    going_on = [curve[last] * (n / last) ** s for s in (slopes[1], slope)]
    return fitted, min(fitted / error, *going_on), max(fitted * error, *going_on)


def _parts(profile: Profile) -> tuple[float, float, float, float]:
    mpi, files = fmean(profile.mpi_s), fmean(profile.io_s)
    waiting = sum(sum(call.wait_s or []) for call in profile.calls) / profile.nranks
    computing = max(profile.wall_s) - mpi - files
    return max(computing, 0.0), min(waiting, mpi), max(mpi - waiting, 0.0), files


def _without(curve: _Curve, n: int) -> dict[int, float]:
    return {k: t for k, t in curve.items() if k != n}


def _power(curve: _Curve, n: int) -> float:
    """Return the curve at n, by least squares in logarithms."""
    if min(curve.values()) <= 0:
        return fmean(curve.values())
    x = [math.log(k) for k in curve]
    y = [math.log(t) for t in curve.values()]
    mean_x, mean_y = fmean(x), fmean(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - mean_x) ** 2 for a in x
    )
    return math.exp(mean_y + slope * (math.log(n) - mean_x))
