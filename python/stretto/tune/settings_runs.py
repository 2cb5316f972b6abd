"""Runs of CMD with a setting and without, in turn, and the times that they gave."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from stretto.errors import CommandFailedError
from stretto.files.settings import NATIVE, SettingRun, SettingsFile, write_settings
from stretto.files.verdict import GainInterval, Run, as_typed
from stretto.launch.evidence import require_native
from stretto.measure.compare import compare_times
from stretto.measure.stats import Interval, median_interval
from stretto.progress import Progress
from stretto.tune.outputs import Outputs
from stretto.tune.session import Tuning
from stretto.tune.trials import Kind, find_value, gain_of, in_turn, times_of
from stretto.tune.words import ended

#: so many failed runs are enough of a setting
MOST_FAILURES = 2
TIMED_OUT = 124
#: no exit code: the run was as good as a native one, since its setting was not the ranks'
UNREACHED = -1

#: variables that make a setting; None: native
Environment = Mapping[str, str] | None


class Spent(Exception):
    """The budget leaves no time for the next run."""


class SettingRuns(Tuning):
    """What is run and kept; `file` holds it, and is written after each run.

    Runs of one series are made in turn: those in which all settings are tried (`beside` is None),
    and those that confirm one setting or combination.
    """

    file: SettingsFile

    def turns(
        self,
        members: Mapping[str, Environment],
        rounds: int,
        progress: Progress,
        beside: str | None = None,
        out: Callable[[str, int], bool] = lambda name, number: False,
    ) -> None:
        """Run every member once a round, each round in an order of its own.

        `out`: whether a member gets no run in a round. Raises Spent.
        """
        # a failed run is not repeated: its setting goes on with the next round, or is out
        good = (r for r in self.series(beside) if r.status == 0 or r.setting != NATIVE)
        made = {(r.setting, r.round) for r in good}
        for number, name in in_turn(members, rounds, f"{self.o.seed} {beside}"):
            if (name, number) in made or out(name, number):
                continue
            progress.update(progress.done, name)
            draft = SettingRun(name, number, None, 0.0, 0, beside=beside)
            self.keep(self.run_once(draft, members[name]))
            progress.advance()

    def series(self, beside: str | None) -> list[SettingRun]:
        return [r for r in self.file.runs if r.beside == beside]

    def failed(self, name: str) -> str | None:
        """Return why a setting is out for good, None when it is not."""
        bad = [r for r in self.file.runs if r.setting == name and r.status != 0]
        at_once = any(r.status in (TIMED_OUT, UNREACHED) for r in bad)
        return bad[-1].detail if len(bad) >= MOST_FAILURES or at_once else None

    def compared(
        self,
        name: str,
        other: str = NATIVE,
        beside: str | None = None,
        rounds: int | None = None,
    ) -> tuple[Interval, float | None, GainInterval] | None:
        """Return ratio of times, p and gain of a setting in the first rounds of a series.

        None: there is no round in which both ran well.
        """
        sides: dict[str, dict[int, float]] = {name: {}, other: {}}
        for r in self.series(beside):
            wanted = r.setting in sides and (rounds is None or r.round < rounds)
            if wanted and r.value is not None:
                sides[r.setting][r.round] = r.value
        common = sides[name].keys() & sides[other].keys()
        if not common:
            return None
        metric = self.o.metric
        a, b = (times_of({i: sides[n][i] for i in common}, metric) for n in (name, other))
        ratio, ratios, p, _ = compare_times(a, b)
        return ratio, p, gain_of(ratio, ratios, p, metric)

    def outputs(self, name: str) -> Outputs:
        """Return what was put out by the runs that confirm a setting or combination."""
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        return Outputs(self.o.out / "outputs" / "settings" / digest, self.o.rules)

    def estimate(self) -> None:
        good = [r.wall_s for r in self.file.runs if r.setting == NATIVE and r.status == 0]
        if good:
            self.run_s = median_interval(good).median

    def _add(self, run: SettingRun) -> None:
        self.file.runs.append(run)
        self.run_s = max(self.run_s, run.wall_s)
        self.estimate()
        write_settings(self.file, self.path("settings.json"))

    def keep(self, run: SettingRun) -> None:
        self._add(run)
        if run.status == 0:
            return
        if run.setting == NATIVE:
            times = "" if run.status == TIMED_OUT else " twice"
            raise CommandFailedError(
                f"the native run failed{times}: {run.detail}", " ".join(self.o.words),
                "run it by hand: it must run repeatedly on identical files",
            )  # fmt: skip
        self.say(f"stretto: warning: {run.setting}: {run.detail}")

    def run_once(self, draft: SettingRun, environment: Environment) -> SettingRun:
        """Run CMD, native or with a setting.

        A native run that fails is made once more: its round would be lost for all settings.
        Raises Spent: the budget leaves no time, or has ended the run, which says nothing of the
        setting.
        """
        run = self._run(draft, environment)
        if environment is not None or run.status in (0, TIMED_OUT):
            return run
        self._add(run)
        self.say(f"stretto: warning: {NATIVE}: {run.detail}; it is run once more")
        return self._run(draft, environment)

    def _run(self, draft: SettingRun, environment: Environment) -> SettingRun:
        if self.left_s() < 1.1 * self.whole_s:
            raise Spent
        # those of the best without it count no more: it was confirmed with the same outputs
        compared = draft.beside is not None and draft.setting in (NATIVE, draft.beside)
        kept = self.outputs(draft.beside or "") if compared else None
        kind: Kind = "native" if draft.setting == NATIVE else "tuned"
        # a setting must be the ranks'; native runs are watched like the others
        watch = draft.round == 0 and draft.beside is None
        named = Run(kind, draft.round, None, 0.0, 0)
        trial = self.attempt(named, kept, settings=environment, watch=watch)
        if trial is None:
            raise Spent
        require_native(trial.evidence, " ".join(self.o.words))
        result = trial.result
        run = SettingRun(
            draft.setting, draft.round, None, result.wall_s, result.status, beside=draft.beside,
            others=trial.others,
        )  # fmt: skip
        if result.timed_out:
            run.status, run.detail = TIMED_OUT, "it took too long"
        elif result.status != 0:
            run.detail = ended(result)[:500]
        else:
            run.value = find_value(self.o.metric, result)
            if run.value is None or run.value <= 0:
                run.value, run.status = None, 1
                run.detail = f"its output has no match for {as_typed(self.o.metric)}"
        missed = trial.seen.missed(environment) if trial.seen and environment else None
        if missed is not None:
            run.value, run.status = None, UNREACHED
            run.detail = f"{missed}: the command or its script sets or removes it"
        return run
