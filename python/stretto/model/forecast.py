"""Forecast: what a recorded application would take at another scale.

The user states the rule, the model prices the communication:

- computing (wall time less MPI and files) is divided by the ranks (strong) or kept (weak);
- waiting for the slowest rank, as recorded, follows the computing: it is imbalance;
- messages between ranks keep their number, and their bytes shrink with the subdomain's surface
  (strong: bytes x (ranks before / ranks)^halo);
- collectives keep their number and size; blocks of allgather, alltoall and their kin keep the
  bytes of a rank (strong: divided like the computing), whatever the number of ranks;
- files are read and written as before: their time is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression
from typing import Literal

from stretto.errors import StrettoError, UsageError
from stretto.files.forecast import ForecastScale, Times
from stretto.files.profile import Call, Profile
from stretto.profile.show import awaits_message

Scaling = Literal["strong", "weak"]
#: seconds of one call: collective, nodes, ppn, bytes
PriceCall = Callable[[str, int, int, int], float]

#: blocks, not vectors: their size is that of one pair of ranks
_BLOCKS = ("allgather", "allgatherv", "alltoall", "alltoallv", "gather", "gatherv", "scatter",
           "scatterv", "reduce_scatter", "reduce_scatter_block")  # fmt: skip
#: sends after which nothing is left to be waited for
_COMPLETE = ("MPI_Send", "MPI_Ssend", "MPI_Sendrecv", "MPI_Sendrecv_replace")


@dataclass(frozen=True)
class ScalingRule:
    """How the work follows the ranks, as the user states it.

    `scaling`: strong: one problem on more ranks. Weak: each rank keeps its part.
    `halo`: exponent of a rank's message bytes in its share of the problem (2/3: surface in 3D).
    `error`: factor by which the model's times may be wrong, either way: the interval's width.
    """

    scaling: Scaling = "strong"
    halo: float = 2 / 3
    error: float = 1.5


@dataclass(frozen=True)
class Exchange:
    """What a rank sends to others between two waits, on average."""

    waits: float
    messages: float
    bytes: float


@dataclass(frozen=True)
class Work:
    """What was recorded, summed up: seconds and calls of an average rank.

    `collectives` holds collective, ranks' share of the job, bytes, and calls a rank.
    """

    nranks: int
    wall_s: float
    compute_s: float
    spread: float
    wait_s: float
    io_s: float
    exchange: Exchange
    collectives: tuple[tuple[str, float, int, float], ...]
    unpriced: tuple[str, ...]


def work_of(profile: Profile, priced: Iterable[str]) -> Work:
    n = profile.nranks
    if not profile.complete:
        raise StrettoError(
            f"the profile is not complete (ranks {profile.incomplete_ranks[:4]})",
            remedy="record a complete run: stretto profile -- CMD",
        )
    compute = [
        max(0.0, w - m - i)
        for w, m, i in zip(profile.wall_s, profile.mpi_s, profile.io_s, strict=True)
    ]
    sizes = {c.id: c.size for c in profile.communicators}
    known = set(priced)
    waits = messages = volume = waiting = 0.0
    found: dict[tuple[str, float, int], float] = {}
    unpriced: set[str] = set()
    for call in profile.calls:
        per_rank = call.total_calls / n
        if call.kind == "p2p" and "send" in call.function.lower():
            messages += per_rank
            volume += sum(call.bytes) / n
            if call.function in _COMPLETE:
                waits += per_rank
        elif awaits_message(call) and "wait" in call.function.lower():
            waits += per_rank
        name = call.collective
        if name is None or call.detail == "set-up":
            continue
        waiting += sum(call.wait_s or []) / n
        size = sizes.get(call.communicator if call.communicator is not None else -1, n)
        if size < 2:
            continue
        if name not in known:
            unpriced.add(name)
            continue
        key = (name, size / n, _mean_bytes(call))
        found[key] = found.get(key, 0.0) + per_rank
    average = fmean(compute)
    return Work(
        n,
        max(profile.wall_s),
        average,
        max(compute) / average if average > 0 else 1.0,
        waiting,
        fmean(profile.io_s),
        Exchange(min(waits, messages), messages, volume),
        tuple((*key, calls) for key, calls in sorted(found.items())),
        tuple(sorted(unpriced)),
    )


def _mean_bytes(call: Call) -> int:
    total = call.total_calls
    return round(sum(call.bytes) / total) if total else call.bytes_min


def shrunk(work: Work, rule: ScalingRule, ranks: int) -> float:
    """Return a rank's share of the problem, relative to the recorded one."""
    return work.nranks / ranks if rule.scaling == "strong" else 1.0


def collective_bytes(
    collective: str, nbytes: int, work: Work, rule: ScalingRule, ranks: int
) -> int:
    """Return the size of a collective at another scale, as choices count it."""
    if collective not in _BLOCKS or nbytes == 0:
        return nbytes
    share = shrunk(work, rule, ranks)
    if collective.startswith(("alltoall", "reduce_scatter")):
        share *= work.nranks / ranks  # the bytes of a rank go to more partners
    return max(1, round(nbytes * share))


