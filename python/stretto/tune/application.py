"""``stretto tune -- CMD``: from one profiled run to a table, and to a verdict on CMD itself.

Every step leaves a file in the output directory; the same command goes on from what is there.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.campaign.candidates import refuse_unknown
from stretto.campaign.compare import ALPHA, NATIVE
from stretto.errors import CommandFailedError, Interrupted, StrettoError, keeping
from stretto.files.identity import collect
from stretto.files.profile import Profile
from stretto.files.table import TUNABLE, Row, Table, write_table
from stretto.files.verdict import Gain, Run, Verdict, read_verdict, write_verdict
from stretto.launch.library import library_for
from stretto.progress import Progress
from stretto.tune.needs import Needs, find_needs
from stretto.tune.predict import predict
from stretto.tune.steps import PAIRS, Steps
from stretto.tune.trials import check_copy, find_value, gain, once, order, same_outputs
from stretto.tune.words import (
    LEAST_GAIN,
    conclude,
    gain_words,
    needs_lines,
    no_help,
)

#: the most pairs of runs that a budget buys
MOST_PAIRS = 10


@dataclass
class Outcome:
    """What came of it, for printing."""

    conclusion: str
    helps: bool
    table: Path | None = None
    verdict: Path | None = None
    profile: Path | None = None
    bench: list[Path] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    predicted: Gain | None = None
    measured: Gain | None = None


def refuse_applied(environ: Mapping[str, str]) -> None:
    """Refuse an environment in which Stretto is applied already: nothing would run without it.

    Parameters
    ----------
    environ
        Of the command.
    """
    names = [n for n in ("STRETTO_TABLE", "STRETTO_CHOICE") if environ.get(n)]
    if environ.get("STRETTO_DISABLE", "0") not in ("", "0"):
        names.append("STRETTO_DISABLE")
    if "libstretto-" in environ.get("LD_PRELOAD", ""):
        names.append("LD_PRELOAD")
    if names:
        raise StrettoError(
            "Stretto is applied or switched off by the environment (stretto env?), so runs with "
            "and without it could not be compared",
            ", ".join(names),
            f"unset {' '.join(names)} OMPI_MCA_mca_base_env_list{{,_internal}}",
        )


class Tuning(Steps):
    """One tuning from the profile to the verdict."""

    def run(self) -> Outcome:
        """Go through all steps."""
        for note in self.job.notes:
            self.say(f"stretto: note: {note}")
        refuse_applied({**self.job.environ, **self.job.command.assignments})
        check_copy(self.o.place, self.o.out)
        for kind in ("interposer", "bench", "record"):
            library_for(kind, self.job.mpi)  # say at once when one is missing
        refuse_unknown(self.o.only or TUNABLE, self.o.candidates or [])
        budget = "" if self.o.budget_s is None else f", within about {self.o.budget_s:.0f} s"
        self.say(
            "stretto: CMD runs once with the recorder, then what it uses is measured, then CMD "
            f"runs native and tuned in turn ({self.o.place.words()}){budget}"
        )
        profile = self.profile()
        needs = find_needs(profile, self.o.only)
        reason = no_help(needs)
        if reason is not None:
            return self.nothing(profile, reason, needs)
        for line in needs_lines(needs):
            self.say(line)
        rows, comparisons, benches = self.measured(needs)
        table = self.table(profile, rows)
        write_table(table, self.path("table"))
        if all(row.choice == NATIVE for row in rows):
            worst = "; nothing measured was faster than native with significance"
            return self.nothing(
                profile,
                f"the MPI's own algorithms stay for all that CMD uses{worst}",
                needs,
                benches,
            )
        # The user's own metric mostly leaves the start of the job out, wall time does not.
        wall = self.run_s if self.o.metric.pattern is None else None
        predicted = predict(needs, table, comparisons, self.o.seed, wall)
        if predicted is not None:
            self.say(f"stretto: predicted gain in wall time: {gain_words(predicted)}")
        if self.o.pairs is None and predicted is not None and predicted.high < LEAST_GAIN:
            return self.tiny(profile, table, predicted, benches)
        return self.verify(profile, table, predicted, benches)

    def nothing(
        self, profile: Profile, reason: str, needs: Needs, benches: Sequence[Path] = ()
    ) -> Outcome:
        """Write the verdict that nothing is to be gained, and why; no run of CMD is spent on it."""
        if not benches:
            # A table of an earlier attempt must not outlive this verdict.
            self.path("table").unlink(missing_ok=True)
        verdict = self._verdict(profile, [], None, None, None, reason, benches)
        write_verdict(verdict, self.path("verdict.json"))
        return Outcome(
            reason,
            False,
            self.path("table") if benches else None,
            self.path("verdict.json"),
            self.path("profile.json"),
            list(benches),
        )

    def tiny(
        self, profile: Profile, table: Table, predicted: Gain, benches: Sequence[Path]
    ) -> Outcome:
        """Write the verdict that the table is good, but CMD has too little of it to show."""
        text = (
            f"hardly anything is to be gained on CMD: predicted {gain_words(predicted)} of the "
            "wall time, which no number of runs would show; the table was written, CMD was not run "
            "with it (--pairs 6 does that)"
        )
        path = self.path("verdict.json")
        write_verdict(self._verdict(profile, [], predicted, None, None, text, benches), path)
        return Outcome(
            text,
            True,
            self.path("table"),
            path,
            self.path("profile.json"),
            list(benches),
            table.rows,
            predicted,
        )

    def _verdict(
        self,
        profile: Profile,
        runs: list[Run],
        predicted: Gain | None,
        measured: Gain | None,
        outputs: bool | None,
        conclusion: str,
        benches: Sequence[Path],
    ) -> Verdict:
        identity = collect(self.job.mpi.identity)
        table = self.path("table")
        return Verdict(
            stretto=identity.stretto,
            created=identity.created,
            host=identity.host,
            mpi=identity.mpi,
            command=list(profile.command),
            metric=self.o.metric,
            runs=runs,
            predicted=predicted,
            measured=measured,
            outputs_equal=outputs,
            conclusion=conclusion,
            table=table.name if table.exists() else None,
            profile=self.path("profile.json").name,
            bench=benches[0].name if benches else None,
        )

    def verify(
        self, profile: Profile, table: Table, predicted: Gain | None, benches: Sequence[Path]
    ) -> Outcome:
        """Run CMD native and tuned in turn, and conclude."""
        path = self.path("verdict.json")
        runs = self._earlier(path)
        pairs = self.o.pairs if self.o.pairs is not None else self._affordable()
        plan = order(pairs, self.o.seed, runs)
        if plan:
            self.say(
                f"stretto: CMD now runs {len(plan)} times, about {len(plan) * self.run_s:.0f} s"
            )
        if pairs < PAIRS:
            self.say(
                f"stretto: warning: {pairs} pairs of runs are too few for a test (at least "
                f"{PAIRS}); give more --budget, or --pairs"
            )
        kept = f"runs so far are in {path}; the same command goes on"
        with keeping(kept), Progress(f"running {self.name}", len(plan)) as progress:
            for kind in plan:
                progress.update(progress.done, kind)
                try:
                    runs.append(self._one(kind, len(runs)))
                except Interrupted as stop:
                    raise Interrupted(f"{stop.kept}; {kept}") from stop
                finally:
                    shutil.rmtree(self.o.place.work, ignore_errors=True)
                unfinished = f"{len(runs)} of {2 * pairs} runs made"
                write_verdict(
                    self._verdict(profile, runs, predicted, None, None, unfinished, benches), path
                )
                progress.advance()
        measured = gain(runs, self.o.metric)
        outputs = self._outputs(runs)
        conclusion = conclude(self.o.metric, predicted, measured, outputs)
        write_verdict(
            self._verdict(profile, runs, predicted, measured, outputs, conclusion, benches), path
        )
        slower = measured is not None and measured.high < 0 and (measured.p or 1.0) < ALPHA
        return Outcome(
            conclusion,
            not slower,
            self.path("table"),
            path,
            self.path("profile.json"),
            list(benches),
            table.rows,
            predicted,
            measured,
        )

    def _earlier(self, path: Path) -> list[Run]:
        """Return the runs of an earlier attempt with the same table."""
        if self.o.restart or not path.exists():
            return []
        old = read_verdict(path)
        same = old.command == self.o.words and old.metric == self.o.metric
        digest = self.path("table.applied")
        text = _rows_text(self.path("table"))
        if not same or not digest.exists() or digest.read_text("utf-8") != text:
            return []
        return old.runs

    def _affordable(self) -> int:
        left = self.left_s()
        if left is None:
            return PAIRS
        return max(1, min(MOST_PAIRS, int(left / (2.1 * max(self.run_s, 0.05)))))

    def _one(self, kind: str, number: int) -> Run:
        libraries = [library_for("interposer", self.job.mpi)] if kind == "tuned" else []
        table = self.path("table").resolve()
        variables = {"STRETTO_TABLE": str(table)} if kind == "tuned" else {}
        self.path("table.applied").write_text(_rows_text(table), "utf-8")
        limit = self.o.timeout_s or 60 + 10 * self.run_s
        result = once(
            self.o.words, self.o.place, libraries, variables, limit, self.o.mpi
        )  # fmt: skip
        outputs = self.o.out / "outputs"
        outputs.mkdir(parents=True, exist_ok=True)
        (outputs / f"{number:03d}-{kind}.txt").write_text(result.stdout, "utf-8")
        value = find_value(self.o.metric, result) if result.status == 0 else None
        if result.status != 0 or result.timed_out:
            how = "took too long" if result.timed_out else f"ended with {result.status}"
            last = " / ".join((result.stderr or result.stdout).strip().splitlines()[-3:])
            remedy = "run it by hand: it must run twice on equal files"
            if kind == "tuned":
                remedy = f"do not use {table}; please report this: {last}"
            raise CommandFailedError(
                f"the {kind} run {how}; its last words: {last}", " ".join(self.o.words), remedy
            )
        if value is None:
            raise StrettoError(
                f"the command printed nothing that matches --metric {self.o.metric.pattern!r}",
                outputs / f"{number:03d}-{kind}.txt",
                "try the expression on that file with grep -P",
            )
        return Run("tuned" if kind == "tuned" else "native", number, value, result.wall_s, 0)

    def _outputs(self, runs: Sequence[Run]) -> bool | None:
        texts: dict[str, list[str]] = {"native": [], "tuned": []}
        for r in runs:
            path = self.o.out / "outputs" / f"{r.order:03d}-{r.kind}.txt"
            if path.exists():
                texts[r.kind].append(path.read_text("utf-8", "replace"))
        return same_outputs(texts["native"], texts["tuned"])


def _rows_text(path: Path) -> str:
    """Return what of a table decides on algorithms (not who made it, and when)."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = [line.split()[1:6] for line in lines if line.startswith("row ")]
    return "\n".join(" ".join(r) for r in rows) + "\n"
