"""What looked fastest has to show its gain again, in fresh runs of native and itself in turn.

A combination that does not (its gain was luck, or CMD's outputs are others with it) leaves its
place to the best that was known without its last part.
"""

from __future__ import annotations

from collections.abc import Iterator

from stretto.files.settings import NATIVE, Tried
from stretto.files.verdict import Run
from stretto.measure.compare import compare_times
from stretto.measure.idle import busy_before
from stretto.measure.verdict import judge
from stretto.progress import Progress
from stretto.tune import outputs
from stretto.tune.combine import Combining, Spent, as_setting
from stretto.tune.trials import gain_of, order, times_of
from stretto.tune.verify import MOST_LISTED
from stretto.tune.words import gain_words


class Confirming(Combining):
    def choose(self, best: Tried, rounds: int, progress: Progress) -> str:
        """Choose the best that fresh runs confirm, and return what became of it, in words."""
        said = []
        for tried in (best, *self._without_last(best)):
            said.append(self._confirm(tried, rounds, progress))
            if self.file.setting is not None:
                return "; ".join(said)
        return "; ".join([*said, "nothing is set"])

    def _without_last(self, best: Tried) -> Iterator[Tried]:
        parts = best.parts
        while len(parts) > 1:
            parts = parts[:-1]
            yield next(t for t in self.file.tried if t.parts == parts or [t.name] == parts)

    def _confirm(self, tried: Tried, rounds: int, progress: Progress) -> str:
        looked = f"{tried.name} looked faster ({tried.why})"
        setting = as_setting(tried)
        gained = "" if tried.gain is None else f" ({gain_words(tried.gain)})"
        self.say(f"stretto: {tried.name}{gained} is confirmed by {2 * rounds} fresh runs")
        for number, kind in enumerate(order(rounds, self.o.seed)):
            who = None if kind == "native" else setting
            label = NATIVE if who is None else who.name
            progress.update(progress.done, f"confirming {label}")
            if self._has(label, number // 2, True, tried.name):
                continue
            run = self._one(who, number // 2, True, number, tried.name)
            if run is None:
                raise Spent(f"{looked}, but the budget was spent before that was confirmed")
            self._keep(run)
            progress.advance()
            if run.status != 0:
                return f"{looked}, but failed when it was to be confirmed ({run.detail})"
        return self._conclude(tried, rounds)

    def _conclude(self, tried: Tried, rounds: int) -> str:
        sides: dict[str, dict[int, float]] = {NATIVE: {}, tried.name: {}}
        for r in self.file.runs:
            if r.confirming and r.beside == tried.name and r.value is not None:
                sides[r.setting][r.round] = r.value
        mine, native = (times_of(sides[x], self.o.metric) for x in (tried.name, NATIVE))
        ratio, ratios, p, _ = compare_times(mine, native)
        runs = [r for r in self.file.runs if r.confirming and r.beside == tried.name]
        busy = busy_before([r.others for r in runs])
        verdict = judge(ratio, p, ratio.n, "run", busy=busy)
        self.file.confirmed = gain_of(ratio, ratios, p, self.o.metric)
        self.file.confirmed_of = tried.name
        kinds = order(rounds, self.o.seed)
        drafts = [Run(kind, i, None, 0.0, 0) for i, kind in enumerate(kinds)]
        compared = self._outputs(tried.name).compare(drafts)
        self.file.outputs = outputs.words(compared, self.o.rules) if compared else None
        self.file.compared = [c for c in compared if c.outcome != "same"][:MOST_LISTED]
        text = f"{tried.name}: gain of fresh runs {gain_words(self.file.confirmed)}"
        if not verdict.tested:
            text = f"{tried.name}: the gain of fresh runs was not tested"
        if verdict.outcome == "inconclusive":
            return f"inconclusive: {text}: {verdict.words}"
        if verdict.outcome != "faster":
            return f"{text}: {verdict.words}, so that its first gain was luck"
        if outputs.equal(compared) is False:
            return (
                f"{text}, but CMD's outputs differ with it ({self.file.outputs}; --ignore and "
                "--compare say what counts)"
            )
        self.file.setting, self.file.chosen = tried.name, dict(tried.environment)
        return f"{text}; this is significant, and stretto run sets it for this command"
