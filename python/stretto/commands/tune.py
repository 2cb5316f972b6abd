"""``stretto tune``: measures, decides and writes the table; with CMD, proves the gain on it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import CommandLine, print_json, say
from stretto.errors import UsageError

EXAMPLE = """stretto tune -- mpirun -n 64 ./app input.dat
stretto tune --budget 10m --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun -n 8 ./app
stretto tune -n 2 --collective allreduce,bcast     (a table for all applications)
stretto tune --settings -- mpirun -n 64 ./app     (eager limits, HAN, binding, ...)
stretto tune --from imported/openmpi-4.0.1-8x36.bench.jsonl     (decide, measure nothing)
stretto tune --campaign cluster.toml --dry-run     (all layouts of a cluster: docs/campaign.md)
stretto tune --nodes 1,2,4 --ppn 1,2 --hosts a,b,c,d --collective allreduce
stretto tune --platform hpc7g --nodes 2-128 --ppn 64     (simulated, for a cluster to come)"""

#: of a table for one layout
SIZES = "8:1M:4"


def command(
    cmd: CommandLine = None,
    budget: Annotated[str | None, typer.Option(help="Time for all of it: 90s, 10m, 1h.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Expression with one group that finds CMD's own figure in its output."),
    ] = None,
    metric_better: Annotated[str, typer.Option(help="lower or higher.")] = "lower",
    metric_unit: Annotated[str | None, typer.Option(help="Its unit, for print-outs.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", help="Directory (without CMD: the table's file)."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=0, help="Pairs of runs of CMD (6; a test needs six).")
    ] = None,
    reset_command: Annotated[
        str | None,
        typer.Option(help="Puts the directory into its first state, instead of a fresh copy."),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Run CMD in this directory, as it is, each time.")
    ] = False,
    nranks: Annotated[
        int | None, typer.Option("-n", "--ranks", min=2, help="Ranks of a general table (2).")
    ] = None,
    ppn: Annotated[
        str | None, typer.Option(help="Ranks per node; of a campaign several: 1,2.")
    ] = None,
    hosts: Annotated[str | None, typer.Option(help="Nodes: a,b,c.")] = None,
    collective: Annotated[str | None, typer.Option(help="Only these: allreduce,bcast.")] = None,
    sizes: Annotated[
        str | None, typer.Option("--bytes", help="Sizes of a general table (8:1M:4).")
    ] = None,
    candidates: Annotated[
        str | None, typer.Option(help="Choices to try; by default all that fit.")
    ] = None,
    launches: Annotated[
        int | None, typer.Option(min=1, help="Launches of the measuring program (10).")
    ] = None,
    mpi: Annotated[
        str | None, typer.Option(help="openmpi, mpich, intel, a launcher, or a prefix.")
    ] = None,
    timeout: Annotated[str | None, typer.Option(help="Longest time of one run of CMD.")] = None,
    seed: Annotated[int, typer.Option(help="Of all orders that are random.")] = 1,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin again instead of going on.")
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Lines of CMD's output that match do not count in the comparison."),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(help="Compare only these files that CMD writes: '*.csv' (all by default)."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, however long.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and measure nothing.")
    ] = False,
    platform: Annotated[
        str | None,
        typer.Option(help="Measure nothing: make a table by simulation, for this platform."),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="A campaign over these: 1,2,4; with --platform also 2-128 (doubling)."),
    ] = None,
    campaign: Annotated[
        Path | None, typer.Option(help="A campaign's file: all layouts, one table.")
    ] = None,
    interpolate: Annotated[
        str | None, typer.Option(help="Of a campaign: layouts to fill in, as 3x2,6x2.")
    ] = None,
    refine: Annotated[
        Path | None,
        typer.Option(help="Of a campaign: a simulated table, for what is not measured."),
    ] = None,
    launcher: Annotated[
        str | None, typer.Option(help="Of a campaign: mpirun, srun or auto.")
    ] = None,
    separate_launches: Annotated[
        bool,
        typer.Option(
            "--separate-launches",
            help="Of a campaign: a launch for each of the MPI's own algorithms, even where several "
            "can alternate in one.",
        ),
    ] = False,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Of a campaign: layouts side by side on the nodes.")
    ] = False,
    results: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Measure nothing: decide from these bench results."),
    ] = None,
    settings: Annotated[
        bool,
        typer.Option(
            "--settings",
            help="Try the MPI's settings on CMD instead: links, eager limits, HAN, single copy, "
            "rails, binding. --candidates 'NAME=VALUE;...' names them.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose algorithms by measurement; with CMD, only for what it uses, and prove the gain on it.

    Without CMD a table for all applications is made for a layout; stretto run finds it by itself.
    """
    from stretto.campaign.request import split_candidates
    from stretto.campaign.settings import parse_collectives, parse_duration
    from stretto.files.table import TUNABLE

    seconds = None if budget is None else parse_duration(budget)
    only = None if collective is None else parse_collectives(collective)
    for name in only or []:
        if name not in TUNABLE:
            raise UsageError(
                f"Stretto leaves {name} to the MPI, so there is nothing to tune",
                "--collective",
                f"there are {', '.join(TUNABLE)}",
            )
    names = None if candidates is None else split_candidates(candidates)
    of_cmd = ((metric, "--metric"), (pairs, "--pairs"), (reset_command, "--reset-command"),
              (in_place or None, "--in-place"), (timeout, "--timeout"), (ignore, "--ignore"),
              (compare, "--compare"), (settings or None, "--settings"))  # fmt: skip
    if results:
        _refuse("--from", (
            (budget, "--budget"), (hosts, "--hosts"), (launches, "--launches"), (nodes, "--nodes"),
            (candidates, "--candidates"), (collective, "--collective"), (platform, "--platform"),
            (nranks, "--ranks"), (ppn, "--ppn"), (sizes, "--bytes"), (mpi, "--mpi"),
            (campaign, "--campaign"), (interpolate, "--interpolate"), (launcher, "--launcher"),
            (refine, "--refine"), (separate_launches or None, "--separate-launches"),
            (dry_run or None, "--dry-run"), (parallel or None, "--parallel"), *of_cmd,
        ))  # fmt: skip
        _from_results(results, cmd, out, as_json)
        return
    sweeps = {"--campaign": campaign, "--interpolate": interpolate, "--launcher": launcher,
              "--refine": refine, "--parallel": parallel or None,
              "--separate-launches": separate_launches or None}  # fmt: skip
    if not cmd and platform is None and (nodes is not None or campaign is not None):
        from stretto.sweep.command import tune_campaign

        if restart:
            raise UsageError(
                "a campaign never throws results away", "--restart", "name a new directory: --out"
            )
        _refuse(
            "a campaign", ((nranks, "--ranks"), *of_cmd), "ranks are nodes x --ppn; no CMD runs"
        )
        code = tune_campaign(
            campaign,
            {"nodes": nodes, "ppn": ppn, "hosts": hosts, "collectives": collective, "bytes": sizes,
             "candidates": candidates, "launches": launches, "budget": budget, "mpis": mpi,
             "out": None if out is None else str(out), "interpolate": interpolate,
             "refine": None if refine is None else str(refine),
             "launcher": launcher, "seed": seed if seed != 1 else None,
             "separate_launches": separate_launches or None, "parallel": parallel or None},
            say, yes, dry_run, as_json,
        )  # fmt: skip
        raise typer.Exit(code)
    for option, given in sweeps.items():
        if given is not None:
            raise UsageError(f"{option} is of a campaign", option, "without CMD and --platform")
    if ppn is not None and not (ppn.isdigit() and int(ppn) > 0):
        raise UsageError(f"{ppn!r} is no number of ranks", "--ppn", "several need --nodes, too")
    each = None if ppn is None else int(ppn)
    if platform is not None or nodes is not None:
        from stretto.model.tuning import tune_by_simulation

        for value, option in ((budget, "--budget"), (hosts, "--hosts"), (launches, "--launches"),
                              (candidates, "--candidates")):  # fmt: skip
            if value is not None:
                raise UsageError(f"{option} has no meaning with --platform", option, "leave it out")
        tune_by_simulation(
            cmd, platform, nodes, each, only, sizes or SIZES, mpi, out, seed, as_json, dry_run
        )
        return
    if cmd:
        limit = None if timeout is None else parse_duration(timeout, "--timeout")
        from stretto.tune.outputs import Rules
        from stretto.tune.place import COPIES, Place
        from stretto.tune.stage import Options
        from stretto.tune.trials import make_metric

        if reset_command is not None and in_place:
            raise UsageError("--reset-command and --in-place exclude one another", None, "take one")
        directory = _directory(cmd, out, mpi)
        options = Options(
            words=cmd,
            out=directory,
            metric=make_metric(metric, metric_better, metric_unit),
            place=Place(Path.cwd(), directory / COPIES, reset_command, in_place),
            budget_s=seconds,
            pairs=pairs,
            launches=launches,
            only=only,
            candidates=names,
            mpi=mpi,
            timeout_s=limit,
            seed=seed,
            restart=restart,
            rules=Rules(tuple(ignore or []), tuple(compare or [])),
            yes=yes,
            dry_run=dry_run,
        )
        if settings:
            if only is not None or launches is not None:
                raise UsageError("--settings is of no collective", None, "leave them out")
            _settings(options, as_json)
            return
        _application(options, as_json)
        return
    if "--" in sys.argv:
        raise UsageError("there is no command after --", None, "write: -- mpirun -n 4 ./app")
    for unused, option in (
        (metric, "--metric"),
        (pairs, "--pairs"),
        (reset_command, "--reset-command"),
        (settings, "--settings"),
        (ignore, "--ignore"),
        (compare, "--compare"),
    ):
        if unused:
            raise UsageError(f"{option} needs a command", None, "give it after --: -- mpirun ./app")
    from stretto.campaign.request import where
    from stretto.tune.general import Request

    request = Request(
        where(nranks or 2, each, hosts, mpi), out, only, sizes or SIZES, names, launches or 10,
        seconds, seed, restart, yes, dry_run,
    )  # fmt: skip
    _general(request, as_json)


