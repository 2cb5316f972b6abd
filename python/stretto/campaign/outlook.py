"""A campaign's plan, for people and as JSON; and input that nothing can come of."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stretto.campaign.begun import earlier
from stretto.campaign.expected import at_most_s
from stretto.campaign.layout import enclosing, parse_layout
from stretto.campaign.plan import LayoutPlan
from stretto.campaign.request import ELEMENT, Request
from stretto.campaign.status import SLOW
from stretto.counted import counted, duration, node_hours, sized
from stretto.measure.idle import HYPERTHREADS, MORE_RANKS, crowd_words
from stretto.measure.show import in_columns
from stretto.measure.stats import FEWEST

if TYPE_CHECKING:
    from stretto.campaign.run import CampaignMPI


def hopeless(request: Request, system: CampaignMPI) -> list[str]:
    """Return a sentence for everything in a request that nothing can come of."""
    out = []
    if request.launches < FEWEST:
        out.append(few_words(request.launches))
    if request.alone:
        out.append("1 x 1 is left out: one rank does not communicate")
    out += _lost_sizes(request)
    out += _without_candidates(request, system)
    out += _outside(request)
    have = len(system.hosts.names)
    many = [p.layout.words for p in system.plans if p.layout.nodes > max(1, have)]
    inside = system.away or bool(os.environ.get("SLURM_JOB_ID"))
    outside = request.launcher == "srun" and not inside
    if outside:
        out.append("srun starts ranks inside a Slurm job only: stretto campaign submit FILE")
    if many and not have and not inside and not outside:
        out.append(
            f"{', '.join(many)}: left out: no hosts were named, and this is not a Slurm job "
            "(--hosts a,b,..., or stretto campaign submit)"
        )
    elif many and have:
        there = f"there {'is' if have == 1 else 'are'} only {counted(have, 'node')}"
        out.append(f"{', '.join(many)}: left out: {there}")
    return out


def _lost_sizes(request: Request) -> list[str]:
    lost: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for collective in request.collectives:
        kept = request.sizes_of(collective)
        gone = tuple(x for x in request.sizes if x not in kept)
        if gone and collective != "barrier":
            lost[gone].append(collective)
    return [
        f"{', '.join(names)}: not measured at {_listed(gone)} B: not a multiple of the "
        f"{ELEMENT} bytes of an element"
        for gone, names in lost.items()
    ]


def _without_candidates(request: Request, system: CampaignMPI) -> list[str]:
    lost: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for collective in request.collectives:
        where = tuple(
            p.layout.words
            for p in system.plans
            if request.sizes_of(collective)
            and all(c.collective != collective for c in p.settings.cases)
        )
        if where:
            lost[where].append(collective)
    return [
        f"{', '.join(names)}: not measured{on}: the only candidate is native (candidates)"
        for where, names in lost.items()
        for on in [f" on {', '.join(where)}" if len(where) < len(system.plans) else ""]
    ]


def _listed(numbers: Sequence[int]) -> str:
    few = ", ".join(map(str, numbers[:6]))
    return few if len(numbers) <= 6 else f"{few} and {counted(len(numbers) - 6, 'more size')}"


def _outside(request: Request) -> list[str]:
    about = earlier(request.out)
    before = {x for layouts in about.systems.values() for x in layouts} if about else set()
    measured = sorted({*request.layouts, *map(parse_layout, before)})
    return [
        f"{x.words} is outside the measured layouts, so it has no rows (interpolate)"
        for x in request.interpolate
        if x not in measured and not enclosing(x, measured)
    ]


def plan_lines(request: Request, system: CampaignMPI) -> list[str]:
    pace = system.pace
    out = [
        f"{system.installation.name}: {_measured(system.plans)}; up to {request.launches} "
        f"launch{'es' if request.launches > 1 else ''} of each candidate; results in {system.base}"
    ]
    rows: list[Sequence[str]] = [("layout", "ranks", "candidates", "starts", "expected", "at most")]
    for plan, guess in zip(system.plans, system.expected_s, strict=True):
        candidates = sum(len(c.candidates) for c in plan.settings.cases)
        numbers = (plan.layout.nranks, candidates, plan.settings.total())
        times = (duration(pace * guess), duration(pace * at_most_s(plan)))
        rows.append((plan.layout.words, *map(str, numbers), *times))
    out += in_columns(rows, 0)
    expected = pace * sum(system.expected_s)
    cost = node_hours(expected, system.nodes)
    out.append(f"  expected in all: about {duration(expected)}, {cost}")
    if not 1 / SLOW <= pace <= SLOW:
        out.append(
            f"  these times are {pace:.1f} times the estimate made before the first launch: "
            "launches on this machine take longer"
        )
    if system.begun:
        left = pace * system.left_s
        words = f"all but about {duration(left)}" if left else "all of it"
        out.append(f"  measured already: {words}")
    if request.shared_cores:
        out.append("  shared cores: waiting ranks yield, and only batches of calls are timed")
    out += [f"warning: {sentence}" for sentence in hopeless(request, system)]
    hosts = system.hosts
    crowded = [p.layout for p in system.plans if hosts.shared_by(p.layout)]
    for words in (HYPERTHREADS, MORE_RANKS):
        found = [x.words for x in crowded if crowd_words(x.ppn, hosts.threads) == words]
        if found:
            each = counted(hosts.cores or 0, "core")
            out.append(f"warning: {', '.join(found)}: {words} ({each} on a node)")
    return out


def _measured(plans: Sequence[LayoutPlan]) -> str:
    sizes: dict[str, set[int]] = defaultdict(set)
    for plan in plans:
        for case in plan.settings.cases:
            sizes[case.collective].add(case.bytes)
    alike: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for collective, found in sizes.items():
        alike[tuple(sorted(found))].append(collective)
    return "; ".join(f"{', '.join(names)}{_sizes_words(x)}" for x, names in alike.items())


def _sizes_words(sizes: Sequence[int]) -> str:
    if len(sizes) > 1:
        return f" at {len(sizes)} sizes ({sized(sizes[0])} to {sized(sizes[-1])})"
    return f" at 1 size ({sized(sizes[0])})" if sizes[0] else ""  # of a barrier there is none


def budget_lines(request: Request, needed_s: float) -> list[str]:
    if request.budget_s is None:
        return []
    short = [f"warning: {x}" for x in short_budget(request, needed_s)]
    return [f"budget of this start: {duration(request.budget_s)}", *short]


def short_budget(request: Request, needed_s: float) -> list[str]:
    if request.budget_s is None or request.budget_s >= needed_s:
        return []
    return [
        f"the budget is shorter than the expected time of the whole campaign, "
        f"{duration(needed_s)}: this start ends earlier; the same command continues"
    ]


def plan_json(request: Request, system: CampaignMPI) -> dict[str, Any]:
    pace = system.pace
    cases = [c for plan in system.plans for c in plan.settings.cases]
    return {
        "mpi": system.installation.name,
        "results": str(system.base),
        "collectives": list(dict.fromkeys(c.collective for c in cases)),
        "bytes": sorted({c.bytes for c in cases}),
        "launches": request.launches,
        "layouts": [
            {
                "layout": plan.layout.name,
                "nodes": plan.layout.nodes,
                "ppn": plan.layout.ppn,
                "ranks": plan.layout.nranks,
                "candidates": sum(len(c.candidates) for c in plan.settings.cases),
                "starts": plan.settings.total(),
                "shared_cores": plan.settings.oversubscribed,
                "expected_s": pace * guess,
                "at_most_s": pace * at_most_s(plan),
            }
            for plan, guess in zip(system.plans, system.expected_s, strict=True)
        ],
        "pace": pace,
        "expected_s": pace * sum(system.expected_s),
        "nodes": system.nodes,
        "left_s": pace * system.left_s,
        "warnings": hopeless(request, system),
    }


def few_words(launches: int) -> str:
    return (
        f"{launches} launch{'es' if launches > 1 else ''} of each candidate are too few for a "
        f"test: points with fewer than {FEWEST} stay native (--launches {FEWEST} or more)"
    )
