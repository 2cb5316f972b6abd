"""The most that tuning can gain, and gains that are larger: something else changed as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.files.verdict import GainInterval, Metric, Run
from stretto.tune.needs import Needs
from stretto.tune.trials import gain
from stretto.tune.words import percent


@dataclass(frozen=True)
class Limit:
    """The gain if all collectives that can be tuned took no time, waiting in them included.

    A slow collective makes ranks late for the next one, so that a faster one shortens the waiting,
    too.

    `gain`: in the metric, if it is of the whole run. `wall`: in wall time.
    """

    gain: float
    wall: float

    @property
    def words(self) -> str:
        return f"at most {percent(self.gain)}"


def limit_of(needs: Needs, metric: Metric, command_s: float) -> Limit | None:
    """Return the limit by the profile; None where the collectives are all of the run.

    `command_s`: wall time of the whole command.
    """
    reach = needs.tunable_s + needs.waiting_s
    if needs.wall_s <= 0 or reach >= needs.wall_s:
        return None
    wall, share = reach / max(command_s, needs.wall_s), reach / needs.wall_s
    if metric.pattern is None:
        return Limit(wall, wall)
    # a number that CMD prints mostly leaves the start of the job out
    rate = metric.better == "higher"
    return Limit(1 / (1 - share) - 1 if rate else share, wall)


def beyond(limit: Limit | None, runs: Sequence[Run], metric: Metric, measured: GainInterval) -> str:
    """Return that a measured gain is larger than tuning alone can cause; empty where it is not."""
    if limit is None or measured.median <= limit.gain:
        return ""
    what = "the whole interval of the gain" if measured.low > limit.gain else "the gain"
    wall = gain([replace(r, value=r.wall_s) for r in runs], Metric())
    if wall is not None and wall.median <= limit.wall:
        return (
            f"{what} is above what tuning alone can gain in the whole run ({limit.words}): the "
            "metric covers only a part of the run, or something else changed between the runs, "
            "such as other load"
        )
    return (
        f"{what} is above what tuning alone can gain ({limit.words}): something else changed "
        "between the runs, such as other load"
    )
