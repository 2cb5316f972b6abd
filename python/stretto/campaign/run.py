"""A campaign from its request to its tables, one MPI after another."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stretto.built import library
from stretto.campaign.alone import HeldError, alone_on, refuse_held
from stretto.campaign.backend import Launches
from stretto.campaign.begun import LayoutAsked, keep_about, refuse_place
from stretto.campaign.conclude import Outcome, conclude, system_name
from stretto.campaign.expected import expected_s, pace
from stretto.campaign.hosts import Hosts, find_hosts, make_backend, wanted
from stretto.campaign.layout import Layout, ordered
from stretto.campaign.outlook import budget_lines, plan_json, plan_lines
from stretto.campaign.parallel import side_by_side
from stretto.campaign.plan import LayoutPlan, check_plan, make_plan, refuse_elimination
from stretto.campaign.request import OWN, Request
from stretto.campaign.site import Standing, results_of
from stretto.campaign.status import ahead
from stretto.campaign.stopping import stops_gently
from stretto.campaign.unmeasured import read_simulated
from stretto.campaign.worker import Backend, Worker
from stretto.counted import duration, node_hours
from stretto.errors import EXIT_FAULT, StrettoError, keeping
from stretto.files.identity import Identity, collect, cpu_slug, now
from stretto.measure.candidates import refuse_unknown, unlisted
from stretto.measure.request import ask
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import find_installation
from stretto.progress import Progress


@dataclass
class CampaignMPI:
    """One MPI of a campaign on one kind of node.

    `base`: where its results go.
    `away`: it will be measured in a batch job: nothing is known of the nodes.
    `pace`: how many times as long as estimated the launches of the campaign take.
    """

    installation: MPIInstallation
    identity: Identity
    hosts: Hosts
    base: Path
    plans: list[LayoutPlan]
    away: bool = False
    pace: float = 1.0

    @functools.cached_property
    def expected_s(self) -> list[float]:
        return expected_s(self.plans)

    @functools.cached_property
    def standing(self) -> Standing:
        """What was measured already."""
        found = Standing(self.plans, self.base, self.identity)
        for site in [] if self.away else found.all():
            try:
                site.read()
            except StrettoError as error:  # the worker leaves this layout out, and says so
                if error.exit_code != EXIT_FAULT:
                    raise
        return found

    @property
    def nodes(self) -> int:
        """How many nodes the campaign holds all the time."""
        of_a_job = max(plan.layout.nodes for plan in self.plans)
        return of_a_job if self.away else len(self.hosts.names) or of_a_job

    @property
    def begun(self) -> bool:
        return any(site.bench.records for site in self.standing.all())

    @functools.cached_property
    def left_s(self) -> float:
        """About how long what is missing takes, by estimates before the start."""
        return float(sum(x["left_s"] for x in ahead(self.standing)))

    @property
    def asked(self) -> dict[str, LayoutAsked]:
        """What the campaign's directory says of it, so that it is known before it is begun."""
        return {
            plan.layout.name: LayoutAsked(plan.settings.launches, seconds)
            for plan, seconds in zip(self.plans, self.expected_s, strict=True)
        }


def system_of(
    request: Request,
    mpi: str | None,
    say: Callable[[str], None],
    ask_nodes: bool,
    away: bool = False,
) -> CampaignMPI:
    installation = find_installation(mpi)
    if request.refine is not None:
        read_simulated(request.refine, installation.family)  # refused before anything is measured
    library("bench", installation.abi)
    named = [c for c in request.candidates if c != OWN]
    place = f"candidates, {request.file}" if request.file else "--candidates"
    refuse_unknown(request.collectives, named, place)
    for sentence in unlisted(installation, named):
        say(f"stretto: warning: {sentence}")
    hosts = find_hosts(request, installation, say, ask_nodes, away)
    identity = collect(installation.identity)
    if hosts.cpu is not None:
        identity = replace(identity, host=replace(identity.host, cpu=hosts.cpu))
    slug = cpu_slug(identity.host.cpu)
    base = request.out / f"{installation.family}-{installation.version}" / slug
    plans = []
    for layout in ordered(request.layouts):
        shared = request.shared_cores or hosts.shared_by(layout)
        plans.append(make_plan(request, installation, layout, shared))
        check_plan(results_of(base, layout), plans[-1], identity)
    return CampaignMPI(installation, identity, hosts, base, plans, away)


