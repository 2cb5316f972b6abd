"""Settings that help are tried together, and the best has to show its gain once more.

The fastest setting is taken with the next fastest, then what is best so far with the one after it.
A combination takes the place of what it contains only when it is significantly faster than that. A
combination that is not confirmed in fresh runs (its gain was luck, or CMD's outputs are others
with it) leaves its place to the best that was known without its last part.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

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
    """Return how many runs combinations of so many settings take at most, confirmations too."""
    return (3 + 2) * rounds * min(MOST, settings - 1) if settings > 1 else 0


def best_together(
    runs: SettingRuns, faster: Sequence[Tried], rounds: int, progress: Progress
) -> Tried | None:
    """Return the best setting or combination; None: all of them fail by now.

    `faster`: settings that are faster than native, the fastest first.
    """
    faster = [t for t in faster if runs.failed(t.name) is None]
    if not faster:
        return None
    best, tried = faster[0], 0
    for other in faster[1:]:
        together = put_together(runs, best, other) if tried < MOST else None
        if together is None:
            continue
        tried += 1
        runs.say(f"stretto: {together.name} is tried beside {best.name}")
        three = (best.name, together.name)
        runs.turns(
            {NATIVE: None, best.name: best.environment, together.name: together.environment},
            rounds, progress, together.name,
            out=lambda *_, three=three: any(runs.failed(n) is not None for n in three),
        )  # fmt: skip
        if runs.failed(best.name) is not None:  # it ran well until now
            together.why = f"{best.name} fails"
            return best_together(runs, faster, rounds, progress)
        if is_faster(runs, best, together):
            best = together
    return best


def put_together(runs: SettingRuns, best: Tried, other: Tried) -> Tried | None:
    """Return the combination of two; None: it is no new one, or gives a variable two values."""
    by_name = {t.name: t for t in runs.file.tried}
    parts = [*(by_name[n] for n in best.parts or [best.name]), other]
    environment: dict[str, str] = {}
    for part in parts:
        if any(environment.setdefault(n, v) != v for n, v in part.environment.items()):
            return None
    names = [p.name for p in parts]
    same = next((t for t in runs.file.tried if t.environment == environment), None)
    if same is not None and (not same.parts or same.parts == names):
        return same if same.parts and same is not best else None
    if same is not None:  # put together otherwise: judged beside what is not the best now
        runs.file.tried.remove(same)
        runs.file.runs = [r for r in runs.file.runs if same.name not in (r.setting, r.beside)]
    what = f"{len(names)} settings that help, together"
    new = Tried(",".join(names), what, environment, parts=names)
    runs.file.tried.append(new)
    return new


def is_faster(runs: SettingRuns, best: Tried, together: Tried) -> bool:
    """Judge a combination: significantly faster than the best so far, or not worth it."""
    of_native = runs.compared(together.name, beside=together.name)
    of_best = runs.compared(together.name, best.name, beside=together.name)
    failed = runs.failed(together.name)
    if failed is not None or of_best is None or of_native is None:
        together.outcome, together.why = "failed", failed or "not one run of it was good"
        return False
    together.gain = of_native[2]
    ratio, p, _ = of_best
    # each combination is another chance to be wrong
    adjusted = None if p is None else min(1.0, MOST * p)
    verdict = judge(ratio, adjusted, ratio.n, "run", p=p)
    together.outcome, together.why = verdict.outcome, f"beside {best.name}: {verdict.words}"
    return together.outcome == "faster"


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
    gained = "" if tried.gain is None else f" ({gain_words(tried.gain)})"
    runs.say(f"stretto: {tried.name}{gained} is confirmed by {2 * rounds} fresh runs")

    first = len(runs.file.runs)
    if not any(r.confirming and r.beside == tried.name for r in runs.file.runs):
        # what earlier runs put out, perhaps of another program
        shutil.rmtree(runs.outputs(tried.name).directory, ignore_errors=True)

    def failure() -> str | None:
        mine = [r for r in runs.file.runs[first:] if r.confirming and r.setting == tried.name]
        return next((r.detail for r in mine if r.status != 0), None)

    runs.turns(
        {NATIVE: None, tried.name: tried.environment}, rounds, progress, tried.name, True,
        out=lambda *_: failure() is not None,
    )  # fmt: skip
    if (detail := failure()) is not None:
        looked = f"{tried.name} looked faster ({tried.why})"
        return f"{looked}, but failed when it was to be confirmed ({detail})"
    found = runs.compared(tried.name, beside=tried.name, confirming=True)
    assert found is not None
    ratio, p, runs.file.confirmed = found
    runs.file.confirmed_of = tried.name
    confirming = [r for r in runs.file.runs if r.confirming and r.beside == tried.name]
    busy = busy_before([r.others for r in confirming])
    verdict = judge(ratio, p, ratio.n, "run", busy=busy)
    compared = runs.outputs(tried.name).compare(
        [Run(k, i, None, 0.0, 0) for i in range(2 * rounds) for k in ("native", "tuned")]
    )
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
