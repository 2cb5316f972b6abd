"""Two systems in one chart: colour is the system, shape and weight are native or tuned."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.breakdown import Breakdown
from stretto.report.figures import axes
from stretto.report.figures.data import HUES, keyed, spans
from stretto.report.figures.lines import Line, time_y
from stretto.report.figures.lines import chart as line_chart
from stretto.report.points import NATIVE, Panel
from stretto.report.render import Figure


def latency(a: Panel, b: Panel, names: tuple[str, str]) -> Figure | None:
    """Draw native and chosen times of one collective on both systems.

    None when fewer than two sizes are shared.
    """
    shared = sorted(set(a.sizes) & set(b.sizes) - {0})
    lines = []
    for panel, name, hue in zip((a, b), names, HUES, strict=False):
        native = [p for n in shared if (p := panel.point(NATIVE, n))]
        tuned = [p for n in shared if (p := panel.choice_at(n))]
        for kind, points, emphasis in ((NATIVE, native, 0), ("tuned", tuned, 2)):
            points = [p for p in points if p.estimate.low > 0]
            if points:
                key = NATIVE if kind == NATIVE else f"tuned {name}"
                xs = [float(p.bytes) for p in points]
                called = points[0].name if kind == NATIVE else kind
                label = fmt.choice(f"{name}, {called}", 30)
                who = f"{name} {called}"
                lines.append(Line(key, label, theme.colour(hue), emphasis, xs, points, who))
    if len(shared) < 2 or not lines:
        return None
    layouts = " and ".join(dict.fromkeys((fmt.layout(a.layout), fmt.layout(b.layout))))
    calls = [f"; {n}: {p.calls}" for p, n in zip((a, b), names, strict=True) if p.calls]
    y = time_y([p for line in lines for p in line.points])
    return Figure(
        f"compare-{a.name}",
        f"{a.function} on both systems",
        line_chart(lines, axes.size_x("x", shared), y),
        f"{layouts}, {a.mode}{''.join(calls)}; squares: native, circles: tuned",
        a.simulated or b.simulated,
    )


def times(both: Sequence[Breakdown], names: tuple[str, str]) -> Figure:
    rows = []
    colours: dict[str, str] = {}
    for name, one in zip(names, both, strict=True):
        start = 0.0
        for p in one.parts:
            colours.setdefault(p.name, theme.colour(p.hue))
            words = f"{name} | {p.name}: {fmt.seconds(p.mean)}"
            rows.append(
                {"system": name, "part": p.name, "a": start, "b": start + p.mean, "d": words}
            )
            start += p.mean
    high = max(sum(p.mean for p in one.parts) for one in both) * 1.02
    x = axes.from_zero(alt.X, "a", high, "Time, mean over the ranks")
    colour = keyed("part", colours, columns=4, symbolType="square")
    bars = spans(rows, x, axes.names_y("system", names), colour, 26)
    return Figure(
        "compare-time",
        "Parts of the run",
        bars.properties(width=860, height=alt.Step(42)),
        "mean over the ranks",
    )
