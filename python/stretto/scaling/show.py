"""Scaling for people (a table and what follows from it) and for programs (JSON)."""

from __future__ import annotations

from typing import Any

from stretto.counted import counted, three
from stretto.files.outcome import Verdict
from stretto.files.verdict import Metric, is_time, metric_name
from stretto.launch.resize import RunPoint
from stretto.measure.show import columns
from stretto.measure.stats import FEWEST
from stretto.scaling.analyse import Findings, MeasuredPoint, PointGain, Turn


def number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:.0f}"


def table_lines(found: Findings) -> list[str]:
    priced = any(m.cost is not None for m in found.points)
    metered = any(m.energy_j is not None for m in found.points)
    threads = any(m.point.threads is not None for m in found.points)
    head = ["nodes", "ppn", *(["threads"] if threads else []), "cores", ""]
    head += [metric_words(found.metric)]
    head += ["95 %", "runs", "speed-up", "efficiency", *(["cost"] if priced else [])]
    head += ["energy (J)"] if metered else []
    rows = [head]
    for m in found.points:
        p, low, high = m.point, m.value.low, m.value.high
        row = [str(p.nodes), str(p.ppn), *([str(p.threads or "")] if threads else [])]
        row += [str(p.cores), m.kind, number(m.value.median)]
        row += ["" if low is None or high is None else f"{number(low)} to {number(high)}"]
        few = "?" if m.value.n < FEWEST else ""
        row += [str(m.value.n), f"{m.speedup:.2f}{few}", f"{100 * m.efficiency:.0f} %{few}"]
        row += [number(m.cost) if m.cost is not None else ""] if priced else []
        row += [three(m.energy_j) if m.energy_j is not None else ""] if metered else []
        rows.append(row)
    return columns(rows)


def metric_words(metric: Metric) -> str:
    """Return the heading of a column: ``wall time (s)``, ``rate (steps/s, higher is better)``."""
    better = f"{metric.better} is better" if not is_time(metric) else ""
    unit = "" if metric.unit == name_of(metric) else metric.unit
    about = ", ".join(filter(None, (unit, better)))
    return f"{name_of(metric)} ({about})" if about else name_of(metric)


def answer(found: Findings, program: str) -> str:
    """Return where the program stops scaling, and what tuning gains there, in one sentence."""
    turn = next((t for t in found.turns if t.kind == "native"), found.turns[0])
    best = turn.best.point
    gains = [g for g in found.gains if g.verdict.outcome == "faster"]
    if len({m.point.cores for m in found.of(turn.kind)}) == 1:
        text = f"{program} on {best.words}: results for one number of cores show no scaling"
        if turn.equal:
            text = f"{program} on {counted(best.cores, 'core')}{_layouts_answer(turn, found)}"
    elif turn.certain:
        text = (
            f"{program} stops scaling at {counted(best.cores, 'core')}: more cores make it slower"
        )
    elif turn.slower:
        why = turn.slower[0][1].words
        text = f"Inconclusive for {program}: fastest on {counted(best.cores, 'core')}, but {why}"
    else:
        text = f"{program} is fastest on {best.words}, the largest number of cores measured"
        if turn.best.point.cores < max(m.point.cores for m in found.of(turn.kind)):
            text = f"{program} is fastest on {best.words}; more cores are no faster"
    if gains:
        top = max(gains, key=lambda g: 1 - g.ratio.median)
        text += f"; {_gained(top, found.metric, 0)} on {top.point.words}"
    return f"{text}."


def _gained(gain: PointGain, metric: Metric, digits: int = 1) -> str:
    """Say what tuning gains: ``tuned takes 12 % less time``, ``the tuned rate is 14 % higher``."""
    percent = 100 * (gain.ratio.median - 1)
    if is_time(metric):
        return f"tuned takes {abs(percent):.{digits}f} % {'less' if percent <= 0 else 'more'} time"
    if metric.better == "higher":
        percent = 100 * (1 / gain.ratio.median - 1)
    how = "higher" if percent >= 0 else "lower"
    return f"the tuned {name_of(metric)} is {abs(percent):.{digits}f} % {how}"


def name_of(metric: Metric) -> str:
    """Return a name without an article, a general one where the expression has none."""
    name = metric_name(metric).removeprefix("the ")
    return "rate" if name == "metric" and metric.better == "higher" else name


def pair(point: RunPoint) -> str:
    """Return ranks and threads of a point: ``6 x 1``; with its nodes where there are several."""
    shape = f"{point.ppn} x {point.threads or 1}"
    return shape if point.nodes == 1 else f"{point.nodes} x {shape}"


