"""The page of one system: figures, tables and findings, section by section."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stretto.files.forecast import ForecastFile, ForecastScale
from stretto.files.layout import RankLayout
from stretto.files.settings import SettingsFile, Tried
from stretto.files.table import Row
from stretto.report import facts, findings, learned, page, tables, theme
from stretto.report import format as fmt
from stretto.report.breakdown import Breakdown, breakdown
from stretto.report.figures import (
    bars,
    curves,
    matrix,
    profile,
    runs,
    scaling,
    timeline,
)
from stretto.report.load import System
from stretto.report.page import Head, PageFiles
from stretto.report.plans import Drawn, plans
from stretto.report.points import NATIVE, Panel, ever_chosen, ever_fastest
from stretto.report.render import Figure
from stretto.report.tables import View, importance

MOST_VIEWS = 6
MOST_SIZES = 5
MOST_SHAPES = 15


@dataclass
class Slot:
    """Figures of which one is shown at a time, by the reader's pick; `keys` labels them."""

    figures: list[Figure]
    keys: list[str] = field(default_factory=list)
    shown: int = 0
    view: str = ""
    panel: Panel | None = None


@dataclass
class Content:
    """Everything that the page of one system shows; lists without data make no section."""

    system: System
    parts: Breakdown | None
    views: list[View]
    left_out: str
    runs: list[Figure]
    time: list[Figure]
    timeline: list[Figure]
    latency: list[Slot]
    ranks: list[list[Figure]]
    candidates: list[Slot]
    layouts: list[Slot]
    plans: list[Drawn]
    forecasts: list[tuple[ForecastFile, Figure]]
    settings: list[tuple[SettingsFile, Figure | None]]
    matrices: list[Figure]

    @property
    def figures(self) -> list[Figure]:
        slots = [*self.latency, *self.candidates, *self.layouts]
        return [
            *self.runs,
            *self.time,
            *self.timeline,
            *(f for slot in slots for f in slot.figures),
            *(f for row in self.ranks for f in row),
            *self.matrices,
            *(f for _, f in self.forecasts),
            *(f for _, f in self.settings if f is not None),
        ]


def build(system: System) -> Content:
    picked = ever_chosen(system.panels) or ever_fastest(system.panels)
    colours = {name: theme.chosen_colour(i) for i, name in enumerate(picked)}
    views, left_out = views_of(system)
    p, v = system.profile, system.verdict
    parts = breakdown(p) if p is not None else None
    matrices = [] if p is None else [
        matrix.heat(p.matrix.messages, p.nranks, "rank"),
        matrix.heat(p.node_matrix.messages, len(p.nodes), "node", [n.name for n in p.nodes]),
    ]  # fmt: skip
    return Content(
        system,
        parts,
        views,
        left_out,
        runs=[f for f in (runs.dots(v), runs.gain(v)) if f] if v is not None else [],
        time=[profile.overview(parts), profile.ranks(p, parts)] if p and parts else [],
        timeline=timeline.timeline(p) if p is not None else [],
        latency=[
            Slot(found, view=view.key, panel=panel)
            for view in views
            for panel in view.panels
            if (found := curves.latency(panel, colours))
        ],
        ranks=[
            found for panels in by_kind(system).values() if (found := curves.over_ranks(panels))
        ],
        candidates=_candidates(system, [v for v in views if v.layout == views[0].layout], colours),
        layouts=_layouts(system),
        plans=plans(system),
        forecasts=[
            (f, dataclasses.replace(drawn, name=f"{drawn.name}-{number}"))
            for number, f in enumerate(system.forecasts, start=1)
            for drawn in [scaling.forecast_elapsed(f)]
        ],
        settings=[(f, runs.settings(f, i)) for i, f in enumerate(system.settings, start=1)],
        matrices=[f for f in matrices if f],
    )


def write(content: Content, to: PageFiles) -> list[str]:
    """Write the page and the charts that were asked for; return their paths."""
    system = content.system
    rows = tables.sorted_rows(system)
    found = learned.learned_rows(system)
    sections = (
        ("application", "Application", content.runs), ("time", "Time", content.parts),
        ("latency", "Latency", content.latency), ("ranks", "Ranks", content.ranks),
        ("candidates", "Candidates", content.candidates), ("table", "Table", rows),
        ("learned", "Learned", found), ("plans", "Plans", content.plans),
        ("scale", "Scale", content.forecasts), ("settings", "Settings", content.settings),
        ("communication", "Communication", content.matrices), ("method", "Method", True),
    )  # fmt: skip
    head = Head(
        "report",
        system.name,
        findings.headline(system)[0],
        sections,
        facts.facts_of(system),
        findings.following(system),
        findings.details(system),
        findings.busy_notes(system)[:1],
        system.simulated,
    )
    return page.write(
        "report.html.j2",
        head,
        content.figures,
        to,
        c=content,
        rows=rows,
        forest=tables.Forest(rows),
        row_views=_row_views(content.views, rows),
        learned_rows=found,
        most_shapes=MOST_SHAPES,
        native=" or ".join(sorted({p.native_words for p in system.panels}) or [NATIVE]),
        has_choice=bool(ever_chosen(system.panels)),
        tables=tables,
        learned=learned,
        facts=facts,
        findings=findings,
        outlook=_outlook,
        gain_of=_gain_of,
        runs_of=_runs_of,
    )


