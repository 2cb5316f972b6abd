"""The plan of one layout: its cases, its candidates, its launches, and how long they take."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stretto.campaign.elimination import FEW_BATCHES, SCREENING, shape_of
from stretto.campaign.layout import Layout
from stretto.campaign.request import OWN, Request
from stretto.campaign.times import Shape
from stretto.counted import sized
from stretto.errors import EXIT_FAULT, StrettoError
from stretto.files.bench import Header, read_header
from stretto.files.identity import Identity
from stretto.files.results import ENDING
from stretto.measure import settings as s
from stretto.measure.baseline import with_bare
from stretto.measure.candidates import asked, has_interposer, own_choices
from stretto.measure.compare import BARE
from stretto.measure.inlaunch import shared_launches
from stretto.model.platform_file import load
from stretto.model.sweep import TOO_MANY, SimulatedCell, messages_of, seconds_of
from stretto.mpi.base import MPIInstallation
from stretto.mpi.surroundings import deciding, differing

#: batches of calls, least and most, after the first rounds (`FEW_BATCHES`)
BATCHES = (9, 40)
#: candidates that the model prices at more than so many times the best are not begun with
PRICED = 3.0
#: of so many cases it is named how they differ
FEW = 4
#: what stays as it was begun -> its words, and what to do where it is asked for in another way
_FIXED = {
    "seed": ("another seed", "give the same seed"),
    "cases": (
        "other collectives, sizes or candidates",
        "use the same ones; more launches and layouts may be added",
    ),
    "variants": ("other launches", "use the same --separate-launches"),
    "oversubscribed": (
        "another value of shared_cores",
        "use the same shared_cores, or start with the same number of cores (taskset, the job's)",
    ),
    "eliminate": ("another value of eliminate", "use the same eliminate"),
}


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

    def in_round(self, turn: int, cases: Sequence[s.Case]) -> s.Settings:
        """Return the settings with which a round is measured."""
        few = self.eliminate and turn < SCREENING
        batches = FEW_BATCHES if few else self.settings.batches
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
    return asked(names, installation, collective, layout.nranks, layout.nodes)


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
            "there is nothing to compare: native is the only candidate",
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
        batches=BATCHES,
    )
    unlikely = _unlikely(request, layout, settings.cases)
    return LayoutPlan(layout, settings, unlikely, request.eliminate)


def _unlikely(
    request: Request, layout: Layout, cases: Sequence[s.Case]
) -> dict[Shape, dict[str, str]]:
    """Return what the model finds hopeless at a size and its neighbours; no price: it stays."""
    if request.platform is None or not request.eliminate:
        return {}

    platform = load(request.platform)
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
            if all(costs[x].get(name, 0.0) > PRICED for x in near):
                words = f"priced at {ratio:.1f} times the best on {platform.name} (simulated)"
                out.setdefault(shape, {})[name] = words
    return out


def header_of(plan: LayoutPlan, identity: Identity, command: list[str]) -> Header:
    """Return the first line of a layout's results: with it goes what may not change any more."""
    settings = {
        **plan.settings.record(),
        "eliminate": plan.eliminate,
        "environment": deciding(identity.mpi.family, os.environ),
        "node_cpu": identity.host.cpu,
    }
    return Header(
        identity.stretto, identity.created, identity.host, identity.mpi, command, settings
    )


def check_plan(path: Path, plan: LayoutPlan, identity: Identity) -> None:
    """Refuse a plan that differs from that of a layout's results, if there are any."""
    try:
        before = read_header(path)
    except StrettoError as error:
        if error.exit_code != EXIT_FAULT:
            raise
        return  # damaged: the layout is left out when it is its turn
    if before is not None:
        refuse_other(before, header_of(plan, identity, []), path)


def refuse_other(before: Header, now: Header, path: Path) -> None:
    """Refuse to go on with results in another way than they were begun.

    Launches are numbered by the plan's list of variants: results of two plans cannot be mixed.
    """
    old, new = (f"{h.mpi.family} {h.mpi.version} on {h.host.cpu}" for h in (before, now))
    built, mine = before.mpi.library, now.mpi.library
    if old != new:
        words, remedy = f"{old}, not {new}", "use the same MPI and kind of nodes"
    elif built and mine and built != mine:
        words, remedy = (
            f"another build of this MPI: {built!r}, not {mine!r}",
            "load that build",
        )
    else:
        words, remedy = _difference(before.settings, now.settings)
    if words:
        raise StrettoError(
            f"the campaign was begun with {words}", path,
            f"{remedy}, or name another directory (out = ...)",
        )  # fmt: skip


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str]:
    lost = [k for k in _FIXED if k not in before]
    if lost:
        return f"another program than `stretto campaign` (no {lost[0]})", "remove these results"
    words = differing(before["environment"], now["environment"])
    if words is not None:
        return words, "use the same environment (load the same modules)"
    for key, (words, remedy) in _FIXED.items():
        if before[key] != now[key]:
            return f"{words}{_gone_and_new(before[key], now[key])}", remedy
    return "", ""


def _gone_and_new(before: Any, now: Any) -> str:
    if not isinstance(before, list):
        return f" ({before}, not {now})"
    was, new = ([_words(x) for x in value] for value in (before, now))
    parts = {"gone": [x for x in was if x not in new], "new": [x for x in new if x not in was]}
    found = [f"{word}: {', '.join(names[:FEW])}" for word, names in parts.items() if names]
    return f" ({'; '.join(found)})" if found else ""


def _words(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return f"{value['collective']} at {sized(value['bytes'])}: {' '.join(value['candidates'])}"


def plan_of(header: Header, launches: int, place: Path) -> LayoutPlan:
    """Return a layout's plan as it was begun; refuse results whose file has another one's name."""
    value = header.settings
    try:
        cases = tuple(
            s.Case(**{**case, "candidates": tuple(case["candidates"])}) for case in value["cases"]
        )
        layout = Layout(value["nranks"] // value["ppn"], value["ppn"])
        settings = s.Settings(
            nranks=layout.nranks,
            cases=cases,
            variants=tuple(value["variants"]),
            launches=launches,
            ppn=layout.ppn,
            seed=value["seed"],
            modes=tuple(value["modes"]),
            oversubscribed=value["oversubscribed"],
            batches=BATCHES,
        )
        plan = LayoutPlan(layout, settings, {}, value["eliminate"])
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise StrettoError(f"these are not results of a campaign: {error!r}", place) from error
    if place.name.removesuffix(ENDING) != layout.name:
        raise StrettoError(
            f"these are results of {layout.name}", place,
            "restore the old names of the files, or remove them",
        )  # fmt: skip
    return plan


def refuse_elimination(base: Path, eliminate: bool) -> None:
    """Refuse a start whose `eliminate` is not that of the layouts begun before."""
    for path in sorted(base.glob(f"[!.]*{ENDING}")):
        try:
            before = read_header(path)
        except StrettoError:
            continue  # damaged: it is left out
        if before is not None and before.settings.get("eliminate", eliminate) != eliminate:
            raise StrettoError(
                f"the campaign was begun with eliminate = {str(not eliminate).lower()}", path,
                f"{_FIXED['eliminate'][1]}, or name another directory (out = ...)",
            )  # fmt: skip


def round_s(plan: LayoutPlan, turn: int, cases: Sequence[s.Case]) -> float:
    if not cases:
        return 0.0
    settings = plan.in_round(turn, cases)
    needed = tuple(settings.launches_needed())
    return replace(settings, launches=1, variants=needed).estimate_s(settings.reference)
