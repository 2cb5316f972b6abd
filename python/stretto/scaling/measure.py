"""Runs of the command at every point, native and tuned, interleaved, until all rounds are made."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.counted import counted, duration
from stretto.errors import (
    CommandFailedError,
    Interrupted,
    UsageError,
    keeping,
)
from stretto.files.scale import Kind, ScaleFile, ScaleHeader, ScaleRun, ScaleWriter
from stretto.files.verdict import Metric
from stretto.launch.evidence import require_native, require_tuned
from stretto.launch.resize import RunPoint
from stretto.measure.request import ask
from stretto.progress import Progress
from stretto.scaling.analyse import point_of
from stretto.scaling.energy import PRINTED, Meter, Package
from stretto.scaling.words import no_figure, refuse_other
from stretto.tune.outside import for_copies, variables_for
from stretto.tune.place import Place, fresh
from stretto.tune.trials import Trial, find_value, in_turn, longest_s, once
from stretto.tune.words import ended

TIMED_OUT = 124
#: a point that has failed so often is not tried again
MOST_FAILURES = 2


@dataclass(frozen=True)
class Tuned:
    """What a tuned run of a point gets, as `stretto run` would apply it.

    `libraries`, `variables`: to preload, and Stretto's settings; none where only settings of the
    MPI are applied.
    `table`: its name with a digest of its contents, and the settings: runs with others do not
    count.
    `settings`: of the MPI, from `stretto settings`.
    """

    libraries: tuple[Path, ...]
    variables: Mapping[str, str]
    table: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Wanted:
    """What the user asked for.

    `lines`: by point, the command that runs there.
    `tuned`: by point; points to which nothing is applied are measured native only.
    `unshown`: points whose command does not tell its number of ranks: runs have to.
    `native_only`: no tuned runs are wanted, nor those of earlier calls.
    `packages`: processors whose energy is read. `energy`: finds energy in the output. Neither:
    energy is not measured.
    """

    lines: Mapping[RunPoint, Sequence[str]]
    rounds: int
    metric: Metric
    place: Place
    path: Path
    tuned: Mapping[RunPoint, Tuned]
    mpi: str | None = None
    budget_s: float | None = None
    timeout_s: float | None = None
    seed: int = 1
    yes: bool = False
    unshown: Collection[RunPoint] = ()
    native_only: bool = False
    packages: Sequence[Package] = ()
    energy: Metric | None = None

    @property
    def points(self) -> list[RunPoint]:
        return list(self.lines)


@dataclass(frozen=True)
class Step:
    """One run that is still to be made."""

    round: int
    point: RunPoint
    kind: Kind


def steps(
    points: Sequence[RunPoint],
    tuned: Mapping[RunPoint, Tuned],
    rounds: int,
    seed: int,
    done: Sequence[ScaleRun] = (),
) -> list[Step]:
    """Return the runs that are missing: round by round, each in an order of its own.

    `seed`: of the orders.
    """
    made = {
        (r.round, point_of(r), r.kind)
        for r in of_table(done, tuned, points) if r.status == 0
    }  # fmt: skip
    wanted: list[tuple[RunPoint, Kind]] = [(p, "native") for p in points]
    wanted += [(p, "tuned") for p in points if p in tuned]
    runs = in_turn(wanted, rounds, seed)
    return [Step(number, *what) for number, what in runs if (number, *what) not in made]


def of_table(
    runs: Sequence[ScaleRun], tuned: Mapping[RunPoint, Tuned], points: Collection[RunPoint] | None
) -> list[ScaleRun]:
    """Leave out tuned runs that were not made with what is applied at their point now.

    `points`: those asked for now; what is applied at others is not known, and their runs stay.
    None: no tuned runs are wanted anywhere.
    """

    def other(run: ScaleRun) -> bool:
        point = point_of(run)
        if run.kind == "native" or run.status != 0 or (points is not None and point not in points):
            return False
        now = tuned.get(point)
        return now is None or now.table != run.detail

    return [r for r in runs if not other(r)]


class Measuring:
    """One call of ``stretto scale``."""

    def __init__(self, wanted: Wanted, say: Callable[[str], None]) -> None:
        self.w = wanted
        self.say = say
        self.begin = time.monotonic()
        self.runs: list[ScaleRun] = []
        self.before = 0  # of them, from earlier calls

    def run(self, header: ScaleHeader) -> ScaleFile:
        threads = all(p.threads is not None for p in self.w.points)
        refuse_other(self.w.path, header, ("OMP_NUM_THREADS",) if threads else ())
        with ScaleWriter(self.w.path, header) as writer:
            points = None if self.w.native_only else self.w.points
            self.runs = of_table(writer.previous.runs, self.w.tuned, points)
            self.before = len(self.runs)
            others = len(writer.previous.runs) - len(self.runs)
            if others:
                self.say(
                    f"stretto: note: {counted(others, 'tuned run')} left out: made with another "
                    "table or other settings"
                )
            self._say_tables()
            plan = steps(self.w.points, self.w.tuned, self.w.rounds, self.w.seed, self.runs)
            kept = f"runs so far are in {self.w.path}; the same command continues"
            with keeping(kept), Progress("scaling", len(plan), unit="runs") as progress:
                plan = self._first(plan, writer)
                progress.update(progress.done + 1)
                self._cost(plan)
                self._rest(plan, writer, progress)
        return ScaleFile(writer.previous.header, self.runs)

    def _say_tables(self) -> None:
        others: dict[str, dict[str, None]] = {}
        for r in self.runs:
            point = point_of(r)
            if r.kind == "tuned" and r.status == 0 and point not in self.w.lines:
                others.setdefault(r.detail, {})[point.words] = None
        for table, points in others.items():
            self.say(
                f"stretto: note: tuned runs on {', '.join(points)} are of an earlier call, with "
                f"{table}"
            )

    def _first(self, plan: list[Step], writer: ScaleWriter) -> list[Step]:
        """Make one native run at the largest point when nothing is known yet: it shows the cost."""
        if not plan or any(r.status == 0 for r in self.runs):
            return plan
        largest = max(self.w.points, key=lambda p: (p.cores, p))
        step = next(s for s in plan if s.point == largest and s.kind == "native")
        limit = self._limit_s(largest)
        free = " (it has no limit: --timeout sets one)" if limit is None else ""
        self.say(f"stretto: first one run on {largest.words}, to see how long it takes{free}")
        self._keep(step, writer)
        return [s for s in plan if s != step]

    def expected_s(self, point: RunPoint) -> float:
        """Return about how long a run takes, from the runs so far: at worst it scales perfectly."""
        good = [r for r in self.runs if r.status == 0]
        mine = [r.wall_s for r in good if point_of(r) == point]
        if mine:
            return max(mine)
        others = [r.wall_s * max(1.0, point_of(r).cores / point.cores) for r in good]
        return min(others, default=0.0)

    def _cost(self, plan: Sequence[Step]) -> None:
        seconds = sum(self.expected_s(s.point) for s in plan)
        if not plan:
            self.say(f"stretto: all runs are in {self.w.path} already")
            return
        limit = self.w.budget_s
        known = any(r.status == 0 for r in self.runs)
        how_long = (
            f"about {duration(seconds)} if it scales perfectly"
            if known
            else ("but no run has succeeded yet, so the time per run is unknown")
        )
        self.say(
            f"stretto: cost: {counted(len(plan), 'run')}, {how_long}"
            + (f"; the budget ends it after {duration(limit)}" if limit is not None else "")
        )
        ask(seconds, self.w.yes or limit is not None)

    def _rest(self, plan: Sequence[Step], writer: ScaleWriter, progress: Progress) -> None:
        left = 0
        for step in plan:
            progress.update(progress.done, f"{step.point.words} {step.kind}")
            if self._failed_often(step):
                continue
            if self._spent(step):
                left += 1
                continue
            try:
                self._keep(step, writer)
            except Interrupted as stop:
                raise Interrupted(f"{stop.kept}; runs so far are in {self.w.path}") from stop
            progress.advance()
        if left:
            self.say(
                f"stretto: warning: the budget is spent, {counted(left, 'run')} "
                f"{'was' if left == 1 else 'were'} not made; the same command with more --budget "
                "continues"
            )

    def _spent(self, step: Step) -> bool:
        left = self._left_s()
        return left is not None and self.expected_s(step.point) >= left

    def _left_s(self) -> float | None:
        if self.w.budget_s is None:
            return None
        return max(0.0, self.w.budget_s - (time.monotonic() - self.begin))

    def _limit_s(self, point: RunPoint) -> float | None:
        """Return how long a run may take; None: not known yet, and not given."""
        limits = (self.w.timeout_s or longest_s(self.expected_s(point)), self._left_s())
        return min((s for s in limits if s is not None), default=None)

    def _failed_often(self, step: Step) -> bool:
        """Whether a point is given up; what failed in an earlier call may have been mended."""
        failures = Counter((point_of(r), r.kind) for r in self.runs[self.before :] if r.status != 0)
        return failures[step.point, step.kind] >= MOST_FAILURES

    def _keep(self, step: Step, writer: ScaleWriter) -> None:
        run = self._one(step)
        self.runs.append(run)
        writer.write(run)
        if run.status != 0:
            self.say(f"stretto: warning: {step.point.words}, {step.kind}: {run.detail}")

    def _one(self, step: Step) -> ScaleRun:
        point, tuned = step.point, self.w.tuned.get(step.point) if step.kind == "tuned" else None
        variables = dict(tuned.variables) if tuned else {}
        if point.threads is not None:
            variables["OMP_NUM_THREADS"] = str(point.threads)
        evidence = (self.w.place.own / "evidence").resolve()
        draft = ScaleRun(point.nodes, point.ppn, point.threads, step.kind, step.round, None, 0.0, 1)
        try:
            with fresh(self.w.place) as cwd:
                limit = self._limit_s(point)
                words = for_copies(self.w.lines[point], self.w.place, cwd)
                meter = Meter(self.w.packages)
                trial = once(
                    words, cwd, tuned.libraries if tuned else [], variables, evidence, limit,
                    self.w.mpi, tuned.settings if tuned else None,
                    watch=self._to_be_watched(step),
                    enough=None if self._variables(step) else point.nranks,
                    environ=variables_for(os.environ, self.w.place, cwd), around=meter,
                )  # fmt: skip
                draft.energy_j = meter.joules
        except UsageError:
            raise
        except CommandFailedError as error:
            return replace(draft, detail=error.message)
        if trial.result.timed_out and limit is not None:
            said = "(--timeout)" if limit == self.w.timeout_s else "(--timeout, --budget)"
            draft.detail = f"it took too long and was aborted after {duration(limit)} {said}"
        return self._judged(draft, trial, step, " ".join(self.w.lines[point]))

    def _variables(self, step: Step) -> dict[str, str]:
        tuned = self.w.tuned.get(step.point) if step.kind == "tuned" else None
        out = dict(tuned.settings) if tuned else {}
        if step.point.threads is not None:
            out["OMP_NUM_THREADS"] = str(step.point.threads)
        return out

    def _to_be_watched(self, step: Step) -> bool:
        good = [r for r in self.runs if _is_of(r, step) and r.status == 0]
        if step.point.threads is not None and not any(r.threads_seen for r in good):
            return True
        if any(r.ranks is not None for r in good):
            return False
        return step.point in self.w.unshown or bool(self._variables(step))

    def _judged(self, draft: ScaleRun, trial: Trial, step: Step, command: str) -> ScaleRun:
        point, tuned = step.point, self.w.tuned.get(step.point) if step.kind == "tuned" else None
        result, found = trial.result, trial.evidence
        draft = replace(draft, wall_s=result.wall_s, others=trial.others)
        if result.timed_out:
            return replace(draft, status=TIMED_OUT)
        if result.status != 0:
            return replace(draft, status=result.status, detail=ended(result)[:500])
        missed = trial.seen.missed(self._variables(step)) if trial.seen else None
        if missed is not None:
            why = "the command or its script sets or removes it"
            return replace(draft, detail=f"{missed}: {why}")
        if tuned is None or not tuned.libraries:
            require_native(found, command)
        else:
            try:
                require_tuned(found, point.nranks, command, result.stderr)
            except CommandFailedError as error:
                return replace(draft, detail=error.message)
        if trial.sizes and point.nranks not in trial.sizes:
            sizes = " and ".join(map(str, sorted(trial.sizes)))
            return replace(
                draft, detail=f"it ran on {sizes} rank{'' if sizes == '1' else 's'}, not on "
                f"{point.nranks}: the command or its script ignores the number of ranks",
            )  # fmt: skip
        value = find_value(self.w.metric, result)
        if value is None or value <= 0:
            return replace(draft, detail=no_figure(self.w.metric, result, value)[:500])
        if self.w.energy is not None:
            joules = draft.energy_j = find_value(self.w.energy, result)
            if joules is None or joules <= 0:
                why = no_figure(self.w.energy, result, joules, PRINTED)[:500]
                return replace(draft, energy_j=None, detail=why)
        with_calls = tuned is not None and tuned.libraries and found.finished
        verified = point not in self.w.unshown or trial.sizes
        seen = point.threads is not None and trial.seen is not None and bool(trial.seen.ranks)
        return replace(
            draft, value=value, status=0, ranks=point.nranks if verified else None,
            calls=found.calls if with_calls else None, detail=tuned.table if tuned else "",
            threads_seen=seen,
        )  # fmt: skip


def _is_of(run: ScaleRun, step: Step) -> bool:
    return (point_of(run), run.kind) == (step.point, step.kind)
