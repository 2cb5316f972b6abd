"""The last stage of ``stretto tune -- CMD``: CMD runs native and tuned in turn, and is compared."""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.counted import counted, duration
from stretto.errors import CommandFailedError, Interrupted, StrettoError, keeping
from stretto.files.identity import collect
from stretto.files.outcome import Outcome, Verdict
from stretto.files.profile import Profile
from stretto.files.table import Row, Table
from stretto.files.verdict import (
    Compared,
    GainInterval,
    Run,
    VerdictFile,
    as_typed,
    read_verdict,
    write_verdict,
)
from stretto.launch import execute
from stretto.launch.evidence import require_native, require_tuned
from stretto.launch.library import library_for
from stretto.measure.idle import busy_before
from stretto.progress import Progress
from stretto.tune import outputs
from stretto.tune.limit import Limit, beyond
from stretto.tune.needs import Need
from stretto.tune.outputs import Outputs
from stretto.tune.session import PAIRS, Tuning
from stretto.tune.trials import Kind, Trial, find_value, gain, judged, order
from stretto.tune.words import applied_words, conclude, ended, medians_words, start_words

#: the most pairs of runs that a budget buys
MOST_PAIRS = 10
#: a gain of this is more than any start of `stretto run` takes (s); shorter: so many are timed
LONGEST_START_S, STARTS = 2.0, 5
#: outputs that a verdict lists one by one
MOST_LISTED = 100


@dataclass
class TuneResult:
    conclusion: list[str]
    helps: bool
    #: of the measured runs, or of what was measured before them
    outcome: Outcome = "inconclusive"
    missing: str = ""
    table: Path | None = None
    verdict: Path | None = None
    profile: Path | None = None
    bench: list[Path] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    predicted: GainInterval | None = None
    measured: GainInterval | None = None
    #: the largest gain that tuning can cause; None: not known
    limit: float | None = None
    #: that the measured gain is larger, in words
    warning: str = ""
    #: why half of the budget was not used; empty where less was left
    unused: str = ""


@dataclass
class TuneOutlook:
    """What a dry run found: calls that count, and the cost of measuring them.

    `profile`: what it was read from; None: there is none, and nothing more is known.
    """

    conclusion: list[str]
    profile: Path | None = None
    calls: list[Need] = field(default_factory=list)
    measuring: list[str] = field(default_factory=list)
    launches: int = 0
    measuring_s: float = 0.0
    runs: int = 0
    runs_s: float = 0.0


def write_result(
    session: Tuning,
    conclusion: Sequence[str],
    benches: Sequence[Path],
    runs: Sequence[Run] = (),
    table: Table | None = None,
    helps: bool = False,
    predicted: GainInterval | None = None,
    measured: GainInterval | None = None,
    compared: Sequence[Compared] = (),
    found: Verdict | None = None,
    applied: str = "",
    limit: Limit | None = None,
    warning: str = "",
) -> TuneResult:
    """Write the verdict as far as it is known, and return it; without `found` inconclusive."""
    conclusion = [session.named(text) for text in conclusion]
    identity = collect(session.job.mpi.identity)
    outcome: Outcome = "inconclusive" if found is None else found.outcome
    missing = "" if found is None else found.missing
    profiled, made, path = (session.path(x) for x in ("profile.json", "table", "verdict.json"))
    listed = sorted(
        (c for c in compared if c.outcome != "same"),
        key=lambda c: (c.outcome != "differs", c.name),
    )
    write_verdict(
        VerdictFile(
            stretto=identity.stretto,
            created=session.written or identity.created,
            host=identity.host,
            mpi=identity.mpi,
            command=session.o.words,
            metric=session.o.metric,
            runs=list(runs),
            predicted=predicted,
            measured=measured,
            outputs_equal=outputs.equal(compared),
            conclusion=conclusion,
            outcome=outcome,
            missing=missing,
            table=made.name if made.exists() else None,
            profile=profiled.name,
            bench=benches[0].name if benches else None,
            outputs=outputs.words(compared, session.o.rules) if compared else None,
            compared=listed[:MOST_LISTED],
            applied=applied,
            limit=None if limit is None else limit.gain,
            warning=warning,
        ),
        path,
    )
    return TuneResult(
        conclusion, helps, outcome, missing, made if benches else None, path, profiled,
        list(benches), table.rows if table is not None else [], predicted, measured,
        None if limit is None else limit.gain, warning,
    )  # fmt: skip


