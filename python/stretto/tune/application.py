"""``stretto tune -- CMD``: from one profiled run to a table, and to a verdict on CMD itself.

Every step leaves a file in the output directory; the same command continues from what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.files.identity import collect
from stretto.files.outcome import Verdict
from stretto.files.table import TUNABLE, table_of, write_table
from stretto.files.usage import busy_words, usage_of
from stretto.files.verdict import GainInterval
from stretto.launch.library import library_for
from stretto.measure.candidates import refuse_unknown
from stretto.measure.compare import NATIVE, Comparison, named_open, open_points, open_words
from stretto.tune.limit import limit_of
from stretto.tune.measured import DRY, lacking, measure_needs, outlook, say_plan, state_cost
from stretto.tune.needs import find_needs
from stretto.tune.place import alone_in, keep_input
from stretto.tune.predict import predict
from stretto.tune.profiled import has_profile, profile_of, recorded_here
from stretto.tune.session import Tuning
from stretto.tune.verify import TuneOutlook, TuneResult, verify, write_result
from stretto.tune.words import LEAST_GAIN, gain_words, needs_lines, no_help, rest_words


def tune(session: Tuning) -> TuneResult:
    _prepare(session)
    with alone_in(session.o.out):
        found = _steps(session)
    found.unused = rest_words(session.o.budget_s, session.left_s(), session.end)
    if found.unused:
        session.say(f"stretto: {found.unused}")
    return found


def foresee(session: Tuning) -> TuneOutlook:
    """Say what a recorded run shows of the cost, or that nothing can help; write nothing."""
    _prepare(session)
    own = has_profile(session)
    found = (session.path("profile.json"), profile_of(session)) if own else recorded_here(session)
    if found is None:
        session.say(
            "stretto: calls and times are unknown, because there is no profile: "
            "stretto profile -- CMD"
        )
        return TuneOutlook([DRY])
    path, profile = found
    needs = find_needs(profile, session.o.only)
    if (reason := no_help(needs)) is not None:
        session.say(f"stretto: {'. '.join(reason)}")
        return TuneOutlook([DRY], path)
    for line in needs_lines(needs):
        session.say(line)
    return outlook(session, needs, path)


def _steps(session: Tuning) -> TuneResult:
    profile = profile_of(session)
    needs = find_needs(profile, session.o.only)
    reason = no_help(needs)
    busy = busy_words(usage_of(profile))
    if busy is not None:
        session.say(f"stretto: warning: in the profiled run {busy}")
    if reason is not None:
        session.end = "nothing"
        found = Verdict("same", reason[0])
        if busy is not None and needs.tunable_s + needs.waiting_s > 0:
            found = Verdict("inconclusive", busy, "missing: a profile on an idle machine")
            reason = [f"inconclusive: {busy}", f"By this profile, {reason[0]}", *reason[1:]]
        return _nothing(session, reason, found)
    for line in needs_lines(needs):
        session.say(line)
    state_cost(session, needs)
    rows, comparisons, benches = measure_needs(session, needs)
    table = table_of(collect(session.job.mpi.identity), profile.node_count, profile.ppn, rows)
    write_table(table, session.path("table"))
    if all(row.choice == NATIVE for row in rows):
        text, words = "CMD keeps native algorithms everywhere", open_words(comparisons)
        session.end = "decided" if words is None else "cut" if session.cut else "open"
        if words is None:
            text += "; no measured algorithm was significantly faster than native"
            return _nothing(session, [text], Verdict("same", text), benches)
        budget = (lacking(session, needs) or "more of --budget") if session.cut else ""
        missing, launches = missing_words(open_points(comparisons)[0], budget)
        session.wanted_launches, session.wants_budget = launches, bool(budget)
        found = Verdict("inconclusive", words, missing)
        return _nothing(session, [words, text], found, benches)
    # The user's own metric mostly leaves the start of the job out, wall time does not.
    wall = session.run_s if session.o.metric.pattern is None else None
    predicted = predict(needs, table, comparisons, session.o.seed, wall)
    limit = limit_of(needs, session.o.metric, session.run_s)
    if predicted is not None:
        session.say(f"stretto: predicted gain in wall time: {gain_words(predicted)}")
    if session.o.pairs is None and predicted is not None and predicted.high < LEAST_GAIN:
        session.end = "little"
        text, few = little(predicted, busy)
        return write_result(
            session, [text], benches, table=table, helps=True, predicted=predicted, found=few
        )
    return verify(session, profile, table, predicted, benches, limit)


def missing_words(points: Sequence[Comparison], budget: str) -> tuple[str, int | None]:
    """Return what open points lack, and how many launches, where only more of them would help.

    `budget`: how much of it is missing, if it ended the measurements.
    """
    named = named_open(points) if points else None
    missing = "" if named is None else named.verdict.missing
    if budget:
        return (f"{missing}, or {budget}" if missing else f"missing: {budget}"), None
    if named is None or not named.verdict.more:
        return missing, None
    # all launches were made: the same command without this would make no more
    launches = named.baseline_launches + named.verdict.more
    return f"{missing} (--launches {launches})", launches


def little(predicted: GainInterval, busy: str | None) -> tuple[str, Verdict | None]:
    """Return that too little can be gained to prove it; on a busy machine that is not known.

    The wall time of a busy machine is longer, so that the same time saved is less of it.
    """
    rest = "the table was written, but CMD was not run with it (--pairs 6 does that)"
    share = f"predicted {gain_words(predicted)} of the wall time"
    if busy is not None:
        text = f"inconclusive: {share} of the profiled run, in which {busy}; {rest}"
        return text, Verdict("inconclusive", busy, "missing: a profile on an idle machine")
    return (
        f"little can be gained on CMD: {share}, too little to prove with any number of runs; "
        f"{rest}",
        None,
    )


def _prepare(session: Tuning) -> None:
    """Refuse what cannot work, and say what will be done, before anything runs."""
    session.check()
    for kind in ("interposer", "bench", "record"):
        library_for(kind, session.job.mpi)  # say at once when one is missing
    refuse_unknown(session.o.only or TUNABLE, session.o.candidates or [])
    keep_input()
    say_plan(session)


def _nothing(
    session: Tuning, reason: Sequence[str], found: Verdict, benches: Sequence[Path] = ()
) -> TuneResult:
    """Write the verdict that nothing is to be gained, and why; no run of CMD is spent on it."""
    if not benches:
        # A table of an earlier attempt must not outlive this verdict.
        session.path("table").unlink(missing_ok=True)
    return write_result(session, reason, benches, found=found)