def _refuse(where: str, given: Iterable[tuple[object, str]], remedy: str = "leave it out") -> None:
    """Refuse options that would silently do nothing."""
    for value, option in given:
        if value is not None:
            raise UsageError(f"{option} has no meaning with {where}", option, remedy)


def _from_results(results: list[Path], cmd: Any, out: Path | None, as_json: bool) -> None:
    """Decide from results files."""
    from stretto.campaign.show import as_json as results_json
    from stretto.campaign.show import table_lines
    from stretto.tune.from_results import decide_from

    if cmd:
        raise UsageError(
            f"--from measures nothing, so {shlex.join(cmd)!r} is not run",
            "--from",
            "leave CMD out; several files: --from A --from B",
        )
    found, table = decide_from(results, out)
    if as_json:
        parts = [{**results_json(d.times, d.comparisons, []), "native": d.natives} for d in found]
        print_json({"table": str(table), "files": parts})
        return
    for one in found:
        print("\n".join(table_lines(one.times, one.comparisons)))
    rows = rows_lines([r for d in found for r in d.rows])
    natives = [f"  {text}" for d in found for text in d.natives]
    print("\n".join(rows) or "no algorithm of Stretto's was faster with significance")
    if natives:
        print("faster than what the MPI does by itself, of its own algorithms:")
        print("\n".join(natives))
    print(f"table: {table}")
    if natives:
        files = shlex.join(map(str, results))
        print(f"next: stretto export --to FAMILY --out tuning {files}")


