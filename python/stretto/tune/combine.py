"""Settings that help are tried together: their gains may add up, or be one gain found twice.

The fastest setting is taken with the next fastest, then what is best so far with the one after it.
A combination takes the place of what it contains only when it is significantly faster than that, in
rounds in which native, the best so far and the combination are run in turn.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from stretto.files.settings import NATIVE, SettingsFile, Tried
from stretto.measure.compare import compare_times
from stretto.measure.verdict import judge
from stretto.mpi.settings import Setting
from stretto.progress import Progress
from stretto.tune.settings_runs import SettingRuns
from stretto.tune.trials import gain_of

#: combinations that are tried at most: each takes three runs a round
MOST = 3
#: of a combination of an earlier start that this one has not judged
NOT_JUDGED = "not judged: others are the best now, or its runs are not complete"


class Spent(Exception):
    """The budget is; the words say before what."""


def merged(parts: Sequence[Tried]) -> dict[str, str] | None:
    """Return the variables of settings together; None where two want one to be different."""
    out: dict[str, str] = {}
    for part in parts:
        for name, value in part.environment.items():
            if out.setdefault(name, value) != value:
                return None
    return out


def kept(old: SettingsFile, same: Collection[str], candidates: Sequence[Tried]) -> list[Tried]:
    """Return the combinations of an earlier start whose parts are tried again as they were.

    `same`: names of the settings that are the same now.
    `candidates`: what is tried now: one of them may be what was a combination then.
    """
    return [
        Tried(t.name, t.what, t.environment, why=NOT_JUDGED, parts=t.parts)
        for t in old.tried
        if t.parts
        and set(same).issuperset(t.parts)
        and not any(t.name == c.name or t.environment == c.environment for c in candidates)
    ]


def most_runs(settings: int, rounds: int) -> int:
    """Return how many runs combinations of so many settings take at most, confirmations too."""
    return (3 + 2) * rounds * min(MOST, settings - 1) if settings > 1 else 0


def as_setting(tried: Tried) -> Setting:
    return Setting(tried.name, tried.what, tuple(tried.environment.items()))


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
        together = _together(runs, best, other) if tried < MOST else None
        if together is None:
            continue
        tried += 1
        _run_beside(runs, best, together, rounds, progress)
        if runs.failed(best.name) is not None:  # it ran well until now
            together.why = f"{best.name} fails"
            return best_together(runs, faster, rounds, progress)
        if _is_faster(runs, best, together):
            best = together
    return best


def _together(runs: SettingRuns, best: Tried, other: Tried) -> Tried | None:
    by_name = {t.name: t for t in runs.file.tried}
    parts = [*(by_name[n] for n in best.parts or [best.name]), other]
    environment = merged(parts)
    if environment is None or environment == best.environment:
        return None
    names = [p.name for p in parts]
    same = next((t for t in runs.file.tried if t.environment == environment), None)
    if same is not None and (not same.parts or same.parts == names):
        return same if same.parts else None
    if same is not None:  # put together otherwise: judged beside what is not the best now
        runs.file.tried.remove(same)
        runs.file.runs = [r for r in runs.file.runs if same.name not in (r.setting, r.beside)]
    what = f"{len(names)} settings that help, together"
    new = Tried(",".join(names), what, environment, why=NOT_JUDGED, parts=names)
    runs.file.tried.append(new)
    return new


def _run_beside(
    runs: SettingRuns, best: Tried, together: Tried, rounds: int, progress: Progress
) -> None:
    runs.say(f"stretto: {together.name} is tried beside {best.name}")
    members = {NATIVE: None, best.name: as_setting(best), together.name: as_setting(together)}
    for number in range(rounds):
        names = list(members)
        random.Random(f"{runs.o.seed} {together.name} {number}").shuffle(names)
        for name in names:
            progress.update(progress.done, name)
            if any(runs.failed(t.name) is not None for t in (best, together)):
                return
            if runs.has(name, number, beside=together.name):
                continue
            run = runs.run_once(members[name], number, False, beside=together.name)
            if run is None:
                raise Spent(
                    f"{best.name} looked faster ({best.why}), but the budget was spent before "
                    "it was tried together with others that did"
                )
            runs.keep(run)
            progress.advance()


def _is_faster(runs: SettingRuns, best: Tried, together: Tried) -> bool:
    """Judge a combination: significantly faster than the best so far, or not worth it."""
    mine, others, native = (
        runs.times(name, beside=together.name) for name in (together.name, best.name, NATIVE)
    )
    common = mine.keys() & others.keys() & native.keys()
    failed = runs.failed(together.name)
    if failed is not None or not common:
        together.outcome, together.why = "failed", failed or "not one run of it was good"
        return False
    mine, others, native = ({i: x[i] for i in common} for x in (mine, others, native))
    ratio, ratios, p, _ = compare_times(mine, native)
    together.gain = gain_of(ratio, ratios, p, runs.o.metric)
    ratio, _, p, _ = compare_times(mine, others)
    # each combination is another chance to be wrong
    adjusted = None if p is None else min(1.0, MOST * p)
    verdict = judge(ratio, adjusted, ratio.n, "run", p=p)
    together.outcome, together.why = verdict.outcome, f"beside {best.name}: {verdict.words}"
    return together.outcome == "faster"
