"""The user's own command, native against tuned: every run a dot, and the gain with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from stretto.files.verdict import GainInterval, Metric, Run, VerdictFile
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, KINDS, Composed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.format import gain_text, metric_name, value_text
from stretto.report.render import Figure
from stretto.report.stats import estimate, usable

WIDTH, BAND = 400, 64


def dots(verdict: VerdictFile, band: int = BAND) -> Figure | None:
    """Draw each run as a dot, native above tuned, with medians and their intervals.

    None when no run gave a value.
    """
    good = {kind: usable(verdict.runs, kind) for kind in KINDS}
    values = [r.value for kind in KINDS for r in good[kind] if r.value is not None]
    if not values:
        return None
    x = metric_x(verdict.metric, values, 0.12)
    y = alt.Y(
        "kind:N",
        sort=list(KINDS),
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelFontWeight="bold"),
        scale=alt.Scale(domain=list(KINDS), paddingInner=0.25, paddingOuter=0.2),
    )
    layers: list[alt.Chart] = []
    for kind in KINDS:
        layers += _dots_of(verdict, kind, good[kind], x, y, band)
    return Figure(
        "runs",
        f"{_capital(metric_name(verdict.metric))} of every run, native against tuned",
        layer(*layers).properties(width=WIDTH, height=alt.Step(band + 16)),
        "line: median; band: its 95 % interval; from top to bottom in the order of the runs",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def metric_x(metric: Metric, values: Sequence[float], pad: float) -> alt.X:
    title = _capital(metric_name(metric)) + (f" ({metric.unit})" if metric.unit else "")
    return axes.value_x(title, values, pad, False, tickCount=6, labelExpr=axes.THOUSANDS)


def _dots_of(
    verdict: VerdictFile, kind: str, runs: Sequence[Run], x: alt.X, y: alt.Y, band: int
) -> list[alt.Chart]:
    rows = [
        {
            "kind": kind,
            "v": r.value,
            "order": r.order,
            "d": f"{kind}, run {r.order + 1} in order: {value_text(verdict, r.value)}",
        }
        for r in runs
        if r.value is not None
    ]
    found = estimate([[float(r.value)] for r in runs if r.value is not None])
    if found is None:
        return []
    middle = {
        "kind": kind,
        "v": found.median,
        "lo": found.low,
        "hi": found.high,
        "text": value_text(verdict, found.median),
    }
    colour = theme.colour(KINDS[kind])
    layers: list[alt.Chart] = []
    one = chart_of([middle])
    if found.kind == "launches":
        pale = theme.colour(f"{KINDS[kind]}-band")
        bar = one.mark_bar(aria=False, color=pale, opacity=0.55, height=band * 0.72)
        layers.append(bar.encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y))
    tick = one.mark_tick(color=colour, thickness=2.5, size=int(band * 0.8))
    text = one.mark_text(color=colour, fontWeight="bold", dy=-band * 0.42 - 6)
    shape = "square" if kind == "native" else "circle"
    points = chart_of(rows).mark_point(
        shape=shape, filled=True, color=colour, size=46, opacity=0.85
    )
    last = max(r.order for r in verdict.runs)
    offset = alt.YOffset("order:Q", scale=alt.Scale(domain=[-1, last + 1]))
    return [
        *layers,
        tick.encode(x=x, y=y),
        text.encode(x=x, y=y, text=alt.Text("text:N")),
        points.encode(x=x, y=y, yOffset=offset, description=DESCRIBED),
    ]


def gain(verdict: VerdictFile) -> Figure | None:
    """Draw the predicted and the measured gain with their intervals, and zero.

    None when the verdict holds neither.
    """
    shown = (("predicted", "slate", verdict.predicted), ("measured", "blue", verdict.measured))
    rows = [gain_row(name, g, tone) for name, tone, g in shown if g is not None]
    if not rows:
        return None
    return Figure(
        "gain",
        "Gain, predicted and measured",
        gain_chart(rows, verdict.metric).properties(width=300, height=alt.Step(BAND + 16)),
        "dot: median; bar: 95 % interval; the dashed line is no gain",
    )


def gain_row(name: str, g: GainInterval, tone: str, note: str = "") -> dict[str, object]:
    return {
        "name": name,
        "hue": theme.colour(tone),
        "v": 100 * g.median,
        "lo": 100 * g.low,
        "hi": 100 * g.high,
        "d": f"{name}: {gain_text(g)}{note}",
        "text": fmt.percent(g.median),
    }


def gain_chart(
    rows: Sequence[dict[str, object]], metric: Metric, texts: bool = True, **axis: Any
) -> Composed:
    ends = [float(str(r[end])) for r in rows for end in ("lo", "hi")]
    word = f"{'less' if metric.better == 'lower' else 'more'} {metric_name(metric)}"
    x = axes.value_x(f"Gain (% {word})", [0.0, *ends], 0.1, True, tickCount=5)
    y = axes.names_y("name", [str(r["name"]) for r in rows], **axis)
    base = chart_of(rows)
    dashed: dict[str, Any] = {"color": theme.colour("faint"), "strokeDash": [3, 3]}
    layers = [
        chart_of([{"v": 0}]).mark_rule(**dashed).encode(x=x),
        base.mark_rule(strokeWidth=3).encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, color=HUE),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x, y=y, color=HUE, description=DESCRIBED
        ),
    ]
    if texts:
        above = base.mark_text(dy=-14, fontWeight="bold")
        layers.append(above.encode(x=x, y=y, text=alt.Text("text:N"), color=HUE))
    return layer(*layers)