def announced(request: Request, say: Callable[[str], None], ask_nodes: bool) -> list[CampaignMPI]:
    """Say what a campaign is to measure, and return its MPIs with their plans."""
    refuse_place(request.out)
    if ask_nodes:
        nodes = wanted(request, lambda sentence: None)
        refuse_held(request.out, nodes or (os.uname().nodename,))
    names: Sequence[str | None] = list(request.mpis) or [None]
    with Progress("planning"):
        systems = [system_of(request, name, say, ask_nodes) for name in names]
        for system in systems:
            refuse_elimination(system.base, request.eliminate)
        measured = [(x.plan, x.bench.records) for s in systems for x in s.standing.all()]
        factor = pace(measured)
        for system in systems:
            system.pace = factor
    lines = [line for system in systems for line in plan_lines(request, system)]
    for line in [*lines, *budget_lines(request, sum(x.pace * x.left_s for x in systems))]:
        say(f"stretto: {line}")
    return systems


def plan_campaign(request: Request, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Say what a campaign would measure, and return each MPI's plan; no node is asked."""
    systems = announced(request, say, ask_nodes=False)
    say("stretto: dry run: nothing was measured")
    return [plan_json(request, system) for system in systems]


def run_campaign(
    request: Request, command: list[str], say: Callable[[str], None], yes: bool = False
) -> list[Outcome]:
    """Measure all that is missing, decide, and write the tables."""
    systems = announced(request, say, ask_nodes=True)
    ask(sum(x.pace * x.left_s for x in systems), yes or request.budget_s is not None)
    stop_at = None if request.budget_s is None else time.monotonic() + request.budget_s
    out: list[Outcome] = []
    kept = f"all measurements are in {request.out}; the same command continues"
    stopping = threading.Event()
    about = {system_name(x.base): x.asked for x in systems}
    nodes = max(x.nodes for x in systems)
    with accounted(nodes, say), keeping(kept), stops_gently(stopping, say):
        for system in systems:
            if stopping.is_set():
                why = [f"{system.installation.name}: stopped before its first launch"]
                name = f"{system.identity.mpi.family}-{system.identity.mpi.version}"
                out.append(Outcome(name, left_out=why, ended=False))
                continue
            try:
                out.append(measure_system(request, system, command, say, stop_at, stopping, about))
            except StrettoError as error:
                if len(systems) == 1 or error.exit_code != EXIT_FAULT:
                    raise
                if isinstance(error, HeldError) and not out:
                    raise  # nor would the other MPIs have these nodes
                for line in error.lines():  # the other MPIs can do without this one
                    say(line)
                name = system.installation.name
                why = [f"{name}: {error}"]
                out.append(Outcome(name, left_out=why, remedy=error.remedy))
    return out


@contextlib.contextmanager
def accounted(nodes: int, say: Callable[[str], None]) -> Iterator[None]:
    """Say at the end, however that comes, how long nodes were held."""
    began = time.monotonic()
    try:
        yield
    finally:
        took = time.monotonic() - began
        say(f"stretto: this start took {duration(took)}, {node_hours(took, nodes)}")


def measure_system(
    request: Request,
    system: CampaignMPI,
    command: list[str],
    say: Callable[[str], None],
    stop_at: float | None,
    stopping: threading.Event,
    about: Mapping[str, Mapping[str, LayoutAsked]],
) -> Outcome:
    """Measure and decide with one MPI.

    `stop_at`: by `time.monotonic`; None: when all is measured.
    """
    backends: list[Launches] = []
    names = system.hosts.names or (os.uname().nodename,)

    def launches(hosts: Hosts) -> Launches:
        backends.append(make_backend(request, system.installation, hosts, say))
        return backends[-1]

    def worker_of(measures: Backend, silent: bool, only: Sequence[Layout] | None = None) -> Worker:
        return Worker(
            system.plans, system.base, measures, identity, command, say,
            stop_at, silent, only=only, stopping=stopping,
        )  # fmt: skip

    def lane_of(hosts: tuple[str, ...], only: tuple[Layout, ...]) -> Worker:
        return worker_of(launches(replace(system.hosts, names=hosts)), True, only)

    identity = replace(system.identity, created=now())
    with alone_on(request.out, names, system.hosts.nodes):
        worker = worker_of(launches(system.hosts), False)  # refuses other plans
        keep_about(request, command, about)
        if request.parallel and len(names) > 1:
            complete = side_by_side(worker, names, lane_of, say)
        else:
            complete = worker.run()
    outcome = conclude(request, worker, say, complete)
    outcome.notes = list(dict.fromkeys(n for x in backends for n in x.notes))
    return outcome
