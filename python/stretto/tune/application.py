"""``stretto tune -- CMD``: from one profiled run to a table, and to a verdict on CMD itself.

Every step leaves a file in the output directory; the same command goes on from what is there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from stretto.campaign.candidates import default_candidates, refuse_unknown
from stretto.campaign.compare import ALPHA, NATIVE, Comparison, compare, decisive, timings
from stretto.campaign.idle import cores
from stretto.campaign.runner import Starter, measure, require_layout
from stretto.campaign.settings import STARTUP_S, Case, Settings, make_case, variants_of
from stretto.errors import CommandFailedError, Interrupted, StrettoError, from_oserror, keeping
from stretto.files.identity import collect
from stretto.files.io import write_atomic
from stretto.files.profile import Profile, read_profile
from stretto.files.table import TUNABLE, Row, Table, write_table
from stretto.files.verdict import Gain, Metric, Run, Verdict, read_verdict, write_verdict
from stretto.launch.inject import prepare
from stretto.launch.job import Job, understand
from stretto.launch.library import library_for
from stretto.progress import Progress
from stretto.tune.decide import Span, decide
from stretto.tune.needs import Need, Needs, find_needs
from stretto.tune.predict import predict
from stretto.tune.trials import (
    Place,
    check_copy,
    find_value,
    fresh,
    gain,
    once,
    order,
    same_outputs,
)
from stretto.tune.words import LEAST_GAIN, conclude, gain_words, no_help, percent

#: pairs of runs: the fewest with which a test can be made, and the most that a budget buys
PAIRS, MOST_PAIRS = 6, 10
LAUNCHES, FEWEST_LAUNCHES = 10, 6


@dataclass
class Options:
    """What the user asked for."""

    words: list[str]
    out: Path
    metric: Metric
    place: Place
    budget_s: float | None = None
    pairs: int | None = None
    launches: int | None = None
    only: list[str] | None = None
    candidates: list[str] | None = None
    mpi: str | None = None
    timeout_s: float | None = None
    seed: int = 1
    restart: bool = False


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


def app_name(job: Job) -> str:
    """Return a name for the files: the program's, or the script's that an interpreter runs."""
    application = job.command.applications[0]
    if application.program is None:
        return "job"
    words = job.command.words
    name = Path(words[application.program]).name
    if name.startswith(("python", "perl", "bash", "sh")):
        for word in words[application.program + 1 : application.end]:
            if not word.startswith("-") and Path(word).suffix:
                name = Path(word).stem
                break
    return name or "job"


class Tuning:
    """The steps of one tuning, each resumable.

    Parameters
    ----------
    options
        What the user asked for.
    say
        Prints a sentence to the user.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.o = options
        self.say = say
        self.begin = time.monotonic()
        self.job = understand(options.words, mpi=options.mpi)
        self.name = app_name(self.job)
        self.run_s = 0.0

    def path(self, kind: str) -> Path:
        """Return the file of a kind in the output directory."""
        return self.o.out / f"{self.name}.{kind}"

    def left_s(self) -> float | None:
        """Return what is left of the budget."""
        if self.o.budget_s is None:
            return None
        return self.o.budget_s - (time.monotonic() - self.begin)

    def run(self) -> Outcome:
        """Go through all steps."""
        for note in self.job.notes:
            self.say(f"stretto: note: {note}")
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

    # ---- the steps ----------------------------------------------------------------------------

    def profile(self) -> Profile:
        """Return the profile: the one that is there, or that of a run now."""
        path = self.path("profile.json")
        if path.exists() and not self.o.restart:
            found = read_profile(path)
            if found.command != self.o.words:
                raise StrettoError(
                    f"the profile here is of another command: {' '.join(found.command)}",
                    path,
                    "begin again with --restart, or give another directory with --out",
                )
            if found.mpi.family != self.job.mpi.family:
                raise StrettoError(
                    f"the profile here was recorded under {found.mpi.family} {found.mpi.version}, "
                    f"and the command now uses {self.job.mpi.name}",
                    path,
                    "begin again with --restart, or give another directory with --out",
                )
            if self._wall_file.exists():
                self.run_s = self._recorded_wall(found)
                self.say(f"stretto: going on with the profile in {path}")
                return found
            self.say(f"stretto: {path} is of a run that did not end well; CMD runs again")
        from stretto.profiling.record import check_result, record

        try:
            self.o.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_oserror(error, "cannot make the directory", self.o.out) from error
        self._wall_file.unlink(missing_ok=True)  # written again when the run has ended well
        with fresh(self.o.place) as cwd, _directory(cwd):
            recorded = record(
                self.o.words,
                output=path.resolve() if path.is_absolute() else self.home / path,
                mpi=self.o.mpi,
                timeout=self.o.timeout_s,
                capture="yes",
            )
        try:
            check_result(recorded)
        except CommandFailedError as error:
            tail = (recorded.result.stderr or recorded.result.stdout).strip().splitlines()[-3:]
            path.rename(path.with_name(f"{self.name}.failed.profile.json"))
            raise CommandFailedError(
                f"{error.message}; its last words: {' / '.join(tail) or 'none'}",
                error.place,
                "make it run without Stretto first; if it needs files outside its directory, use "
                "--in-place or --reset-command",
            ) from error
        self.run_s = recorded.result.wall_s
        write_atomic(self._wall_file, f"{self.run_s}\n", "the profiled run's time")
        for note in recorded.joined[0].notes:
            self.say(f"stretto: note: {note}")
        return recorded.profile

    @property
    def _wall_file(self) -> Path:
        """The wall time of the profiled run; there only when that run ended well."""
        return self.o.out / "outputs" / "profiled-wall-s"

    def _recorded_wall(self, profile: Profile) -> float:
        """Return the wall time of the profiled run, its start included."""
        try:
            return float(self._wall_file.read_text("utf-8"))
        except (OSError, ValueError):
            return float(np.median(profile.wall_s)) + 0.5

    @property
    def home(self) -> Path:
        """The directory that we were started in."""
        return self.job.cwd

    def measured(self, needs: Needs) -> tuple[list[Row], list[Comparison], list[Path]]:
        """Measure what is needed, layout by layout, and decide."""
        groups: dict[tuple[int, int, int], list[Need]] = defaultdict(list)
        for need in needs.chosen:
            groups[need.nranks, need.nodes, need.ppn].append(need)
        budget = self._bench_budget(needs)
        rows: list[Row] = []
        comparisons: list[Comparison] = []
        paths: list[Path] = []
        # A table tells nodes x ppn apart, not 7 ranks of 2 x 4 from 8: they decide together.
        spans: dict[tuple[int, int], dict[str, dict[int, Span]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for (nranks, nodes, ppn), members in groups.items():
            cases = self._cases(members, nodes, nranks)
            share = None if budget is None else budget * len(members) / len(needs.chosen)
            launches = self.o.launches or _launches(cases, share)
            whole = nranks == self.job.layout.nranks
            hosts = self.job.layout.hosts[:nodes] if nodes > 1 else ()
            settings = Settings(
                nranks=nranks,
                cases=tuple(cases),
                variants=variants_of(cases),
                launches=launches,
                ppn=ppn if nodes > 1 else None,
                hosts=tuple(hosts),
                seed=self.o.seed,
                budget_s=share,
                batches=(9, 30),
                oversubscribed=nranks > cores() * nodes,
            )
            path = self.path("bench.jsonl" if not paths else f"{nodes}x{ppn}.bench.jsonl")
            if path in paths:
                path = self.path(f"{nodes}x{ppn}.{nranks}.bench.jsonl")
            estimate = settings.estimate_s()
            self.say(
                f"stretto: measuring {len(cases)} call shapes on {nodes} x {ppn} (nodes x ranks), "
                f"{launches} launches: about {estimate:.0f} s"
            )
            bench, _ = measure(
                settings,
                self.job.mpi,
                path,
                collect(self.job.mpi.identity),
                ["stretto", "tune", "--", *self.o.words],
                self.say,
                restart=self.o.restart,
                start=self._starter() if whole else None,
            )
            require_layout(bench, nodes, ppn, path)
            times = timings(bench)
            comparisons += [
                replace(c, layout=(nranks, nodes, ppn)) for c in decisive(compare(times), times)
            ]
            own = spans[nodes, ppn]
            for need in members:
                own[need.collective][need.bytes] = _wider(
                    need.span, own[need.collective].get(need.bytes)
                )
            paths.append(path)
        for (nodes, ppn), known in spans.items():
            here = [c for c in comparisons if c.layout is not None and c.layout[1:] == (nodes, ppn)]
            rows += decide(here, nodes, ppn, known)
        return rows, comparisons, paths

    def _cases(self, members: Sequence[Need], nodes: int, nranks: int) -> list[Case]:
        cases = []
        for need in members:
            names = self.o.candidates or default_candidates(
                need.collective, self.job.mpi.abi, nodes, nranks
            )
            if NATIVE not in names:
                names = [NATIVE, *names]
            cases.append(
                make_case(need.collective, need.bytes, names, need.datatype, need.operation)
            )
        return cases

    def _bench_budget(self, needs: Needs) -> float | None:
        left = self.left_s()
        if left is None:
            return None
        trials = 2 * PAIRS * 1.1 * self.run_s
        return max(left - trials, 0.35 * left, FEWEST_LAUNCHES * STARTUP_S)

    def _starter(self) -> Starter | None:
        """Return how to start stretto-bench as CMD is: same launcher, options, hosts, binding."""
        command = self.job.command
        if command.launcher_at is None or len(command.applications) != 1:
            return None
        head = list(command.words[: command.applications[0].start])

        def start(
            program: list[str], variables: dict[str, str]
        ) -> tuple[list[str], dict[str, str]]:
            job = understand([*head, *program], mpi=self.o.mpi)
            settings = {k: v for k, v in variables.items() if k != "LD_PRELOAD"}
            libraries = [Path(variables["LD_PRELOAD"])] if "LD_PRELOAD" in variables else []
            return prepare(job, libraries, settings)

        return start

    def table(self, profile: Profile, rows: list[Row]) -> Table:
        """Return the table of the rows."""
        identity = collect(self.job.mpi.identity)
        return Table(
            family=self.job.mpi.family,
            mpi_version=self.job.mpi.version,
            nodes=len(profile.nodes),
            ppn=profile.ppn,
            created=identity.created,
            stretto=identity.stretto,
            host=identity.host.name,
            cpu=identity.host.cpu,
            rows=rows,
        )

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


def _wider(span: Span, other: Span | None) -> Span:
    """Return the span that holds both."""
    if other is None:
        return span
    return Span(min(span.low, other.low), max(span.high, other.high))


def _rows_text(path: Path) -> str:
    """Return what of a table decides on algorithms (not who made it, and when)."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = [line.split()[1:6] for line in lines if line.startswith("row ")]
    return "\n".join(" ".join(r) for r in rows) + "\n"


def _launches(cases: Sequence[Case], share: float | None) -> int:
    """Return how many launches a share of the budget allows: ten, or the six that a test needs."""
    if share is None:
        return LAUNCHES
    candidates = sum(len(c.candidates) for c in cases)
    need = LAUNCHES * (STARTUP_S + 0.03 * candidates)
    return LAUNCHES if share >= need else FEWEST_LAUNCHES


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    """Work in another directory for a while (contextlib.chdir is younger than Python 3.10)."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def needs_lines(needs: Needs) -> list[str]:
    """Say what will be measured and why."""
    out = [
        f"stretto: of {needs.wall_s:.2f} s, collectives that may be made faster take "
        f"{percent(needs.bound)}; waiting in them takes {percent(needs.waiting_s / needs.wall_s)}, "
        "which no algorithm changes"
    ]
    for n in needs.chosen:
        share = percent(n.transfer_s / needs.wall_s)
        bound = " at most" if n.bound else ""
        out.append(
            f"stretto:   {n.collective} of {n.span.low} to {n.span.high} B on {n.nranks} ranks: "
            f"{n.calls} calls,{bound} {share} of the time"
        )
    return out
