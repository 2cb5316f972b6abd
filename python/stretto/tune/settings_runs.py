"""Runs of CMD with a setting and without, and the times that they gave."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from stretto.errors import CommandFailedError
from stretto.files.settings import NATIVE, SettingRun, SettingsFile, write_settings
from stretto.files.verdict import Run, as_typed
from stretto.launch.evidence import require_native
from stretto.measure.compare import compare_times
from stretto.measure.stats import Interval, median_interval
from stretto.mpi.settings import Setting
from stretto.tune.outputs import Outputs
from stretto.tune.session import Tuning
from stretto.tune.trials import find_value, times_of
from stretto.tune.words import ended

#: so many failed runs are enough of a setting
MOST_FAILURES = 2
TIMED_OUT = 124
#: no exit code: the run was as good as a native one, since its setting was not the ranks'
UNREACHED = -1


class SettingRuns(Tuning):
    """What is run and kept; `file` holds it, and is written after each run."""

    file: SettingsFile

    def has(
        self, name: str, number: int, confirming: bool = False, beside: str | None = None
    ) -> bool:
        wanted = (name, number, confirming, beside, 0)
        return any(
            (r.setting, r.round, r.confirming, r.beside, r.status) == wanted for r in self.file.runs
        )

    def failed(self, name: str) -> str | None:
        """Return why a setting is out for good, None when it is not."""
        bad = [r for r in self.file.runs if r.setting == name and r.status != 0]
        at_once = any(r.status in (TIMED_OUT, UNREACHED) for r in bad)
        return bad[-1].detail if len(bad) >= MOST_FAILURES or at_once else None

    def _spent(self) -> bool:
        left = self.left_s()
        return left is not None and left < 1.1 * self.run_s

    def times(
        self, name: str, rounds: range | None = None, beside: str | None = None
    ) -> dict[int, float]:
        values = {
            r.round: r.value
            for r in self.file.runs
            if r.setting == name and not r.confirming and r.value is not None and r.beside == beside
            and (rounds is None or r.round in rounds)
        }  # fmt: skip
        return times_of(values, self.o.metric)

    def ratio(
        self, name: str, rounds: range | None = None
    ) -> tuple[Interval, tuple[float, ...], float | None] | None:
        mine, native = self.times(name, rounds), self.times(NATIVE, rounds)
        both = set(mine) & set(native)
        if not both:
            return None
        ratio, ratios, p, _ = compare_times(
            {i: mine[i] for i in both}, {i: native[i] for i in both}
        )
        return ratio, ratios, p

    def outputs(self, name: str) -> Outputs:
        """Return what was put out by the runs that confirm a setting or combination."""
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        return Outputs(self.o.out / "outputs" / "settings" / digest, self.o.rules)

    def estimate(self, runs: Sequence[SettingRun]) -> None:
        good = [r.wall_s for r in runs if r.setting == NATIVE and r.status == 0]
        if good:
            self.run_s = median_interval(good).median

    def _add(self, run: SettingRun) -> None:
        self.file.runs.append(run)
        self.run_s = max(self.run_s, run.wall_s)
        self.estimate(self.file.runs)
        write_settings(self.file, self.path("settings.json"))

    def keep(self, run: SettingRun) -> None:
        self._add(run)
        if run.status == 0:
            return
        if run.setting == NATIVE:
            times = "" if run.status == TIMED_OUT else " twice"
            raise CommandFailedError(
                f"the native run failed{times}: {run.detail}", " ".join(self.o.words),
                "run it by hand: it must run many times on equal files",
            )  # fmt: skip
        self.say(f"stretto: warning: {run.setting}: {run.detail}")

    def run_once(
        self,
        setting: Setting | None,
        number: int,
        confirming: bool,
        at: int = 0,
        beside: str | None = None,
    ) -> SettingRun | None:
        """Run CMD, native or with a setting; `at` numbers the runs that confirm `beside`.

        A native run that fails is made once more: its round would be lost for all settings. None:
        as for `_run`.
        """
        run = self._run(setting, number, confirming, at, beside)
        if setting is not None or run is None or run.status in (0, TIMED_OUT):
            return run
        self._add(run)
        self.say(f"stretto: warning: {NATIVE}: {run.detail}; it is run once more")
        return self._run(None, number, confirming, at, beside)

    def _run(
        self, setting: Setting | None, number: int, confirming: bool, at: int, beside: str | None
    ) -> SettingRun | None:
        """Run CMD once.

        In the first round its ranks are watched: a setting must be theirs. Native runs are watched
        like the others, so that all have the same. None: the budget leaves no time for the run, or
        has ended it, which says nothing of the setting.
        """
        if self._spent():
            return None
        draft = Run("native" if setting is None else "tuned", at, None, 0.0, 0)
        kept = self.outputs(beside or "") if confirming else None
        environment = dict(setting.environment) if setting else None
        watch = number == 0 and beside is None
        trial = self.attempt(draft, kept, settings=environment, watch=watch)
        if trial is None:
            return None
        require_native(trial.evidence, " ".join(self.o.words))
        result = trial.result
        run = SettingRun(
            NATIVE if setting is None else setting.name, number, confirming, None, result.wall_s,
            result.status, beside=beside, others=trial.others,
        )  # fmt: skip
        if result.timed_out:
            run.status, run.detail = TIMED_OUT, "it took too long"
        elif result.status != 0:
            run.detail = ended(result)[:500]
        else:
            run.value = find_value(self.o.metric, result)
            if run.value is None or run.value <= 0:
                run.value, run.status = None, 1
                run.detail = f"it printed nothing that {as_typed(self.o.metric)} can use"
        missed = trial.seen.missed(environment) if trial.seen and environment else None
        if missed is not None:
            run.value, run.status = None, UNREACHED
            run.detail = f"{missed}: the command or its script sets it itself, or drops what it has"
        return run
