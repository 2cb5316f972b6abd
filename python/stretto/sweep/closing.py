"""The closing rounds: what is left of a campaign's time goes where it may still change most.

Elimination ends at a size with the first launch after which a test can be made. Some choices then
rest on luck: a gain that is not proven yet, two candidates of which the slower one had the calmer
launches, one that was never begun with. Once all layouts are that far, waves of further launches
begin. Each is a pure function of everything that was measured before it: the table is decided as it
would be now, and at each point the candidate is sought that may be faster than its choice. Points
compete by what a proof is worth for each second that it takes, until no doubt is worth its time or
the campaign has taken what it may (`expected.limit_s`).
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from stretto.campaign.compare import BARE, NATIVE
from stretto.campaign.settings import Case
from stretto.campaign.stats import FEWEST
from stretto.campaign.variants import launch_for
from stretto.files.bench import Bench, standing_exclusions
from stretto.files.table import WITHOUT_SIZE
from stretto.mpi.algorithms.base import PREFIX
from stretto.sweep.decide import Compared, Decided, Fitted, decide_all, fit_all
from stretto.sweep.doubt import Doubt
from stretto.sweep.elimination import Policy, chains, shape_of
from stretto.sweep.expected import limit_s
from stretto.sweep.layout import Layout
from stretto.sweep.plan import Known, LayoutPlan, round_s
from stretto.sweep.times import Medians, Shape, medians, until

#: by layout, what is measured in each round of a wave
Wave = Mapping[Layout, tuple[tuple[Case, ...], ...]]
#: less than this share of the time is not worth another wave
LEAST_LEFT = 0.005
#: by so much at most a doubt grows where what is known disagrees
CONTRARY = 2.5


@dataclass(frozen=True)
class Bid:
    """Launches that may change the choice at a point.

    Attributes
    ----------
    shapes
        The size, or all sizes where one choice has to do for all.
    names
        Candidates, beside the MPI's own choice.
    rounds, need
        That it asks for now, and until a proof.
    value
        What it may gain: the square of the gain that is expected beyond what matters (of a time's
        logarithm), so that a great loss comes before several small ones.
    """

    layout: Layout
    shapes: tuple[Shape, ...]
    names: tuple[str, ...]
    rounds: int
    need: int
    value: float


class Closing:
    """The waves of a campaign, one after another.

    Parameters
    ----------
    plans
        Of all layouts.
    policy
        When a doubt is worth its time.

    Attributes
    ----------
    waves
        So far.
    over
        There will be no other one.
    limit_s, spent_s
        What the campaign may take with them (at the first look perhaps less than was announced),
        and what it has taken when the latest wave is measured, as `expected` counts; None before
        the first look.
    searched_s, measured_s
        What it took before the first wave, and before the latest one; None before the first look.
    """

    def __init__(self, plans: Sequence[LayoutPlan], policy: Policy) -> None:
        self.plans = {p.layout: p for p in plans}
        self.policy = policy
        self.waves: list[Wave] = []
        self.over = all(p.rounds(policy) <= p.settings.launches for p in plans)
        self._lock = threading.Lock()
        self.limit_s = limit_s(plans, policy)  # as it is announced
        self.spent_s: float | None = None
        self.searched_s: float | None = None
        self.measured_s: float | None = None
        self._asked: Counter[tuple[Layout, Shape, str]] = Counter()
        self._compared: Compared = {}

    def rounds(self, layout: Layout) -> int:
        """Return how many rounds a layout has with the waves so far."""
        return self.plans[layout].settings.launches + sum(
            len(w.get(layout, ())) for w in self.waves
        )

    def turns(self, layout: Layout) -> range:
        """Return the rounds of a layout's latest wave."""
        end = self.rounds(layout)
        return range(end - len(self.waves[-1].get(layout, ())) if self.waves else end, end)

    def cases(self, layout: Layout, turn: int) -> tuple[Case, ...]:
        """Return what is measured in a round after those that were asked for; no case: nothing."""
        at = turn - self.plans[layout].settings.launches
        rounds = [r for w in self.waves for r in w.get(layout, ())]
        return rounds[at] if 0 <= at < len(rounds) else ()

    def advance(
        self,
        benches: Mapping[Layout, Bench],
        closed: Collection[Layout] = (),
        planned: int | None = None,
    ) -> bool:
        """Plan the next wave from all that was measured; return whether there is one.

        Parameters
        ----------
        benches
            Of all layouts, every round so far complete. Rounds beyond `rounds` are not looked at.
        closed
            Layouts that cannot be measured any more.
        planned
            How many waves there were when the rounds were found complete: with another one since
            then, nothing is planned.
        """
        with self._lock:
            if planned is None or planned == len(self.waves):
                self._advance(benches, closed)
            return not self.over

    def _advance(self, benches: Mapping[Layout, Bench], closed: Collection[Layout]) -> None:
        if self.over:
            return
        if self._spent():  # nothing is fitted for a wave that cannot be
            self.measured_s, self.over = self.spent_s, True
            return
        past = {x: until(b, self.rounds(x) * self.plans[x].nvariants) for x, b in benches.items()}
        nvariants = {x: self.plans[x].nvariants for x in past}
        times = {x: medians(b, nvariants[x]) for x, b in past.items()}
        wanted = {x: [s for s in map(shape_of, self.plans[x].settings.cases)] for x in past}
        fitted = fit_all(times, wanted)
        known = {x: _known(t, fitted[x]) for x, t in times.items()}
        if self.spent_s is None:
            self.spent_s = sum(
                _searched_s(self.plans[x], t, self.policy, known[x]) for x, t in times.items()
            )
            self.searched_s = self.spent_s
            # How long calls take is known now: to measure everything may take far less than it was
            # taken to, and a tenth of it is less.
            plans = list(self.plans.values())
            seen_s = limit_s(plans, self.policy, known, self.searched_s)
            self.limit_s = min(self.limit_s, seen_s)
        self.measured_s = self.spent_s
        if self._spent():  # by the search already
            self.over = True
            return
        decided = decide_all(past, nvariants, fitted, self._compared)
        bids = [
            b
            for x in sorted(past)
            if x not in closed
            for b in self._bids(past[x], times[x], decided[x], fitted[x])
        ]
        wave = self._taken(bids, known)
        self.over = not wave
        if wave:
            self.waves.append(wave)

    def _spent(self) -> bool:
        """Return whether so little time is left that no other wave is worth planning."""
        return self.spent_s is not None and (
            self.limit_s - self.spent_s < LEAST_LEFT * self.limit_s
        )

    def _taken(
        self, bids: Sequence[Bid], known: Mapping[Layout, Known]
    ) -> dict[Layout, tuple[tuple[Case, ...], ...]]:
        """Return the wave of the bids that are worth most, within a part of the time left."""
        assert self.spent_s is not None
        left = self.limit_s - self.spent_s
        taken: dict[Layout, list[Bid]] = {}
        cost: dict[Layout, float] = {}
        open_bids = {(b.layout, b.shapes): b for b in bids}
        extra: dict[tuple[Layout, tuple[Shape, ...]], float] = {}
        # The last one may take more than the portion, which may be too little for any.
        while open_bids and sum(cost.values()) < self.policy.portion * left:
            for key, bid in open_bids.items():
                if key not in extra:  # of a layout that shares its starts now
                    plan, more = self.plans[bid.layout], [*taken.get(bid.layout, []), bid]
                    whole = _rounds_s(plan, _together(plan, more), self.policy, known[bid.layout])
                    extra[key] = max(whole - cost.get(bid.layout, 0.0), 1e-6)
            key = max(open_bids, key=lambda k: (_worth(open_bids[k], extra[k]), k))
            bid = open_bids.pop(key)
            if sum(cost.values()) + extra[key] > left:
                continue
            taken.setdefault(bid.layout, []).append(bid)
            cost[bid.layout] = cost.get(bid.layout, 0.0) + extra[key]
            extra = {k: v for k, v in extra.items() if k[0] != bid.layout}
        for chosen in taken.values():
            for bid in chosen:
                for shape in bid.shapes:
                    self._asked.update({(bid.layout, shape, n): bid.rounds for n in bid.names})
        self.spent_s += sum(cost.values())
        return {x: _together(self.plans[x], b) for x, b in sorted(taken.items())}

    def _bids(self, bench: Bench, times: Medians, decided: Decided, fitted: Fitted) -> list[Bid]:
        """Return the best bid of each point of a layout."""
        plan = self.plans[decided.layout]
        spare = plan.rounds(self.policy) - self.rounds(plan.layout)
        if spare <= 0:
            return []
        out, gone = [], standing_exclusions(bench.records)
        for chain in chains(map(shape_of, plan.settings.cases)):
            together = chain[0][0] in WITHOUT_SIZE
            for shapes in [tuple(chain)] if together else [(s,) for s in chain]:
                point = Doubt(plan, shapes, times, decided, fitted, self._asked)
                rivals = [r for r in point.rivals() if (chain[0][0], r) not in gone]
                found = [b for r in rivals if (b := self._bid(point, r, spare))]
                if found:
                    out.append(max(found, key=lambda b: (b.value / b.need, b.names)))
        return out

    def _bid(self, point: Doubt, rival: str, spare: int) -> Bid | None:
        """Return what a candidate bids to take a choice's place; None: it is not worth its time."""
        policy, choice = self.policy, point.choice
        # A row was proven by launches of its own point: by these, too, native is to be the faster.
        mine, now = point.estimate(rival), point.estimate(choice, alone=rival == NATIVE)
        if mine is None or now is None:
            return None
        told = [(now.mean - mine.mean, math.hypot(mine.sd, now.sd))]
        told += [t for t in (point.by_pairs(rival), point.by_neighbours(rival)) if t is not None]
        gap, doubt = agreed(told)
        if gap + policy.open_doubts * doubt <= policy.worth:
            return None
        gain, chance = beyond(gap - policy.matters, doubt)
        if chance <= 0.0:
            return None
        hoped = policy.matters + gain / chance  # if it is worth anything at all
        launches = point.launches(rival)
        need = max(FEWEST - launches, policy.few)
        if rival != NATIVE and launches >= FEWEST:
            need = max(need, launches if point.proven(rival) else point.to_proof(rival, hoped))
        if need > policy.hopeless:
            return None
        names = tuple(n for n in dict.fromkeys((choice, rival)) if n != NATIVE)
        most = policy.most_at_once if gap > 0 else 2 * policy.few  # a long shot is looked at first
        rounds = min(spare, need, most)
        value = gain**2
        return Bid(point.plan.layout, point.shapes, names, rounds, need, value)


