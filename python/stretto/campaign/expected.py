"""How long a campaign takes: before anything is measured, and by what its launches took."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stretto.campaign.elimination import most_candidates, shape_of
from stretto.campaign.layout import teachers
from stretto.campaign.plan import LayoutPlan, round_s
from stretto.campaign.times import Shape
from stretto.files.bench import LaunchEnd, Record, Sample
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.settings import Case
from stretto.measure.stats import FEWEST

#: after a test can be made, one size in so many is usually measured on, in one round of so many
OPEN, MORE = 4, 3


def at_most_s(plan: LayoutPlan) -> float:
    whole = replace(plan, eliminate=False)
    return plan.settings.launches * round_s(whole, 0, plan.settings.cases)


def expected_s(plans: Sequence[LayoutPlan]) -> list[float]:
    """Return about how long each layout takes, in seconds: with elimination, as it usually goes.

    `bench/regret.py` prints this beside what its campaigns took.
    """
    order = [p.layout for p in plans]
    out = []
    for plan in plans:
        if not plan.eliminate:
            out.append(at_most_s(plan))
            continue
        taught = bool(teachers(plan.layout, order))
        launches = plan.settings.launches
        first = [round_s(plan, t, _cases(plan, t, taught))
                 for t in range(min(FEWEST + 1, launches))]  # fmt: skip
        out.append(sum(first) + max(0, launches - len(first)) / MORE * first[-1])
    return out


def _cases(plan: LayoutPlan, turn: int, taught: bool) -> list[Case]:
    if turn == 0 and not taught:
        return list(plan.settings.cases)
    if turn >= FEWEST:
        return [_some(c, most_candidates(turn)) for c in plan.settings.cases[::OPEN]]
    return [_some(c, most_candidates(turn)) for c in plan.settings.cases]


def _some(case: Case, most: int) -> Case:
    rest = [n for n in case.candidates if n not in (NATIVE, BARE)]
    if len(rest) <= most:
        return case
    own = [n for n in case.candidates if n == NATIVE]
    return replace(case, candidates=(*own, *rest[:: math.ceil(len(rest) / most)]))


def pace(layouts: Iterable[tuple[LayoutPlan, Iterable[Record]]]) -> float:
    """Return by what estimates have to be multiplied; 1 as long as no launch has ended."""
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
            expected += _estimate_s(plan, launch, measured[launch])
    return took / expected if took and expected else 1.0


def _estimate_s(plan: LayoutPlan, launch: int, measured: Mapping[Shape, set[str]]) -> float:
    cases = [
        replace(case, candidates=tuple(c for c in case.candidates if c in measured[shape_of(case)]))
        for case in plan.settings.cases
        if shape_of(case) in measured
    ]
    settings = plan.in_round(launch // plan.nvariants, cases)
    variant = plan.settings.variant_of(launch)
    return replace(settings, launches=1, variants=(variant,)).estimate_s()
