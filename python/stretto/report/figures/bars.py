"""All candidates at one message size, fastest first; slow ones are clipped, with their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, layer, looked_up
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.lines import MICRO, Colours
from stretto.report.points import NATIVE, CandidatePoint, Panel
from stretto.report.render import Figure

WIDTH, STEP = 230, 22
MOST = 24  # candidates drawn; a longer list is a table, not a picture
CLIP = 3.0  # bars end at so many times native


def candidates(panel: Panel, number: int, colours: Colours) -> Figure | None:
    """Draw the bars for one size.

    `number`: message size in bytes.
    None when fewer than two candidates have that size.
    """
    points = panel.at(number)
    if len(points) < 2:
        return None
    chosen = panel.chosen.get(number)
    kept = points[:MOST]
    kept += [p for p in points[MOST:] if p.candidate in (NATIVE, chosen)]
    native = panel.point(NATIVE, number)
    slowest = max(p.estimate.high for p in kept)
    anchor = native.estimate.median if native else kept[0].estimate.median
    limit = max(CLIP * anchor, 1.5 * kept[0].estimate.median)
    # Clipping a bar that is only a little longer would hide more than it shows.
    limit = slowest * 1.02 if slowest <= limit * 1.25 else limit
    rows = [_row(p, native, chosen, anchor, limit, colours) for p in kept]
    layers = _layers(rows, limit, native)
    note = panel.setting
    if len(kept) < len(points):
        left = len(points) - len(kept)
        note += f"; {fmt.slowest_left_out(left, len(points), 'candidate')}"
    return Figure(
        f"bars-{panel.name}-{number}B",
        f"{panel.title(number)}: all candidates",
        layer(*layers).properties(width=WIDTH, height=alt.Step(STEP)),
        note,
        any(p.simulated for p in kept),
    )


def _row(
    p: CandidatePoint,
    native: CandidatePoint | None,
    chosen: str | None,
    anchor: float,
    limit: float,
    colours: Colours,
) -> dict[str, object]:
    e = p.estimate
    if p.candidate == NATIVE:
        colour = theme.colour("native")
    elif p.candidate == chosen:
        colour = colours.get(p.candidate, theme.colour("blue"))
    else:
        colour = theme.colour("compute")
    clipped = e.median > limit
    words = fmt.microseconds(e.median)
    if clipped:
        words += f"  ({fmt.factor(e.median / anchor)} native)" if native else ""
    mark = " \u2190 chosen" if p.candidate == chosen else ""
    wrong = "" if p.correct else "  WRONG RESULTS"
    return {
        "name": p.candidate,
        "label": fmt.choice(p.candidate),
        "t": min(e.median, limit) * MICRO,
        "lo": min(e.low, limit) * MICRO,
        "hi": min(e.high, limit) * MICRO,
        "end": min(max(e.high, e.median), limit) * MICRO,
        "clip": clipped,
        "hue": colour,
        "text": words + mark + wrong,
        "d": f"{p.candidate}: median {fmt.microseconds(e.median)}"
        f" ({fmt.microseconds(e.low)} to {fmt.microseconds(e.high)}),"
        f" {fmt.plural(e.launches, 'launch', 'launches')}"
        + (", source: simulated" if p.simulated else "")
        + wrong,
    }


def _layers(
    rows: Sequence[dict[str, object]], limit: float, native: CandidatePoint | None
) -> list[alt.Chart]:
    order = [str(r["name"]) for r in rows]
    names = {str(r["name"]): str(r["label"]) for r in rows}
    base = chart_of(rows)
    y = axes.names_y("name", order, labelExpr=looked_up(names), labelLimit=170)
    x = axes.linear_time(alt.X, "t", limit * MICRO, "Time per call")
    bars = base.mark_bar(height=14).encode(x=x, y=y, color=HUE, description=DESCRIBED)
    # A clipped bar is cut by two strokes in the paper's colour, the usual sign of a broken scale.
    cuts = [
        base.transform_filter("datum.clip")
        .mark_text(text="/", fontSize=20, fontWeight="bold", color=theme.colour("paper"), dx=dx)
        .encode(x=x, y=y)
        for dx in (-22, -15)
    ]
    whiskers = (
        base.transform_filter("!datum.clip && datum.hi > datum.lo")
        .mark_rule(color=theme.colour("ink"), strokeWidth=1.1)
        .encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y)
    )
    # a rim in the paper's colour keeps the number readable where it crosses a line
    value = {"x": alt.X("end:Q"), "y": y, "text": alt.Text("text:N")}
    paper = theme.colour("paper")
    rim = base.mark_text(align="left", dx=6, fontSize=11, color=paper, stroke=paper, strokeWidth=4)
    text = base.mark_text(align="left", dx=6, fontSize=11)
    values = [rim.encode(**value), text.encode(**value)]
    layers = [bars, *cuts, whiskers, *values]
    if native:
        rule = chart_of([{"t": native.estimate.median * MICRO}])
        style: dict[str, Any] = {
            "color": theme.colour("native"),
            "strokeDash": [3, 3],
            "strokeWidth": 1,
        }
        layers.insert(0, rule.mark_rule(**style).encode(x=x))
    return layers
