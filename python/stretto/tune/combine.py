"""Settings that help are tried together: their gains may add up, or be one gain found twice.

The fastest setting is taken with the next fastest, then what is best so far with the one after it.
A combination takes the place of what it contains only when it is significantly faster than that, in
rounds in which native, the best so far and the combination are run in turn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from stretto.campaign.compare import compare_times, judge
from stretto.files.settings import NATIVE, SettingsFile, Tried
from stretto.mpi.settings import Setting
from stretto.progress import Progress
from stretto.tune.settings_runs import SettingRuns, gain_of

#: combinations that are tried at most: each takes three runs a round
MOST = 3


def merged(parts: Sequence[Tried]) -> dict[str, str] | None:
    """Return the variables of settings together; None where two want one to be different."""
    out: dict[str, str] = {}
    for part in parts:
        for name, value in part.environment.items():
            if out.setdefault(name, value) != value:
                return None
    return out


def kept(old: SettingsFile, names: set[str]) -> list[Tried]:
    """Return the combinations of an earlier attempt whose parts are tried again as they were.

    Parameters
    ----------
    old
        What was tried then.
    names
        Of the settings that are the same now.
    """
    return [
        Tried(t.name, t.what, t.environment, parts=t.parts)
        for t in old.tried
        if t.parts and names.issuperset(t.parts)
    ]


def most_runs(settings: int, rounds: int) -> int:
    """Return how many runs combinations of so many settings take at most."""
    return 3 * rounds * min(MOST, settings - 1) if settings > 1 else 0


class Combining(SettingRuns):
    """The part of a search that puts together what helps."""

    def best_together(
        self, faster: Sequence[Tried], rounds: int, progress: Progress
    ) -> Tried | None:
        """Return the best setting or combination; None: the budget is spent.

        Parameters
        ----------
        faster
            Settings that are faster than native, the fastest first.
        rounds
            Of each comparison.
        progress
            Of runs.
        """
        best, tried = faster[0], 0
        for other in faster[1:]:
            if tried == MOST:
                break
            together = self._together(best, other)
            if together is None:
                continue
            tried += 1
            if not self._run_beside(best, together, rounds, progress):
                return None
            if self._is_faster(best, together):
                best = together
        return best

    def _together(self, best: Tried, other: Tried) -> Tried | None:
        """Return two settings as one; None: a variable would have two values, or it was tried."""
        by_name = {t.name: t for t in self.file.tried}
        parts = [by_name[n] for n in best.parts] if best.parts else [best]
        environment = merged([*parts, other])
        if environment is None:
            return None
        names = [*(p.name for p in parts), other.name]
        same = [t for t in self.file.tried if t.environment == environment]
        if same:
            return same[0] if same[0].parts else None
        new = Tried(",".join(names), f"{len(names)} settings that help, together", environment)
        new.parts = names
        self.file.tried.append(new)
        return new

    def _run_beside(self, best: Tried, together: Tried, rounds: int, progress: Progress) -> bool:
        """Run native, the best so far and a combination in turn; return whether time was enough."""
        self.say(f"stretto: {together.name} is tried beside {best.name}")
        members = {NATIVE: None, best.name: _setting(best), together.name: _setting(together)}
        for number in range(rounds):
            names = list(members)
            random.Random(f"{self.o.seed} {together.name} {number}").shuffle(names)
            for name in names:
                progress.update(progress.done, name)
                if self._failed(together.name) is not None:
                    return True
                if self._has(name, number, beside=together.name):
                    continue
                if self._spent():
                    return False
                self._keep(self._one(members[name], number, False, beside=together.name))
                progress.advance()
        return True

    def _is_faster(self, best: Tried, together: Tried) -> bool:
        """Judge a combination: significantly faster than the best so far, or not worth it."""
        failed = self._failed(together.name)
        mine, others, native = (
            self._times(name, beside=together.name) for name in (together.name, best.name, NATIVE)
        )
        if mine.keys() & native.keys():
            ratio, ratios, p, _ = compare_times(mine, native)
            together.gain = gain_of(ratio, ratios, p)
        if failed is not None or not mine.keys() & others.keys():
            together.outcome, together.why = "failed", failed or f"no pair with {best.name}"
            return False
        ratio, _, p, _ = compare_times(mine, others)
        together.outcome, why = judge(ratio, p, ratio.n)
        together.why = f"beside {best.name}: {why}"
        return together.outcome == "faster"


def _setting(tried: Tried) -> Setting:
    return Setting(tried.name, tried.what, tuple(tried.environment.items()))
