"""Ways to read and write a file: a bar each."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from stretto.counted import seconds
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.lines import LARGE
from stretto.report.render import Figure
from stretto.storage.measure import WORDS
from stretto.storage.show import WayTime, words_of


def ways_bars(name: str, title: str, rows: Sequence[WayTime]) -> Figure:
    """Draw the time of each way, with its interval and its launches."""
    bars, dots = [], []
    for row in rows:
        value, words = row.value, WORDS[row.way.name]
        bars.append({"s": words, "a": value.median, "lo": value.low or value.median,
                     "hi": value.high or value.median,
                     "d": f"{words} | {seconds(value.median)}, {words_of(row)}"})  # fmt: skip
        dots += [{"s": words, "a": one} for launch in row.way.launches for one in launch]
    high = 1.08 * max(float(str(dot["a"])) for dot in dots)
    x = axes.linear_time(alt.X, "a", high, "Time until the last rank is done")
    y = axes.names_y("s", [WORDS[row.way.name] for row in rows], labelLimit=320)
    base = chart_of(bars)
    picture = layer(
        base.mark_bar(height=16, color=theme.chosen_colour(0), opacity=0.6).encode(
            x=x, y=y, description=DESCRIBED
        ),
        base.mark_rule(aria=False, strokeWidth=2).encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y),
        chart_of(dots).mark_point(aria=False, filled=True, size=16, opacity=0.8).encode(x=x, y=y),
    )
    room = {"left": 4, "top": 4, "bottom": 4, "right": 50}
    sized = picture.properties(width=LARGE[0], height=30 * len(rows), padding=room)
    return Figure(
        name, title, sized, "bar: median; line: 95 % interval; dots: samples of the launches"
    )
