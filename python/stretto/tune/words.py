"""Verdicts in words: what was predicted, what was measured, and what the user should do."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from stretto.counted import counted, duration, seconds, size_range
from stretto.files.outcome import Verdict
from stretto.files.verdict import GainInterval, Metric, Run, metric_name
from stretto.launch.execute import Result
from stretto.launch.said import ending
from stretto.tune.needs import Needs

#: tuning is not worth a try when even free collectives would gain less
LEAST_BOUND = 0.01
#: and not verified on CMD when less than this is predicted: no number of runs would show it
LEAST_GAIN = 0.003
#: a gain whose lower bound is so many times the prediction's upper one is not explained by it
SURPRISE = 1.5
#: how the reason of a run that failed begins
ENDED = "it ended with"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %" if abs(value) >= 0.005 else f"{100 * value:.2g} %"


def ended(result: Result) -> str:
    """Return how a run ended that failed, with what it said of why."""
    last = ending(result.stdout, result.stderr)
    said = f"last output: {last}" if last else "no error message was printed"
    return f"{ENDED} {result.status}; {said}"


def gain_words(gain: GainInterval) -> str:
    text = f"{percent(gain.median)} ({percent(gain.low)} to {percent(gain.high)})"
    return text if gain.p is None else f"{text}, p={gain.p:.2g}"


def no_help(needs: Needs) -> list[str] | None:
    """Say why no algorithm can help this application, or None when one may."""
    if needs.wall_s <= 0:
        return ["the profile holds no time"]
    waiting = needs.waiting_s / needs.wall_s
    shares = (
        f"of {needs.wall_s:.2f} s, collectives that can be tuned take "
        f"{percent(needs.bound)}, waiting in them for the last rank {percent(waiting)}, other MPI "
        f"calls {percent(needs.other_s / needs.wall_s)}"
    )
    if needs.bound >= LEAST_BOUND and needs.chosen:
        return None
    if waiting > 3 * needs.bound and waiting >= LEAST_BOUND:
        return [
            f"no algorithm can help: {shares}",
            "Ranks wait for other ranks: the load is imbalanced, or a rank is disturbed (stretto "
            "diagnose shows which)",
        ]
    most = percent(max(needs.bound, 0.001))
    return [
        f"no algorithm can help: {shares}",
        f"Without their cost, at most {most} would be gained",
    ]


def conclude(
    metric: Metric,
    predicted: GainInterval | None,
    measured: GainInterval | None,
    found: Verdict,
    limit: str = "",
    beyond: str = "",
) -> list[str]:
    """Return the verdict in sentences.

    `limit`: the most that tuning can gain, in words. `beyond`: that the measured gain is larger.
    """
    name = metric_name(metric)
    if measured is None:
        out = [f"the gain was not measured on CMD ({found.words})"]
        if predicted is not None:
            out.append(f"Predicted in wall time: {gain_words(predicted)}")
        return out
    if not found.tested:
        out = [f"inconclusive: the gain in {name} was not tested: {found.words}"]
    elif found.outcome == "inconclusive":
        gain = replace(measured, p=None)  # the verdict has it
        out = [f"inconclusive: gain in {name} {gain_words(gain)}: {found.words}"]
    else:
        what = {
            "faster": f"but {beyond}" if beyond else "this is significant",
            "slower": "CMD is significantly SLOWER when tuned: do not use this table",
            "same": f"CMD is as fast tuned as native: {found.words}",
        }[found.outcome]
        out = [f"measured gain in {name}: {gain_words(measured)}; {what}"]
        if beyond:
            out.append("Repeat with --restart on an idle machine")
    if predicted is not None:
        out.append(f"Predicted in wall time: {gain_words(predicted)}")
    if limit and not beyond:
        out.append(
            f"Tuning can gain {limit} in {name}: all time in these collectives and all waiting in "
            "them"
        )
    if predicted is None or beyond or found.outcome != "faster":
        return out
    most = max(predicted.high, 0.0)
    if metric.better == "higher" and most < 1:
        most /= 1 - most  # so much less time is so much more of a rate
    if measured.low > SURPRISE * most:
        out.append(
            "The gain is far above the prediction: the measured collectives explain only part of "
            "it; the rest may not be reproducible"
        )
    return out


#: what came of the budget's rest, by where a tuning ended
_REST = {
    "nothing": "by the profile, no call of CMD can become faster, so nothing was measured",
    "decided": "all measured calls are decided, and nothing is left to measure",
    "cut": "the rest was reserved for runs of CMD, but there is no table to try; the same command "
    "continues to measure",
    "open": "all launches were made, but there is no table to try; --launches makes more",
    "little": "the predicted gain is too small to prove; --pairs 6 runs CMD anyway",
    "tested": "all runs of CMD were made; --pairs makes more",
}


def rest_words(budget_s: float | None, left_s: float, end: str) -> str:
    """Say why half of a budget or more was left; empty where less was.

    `end`: a key of `_REST`.
    """
    if budget_s is None or left_s < budget_s / 2:
        return ""
    return f"{duration(left_s)} of the budget of {duration(budget_s)} were not used: {_REST[end]}"


def start_words(gained_s: float, start_s: float) -> list[str]:
    """Say where a gain is less than what starting ``stretto run`` takes; else nothing."""
    if gained_s >= start_s:
        return []
    return [
        f"The gain of {seconds(gained_s)} per run is less than the start-up time of stretto run on "
        f"this machine ({seconds(start_s)})",
        "Only longer runs benefit, or a job script with the lines of stretto env -- CMD, which "
        "start no Python",
    ]


def applied_words(runs: Sequence[Run], nranks: int) -> list[str]:
    """Say what proves that the tuned runs were tuned; nothing when there was none."""
    tuned = [r for r in runs if r.kind == "tuned" and r.ranks is not None]
    if not tuned:
        return []
    text = f"In {counted(len(tuned), 'tuned run')}, all {nranks} ranks loaded Stretto"
    calls = [r.calls for r in tuned if r.calls is not None]
    if not calls:
        return [text]
    most = f" to {max(calls)}" if min(calls) < max(calls) else ""
    each = " in each" if len(tuned) > 1 else ""
    return [f"{text}, and it executed {min(calls)}{most} of their calls{each}"]


def medians_words(metric: Metric, runs: Sequence[Run]) -> list[str]:
    """Return the medians of native and tuned runs, each with its number of runs."""
    parts = []
    for kind in ("native", "tuned"):
        values = [r.value for r in runs if r.kind == kind and r.exit == 0 and r.value is not None]
        if values:
            middle = statistics.median(values)
            number = seconds(middle) if metric.pattern is None else f"{middle:.6g} {metric.unit}"
            parts.append(f"{number.strip()} in {counted(len(values), f'{kind} run')}")
    return [f"Median: {', '.join(parts)}"] if parts else []


def needs_lines(needs: Needs) -> list[str]:
    out = [
        f"stretto: of {needs.wall_s:.2f} s from MPI_Init to MPI_Finalize, collectives that can be "
        f"tuned take {percent(needs.bound)}; waiting in them takes "
        f"{percent(needs.waiting_s / needs.wall_s)}, which an algorithm changes only indirectly"
    ]
    for n in needs.chosen:
        others = [s.stands_for for s in n.shapes if s.stands_for is not None]
        by = f" (measured with other types for {', '.join(others)})" if others else ""
        share = percent(n.transfer_s / needs.wall_s)
        sizes = size_range(n.span.low, n.span.high)
        size = "" if n.collective == "barrier" else f" of {sizes}"
        blocks = f" ({n.pattern})" if n.pattern else ""
        calls = counted(n.calls, "call")
        bound = " at most" if n.bound else ""
        out.append(
            f"stretto:   {n.collective}{size}{blocks} on "
            f"{counted(n.nranks, 'rank')}: {calls},{bound} {share} of the time{by}"
        )
    return out