def _worth(bid: Bid, cost_s: float) -> float:
    """Return a bid's value for each second that a proof takes, where its rounds take so long."""
    return bid.value * bid.rounds / (bid.need * cost_s)


def agreed(told: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return what several say together, each by how sure it is; if they disagree, it is less sure.

    Six launches may all have been unlucky, in a way that does not show in how they spread: their
    neighbours tell it. The doubt grows by the ratio of Birge (Physical Review 40, 1932, 207), up to
    `CONTRARY`: beyond that the point is another case than its neighbours.

    Parameters
    ----------
    told
        Mean and standard deviation of each.
    """
    weights = [1 / sd**2 for _, sd in told]
    mean = sum(w * m for w, (m, _) in zip(weights, told, strict=True)) / sum(weights)
    off = sum(w * (m - mean) ** 2 for w, (m, _) in zip(weights, told, strict=True))
    ratio = math.sqrt(off / (len(told) - 1)) if len(told) > 1 else 1.0
    return mean, min(max(ratio, 1.0), CONTRARY) / math.sqrt(sum(weights))


def beyond(mean: float, sd: float) -> tuple[float, float]:
    """Return the mean of what is above zero of a normal variable, and how likely that is."""
    z = mean / sd
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    chance = 0.5 * math.erfc(-z / math.sqrt(2))
    return max(mean * chance + sd * density, 0.0), chance


def _together(plan: LayoutPlan, bids: Sequence[Bid]) -> tuple[tuple[Case, ...], ...]:
    """Return the rounds of a layout's bids: they share launches."""
    out = []
    for turn in range(max(b.rounds for b in bids)):
        wanted = {s: b.names for b in bids if b.rounds > turn for s in b.shapes}
        cases = []
        for case in plan.settings.cases:
            names = wanted.get(shape_of(case))
            if names is None:
                continue
            natives = [n for n in names if n.startswith(PREFIX)]
            bases = {NATIVE} | ({BARE} if natives or NATIVE not in case.candidates else set())
            variants = plan.settings.variants
            kinds = {launch_for(n, variants) for n in natives}
            if (
                natives == list(names)
                and BARE in case.candidates
                and kinds == {launch_for(BARE, variants)}
            ):
                bases.discard(NATIVE)  # bare is beside them
            kept = bases.union(names)
            cases.append(replace(case, candidates=tuple(c for c in case.candidates if c in kept)))
        out.append(tuple(cases))
    return tuple(out)


def _known(times: Medians, fitted: Fitted) -> Known:
    """Return how long calls take on a layout: as measured, or as the fit says."""

    def us(case: Case, name: str) -> float | None:
        seen = times.get(shape_of(case), {})
        launches = seen.get(name) or (seen.get(BARE) if name == NATIVE else None)
        if launches:
            return median(launches.values())
        found = fitted.get(case.collective, {}).get(case.bytes, {}).get(name)
        return math.exp(found.mean) if found else None

    return functools.cache(us)


def _rounds_s(
    plan: LayoutPlan, rounds: Sequence[tuple[Case, ...]], policy: Policy, known: Known
) -> float:
    """Return about how long closing rounds of a layout take, in seconds."""
    first = plan.settings.launches
    each = ((cases, len(list(same))) for cases, same in itertools.groupby(rounds))
    return sum(n * round_s(plan, first, cases, policy, known=known) for cases, n in each)


def _searched_s(plan: LayoutPlan, times: Medians, policy: Policy, known: Known) -> float:
    """Return about how long the rounds that were asked for took, by what was measured in them."""
    total = 0.0
    for turn in range(plan.settings.launches):
        cases = []
        for case in plan.settings.cases:
            seen = times.get(shape_of(case), {})
            names = tuple(c for c in case.candidates if turn in seen.get(c, {}))
            if names:
                cases.append(replace(case, candidates=names))
        total += round_s(plan, turn, cases, policy, known=known)
    return total
