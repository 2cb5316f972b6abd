"""What stands in each section of the page: figures, tables and findings of one system."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from stretto.files.forecast import ForecastScale
from stretto.files.layout import RankLayout
from stretto.files.settings import SettingRun
from stretto.files.settings import Tried as SettingTried
from stretto.report import format as fmt
from stretto.report import tables, theme
from stretto.report.breakdown import Breakdown, breakdown
from stretto.report.figures import (
    bars,
    curves,
    forecast,
    matrix,
    profile,
    runs,
    settings,
    timeline,
)
from stretto.report.load import System
from stretto.report.plans import Drawn, plans
from stretto.report.points import NATIVE, Panel, ever_chosen
from stretto.report.render import Figure
from stretto.report.tables import View, importance

MOST_VIEWS = 6
MOST_SIZES = 5


@dataclass
class Slot:
    """Figures of which one is shown at a time, by the reader's pick; `keys` labels them."""

    figures: list[Figure]
    keys: list[str] = field(default_factory=list)
    shown: int = 0
    view: str = ""
    panel: Panel | None = None


@dataclass
class Outlook:
    """A recorded application at other scales: the picture, what it says, and its numbers."""

    figure: Figure
    finding: str
    rows: list[dict[str, str]]
    about: str


@dataclass
class TriedSettings:
    """Settings of the MPI tried on the command: the picture, what came of it, each one."""

    figure: Figure | None
    finding: str
    command: str
    rows: list[dict[str, str]]


@dataclass
class Content:
    """Everything that the page of one system shows."""

    system: System
    parts: Breakdown | None
    views: list[View]
    runs: list[Figure]
    time: list[Figure]
    latency: list[Slot]
    scaling: list[list[Figure]]
    bars: list[Slot]
    timeline: list[Figure]
    matrices: list[Figure]
    shapes: list[dict[str, Any]]
    layouts: list[Slot]
    rows: list[dict[str, Any]]
    plans: list[Drawn]
    forecasts: list[Outlook]
    settings: list[TriedSettings]
    left_out: str

    def figures(self) -> Iterable[Figure]:
        yield from self.runs
        yield from self.time
        yield from self.timeline
        for slot in [*self.latency, *self.bars, *self.layouts]:
            yield from slot.figures
        for row in self.scaling:
            yield from row
        yield from self.matrices
        yield from (outlook.figure for outlook in self.forecasts)
        yield from (tried.figure for tried in self.settings if tried.figure is not None)


def candidate_colours(system: System) -> dict[str, str]:
    return {name: theme.chosen_colour(i) for i, name in enumerate(ever_chosen(system.panels))}


def views_of(system: System) -> tuple[list[View], str]:
    """Return the layouts and modes to show, the report's own first, and what is left out."""
    key = importance(system)
    groups: dict[tuple[RankLayout, str], list[Panel]] = {}
    for panel in system.panels:
        groups.setdefault((panel.layout, panel.mode), []).append(panel)
    modes = {mode for _, mode in groups}
    own = system.layout
    ordered = sorted(
        groups, key=lambda g: (g[0] != own, g[1] != "latency", g[0].nranks, g[0].nodes, g[1])
    )
    dropped = len(ordered) - MOST_VIEWS
    left_out = ""
    if dropped > 0:
        rest = ordered[1:]
        step = len(rest) / (MOST_VIEWS - 1)
        ordered = [ordered[0], *(rest[int((i + 1) * step) - 1] for i in range(MOST_VIEWS - 1))]
        left_out = (
            f"{dropped} more {'layouts' if len(modes) == 1 else 'pairs of layout and mode'} were "
            "measured; they are in the curves against ranks, and in the files."
        )
    out = []
    for number, (layout, mode) in enumerate(ordered):
        label = fmt.layout(layout) + (f", {mode}" if len(modes) > 1 else "")
        group = sorted(groups[(layout, mode)], key=lambda p: (key(p.collective), p.variant))
        out.append(View(f"view{number}", label, layout, mode, group))
    return out, left_out


