"""What `tune`, `settings` and `place` have in common: runs of CMD, both ways, compared."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.errors import UsageError

with lazily():
    from stretto.launch.job import understand
    from stretto.launch.naming import tuned_directory
    from stretto.measure.settings import parse_duration
    from stretto.tune.outputs import Rules
    from stretto.tune.session import Options
    from stretto.tune.trials import make_metric


def trial_options(
    metric: o.MetricPattern = None,
    metric_better: o.MetricBetter = None,
    metric_unit: o.MetricUnit = None,
    pairs: o.Pairs = None,
    reset_command: o.ResetCommand = None,
    in_place: o.InPlace = False,
    timeout: o.Timeout = None,
    ignore: o.Ignore = None,
    compare: o.Compare = None,
    mpi: o.Mpi = None,
    budget: o.Budget = None,
    seed: o.Seed = 1,
    restart: o.Restart = False,
) -> None:
    """Options of the commands."""


def trials(
    cmd: list[str] | None,
    out: Path | None,
    instead: str = "",
    *,
    metric: str | None,
    metric_better: str | None,
    metric_unit: str | None,
    reset_command: str | None,
    in_place: bool,
    timeout: str | None,
    budget: str | None,
    ignore: list[str] | None,
    compare: list[str] | None,
    mpi: str | None,
    **more: Any,
) -> Options:
    """Return what was typed, understood; `more`: values of `Options` as they are."""
    if not cmd:
        raise UsageError(
            "there is no command to run", "CMD", f"write: -- mpirun -n 4 ./app{instead}"
        )
    if cmd[0].endswith(".toml"):
        raise UsageError(
            f"{cmd[0]} is not a program, but looks like a campaign file", "CMD",
            f"did you mean: stretto campaign run {shlex.quote(cmd[0])}?",
        )  # fmt: skip
    where = o.place_of(out or tuned_directory(understand(cmd, mpi=mpi)), reset_command, in_place)
    return Options(
        cmd, where.own, make_metric(metric, metric_better, metric_unit), where, mpi=mpi,
        budget_s=None if budget is None else parse_duration(budget),
        timeout_s=None if timeout is None else parse_duration(timeout, "--timeout"),
        rules=Rules(tuple(ignore or []), tuple(compare or [])), **more,
    )  # fmt: skip
