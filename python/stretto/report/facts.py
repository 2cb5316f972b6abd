"""Who measured what, where and how: the plain facts that the files hold."""

from __future__ import annotations

import shlex

from stretto.files.verdict import metric_name
from stretto.report import format as fmt
from stretto.report.load import System
from stretto.report.points import KIND_TEXT, NATIVE
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
