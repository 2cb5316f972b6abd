"""``stretto scale``: measured strong scaling of CMD, native against tuned."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.cli import CommandLine, print_json, say
from stretto.errors import StrettoError, UsageError

if TYPE_CHECKING:
    from stretto.files.verdict import Metric
    from stretto.launch.job import Job
    from stretto.launch.resize import Point
    from stretto.scaling.measure import Tuned

EXAMPLE = """\
stretto scale --ranks 1,2,4,8 -- mpirun -n 8 ./app input.dat
stretto scale --nodes 1,2,4 --ppn 18,36 --price 3.89 -- mpirun -H a:36,b:36,c:36,d:36 ./app
stretto scale --ppn 1,2,4 --threads 4,2,1 -- mpirun -n 4 ./hybrid
stretto scale --ranks 2,4 --metric 'steps/s: ([\\d.]+)' --metric-better higher -- ./job.sh {n}"""

NUMBERS = "as 1,2,4 or 2-64 (doubling)"


def command(
    cmd: CommandLine = None,
    ranks: Annotated[
        str | None, typer.Option("--ranks", "-n", help=f"Ranks on one node, {NUMBERS}.")
    ] = None,
    nodes: Annotated[str | None, typer.Option(help=f"Nodes, {NUMBERS}.")] = None,
    ppn: Annotated[str | None, typer.Option(help=f"Ranks per node, {NUMBERS}.")] = None,
    threads: Annotated[
        str | None,
        typer.Option(help="OpenMP threads of a rank; with --ppn of equal length: pairs."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each point (3; 6, as a test needs, if tuned)."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Table of the tuned runs; by default as stretto run finds.")
    ] = None,
    native_only: Annotated[
        bool, typer.Option("--native-only", help="No tuned runs, whatever tables there are.")
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(help="Expression with one group that finds CMD's own figure in its output."),
    ] = None,
    metric_better: Annotated[str, typer.Option(help="lower or higher.")] = "lower",
    metric_unit: Annotated[str | None, typer.Option(help="Its unit, for print-outs.")] = None,
    price: Annotated[float | None, typer.Option(min=0.0, help="Of a node for an hour.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time for all of it: 90s, 10m, 1h.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Longest time of one run of CMD.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory for results and page.")
    ] = None,
    reset_command: Annotated[
        str | None,
        typer.Option(help="Puts the directory into its first state, instead of a fresh copy."),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Run CMD in this directory, as it is, each time.")
    ] = False,
    mpi: Annotated[
        str | None, typer.Option(help="MPI of a script: openmpi, mpich, intel, or a launcher.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the orders of the runs.")] = 1,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin again; the old file becomes NAME.old.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="Directory for the charts as SVG.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, however long.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run, and run nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run CMD on several numbers of nodes, ranks and threads, native and tuned, and compare.

    The number of ranks in CMD's mpirun line is replaced; in a script's arguments {n}, {nodes},
    {ppn} and {threads} are. Speed-up, efficiency, the point where more cores make it slower, and
    with --price what a run costs. The same command goes on after an interruption.
    """
    from stretto.campaign.idle import cores
    from stretto.campaign.settings import parse_duration
    from stretto.files.identity import collect
    from stretto.files.program import take
    from stretto.files.scale import Header
    from stretto.launch.job import understand
    from stretto.launch.naming import app_name
    from stretto.launch.resize import resize
    from stretto.scaling.analyse import analyse
    from stretto.scaling.measure import Measuring, Wanted, steps
    from stretto.scaling.show import as_json as findings_json
    from stretto.scaling.show import sentences, table_lines
    from stretto.tune.alone import alone_in
    from stretto.tune.application import refuse_applied
    from stretto.tune.outside import outside
    from stretto.tune.place import COPIES, Place, check_copy, keep_input
    from stretto.tune.trials import make_metric
    from stretto.tune.unchanged import program_files

    words = list(cmd or [])
    if not words:
        raise UsageError("there is no command to run", None, "write: -- mpirun -n 4 ./app")
    if reset_command is not None and in_place:
        raise UsageError("--reset-command and --in-place exclude one another", None, "take one")
    limits = (
        None if budget is None else parse_duration(budget),
        None if timeout is None else parse_duration(timeout, "--timeout"),
    )
    wanted_metric = make_metric(metric, metric_better, metric_unit)
    if price is not None and not math.isfinite(price):
        raise UsageError(f"{price} is no price", "--price", "write for example --price 3.89")
    environ = dict(os.environ)
    points = points_of(words, ranks, nodes, ppn, threads)
    here = cores() if max(p.nodes for p in points) == 1 else None
    jobs = {}
    for point in points:
        line = resize(words, point, environ, Path.cwd(), here)
        jobs[point] = _fitting(understand(line, mpi=mpi), point)
    first = next(iter(jobs.values()))
    refuse_applied({**first.environ, **first.command.assignments})
    directory = (out or Path(f"stretto-scale-{app_name(first)}")).absolute()
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "--out", "name another")
    if svg is not None:
        _check_charts(svg.absolute())
    place = Place(Path.cwd(), directory / COPIES, reset_command, in_place)
    check_copy(place)
    tuned = {} if native_only else tables_for(jobs, table)
    rounds = repeats or (6 if tuned else 3)
    path = directory / f"{app_name(first)}.scale.jsonl"
    total = len(steps(points, tuned, rounds, seed))
    say(
        f"stretto: {first.mpi.name}: {', '.join(p.words for p in points)} (nodes x ranks); "
        f"{total} runs of CMD {place.words()}; {len(tuned)} of {len(points)} points also tuned"
    )
    if originals := outside(words, place):
        say(f"stretto: note: outside of the directory, so not copied: {', '.join(originals)}")
    if dry_run:
        for point in points:
            say(f"stretto:   {point.words}: {shlex.join(jobs[point].command.words)}")
        say("stretto: dry run: nothing was run")
        if as_json:
            lines = {p: list(jobs[p].command.words) for p in points}
            plan = [{**asdict(p), "tuned": p in tuned, "command": lines[p]} for p in points]
            print_json({"dry_run": True, "runs": total, "points": plan, "file": str(path)})
        return
    keep_input()
    identity = collect(first.mpi.identity)
    header = Header(
        identity.stretto, identity.created, identity.host, identity.mpi, words,
        wanted_metric, seed,
        None if reset_command else [take(p) for p in program_files(first)],
    )  # fmt: skip
    wanted = Wanted(
        words, points, rounds, header.metric, place, path, environ, tuned, mpi,
        *limits, seed, here, yes,
    )  # fmt: skip
    with alone_in(directory):
        if restart and path.exists():
            path.replace(path.with_name(path.name + ".old"))
        scale = Measuring(wanted, say).run(header)
    found = analyse(scale.runs, header.metric, price)
    if found is None:
        raise _nothing(scale.runs[-1].detail if scale.runs else None, words, wanted_metric)
    from stretto.report.scaling_page import write

    if not as_json:  # before anything that is written can fail
        print("\n".join([*table_lines(found, header.metric), "", *sentences(found, price)]))
    page = path.with_name(path.name.replace(".scale.jsonl", ".scale.html"))
    written = write(scale, found, price, path, page, svg)
    if as_json:
        report = findings_json(found, header.metric, price)
        print_json({**report, "file": str(path), "written": [str(p) for p in written]})
        return
    say(f"stretto: runs are in {path}, the page is {page}")