def bar_sizes(panel: Panel, system: System) -> tuple[list[int], int]:
    """Return the sizes to draw bars for, and which is shown first.

    The sizes that the application uses most come first, then the smallest, the largest and those in
    between; what is shown first is the application's, or else where the choice gains most.
    """
    sizes = [n for n in panel.sizes if len(panel.at(n)) > 1]
    if not sizes:
        return [], 0
    used: dict[int, float] = {}
    if system.profile is not None:
        for call in system.profile.calls:
            if call.collective == panel.collective:
                middle = max(call.bytes_min, 1)
                near = min(sizes, key=lambda n: abs(math.log2(max(n, 1) / middle)))
                used[near] = used.get(near, 0.0) + sum(call.time_s)
    hot = sorted(used, key=lambda n: -used[n])[:3]
    spread = [sizes[round(i * (len(sizes) - 1) / (MOST_SIZES - 1))] for i in range(MOST_SIZES)]
    picked = sorted(list(dict.fromkeys([*hot, *spread]))[:MOST_SIZES])
    first = hot[0] if hot else max(picked, key=lambda n: panel.gain(n) or 0.0)
    return picked, picked.index(first)


def build(system: System) -> Content:
    colours = candidate_colours(system)
    views, left_out = views_of(system)
    parts = breakdown(system.profile) if system.profile else None
    latency = [
        Slot(f, view=view.key, panel=panel)
        for view in views
        for panel in view.panels
        if (f := curves.latency(panel, colours))
    ]
    return Content(
        system,
        parts,
        views,
        [f for f in _runs(system) if f],
        _time(system, parts),
        latency,
        _scaling(system),
        _bars(system, [v for v in views if v.layout == views[0].layout], colours),
        timeline.timeline(system.profile) if system.profile else [],
        _matrices(system),
        tables.shapes(system, parts),
        _layouts(system),
        tables.rows(system, views),
        plans(system),
        _forecasts(system),
        _settings(system),
        left_out,
    )


def _gain_of(scale: ForecastScale) -> str:
    low, high = scale.gain_interval
    return f"{fmt.percent(scale.gain)} ({fmt.percent(low)} to {fmt.percent(high)})"


def _forecasts(system: System) -> list[Outlook]:
    out = []
    for number, f in enumerate(system.forecasts, start=1):
        figure = forecast.elapsed(f)
        figure = dataclasses.replace(figure, name=f"{figure.name}-{number}")
        turns = [f.turning_point(tuned) for tuned in (False, True)]
        words = [
            f"{what} it is still faster at {fmt.count(f.scales[-1].ranks)} cores"
            if turn is None
            else f"{what} more than {fmt.count(turn.ranks)} cores make it slower"
            for what, turn in zip((NATIVE, "tuned"), turns, strict=True)
        ]
        claimed = [s for s in f.scales if f.claims_gain(s)]
        finding = f"{f.name} on {f.platform}: {words[0]}, {words[1]}."
        if claimed:
            most = max(claimed, key=lambda s: s.gain)
            finding += f" Tuning saves most at {fmt.count(most.ranks)} cores: {_gain_of(most)}."
        if f.caution:
            finding += f" This is {f.caution}."
        rows = [
            {
                "layout": f"{s.nodes} x {s.ppn}",
                "cores": fmt.count(s.ranks),
                "native": _between(s.native.total_s, s.native_interval_s),
                "tuned": _between(s.tuned.total_s, s.tuned_interval_s),
                "share": fmt.percent(s.collectives),
                "gain": _gain_of(s) if f.claims_gain(s) else "not claimed",
            }
            for s in f.scales
        ]
        about = (
            f"Native is {f.baseline}. Recorded: {fmt.plural(f.recorded.ranks, 'rank')}, "
            f"{fmt.seconds(f.recorded.wall_s)}, of which {fmt.seconds(f.recorded.compute_s)} "
            f"computing{'' if f.speed == 1 else f'; there {f.speed:g} times as fast'}."
        )
        if f.unpriced:
            about += f" Not priced and left out: {', '.join(f.unpriced)}."
        out.append(Outlook(figure, finding, rows, about))
    return out


def _counts(run: SettingRun, tried: SettingTried) -> bool:
    own = tried.name if tried.parts else None
    mine = run.setting == tried.name and run.beside == own and not run.confirming
    return mine and run.value is not None


def _gain(tried: SettingTried) -> str:
    if tried.gain is None:
        return fmt.NONE
    return fmt.gain_text(tried.gain) if tried.gain.p is not None else "not tested"


