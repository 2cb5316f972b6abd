"""``stretto scale``: measured strong scaling of CMD, native against tuned."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.counted import counted
from stretto.errors import CommandFailedError, StrettoError, UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.cli.apply import applied_to
    from stretto.files.identity import collect
    from stretto.files.program import take
    from stretto.files.room import try_writing
    from stretto.files.scale import ScaleHeader
    from stretto.files.table import read_table
    from stretto.files.verdict import Metric, as_typed
    from stretto.launch.command import parse_command
    from stretto.launch.job import Job
    from stretto.launch.naming import command_name
    from stretto.launch.resize import RunPoint
    from stretto.measure.idle import cores
    from stretto.measure.settings import parse_duration
    from stretto.scaling.analyse import analyse
    from stretto.scaling.energy import PRINTED, Package, counters, printed, source_words
    from stretto.scaling.measure import Measuring, Tuned, Wanted, steps
    from stretto.scaling.points import PointCommand, lines_of, missing_program, points_of
    from stretto.scaling.show import as_json as findings_json
    from stretto.scaling.show import sentences, table_lines
    from stretto.scaling.words import NO_FIGURE, arguments_words
    from stretto.tune.outside import uncopied_notes
    from stretto.tune.place import Place, alone_in, check_copy, keep_input
    from stretto.tune.session import refuse_applied
    from stretto.tune.trials import make_metric
    from stretto.tune.unchanged import environment_of, program_files

EXAMPLE = """\
stretto scale --ranks 1,2,4,8 -- mpirun -n 8 ./app input.dat
stretto scale --nodes 1,2,4 --ppn 18,36 --price 3.89 -- mpirun -H a:36,b:36,c:36,d:36 ./app
stretto scale --ppn 1,2,4 --threads 4,2,1 -- mpirun -n 4 ./hybrid
stretto scale --ranks 2,4 --metric 'steps/s: ([\\d.]+)' --metric-better higher -- ./job.sh {n}"""


_Ranks = Annotated[str | None, o.option(o.JOB, f"Ranks on one node: {o.COUNTS}.", "--ranks", "-n")]
_Nodes = Annotated[str | None, o.option(o.JOB, f"Nodes: {o.COUNTS}.")]
_Ppn = Annotated[str | None, o.option(o.JOB, f"Ranks per node: {o.COUNTS}.")]
_Threads = Annotated[
    str | None, o.option(o.JOB, "OpenMP threads per rank; a list as long as --ppn gives pairs.")
]
_Repeats = Annotated[
    int | None, o.option(o.RUNS, "Runs per point (3; 6 if there are tuned runs).", min=1)
]
_NativeOnly = Annotated[bool, o.option(o.RUNS, "Run without Stretto only.", "--native-only")]
#: in a variable of Open MPI that allows more ranks than cores
_ALLOWS = re.compile(r"(?<!no)(?<!no_)oversubscribe(?!=(0|false|no)\b)", re.IGNORECASE)

_Price = Annotated[
    float | None,
    o.option(o.OUTPUT, "Price per node-hour, in any currency.", min=0.0, callback=o.finite),
]
_Energy = Annotated[
    bool,
    o.option(o.METRIC, "Read the energy of this machine's processors (RAPL).", "--energy"),
]
_Printed = Annotated[
    str | None,
    o.option(
        o.METRIC,
        "Regular expression with one capture group: the joules of all nodes that CMD prints.",
        "--energy-metric",
    ),
]


def command(
    cmd: o.CommandLine = None,
    ranks: _Ranks = None,
    nodes: _Nodes = None,
    ppn: _Ppn = None,
    threads: _Threads = None,
    repeats: _Repeats = None,
    table: o.AppliedTable = None,
    native_only: _NativeOnly = False,
    metric: o.MetricPattern = None,
    metric_better: o.MetricBetter = None,
    metric_unit: o.MetricUnit = None,
    price: _Price = None,
    energy: _Energy = False,
    energy_metric: _Printed = None,
    budget: o.Budget = None,
    timeout: o.Timeout = None,
    out: Annotated[
        Path | None, o.out_file("Directory for results and page (default: stretto-scale-APP).")
    ] = None,
    reset_command: o.ResetCommand = None,
    in_place: o.InPlace = False,
    mpi: o.ScriptMpi = None,
    seed: o.Seed = 1,
    restart: o.RestartFile = False,
    png: o.Png = None,
    svg: o.Svg = None,
    yes: o.Yes = False,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Run CMD on several numbers of nodes, ranks and threads, native and tuned, and compare.

    Stretto replaces the number of ranks in the mpirun line of CMD, and {n}, {nodes}, {ppn} and
    {threads} in the arguments of a script. It prints speed-up, efficiency, the point beyond which
    more cores make CMD slower, the cost of a run (--price) and its energy (--energy). The same
    command continues after an interruption.
    """
    if not (words := list(cmd or [])):
        raise UsageError("there is no command to run", None, "write: -- mpirun -n 4 ./app")
    limits = (
        None if budget is None else parse_duration(budget),
        None if timeout is None else parse_duration(timeout, "--timeout"),
    )
    wanted_metric = make_metric(metric, metric_better, metric_unit)
    joules = printed(energy_metric)
    if energy and joules is not None:
        raise UsageError(f"--energy and {PRINTED} exclude each other", PRINTED, "give one of them")
    asked = points_of(words, ranks, nodes, ppn, threads)
    here = cores() if max(p.nodes for p in asked) == 1 else None
    lines = lines_of(words, asked, dict(os.environ), here, mpi)
    points, first = list(lines), next(iter(lines.values())).job
    packages = _packages(points, first) if energy else []
    _check_program(first, all(p.nodes == 1 for p in points) and reset_command is None)
    refuse_applied(first.mpi.family, {**first.environ, **first.command.assignments}, say)
    place, path = _results_file(words, out, reset_command, in_place)
    _check_charts("--png", png)
    _check_charts("--svg", svg)
    check_copy(place)
    tuned = {} if native_only else tuned_at(lines, table)
    wanted = Wanted(
        {p: at.words for p, at in lines.items()}, repeats or (6 if tuned else 3), wanted_metric,
        place, path, tuned, mpi, *limits, seed, yes,
        {p for p, at in lines.items() if not at.shows_ranks}, native_only, packages, joules,
    )  # fmt: skip
    total = len(steps(points, tuned, wanted.rounds, seed))
    say(
        f"stretto: {first.mpi.name}: {', '.join(p.words for p in points)} (nodes x ranks); "
        f"{counted(total, 'run')} of CMD, {place.words()}; {len(tuned)} of "
        f"{counted(len(points), 'point')} also tuned"
    )
    if crowded := crowded_words(lines, cores()):
        say(f"stretto: warning: {crowded}")
    for note in uncopied_notes(words, program_files(first), place):
        say(f"stretto: note: {note}")
    if dry_run:
        _show_plan(lines, wanted, total, as_json)
    else:
        _run(words, first, wanted, restart, price, (png, svg), as_json)


