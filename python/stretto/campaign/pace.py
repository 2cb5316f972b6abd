"""How long launches take here, beside what was estimated before there was one.

The estimate takes a start to last 1.2 s (`STARTUP_S`). Thousands of ranks, a slow file system or a
busy batch system take several times that, and starts are most of a campaign's time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stretto.campaign.elimination import Policy, shape_of
from stretto.campaign.plan import LayoutPlan
from stretto.campaign.times import Shape
from stretto.files.bench import LaunchEnd, Record, Sample


def pace(layouts: Iterable[tuple[LayoutPlan, Iterable[Record]]], policy: Policy | None) -> float:
    """Return by what estimates have to be multiplied; 1 as long as no launch has told its time."""
    took = expected = 0.0
    for plan, records in layouts:
        measured: dict[int, dict[Shape, set[str]]] = defaultdict(lambda: defaultdict(set))
        seconds: dict[int, float] = {}
        for r in records:
            if isinstance(r, LaunchEnd):
                if r.status == "ok" and r.seconds is not None:
                    seconds[r.launch] = r.seconds
            elif isinstance(r, Sample):
                shape = (r.collective, r.bytes, r.datatype or "", r.operation or "", r.root or 0)
                measured[r.launch][shape].add(r.candidate)
        for launch in seconds.keys() & measured.keys():
            took += seconds[launch]
            expected += _estimate_s(plan, launch, measured[launch], policy)
    return took / expected if took and expected else 1.0


def _estimate_s(
    plan: LayoutPlan, launch: int, measured: Mapping[Shape, set[str]], policy: Policy | None
) -> float:
    cases = [
        replace(case, candidates=tuple(c for c in case.candidates if c in measured[shape_of(case)]))
        for case in plan.settings.cases
        if shape_of(case) in measured
    ]
    settings = plan.in_round(launch // plan.nvariants, cases, policy)
    variant = plan.settings.variant_of(launch)
    return replace(settings, launches=1, variants=(variant,)).estimate_s()
