"""``stretto table``: makes tables for all applications, and shows them."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli import options as o
from stretto.cli.complete import files
from stretto.cli.lazy import lazily
from stretto.counted import counted, sized
from stretto.errors import UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.files.caches import COLD
    from stretto.files.export import TARGETS
    from stretto.files.identity import MPIIdentity, collect, product
    from stretto.files.locate import table_path
    from stretto.files.merge import merge_tables
    from stretto.files.results import results_in
    from stretto.files.rows import Row
    from stretto.files.schema import encode
    from stretto.files.table import read_table, write_table
    from stretto.measure.compare import BARE, NATIVE, open_words
    from stretto.measure.idle import busy_note
    from stretto.measure.ledger import require_layout
    from stretto.measure.request import Shapes, announce, planned, split_candidates, where
    from stretto.measure.runner import measure
    from stretto.measure.settings import (
        Settings,
        parse_counts,
        parse_duration,
        parse_sizes,
        parse_tunable,
        variants_of,
    )
    from stretto.measure.show import as_json as results_json
    from stretto.measure.show import table_lines
    from stretto.model.native import BASELINES
    from stretto.model.platform import crowded_note
    from stretto.model.platform_file import load
    from stretto.model.show import answer_lines
    from stretto.model.sweep import simulated_table, write_results
    from stretto.mpi.algorithms.base import PREFIX
    from stretto.mpi.detect import find_installation
    from stretto.report.ranking import labelled
    from stretto.report.sources import excluded
    from stretto.tune.evidence import rows_lines
    from stretto.tune.table import DecidedFile, decide_from

EXAMPLE = """stretto table make -n 64 --ppn 32 --hosts a,b --collective allreduce,bcast
stretto table decide imported/openmpi-4.0.1-8x36.bench.jsonl
stretto table simulate -p hpc7g --nodes 2:128 --ppn 64     # without measuring
stretto table merge site.table new.table --out site.table
stretto table show my.table"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.command("make")
def make(
    collective: o.Collective = None,
    sizes: o.Sizes = "8:1M:4",
    candidates: o.Candidates = None,
    ranks: Annotated[int, o.option(o.JOB, "Number of ranks.", "--ranks", "-n", min=2)] = 2,
    ppn: o.Ppn = None,
    hosts: o.Hosts = None,
    mpi: o.Mpi = None,
    launches: Annotated[
        int, o.option(o.COST, "Launches of the measuring program; a test needs six.", min=1)
    ] = 10,
    budget: o.Budget = None,
    seed: o.Seed = 1,
    restart: o.RestartFile = False,
    yes: o.Yes = False,
    dry_run: o.DryRun = False,
    out: Annotated[
        Path | None, o.out_file("The table (default: where stretto run finds it).", o.new)
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Measure on one layout, and write a table for all applications on it.

    The same command continues after an interruption. All layouts: stretto campaign.
    """
    place = where(ranks, ppn, hosts, mpi)
    installation, seconds = place.installation, None if budget is None else parse_duration(budget)
    given = None if candidates is None else split_candidates(candidates)
    shapes = Shapes(parse_tunable(collective), parse_sizes(sizes), given, bare=True)
    cases = shapes.cases(place, say)
    settings = Settings(
        ranks, tuple(cases), variants_of(cases), launches, ppn, place.hosts, seed, seconds,
        batches=(9, 40), oversubscribed=place.oversubscribed,
    )  # fmt: skip
    identity = collect(installation.identity)
    path = out or table_path(installation.identity, identity.host.cpu, place.nodes, place.each)
    results = path.with_name(path.name.removesuffix(".table") + ".bench.jsonl")
    if not announce(settings, installation.name, results, say, restart, yes, dry_run):
        if as_json:
            print_json(planned(settings, results, restart))
        return
    words = ["stretto", *sys.argv[1:]]
    bench, notes = measure(settings, installation, results, identity, words, say, restart)
    require_layout(bench, place.nodes, place.each, results)
    (decided,), path = decide_from([results], path)
    if as_json:
        whole = results_json(decided.times, decided.comparisons, notes)
        print_json({**whole, "table": str(path), "file": str(results)})
        return
    print("\n".join(table_lines(decided.times, decided.comparisons)))
    nothing = "native on every row: no algorithm was significantly faster"
    _show_rows(decided.rows, open_words(decided.deciding), nothing)
    print(f"table: {path}")
    named = f"--table {shlex.quote(str(path))} " if out else ""
    print(f"next: stretto run {named}-- mpirun -n {ranks} ./app")


def _show_rows(rows: list[Row], untold: str | None, nothing: str) -> None:
    """Print what a table changes, and at how many calls nothing can be told."""
    lines = rows_lines(rows)
    print("\n".join([*lines, *([untold] if untold else [])] if lines else [untold or nothing]))


@app.command("decide")
def decide(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Results of stretto bench or stretto import, or directories of them.",
            autocompletion=files(".bench.jsonl"),
        ),
    ],
    out: Annotated[
        Path | None, o.out_file("Table to write (default: next to the first results).")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Make a table from existing results; nothing is measured."""
    results = results_in(results)
    with Progress("deciding"):
        found, table = decide_from(results, out)
    if found[0].bench.header.cold:
        say(f"stretto: note: {COLD}")
    labels = [_labels(d) for d in found]
    gone: list[str] = []
    for path, one, names in zip(results, found, labels, strict=True):
        if one.bench.truncated:
            say(f"stretto: note: {path}: the last line is cut off and left out")
        if (busy := busy_note(one.bench)) is not None:
            say(f"stretto: note: {busy}")
        gone += excluded(one.bench, lambda name, names=names: names.get(name, name))  # type: ignore[misc]
    for text in gone:
        say(f"stretto: warning: {text}; its results are not used there")
    for text in (t for one in found for t in one.alone):
        say(
            f"stretto: note: {text}: the baseline (native or bare) is missing, so nothing is "
            "compared there"
        )
    if as_json:
        parts = [{**results_json(d.times, d.comparisons, []), "native": d.natives} for d in found]
        print_json({"table": str(table), "files": parts, "excluded": gone})
        return
    for one, names in zip(found, labels, strict=True):
        if one.times:
            print("\n".join(table_lines(one.times, one.comparisons, names)))
    natives = [f"  {text}" for d in found for text in d.natives]
    nothing = "no algorithm of Stretto was significantly faster"
    untold = open_words([c for d in found for c in d.deciding])
    tried = {c.candidate for d in found for c in d.comparisons}
    if tried and all(c in (BARE, NATIVE) or c.startswith(PREFIX) for c in tried):
        nothing, untold = "no algorithm of Stretto was measured: the table has no row", None
    if not tried:
        nothing = "nothing was compared: no valid candidate was measured together with the baseline"
        untold = None
    _show_rows([r for d in found for r in d.rows], untold, nothing)
    if natives:
        print("native algorithms that are faster than the native selection:")
        print("\n".join(natives))
    print(f"table: {table}")
    if natives:
        target = _target(found[0].bench.header.mpi)
        print(f"next: stretto export --to {target} --out tuning {shlex.join(map(str, results))}")


def _labels(one: DecidedFile) -> dict[str, str]:
    head = one.bench.header
    nodes = min((r.nodes for r in one.bench.launches), default=1)
    names = {s.candidate: labelled(s.candidate, head.mpi, nodes) for s in one.bench.samples}
    seen = Counter(names.values())
    return {candidate: name for candidate, name in names.items() if seen[name] == 1}


def _target(mpi: MPIIdentity) -> str:
    name = product(mpi)
    fits = [t for t in TARGETS if t in (name, f"{name}-{mpi.version.split('.')[0]}")]
    # of an Open MPI whose version is not known, nobody can say which
    return next(iter(fits), "TARGET")


@app.command("simulate")
def simulate(
    platform: o.PlatformName,
    nodes: Annotated[str, o.option(o.JOB, f"Nodes: {o.COUNTS}.")] = "2:64",
    ppn: Annotated[
        str | None, o.option(o.JOB, f"Ranks per node: {o.COUNTS} (default: the platform's cores).")
    ] = None,
    collective: o.Collective = None,
    sizes: o.Sizes = "8:1M:4",
    mpi: o.Mpi = None,
    seed: o.Seed = 1,
    dry_run: o.DryRun = False,
    out: Annotated[Path | None, o.out_file("The table (default: PLATFORM.table).")] = None,
    as_json: o.Json = False,
) -> None:
    """Make a table by simulation, for a cluster that you cannot measure."""
    where = load(platform)
    path = out or Path(f"{where.name}.table")
    results = path.with_name(path.name.removesuffix(".table") + ".bench.jsonl")
    for existing in (path, results):
        if existing.exists():
            raise UsageError(
                f"{existing} already exists, and may contain measurements", "--out",
                "name another file",
            )  # fmt: skip
    installation = find_installation(mpi)
    names, wanted = parse_tunable(collective), parse_sizes(sizes)
    counts = sorted({*parse_counts(nodes, "--nodes")})
    each = sorted({*parse_counts(ppn, "--ppn")}) if ppn else [int(where.cores)]
    if (note := crowded_note(where, each)) is not None:
        say(f"stretto: note: {note}")
    points = len(names) * len(counts) * len(each) * len(wanted)
    if dry_run:
        say(
            f"stretto: {counted(points, 'point')} would be simulated ({', '.join(names)}), about "
            "one minute of one core for each point of several thousand ranks"
        )
        if as_json:
            print_json({"dry_run": True, "points": points, "table": str(path)})
        return
    say(f"stretto: simulating {', '.join(names)} on {where.name}: nothing is measured")
    if installation.family not in BASELINES:
        say(
            f"stretto: note: the model does not have the native selection of {installation.name}: "
            "gains are relative to Open MPI (baseline=openmpi)"
        )
    with Progress("pricing", points, unit="points") as bar:
        table, answers = simulated_table(
            where, counts, each, names, wanted, installation.family, installation.version,
            seed=seed,
            done=lambda c: bar.advance(1, f"{c.collective} {c.nodes} x {c.ppn}, {sized(c.bytes)}"),
        )  # fmt: skip
    write_results(answers, where, results, ["stretto", *sys.argv[1:]], "openmpi")
    write_table(table, path)
    if as_json:
        print_json({
            "source": "simulated", "table": str(path), "file": str(results),
            "rows": [encode(r) for r in table.rows],
        })  # fmt: skip
        return
    print("\n".join(answer_lines(answers, 0)))
    print(f"table: {path} (simulated)\nresults: {results}")
    print(f"next: stretto run --table {shlex.quote(str(path))} -- CMD, and measure on the cluster")


@app.command("merge")
def merge(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="TABLE...", help="Tables.", autocompletion=files(".table")),
    ],
    out: Annotated[Path, o.out_file("The merged table.")],
    as_json: o.Json = False,
) -> None:
    """Merge tables of several runs and users; where they differ, the stronger evidence is used.

    The tables must be for one MPI version and one processor. For each layout, measured rows take
    precedence over learned ones, and rows with more launches or calls over those with fewer.
    """
    if out.exists() and out.resolve() not in [path.resolve() for path in paths]:
        raise UsageError(
            f"{out} exists and is not one of the tables", "--out",
            "name it among the tables, or write another file",
        )  # fmt: skip
    table = merge_tables([(path, read_table(path)) for path in paths])
    write_table(table, out)
    if as_json:
        print_json({"table": str(out), "rows": [encode(r) for r in table.rows]})
        return
    _show_rows(table.rows, None, "native on every row")
    print(f"table: {out}")
    print(f"next: stretto run --table {shlex.quote(str(out))} -- CMD")


@app.command("show")
def show(
    path: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table.", autocompletion=files(".table"))
    ],
    as_json: o.Json = False,
) -> None:
    """Show MPI, CPU and layout of a table, and its rows with their evidence."""
    table = read_table(path)
    if as_json:
        print_json({
            "mpi": f"{table.family} {table.mpi_version}", "nodes": table.nodes, "ppn": table.ppn,
            "cpu": table.cpu, "host": table.host, "created": table.created,
            "rows": [encode(r) for r in table.rows],
        })  # fmt: skip
        return
    layout = "several layouts"
    if table.nodes is not None and table.ppn is not None:
        layout = f"{table.nodes} x {table.ppn} (nodes x ranks)"
    print(f"{path}: {table.family} {table.mpi_version} on {layout}, {table.cpu}, {table.created}")
    _show_rows(table.rows, None, "native on every row")
