"""What looks faster has to show its gain in fresh runs, alone and then together with others.

The fastest setting runs in turn with native. With the next fastest added, it runs in turn with
native and with what is best so far, and so on. What is added stays only where it is significantly
faster than what it was added to. A choice must leave the outputs of CMD as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from stretto.files.settings import NATIVE, Tried
from stretto.files.verdict import Run
from stretto.measure.idle import busy_before
from stretto.measure.verdict import judge
from stretto.progress import Progress
from stretto.tune import outputs
from stretto.tune.settings_runs import SettingRuns
from stretto.tune.verify import MOST_LISTED
from stretto.tune.words import gain_words

#: combinations that are tried at most: each takes three runs a round
MOST = 3


def most_runs(settings: int, rounds: int) -> int:
    """Return how many fresh runs so many settings take at most."""
    return rounds * (2 * min(settings, 1) + 3 * min(MOST, max(settings - 1, 0)))


def choose(
    runs: SettingRuns, faster: Sequence[Tried], rounds: int, progress: Progress
) -> list[str]:
    """Choose what fresh runs confirm, and return what became of each, the chosen one first.

    `faster`: settings that are faster than native, the fastest first.
    """
    best: Tried | None = None
    said: list[str] = []
    series = 0
    for other in faster:
        if series > MOST:
            break
        tried = other if best is None else put_together(runs, best, other)
        if tried is None:
            continue
        series += 1
        said.append(_fresh(runs, tried, best, rounds, progress))
        if best is not None and (detail := runs.failed(best.name)) is not None:
            said[-1] = f"{best.name} now fails ({detail})"
            best, found = None, runs.file
            said = _others(said, found.conclusion)
            found.setting, found.chosen, found.confirmed = None, {}, None
            found.outputs, found.compared = None, []
            found.conclusion, found.outcome = [], "inconclusive"
        elif runs.file.setting == tried.name:
            best = tried
    if not best:
        return [f"{said[0]}; nothing is set", *said[1:]]
    return [*runs.file.conclusion, *_others(said, runs.file.conclusion)]


def _others(said: Sequence[str], conclusion: Sequence[str]) -> list[str]:
    """Return the sentences that are not, or do not begin, one of the conclusion."""
    return [text for text in said if not any(one.startswith(text) for one in conclusion)]


def put_together(runs: SettingRuns, best: Tried, other: Tried) -> Tried | None:
    """Return the combination of two; None: it is no new one, or gives a variable two values."""
    both = {**best.environment, **other.environment}
    kept = [t for t in runs.file.tried if t.name != f"{best.name},{other.name}"]
    if both in [t.environment for t in kept] or not both.items() >= best.environment.items():
        return None
    parts = [*(best.parts or [best.name]), other.name]
    what = f"{len(parts)} settings that help, together"
    runs.file.tried = [*kept, Tried(",".join(parts), what, both, parts=parts)]
    return runs.file.tried[-1]


def _fresh(
    runs: SettingRuns, tried: Tried, best: Tried | None, rounds: int, progress: Progress
) -> str:
    """Run it in turn with native and with the best so far; choose it where that confirms it."""
    gained = "" if tried.gain is None else f" ({gain_words(tried.gain)})"
    beside = f" and {best.name}" if best else ""
    runs.say(f"stretto: {tried.name}{gained}: {rounds} new runs, alternating with native{beside}")
    if not runs.series(tried.name):  # what earlier runs put out, perhaps of another program
        shutil.rmtree(runs.outputs(tried.name).directory, ignore_errors=True)
    first = len(runs.file.runs)

    def failure() -> str | None:
        made = [r for r in runs.file.runs[first:] if r.setting == tried.name]
        return next((r.detail for r in made if r.status != 0), None)

    members = [*([best] if best else []), tried]
    runs.turns(
        {NATIVE: None, **{t.name: t.environment for t in members}}, rounds, progress, tried.name,
        out=lambda *_: failure() is not None or bool(best and runs.failed(best.name)),
    )  # fmt: skip
    of_native = runs.compared(tried.name, beside=tried.name)
    against = runs.compared(tried.name, best.name, tried.name) if best else of_native
    detail = failure()
    if detail is not None or of_native is None or against is None:
        detail = detail or "all of its runs failed"
        if best:
            tried.outcome, tried.why = "failed", detail
        return f"{tried.name} looked faster, but failed in the confirmation runs ({detail})"
    ratio, p, _ = against
    # each combination is another chance to be wrong
    adjusted = p if p is None or best is None else min(1.0, MOST * p)
    busy = busy_before([r.others for r in runs.series(tried.name)])
    verdict = judge(ratio, adjusted, ratio.n, "run", p=p, busy=busy)
    gain = of_native[2]
    text = f"{tried.name}: gain in new runs {gain_words(gain)}"
    if best:
        tried.outcome, tried.gain = verdict.outcome, gain
        tried.why = f"beside {best.name}: {verdict.words}"
        if verdict.outcome != "faster":
            return f"{tried.name} {tried.why}"
    elif verdict.outcome == "inconclusive":
        if not verdict.tested:
            text = f"{tried.name}: the gain in new runs was not tested"
        return f"inconclusive: {text}: {verdict.words}"
    elif verdict.outcome != "faster":
        return f"{text}: {verdict.words}, so its first gain was by chance"
    compared = runs.outputs(tried.name).compare(
        [Run(kind, i, None, 0.0, 0) for i in range(rounds) for kind in ("native", "tuned")]
    )
    if outputs.equal(compared) is False:
        return (
            f"{text}, but CMD's outputs differ with it ({outputs.words(compared, runs.o.rules)}; "
            "--ignore and --compare select what is compared)"
        )
    found = runs.file
    found.setting, found.chosen, found.confirmed = tried.name, dict(tried.environment), gain
    found.outputs = outputs.words(compared, runs.o.rules) if compared else None
    found.compared = [c for c in compared if c.outcome != "same"][:MOST_LISTED]
    text = f"{text}; this is significant"
    # should what follows be interrupted
    found.conclusion = [f"{text}: stretto run applies it to this command"]
    found.outcome = "faster"
    return text