def _layouts_answer(turn: Turn, found: Findings) -> str:
    """Say which of several layouts with equally many cores is the best."""
    nodes = "nodes x " if any(m.point.nodes > 1 for m in found.points) else ""
    what = f"{nodes}ranks x threads" if found.layouts else "nodes x ranks"
    words = pair if found.layouts else (lambda p: p.words)
    rivals = [(m, v) for m, v in turn.equal if v.outcome != "slower"]
    untested = next((v for _, v in turn.equal if not v.tested), None)
    text = f": the fastest layout is {words(turn.best.point)} ({what})"
    if untested is not None:
        text = f": {words(turn.best.point)} ({what}) has the best median; {untested.why}"
    elif rivals:
        names = ", ".join(words(m.point) for m, _ in rivals)
        same = all(v.outcome == "same" for _, v in rivals)
        how = "as fast" if same else "not significantly slower"
        text += f"; {names} {'is' if len(rivals) == 1 else 'are'} {how}"
    if untested is None and len(rivals) < len(turn.equal):
        text += f"; {_worse(*turn.equal[-1], turn, found.metric, words(turn.equal[-1][0].point))}"
    metered = [m for m in found.points if m.energy_j and m.kind == turn.kind]
    if metered:
        least = min(metered, key=lambda m: m.energy_j or 0.0)
        same = least.point == turn.best.point
        text += f"; {'it' if same else words(least.point)} uses the least energy"
    return text


def _worse(m: MeasuredPoint, verdict: Verdict, turn: Turn, metric: Metric, name: str) -> str:
    """Say how far a point is behind the best one, in the words of the metric."""
    if is_time(metric):
        return f"{name} takes {turn.best.speedup / m.speedup:.2f} times as long, {verdict.words}"
    return f"the {name_of(metric)} of {name} is {verdict.words}"


def facts(found: Findings) -> list[tuple[str, str]]:
    out = []
    for turn in found.turns:
        value = f"{number(turn.best.value.median)} {found.metric.unit}".rstrip()
        runs = counted(turn.best.value.n, "run")
        out.append((f"fastest {turn.kind}", f"{value} on {turn.best.point.words} ({runs})"))
    if found.gains:
        words = [g.verdict.outcome for g in found.gains]
        counts = ", ".join(f"{words.count(w)} {w}" for w in dict.fromkeys(words))
        out.append(("tuned against native", f"{counts} of {counted(len(words), 'point')}"))
    made = sum(m.value.n for m in found.points)
    out.append(("measured", f"{counted(len(found.points), 'point')}, {counted(made, 'run')}"))
    out.append(("speed-up against", f"{found.reference.words} ({found.reference_kind})"))
    return out[:3]


def sentences(found: Findings, price: float | None) -> list[str]:
    out = [f"speed-up and efficiency against {found.reference.words} ({found.reference_kind})"]
    for g in found.gains:
        text = f"{_gained(g, found.metric)}; {g.verdict.words}"
        if g.verdict.outcome == "inconclusive":
            text = f"tuned against native is inconclusive: {g.verdict.words}"
        out.append(f"{g.point.words}: {text}")
    out += [words for t in found.turns if (words := turn_words(t, found))]
    if price is not None and found.cheapest is not None:
        c = found.cheapest
        out.append(
            f"cheapest: {c.point.words}, {c.kind}, {number(c.cost or 0.0)} a run at {price:g} per "
            "node-hour"
        )
        for t in found.turns:
            if t.best.point != c.point and t.best.cost and c.cost:
                out.append(
                    f"the fastest, {t.best.point.words} ({t.kind}), costs {number(t.best.cost)} a "
                    f"run, {t.best.cost / c.cost:.1f} times as much"
                )
    out += energy_words(found)
    if found.busy is not None:
        out.append(f"the machine was busy: {found.busy}")
    few = [m.value.n for m in found.points if m.value.n < FEWEST]
    if few:
        out.append(
            f"? inconclusive: fewer than {FEWEST} runs per point, so no test was made; missing: "
            f"{counted(FEWEST - min(few), 'more round')} (--repeats {FEWEST})"
        )
    out += [f"{p.words}, {kind}: no run succeeded: {why}" for p, kind, why in found.failed]
    if found.unverified:
        points = ", ".join(p.words for p in found.unverified)
        out.append(
            f"not verified: the numbers of ranks of native runs ({points}): the command does not "
            "show them, and no rank ran on this machine"
        )
    if found.unseen_threads:
        points = ", ".join(p.words for p in found.unseen_threads)
        out.append(
            f"not verified: the numbers of threads per rank ({points}): no rank ran on this machine"
        )
    return out


