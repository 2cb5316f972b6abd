"""``stretto tune``: measures, decides and writes the table; with CMD, proves the gain on it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, NoReturn

import typer

from stretto.cli.options import (
    Budget,
    CommandLine,
    DryRun,
    Hosts,
    InPlace,
    Json,
    MetricBetter,
    MetricPattern,
    MetricUnit,
    Mpi,
    ResetCommand,
    Timeout,
    Yes,
)
from stretto.errors import UsageError
from stretto.output import say

EXAMPLE = """stretto tune -- mpirun -n 64 ./app input.dat
stretto tune --budget 10m --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun -n 8 ./app
stretto tune -n 2 --collective allreduce,bcast     # a table for all applications
stretto tune --settings -- mpirun -n 64 ./app     # eager limits, HAN, binding, ...
stretto tune --from imported/openmpi-4.0.1-8x36.bench.jsonl     # decide, measure nothing
stretto tune --campaign cluster.toml --dry-run     # all layouts of a cluster
stretto tune --nodes 1,2,4 --ppn 1,2 --hosts a,b,c,d --collective allreduce
stretto tune --platform hpc7g --nodes 2-128 --ppn 64     # simulated, for a cluster to come"""

#: of a table for one layout
SIZES = "8:1M:4"


_Out = Annotated[
    Path | None,
    typer.Option("--out", "--output", "-o", help="Output directory; without CMD: the table."),
]
_Pairs = Annotated[
    int | None, typer.Option(min=0, help="Pairs of runs of CMD (6; a test needs six).")
]
_Nranks = Annotated[
    int | None, typer.Option("-n", "--ranks", min=2, help="Ranks of a general table (2).")
]
_Ppn = Annotated[str | None, typer.Option(help="Ranks per node; with --nodes several: 1,2.")]
_Collective = Annotated[str | None, typer.Option(help="Only these: allreduce,bcast.")]
_Sizes = Annotated[str | None, typer.Option("--bytes", help="Sizes of a general table (8:1M:4).")]
_Candidates = Annotated[str | None, typer.Option(help="Choices to try; by default all that fit.")]
_Launches = Annotated[
    int | None, typer.Option(min=1, help="Launches of the measuring program (10).")
]
_Seed = Annotated[int, typer.Option(help="Random seed.")]
_Restart = Annotated[bool, typer.Option("--restart", help="Begin again instead of going on.")]
_Ignore = Annotated[
    list[str] | None,
    typer.Option(help="Ignore matching lines (regular expression) of CMD's output."),
]
_Compare = Annotated[
    list[str] | None,
    typer.Option(help="Compare only these files of CMD: '*.csv' (default: all)."),
]
_Platform = Annotated[
    str | None,
    typer.Option(
        help="Measure nothing: make a table by simulation, for this platform. With "
        "--campaign, or --nodes and --hosts: prices by which a campaign skips slow "
        "candidates."
    ),
]
_Nodes = Annotated[
    str | None,
    typer.Option(help="Campaign over these nodes: 1,2,4; with --platform also 2-128 (doubling)."),
]
_Campaign = Annotated[Path | None, typer.Option(help="Campaign file: all layouts, one table.")]
_Interpolate = Annotated[
    str | None, typer.Option(help="Campaign: layouts that get interpolated rows, e.g. 3x2,6x2.")
]
_Refine = Annotated[
    Path | None,
    typer.Option(help="Campaign: simulated table for layouts that are not measured."),
]
_Launcher = Annotated[str | None, typer.Option(help="Campaign: mpirun, srun or auto.")]
_SeparateLaunches = Annotated[
    bool,
    typer.Option(
        "--separate-launches",
        help="Campaign: one launch for each native algorithm, even if several could share it.",
    ),
]
_Parallel = Annotated[
    bool,
    typer.Option("--parallel", help="Campaign: measure layouts side by side on disjoint nodes."),
]
_Results = Annotated[
    list[Path] | None,
    typer.Option("--from", help="Measure nothing: decide from these results of stretto bench."),
]
_Settings = Annotated[
    bool,
    typer.Option(
        "--settings",
        help="Try the MPI's settings on CMD instead: links, eager limits, HAN, single copy, "
        "rails, binding. --candidates 'NAME=VALUE;...' names them.",
    ),
]