def verify(
    session: Tuning,
    profile: Profile,
    table: Table,
    predicted: GainInterval | None,
    benches: Sequence[Path],
    limit: Limit | None = None,
) -> TuneResult:
    """Run CMD native and tuned in turn, and conclude."""
    made = session.path("table").resolve()

    def one(kind: Kind, number: int) -> Run | None:
        libraries = [library_for("interposer", session.job.mpi)] if kind == "tuned" else []
        variables = {"STRETTO_TABLE": str(made)} if kind == "tuned" else {}
        draft, kept = Run(kind, number, None, 0.0, 0), outputs_of(session)
        trial = session.attempt(draft, kept, libraries, variables)
        if trial is None:
            return None
        run = finished(session, draft, trial, f"do not use {made}; please report this")
        command = " ".join(session.o.words)
        if kind == "tuned":
            require_tuned(trial.evidence, profile.nranks, command, trial.result.stderr)
        else:
            require_native(trial.evidence, command)
        return run

    def words(
        said: list[str], found: Verdict, measured: GainInterval | None, runs: list[Run]
    ) -> list[str]:
        if measured is not None and found.outcome == "faster" and session.o.metric.pattern is None:
            native = [r.wall_s for r in runs if r.kind == "native" and r.exit == 0]
            gained_s = measured.median * statistics.median(native)
            if gained_s < LONGEST_START_S:
                said = said + start_words(gained_s, start_s(session, made))
        return said + applied_words(runs, profile.nranks)

    # rows for a part of the ranks may be the same elsewhere
    layout = f"layout {profile.node_count} {profile.ppn} {profile.nranks}\n"
    applied = layout + _rows_text(session.path("table"))
    return both_ways(session, applied, one, words, table, predicted, benches, limit)


def start_s(session: Tuning, table: Path) -> float:
    """Return how long ``stretto run`` takes until it becomes the command; 0: it cannot be told."""
    run_true = [sys.executable, "-m", "stretto", "run", "--table", str(table)]
    run_true += ["--mpi", str(session.job.mpi.launcher or session.job.mpi.family), "--", "true"]
    starts = [execute.run(run_true, session.job.environ, capture="yes") for _ in range(STARTS)]
    failed = any(start.status != 0 for start in starts)
    return 0.0 if failed else statistics.median(start.wall_s for start in starts)


def both_ways(
    session: Tuning,
    applied: str,
    one: Callable[[Kind, int], Run | None],
    words: Callable[[list[str], Verdict, GainInterval | None, list[Run]], list[str]],
    table: Table | None = None,
    predicted: GainInterval | None = None,
    benches: Sequence[Path] = (),
    limit: Limit | None = None,
) -> TuneResult:
    """Run CMD native and changed in turn, compare times and outputs, and write the verdict.

    `applied`: what changed runs have: runs of an earlier start count where it was the same.
    `one`: makes a run of a kind with a number; None: the budget has ended.
    `words`: from the conclusion, verdict, gain and runs to the sentences of the verdict.
    """
    runs = _earlier(session, applied)

    def save(text: str) -> None:
        write_result(
            session, [text], benches, runs, predicted=predicted, applied=applied, limit=limit
        )

    found, planned = _take_turns(session, runs, one, save)
    metric, measured = session.o.metric, gain(runs, session.o.metric)
    faster = measured is not None and found.outcome == "faster"
    warning = beyond(limit, runs, metric, measured) if measured is not None and faster else ""
    compared = outputs_of(session).compare(runs) if runs else []
    most = "" if limit is None else limit.words
    said = conclude(metric, predicted, measured, found, most, warning)
    said = words(said + medians_words(metric, runs), found, measured, runs)
    if found.tested and len(runs) < planned:
        said.append(f"{len(runs)} of {planned} runs were made before the budget ended")
    if runs:
        text = outputs.words(compared, session.o.rules)
        said.append(f"{text[0].upper()}{text[1:]}")
    busy = busy_before([r.others for r in runs])
    if busy is not None and busy not in found.words:
        session.say(f"stretto: warning: the machine was busy: {busy}")
    helps = found.outcome != "slower"
    return write_result(
        session, said, benches, runs, table, helps, predicted, measured, compared, found,
        applied, limit, warning,
    )  # fmt: skip


