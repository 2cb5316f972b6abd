"""``stretto tune``: measures, decides and writes the table; with CMD, proves the gain on it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import CommandLine, print_json, say
from stretto.errors import UsageError

EXAMPLE = """stretto tune -- mpirun -n 64 ./app input.dat
stretto tune --budget 10m --metric 'steps/s: ([\\d.]+)' --metric-better higher -- mpirun -n 8 ./app
stretto tune -n 2 --collective allreduce,bcast     (a table for all applications)"""


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
        int, typer.Option("-n", "--ranks", min=2, help="Ranks of a general table.")
    ] = 2,
    ppn: Annotated[int | None, typer.Option(min=1, help="Ranks per node.")] = None,
    hosts: Annotated[str | None, typer.Option(help="Nodes: a,b,c.")] = None,
    collective: Annotated[str | None, typer.Option(help="Only these: allreduce,bcast.")] = None,
    sizes: Annotated[str, typer.Option("--bytes", help="Sizes of a general table.")] = "8:1M:4",
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose algorithms by measurement; with CMD, only for what it uses, and prove the gain on it.

    Without CMD a table for all applications is made for a layout; stretto run finds it by itself.
    """
    from stretto.campaign.settings import parse_collectives, parse_duration
    from stretto.commands.bench import split_candidates
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
    names = None if candidates is None else [c for c in split_candidates(candidates) if c]
    if cmd:
        limit = None if timeout is None else parse_duration(timeout, "--timeout")
        _application(
            cmd, seconds, (metric, metric_better, metric_unit), out, pairs, reset_command, in_place,
            only, names, launches, mpi, limit, seed, restart, as_json,
        )  # fmt: skip
        return
    if "--" in sys.argv:
        raise UsageError("there is no command after --", None, "write: -- mpirun -n 4 ./app")
    for given, name in (
        (metric, "--metric"),
        (pairs, "--pairs"),
        (reset_command, "--reset-command"),
    ):
        if given is not None:
            raise UsageError(f"{name} needs a command", None, "give it after --: -- mpirun ./app")
    _general(
        seconds, out, nranks, ppn, hosts, only, sizes, names, launches or 10, mpi, seed, restart,
        as_json,
    )  # fmt: skip


def _application(
    words: list[str],
    budget: float | None,
    metric: tuple[str | None, str, str | None],
    out: Path | None,
    pairs: int | None,
    reset: str | None,
    in_place: bool,
    only: list[str] | None,
    candidates: list[str] | None,
    launches: int | None,
    mpi: str | None,
    timeout: float | None,
    seed: int,
    restart: bool,
    as_json: bool,
) -> None:
    from stretto.launch.job import understand
    from stretto.launch.naming import tuned_directory
    from stretto.tune.application import Tuning
    from stretto.tune.steps import Options
    from stretto.tune.trials import COPIES, Place, make_metric

    if reset is not None and in_place:
        raise UsageError("--reset-command and --in-place exclude one another", None, "take one")
    wanted = make_metric(*metric)
    directory = out or tuned_directory(understand(words, mpi=mpi))
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "--out", "name another")
    directory = directory.absolute()
    place = Place(Path.cwd(), directory / COPIES, reset, in_place)
    options = Options(
        words, directory, wanted, place, budget, pairs, launches, only, candidates, mpi, timeout,
        seed, restart,
    )  # fmt: skip
    outcome = Tuning(options, say).run()
    if as_json:
        print_json(_outcome_json(outcome))
        return
    for line in rows_lines(outcome.rows):
        print(line)
    print(f"stretto: {outcome.conclusion}")
    shown = _near(directory)
    following = [f"stretto report {shlex.quote(shown)}"]
    if outcome.helps and outcome.table is not None:
        near = shlex.quote(_near(outcome.table))
        following.insert(0, f"stretto run --table {near} -- {shlex.join(words)}")
    print("next: " + "\n      ".join(following))


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


def _general(
    budget: float | None,
    out: Path | None,
    nranks: int,
    ppn: int | None,
    hosts: str | None,
    only: list[str] | None,
    sizes: str,
    candidates: list[str] | None,
    launches: int,
    mpi: str | None,
    seed: int,
    restart: bool,
    as_json: bool,
) -> None:
    from stretto.campaign import programs
    from stretto.campaign import settings as s
    from stretto.campaign.candidates import default_candidates, need_interposer, refuse_unknown
    from stretto.campaign.compare import compare, decisive, timings
    from stretto.campaign.idle import cores, idle_warning
    from stretto.campaign.runner import measure, require_layout
    from stretto.campaign.show import as_json as results_json
    from stretto.campaign.show import table_lines
    from stretto.commands.bench import announcement
    from stretto.files.identity import collect
    from stretto.files.locate import table_path
    from stretto.files.table import TUNABLE, Table, write_table
    from stretto.mpi.detect import find_installation
    from stretto.tune.decide import decide

    installation = find_installation(mpi)
    host_names = tuple(h for h in (hosts or "").split(",") if h)
    nodes = len(host_names) or (max(1, -(-nranks // ppn)) if ppn else 1)
    identity = collect(installation.identity)
    each = min(ppn, nranks) if ppn else -(-nranks // nodes)
    if ppn and host_names:
        nodes = min(nodes, -(-nranks // ppn))  # they are filled one after another

    def candidates_of(name: str) -> list[str]:
        found = candidates or default_candidates(name, installation.abi, nodes, nranks)
        found = s.check_candidates(name, found)
        need_interposer(["native", *found], installation.abi)
        return found

    programs.bench_program(installation.abi)
    refuse_unknown(only or list(TUNABLE), candidates or [])
    cases = s.grid(only or list(TUNABLE), s.parse_sizes(sizes), candidates_of)
    settings = s.Settings(
        nranks=nranks,
        cases=tuple(cases),
        variants=s.variants_of(cases),
        launches=launches,
        ppn=ppn,
        hosts=host_names,
        seed=seed,
        budget_s=budget,
        batches=(9, 40),
        oversubscribed=nranks > cores() * nodes,
    )
    path = out or table_path(installation.identity, identity.host, nodes, each)
    results = path.with_name(path.name.removesuffix(".table") + ".bench.jsonl")
    for line in announcement(settings, installation.name, results):
        say(line)
    warning = idle_warning()
    if warning:
        say(f"stretto: warning: {warning}")
    bench, notes = measure(
        settings, installation, results, identity, ["stretto", *sys.argv[1:]], say, restart
    )
    require_layout(bench, nodes, each, results)
    times = timings(bench)
    comparisons = compare(times)
    rows = decide(decisive(comparisons, times), nodes, each)
    table = Table(
        installation.family, installation.version, nodes, each, identity.created, identity.stretto,
        identity.host.name, identity.host.cpu, rows,
    )  # fmt: skip
    write_table(table, path)
    if as_json:
        print_json(
            {**results_json(times, comparisons, notes), "table": str(path), "file": str(results)}
        )
        return
    print("\n".join(table_lines(times, comparisons)))
    print("\n".join(rows_lines(rows)) or "native stays everywhere: nothing was faster than it with "
          "significance")  # fmt: skip
    print(f"table: {path}")
    print(f"next: stretto run {f'--table {path} ' if out else ''}-- mpirun -n {nranks} ./app")
