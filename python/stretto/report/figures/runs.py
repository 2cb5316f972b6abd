"""The user's own command: every run a dot, and gains with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from stretto.files.settings import SettingsFile
from stretto.files.verdict import GainInterval, Metric, VerdictFile, metric_name
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, HUES, KINDS, SHAPE, Composed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.format import gain_text, value_text
from stretto.report.points import NATIVE, estimate_runs, usable
from stretto.report.render import Figure

WIDTH, BAND = 400, 64


def dots(verdict: VerdictFile, band: int = BAND) -> Figure | None:
    """Draw each run as a dot, native above tuned, with medians and their intervals.

    None when no run gave a value.
    """
    picture = _dots([(kind, kind, hue, verdict) for kind, hue in KINDS.items()], band)
    if picture is None:
        return None
    return Figure(
        "runs",
        f"{fmt.capital(metric_name(verdict.metric))} of every run, native against tuned",
        picture.properties(width=WIDTH, height=alt.Step(band + 16)),
        "line: median; band: its 95 % interval; from top to bottom in the order of the runs",
    )


def dots_of_both(
    verdicts: tuple[VerdictFile, VerdictFile], names: tuple[str, str]
) -> Figure | None:
    """Draw every run on two systems; None when the metrics differ or no run gave a value."""
    if len({(v.metric.name, v.metric.unit) for v in verdicts}) > 1:
        return None
    lines = [
        (f"{name}, {kind}", kind, hue, verdict)
        for verdict, name, hue in zip(verdicts, names, HUES, strict=False)
        for kind in KINDS
    ]
    picture = _dots(lines, 40)
    if picture is None:
        return None
    return Figure(
        "compare-runs",
        "Every run of the application",
        picture.properties(width=620, height=alt.Step(56)),
        "line: median; band: its 95 % interval; from top to bottom in the order of the runs",
    )


def _dots(lines: Sequence[tuple[str, str, str, VerdictFile]], band: int) -> Composed | None:
    """Draw lines of dots: label, kind, hue, and the verdict with the runs; None without any."""
    rows: list[dict[str, Any]] = []
    middles = []
    for label, kind, hue, verdict in lines:
        good = usable(verdict.runs, kind)
        found = estimate_runs(good)
        if found is not None:
            own = {"row": label, "hue": theme.colour(hue)}
            text, sure = value_text(verdict, found.median), found.kind == "launches"
            ends = {"v": found.median, "lo": found.low, "hi": found.high}
            middles.append(own | ends | {"text": text, "sure": sure})
            own["shape"] = "square" if kind == NATIVE else "circle"
            rows += [
                own | {"v": r.value, "order": r.order, "d": f"{label}, run {r.order + 1} in order: "
                       f"{value_text(verdict, r.value or 0.0)}"}
                for r in good
            ]  # fmt: skip
    if not rows:
        return None
    metric = lines[0][3].metric
    title = fmt.capital(metric_name(metric)) + (f" ({metric.unit})" if metric.unit else "")
    values = [float(r["v"]) for r in rows]
    x = axes.value_x(title, values, 0.12, tickCount=6, labelExpr=axes.THOUSANDS)
    y = alt.Y(
        "row:N",
        sort=[str(m["row"]) for m in middles],
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelFontWeight="bold"),
        scale=alt.Scale(paddingInner=0.25, paddingOuter=0.2),
    )
    last = max(r["order"] for r in rows)
    offset = alt.YOffset("order:Q", scale=alt.Scale(domain=[-1, last + 1]))
    middle = chart_of(middles)
    return layer(
        middle.transform_filter("datum.sure")
        .mark_bar(aria=False, opacity=0.25, height=band * 0.72)
        .encode(x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, color=HUE),
        middle.mark_tick(thickness=2.5, size=int(band * 0.8)).encode(x=x, y=y, color=HUE),
        middle.mark_text(fontWeight="bold", dy=-band * 0.5 - 8).encode(
            x=x, y=y, color=HUE, text=alt.Text("text:N")
        ),
        chart_of(rows)
        .mark_point(filled=True, size=46, opacity=0.85)
        .encode(x=x, y=y, yOffset=offset, color=HUE, shape=SHAPE, description=DESCRIBED),
    )


def gain(verdict: VerdictFile) -> Figure | None:
    """Draw the predicted and the measured gain with their intervals, and zero.

    A measured gain that was not tested is left out. None when neither is left.
    """
    measured = verdict.measured
    if measured is not None and measured.p is None:
        measured = None
    # predicted is the wall time, whatever was measured
    predicted = "predicted" if verdict.metric.pattern is None else "predicted, wall time"
    shown = ((predicted, "slate", verdict.predicted), ("measured", "blue", measured))
    rows = [_gain_row(name, g, tone) for name, tone, g in shown if g is not None]
    if not rows:
        return None
    return Figure(
        "gain",
        f"Gain, {' and '.join(name.partition(',')[0] for name, _, g in shown if g is not None)}",
        _gain_chart(rows, verdict.metric).properties(width=300, height=alt.Step(BAND + 16)),
        "dot: median; bar: 95 % interval; the dashed line is no gain",
    )


def settings(found: SettingsFile, number: int = 1) -> Figure | None:
    """Draw the gain of each setting that was tried; None where none has one."""
    measured = [(t, t.gain) for t in found.tried if t.gain is not None and t.gain.p is not None]
    if not measured:
        return None
    rows = [
        _gain_row(t.name, g, "blue" if t.name == found.setting else "native", f"; {t.outcome}")
        for t, g in sorted(measured, key=lambda m: -m[1].median)
    ]
    if found.confirmed is not None:
        rows.insert(0, _gain_row(f"{found.setting}, fresh runs", found.confirmed, "blue"))
    picture = _gain_chart(rows, found.metric, texts=False, labelLimit=320)
    return Figure(
        f"settings-{number}",
        "Gain of each setting on the command itself",
        picture.properties(width=460, height=alt.Step(26)),
        "dot: median; bar: 95 % interval; the dashed line is native",
    )


def _gain_row(name: str, g: GainInterval, tone: str, note: str = "") -> dict[str, object]:
    return {
        "name": name,
        "hue": theme.colour(tone),
        "v": 100 * g.median,
        "lo": 100 * g.low,
        "hi": 100 * g.high,
        "d": f"{name}: {gain_text(g)}{note}",
        "text": fmt.percent(g.median),
    }


def _gain_chart(
    rows: Sequence[dict[str, Any]], metric: Metric, texts: bool = True, **axis: Any
) -> Composed:
    ends = [float(r[end]) for r in rows for end in ("lo", "hi")]
    word = f"{'less' if metric.better == 'lower' else 'more'} {metric_name(metric)}"
    x = axes.value_x(f"Gain (% {word})", [0.0, *ends], 0.1, tickCount=5)
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
