"""How long a campaign takes, before anything is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stretto.campaign.compare import BARE, NATIVE
from stretto.campaign.settings import Case
from stretto.campaign.stats import FEWEST
from stretto.sweep.contest import AFTER, COSTLY, begins_with, dear_sizes
from stretto.sweep.elimination import Policy, chains, shape_of
from stretto.sweep.kriged import FEWEST_POINTS
from stretto.sweep.layout import Layout, guides
from stretto.sweep.plan import Known, LayoutPlan, round_s

#: launches of each candidate with which a careful person would measure everything
EXHAUSTIVE = 10
#: so many times as long as the search a campaign has to have, for closing rounds to settle doubts
ENOUGH = 1.5
#: so many times as long as expected a small campaign may take, with its closing rounds
SMALL = 2.0


def at_most_s(
    plan: LayoutPlan,
    reference: bool | None = None,
    known: Known | None = None,
) -> float:
    """Return how long the launches asked for take on a layout when all are measured, in seconds.

    Parameters
    ----------
    plan, reference, known
        As for `round_s`.
    """
    return plan.settings.launches * round_s(plan, 0, plan.settings.cases, None, reference, known)


def limit_s(
    plans: Sequence[LayoutPlan],
    policy: Policy,
    known: Mapping[Layout, Known] | None = None,
    searched_s: float | None = None,
    expected: Sequence[float] | None = None,
) -> float:
    """Return how long a campaign may take with its closing rounds, in seconds.

    A part of what it would take to measure everything `EXHAUSTIVE` times, and nothing beside it
    (no reference). Where that would leave closing rounds less than half the search's time, for
    little can be left out of few candidates: `SMALL` times what the search takes, or was expected
    to.

    Parameters
    ----------
    plans, policy
        As for `expected_s`.
    known
        By layout, how long calls take; None: nothing is measured yet.
    searched_s
        What the search has taken; None: as it is expected to.
    expected
        From `expected_s`; None: it is asked for.
    """
    everything = sum(
        EXHAUSTIVE * at_most_s(p, False, (known or {}).get(p.layout)) / p.settings.launches
        for p in plans
    )
    usual = sum(expected_s(plans, policy) if expected is None else expected)
    part = policy.share * everything
    search = usual if searched_s is None else searched_s
    return part if ENOUGH * search <= part else SMALL * max(search, usual)


def expected_s(plans: Sequence[LayoutPlan], policy: Policy | None) -> list[float]:
    """Return about how long each layout takes, in seconds: with elimination, as it usually goes.

    Where nothing is known yet, all candidates are measured in the first round (at every other size;
    fewer at those between, a round later, and at sizes that cost much, some rounds later); then as
    many as the policy gives a chance; once a test can be made, one contender at half of the sizes.
    `bench/regret.py` prints this beside what its campaigns took.

    Parameters
    ----------
    plans
        Of all layouts, in the order of measuring.
    policy
        As for `LayoutPlan.in_round`.
    """
    if policy is None:
        return [at_most_s(p) for p in plans]
    order = [p.layout for p in plans]
    out = []
    for plan in plans:
        guided = bool(guides(plan.layout, order))
        alike = FEWEST + AFTER  # all rounds from here on: whatever begins late has begun
        out.append(
            sum(
                (max(1, plan.settings.launches - t) if t == alike else 1)
                * round_s(plan, t, _cases(plan, t, policy, guided, len(plans)), policy)
                for t in range(min(plan.settings.launches, alike + 1))
            )
        )
    return out


def _cases(plan: LayoutPlan, turn: int, policy: Policy, guided: bool, layouts: int) -> list[Case]:
    """Return what is probably measured in a round."""
    by_shape = {shape_of(c): c for c in plan.settings.cases}
    out = []
    for chain in chains(by_shape):
        cases = [by_shape[x] for x in chain]
        fitted = len(chain) > 1 and len(chain) * layouts >= FEWEST_POINTS
        dear = dear_sizes(plan.settings, cases, COSTLY) if fitted else set()
        begins = begins_with(plan.settings, cases) if fitted and not guided else {}
        for i, (shape, case) in enumerate(zip(chain, cases, strict=True)):
            launches = turn - begins.get(shape, 0)
            if launches < 0 or (turn >= FEWEST and i % 2):
                continue
            if turn >= FEWEST:
                most = 1
            elif turn == 0 and not guided:
                most = len(case.candidates)
            elif fitted:
                most = policy.with_chances(launches, shape in dear)
            else:
                most = policy.most(max(1, launches)) + 2
            out.append(_some(case, most))
    return out


def _some(case: Case, most: int) -> Case:
    """Return a case with so many candidates of all kinds beside the MPI's own choice."""
    rest = [n for n in case.candidates if n not in (NATIVE, BARE)]
    if len(rest) <= most:
        return case
    own = [n for n in case.candidates if n == NATIVE]
    return replace(case, candidates=(*own, *rest[:: math.ceil(len(rest) / most)]))