def command(
    cmd: CommandLine = None,
    budget: Budget = None,
    metric: MetricPattern = None,
    metric_better: MetricBetter = "lower",
    metric_unit: MetricUnit = None,
    out: _Out = None,
    pairs: _Pairs = None,
    reset_command: ResetCommand = None,
    in_place: InPlace = False,
    nranks: _Nranks = None,
    ppn: _Ppn = None,
    hosts: Hosts = None,
    collective: _Collective = None,
    sizes: _Sizes = None,
    candidates: _Candidates = None,
    launches: _Launches = None,
    mpi: Mpi = None,
    timeout: Timeout = None,
    seed: _Seed = 1,
    restart: _Restart = False,
    ignore: _Ignore = None,
    compare: _Compare = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    platform: _Platform = None,
    nodes: _Nodes = None,
    campaign: _Campaign = None,
    interpolate: _Interpolate = None,
    refine: _Refine = None,
    launcher: _Launcher = None,
    separate_launches: _SeparateLaunches = False,
    parallel: _Parallel = False,
    results: _Results = None,
    settings: _Settings = False,
    as_json: Json = False,
) -> None:
    """Measure algorithms and write a table; with CMD, prove the gain on CMD.

    With CMD only the calls of CMD are measured. Without CMD the table serves all applications on
    one layout, and stretto run finds it.
    """
    from stretto.measure.settings import parse_duration, whole

    o = SimpleNamespace(**locals())
    if cmd and cmd[0].endswith(".toml"):
        raise UsageError(
            f"{cmd[0]} is no program, but looks like a campaign's file",
            "CMD",
            f"did you mean --campaign {shlex.quote(cmd[0])}?",
        )
    o.seconds = None if budget is None else parse_duration(budget)
    o.only = _only(collective)
    o.names = _names(candidates, settings)
    if results:
        _from_results(o)
        return
    # there are hosts to measure on: then a platform is what it is in a campaign's file, prices
    priced = campaign is not None or (nodes is not None and hosts is not None)
    if not cmd and (priced or (nodes is not None and platform is None)):
        _campaign(o)
    for option, given in _of_campaigns(o):
        if given is not None:
            what = "CMD (a campaign runs no command)" if cmd else "--platform"
            raise UsageError(
                f"{option} applies only to a campaign", option, f"leave out {what} or {option}"
            )
    if ppn is not None and not (whole(ppn) and int(ppn) > 0):
        raise UsageError(
            f"{ppn!r} is not a number of ranks", "--ppn", "several values also need --nodes"
        )
    o.each = None if ppn is None else int(ppn)
    if platform is not None or nodes is not None:
        _simulated(o)
    elif cmd:
        _application(o)
    else:
        _for_all(o)


def _only(collective: str | None) -> list[str] | None:
    from stretto.files.table import TUNABLE
    from stretto.measure.settings import parse_collectives

    if collective is None:
        return None
    names = parse_collectives(collective)
    for name in names:
        if name not in TUNABLE:
            raise UsageError(
                f"Stretto leaves {name} to the MPI, so there is nothing to tune",
                "--collective",
                f"there are {', '.join(TUNABLE)}",
            )
    return names


def _names(candidates: str | None, settings: bool) -> list[str] | None:
    from stretto.measure.request import split_candidates

    if candidates is None:
        return None
    # a setting may be several variables, with commas between
    parts = candidates.split(";") if settings else split_candidates(candidates)
    return [c.strip() for c in parts if c.strip()]


def _of_cmd(o: SimpleNamespace) -> list[tuple[str, object]]:
    """Return the options that need CMD; None where not given."""
    return [
        ("--metric", o.metric), ("--pairs", o.pairs), ("--reset-command", o.reset_command),
        ("--in-place", o.in_place or None), ("--timeout", o.timeout), ("--ignore", o.ignore),
        ("--compare", o.compare), ("--settings", o.settings or None),
    ]  # fmt: skip


def _of_campaigns(o: SimpleNamespace) -> list[tuple[str, object]]:
    """Return the options that need a campaign; None where not given."""
    return [
        ("--campaign", o.campaign), ("--interpolate", o.interpolate), ("--launcher", o.launcher),
        ("--refine", o.refine), ("--parallel", o.parallel or None),
        ("--separate-launches", o.separate_launches or None),
    ]  # fmt: skip


def _from_results(o: SimpleNamespace) -> None:
    """Decide from results; nothing is measured."""
    from stretto.cli.tune_show import show_decided

    _refuse("--from", (
        ("--budget", o.budget), ("--hosts", o.hosts), ("--launches", o.launches),
        ("--nodes", o.nodes), ("--candidates", o.candidates), ("--collective", o.collective),
        ("--platform", o.platform), ("--ranks", o.nranks), ("--ppn", o.ppn), ("--bytes", o.sizes),
        ("--mpi", o.mpi), ("--dry-run", o.dry_run or None), *_of_campaigns(o), *_of_cmd(o),
    ))  # fmt: skip
    if o.cmd:
        raise UsageError(
            f"--from measures nothing, so {shlex.join(o.cmd)!r} is not run",
            "--from",
            "leave CMD out; several files: --from A --from B",
        )
    show_decided(o.results, o.out, o.as_json)


