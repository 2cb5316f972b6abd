"""``stretto tune -- CMD``: from one profiled run to a table, and to a verdict on CMD itself.

Every step leaves a file in the output directory; the same command continues from what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.files.identity import collect
from stretto.files.outcome import Verdict
from stretto.files.profile import Profile
from stretto.files.table import TUNABLE, table_of, write_table
from stretto.files.usage import busy_words, usage_of
from stretto.launch.library import library_for
from stretto.measure.candidates import refuse_unknown
from stretto.measure.compare import NATIVE, open_points, open_words
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
        return TuneOutlook(DRY)
    path, profile = found
    needs = find_needs(profile, session.o.only)
    if (reason := no_help(needs)) is not None:
        session.say(f"stretto: {reason}")
        return TuneOutlook(DRY, path)
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
        found = Verdict("same", reason)
        if busy is not None and needs.tunable_s + needs.waiting_s > 0:
            found = Verdict("inconclusive", busy, "missing: a profile on an idle machine")
            reason = f"inconclusive: {busy}. {reason}"
        return _nothing(session, profile, reason, found)
    for line in needs_lines(needs):
        session.say(line)
    state_cost(session, needs)
    rows, comparisons, benches = measure_needs(session, needs)
    table = table_of(collect(session.job.mpi.identity), profile.node_count, profile.ppn, rows)
    write_table(table, session.path("table"))
    if all(row.choice == NATIVE for row in rows):
        text, words = "CMD keeps native algorithms everywhere", open_words(comparisons)
        session.end = "decided" if words is None else "open"
        if words is None:
            text += "; no measured algorithm was significantly faster than native"
            return _nothing(session, profile, text, Verdict("same", text), benches)
        missing = next((c.verdict.missing for c in open_points(comparisons)[0]), "")
        if session.cut:
            more = lacking(session, needs) or "more of --budget"
            missing += f"{', or ' if missing else 'missing: '}{more}"
        found = Verdict("inconclusive", words, missing)
        return _nothing(session, profile, f"{words}. {text}", found, benches)
    # The user's own metric mostly leaves the start of the job out, wall time does not.
    wall = session.run_s if session.o.metric.pattern is None else None
    predicted = predict(needs, table, comparisons, session.o.seed, wall)
    limit = limit_of(needs, session.o.metric, session.run_s)
    if predicted is not None:
        session.say(f"stretto: predicted gain in wall time: {gain_words(predicted)}")
    if session.o.pairs is None and predicted is not None and predicted.high < LEAST_GAIN:
        session.end = "little"
        text = (
            f"little can be gained on CMD: predicted {gain_words(predicted)} of the wall time, "
            "too little to prove with any number of runs; the table was written, but CMD was not "
            "run with it (--pairs 6 does that)"
        )
        return write_result(
            session, profile, text, benches, table=table, helps=True, predicted=predicted
        )
    return verify(session, profile, table, predicted, benches, limit)


def _prepare(session: Tuning) -> None:
    """Refuse what cannot work, and say what will be done, before anything runs."""
    session.check()
    for kind in ("interposer", "bench", "record"):
        library_for(kind, session.job.mpi)  # say at once when one is missing
    refuse_unknown(session.o.only or TUNABLE, session.o.candidates or [])
    keep_input()
    say_plan(session)


def _nothing(
    session: Tuning, profile: Profile, reason: str, found: Verdict, benches: Sequence[Path] = ()
) -> TuneResult:
    """Write the verdict that nothing is to be gained, and why; no run of CMD is spent on it."""
    if not benches:
        # A table of an earlier attempt must not outlive this verdict.
        session.path("table").unlink(missing_ok=True)
    return write_result(session, profile, reason, benches, found=found)
