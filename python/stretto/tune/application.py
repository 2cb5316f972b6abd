"""``stretto tune -- CMD``: from one profiled run to a table, and to a verdict on CMD itself.

Every step leaves a file in the output directory; the same command goes on from what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.files.outcome import Verdict
from stretto.files.profile import Profile
from stretto.files.table import TUNABLE, Table, write_table
from stretto.files.usage import busy_words, usage_of
from stretto.files.verdict import GainInterval
from stretto.launch.library import library_for
from stretto.measure.candidates import refuse_unknown
from stretto.measure.compare import NATIVE, Comparison, open_points, open_words
from stretto.tune.alone import alone_in
from stretto.tune.needs import find_needs
from stretto.tune.place import keep_input
from stretto.tune.predict import predict
from stretto.tune.verify import TuneResult, Verifying
from stretto.tune.words import LEAST_GAIN, gain_words, needs_lines, no_help


class Tuning(Verifying):
    def run(self) -> TuneResult:
        self.prepare()
        if self.o.dry_run:
            return self._steps() if self.has_profile else self._dry()
        with alone_in(self.o.out):
            return self._steps()

    def _dry(self) -> TuneResult:
        return TuneResult("dry run: nothing was run or measured", False)

    def _steps(self) -> TuneResult:
        profile = self.profile()
        needs = find_needs(profile, self.o.only)
        reason = no_help(needs)
        busy = busy_words(usage_of(profile))
        if busy is not None:
            self.say(f"stretto: warning: in the profiled run {busy}")
        if reason is not None and busy is not None:
            lacking = Verdict("inconclusive", busy, "missing: a profile of a quiet machine")
            return self.nothing(profile, f"inconclusive: {busy}. {reason}", found=lacking)
        if reason is not None:
            return self.nothing(profile, reason, found=Verdict("same", reason))
        for line in needs_lines(needs):
            self.say(line)
        self.state_cost(needs)
        if self.o.dry_run:
            return self._dry()
        rows, comparisons, benches = self.measured(needs)
        table = self.table(profile, rows)
        write_table(table, self.path("table"))
        if all(row.choice == NATIVE for row in rows):
            return self._stays(profile, comparisons, benches)
        # The user's own metric mostly leaves the start of the job out, wall time does not.
        wall = self.run_s if self.o.metric.pattern is None else None
        predicted = predict(needs, table, comparisons, self.o.seed, wall)
        if predicted is not None:
            self.say(f"stretto: predicted gain in wall time: {gain_words(predicted)}")
        if self.o.pairs is None and predicted is not None and predicted.high < LEAST_GAIN:
            return self.tiny(profile, table, predicted, benches)
        return self.verify(profile, table, predicted, benches)

    def prepare(self) -> None:
        """Refuse what cannot work, and say what will be done, before anything runs."""
        self.check()
        for kind in ("interposer", "bench", "record"):
            library_for(kind, self.job.mpi)  # say at once when one is missing
        refuse_unknown(self.o.only or TUNABLE, self.o.candidates or [])
        keep_input()
        self.say_plan()

    def _stays(
        self, profile: Profile, comparisons: Sequence[Comparison], benches: Sequence[Path]
    ) -> TuneResult:
        """Write the verdict that native stays: nothing is faster, or it cannot be told."""
        text = "native algorithms stay for all that CMD uses"
        words = open_words(comparisons)
        if words is not None:
            missing = next((c.verdict.missing for c in open_points(comparisons)[0]), "")
            found = Verdict("inconclusive", words, missing)
            return self.nothing(profile, f"{words}; {text}", benches, found)
        text += "; nothing measured was faster than native with significance"
        return self.nothing(profile, text, benches, Verdict("same", text))

    def nothing(
        self,
        profile: Profile,
        reason: str,
        benches: Sequence[Path] = (),
        found: Verdict | None = None,
    ) -> TuneResult:
        """Write the verdict that nothing is to be gained, and why; no run of CMD is spent on it."""
        if not benches:
            # A table of an earlier attempt must not outlive this verdict.
            self.path("table").unlink(missing_ok=True)
        return self.verdict(profile, reason, benches, found=found)

    def tiny(
        self, profile: Profile, table: Table, predicted: GainInterval, benches: Sequence[Path]
    ) -> TuneResult:
        """Write the verdict that the table is good, but CMD has too little of it to show."""
        text = (
            f"hardly anything is to be gained on CMD: predicted {gain_words(predicted)} of the "
            "wall time, which no number of runs would show; the table was written, CMD was not run "
            "with it (--pairs 6 does that)"
        )
        return self.verdict(profile, text, benches, table=table, helps=True, predicted=predicted)
