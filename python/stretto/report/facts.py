"""Facts that the files hold: who measured what, where and how, and the figures of the answer."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from stretto.files.identity import TITLES, titled
from stretto.files.verdict import Run, metric_name
from stretto.measure.verdict import ALPHA
from stretto.report import format as fmt
from stretto.report.breakdown import breakdown
from stretto.report.format import gain_text, value_text
from stretto.report.load import System
from stretto.report.points import KIND_TEXT, NATIVE, estimate_runs, usable
from stretto.report.sources import is_node

#: settings of the measuring program in words
_SETTINGS = {
    "nranks": "ranks", "ppn": "ranks per node", "variants": "kinds of launches",
    "launches": "launches of each kind", "seed": "random seed", "budget_s": "budget (s)",
    "relative_ci": "relative width of the interval", "batch_us": "length of a batch (\u00b5s)",
    "batches": "batches, fewest and most", "cold": "cold caches",
    "oversubscribed": "more ranks than cores", "stall_s": "limit without output (s)",
    "window_us": "time window (\u00b5s)", "node_cpu": "processor of the nodes",
}  # fmt: skip


def identity(system: System) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    command = system.command or next((b.header.command for b in system.benches), [])
    if command:
        out.append(("command", shlex.join(command)))
    if system.layout is not None:
        many = system.layout.nodes > 1
        ranks = f" ({fmt.plural(system.layout.nranks, 'rank')})" if many else ""
        out.append(("layout", fmt.layout(system.layout) + ranks))
    if system.modelled:
        out.append(("platform", system.machine))
    elif system.identities:
        one = system.identities[0]
        out.append(("machine", _machine(system)))
        library = f" ({one.mpi.library})" if one.mpi.library else ""
        out.append(("MPI", f"{system.mpi}{library}"))
        out.append(("date", fmt.date(one.created)))
    elif system.tables:
        t = system.tables[0]
        # it names the nodes' processor, and the host where it was made
        made = "" if all(r.simulated for r in t.rows) else f" (table made on {t.host})"
        out.append(("machine", f"{t.cpu}{made}"))
        out.append(("MPI", system.mpi))
        out.append(("date", fmt.date(t.created)))
    return out


def _machine(system: System) -> str:
    words, h = sorted(system.processors), system.host
    if h is not None and is_node(h, system.nodes):
        words += [
            fmt.plural(h.cores, "core"), f"{fmt.size(h.memory_bytes)} memory", f"Linux {h.kernel}",
        ]  # fmt: skip
    return f"{system.machine}: {', '.join(words)}" if words else system.machine


def method(system: System) -> list[str]:
    out = []
    points = [p for panel in system.panels for p in panel.points]
    if points and all(p.simulated for p in points):
        out.append(f"{fmt.plural(len(points), 'time')} from a model.")
        kinds = {p.estimate.kind for p in points} - {"none"}
        out += [f"Interval: {text}." for kind, text in KIND_TEXT.items() if kind in kinds]
    elif points:
        kinds = {p.estimate.kind for p in points}
        launches = sum(len({q.launch for q in b.launches}) for b in system.benches)
        times = sum(p.estimate.observations for p in points)
        out.append(
            f"{fmt.plural(times, 'time')} from {fmt.plural(launches, 'launch', 'launches')} of the "
            "measuring program. A time is the maximum over the ranks, per call; a point is the "
            "median over launches of the median of each launch."
        )
        out += [f"Interval: {text}." for kind, text in KIND_TEXT.items() if kind in kinds]
        modes = {panel.mode for panel in system.panels}
        if "latency" in modes:
            out.append(
                "Latency: calls start together, in time windows; the time ends when the last rank "
                "is done."
            )
        if "throughput" in modes:
            out.append(
                "Throughput: calls follow one another in a loop; the time is that of the loop, "
                "per call."
            )
        errors = [q.clock_error_us for b in system.benches for q in b.launches if q.clock_error_us]
        if errors:
            out.append(
                f"Clocks of the ranks agree within {fmt.microseconds(max(errors))} (estimated)."
            )
    rows = system.rows
    if any(r.source == "measured" for r in rows):
        out.append(
            "A measured row selects an algorithm other than native only if it is significantly "
            "faster (rank test, control of the false discovery rate) and by more "
            "than the threshold."
        )
    if any(r.simulated for r in rows):
        out.append("Simulated rows come from a model: they were not tested.")
    if any(r.choice != NATIVE and "source" not in r.evidence for r in rows):
        out.append("Rows without a source were written by hand: they were not measured.")
    if system.verdict is not None and {r.kind for r in system.verdict.runs} >= {"native", "tuned"}:
        m = system.verdict.metric
        found = f", found in the output by /{m.pattern}/" if m.pattern else ""
        out.append(
            "The application ran alternately native and tuned; the metric is "
            f"{metric_name(m)}{found} ({m.better} is better)."
        )
    if system.settings:
        out.append(
            "Settings: runs of the command, native and with each setting, interleaved. A "
            "difference counts only if a rank test, adjusted for all settings, is significant."
        )
    p = system.profile
    if p is not None:
        joined, error = sum(c.sampled for c in p.calls), max(p.clock_error_s)
        out.append(
            "Profile: waiting is the time from the entry of a rank to the entry of the last rank "
            "(bcast, scatter: of the root), from "
            f"{fmt.plural(joined, 'joined sample')} of collective calls; transfer is the rest. "
            + (f"Clocks agree within {fmt.seconds(error)}." if error > 0 else "")
        )
    return out


def settings(system: System) -> list[tuple[str, str]]:
    out: dict[str, str] = {}
    for bench in system.benches:
        for key, value in bench.header.settings.items():
            text = _setting(value)
            if text:
                out.setdefault(_SETTINGS.get(key, key.replace("_", " ")), text)
    return list(out.items())


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return fmt.significant(value, 4).rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
    if isinstance(value, list):
        return (
            ""
            if any(isinstance(v, (dict, list)) for v in value)
            else ", ".join(map(_setting, value))
        )
    return "" if value is None or isinstance(value, dict) else str(value)


def origin(system: System) -> str:
    """Return the MPI and the machine of the results, as far as they are known."""
    if system.modelled:
        return f"platform {system.machine}"
    if not system.identities:
        return system.mpi
    mpi = system.named(titled(system.identities[0].mpi))
    return mpi if system.machine == "unknown" else f"{mpi} on {system.machine}"


def facts_of(system: System) -> list[tuple[str, str]]:
    """Return three facts for the head: what was found, how sure it is, where it holds."""
    out: list[tuple[str, str]] = []
    v, profile = system.verdict, system.profile
    if v is not None:
        facts = dict(gain_facts(system))
        wanted = ("gain measured", "outputs, native and tuned")
        out += [(name, facts[name]) for name in wanted if name in facts]
        if len(out) < 2:
            out.insert(0, ("runs", _runs(v.runs) if v.runs else "none with the table"))
    elif system.tables:
        rows = system.rows
        other = sum(r.choice != NATIVE for r in rows)
        out.append(("rows", f"{other} of {len(rows)} choose something other than native"))
        sources = Counter(r.source for r in rows)
        several = len(sources) > 1
        words = [f"{n} {source}" if several else source for source, n in sorted(sources.items())]
        out.append(("source", ", ".join(words)))
    elif profile is not None:
        parts = breakdown(profile)
        out.append(("collectives: transfer", fmt.percent(parts.share("transfer", "unsplit"))))
        out.append(("collectives: waiting", fmt.percent(parts.share("wait"))))
    elif system.panels:
        points = [p for q in system.panels for p in q.points]
        simulated = sum(p.simulated for p in points)
        measured = len(points) - simulated
        more = f", and {fmt.count(simulated)} simulated" if simulated else ""
        if measured:
            out.append(("measured", fmt.plural(measured, "point") + more))
        else:
            out.append(("simulated", fmt.plural(simulated, "point")))
        launches = [p.estimate.launches for p in points if not p.simulated]
        if launches:
            ends = dict.fromkeys((min(launches), max(launches)))
            out.append(("launches", " to ".join(map(fmt.count, ends))))
    elif system.settings:
        found = system.settings[0]
        run = {r.setting for r in found.runs} & {t.name for t in found.tried}
        out.append(("settings", f"{len(run)} of {len(found.tried)} were run"))
        out.append(("runs", fmt.count(len(found.runs))))
    elif system.forecasts:
        f = system.forecasts[0]
        recorded = f"{fmt.plural(f.recorded.ranks, 'rank')}, {fmt.seconds(f.recorded.wall_s)}"
        claimed = sum(map(f.claims_gain, f.scales))
        out.append(("recorded run", recorded))
        out.append(("gain of tuning", f"claimed for {claimed} of {len(f.scales)} layouts"))
        out.append(("where", f"platform {f.platform}, {f.scaling} scaling"))
    where = [] if system.layout is None else [fmt.layout(system.layout)]
    if system.modelled or system.identities:
        where.append(origin(system))
    elif system.settings and not system.tables:
        found = system.settings[0]
        if found.nodes and found.ppn:
            where.append(f"{fmt.plural(found.nodes, 'node')} x {fmt.plural(found.ppn, 'rank')}")
        where.append(f"{titled(found.mpi)} on {found.host.name}")
    elif system.tables:
        table = system.tables[0]
        where.append(f"{TITLES.get(table.family, table.family)} {table.mpi_version}".strip())
    if where:
        out.append(("where", ", ".join(where)))
    return out[:3]


def _runs(runs: Sequence[Run]) -> str:
    """Return how many runs there are of each kind, with those that failed apart."""
    kinds = ("native", "tuned")
    done = {kind: sum(r.kind == kind and r.exit == 0 for r in runs) for kind in kinds}
    failed = {kind: sum(r.kind == kind and r.exit != 0 for r in runs) for kind in kinds}
    text = ", ".join(f"{number} {kind}" for kind, number in done.items())
    bad = ", ".join(f"{number} {kind}" for kind, number in failed.items() if number)
    return text + (f"; failed: {bad}" if bad else "")


def gain_facts(system: System) -> list[tuple[str, str]]:
    v = system.verdict
    if v is None:
        return []
    out: list[tuple[str, str]] = []
    name = metric_name(v.metric)
    for kind in ("native", "tuned"):
        found = estimate_runs(usable(v.runs, kind))
        if found is not None:
            ends = f"{value_text(v, found.low)} to {value_text(v, found.high)}"
            interval = f", 95 % interval {ends}" if found.kind == "launches" else ""
            median = f"median of {fmt.plural(found.observations, 'run')}{interval}"
            out.append((f"{name}, {kind}", f"{value_text(v, found.median)} ({median})"))
    word = "less" if v.metric.better == "lower" else "more"
    if v.measured is not None:
        tested = v.measured.p is not None
        gained = f"{gain_text(v.measured)} {word} {name}" if tested else "not tested"
        out.append(("gain measured", gained))
        out.append(("rank test", _test(v.measured.p)))
    if v.outcome == "inconclusive":
        out.append(("verdict", f"inconclusive; {v.missing}" if v.missing else "inconclusive"))
    if v.predicted is not None:
        out.append(("gain predicted", f"{gain_text(v.predicted)}"))
    if v.limit is not None:
        out.append(("upper limit of the gain", fmt.percent(v.limit)))
    same = {True: "equal", False: "DIFFERENT", None: "not compared"}[v.outputs_equal]
    if v.runs:
        out.append(("outputs, native and tuned", same))
    ranks = {r.ranks for r in v.runs if r.kind == "tuned" and r.ranks is not None}
    calls = sorted(r.calls for r in v.runs if r.kind == "tuned" and r.calls is not None)
    if ranks and calls:
        words = f"at least {fmt.count(calls[0])} per tuned run, on {fmt.plural(min(ranks), 'rank')}"
        out.append(("calls executed by Stretto", words))
    return out


def _test(p: float | None) -> str:
    if p is None:
        return "not done (it needs at least six runs of each kind)"
    words = "significant" if p <= ALPHA else "not significant"
    return f"p = {fmt.pvalue(p)}, {words}" if p >= 0.0001 else f"p {fmt.pvalue(p)}, {words}"