def _packages(points: list[RunPoint], first: Job) -> list[Package]:
    if first.layout.hosts or max(p.nodes for p in points) > 1:
        raise UsageError(
            "energy is read on this machine only", "--energy",
            f"measure one node without naming hosts, or let CMD print the energy: {PRINTED}",
        )  # fmt: skip
    return counters()


def _results_file(
    words: list[str], out: Path | None, reset_command: str | None, in_place: bool
) -> tuple[Place, Path]:
    """Return where CMD runs, and the file of the runs: named as CMD, for it holds all points."""
    name = command_name(parse_command(words, dict(os.environ), Path.cwd()))
    place = o.place_of(out or Path(f"stretto-scale-{name}"), reset_command, in_place)
    return place, place.own / f"{name}.scale.jsonl"


def _show_plan(
    lines: Mapping[RunPoint, PointCommand], wanted: Wanted, total: int, as_json: bool
) -> None:
    for point, at in lines.items():
        say(f"stretto:   {point.words}: {shlex.join(at.job.command.words)}")
    say("stretto: dry run: nothing was run")
    if as_json:
        plan = [
            {**asdict(p), "tuned": p in wanted.tuned, "command": list(at.job.command.words)}
            for p, at in lines.items()
        ]
        print_json({"dry_run": True, "runs": total, "points": plan, "file": str(wanted.path)})


def _run(
    words: list[str],
    first: Job,
    wanted: Wanted,
    restart: bool,
    price: float | None,
    charts: tuple[Path | None, Path | None],
    as_json: bool,
) -> None:
    if importlib.util.find_spec("altair") is None:  # before the runs; loaded behind them
        raise ModuleNotFoundError(name="altair")
    keep_input()
    identity, path = collect(first.mpi.identity), wanted.path
    header = ScaleHeader(
        identity.stretto, identity.created, identity.host, identity.mpi, words, wanted.metric,
        wanted.seed, None if wanted.place.reset else [take(p) for p in program_files(first)],
        environment_of(first), source_words(wanted.packages, wanted.energy),
    )  # fmt: skip
    with alone_in(path.parent):
        if restart and path.exists():
            path.replace(path.with_name(path.name + ".old"))
        scale = Measuring(wanted, say).run(header)
    found = analyse(scale.runs, header.metric, price, scale.header.energy)
    if found is None:
        raise _nothing(scale.runs[-1].detail if scale.runs else None, words, wanted.metric)
    from stretto.report.page import PageFiles
    from stretto.report.scaling_page import write

    if not as_json:  # before anything that is written can fail
        print("\n".join([*table_lines(found), "", *sentences(found, price)]))
    page = path.with_name(path.name.replace(".scale.jsonl", ".scale.html"))
    written = write(scale, found, price, path, PageFiles(page, *charts))
    if as_json:
        report = findings_json(found, price)
        print_json({**report, "file": str(path), "written": written})
        return
    if hint := arguments_words(words, found.failed):
        say(f"stretto: {hint}")
    say(f"stretto: runs are in {path}, the page is {page}")


