"""``stretto settings -- CMD``: settings of the MPI, judged on CMD itself.

A micro-benchmark's gain may not reach the application, so that every setting is tried on CMD: its
runs are interleaved with native ones, hopeless ones are dropped after a few rounds, those that help
are tried together, and what is significantly fastest has to show its gain once more, in fresh runs
of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.counted import counted, duration
from stretto.errors import StrettoError, keeping
from stretto.files.identity import collect
from stretto.files.outcome import Outcome
from stretto.files.program import take
from stretto.files.settings import (
    NATIVE,
    SettingsFile,
    Tried,
    read_settings,
    write_settings,
)
from stretto.launch.ask import ask as ask_ranks
from stretto.measure.idle import busy_before
from stretto.measure.request import ask
from stretto.measure.show import columns
from stretto.measure.stats import benjamini_hochberg
from stretto.measure.verdict import judge
from stretto.mpi.known import check_settings
from stretto.mpi.settings import Setting, settings
from stretto.mpi.settings.base import Around, without
from stretto.mpi.settings.nodes import ASK, read
from stretto.progress import Progress
from stretto.tune.named import left, named, option_names
from stretto.tune.place import alone_in, keep_input
from stretto.tune.session import PAIRS
from stretto.tune.settings_runs import SettingRuns, Spent
from stretto.tune.settings_together import choose, most_runs
from stretto.tune.unchanged import (
    environment_of,
    program_files,
    refuse_other,
    refuse_other_environment,
)

#: rounds after which a setting that was not faster than native gets no more runs
SCREENING = 3
_ANEW = "start again with --restart, or give another directory with --out"
_SPENT = (
    "the budget was spent before all runs were made (increase --budget; the same command continues)"
)


@dataclass(frozen=True)
class PlannedSettings:
    """What a dry run would do: the settings, and at most so many runs."""

    settings: list[str]
    runs: int


def tune_settings(runs: SettingRuns) -> SettingsFile | PlannedSettings:
    """Go through all steps, of which a dry run has none."""
    runs.check()
    candidates = candidates_of(runs)
    if not candidates:
        nodes, ppn = runs.job.layout.nodes, runs.job.layout.ppn
        raise StrettoError(
            f"nothing to try: {runs.job.mpi.name} has no setting with an effect on "
            f"{_layout_words(nodes, ppn)}, or CMD and the environment set all of them (see the "
            "notes)",
            " ".join(runs.o.words),
            "give some: --candidates 'NAME=VALUE;NAME=VALUE'",
        )
    rounds = runs.o.pairs or PAIRS
    for s in candidates:
        runs.say(f"stretto:   {s.name}: {s.what}")
    more = most_runs(len(candidates), rounds)
    most = rounds * (len(candidates) + 1) + more
    runs.say(
        f"stretto: {runs.job.mpi.name}: {counted(len(candidates), 'setting')}, tried on "
        f"CMD, {runs.o.place.words()}: at most {counted(most - more, 'run')}, plus "
        f"{counted(more, 'confirmation run')}"
    )
    if runs.o.dry_run:
        runs.say("stretto: dry run: nothing was run")
        return PlannedSettings([s.name for s in candidates], most)
    keep_input()
    with alone_in(runs.o.out):
        runs.file = _begin(runs, candidates)
        before = len(runs.file.runs)
        found = _search(runs, candidates, rounds, most)
    if before and before == len(found.runs):
        runs.say(f"stretto: all runs were already made ({found.created}); --restart measures again")
    return found


def _search(
    runs: SettingRuns, candidates: Sequence[Setting], rounds: int, most: int
) -> SettingsFile:
    so_far = f"runs so far are in {runs.path('settings.json')}; the same command continues"
    members = {NATIVE: None, **{s.name: dict(s.environment) for s in candidates}}
    with (
        keeping(so_far),
        Progress(f"trying settings on {runs.name}", most, unit="runs") as progress,
    ):
        try:
            for number in (1, rounds):
                runs.turns(members, number, progress, out=lambda n, k: _out(runs, n, k))
                if number == 1:
                    _cost(runs, candidates, rounds)
            faster = judge_all(runs, candidates)
            if not faster:
                return _end(runs, *nothing_faster(runs))
            said = choose(runs, faster, rounds, progress)
            return _end(runs, said, "faster" if runs.file.setting else "inconclusive")
        except Spent:
            judge_all(runs, candidates)
            if runs.file.setting:  # confirmed before the budget ended
                return _end(runs, [*runs.file.conclusion, _SPENT.capitalize()], "faster")
            return _end(runs, [f"inconclusive: {_SPENT}; no setting is applied"])


def candidates_of(runs: SettingRuns) -> list[Setting]:
    """Return what is tried: what the user named, or what the MPI has and the command leaves."""
    command, environ = runs.job.command, runs.job.environ
    if runs.o.candidates:
        given = named(runs.o.candidates, runs.job.mpi.family, command, environ)
        for asked in given:
            for doubt in check_settings(runs.job.mpi, dict(asked.environment), asked.name):
                runs.say(f"stretto: warning: {doubt}")
        return given
    nodes, ppn = runs.job.layout.nodes, runs.job.layout.ppn
    around = _around(runs)
    if nodes is None or ppn is None:  # a script: whatever may matter somewhere
        one, lacking = settings(runs.job.mpi, 1, 2, around)
        several, more = settings(runs.job.mpi, 2, 2, around)
        found, lacking = list(dict.fromkeys([*one, *several])), lacking + more
    else:
        found, lacking = settings(runs.job.mpi, nodes, ppn, around)
    if lacking:
        names = ", ".join(dict.fromkeys(lacking))
        runs.say(f"stretto: note: {runs.job.mpi.name} does not have {names}")
    found, notes = without(found, option_names(command))
    found, more_notes = left(found, command, environ)
    for note in (*notes, *more_notes):
        runs.say(f"stretto: note: {note}")
    return found


def _around(runs: SettingRuns) -> Around:
    """Return what else decides which settings can matter: CMD's nodes are asked.

    Not in a dry run, which starts nothing (srun may wait for nodes), and not in a script.
    """
    environ = {**runs.job.environ, **runs.job.command.assignments}
    srun = runs.job.command.kind == "slurm"
    if runs.o.dry_run:
        if runs.job.layout.nodes != 1:
            runs.say(
                "stretto: note: a dry run does not query the nodes for shared interfaces: the "
                "real run may try more settings"
            )
        return Around(None, environ, srun)
    try:
        answer = ask_ranks(runs.job, ASK)
    except StrettoError as error:
        runs.say(f"stretto: note: the interfaces of the nodes are unknown: {error}")
        answer = None
    found = None if answer is None else read(answer.stdout)
    if found is not None and found.hosts > 1:
        names = ", ".join([*found.interfaces, *found.ports]) or "none"
        runs.say(f"stretto: {found.hosts} nodes share the interfaces: {names}")
    return Around(found, environ, srun)


def _begin(runs: SettingRuns, candidates: Sequence[Setting]) -> SettingsFile:
    """Return the file as it stands: with the runs of an earlier attempt at the same."""
    identity = collect(runs.job.mpi.identity)
    tried = [Tried(s.name, s.what, dict(s.environment)) for s in candidates]
    new = SettingsFile(
        identity.stretto, identity.created, identity.host, identity.mpi, runs.o.words,
        runs.o.metric, runs.job.layout.nodes, runs.job.layout.ppn, tried,
        programs=[take(p) for p in program_files(runs.job)],
        environment=environment_of(runs.job),
    )  # fmt: skip
    runs.programs, runs.since = new.programs, new.created
    path = runs.path("settings.json")
    if runs.o.restart or not path.exists():
        return new
    old = read_settings(path)
    refuse_other(
        (
            ("command", old.command, new.command),
            ("metric", old.metric, new.metric),
            ("MPI", (old.mpi.family, old.mpi.version), (new.mpi.family, new.mpi.version)),
            ("CPU", old.host.cpu, new.host.cpu),
            ("layout", _layout_words(old.nodes, old.ppn), _layout_words(new.nodes, new.ppn)),
        ),
        path,
        _ANEW,
    )
    refuse_other_environment(old.environment, new.environment, path, _ANEW)
    runs.going_on(old.programs, old.created)
    before = {t.name: t.environment for t in old.tried if not t.parts}
    if before == {t.name: t.environment for t in tried}:
        together = [t for t in old.tried if t.parts]
        new.tried += [Tried(t.name, t.what, t.environment, parts=t.parts) for t in together]
        new.runs = old.runs
    else:  # what was confirmed is confirmed anew
        same = {NATIVE, *(t.name for t in tried if before.get(t.name) == t.environment)}
        new.runs = [r for r in old.runs if r.setting in same and r.beside is None]
    if new.runs:
        new.created, new.programs = old.created, old.programs
    runs.programs, runs.since, runs.file = new.programs, new.created, new
    runs.estimate()
    return new


def _out(runs: SettingRuns, name: str, number: int) -> bool:
    """Whether a setting gets no more runs: it failed, or was not faster in the first rounds."""
    if name == NATIVE:
        return False
    if runs.failed(name) is not None:
        return True
    if number < SCREENING:
        return False
    found = runs.compared(name, rounds=SCREENING)
    return found is None or found[0].median >= 1


def _cost(runs: SettingRuns, candidates: Sequence[Setting], rounds: int) -> None:
    alive = sum(not _out(runs, s.name, 0) for s in candidates)
    first = (min(SCREENING, rounds) - 1) * (1 + alive) * runs.whole_s
    most = ((rounds - 1) * (1 + alive) + most_runs(alive, rounds)) * runs.whole_s
    runs.say(
        f"stretto: cost: a run takes about {duration(runs.run_s)}; the rest takes "
        f"{duration(first)} to {duration(most)}, depending on how many settings look faster"
    )
    ask(most, runs.o.yes or runs.o.budget_s is not None)


def judge_all(runs: SettingRuns, candidates: Sequence[Setting]) -> list[Tried]:
    """Judge every setting; return those that are faster than native, the fastest first.

    All tests are one family; dropped settings count in it as no effect.
    """
    found = {s.name: runs.compared(s.name) for s in candidates}
    dropped = {n for n in found if _out(runs, n, SCREENING)}
    raw = [1.0 if n in dropped else f[1] if f else None for n, f in found.items()]
    adjusted = dict(zip(found, benjamini_hochberg(raw), strict=True))
    busy = busy_before([r.others for r in runs.file.runs])
    faster: list[tuple[float, Tried]] = []
    for tried in (t for t in runs.file.tried if not t.parts):
        reason, one = runs.failed(tried.name), found[tried.name]
        if reason is not None or one is None:
            tried.outcome = "inconclusive" if reason is None else "failed"
            ran = any(r.setting == tried.name for r in runs.file.runs)
            tried.why = reason or ("no native run beside it" if ran else "no run of it was made")
            continue
        ratio, p, tried.gain = one
        if tried.name in dropped:
            tried.outcome = "dropped"
            tried.why = f"was not faster in {counted(ratio.n, 'round')}"
            continue
        verdict = judge(ratio, adjusted[tried.name], ratio.n, "run", p=p, busy=busy)
        tried.outcome, tried.why = verdict.outcome, verdict.words
        if tried.outcome == "faster":
            faster.append((ratio.median, tried))
    return [t for _, t in sorted(faster, key=lambda x: (x[0], x[1].name))]


def nothing_faster(runs: SettingRuns) -> tuple[list[str], Outcome]:
    """Return what to say where nothing is set: nothing is faster, or it cannot be told."""
    tried = runs.file.tried
    open_ones = [t for t in tried if t.outcome == "inconclusive"]
    dropped = [t for t in tried if t.outcome == "dropped"]
    tested = any(t.gain is not None and t.gain.p is not None for t in tried)
    busy = busy_before([r.others for r in runs.file.runs])
    detail = []
    if open_ones:
        first = max(open_ones, key=lambda t: t.gain.median if t.gain else -1.0)
        why = f"{len(open_ones)} do not differ significantly from native"
        detail = [f"{first.name}: {first.why}"]
    elif dropped and (busy is not None or not tested):
        why = (
            f"{len(dropped)} was not faster in {counted(SCREENING, 'round')} (screening, not "
            "tested)"
        )
        why += f" (the machine was busy: {busy})" if busy else ""
    else:
        return ["no setting was faster on CMD with significance, so no setting is applied"], "same"
    of = counted(len(tried), "setting")
    return [f"inconclusive: of {of} {why}; no setting is applied", *detail], "inconclusive"


def _end(
    runs: SettingRuns, conclusion: Sequence[str], outcome: Outcome = "inconclusive"
) -> SettingsFile:
    runs.file.conclusion = [runs.named(text) for text in conclusion]
    runs.file.outcome = outcome
    write_settings(runs.file, runs.path("settings.json"))
    return runs.file


def _layout_words(nodes: int | None, ppn: int | None) -> str:
    if nodes is None and ppn is None:
        return "an unknown layout"
    return " x ".join("?" if n is None else str(n) for n in (nodes, ppn)) + " (nodes x ranks)"


def lines(found: SettingsFile) -> list[str]:
    """Return what became of each setting, for people; the fastest first."""
    rows = []
    for t in sorted(found.tried, key=lambda t: -(t.gain.median if t.gain else -9.0)):
        gain = "" if t.gain is None else f"{100 * t.gain.median:+.1f} %"
        if t.gain is not None and t.gain.p is None:
            gain = "not tested"
        rows.append((t.name, gain, t.outcome, t.why))
    return [f"  {line}" for line in columns(rows, 4)] if rows else []