def forecast(
    work: Work,
    rule: ScalingRule,
    nodes: int,
    ppn: int,
    native: PriceCall,
    tuned: PriceCall,
    message: Callable[[int, int, float, float], float],
) -> ForecastScale:
    """Forecast one layout.

    `message`: seconds of one exchange between two waits: nodes, ppn, messages, bytes a rank sends
    in it.
    """
    ranks = nodes * ppn
    share = shrunk(work, rule, ranks)
    each = work.exchange
    spent = 0.0
    if each.messages and ranks > 1:
        waits = max(each.waits, 1.0)
        volume = each.bytes * share**rule.halo if rule.scaling == "strong" else each.bytes
        spent = waits * message(nodes, ppn, each.messages / waits, volume / waits)

    def collectives(price: PriceCall) -> float:
        total = 0.0
        for name, part, nbytes, calls in work.collectives:
            members = max(2, round(part * ranks))
            across = nodes if part >= 0.999 else max(1, math.ceil(members / ppn))
            each_node = ppn if part >= 0.999 else max(1, members // across)
            if across * each_node > 1:
                size = collective_bytes(name, nbytes, work, rule, ranks)
                total += calls * price(name, across, each_node, size)
        return total

    def parts(price: PriceCall) -> Times:
        return Times(
            work.compute_s * share, work.wait_s * share, spent, collectives(price), work.io_s
        )

    a, b = parts(native), parts(tuned)
    low, high = (_bounds(p, work, rule) for p in (a, b))
    gains = []
    for both in (1 / rule.error, rule.error):  # wrong alike for native and tuned
        for apart in (rule.error**-0.5, rule.error**0.5):  # and of their ratio by its square root
            before = a.total_s + (both - 1) * (a.messages_s + a.collectives_s)
            after = b.total_s + (both - 1) * b.messages_s + (both * apart - 1) * b.collectives_s
            gains.append(1 - after / before)
    gain, share_s = 1 - b.total_s / a.total_s, a.collectives_s / a.total_s
    interval = (min(gains), max(gains))
    return ForecastScale(nodes, ppn, a, b, low, high, gain, interval, share_s)


def _bounds(parts: Times, work: Work, rule: ScalingRule) -> tuple[float, float]:
    """Return the interval: the model's error on communication, the imbalance on computing."""
    priced = parts.messages_s + parts.collectives_s
    own = parts.compute_s + parts.waiting_s + parts.files_s
    low = own - parts.waiting_s + priced / rule.error
    return low, own + parts.compute_s * (work.spread - 1) + priced * rule.error


#: runs on so many numbers of ranks at least: two for a slope, one to test it
FEWEST_RUNS = 3
#: an interval is at least so wide, either way: runs differ by as much
LEAST_ERROR = 0.1
#: and an upper end beyond so many times the lower one says nothing
WIDEST = 10.0

#: ranks -> seconds
_Curve = Mapping[int, float]


def trend_at(
    profiles: Sequence[Profile], ranks: Sequence[int]
) -> dict[int, tuple[float, float, float]]:
    """Extrapolate measured runs: time and interval, in seconds, at other numbers of ranks.

    Each part of an average rank's time (computing, waiting, other communication, files) follows a
    power of the ranks, fitted to all runs. How wrong that may be shows in three ways, and the
    widest counts: the power of the two largest runs, that power changing on as it did before, and
    what the fit got wrong when it predicted the largest run from the smaller ones. Numbers that
    were recorded, and smaller ones, are left out, as are those at which the runs do not agree.
    """
    runs = {p.nranks: p for p in sorted(profiles, key=lambda p: p.nranks)}
    if len(runs) < FEWEST_RUNS or len(runs) < len(profiles):
        more = 2 * max(runs)
        raise UsageError(
            f"an extrapolation needs runs on {FEWEST_RUNS} or more different numbers of ranks, "
            f"but these are on {', '.join(str(p.nranks) for p in profiles)}",
            "--profile",
            f"record another: stretto profile -o {more}.profile.json -- mpirun -n {more} ...",
        )  # fmt: skip
    programs = {tuple(p.executables or ()) for p in profiles}
    if len(programs) > 1:
        raise UsageError(
            "the profiles are of different programs", "--profile", "give profiles of one program"
        )
    parts = [_parts(p) for p in runs.values()]
    curves = [dict(zip(runs, values, strict=True)) for values in zip(*parts, strict=True)]
    out = {}
    for n in sorted({*ranks} - {*range(max(runs) + 1)}):
        try:
            found = [_of_part(curve, n) for curve in curves]
        except OverflowError:
            continue
        middle, low, high = (sum(values) for values in zip(*found, strict=True))
        if high <= WIDEST * low:
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
    x, y = ([math.log(v) for v in values] for values in zip(*curve.items(), strict=True))
    slope, at_one = linear_regression(x, y)
    return math.exp(at_one + slope * math.log(n))