def _check_charts(directory: Path) -> None:
    """Refuse a directory that cannot be made or written to: the charts come after all runs."""
    there = next(p for p in (directory, *directory.parents) if os.path.lexists(p))
    if not there.is_dir():
        raise UsageError(f"{there} is not a directory", "--svg", "name another")
    try:  # permissions alone do not tell: file systems are read-only, full, or of a server
        with tempfile.TemporaryDirectory(prefix=".stretto-", dir=there):
            pass
    except OSError as error:
        raise UsageError(
            f"nothing can be written into {there}: {error.strerror}", "--svg", "name another"
        ) from error


def _nothing(why: str | None, words: list[str], metric: Metric) -> StrettoError:
    """Return what to say where no run counts; `why` the last one does not, None without any."""
    from stretto.files.verdict import as_typed
    from stretto.scaling.words import NO_FIGURE

    place = shlex.join(words)
    if why is None:
        why = "the budget left no time for any"
    elif why.startswith(NO_FIGURE):
        return StrettoError(
            f"no run has a figure: {why}", place,
            f"change {as_typed(metric)} so that its group is the number in what CMD prints, and "
            "add --restart, as the file of these runs keeps the old one",
        )  # fmt: skip
    return StrettoError(f"no run succeeded: {why}", place, "make one of them run by hand first")