def _settings(system: System) -> list[TriedSettings]:
    out = []
    for number, f in enumerate(system.settings, start=1):
        rows = [
            {
                "name": t.name,
                "what": t.what,
                "environment": " ".join(f"{k}={v}" for k, v in t.environment.items()),
                "outcome": t.outcome,
                "why": t.why,
                "gain": _gain(t),
                "p": fmt.NONE if t.gain is None or t.gain.p is None else f"{t.gain.p:.2g}",
                "runs": str(sum(_counts(r, t) for r in f.runs)),
                "chosen": "yes" if t.name == f.setting else "",
            }
            for t in f.tried
        ]
        finding = f.conclusion or "No setting has been decided on yet: the runs are not complete."
        out.append(TriedSettings(settings.gains(f, number), finding, shlex.join(f.command), rows))
    return out


def _between(value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{fmt.seconds(value)} ({fmt.seconds(low)} to {fmt.seconds(high)})"


def _runs(system: System) -> list[Figure | None]:
    return [runs.dots(system.verdict), runs.gain(system.verdict)] if system.verdict else []


def _time(system: System, parts: Breakdown | None) -> list[Figure]:
    if system.profile is None or parts is None:
        return []
    return [profile.overview(parts), profile.ranks(system.profile, parts)]


def _matrices(system: System) -> list[Figure]:
    p = system.profile
    if p is None:
        return []
    found = [
        matrix.heat(p.matrix.messages, p.nranks, "rank"),
        matrix.heat(p.node_matrix.messages, len(p.nodes), "node", [n.name for n in p.nodes]),
    ]
    return [f for f in found if f]


def over_ranks(system: System) -> list[list[Panel]]:
    """Return the panels that differ by their layout only, where there are two rank counts."""
    groups: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in system.panels:
        groups.setdefault((panel.collective, panel.mode, panel.variant), []).append(panel)
    key = importance(system)
    ordered = sorted(groups.items(), key=lambda g: (key(g[0][0]), g[0]))
    return [found for _, found in ordered if len({p.layout.nranks for p in found}) > 1]


def _scaling(system: System) -> list[list[Figure]]:
    out = []
    for panels in over_ranks(system):
        if picked := curves.three_sizes(panels):
            out.append([f for number in picked if (f := curves.scaling(panels, number))])
    return out


def _layouts(system: System) -> list[Slot]:
    """Return, for each collective of a table of several layouts, the best choice on each."""
    out = []
    for table in system.tables:
        places = sorted({(r.nodes, r.ppn) for r in table.rows if r.nodes and r.ppn})
        key = importance(system)
        for name in sorted({r.collective for r in table.rows}, key=key):
            measured = {n for p in system.panels if p.collective == name for n in p.sizes}
            sizes = sorted(measured or {r.low for r in table.rows if r.collective == name})
            sizes = [
                sizes[round(i * (len(sizes) - 1) / (MOST_SIZES - 1))] for i in range(MOST_SIZES)
            ]
            found: list[tuple[float, int, Figure]] = []
            for size in dict.fromkeys(sizes):
                at = {(a or 0, b or 0): table.find(name, a or 0, b or 0, size) for a, b in places}
                there = {where: row for where, row in at.items() if row is not None}
                figure = matrix.best_choice(name, size, there)
                if figure is not None:
                    gained = sum(1 / r.ratio for r in there.values() if r.ratio)
                    found.append((gained, size, figure))
            if found:
                shown = max(range(len(found)), key=lambda i: found[i][0])
                out.append(
                    Slot([f for _, _, f in found], [fmt.size(n) for _, n, _ in found], shown)
                )
    return out


def _bars(system: System, views: list[View], colours: dict[str, str]) -> list[Slot]:
    out = []
    both = [(panel, view.key) for view in views for panel in view.panels]
    key = importance(system)  # the modes of one collective stand side by side
    for panel, view_key in sorted(both, key=lambda b: (key(b[0].collective), b[0].variant)):
        sizes, first = bar_sizes(panel, system)
        found = [(n, f) for n in sizes if (f := bars.candidates(panel, n, colours))]
        if found:
            keys = [fmt.size(n) for n, _ in found]
            out.append(Slot([f for _, f in found], keys, first, view_key, panel))
    return out