def _row_views(views: Sequence[View], rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return the layouts by which the rows can be picked; none where all are of one."""
    seen: dict[str, str] = {}
    for view in views:
        if any(view.applies(row) for row in rows):
            seen.setdefault(fmt.layout(view.layout), view.key)
    several = len({tables.row_layout(row) for row in rows}) > 1
    return [{"key": key, "label": label} for label, key in seen.items()] if several else []


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
        ordered = [ordered[0], *_spread(ordered[1:], MOST_VIEWS - 1)]
        left_out = (
            f"{dropped} more {'layouts' if len(modes) == 1 else 'pairs of layout and mode'} are in "
            "the files."
        )
    out = []
    for number, (layout, mode) in enumerate(ordered):
        label = fmt.layout(layout) + (f", {mode}" if len(modes) > 1 else "")
        group = sorted(groups[(layout, mode)], key=lambda p: (key(p.collective), p.variant))
        out.append(View(f"view{number}", label, layout, mode, group))
    return out, left_out


def _spread(values: list[Any], most: int) -> list[Any]:
    """Return at most so many of several values, evenly spread, the first and the last of them."""
    picked = (values[round(i * (len(values) - 1) / (most - 1))] for i in range(most))
    return list(dict.fromkeys(picked))


def bar_sizes(panel: Panel, system: System) -> tuple[list[int], int]:
    """Return the sizes to draw bars for, and which is shown first.

    The sizes that the application uses most come first, then the smallest, the largest and those in
    between; what is shown first is the application's, or else where the choice gains most.
    """
    sizes = [n for n in panel.sizes if len(panel.at(n)) > 1]
    if not sizes:
        return [], 0
    used: dict[int, float] = {}
    for call in system.profile.calls if system.profile is not None else ():
        if call.collective == panel.collective:
            middle = max(call.bytes_min, 1)
            near = min(sizes, key=lambda n: abs(math.log2(max(n, 1) / middle)))
            used[near] = used.get(near, 0.0) + sum(call.time_s)
    hot = sorted(used, key=lambda n: -used[n])[:3]
    picked = sorted(list(dict.fromkeys([*hot, *_spread(sizes, MOST_SIZES)]))[:MOST_SIZES])
    first = hot[0] if hot else max(picked, key=lambda n: panel.gain(n) or 0.0)
    return picked, picked.index(first)


def _candidates(system: System, views: list[View], colours: dict[str, str]) -> list[Slot]:
    out = []
    both = [(panel, view.key) for view in views for panel in view.panels]
    key = importance(system)  # the modes of one collective stand side by side
    for panel, view_key in sorted(both, key=lambda b: (key(b[0].collective), b[0].variant)):
        sizes, first = bar_sizes(panel, system)
        found = [f for n in sizes if (f := bars.candidates(panel, n, colours))]
        if found:
            out.append(Slot(found, [fmt.size(n) for n in sizes], first, view_key, panel))
    return out


def by_kind(system: System) -> dict[str, list[Panel]]:
    """Return the panels that differ by their layout only, the most important collective first."""
    key = importance(system)
    groups: dict[str, list[Panel]] = {}
    for p in sorted(system.panels, key=lambda p: (key(p.collective), p.kind, p.layout)):
        groups.setdefault(p.kind, []).append(p)
    return groups


def _layouts(system: System) -> list[Slot]:
    """Return, for each collective of a table of several layouts, the best choice on each."""
    out = []
    for table in system.tables:
        places = sorted({(r.nodes, r.ppn) for r in table.rows if r.nodes and r.ppn})
        for name in sorted({r.collective for r in table.rows}, key=importance(system)):
            measured = {n for p in system.panels if p.collective == name for n in p.sizes}
            sizes = sorted(measured or {max(r.low, 8) for r in table.rows if r.collective == name})
            found: list[tuple[float, int, Figure]] = []
            for size in _spread(sizes, MOST_SIZES):
                at = {(a or 0, b or 0): table.find(name, a or 0, b or 0, size) for a, b in places}
                there = {where: row for where, row in at.items() if row is not None}
                figure = matrix.best_choice(name, size, there)
                if figure is not None:
                    gained = sum(1 / r.ratio for r in there.values() if r.ratio)
                    found.append((gained, size, figure))
            if found:
                shown = max(range(len(found)), key=lambda i: found[i][0])
                keys = [fmt.size(n) for _, n, _ in found]
                out.append(Slot([f for *_, f in found], keys, shown))
    return out


def _gain_of(scale: ForecastScale) -> str:
    low, high = scale.gain_interval
    return f"{fmt.percent(scale.gain)} ({fmt.percent(low)} to {fmt.percent(high)})"


def _outlook(system: System, f: ForecastFile) -> str:
    """Return what a forecast says: where it stops scaling, and where tuning saves most."""
    text = findings.unsaid(system, findings.fastest_cores(f))
    if claimed := [s for s in f.scales if f.claims_gain(s)]:
        most = max(claimed, key=lambda s: s.gain)
        text += f" Tuning saves most at {fmt.count(most.ranks)} cores: {_gain_of(most)}."
    return " ".join([text, *(fmt.sentence(c) for c in f.cautions if c != f.lacking)]).strip()


def _runs_of(found: SettingsFile, tried: Tried) -> int:
    """Return how many good runs there are of a setting in the first part, or of a combination."""
    own = tried.name if tried.parts else None
    mine = [r for r in found.runs if (r.setting, r.beside) == (tried.name, own)]
    return sum(r.value is not None for r in mine)
