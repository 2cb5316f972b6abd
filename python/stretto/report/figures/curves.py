"""Time per call against message size, and against ranks: native, all candidates, the chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import beside
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
from stretto.report.points import NATIVE, CandidatePoint, Panel, ever_chosen
from stretto.report.render import Figure

#: candidates that the MPI carries out
MPI_ALONE = (NATIVE, "bare")
MOST_LINES = 18  # as many names as fit beside a chart


def _lines(panel: Panel, colours: Colours) -> list[Line]:
    ever = ever_chosen([panel])
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
        lines.append(Line(name, fmt.choice(name, 20), colour, emphasis, xs, points))
    return sorted(lines, key=lambda line: line.emphasis)


def _kept(panel: Panel) -> set[str]:
    """Return the candidates to draw: native, the chosen, and of the others the fastest."""
    native = {p.bytes: p.estimate.median for p in panel.of(NATIVE)}

    def best(name: str) -> float:
        points = panel.of(name)
        ratios = [p.relative.median for p in points if p.relative is not None]
        ratios = ratios or [
            p.estimate.median / native[p.bytes] for p in points if native.get(p.bytes)
        ]
        return min(ratios, default=math.inf)

    always = {NATIVE, *ever_chosen([panel])}
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
    kept = _kept(panel)
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
        y = axes.ratio_y("t", min(ratios), max(ratios))
        out.append(
            Figure(
                f"relative-{panel.name}",
                f"{panel.function}: time relative to native",
                chart(lines, x, y, relative, drawn),
                f"{note}; below 1 is faster",
                panel.simulated,
            )
        )
    return out


def over_ranks(panels: Sequence[Panel], label: str = "chosen") -> list[Figure]:
    """Draw time per call against ranks, at a small, a medium and a large size that all have."""
    shared = sorted(set.intersection(*(set(p.sizes) for p in panels)))
    picked = sorted({shared[0], shared[len(shared) // 2], shared[-1]}) if shared else []
    return [f for number in picked if (f := scaling(panels, number, label))]


def processes(panels: Sequence[Panel]) -> Figure | None:
    """Draw Stretto against the MPI over ranks, at a small, a medium and a large size.

    `panels`: one collective's, of several layouts. Stretto is the table's choice, or without a
    table the fastest candidate. None when fewer than two rank counts have a size.
    """
    decided = any(p.chosen for p in panels)
    taken = list(panels) if decided else [replace(p, chosen=_fastest(p)) for p in panels]
    label = "Stretto" if decided else "Stretto, fastest"
    found = over_ranks(taken, label)
    if not found:
        return None
    charts = [f.chart.properties(title=alt.TitleParams(f.title)) for f in found]
    return Figure(
        f"processes-{panels[0].kind}",
        f"{panels[0].function} over processes",
        charts[0] if len(charts) == 1 else beside(*charts),
        found[0].note,
        any(f.simulated for f in found),
    )


def _fastest(panel: Panel) -> dict[int, str]:
    out = {}
    for number in panel.sizes:
        own = [p for p in panel.at(number) if p.correct and not p.candidate.startswith(MPI_ALONE)]
        if own:
            out[number] = own[0].candidate
    return out


def scaling(panels: Sequence[Panel], number: int, label: str = "chosen") -> Figure | None:
    """Draw time per call against ranks at one size: native, and the table's choice (`label`).

    Of layouts with as many ranks, the one on fewest nodes counts: a curve has one point for each.
    None when fewer than two rank counts have that size.
    """
    fullest: dict[int, Panel] = {}
    for panel in sorted(panels, key=lambda p: p.layout.nodes):
        if not panel.point(NATIVE, number):
            continue
        fullest.setdefault(panel.layout.nranks, panel)
    panels = list(fullest.values())
    native = [p for q in panels if (p := q.point(NATIVE, number))]
    chosen = [p for q in panels if (p := q.choice_at(number))]
    points = [p for p in native + chosen if p.estimate.low > 0]
    ranks = sorted({p.layout.nranks for p in points})
    if len(ranks) < 2:
        return None
    x = axes.log_cores_x("x", ranks, "Ranks", axes.size_ticks(ranks, 7))
    lines = [
        Line(name, label, theme.colour(hue), emphasis, [float(p.layout.nranks) for p in ps], ps)
        for name, label, hue, emphasis, ps in (
            ("tuned", label, "blue", 1, sorted(chosen, key=lambda p: p.layout)),
            (NATIVE, NATIVE, "native", 2, sorted(native, key=lambda p: p.layout)),
        )
    ]
    return Figure(
        f"scaling-{panels[0].kind}-{number}B",
        panels[0].title(number),
        chart(lines, x, time_y(points), room=SMALL),
        f"time per call against ranks, {panels[0].mode}; on the fewest nodes",
        any(p.simulated for p in points),
    )
