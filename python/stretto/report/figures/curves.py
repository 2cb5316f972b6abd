"""Time per call against message size, and against ranks: native, all candidates, the chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import HUES, beside
from stretto.report.figures.lines import (
    MICRO,
    SMALL,
    Colours,
    Line,
    Values,
    chart,
    in_seconds,
    time_y,
)
from stretto.report.points import NATIVE, CandidatePoint, Panel, ever_chosen, ever_fastest
from stretto.report.render import Figure

#: candidates that the MPI carries out
MPI_ALONE = (NATIVE, "bare")
MOST_LINES = 18  # as many names as fit beside a chart


def _lines(panel: Panel, colours: Colours) -> list[Line]:
    ever = _emphasised(panel, colours)
    lines = []
    for name in panel.candidates:
        if name == NATIVE:
            colour, emphasis = theme.colour("native"), 2
        elif name in ever:
            colour, emphasis = colours.get(name, theme.colour("slate")), 1
        else:
            colour, emphasis = theme.colour("other-mpi"), 0
        points = panel.of(name)
        xs = [float(p.bytes) for p in points]
        lines.append(Line(name, fmt.choice(points[0].name, 20), colour, emphasis, xs, points))
    return sorted(lines, key=lambda line: line.emphasis)


def _emphasised(panel: Panel, colours: Colours) -> set[str]:
    """Return the candidates that the table chooses, and without one the fastest."""
    return {*ever_chosen([panel]), *(n for n in ever_fastest([panel]) if n in colours)}


def _kept(panel: Panel, colours: Colours) -> set[str]:
    """Return the candidates to draw: native, the emphasised, and of the others the fastest."""
    native = {p.bytes: p.estimate.median for p in panel.of(NATIVE)}

    def best(name: str) -> float:
        points = panel.of(name)
        ratios = [p.relative.median for p in points if p.relative is not None]
        ratios = ratios or [
            p.estimate.median / native[p.bytes] for p in points if native.get(p.bytes)
        ]
        return min(ratios, default=math.inf)

    always = {NATIVE, *_emphasised(panel, colours)}
    others = sorted((n for n in panel.candidates if n not in always), key=best)
    return (always & set(panel.candidates)) | set(others[: max(0, MOST_LINES - len(always))])


def latency(panel: Panel, colours: Colours) -> list[Figure]:
    """Draw time per call against message size for one panel, absolute and relative to native.

    Over several decades lines that differ by half lie on one another; the second figure, in which
    native is the line at 1, is where a choice is seen.

    Empty when there is only one size (or none above zero bytes): the bars show that. One figure
    when native was not measured.
    """
    points = [p for p in panel.points if p.bytes > 0 and p.estimate.low > 0]
    sizes = sorted({p.bytes for p in points})
    if len(sizes) < 2:
        return []
    kept = _kept(panel, colours)
    points = [p for p in points if p.candidate in kept]
    drawn = replace(panel, points=points)
    lines = _lines(drawn, colours)
    x = axes.size_x("x", sizes)
    note = panel.setting
    dropped = len(panel.candidates) - len(kept)
    if dropped:
        note += f"; {fmt.slowest_left_out(dropped, len(panel.candidates), 'candidate')}"
    out = [
        Figure(
            f"latency-{panel.name}",
            f"{panel.function}: time per call",
            chart(lines, x, time_y(points), in_seconds, drawn),
            note,
            panel.simulated,
        )
    ]
    native = {p.bytes: p.estimate.median * MICRO for p in drawn.of(NATIVE)}

    def relative(point: CandidatePoint) -> Values | None:
        r = point.relative
        if r is not None and point.candidate != NATIVE:
            return r.median, r.low, r.high
        base, e = native.get(point.bytes), point.estimate
        if base is None:
            return None
        # native's own interval, and what no launch measured together with native
        return e.median * MICRO / base, e.low * MICRO / base, e.high * MICRO / base

    ratios = [v[0] for p in points if (v := relative(p)) is not None]
    if len(native) > 1 and len(lines) > 1:
        y = axes.ratio_y("t", min(ratios), max(ratios), panel.native_words)
        out.append(
            Figure(
                f"relative-{panel.name}",
                f"{panel.function}: time relative to {panel.native_words}",
                chart(lines, x, y, relative, drawn),
                f"{note}; below 1 is faster",
                panel.simulated,
            )
        )
    return out


class Ranked(NamedTuple):
    """Panels of one collective on several layouts.

    `label`: what the table's choice is called. `system`: whose they are, where several are drawn.
    """

    panels: Sequence[Panel]
    label: str = "chosen"
    system: str = ""


def over_ranks(panels: Sequence[Panel]) -> list[Figure]:
    """Draw time per call against ranks, at a small, a medium and a large size."""
    groups = [Ranked(panels)]
    return [f for number in _picked(groups) if (f := scaling(groups, number))]


def _picked(groups: Sequence[Ranked]) -> list[int]:
    """Return a small, a medium and a large size measured on two numbers of ranks.

    Sizes that all panels have come before others.
    """
    panels = [p for g in groups for p in g.panels]
    sizes = sorted({n for p in panels for n in p.sizes})
    drawn = [n for n in sizes if any(len(_by_ranks(g.panels, n)) > 1 for g in groups)]
    found = [n for n in drawn if all(p.point(NATIVE, n) for p in panels)] or drawn
    return sorted({found[0], found[len(found) // 2], found[-1]}) if found else []


def processes(systems: Mapping[str, Sequence[Panel]], note: str) -> Figure | None:
    """Draw Stretto against the MPI over ranks, at a small, a medium and a large size.

    `systems`: the panels of one collective by the system's name, at least one panel in all.
    Stretto is the table's choice, or without a table the fastest candidate. `note`: what the
    systems are. None when no size was measured on two numbers of ranks.
    """
    groups = []
    for name, panels in systems.items():
        decided = any(p.chosen for p in panels)
        taken = panels if decided else [replace(p, chosen=_fastest(p)) for p in panels]
        groups.append(Ranked(taken, "Stretto" if decided else "Stretto, fastest", name))
    found = [f for number in _picked(groups) if (f := scaling(groups, number, head=True))]
    if not found:
        return None
    first = next(p for g in groups for p in g.panels)
    charts = [f.chart for f in found]
    return Figure(
        f"processes-{first.kind}",
        f"{first.function} over processes",
        charts[0] if len(charts) == 1 else beside(*charts),
        f"{note}\n{found[0].note}",
        any(f.simulated for f in found),
    )


def _fastest(panel: Panel) -> dict[int, str]:
    out = {}
    for number in panel.sizes:
        own = [p for p in panel.at(number) if p.correct and not p.candidate.startswith(MPI_ALONE)]
        if own:
            out[number] = own[0].candidate
    return out


def _by_ranks(panels: Sequence[Panel], number: int) -> dict[int, Panel]:
    """Return the panels with native at one size by their ranks; of several, on fewest nodes."""
    out: dict[int, Panel] = {}
    for panel in sorted(panels, key=lambda p: p.layout.nodes):
        native = panel.point(NATIVE, number)
        if native is not None and native.estimate.low > 0:
            out.setdefault(panel.layout.nranks, panel)
    return {ranks: out[ranks] for ranks in sorted(out)}


def scaling(groups: Sequence[Ranked], number: int, head: bool = False) -> Figure | None:
    """Draw time per call against ranks at one size: native, and the table's choice.

    Of layouts with as many ranks, the one on fewest nodes counts: a curve has one point for each.
    None when no system has that size on two numbers of ranks. `head`: whether the title stands in
    the chart itself.
    """
    several = len(groups) > 1
    lines: list[Line] = []
    longest = 0
    for group, own in zip(groups, HUES, strict=False):
        panels = _by_ranks(group.panels, number)
        longest = max(longest, len(panels))
        chosen = [p for q in panels.values() if (p := q.choice_at(number)) and p.estimate.low > 0]
        native = [p for q in panels.values() if (p := q.point(NATIVE, number))]
        called = ", ".join(dict.fromkeys(p.name for p in native))
        for name, label, hue, emphasis, points in (
            ("tuned", group.label, "blue", 1, chosen),
            (NATIVE, called, "native", 2, native),
        ):
            words = f"{group.system}, {label}" if several else label
            colour = theme.colour(own if several else hue)
            xs = [float(p.layout.nranks) for p in points]
            who = words if several else ""
            lines += [Line(name, words, colour, emphasis, xs, points, who)] if points else []
    if longest < 2:
        return None
    points = [p for line in lines for p in line.points]
    ranks = sorted({p.layout.nranks for p in points})
    x = axes.log_cores_x("x", ranks, "Ranks", axes.size_ticks(ranks, 7))
    first = next(p for g in groups for p in g.panels)
    mode = first.mode if several or not first.calls else f"{first.mode}, {first.calls}"
    return Figure(
        f"scaling-{first.kind}-{number}B",
        first.title(number),
        chart(lines, x, time_y(points), room=SMALL, head=first.title(number) if head else ""),
        f"time per call against ranks, {mode}; on the fewest nodes",
        any(p.simulated for p in points),
    )