def _campaign(o: SimpleNamespace) -> NoReturn:
    """Run a campaign over layouts."""
    from stretto.campaign.command import tune_campaign

    if o.restart:
        raise UsageError(
            "a campaign never throws results away", "--restart", "name a new directory: --out"
        )
    _refuse(
        "a campaign", (("--ranks", o.nranks), *_of_cmd(o)), "ranks are nodes x --ppn; no CMD runs"
    )
    code = tune_campaign(
        o.campaign,
        {"nodes": o.nodes, "ppn": o.ppn, "hosts": o.hosts, "collectives": o.collective,
         "bytes": o.sizes, "candidates": o.candidates, "launches": o.launches, "budget": o.budget,
         "mpis": o.mpi, "out": None if o.out is None else str(o.out), "interpolate": o.interpolate,
         "refine": None if o.refine is None else str(o.refine), "launcher": o.launcher,
         "seed": o.seed if o.seed != 1 else None, "platform": o.platform,
         "separate_launches": o.separate_launches or None, "parallel": o.parallel or None},
        say, o.yes, o.dry_run, o.as_json,
    )  # fmt: skip
    raise typer.Exit(code)


def _simulated(o: SimpleNamespace) -> None:
    """Make a table by simulation."""
    from stretto.cli.tune_simulated import tune_by_simulation

    if not o.cmd:
        _refuse("--platform", (
            ("--budget", o.budget), ("--hosts", o.hosts), ("--launches", o.launches),
            ("--candidates", o.candidates),
        ))  # fmt: skip
    tune_by_simulation(
        o.cmd, o.platform, o.nodes, o.each, o.only, o.sizes or SIZES, o.mpi, o.out, o.seed,
        o.as_json, o.dry_run,
    )  # fmt: skip


def _application(o: SimpleNamespace) -> None:
    """Tune what CMD uses, and prove the gain on it."""
    from stretto.cli.tune_show import try_settings, tune_application
    from stretto.measure.settings import parse_duration
    from stretto.tune.outputs import Rules
    from stretto.tune.place import COPIES, Place
    from stretto.tune.stage import Options
    from stretto.tune.trials import make_metric

    limit = None if o.timeout is None else parse_duration(o.timeout, "--timeout")
    if o.reset_command is not None and o.in_place:
        raise UsageError("--reset-command and --in-place exclude one another", None, "take one")
    directory = _directory(o.cmd, o.out, o.mpi)
    options = Options(
        words=o.cmd,
        out=directory,
        metric=make_metric(o.metric, o.metric_better, o.metric_unit),
        place=Place(Path.cwd(), directory / COPIES, o.reset_command, o.in_place),
        budget_s=o.seconds,
        pairs=o.pairs,
        launches=o.launches,
        only=o.only,
        candidates=o.names,
        mpi=o.mpi,
        timeout_s=limit,
        seed=o.seed,
        restart=o.restart,
        rules=Rules(tuple(o.ignore or []), tuple(o.compare or [])),
        yes=o.yes,
        dry_run=o.dry_run,
    )
    if not o.settings:
        tune_application(options, o.as_json)
        return
    if o.only is not None or o.launches is not None:
        raise UsageError(
            "--settings tries settings of the MPI, not collectives",
            None,
            "leave out --collective and --launches",
        )
    try_settings(options, o.as_json)


def _for_all(o: SimpleNamespace) -> None:
    """Make a table for all applications on a layout."""
    from stretto.cli.tune_show import tune_layout
    from stretto.measure.request import where
    from stretto.tune.general import LayoutRequest

    if "--" in sys.argv:
        raise UsageError("there is no command after --", None, "write: -- mpirun -n 4 ./app")
    for option, given in _of_cmd(o):
        if given:
            raise UsageError(f"{option} needs a command", None, "give it after --: -- mpirun ./app")
    request = LayoutRequest(
        where(o.nranks or 2, o.each, o.hosts, o.mpi), o.out, o.only, o.sizes or SIZES, o.names,
        o.launches or 10, o.seconds, o.seed, o.restart, o.yes, o.dry_run,
    )  # fmt: skip
    tune_layout(request, o.as_json)


def _refuse(where: str, given: Iterable[tuple[str, object]], remedy: str = "leave it out") -> None:
    """Refuse options that would silently do nothing."""
    for option, value in given:
        if value is not None:
            raise UsageError(f"{option} has no meaning with {where}", option, remedy)


def _directory(words: list[str], out: Path | None, mpi: str | None) -> Path:
    """Return tune's output directory for a command."""
    from stretto.launch.job import understand
    from stretto.launch.naming import tuned_directory

    directory = out or tuned_directory(understand(words, mpi=mpi))
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "--out", "name another")
    if directory.resolve() == Path.cwd().resolve():  # what lies in it would be taken for tune's own
        raise UsageError(
            "tune cannot keep its own files among those of the case", "--out",
            "name another directory, a new one for example",
        )  # fmt: skip
    return directory.absolute()