def _check_program(job: Job, sure: bool) -> None:
    """Refuse a command whose program is not here; where that is not sure to matter, warn.

    `sure`: it runs on this machine alone, and nothing makes the program before.
    """
    missing = missing_program(job)
    if missing is None:
        return
    what = f"there is no such program from {job.cwd}"
    if sure and not job.layout.hosts:
        raise StrettoError(what, missing, "check its name and PATH")
    say(f"stretto: warning: {what}: {missing}")


def crowded_words(lines: Mapping[RunPoint, PointCommand], here: int) -> str | None:
    """Return which points need more cores than this machine has; None: none that run on it.

    `here`: its cores.
    """
    local = {
        p: at.job for p, at in lines.items()
        if p.nodes == 1 and not at.job.layout.hosts and at.job.command.kind != "slurm"
    }  # fmt: skip
    points = [p for p in local if p.cores > here]
    if not points:
        return None
    names, verb = ", ".join(p.words for p in points), "needs" if len(points) == 1 else "need"
    text = (
        f"{names} {verb} more than the {counted(here, 'core')} of this machine; ranks or threads "
        "share cores, so these times do not show scaling"
    )
    allowed = any(
        name.startswith(("OMPI_MCA_", "PRTE_MCA_")) and _ALLOWS.search(f"{name}={value}")
        for name, value in os.environ.items()
    )
    refused = not allowed and any(
        p.nranks > here
        and local[p].command.kind == "openmpi"
        and not any("oversubscribe" in w.lower() for w in local[p].command.words)
        for p in points
    )
    return text + ("; Open MPI may refuse them without --oversubscribe" if refused else "")


def _check_charts(option: str, charts: Path | None) -> None:
    if charts is None:
        return
    directory = charts.absolute()
    there = next(p for p in (directory, *directory.parents) if os.path.lexists(p))
    if not there.is_dir():
        raise UsageError(f"{there} is not a directory", option, "name another")
    try:
        try_writing(there)
    except OSError as error:
        raise UsageError(
            f"nothing can be written into {there}: {error.strerror}", option, "name another"
        ) from error


def _nothing(why: str | None, words: list[str], metric: Metric) -> StrettoError:
    place = shlex.join(words)
    if why is None:
        return StrettoError(
            "no run was made", place, "increase --budget: it is too short for one run"
        )
    if why.startswith(NO_FIGURE):
        option = PRINTED if PRINTED in why else as_typed(metric)
        return StrettoError(
            f"no run has a figure: {why}", place,
            f"change {option} so that its group is the number in what CMD prints, and add "
            "--restart, as the file of these runs keeps the old one",
        )  # fmt: skip
    return CommandFailedError(
        f"no run succeeded: {why}", place, "first make one of the commands succeed by hand"
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def tuned_at(lines: Mapping[RunPoint, PointCommand], table: Path | None) -> dict[RunPoint, Tuned]:
    """Return what `stretto run` would apply at each point: table, and settings of the MPI."""
    out = {}
    for point, line in lines.items():
        applied = applied_to(line.job, table, None, False, None)
        name = applied.variables.get("STRETTO_TABLE")
        # one rank has no collectives; what else `run` preloads for proves no table
        used = bool(applied.libraries) and name is not None and point.nranks > 1
        if used and name is not None and not _changes(Path(name), point):
            say(f"stretto: note: {name} changes nothing on {point.words}: no tuned runs with it")
            used = False
        parts = [f"{name} ({_digest(Path(name).read_bytes())})"] if used and name else []
        parts += [f"{n}={v}" for n, v in applied.settings.items()]
        if parts:
            out[point] = Tuned(
                tuple(applied.libraries) if used else (),
                applied.variables if used else {},
                "; ".join(parts),
                applied.settings,
            )
    return out


def _changes(table: Path, point: RunPoint) -> bool:
    """Tell whether some row of a table changes anything at a point."""
    return any(
        not r.choice.startswith("native")
        for r in read_table(table).rows
        if r.nodes in (None, point.nodes) and r.ppn in (None, point.ppn)
    )
