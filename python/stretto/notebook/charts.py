"""The report's charts as objects of Altair, which a notebook shows and a program changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt

from stretto.files.bench import Bench
from stretto.files.profile import Profile
from stretto.net.systems import systems
from stretto.report import network, render, theme
from stretto.report.breakdown import breakdown
from stretto.report.figures import bars, curves, matrix, profile, timeline
from stretto.report.figures.data import Chart
from stretto.report.points import Panel, panels_of
from stretto.report.render import Figure

_KINDS = {"hconcat": alt.hconcat, "layer": alt.layer}
Charts = Mapping[str, Callable[[], alt.TopLevelMixin]]


def of_bench(found: Bench) -> Charts:
    """Return charts by collective: time against size, or bars where there is one size."""
    by_name: dict[str, list[Panel]] = {}
    for panel in panels_of([found]):
        by_name.setdefault(panel.collective, []).append(panel)

    def draw(name: str) -> alt.TopLevelMixin:
        figures: list[Figure | None] = []
        for panel in by_name[name]:
            lines = curves.latency(panel, {})
            figures += lines or [bars.candidates(panel, size, {}) for size in panel.sizes]
        return _chart([figure for figure in figures if figure is not None], 2)

    return {name: partial(draw, name) for name in by_name}


def of_profile(found: Profile) -> Charts:
    """Return charts: the time of each rank, who sends to whom, the sampled calls."""
    heat = matrix.heat(found.matrix.messages, found.nranks, "rank")
    out: dict[str, Callable[[], alt.TopLevelMixin]] = {
        "ranks": lambda: _chart([profile.ranks(found, breakdown(found))], 1)
    }
    if heat is not None:
        out["messages"] = lambda: _chart([heat], 1)
    if found.timeline:
        out["timeline"] = lambda: _chart(timeline.timeline(found), 1)
    return out


def of_net(path: Path) -> Charts:
    """Return charts by section of the report: latency, bandwidth, streams, rails, cores, pairs."""
    shown = network.alone(systems([path])[0])
    return {key: partial(_chart, figures, 2) for key, _, figures in shown.sections}


def _chart(figures: Sequence[Figure], columns: int) -> alt.TopLevelMixin:
    parts = [_altair(render.titled(figure)) for figure in figures]
    out = parts[0] if len(parts) == 1 else alt.concat(*parts, columns=columns)
    out.config = theme.config()
    return out


def _altair(part: Chart) -> Any:
    """Return a chart of the report in Altair's classes; their ``from_dict`` takes ten seconds."""
    if isinstance(part, alt.Chart):
        return part
    out = _KINDS[part.kind](*map(_altair, part.parts))
    for name, value in part.own.items():
        setattr(out, name, value)
    return out