def _take_turns(
    session: Tuning,
    runs: list[Run],
    one: Callable[[Kind, int], Run | None],
    save: Callable[[str], None],
) -> tuple[Verdict, int]:
    """Run CMD native and changed in turn, adding to `runs`.

    Returns the verdict, and how many runs were planned.
    """
    if not runs:
        _clear_outputs(session)
    pairs = session.o.pairs if session.o.pairs is not None else _affordable(session)
    plan = order(pairs, session.o.seed, runs)
    if plan:
        more = (
            f"; --budget allows {pairs} pairs of runs"
            if session.o.pairs is None and pairs > PAIRS
            else ""
        )
        session.say(
            f"stretto: CMD now runs {counted(len(plan), 'time')}, about "
            f"{len(plan) * session.whole_s:.0f} s{more}"
        )
    elif runs:
        session.say(
            f"stretto: all runs were already made ({session.written}); --restart measures again"
        )
    if pairs < PAIRS and plan:
        verb = "is" if pairs == 1 else "are"
        session.say(
            f"stretto: warning: {counted(pairs, 'pair')} of runs {verb} too few for a test (at "
            f"least {PAIRS}); the same command with more --budget, or --pairs, continues"
        )
    kept = f"runs so far are in {session.path('verdict.json')}; the same command continues"
    with keeping(kept), Progress(f"running {session.name}", len(plan), unit="runs") as progress:
        for kind in plan:
            progress.update(progress.done, kind)
            if session.left_s() < session.whole_s:
                break
            try:
                run = one(kind, len(runs))
                if run is None:
                    break
                runs.append(run)
                session.written = None
                session.run_s = statistics.median(r.wall_s for r in runs)
            except Interrupted as stop:
                raise Interrupted(f"{stop.kept}; {kept}") from stop
            save(f"{len(runs)} of {2 * pairs} runs made")
            progress.advance()
    return _lacking(session, judged(runs, session.o.metric), pairs, len(runs)), 2 * pairs


def outputs_of(session: Tuning) -> Outputs:
    return Outputs(session.o.out / "outputs", session.o.rules)


def _clear_outputs(session: Tuning) -> None:
    directory = outputs_of(session).directory
    shutil.rmtree(directory / "texts", ignore_errors=True)
    for pattern in ("*-native.*", "*-tuned.*"):
        for path in directory.glob(pattern):
            path.unlink(missing_ok=True)


def _earlier(session: Tuning, known: str) -> list[Run]:
    """Return the runs of an earlier attempt at the same; `known` is what was applied in them."""
    path = session.path("verdict.json")
    if session.o.restart or not path.exists():
        return []
    old = read_verdict(path)
    same = old.command == session.o.words and old.metric == session.o.metric
    if not same or old.applied != known:
        return []
    session.written = old.created if old.runs else None
    return old.runs


def _affordable(session: Tuning) -> int:
    if session.o.budget_s is None:
        return PAIRS
    return max(0, min(MOST_PAIRS, int(session.left_s() / (2.1 * max(session.whole_s, 0.05)))))


def _lacking(session: Tuning, found: Verdict, pairs: int, made: int) -> Verdict:
    """Add to a verdict without a test how many pairs or how much budget it lacks."""
    wanted = max(pairs, PAIRS)
    if found.tested or made >= 2 * wanted:
        return found
    if session.o.pairs is not None and made >= 2 * pairs:  # all that --pairs asks for
        session.wanted_pairs = PAIRS
        return replace(found, missing=f"{found.missing} (--pairs {PAIRS})")
    if session.o.budget_s is None:
        return found
    session.wants_budget = True
    more = duration((2 * wanted - made) * session.whole_s)
    missing = f"{found.missing}, about {more} more of --budget"
    return replace(found, why=f"the budget ended: {found.why}", missing=missing)


def finished(session: Tuning, draft: Run, trial: Trial, remedy: str) -> Run:
    """Return a run that ended well, with its value; `remedy`: where a tuned run did not."""
    result, command = trial.result, " ".join(session.o.words)
    if result.status != 0 or result.timed_out:
        how = "it took too long" if result.timed_out else ended(result)
        if draft.kind == "native":
            remedy = "run it by hand: it must run twice on identical files"
        raise CommandFailedError(
            f"the {draft.kind} run failed: {how}", command, remedy + session.logs_words()
        )
    value = find_value(session.o.metric, result)
    if value is None:
        raise StrettoError(
            f"the command printed nothing that matches {as_typed(session.o.metric)}",
            outputs_of(session).printed(draft),
            "test the expression on that file with grep -P",
        )
    found = trial.evidence
    calls = found.calls if found.finished else None
    return Run(draft.kind, draft.order, value, result.wall_s, 0, found.loaded, calls, trial.others)


def _rows_text(path: Path) -> str:
    """Return what of a table decides on algorithms (not who made it, and when)."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = [line.split()[1:6] for line in lines if line.startswith("row ")]
    return "\n".join(" ".join(r) for r in rows) + "\n"