def _directory(words: list[str], out: Path | None, mpi: str | None) -> Path:
    """Return tune's output directory for a command."""
    from stretto.launch.job import understand
    from stretto.launch.naming import tuned_directory

    directory = out or tuned_directory(understand(words, mpi=mpi))
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "--out", "name another")
    return directory.absolute()


def _application(options: Any, as_json: bool) -> None:
    from stretto.tune.application import Tuning

    outcome = Tuning(options, say).run()
    if as_json:
        print_json(_outcome_json(outcome))
        return
    for line in rows_lines(outcome.rows):
        print(line)
    print(f"stretto: {outcome.conclusion}")
    if options.dry_run:
        return
    following = [f"stretto report {shlex.quote(_near(options.out))}"]
    if outcome.helps and outcome.table is not None:
        near = shlex.quote(_near(outcome.table))
        following.insert(0, f"stretto run --table {near} -- {shlex.join(options.words)}")
    print("next: " + "\n      ".join(following))


def _settings(options: Any, as_json: bool) -> None:
    from stretto.files.schema import encode
    from stretto.tune.settings import SettingsTuning, lines

    found = SettingsTuning(options, say).run()
    if found is None:
        return
    if as_json:
        print_json(encode(found))
        return
    print("\n".join(lines(found)))
    print(f"stretto: {found.conclusion}")
    if found.chosen:
        print(f"next: stretto run -- {shlex.join(options.words)}")


def _near(path: Path) -> str:
    """Return a path as the user would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def rows_lines(rows: list[Any]) -> list[str]:
    """Return the rows of a table that change something, for people."""
    from stretto.campaign.show import size_words

    out = []
    for r in rows:
        if r.choice == "native":
            continue
        high = "inf" if r.high is None else size_words(r.high)
        e = r.evidence
        low_high = f" ({e['low']} to {e['high']})" if "low" in e else ""
        out.append(
            f"  {r.collective:10} {size_words(r.low)}-{high} B: {r.choice}, time x {e.get('ratio')}"
            f"{low_high}, p={e.get('p')}, {e.get('launches')} launches"
        )
    return ["faster than native, and in the table:", *out] if out else []


def _outcome_json(outcome: Any) -> dict[str, Any]:
    from stretto.files.schema import encode

    value: dict[str, Any] = {}
    for key, item in vars(outcome).items():
        if isinstance(item, Path):
            value[key] = str(item)
        elif key == "bench":
            value[key] = [str(p) for p in item]
        else:
            value[key] = encode(item)
    return value


def _general(request: Any, as_json: bool) -> None:
    from stretto.campaign.show import as_json as results_json
    from stretto.campaign.show import table_lines
    from stretto.tune.general import tune_generally

    found = tune_generally(request, ["stretto", *sys.argv[1:]], say)
    if found is None:
        return
    if as_json:
        results = results_json(found.times, found.comparisons, found.notes)
        print_json({**results, "table": str(found.path), "file": str(found.results)})
        return
    print("\n".join(table_lines(found.times, found.comparisons)))
    nothing = "native stays everywhere: nothing was faster than it with significance"
    print("\n".join(rows_lines(found.rows)) or nothing)
    print(f"table: {found.path}")
    named = f"--table {found.path} " if request.out else ""
    print(f"next: stretto run {named}-- mpirun -n {request.where.nranks} ./app")
