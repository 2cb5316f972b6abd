"""A campaign from its request to its tables, one MPI after another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stretto.campaign import programs
from stretto.campaign.candidates import refuse_unknown
from stretto.campaign.cost import ask, duration
from stretto.campaign.fitting import require_layout
from stretto.campaign.idle import HYPERTHREADS, MORE_RANKS, crowd_words
from stretto.campaign.natives import unlisted
from stretto.campaign.show import size_words
from stretto.errors import EXIT_FAULT, StrettoError, keeping
from stretto.files.bench import Bench, format_record
from stretto.files.identity import Identity, MPIIdentity, collect, cpu_slug, now
from stretto.files.io import dump_json, write_atomic
from stretto.files.table import Row, Table, read_table, write_table
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import find_installation
from stretto.sweep.alone import alone_on
from stretto.sweep.backend import Backend, Launches
from stretto.sweep.decide import decide_all
from stretto.sweep.elimination import Policy
from stretto.sweep.expected import at_most_s, expected_s, limit_s
from stretto.sweep.hosts import Hosts, find_hosts, make_backend
from stretto.sweep.interpolate import interpolated
from stretto.sweep.layout import Layout, ordered
from stretto.sweep.outlook import hopeless, plan_json
from stretto.sweep.parallel import side_by_side
from stretto.sweep.plan import LayoutPlan, as_begun, make_plan
from stretto.sweep.refine import read_simulated, refined
from stretto.sweep.request import OWN, Request, about
from stretto.sweep.said import regret_words, untested
from stretto.sweep.site import given_up_words
from stretto.sweep.stopping import stops_gently
from stretto.sweep.worker import Worker

CAMPAIGN = "campaign.json"


@dataclass
class Outcome:
    """What came of a campaign with one MPI.

    Attributes
    ----------
    complete
        Everything is measured: no launch was given up, no layout left out.
    left_out
        A sentence for each layout that was not measured, or not all of it.
    ended
        This start could do no more; otherwise it was stopped, or others are at work.
    remedy
        What to do about the first layout that was left out.
    """

    mpi: str
    table: Path | None
    results: list[Path]
    rows: list[Row]
    regret: str | None
    complete: bool
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended: bool = True
    remedy: str | None = None


@dataclass(frozen=True)
class System:
    """One MPI of a campaign on one kind of node.

    Attributes
    ----------
    base
        Where its results go.
    away
        It will be measured in a batch job: nothing is known of the nodes.
    """

    installation: MPIInstallation
    identity: Identity
    hosts: Hosts
    base: Path
    plans: list[LayoutPlan]
    away: bool = False


def system_of(
    request: Request,
    mpi: str | None,
    say: Callable[[str], None],
    ask_nodes: bool,
    away: bool = False,
) -> System:
    """Return the MPI, its nodes and the plans of a campaign.

    Parameters
    ----------
    request, say
        The campaign; prints a sentence to the user.
    mpi
        As for ``--mpi``.
    ask_nodes
        Start a line of shell on every node to see what it is (not in a dry run).
    away
        As in `System`.
    """
    installation = find_installation(mpi)
    if request.refine is not None:
        read_simulated(request.refine, installation.family)  # refused before anything is measured
    programs.bench_program(installation.abi)
    named = [c for c in request.candidates if c != OWN]
    refuse_unknown(request.collectives, named)
    for sentence in unlisted(installation, named):
        say(f"stretto: warning: {sentence}")
    hosts = find_hosts(request, installation, say, ask_nodes, away)
    identity = collect(installation.identity)
    slug = cpu_slug(hosts.cpu or identity.host.cpu)
    base = request.out / f"{installation.family}-{installation.version}" / slug
    plans = []
    for layout in ordered(request.layouts):
        shared = request.shared_cores or hosts.shared_by(layout)
        plan = make_plan(request, installation, layout, shared)
        plans.append(as_begun(base / layout.name, plan))
    return System(installation, identity, hosts, base, plans, away)


def plan_lines(request: Request, system: System) -> list[str]:
    """Return the plan of the measurements with the expected time, for people.

    Parameters
    ----------
    request, system
        The campaign, and one of its MPIs.
    """
    cases = system.plans[0].settings.cases
    sizes = sorted({c.bytes for c in cases})
    out = [
        f"{system.installation.name}: {', '.join(dict.fromkeys(c.collective for c in cases))}; "
        f"{len(sizes)} sizes ({size_words(sizes[0])} to {size_words(sizes[-1])}); "
        f"up to {request.launches} launches of each candidate; results in {system.base}",
        f"  {'layout':>9}  {'ranks':>6}  {'cells':>6}  {'starts':>7}  {'expected':>12}  at most",
    ]
    for plan, guess in zip(
        system.plans, expected_s(system.plans, Policy() if request.eliminate else None), strict=True
    ):
        cells = sum(len(c.candidates) for c in plan.settings.cases)
        most = at_most_s(plan)
        out.append(
            f"  {plan.layout.words:>9}  {plan.layout.nranks:>6}  {cells:>6}  "
            f"{plan.settings.total():>7}  {duration(guess):>12}  {duration(most)}"
        )
    closing = ""
    if request.eliminate:
        limit = duration(limit_s(system.plans, Policy()))
        closing = f"; with closing rounds, as far as they are worth it, at most {limit}"
    out.append(f"  expected in all: about {duration(total_s(request, system))}{closing}")
    out += [f"warning: {sentence}" for sentence in hopeless(request, system)]
    hosts = system.hosts
    crowded = [p.layout for p in system.plans if hosts.shared_by(p.layout)]
    for words in (HYPERTHREADS, MORE_RANKS):
        found = [x.words for x in crowded if crowd_words(x.ppn, hosts.threads) == words]
        if found:
            out.append(f"warning: {', '.join(found)}: {words} ({hosts.cores} cores on a node)")
    return out


def total_s(request: Request, system: System) -> float:
    """Return about how long all layouts take, in seconds."""
    return sum(expected_s(system.plans, Policy() if request.eliminate else None))


def run_campaign(
    request: Request,
    command: list[str],
    say: Callable[[str], None],
    yes: bool = False,
    dry_run: bool = False,
    only: str | None = None,
    plans: list[dict[str, Any]] | None = None,
) -> list[Outcome]:
    """Measure all that is missing, decide, and write the tables; empty in a dry run.

    Parameters
    ----------
    request, command
        The campaign, and the words that asked for it.
    say
        Prints a sentence to the user.
    yes, dry_run
        Do not ask, however long; only say what it would cost.
    only
        Of several MPIs this one alone (a job of an array).
    plans
        Gets the plan of each MPI as plain values.
    """
    names: Sequence[str | None] = [only] if only else list(request.mpis) or [None]
    systems = [system_of(request, name, say, ask_nodes=not dry_run) for name in names]
    for system in systems:
        for line in plan_lines(request, system):
            say(f"stretto: {line}")
        if plans is not None:
            plans.append(plan_json(request, system))
    if dry_run:
        say("stretto: dry run: nothing was measured")
        return []
    ask(sum(total_s(request, x) for x in systems), yes or request.budget_s is not None)
    write_atomic(request.out / CAMPAIGN, dump_json(about(request, command)), "the campaign")
    stop_at = None if request.budget_s is None else time.monotonic() + request.budget_s
    out = []
    kept = f"all measurements are in {request.out}; the same command goes on"
    with keeping(kept):
        for system in systems:
            try:
                out.append(measure_system(request, system, command, say, stop_at))
            except StrettoError as error:
                if len(systems) == 1 or error.exit_code != EXIT_FAULT:
                    raise
                for line in error.lines():  # the other MPIs can do without this one
                    say(line)
                name = system.installation.name
                why = [f"{name}: {error}"]
                out.append(Outcome(name, None, [], [], None, False, why, remedy=error.remedy))
    return out


def measure_system(
    request: Request,
    system: System,
    command: list[str],
    say: Callable[[str], None],
    stop_at: float | None,
    backend: Backend | None = None,
    quiet: bool = False,
) -> Outcome:
    """Measure and decide with one MPI.

    Parameters
    ----------
    request, system, command, say
        As in `run_campaign`.
    stop_at
        By `time.monotonic`; None: when all is measured.
    backend
        Measures; by default real launches.
    quiet
        No progress bar.
    """
    backends: list[Launches] = []
    names: Sequence[str] = ()

    def launches(hosts: Hosts) -> Launches:
        backends.append(make_backend(request, system.installation, hosts, say))
        return backends[-1]

    def worker_of(measures: Backend, silent: bool, only: Sequence[Layout] | None = None) -> Worker:
        return Worker(
            system.plans, system.base, measures, identity, command, say,
            Policy() if request.eliminate else None, stop_at, silent,
            node_cpu=system.hosts.cpu, only=only,
        )  # fmt: skip

    def lane_of(hosts: tuple[str, ...], only: tuple[Layout, ...]) -> Worker:
        return worker_of(launches(replace(system.hosts, names=hosts)), True, only)

    if backend is None:
        backend = launches(system.hosts)
        names = system.hosts.names or (os.uname().nodename,)
    identity = replace(system.identity, created=now())
    worker = worker_of(backend, quiet)
    with alone_on(request.out, names), stops_gently(worker, say):
        if request.parallel and len(names) > 1:
            complete = side_by_side(worker, names, lane_of, say)
        else:
            complete = worker.run()
    outcome = conclude(request, worker, say, complete)
    outcome.notes = list(dict.fromkeys(n for x in backends for n in x.notes))
    return outcome


def conclude(
    request: Request, worker: Worker, say: Callable[[str], None], complete: bool
) -> Outcome:
    """Write the results of each layout, and the table.

    Parameters
    ----------
    request, worker, say
        The campaign, and what measured it.
    complete
        Nothing is left that this start could measure.
    """
    ended = complete
    benches: dict[Any, Bench] = {}
    results: list[Path] = []
    left_out: list[str] = []
    remedy: str | None = None
    for site in worker.all():
        layout, merged = site.plan.layout, site.folder.merged()
        for sentence in merged.aside:
            say(f"stretto: warning: not used: {sentence}")
        if site.closed is not None:
            left_out.append(f"{layout.words}: {site.closed}")
            remedy = remedy or site.remedy
        failed = site.failed()
        if failed:
            left_out.append(
                f"{layout.words}: {given_up_words(failed)}; the same command tries them again"
            )
        complete = complete and site.closed is None and not failed
        if not merged.bench.samples:
            continue
        path = worker.base / f"{layout.name}.bench.jsonl"
        try:
            require_layout(merged.bench, layout.nodes, layout.ppn, path)
        except StrettoError as error:
            left_out.append(f"{layout.words}: {error}")
            continue
        records = [merged.bench.header, *merged.bench.records]
        write_atomic(path, "".join(format_record(r) for r in records), "the results")
        results.append(path)
        benches[layout] = merged.bench
    mpi = worker.identity.mpi
    name = f"{mpi.family}-{mpi.version}"
    if not benches:
        return Outcome(name, None, [], [], None, complete, left_out, ended=ended, remedy=remedy)
    decided = decide_all(benches, {x: worker.sites[x].plan.nvariants for x in benches})
    rows = [r for d in decided.values() for r in d.rows]
    extra = set(request.interpolate) | {s.plan.layout for s in worker.all()}
    for layout in sorted(extra - set(benches)):
        found = interpolated(layout, decided)
        if request.platform is not None:
            from stretto.model.platform_file import load
            from stretto.sweep.priced import priced

            found, refused = priced(found, load(request.platform), mpi.family, Policy().priced)
            left_out += refused
        rows += found
        if not found:
            left_out.append(f"{layout.words}: lies outside what was measured: no rows for it")
    if request.refine is not None:
        rows, kept = refined(rows, read_simulated(request.refine, mpi.family))
        say(f"stretto: {kept} rows are simulated ({request.refine}): nobody measured there")
    path = table_place(request.out, mpi, worker.node_cpu or worker.identity.host.cpu)
    write_campaign_table(path, worker.identity, worker.node_cpu, rows)
    few = [d for d in decided.values() if untested(d)]
    if few:
        say(
            f"stretto: warning: {sum(untested(d) for d in few)} points have fewer than 6 launches: "
            "no test can be made there, and native stays"
        )
    return Outcome(
        name, path, results, rows, regret_words(list(decided.values())), complete, left_out,
        ended=ended, remedy=remedy,
    )  # fmt: skip


def table_place(out: Path, mpi: MPIIdentity, cpu: str) -> Path:
    """Return where the table of an MPI on a kind of node goes: never over another kind's.

    Parameters
    ----------
    out
        The campaign's directory.
    mpi, cpu
        What it is for.
    """
    path = out / f"{mpi.family}-{mpi.version}.table"
    try:
        other = cpu_slug(read_table(path).cpu) != cpu_slug(cpu) if path.exists() else False
    except StrettoError:
        other = False  # damaged: made anew
    return path.with_name(f"{mpi.family}-{mpi.version}.{cpu_slug(cpu)}.table") if other else path


def write_campaign_table(
    path: Path, identity: Identity, node_cpu: str | None, rows: list[Row]
) -> None:
    """Write one table with the rows of all layouts.

    Parameters
    ----------
    path
        Where.
    identity, node_cpu
        The system that was measured.
    rows
        Of all layouts.
    """
    host, mpi = identity.host, identity.mpi
    table = Table(
        mpi.family, mpi.version, None, None, identity.created, identity.stretto, host.name,
        node_cpu or host.cpu, rows,
    )  # fmt: skip
    write_table(table, path)