def points_of(
    words: list[str], ranks: str | None, nodes: str | None, ppn: str | None, threads: str | None
) -> list[Point]:
    """Return the points that the options mean; without any: doubling up to CMD's own ranks."""
    from stretto.launch.command import parse_command
    from stretto.launch.layout import find_layout
    from stretto.launch.resize import Point, has_placeholders

    if ranks is not None and (nodes is not None or ppn is not None):
        raise UsageError("--ranks means one node", "--ranks", "give --nodes and --ppn instead")
    each: list[int | None] = [None]
    if threads is not None:
        each = [*parse_numbers(threads, "--threads")]
    if ranks is None and nodes is None and ppn is None:
        if has_placeholders(words):
            raise UsageError(
                "on how many ranks?", "--ranks", "say --ranks 1,2,4, or --nodes, --ppn"
            )
        own = find_layout(parse_command(words, os.environ, Path.cwd()), os.environ)
        if own.nranks is None or own.nodes is None or own.ppn is None:
            raise UsageError(
                "on how many ranks?", "--ranks", "say --ranks 1,2,4, or --nodes, --ppn"
            )
        return _doubling(own.nodes, own.ppn, each)
    on = parse_numbers(nodes, "--nodes") if nodes is not None else [1]
    per = parse_numbers(ranks or ppn, "--ranks" if ranks else "--ppn") if ranks or ppn else None
    if per is None:
        raise UsageError("--nodes needs --ppn: how many ranks on each?", "--ppn", "say --ppn 36")
    if threads is not None and len(each) == len(per) > 1:
        shapes = list(zip(per, each, strict=True))  # ranks x threads that fill a node alike
    else:
        shapes = list(itertools.product(per, each))
    return sorted({Point(n, p, t) for n in on for p, t in shapes}, key=lambda q: (q.cores, str(q)))


def _doubling(nodes: int, ppn: int, threads: list[int | None]) -> list[Point]:
    from stretto.launch.resize import Point

    def up_to(most: int) -> list[int]:
        return [*(1 << i for i in range(most.bit_length()) if 1 << i < most), most]

    shapes = [(1, p) for p in up_to(ppn)] if nodes == 1 else [(n, ppn) for n in up_to(nodes)]
    return [Point(n, p, t) for n, p in shapes for t in threads]


def parse_numbers(text: str | None, option: str) -> list[int]:
    """Return the numbers in ``1,2,4`` or ``2-64`` (doubling)."""
    from stretto.campaign.settings import whole

    out: list[int] = []
    for part in (text or "").split(","):
        low, dash, high = part.strip().partition("-")
        good = whole(low) and int(low) >= 1
        if not good or (dash and not (whole(high) and int(high) >= int(low))):
            raise UsageError(f"{text!r} is no list of numbers", option, f"write them {NUMBERS}")
        at = int(low)
        while at <= (int(high) if dash else at):
            out.append(at)
            if not dash:
                break
            at *= 2
    return list(dict.fromkeys(out))


def _fitting(job: Job, point: Point) -> Job:
    """Refuse a line that asks for another number of ranks or nodes than it was to."""
    if job.command.launcher is None:
        return job
    if job.layout.nranks not in (None, point.nranks):
        raise StrettoError(
            f"this would run on {job.layout.nranks} ranks, not on {point.nranks}",
            shlex.join(job.command.words),
            "say where the numbers go: {n}, {nodes} and {ppn} in the command",
        )
    # Hydra puts any number of ranks on the nodes that it has: a point would be another one's.
    if job.layout.nodes not in (None, point.nodes):
        raise StrettoError(
            f"this would run on {job.layout.nodes} nodes, not on {point.nodes}",
            shlex.join(job.command.words),
            f"name the hosts of {point.nodes} nodes in the command, or ask for fewer (--nodes)",
        )
    return job


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def tables_for(jobs: Mapping[Point, Job], table: Path | None) -> dict[Point, Tuned]:
    """Return what `stretto run` would apply at each point, where it finds a table."""
    from stretto.commands.apply import settings_for
    from stretto.files.table import read_table
    from stretto.scaling.measure import Tuned

    out = {}
    for point, job in jobs.items():
        if point.nranks == 1 or (job.command.launcher is None and table is None):
            continue  # a script shows no layout, so that no table is found for it
        applied = settings_for(job, table, None, False)
        name = applied.variables.get("STRETTO_TABLE")
        if not applied.libraries or name is None:
            continue
        content = Path(name).read_bytes()
        rows = [
            r
            for r in read_table(Path(name)).rows
            if r.nodes in (None, point.nodes) and r.ppn in (None, point.ppn)
        ]
        if all(r.choice.startswith("native") for r in rows):
            say(f"stretto: note: {name} changes nothing on {point.words}: only native runs there")
            continue
        out[point] = Tuned(
            tuple(applied.libraries), applied.variables, f"{name} ({_digest(content)})"
        )
    return out