def energy_words(found: Findings) -> list[str]:
    """Say where a run takes least energy, and what the fastest takes; no test is made of it."""
    metered = [m for m in found.points if m.energy_j]
    if not metered:
        return []
    missing = len(found.points) - len(metered)
    least = min(metered, key=lambda m: m.energy_j or 0.0)
    out = [
        f"least energy: {least.point.words}, {least.kind}, {three(least.energy_j or 0.0)} J a run "
        f"(medians, not tested{'; ' + found.energy if found.energy else ''})"
    ]
    if missing:
        out.append(
            f"the energy of {counted(missing, 'point')} is unknown: --restart measures everything "
            "again"
        )
    for t in found.turns:
        if t.best.point != least.point and t.best.energy_j:
            out.append(
                f"the fastest, {t.best.point.words} ({t.kind}), takes {three(t.best.energy_j)} J "
                "a run"
            )
    return out


def turn_words(turn: Turn, found: Findings) -> str:
    """Say where more cores no longer help; nothing where there is one point to speak of."""
    tested = turn.best.value.n >= FEWEST
    times = f"{turn.best.speedup:.2f} times" if tested else "not tested"
    where = f"{turn.kind}: fastest on {turn.best.point.words} ({times})"
    cores = turn.best.point.cores
    failed = [p.words for p, kind, _ in found.failed if kind == turn.kind and p.cores > cores]
    if cores == max(m.point.cores for m in found.of(turn.kind)):
        if failed:
            return (
                f"{where}, the largest number of cores with a successful run "
                f"({', '.join(failed)} failed): where scaling stops is unknown{_enough_words(turn)}"
            )
        if len(found.of(turn.kind)) == 1:
            return ""
        if len({m.point.cores for m in found.of(turn.kind)}) == 1:
            rest = [f"{m.point.words}: {v.words}" for m, v in turn.equal]
            note = "" if tested else " (not tested)"
            return f"{turn.kind}: fastest on {turn.best.point.words}{note}; {'; '.join(rest)}"
        if turn.enough is not None:
            return f"{where}, the largest number of cores measured{_enough_words(turn)}"
        return f"{where}, the largest number of cores measured: scaling has not stopped"
    where += _enough_words(turn)
    if not turn.slower:
        return f"{where}; more cores are no faster"
    certain = [(m, v) for m, v in turn.slower if v.outcome == "slower"]
    m, verdict = certain[0] if certain else turn.slower[0]
    if not certain:
        return f"{where}; whether more cores make it slower is inconclusive: {verdict.words}"
    more = _worse(m, verdict, turn, found.metric, m.point.words)
    return f"{where}; more cores make it slower: {more}"


def _enough_words(turn: Turn) -> str:
    if turn.enough is None:
        return ""
    m, verdict = turn.enough
    cores = f"with {m.point.cores} instead of {turn.best.point.cores} cores"
    if verdict.outcome == "inconclusive":
        return f"; whether {m.point.words} is as fast {cores} is inconclusive: {verdict.words}"
    return f"; {m.point.words} is as fast {cores}: {verdict.words}"


def as_json(found: Findings, price: float | None) -> dict[str, Any]:
    return {
        "metric": vars(found.metric),
        "price_per_node_hour": price,
        "reference": {**vars(found.reference), "kind": found.reference_kind},
        "points": [_point(m) for m in found.points],
        "gains": [
            {**vars(g.point), "ratio": g.ratio.median, "low": g.ratio.low, "high": g.ratio.high,
             "outcome": g.verdict.outcome, "why": g.verdict.why, "missing": g.verdict.missing}
            for g in found.gains
        ],
        "fastest": [
            {"kind": t.kind, **vars(t.best.point), "speedup": t.best.speedup, "certain": t.certain,
             "slower": [_against(*e) for e in t.slower], "equal": [_against(*e) for e in t.equal],
             "enough": None if t.enough is None else _against(*t.enough)}
            for t in found.turns
        ],
        "cheapest": None if found.cheapest is None else _point(found.cheapest),
        "unverified": [vars(p) for p in found.unverified],
        "unseen_threads": [vars(p) for p in found.unseen_threads],
        "failed": [{**vars(p), "kind": k, "why": w} for p, k, w in found.failed],
        "conclusions": sentences(found, price),
    }  # fmt: skip


def _against(m: MeasuredPoint, verdict: Verdict) -> dict[str, Any]:
    return {**vars(m.point), "outcome": verdict.outcome, "why": verdict.words}


def _point(m: MeasuredPoint) -> dict[str, Any]:
    return {
        **vars(m.point),
        "nranks": m.point.nranks,
        "cores": m.point.cores,
        "kind": m.kind,
        "median": m.value.median,
        "low": m.value.low,
        "high": m.value.high,
        "runs": m.value.n,
        "wall_s": m.wall_s,
        "speedup": m.speedup,
        "efficiency": m.efficiency,
        "cost": m.cost,
        "energy_j": m.energy_j,
    }
