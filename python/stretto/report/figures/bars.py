"""Bars: all candidates at one message size (slow ones are cut), and ways to use a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from stretto.counted import seconds
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, Composed, keyed, layer, looked_up, spans
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.lines import LARGE, MICRO, Colours
from stretto.report.points import NATIVE, Panel
from stretto.report.render import Figure
from stretto.storage.compare import IoRow
from stretto.storage.measure import WORDS
from stretto.storage.show import WayTime, words_of

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
    chosen, native = panel.chosen.get(number), panel.point(NATIVE, number)
    kept = points[:MOST]
    kept += [p for p in points[MOST:] if p.candidate in (NATIVE, chosen)]
    anchor = (native or kept[0]).estimate.median
    whole = max(CLIP * anchor, 1.5 * kept[0].estimate.median)
    limit = end_of(whole, [p.estimate.high for p in kept])
    names = fmt.distinct({p.candidate: fmt.choice(p.name) for p in kept})
    hues = {NATIVE: theme.colour("native")}
    fastest = next((p.candidate for p in kept if p.correct and p.candidate != NATIVE), None)
    if chosen is not None:
        hues.setdefault(chosen, colours.get(chosen, theme.colour("blue")))
    elif fastest is not None and fastest in colours:
        hues[fastest] = colours[fastest]
    rows = []
    for p in kept:
        e = p.estimate
        mark = " \u2190 chosen" if p.candidate == chosen else ""
        wrong = "" if p.correct else "  WRONG RESULTS"
        words = (
            f"{p.name}: median {fmt.microseconds(e.median)} ({fmt.microseconds(e.low)} to "
            f"{fmt.microseconds(e.high)}), {fmt.plural(e.launches, 'launch', 'launches')}"
            f"{', source: simulated' if p.simulated else ''}{wrong}"
        )
        times = e.median, e.low, e.high
        row = bar(p.candidate, names[p.candidate], times, limit, mark + wrong, words)
        rows.append(row | {"hue": hues.get(p.candidate, theme.colour("compute"))})
    note = panel.setting
    if left := len(points) - len(kept):
        note += f"; {fmt.slowest_left_out(left, len(points), 'candidate')}"
    rule = None if native is None else native.estimate.median
    return Figure(
        f"bars-{panel.name}-{number}B",
        f"{panel.title(number)}: all candidates",
        cut_bars(rows, limit, rule, labelLimit=170).properties(width=WIDTH, height=alt.Step(STEP)),
        note,
        any(p.simulated for p in kept),
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
    x = axes.from_zero(alt.X, "t", limit * MICRO, "Time per call")
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


def ways_bars(name: str, title: str, rows: Sequence[WayTime]) -> Figure:
    """Draw the time of each way to read or write a file, with its interval and its launches."""
    bars, dots = [], []
    for row in rows:
        value, words = row.value, WORDS[row.way.name]
        low, high = value.low or value.median, value.high or value.median
        tip = f"{words} | {seconds(value.median)}, {words_of(row)}"
        bars.append({"s": words, "a": 0.0, "b": value.median, "lo": low, "hi": high, "d": tip})
        dots += [{"s": words, "a": one} for launch in row.way.launches for one in launch]
    end = 1.08 * max(one for row in rows for launch in row.way.launches for one in launch)
    x = axes.from_zero(alt.X, "a", end, "Time until the last rank is done")
    y = axes.names_y("s", [WORDS[row.way.name] for row in rows], labelLimit=320)
    drawn = spans(bars, x, y, alt.value(theme.chosen_colour(0)), 16)
    return _measured(name, title, drawn, bars, dots, x, y, 30 * len(rows))


def _measured(
    name: str,
    title: str,
    drawn: alt.Chart,
    bars: list[dict[str, Any]],
    dots: list[dict[str, Any]],
    x: alt.X,
    y: alt.Y,
    height: int,
) -> Figure:
    """Return bars with the interval and the samples of each."""
    picture = layer(
        drawn.encode(opacity=alt.value(0.6)),
        chart_of(bars).mark_rule(aria=False, strokeWidth=2).encode(
            x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y
        ),
        chart_of(dots).mark_point(aria=False, filled=True, size=16, opacity=0.8).encode(x=x, y=y),
    )  # fmt: skip
    room = {"left": 4, "top": 4, "bottom": 4, "right": 50}
    sized = picture.properties(width=LARGE.width, height=height, padding=room)
    return Figure(
        name, title, sized, "bar: median; line: 95 % interval; dots: samples of the launches"
    )


def results_bars(name: str, title: str, rows: Sequence[IoRow], results: Sequence[str]) -> Figure:
    """Draw the time of each way in each result; a result has one colour."""
    hues = {result: theme.chosen_colour(i) for i, result in enumerate(results)}
    bars: list[dict[str, Any]] = []
    dots: list[dict[str, Any]] = []
    labels: dict[str, str] = {}
    for row in rows:
        named = False
        for i, (result, time) in enumerate(zip(results, row.times, strict=True)):
            if time is None:
                continue
            at, value = f"{row.name} {i}", time.value
            labels[at] = "" if named else WORDS[row.name]
            named = True
            tip = f"{WORDS[row.name]}, {result} | {seconds(value.median)}"
            tip += f", {words}" if (words := row.words(i)) else ""
            low, high = value.low or value.median, value.high or value.median
            bars.append({"s": at, "r": result, "a": 0.0, "b": value.median, "lo": low, "hi": high,
                         "d": tip})  # fmt: skip
            dots += [{"s": at, "a": one} for launch in time.way.launches for one in launch]
    end = 1.08 * max(dot["a"] for dot in dots)
    x = axes.from_zero(alt.X, "a", end, "Time until the last rank is done")
    y = axes.names_y("s", list(labels), labelLimit=320, labelExpr=looked_up(labels))
    drawn = spans(bars, x, y, keyed("r", hues, columns=1, labelLimit=300), 14)
    return _measured(name, title, drawn, bars, dots, x, y, 24 * len(bars))
