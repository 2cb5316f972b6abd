"""All candidates at one message size, fastest first; slow ones are cut, with their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, Composed, layer, looked_up
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
    anchor = native.estimate.median if native else kept[0].estimate.median
    limit = end_of(
        max(CLIP * anchor, 1.5 * kept[0].estimate.median), [p.estimate.high for p in kept]
    )
    names = fmt.distinct({p.candidate: fmt.choice(p.candidate) for p in kept})
    rows = [_row(p, names[p.candidate], chosen, limit, colours) for p in kept]
    note = panel.setting
    if len(kept) < len(points):
        left = len(points) - len(kept)
        note += f"; {fmt.slowest_left_out(left, len(points), 'candidate')}"
    rule = None if native is None else native.estimate.median
    return Figure(
        f"bars-{panel.name}-{number}B",
        f"{panel.title(number)}: all candidates",
        cut_bars(rows, limit, rule, labelLimit=170).properties(width=WIDTH, height=alt.Step(STEP)),
        note,
        any(p.simulated for p in kept),
    )


def _row(
    p: CandidatePoint, label: str, chosen: str | None, limit: float, colours: Colours
) -> dict[str, object]:
    e = p.estimate
    if p.candidate == NATIVE:
        colour = theme.colour("native")
    elif p.candidate == chosen:
        colour = colours.get(p.candidate, theme.colour("blue"))
    else:
        colour = theme.colour("compute")
    mark = " \u2190 chosen" if p.candidate == chosen else ""
    wrong = "" if p.correct else "  WRONG RESULTS"
    words = (
        f"{p.candidate}: median {fmt.microseconds(e.median)}"
        f" ({fmt.microseconds(e.low)} to {fmt.microseconds(e.high)}),"
        f" {fmt.plural(e.launches, 'launch', 'launches')}"
        + (", source: simulated" if p.simulated else "")
        + wrong
    )
    return {"hue": colour} | bar(
        p.candidate, label, (e.median, e.low, e.high), limit, mark + wrong, words
    )


def end_of(limit: float, times: Sequence[float]) -> float:
    """Return where bars are cut: nowhere, if the longest is only a little longer than `limit`."""
    slowest = max(times)
    return slowest * 1.02 if slowest <= limit * 1.25 else limit


def bar(
    name: str, label: str, times: tuple[float, float, float], limit: float, mark: str, words: str
) -> dict[str, object]:
    """Return the row of a bar.

    `name`: a key of its own. `times`: median, low and high, in microseconds like `limit`.
    `mark`: what stands behind the number. `words`: the tooltip.
    """
    median, low, high = times
    return {
        "name": name,
        "label": label,
        "t": min(median, limit) * MICRO,
        "lo": min(low, limit) * MICRO,
        "hi": min(high, limit) * MICRO,
        "end": min(max(high, median), limit) * MICRO,
        "clip": median > limit,
        "text": fmt.microseconds(median) + mark,
        "d": words,
    }


def cut_bars(
    rows: Sequence[Mapping[str, object]],
    limit: float,
    rule: float | None,
    colour: alt.Color = HUE,
    **axis: Any,
) -> Composed:
    """Draw rows of `bar`, the first on top.

    `rule`: where a dashed line stands, in microseconds; None: nowhere.
    """
    base = chart_of(rows)
    labels = {str(r["name"]): str(r["label"]) for r in rows}
    y = axes.names_y("name", list(labels), labelExpr=looked_up(labels), **axis)
    x = axes.linear_time(alt.X, "t", limit * MICRO, "Time per call")
    bars = base.mark_bar(height=14).encode(x=x, y=y, color=colour, description=DESCRIBED)
    # A cut bar has two strokes in the paper's colour, the usual sign of a broken scale.
    paper = theme.colour("paper")
    cuts = [
        base.transform_filter("datum.clip")
        .mark_text(text="/", fontSize=20, fontWeight="bold", color=paper, dx=dx)
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
    rim = base.mark_text(align="left", dx=6, fontSize=11, color=paper, stroke=paper, strokeWidth=4)
    text = base.mark_text(align="left", dx=6, fontSize=11)
    layers = [bars, *cuts, whiskers, rim.encode(**value), text.encode(**value)]
    if rule is not None:
        style: dict[str, Any] = {
            "color": theme.colour("native"),
            "strokeDash": [3, 3],
            "strokeWidth": 1,
        }
        layers.insert(0, chart_of([{"t": rule * MICRO}]).mark_rule(**style).encode(x=x))
    return layer(*layers)
