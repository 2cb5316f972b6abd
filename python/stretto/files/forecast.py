"""Forecasts: a recorded application at other scales, by the model (``NAME.forecast.json``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from stretto.counted import counted
from stretto.files.document import Document

#: a gain is claimed at so many times the recorded ranks at most: 64 ranks for 4096
REACH = 64
#: and of a run on fewer ranks none is: its calls, sizes and waiting say little of many ranks
FEWEST_RANKS = 8


@dataclass
class Times:
    """Where the time of an average rank goes."""

    compute_s: float
    waiting_s: float
    messages_s: float
    collectives_s: float
    files_s: float

    @property
    def total_s(self) -> float:
        return self.compute_s + self.waiting_s + self.messages_s + self.collectives_s + self.files_s


@dataclass
class ForecastScale:
    """One layout: native and tuned, each with the interval of the model's error.

    `gain` is the part of the native time that tuning saves, `collectives` the part of it that
    collectives take, waiting in them apart.
    """

    nodes: int
    ppn: int
    native: Times
    tuned: Times
    native_interval_s: tuple[float, float]
    tuned_interval_s: tuple[float, float]
    gain: float
    gain_interval: tuple[float, float]
    collectives: float
    #: of native by the trend of several measured runs: seconds and interval; None: there is none
    trend_s: tuple[float, float, float] | None = None

    @property
    def ranks(self) -> int:
        return self.nodes * self.ppn


@dataclass
class RecordedRun:
    """The run that it rests on, seconds of an average rank.

    `lacked_cores`: what it lost to other processes, or to more ranks than cores; None: little.
    """

    ranks: int
    wall_s: float
    compute_s: float
    lacked_cores: str | None = None


@dataclass
class ForecastFile:
    """What was forecast, by which rule, from which run, for which platform.

    `halo` is the exponent of message bytes in a rank's share, `speed` how many times faster than
    the recorded ones the platform's cores compute, `error` the factor by which the model may be
    wrong; `unpriced` collectives are left out. `program`: what the ranks ran. `trend_of`: ranks of
    the runs whose trend is extrapolated.
    """

    stretto: str
    source: Literal["simulated"]
    platform: str
    profile: str
    program: str
    command: list[str]
    recorded: RecordedRun
    scaling: Literal["strong", "weak"]
    halo: float
    speed: float
    error: float
    baseline: str
    unpriced: list[str]
    scales: list[ForecastScale]
    trend_of: list[int] = field(default_factory=list)

    @property
    def note(self) -> str:
        return (
            f"{self.scaling} scaling of a run on {counted(self.recorded.ranks, 'rank')}, on "
            f"{self.platform} with {counted(self.scales[0].ppn, 'rank')} a node; band: model wrong "
            f"by x{self.error:g}"
        )

    @staticmethod
    def ranks_needed(ranks: int) -> int:
        """Return on how many ranks a run must be recorded before a gain at `ranks` is claimed."""
        return max(FEWEST_RANKS, -(-ranks // REACH))

    def claims_gain(self, scale: ForecastScale) -> bool:
        enough = self.recorded.ranks >= self.ranks_needed(scale.ranks)
        return enough and self.recorded.lacked_cores is None

    @property
    def lacking(self) -> str | None:
        """Why no gain is claimed where the recorded run lacked cores, and what to do."""
        lacked = self.recorded.lacked_cores
        return None if lacked is None else (
            f"the recorded run lacked cores: {lacked}. No gain is claimed: record it again on idle "
            "nodes, with at most one rank per core"
        )  # fmt: skip

    @property
    def cautions(self) -> list[str]:
        """Why no gain is claimed, and what to record instead."""
        run = self.recorded
        out = [self.lacking] if self.lacking is not None else []
        without = [s.ranks for s in self.scales if run.ranks < self.ranks_needed(s.ranks)]
        if without:
            needed = self.ranks_needed(max(without))
            verb = "is" if run.ranks == 1 else "are"
            every = len(without) == len(self.scales)
            beyond = (
                "any claim of a gain"
                if every
                else f"a claim of a gain from {min(without)} ranks on"
            )
            out.append(
                f"{counted(run.ranks, 'recorded rank')} {verb} too few for {beyond}; record "
                f"{needed} or more for a claim at {max(without)}: "
                f"stretto profile -- mpirun -n {needed} ..."
            )
        return out

    def turning_point(self, tuned: bool) -> ForecastScale | None:
        """Return the fastest layout, when more ranks make it slower; None when it never turns."""
        times = [(s.tuned if tuned else s.native).total_s for s in self.scales]
        best = min(range(len(times)), key=times.__getitem__)
        return self.scales[best] if best + 1 < len(times) else None


def _problems(forecast: ForecastFile) -> Iterator[str]:
    if not forecast.scales:
        yield "the forecast has no layout"
    for s in forecast.scales:
        if s.nodes < 1 or s.ppn < 1:
            yield f"a layout has {s.nodes} nodes of {s.ppn} ranks"
        for times, (low, high) in (
            (s.native, s.native_interval_s),
            (s.tuned, s.tuned_interval_s),
        ):
            if not 0 < low <= times.total_s * (1 + 1e-9) or not times.total_s <= high * (1 + 1e-9):
                yield f"a time of {s.nodes} x {s.ppn} is outside its interval"


DOCUMENT = Document(
    "stretto-forecast", ForecastFile, "a forecast", "stretto simulate --profile FILE", _problems
)
read_forecast, parse_forecast = DOCUMENT.read, DOCUMENT.parse
format_forecast, write_forecast = DOCUMENT.format, DOCUMENT.write
