"""Two systems in one chart: colour is the system, shape and weight are native or tuned."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from stretto.files.verdict import VerdictFile
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.breakdown import Breakdown
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, KINDS, SHAPE, keyed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.lines import Line, time_y
from stretto.report.figures.lines import chart as line_chart
from stretto.report.figures.runs import metric_x
from stretto.report.format import value_text
from stretto.report.points import NATIVE, Panel
from stretto.report.render import Figure
from stretto.report.stats import estimate, usable

HUES = ("blue", "green")


def latency(a: Panel, b: Panel, names: tuple[str, str]) -> Figure | None:
    """Draw native and chosen times of one collective on both systems.

    None when fewer than two sizes are shared.
    """
    shared = sorted(set(a.sizes) & set(b.sizes) - {0})
    if len(shared) < 2:
        return None
    lines = []
    for panel, name, hue in zip((a, b), names, HUES, strict=True):
        native = [p for n in shared if (p := panel.point(NATIVE, n))]
        tuned = [p for n in shared if (p := panel.choice_at(n))]
        for kind, points, emphasis in ((NATIVE, native, 0), ("tuned", tuned, 2)):
            points = [p for p in points if p.estimate.low > 0]
            if points:
                key = NATIVE if kind == NATIVE else f"tuned {name}"
                xs = [float(p.bytes) for p in points]
                label = fmt.choice(f"{name}, {kind}", 24)
                lines.append(
                    Line(key, label, theme.colour(hue), emphasis, xs, points, f"{name} {kind}")
                )
    points = [p for line in lines for p in line.points]
    if not points:
        return None
    layouts = " and ".join(dict.fromkeys((fmt.layout(a.layout), fmt.layout(b.layout))))
    return Figure(
        f"compare-{a.name}",
        f"{a.function} on both systems",
        line_chart(lines, axes.size_x("x", shared), time_y(points)),
        f"{layouts}, {a.mode}; squares: native, circles: tuned",
        a.simulated or b.simulated,
    )


def times(parts: Sequence[Breakdown], names: tuple[str, str]) -> Figure:
    rows, order = [], []
    seen: dict[str, str] = {}
    for name, one in zip(names, parts, strict=True):
        order.append(name)
        start = 0.0
        for p in one.parts:
            seen.setdefault(p.name, theme.colour(p.hue))
            rows.append(
                {
                    "system": name,
                    "part": p.name,
                    "a": start,
                    "b": start + p.mean,
                    "d": f"{name} | {p.name}: {fmt.seconds(p.mean)}",
                }
            )
            start += p.mean
    high = max(float(str(r["b"])) for r in rows) * 1.02
    bars = (
        chart_of(rows)
        .mark_bar(height=26)
        .encode(
            x=axes.linear_time(alt.X, "a", high, "Time, mean over the ranks"),
            x2=alt.X2("b:Q"),
            y=axes.names_y("system", order),
            color=keyed("part", seen, columns=4, symbolType="square"),
            description=DESCRIBED,
        )
    )
    return Figure(
        "compare-time",
        "Parts of the run",
        bars.properties(width=860, height=alt.Step(42)),
        "mean over the ranks",
    )


def runs(verdicts: Sequence[VerdictFile], names: tuple[str, str]) -> Figure | None:
    """Draw every run of the application on both systems.

    None when the metrics differ or no run gave a value.
    """
    if len({(v.metric.name, v.metric.unit) for v in verdicts}) > 1:
        return None
    rows, middles, order = [], [], []
    for verdict, name, tone in zip(verdicts, names, HUES, strict=True):
        for kind in KINDS:
            good = usable(verdict.runs, kind)
            found = estimate([[float(r.value)] for r in good if r.value is not None])
            if found is None:
                continue
            label = f"{name}, {kind}"
            order.append(label)
            own: dict[str, object] = {"row": label, "hue": theme.colour(tone)}
            middles.append(own | {"v": found.median, "text": value_text(verdict, found.median)})
            own["shape"] = "square" if kind == NATIVE else "circle"
            rows += [
                own | {"v": r.value, "d": f"{label}: {value_text(verdict, r.value or 0.0)}"}
                for r in good
            ]
    if not rows:
        return None
    x = metric_x(verdicts[0].metric, [float(str(r["v"])) for r in rows], 0.1)
    y = axes.names_y("row", order, labelLimit=220)
    middle = chart_of(middles)
    chart = layer(
        middle.mark_tick(aria=False, thickness=2.5, size=30).encode(x=x, y=y, color=HUE),
        chart_of(rows)
        .mark_point(filled=True, size=40, opacity=0.7)
        .encode(x=x, y=y, color=HUE, shape=SHAPE, description=DESCRIBED),
        middle.mark_text(dy=-21, fontWeight="bold").encode(
            x=x, y=y, color=HUE, text=alt.Text("text:N")
        ),
    )
    return Figure(
        "compare-runs",
        "Every run of the application",
        chart.properties(width=620, height=alt.Step(52)),
        "line: median",
    )
