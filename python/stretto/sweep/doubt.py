"""What is known where one choice is made: who may take its place, and how long a proof takes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stretto.campaign.compare import BARE, NATIVE
from stretto.campaign.stats import FEWEST, PAIRED_FROM
from stretto.campaign.verdict import ALPHA
from stretto.sweep.contenders import in_common, share_of_wins
from stretto.sweep.decide import Decided, Fitted
from stretto.sweep.elimination import beside, shape_of
from stretto.sweep.kriged import Estimate
from stretto.sweep.layout import Layout
from stretto.sweep.levelled import levelled
from stretto.sweep.location import SPREAD, location, middle
from stretto.sweep.plan import LayoutPlan
from stretto.sweep.times import Medians, Seen, Shape

#: a candidate of which so many launches were asked for is given up when it has fewer than a test
#: needs: it crashes
LOST = FEWEST
#: so many launches is the usual share of wins worth, against the one that was seen
WINS_BELIEF = 24
#: part of what is allowed that q may be, for a proof to count as one before the last wave
SURE = 0.5
#: launches of a proof, times the square of what the share of wins lies above one half
PROOF, NEVER = 1.5, 1 << 20
#: with fewer rounds in common two candidates' pairs tell nothing
PAIRS = 3
#: launches in which a candidate may be expected to bear out what its neighbours have proven
MOST_TO_BEAR = 100


class Doubt:
    """What is known where one choice is made: a size of a layout, or all of its sizes."""

    def __init__(
        self,
        plan: LayoutPlan,
        shapes: tuple[Shape, ...],
        times: Medians,
        decided: Decided,
        fitted: Fitted,
        asked: Mapping[tuple[Layout, Shape, str], int],
    ) -> None:
        self.plan, self.shapes, self.times, self.asked = plan, shapes, times, asked
        collective = shapes[0][0]
        self._unsure = _unsure(decided, shapes)
        choice = decided.chosen.get(collective, {}).get(shapes[0][1], NATIVE)
        self.choice = NATIVE if choice in self._unsure else choice
        self._ratios = decided.ratios.get(collective, {})
        self._borne = decided.borne.get(collective, {})
        self._gains = decided.gains.get(collective, {})
        self._expected = decided.expected.get(collective, {})
        self._levelled = [levelled(times, s) for s in shapes]
        self._fitted = [fitted.get(collective, {}).get(s[1], {}) for s in shapes]
        cases = {shape_of(c): c for c in plan.settings.cases}
        self._names = [cases[s].candidates for s in shapes]

    def rivals(self) -> list[str]:
        """Return who may take the place of the choice: whoever is a candidate and does not fail."""
        out = []
        for name in self._names[0]:
            if name in (self.choice, BARE) or not all(name in n for n in self._names[1:]):
                continue
            if any(name in self.plan.unlikely.get(s, {}) for s in self.shapes):
                continue
            asked = min(self.asked.get((self.plan.layout, s, name), 0) for s in self.shapes)
            if asked < LOST or self.launches(name) >= FEWEST:
                out.append(name)
        return out

    def estimate(self, name: str, alone: bool = False) -> Estimate | None:
        """Return where a candidate lies (the mean over sizes); None: nobody knows.

        Parameters
        ----------
        name
            It.
        alone
            By the launches of this point, and not by the fit.
        """
        found = []
        for seen, fitted in zip(self._levelled, self._fitted, strict=True):
            mine = tuple(t for _, t in sorted(seen.get(name, {}).items()))
            if name == NATIVE and not mine:
                mine = tuple(t for _, t in sorted(seen.get(BARE, {}).items()))
            if name in fitted and not alone:
                found.append(fitted[name])
            elif mine:
                found.append(Estimate(*location(mine)))
            else:
                return None
        k = len(found)
        sd = math.sqrt(sum(e.sd**2 for e in found)) / k
        return Estimate(sum(e.mean for e in found) / k, sd)

    def by_pairs(self, rival: str) -> tuple[float, float] | None:
        """Return by how much a rival is faster than the choice, of the logarithm, and the doubt.

        By the rounds that both have, in which the luck of launches is taken out of both, or is in
        both. None: too few, or launches of their own without a reference.
        """
        variants, found = self.plan.settings.variants, []
        for shape, seen in zip(self.shapes, self._levelled, strict=True):
            names = [rival, self.choice]
            if NATIVE in names:  # or bare, where that is in the launches of the other one
                other = names[1 - names.index(NATIVE)]
                names[names.index(NATIVE)] = beside(other, self._bases(), variants)[0] or NATIVE
            mine, now = (seen.get(n, {}) for n in names)
            both = sorted(self._beside(shape, names[0]) & self._beside(shape, names[1]))
            if len(both) < PAIRS:
                return None
            found.append(middle([math.log(now[r] / mine[r]) for r in both]))
        k = len(found)
        return sum(m for m, _ in found) / k, math.sqrt(sum(sd**2 for _, sd in found)) / k

    def by_neighbours(self, rival: str) -> tuple[float, float] | None:
        """Return by how much a rival is faster than the choice, as neighbours lead one to expect.

        Of the logarithm, with the doubt; None: they have not proven it.
        """
        size = self.shapes[0][1]
        told = self._expected.get(size, {})
        own = self._gains.get(size, {})
        if rival not in told or len(self.shapes) > 1:
            return None
        if rival in own and own[rival].outcome == "slower":
            return None
        mean, variance = told[rival].mean, told[rival].variance
        if self.choice == NATIVE:
            return mean, math.sqrt(variance)
        if self.choice in told:
            now, doubt2 = told[self.choice].mean, told[self.choice].variance
        elif self.choice in own:
            now, doubt2 = own[self.choice].mean, own[self.choice].sd ** 2
        else:
            return None
        return mean - now, math.sqrt(variance + doubt2)

    def _beside(self, shape: Shape, name: str) -> set[int]:
        """Return the rounds in which a candidate's time can be set against those of others."""
        put = self.times.together if isinstance(self.times, Seen) else {}
        return put.get(shape, {}).get(name, set())

    def launches(self, name: str) -> int:
        """Return a candidate's launches, at the size that has fewest."""
        return min(len(self.times.get(s, {}).get(name, {})) for s in self.shapes)

    def proven(self, name: str) -> bool:
        """Return whether the table might have a candidate here: it is surely faster."""
        return name not in self._unsure and all(
            name in self._ratios.get(s[1], {}) or name in self._borne.get(s[1], {})
            for s in self.shapes
        )

    def to_proof(self, name: str, gap: float) -> int:
        """Return how many more launches a proof probably takes, if it goes on as it went.

        Parameters
        ----------
        name
            A candidate.
        gap
            By how much it is faster than the choice (of the logarithm), as far as that is known.
        """
        n, gain = self.launches(name), gap + self._gained()
        base, _ = beside(name, self._bases(), self.plan.settings.variants)
        seen = [self.times.get(s, {}) for s in self.shapes]
        both = [in_common(t.get(name, {}), t.get(base or "", {})) for t in seen]
        # The rank sum of n and n launches lies (wins - 1/2) sqrt(6 n) standard deviations off, the
        # signed ranks of n pairs sqrt(12 n): the test that is made takes what tells sooner.
        proof = _launches(n, max(share_of_wins(*b) for b in both), gain, PROOF)
        wins = max(share_of_wins(*b, paired=True) for b in both)
        proof = min(proof, max(PAIRED_FROM, _launches(n, wins, gain, PROOF / 2)))
        # One that has taken long without success takes long yet: others may be proven sooner.
        return min(max(n // 2, proof - n), self._to_bear_out(name, proof) - n)

    def _gained(self) -> float:
        """Return by how much the choice is faster than what a proof is made against."""
        found = []
        for _, size, *_ in self.shapes:
            known = {**self._borne.get(size, {}), **self._ratios.get(size, {})}
            found.append(-math.log(known.get(self.choice, 1.0)))
        return sum(found) / len(found)

    def _to_bear_out(self, name: str, most: int) -> int:
        """Return in how many launches a candidate bears out what its neighbours have proven.

        Parameters
        ----------
        name
            It.
        most
            So many are a proof; what is no less is returned as ``NEVER``.
        """
        size = self.shapes[0][1]
        told = self._expected.get(size, {}).get(name)
        gain = self._gains.get(size, {}).get(name)
        if len(self.shapes) > 1 or told is None or gain is None or gain.outcome != "same":
            return NEVER
        seen, most = self.launches(name), min(most, MOST_TO_BEAR)
        needed = max(told.launches(*own, seen, most) for own in gain.unproven)
        return needed if needed <= most else NEVER

    def _bases(self) -> list[str]:
        """Return who of native and bare was measured at every size."""
        seen = [self.times.get(s, {}) for s in self.shapes]
        return [n for n in (NATIVE, BARE) if all(t.get(n) for t in seen)]


def _unsure(decided: Decided, shapes: tuple[Shape, ...]) -> set[str]:
    """Return the candidates whose proof at these sizes would not survive a few more comparisons.

    All comparisons of a layout are one family: what others turn out to be moves each one's q, and
    where many rest on few launches they would all be lost together, with no time left.
    """
    here = {s[:2] for s in shapes}
    return {
        c.candidate
        for c in decided.comparisons
        if c.outcome == "faster"
        and (c.cell.collective, c.cell.bytes) in here
        and c.q is not None
        and c.q >= SURE * ALPHA
    }


def _launches(n: int, wins: float, gain: float, proof: float) -> int:
    """Return how many launches a proof takes in all.

    Parameters
    ----------
    n, wins
        Launches so far, and the share of wins in them.
    gain
        By how much the candidate is faster than the MPI (of the logarithm).
    proof
        Launches times the square of what the share of wins lies above one half.
    """
    # Few launches say little of their wins: usual ones are disturbed upwards, one in two.
    usual = 1 - 0.5 * math.exp(-max(gain, 0.0) / SPREAD)
    wins = (n * wins + WINS_BELIEF * usual) / (n + WINS_BELIEF)
    return NEVER if wins <= 0.5 else math.ceil(proof / (wins - 0.5) ** 2)
