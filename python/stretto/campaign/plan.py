"""The plan of one layout: its cases, its candidates, its launches, and how long they take."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stretto.campaign.differs import other_plan
from stretto.campaign.elimination import Policy, shape_of
from stretto.campaign.layout import Layout
from stretto.campaign.request import OWN, Request
from stretto.campaign.times import Shape
from stretto.errors import StrettoError
from stretto.files.identity import Identity
from stretto.files.io import parse_body, read_text
from stretto.files.once import write_once
from stretto.files.schema import decode, encode
from stretto.measure import settings as s
from stretto.measure.baseline import with_bare
from stretto.measure.candidates import choice_problem, own_choices
from stretto.measure.compare import BARE
from stretto.measure.inlaunch import shared_launches
from stretto.measure.natives import resolve
from stretto.measure.programs import has_interposer
from stretto.model.platform_file import load
from stretto.model.sweep import TOO_MANY, SimulatedCell, messages_of, seconds_of
from stretto.mpi.base import MPIInstallation
from stretto.mpi.surroundings import deciding, differing

SCHEMA = "stretto-layout"
FILE = "layout.json"
WHAT = "the plan of a layout"
#: of a plan, what is kept with the results
FROZEN = ("seed", "variants", "cases", "modes", "oversubscribed")


@dataclass(frozen=True)
class LayoutPlan:
    """What is measured on one layout.

    `settings`: with all candidates; launch ``k`` belongs to round ``k // len(variants)``.
    `unlikely`: by shape, the candidates that are not begun with, and why: the model's advice.
    `eliminate`: whether candidates are dropped.
    """

    layout: Layout
    settings: s.Settings
    unlikely: dict[Shape, dict[str, str]]
    eliminate: bool = True

    @property
    def nvariants(self) -> int:
        return len(self.settings.variants)

    def launches_of(self, turn: int) -> range:
        return range(turn * self.nvariants, (turn + 1) * self.nvariants)

    def in_round(self, turn: int, cases: Sequence[s.Case], policy: Policy | None) -> s.Settings:
        """Return the settings with which a round is measured.

        `policy`: its batches; None: those of every campaign.
        """
        if policy is None:
            return replace(self.settings, cases=tuple(cases))
        batches = policy.batches[0 if turn < policy.screening else 1]
        return replace(self.settings, cases=tuple(cases), batches=batches)


def candidates_for(
    request: Request, installation: MPIInstallation, layout: Layout, collective: str
) -> list[str]:
    names: list[str] = []
    for word in request.candidates:
        if word != OWN:
            names.append(word)
        elif has_interposer(installation.abi):
            names += own_choices(collective, layout.nodes, layout.nranks)
    names = resolve(names, installation, collective, layout.nranks, layout.nodes)
    return [
        c
        for c in s.check_candidates(collective, names)
        if c.startswith(("native", BARE)) or choice_problem(collective, c) is None
    ]


def make_plan(
    request: Request,
    installation: MPIInstallation,
    layout: Layout,
    oversubscribed: bool,
    candidates: Callable[[str, int], list[str]] | None = None,
) -> LayoutPlan:
    """Return the plan of a layout.

    `candidates`: for a collective at a size; by default what the request says, of this MPI.
    """
    cases = []
    for collective in request.collectives:
        found = [] if candidates else candidates_for(request, installation, layout, collective)
        for size in request.sizes_of(collective):
            names = with_bare(found, size, layout.nodes)
            if candidates is not None:
                names = candidates(collective, size)
            if len(names) > 1:
                cases.append(s.make_case(collective, size, names))
    if not cases:
        raise StrettoError(
            "there is nothing to compare: no candidates but the native choice",
            f"{installation.name}, {layout.words}",
            "name some: candidates = ['own', 'native:all']",
        )
    together = (
        {} if request.separate_launches else shared_launches(installation, cases, layout.nodes)
    )
    settings = s.Settings(
        nranks=layout.nranks,
        cases=tuple(cases),
        variants=s.variants_of(cases, together),
        launches=request.launches,
        ppn=layout.ppn,
        seed=request.seed,
        modes=("throughput",) if oversubscribed else ("throughput", "latency"),
        oversubscribed=oversubscribed,
        stall_s=request.stall_s,
        batches=(9, 40),
    )
    unlikely = _unlikely(request, layout, settings.cases)
    return LayoutPlan(layout, settings, unlikely, request.eliminate)


def _unlikely(
    request: Request, layout: Layout, cases: Sequence[s.Case]
) -> dict[Shape, dict[str, str]]:
    """Return what the model finds hopeless at a size and its neighbours; no price: it stays."""
    if request.platform is None or not request.eliminate:
        return {}

    platform, limit = load(request.platform), Policy().priced
    costs: dict[Shape, dict[str, float]] = {}
    for case in cases:
        cell = SimulatedCell(case.collective, layout.nodes, layout.ppn, case.bytes)
        priced = {}
        for name in case.candidates:
            if name.startswith(("native", BARE)):
                continue
            try:
                if messages_of(cell, name) <= TOO_MANY:
                    priced[name] = seconds_of(cell, name, platform)
            except StrettoError:
                continue  # no plan for it here: it stays
        least = min(priced.values(), default=0.0)
        costs[shape_of(case)] = {n: t / least for n, t in priced.items() if least > 0}
    out: dict[Shape, dict[str, str]] = {}
    for shape, ratios in costs.items():
        same = sorted((x for x in costs if x[0] == shape[0]), key=lambda x: x[1])
        at = same.index(shape)
        near = same[max(0, at - 1) : at + 2]
        for name, ratio in ratios.items():
            if all(costs[x].get(name, 0.0) > limit for x in near):
                words = f"priced at {ratio:.1f} times the best on {platform.name} (simulated)"
                out.setdefault(shape, {})[name] = words
    return out


def keep_plan(directory: Path, plan: LayoutPlan, identity: Identity, node_cpu: str | None) -> None:
    """Write the plan beside the results, or refuse one that differs from what is there."""
    path = directory / FILE
    if not path.exists():
        value = {**_value(plan, identity), "node_cpu": node_cpu}
        write_once(path, json.dumps(value, ensure_ascii=False) + "\n", WHAT, whole=True)
    check_plan(directory, plan, identity)  # of jobs that come here at once one has written it


def _value(plan: LayoutPlan, identity: Identity) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": 1,
        **encode(identity),
        "environment": deciding(identity.mpi.family, os.environ),
        "nodes": plan.layout.nodes,
        "ppn": plan.layout.ppn,
        "eliminate": plan.eliminate,
        **{k: v for k, v in plan.settings.record().items() if k in FROZEN},
    }


def check_plan(directory: Path, plan: LayoutPlan, identity: Identity) -> None:
    """Refuse a plan that differs from what is there; nothing is written.

    Launches are numbered by the plan's list of variants: results of two plans cannot be mixed.
    """
    path = directory / FILE
    if not path.exists():
        return
    for words, remedy in _differences(_read(path), _value(plan, identity)):
        raise StrettoError(
            f"the campaign was begun {words}", path,
            f"{remedy}, or name another directory (out = ...)",
        )  # fmt: skip


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words: str | None
    built, mine = before["mpi"].get("library"), now["mpi"].get("library")
    if built and mine and built != mine:
        words = f"with another build of this MPI: {built!r}, not {mine!r}"
        yield words, "results of different builds are never mixed: load that build"
    words = other_plan(before, now)
    if words is not None:
        yield (
            f"with other {words}",
            "give back what it was begun with (--separate-launches, too); more launches and more "
            "layouts may be added at any time",
        )
    words = differing(before["environment"], now["environment"])
    if words is not None:
        yield (
            f"with {words}",
            "another network, or other algorithms, are never mixed in: set the environment as it "
            "was (load the same modules)",
        )
    if before["eliminate"] != now["eliminate"]:
        yield _elimination(before["eliminate"])
    if before["oversubscribed"] != now["oversubscribed"]:
        shared = before["oversubscribed"]
        words = ("on" if shared else "without") + " shared cores, and now "
        yield (
            words + ("every rank has its own" if shared else "ranks share them"),
            "times of both are never mixed: set shared_cores as it was, start where as many cores "
            "may be used (taskset, the job's)",
        )


def _elimination(was: bool) -> tuple[str, str]:
    why = "rounds with and without candidates that were dropped are not mixed: set it as it was"
    return f"with eliminate = {'true' if was else 'false'}", why


def refuse_elimination(path: Path, now: bool) -> None:
    """Refuse to drop candidates where all were measured, and the other way round.

    `path`: ``layout.json``; a damaged one tells nothing.
    """
    try:
        was = _read(path)["eliminate"]
    except (StrettoError, KeyError):
        return
    if was != now:
        words, remedy = _elimination(was)
        raise StrettoError(
            f"the campaign was begun {words}", path,
            f"{remedy}, or name another directory (out = ...)",
        )  # fmt: skip


def read_plan(path: Path, launches: int) -> tuple[LayoutPlan, Identity, str | None]:
    """Return a layout's plan as it was begun, the system, and its nodes' processor.

    `path`: ``layout.json``.
    """
    value = _read(path)
    keys = ("stretto", "created", "host", "mpi")
    identity = decode(Identity, {k: value.get(k) for k in keys}, str(path))
    try:
        layout = Layout(value["nodes"], value["ppn"])
        cases = tuple(
            s.Case(**{**case, "candidates": tuple(case["candidates"])}) for case in value["cases"]
        )
        settings = s.Settings(
            nranks=layout.nranks,
            cases=cases,
            variants=tuple(value["variants"]),
            launches=launches,
            ppn=layout.ppn,
            seed=value["seed"],
            modes=tuple(value["modes"]),
            oversubscribed=value["oversubscribed"],
            batches=(9, 40),
        )
    except (KeyError, TypeError) as error:
        raise StrettoError(f"this is not {WHAT}: {error!r}", path, "take it from a copy") from error
    return LayoutPlan(layout, settings, {}, value["eliminate"]), identity, value.get("node_cpu")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = parse_body(read_text(path, WHAT), str(path), WHAT, SCHEMA)
        if lost := [k for k in (*FROZEN, "mpi", "environment", "eliminate") if k not in value]:
            raise StrettoError(f"this is not {WHAT}: it lacks {lost[0]}", path)
    except StrettoError as error:
        error.remedy = (
            "take it from a copy, or remove it and give the command with which the layout was "
            "begun, which writes it anew"
        )
        raise
    return value


def round_s(plan: LayoutPlan, turn: int, cases: Sequence[s.Case], policy: Policy | None) -> float:
    if not cases:
        return 0.0
    settings = plan.in_round(turn, cases, policy)
    needed = tuple(settings.launches_needed())
    return replace(settings, launches=1, variants=needed).estimate_s(settings.reference)
