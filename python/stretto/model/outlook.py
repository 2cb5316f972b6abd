"""A recorded profile on a described platform: the prices that a forecast asks for."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from stretto.diagnose.programs import program_name
from stretto.errors import StrettoError
from stretto.files.forecast import ForecastFile, RecordedRun
from stretto.files.profile import Profile
from stretto.files.usage import lacked_cores
from stretto.model.fit import one_way
from stretto.model.forecast import ScalingRule, forecast, work_of
from stretto.model.native import native_choice
from stretto.model.platform import Platform
from stretto.model.sweep import SimulatedCell, candidates_of, messages_of, seconds_of
from stretto.plan import collectives, neighborly
from stretto.version import __version__

#: messages of one call beyond which a candidate is not tried: forecasts price many calls
_MANY = 1e5
#: what a plan prices in place of a form whose blocks differ in size
_LIKE = {"allgatherv": "allgather", "alltoallv": "alltoall", "gatherv": "gather",
         "scatterv": "scatter", "reduce_scatter": "reduce_scatter_block"}  # fmt: skip


def exchange_seconds(
    platform: Platform, nodes: int, ppn: int, messages: float, nbytes: float
) -> float:
    """Return the time of one exchange of a rank with its neighbours, all messages at once.

    Of a block of ranks in three dimensions, one part in ``ppn ** (1 / 3)`` of the messages leaves
    the node and shares its interfaces.
    """
    link = platform.levels["network" if nodes > 1 else "node"]
    each = nbytes / messages
    alone = one_way(link, round(each), platform.nic_gap_byte if nodes > 1 else 0.0)
    core: float = (messages - 1) * (link.send_overhead + link.recv_overhead)
    core += (messages - 1) * each * (link.send_byte + link.recv_byte)
    if nodes == 1:
        return alone + max(core, 0.0)
    leaving = float(ppn) ** (2 / 3) / platform.rails_used(ppn)
    rate: float = leaving * messages * platform.nic_gap_message
    volume: float = leaving * nbytes * platform.nic_gap_byte
    return float(alone + max(core, rate, volume, 0.0))


def outlook(
    name: str,
    profile: Profile,
    rule: ScalingRule,
    platform: Platform,
    nodes: Sequence[int],
    ppn: int,
    baseline: str = "openmpi",
    compute: float = 1.0,
) -> ForecastFile:
    """Forecast a profile, of the file `name`, on cores that compute so many times as fast."""
    known = {c for c in collectives() if not neighborly(c)}  # a profile does not tell the graph
    work = work_of(profile, {*known, *(a for a, b in _LIKE.items() if b in known)})
    at_speed = dataclasses.replace(
        work, compute_s=work.compute_s / compute, wait_s=work.wait_s / compute
    )

    @functools.cache
    def native(name: str, across: int, each: int, size: int) -> float:
        name = _LIKE.get(name, name)
        choice = native_choice(baseline, name, across * each, across, size)
        return seconds_of(SimulatedCell(name, across, each, size), choice, platform, calls=1)

    @functools.cache
    def tuned(name: str, across: int, each: int, size: int) -> float:
        name = _LIKE.get(name, name)
        best = native(name, across, each, size)
        for choice in candidates_of(name, across, each, wide=False):
            try:
                cell = SimulatedCell(name, across, each, size)
                if messages_of(cell, choice) > _MANY:
                    continue
                best = min(best, seconds_of(cell, choice, platform, calls=1))
            except StrettoError:
                continue  # cannot be done on this layout: needs a power of two, or several nodes
        return best

    def message(n: int, p: int, messages: float, nbytes: float) -> float:
        return exchange_seconds(platform, n, p, messages, nbytes)

    file = name.rsplit("/", 1)[-1].removesuffix(".profile.json")
    program = program_name(profile) if profile.executables else file
    run = RecordedRun(work.nranks, work.wall_s, work.compute_s, lacked_cores(profile))
    return ForecastFile(
        __version__, "simulated", platform.name, name, program, profile.command, run,
        rule.scaling, rule.halo, compute, rule.error, baseline, list(work.unpriced),
        [forecast(at_speed, rule, n, ppn, native, tuned, message) for n in nodes],
    )  # fmt: skip
