"""The user's own command, native against tuned: every run a dot, and the gain with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from stretto.files.verdict import Run, VerdictFile
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.data import layer
from stretto.report.format import gain_text, metric_name, value_text
from stretto.report.render import Figure
from stretto.report.stats import estimate, usable

WIDTH, BAND = 400, 64
KINDS = ("native", "tuned")
HUES = {"native": "native", "tuned": "blue"}
BANDS = {"native": "native-band", "tuned": "blue-band"}


def dots(verdict: VerdictFile, band: int = BAND) -> Figure | None:
    """Draw each run as a dot, native above tuned, with medians and their intervals.

    None when no run gave a value.
    """
    good = {kind: usable(verdict.runs, kind) for kind in KINDS}
    values = [r.value for kind in KINDS for r in good[kind] if r.value is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    pad = 0.12 * (high - low) or abs(high) * 0.05 or 1.0
    unit = verdict.metric.unit
    name = metric_name(verdict.metric)
    title = f"{name[:1].upper()}{name[1:]}"
    x = alt.X(
        "v:Q",
        title=f"{title} ({unit})" if unit else title,
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=alt.Axis(tickCount=6, grid=True, labelExpr=axes.THOUSANDS),
    )
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
        f"{title} of every run, native against tuned",
        layer(*layers).properties(width=WIDTH, height=alt.Step(band + 16)),
        "line: median; band: its 95 % interval; from top to bottom in the order of the runs",
    )


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
    layers: list[alt.Chart] = []
    one = chart_of([middle])
    if found.kind == "launches":
        layers.append(
            one.mark_bar(
                aria=False, color=theme.colour(BANDS[kind]), opacity=0.55, height=band * 0.72
            ).encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y)
        )
    layers.append(
        one.mark_tick(color=theme.colour(HUES[kind]), thickness=2.5, size=int(band * 0.8)).encode(
            x=x, y=y
        )
    )
    layers.append(
        one.mark_text(
            color=theme.colour(HUES[kind]), fontWeight="bold", dy=-band * 0.42 - 6
        ).encode(x=x, y=y, text=alt.Text("text:N"))
    )
    layers.append(
        chart_of(rows)
        .mark_point(
            shape="square" if kind == "native" else "circle",
            filled=True,
            color=theme.colour(HUES[kind]),
            size=46,
            opacity=0.85,
        )
        .encode(
            x=x,
            y=y,
            yOffset=alt.YOffset(
                "order:Q",
                scale=alt.Scale(domain=[-1, max(r.order for r in verdict.runs) + 1]),
            ),
            description=alt.Description("d:N"),
        )
    )
    return layers


def gain(verdict: VerdictFile) -> Figure | None:
    """Draw the predicted and the measured gain with their intervals, and zero.

    None when the verdict holds neither.
    """
    rows = []
    for name, tone, g in (
        ("predicted", "slate", verdict.predicted),
        ("measured", "blue", verdict.measured),
    ):
        if g is None:
            continue
        rows.append(
            {
                "name": name,
                "hue": theme.colour(tone),
                "v": 100 * g.median,
                "lo": 100 * g.low,
                "hi": 100 * g.high,
                "d": f"{name}: {gain_text(g)}",
                "text": fmt.percent(g.median),
            }
        )
    if not rows:
        return None
    low = min(0.0, *(float(str(r["lo"])) for r in rows))
    high = max(0.0, *(float(str(r["hi"])) for r in rows))
    pad = 0.1 * (high - low) or 1.0
    word = f"{'less' if verdict.metric.better == 'lower' else 'more'} {metric_name(verdict.metric)}"
    x = alt.X(
        "v:Q",
        title=f"Gain (% {word})",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False),
        axis=alt.Axis(tickCount=5),
    )
    y = alt.Y(
        "name:N",
        sort=[str(r["name"]) for r in rows],
        title=None,
        axis=alt.Axis(ticks=False, domain=False),
    )
    base = chart_of(rows)
    hue = alt.Color("hue:N", scale=None, legend=None)
    zero = chart_of([{"v": 0}])
    layers = [
        zero.mark_rule(color=theme.colour("faint"), strokeDash=[3, 3]).encode(x=x),
        base.mark_rule(strokeWidth=3).encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, color=hue),
        base.mark_point(filled=True, size=110, opacity=1).encode(
            x=x, y=y, color=hue, description=alt.Description("d:N")
        ),
        base.mark_text(dy=-14, fontWeight="bold").encode(
            x=x, y=y, text=alt.Text("text:N"), color=hue
        ),
    ]
    return Figure(
        "gain",
        "Gain, predicted and measured",
        layer(*layers).properties(width=300, height=alt.Step(BAND + 16)),
        "dot: median; bar: 95 % interval; the dashed line is no gain",
    )
