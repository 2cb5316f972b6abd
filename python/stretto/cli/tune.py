"""``stretto tune -- CMD``: measures what CMD uses, writes a table, and proves the gain on CMD."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from stretto.cli import options as o
from stretto.errors import UsageError
from stretto.output import print_json, say

if TYPE_CHECKING:
    from stretto.tune.session import Options

EXAMPLE = """stretto tune -- mpirun -n 64 ./app input.dat
stretto tune --budget 10m --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun -n 8 ./app
stretto tune --collective allreduce --candidates shm,ring --dry-run -- mpirun -n 64 ./app"""


def command(
    cmd: o.CommandLine = None,
    collective: o.Collective = None,
    candidates: o.Candidates = None,
    launches: Annotated[
        int | None, o.option(o.WHAT, "Launches of the measuring program (10).", min=1)
    ] = None,
    metric: o.MetricPattern = None,
    metric_better: o.MetricBetter = "lower",
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
    yes: o.Yes = False,
    dry_run: o.DryRun = False,
    out: o.OutDirectory = None,
    as_json: o.Json = False,
) -> None:
    """Tune the collectives of CMD: profile, measure, write a table, verify the gain on CMD.

    Only the calls of CMD are measured. CMD then runs with and without the table in turn. The same
    command continues after an interruption.
    """
    from stretto.files.schema import encode
    from stretto.launch.typed import job_words, near
    from stretto.measure.request import split_candidates
    from stretto.measure.settings import parse_tunable
    from stretto.tune.application import tune
    from stretto.tune.evidence import rows_lines
    from stretto.tune.session import Tuning

    options = trials(
        cmd, out, mpi, (metric, metric_better, metric_unit), (budget, timeout),
        (reset_command, in_place), (ignore, compare),
        " (a table for all applications: stretto table make)",
        pairs=pairs, seed=seed, restart=restart, yes=yes, dry_run=dry_run,
    )  # fmt: skip
    only = None if collective is None else parse_tunable(collective, near=True)
    names = None if candidates is None else split_candidates(candidates)
    asked = replace(options, launches=launches, only=only, candidates=names)
    found = tune(Tuning(asked, say))
    if as_json:
        print_json(encode(found))
        return
    for line in rows_lines(found.rows):
        print(line)
    print(f"stretto: {found.conclusion}")
    if dry_run:
        return
    following = [f"stretto report {near(options.out)}"]
    if found.helps and found.table is not None:
        job = job_words(options.words, mpi)
        following.insert(0, f"stretto run --table {near(found.table)} {job}")
    print("next: " + "\n      ".join(following))


def trials(
    cmd: list[str] | None,
    out: Path | None,
    mpi: str | None,
    metric: tuple[str | None, str, str | None],
    limits: tuple[str | None, str | None],
    place: tuple[str | None, bool],
    rules: tuple[list[str] | None, list[str] | None],
    instead: str = "",
    **more: Any,
) -> Options:
    """Return what `stretto tune` and `stretto settings` have in common: runs of CMD, compared.

    `metric`, `limits`, `place`, `rules`: as typed: --metric, -better and -unit; --budget and
    --timeout; --reset-command and --in-place; --ignore and --compare.
    `more`: values of `Options` as they are.
    """
    from stretto.launch.job import understand
    from stretto.launch.naming import tuned_directory
    from stretto.measure.settings import parse_duration
    from stretto.tune.outputs import Rules
    from stretto.tune.session import Options
    from stretto.tune.trials import make_metric

    if not cmd:
        raise UsageError(
            "there is no command to run", "CMD",
            f"write: -- mpirun -n 4 ./app{instead}",
        )  # fmt: skip
    if cmd[0].endswith(".toml"):
        raise UsageError(
            f"{cmd[0]} is no program, but looks like a campaign's file", "CMD",
            f"did you mean: stretto campaign run {shlex.quote(cmd[0])}?",
        )  # fmt: skip
    budget, timeout = limits
    budget_s = None if budget is None else parse_duration(budget)
    timeout_s = None if timeout is None else parse_duration(timeout, "--timeout")
    where = o.place_of(out or tuned_directory(understand(cmd, mpi=mpi)), *place)
    return Options(
        cmd, where.own, make_metric(*metric), where, budget_s=budget_s, timeout_s=timeout_s,
        mpi=mpi, rules=Rules(*(tuple(x or []) for x in rules)), **more,
    )  # fmt: skip
