"""What looked fastest has to show its gain again, in fresh runs of native and itself in turn.

A combination that does not (its gain was luck, or CMD's outputs are others with it) leaves its
place to the best that was known without its last part.
"""

from __future__ import annotations

from collections.abc import Iterator

from stretto.files.settings import NATIVE, Tried
from stretto.files.verdict import Run
from stretto.measure.compare import compare_times
from stretto.measure.idle import busy_before
from stretto.measure.verdict import judge
from stretto.progress import Progress
from stretto.tune import outputs
from stretto.tune.combine import Spent, as_setting
from stretto.tune.settings_runs import SettingRuns
from stretto.tune.trials import gain_of, order, times_of
from stretto.tune.verify import MOST_LISTED
from stretto.tune.words import gain_words


def choose(runs: SettingRuns, best: Tried, rounds: int, progress: Progress) -> str:
    """Choose the best that fresh runs confirm, and return what became of it, in words."""
    said = []
    for tried in (best, *_without_last(runs, best)):
        said.append(_confirm(runs, tried, rounds, progress))
        if runs.file.setting is not None:
            return "; ".join(said)
    return "; ".join([*said, "nothing is set"])


def _without_last(runs: SettingRuns, best: Tried) -> Iterator[Tried]:
    parts = best.parts
    while len(parts) > 1:
        parts = parts[:-1]
        yield next(t for t in runs.file.tried if t.parts == parts or [t.name] == parts)


def _confirm(runs: SettingRuns, tried: Tried, rounds: int, progress: Progress) -> str:
    looked = f"{tried.name} looked faster ({tried.why})"
    setting = as_setting(tried)
    gained = "" if tried.gain is None else f" ({gain_words(tried.gain)})"
    runs.say(f"stretto: {tried.name}{gained} is confirmed by {2 * rounds} fresh runs")
    for number, kind in enumerate(order(rounds, runs.o.seed)):
        who = None if kind == "native" else setting
        label = NATIVE if who is None else who.name
        progress.update(progress.done, f"confirming {label}")
        if runs.has(label, number // 2, True, tried.name):
            continue
        run = runs.run_once(who, number // 2, True, number, tried.name)
        if run is None:
            raise Spent(f"{looked}, but the budget was spent before that was confirmed")
        runs.keep(run)
        progress.advance()
        if run.status != 0:
            return f"{looked}, but failed when it was to be confirmed ({run.detail})"
    return _conclude(runs, tried, rounds)


def _conclude(runs: SettingRuns, tried: Tried, rounds: int) -> str:
    sides: dict[str, dict[int, float]] = {NATIVE: {}, tried.name: {}}
    for r in runs.file.runs:
        if r.confirming and r.beside == tried.name and r.value is not None:
            sides[r.setting][r.round] = r.value
    mine, native = (times_of(sides[x], runs.o.metric) for x in (tried.name, NATIVE))
    ratio, ratios, p, _ = compare_times(mine, native)
    confirming = [r for r in runs.file.runs if r.confirming and r.beside == tried.name]
    busy = busy_before([r.others for r in confirming])
    verdict = judge(ratio, p, ratio.n, "run", busy=busy)
    runs.file.confirmed = gain_of(ratio, ratios, p, runs.o.metric)
    runs.file.confirmed_of = tried.name
    kinds = order(rounds, runs.o.seed)
    drafts = [Run(kind, i, None, 0.0, 0) for i, kind in enumerate(kinds)]
    compared = runs.outputs(tried.name).compare(drafts)
    runs.file.outputs = outputs.words(compared, runs.o.rules) if compared else None
    runs.file.compared = [c for c in compared if c.outcome != "same"][:MOST_LISTED]
    text = f"{tried.name}: gain of fresh runs {gain_words(runs.file.confirmed)}"
    if not verdict.tested:
        text = f"{tried.name}: the gain of fresh runs was not tested"
    if verdict.outcome == "inconclusive":
        return f"inconclusive: {text}: {verdict.words}"
    if verdict.outcome != "faster":
        return f"{text}: {verdict.words}, so that its first gain was luck"
    if outputs.equal(compared) is False:
        return (
            f"{text}, but CMD's outputs differ with it ({runs.file.outputs}; --ignore and "
            "--compare say what counts)"
        )
    runs.file.setting, runs.file.chosen = tried.name, dict(tried.environment)
    return f"{text}; this is significant, and stretto run sets it for this command"
