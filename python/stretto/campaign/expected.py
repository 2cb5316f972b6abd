"""How long a campaign takes, before anything is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from stretto.campaign.elimination import Policy
from stretto.campaign.layout import teachers
from stretto.campaign.plan import LayoutPlan, round_s
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.settings import Case
from stretto.measure.stats import FEWEST

#: after a test can be made, one size in so many is usually measured on, in one round of so many
OPEN, MORE = 4, 3


def at_most_s(plan: LayoutPlan) -> float:
    """Return how long the launches asked for take on a layout when all are measured, in seconds."""
    return plan.settings.launches * round_s(plan, 0, plan.settings.cases, None)


def expected_s(plans: Sequence[LayoutPlan], policy: Policy | None) -> list[float]:
    """Return about how long each layout takes, in seconds: with elimination, as it usually goes.

    `bench/regret.py` prints this beside what its campaigns took.
    """
    if policy is None:
        return [at_most_s(p) for p in plans]
    order = [p.layout for p in plans]
    out = []
    for plan in plans:
        taught = bool(teachers(plan.layout, order))
        launches = plan.settings.launches
        first = [round_s(plan, t, _cases(plan, t, policy, taught), policy)
                 for t in range(min(FEWEST + 1, launches))]  # fmt: skip
        out.append(sum(first) + max(0, launches - len(first)) / MORE * first[-1])
    return out


def _cases(plan: LayoutPlan, turn: int, policy: Policy, taught: bool) -> list[Case]:
    if turn == 0 and not taught:
        return list(plan.settings.cases)
    if turn >= FEWEST:
        return [_some(c, policy.most(turn)) for c in plan.settings.cases[::OPEN]]
    return [_some(c, policy.most(turn)) for c in plan.settings.cases]


def _some(case: Case, most: int) -> Case:
    rest = [n for n in case.candidates if n not in (NATIVE, BARE)]
    if len(rest) <= most:
        return case
    own = [n for n in case.candidates if n == NATIVE]
    return replace(case, candidates=(*own, *rest[:: math.ceil(len(rest) / most)]))
