"""Settings of the MPI tried on the user's command: the gain of each, with its interval."""

from __future__ import annotations

import altair as alt

from stretto.files.settings import SettingsFile
from stretto.report import theme
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.data import layer
from stretto.report.format import gain_text, metric_name
from stretto.report.render import Figure

BAND = 26


def gains(found: SettingsFile, number: int = 1) -> Figure | None:
    """Draw the gain of each setting that was measured, the best first; None when none was."""
    tried = sorted(
        (t for t in found.tried if t.gain is not None),
        key=lambda t: -t.gain.median if t.gain else 0,
    )
    rows: list[dict[str, object]] = [
        {
            "name": t.name,
            "v": 100 * t.gain.median,
            "lo": 100 * t.gain.low,
            "hi": 100 * t.gain.high,
            "hue": theme.colour("blue" if t.name == found.setting else "native"),
            "d": f"{t.name}: {gain_text(t.gain)}; {t.outcome}",
        }
        for t in tried
        if t.gain is not None
    ]
    if not rows:
        return None
    if found.confirmed is not None:
        g, name = found.confirmed, found.confirmed_of or found.setting
        rows.insert(
            0,
            {
                "name": f"{name}, fresh runs",
                "v": 100 * g.median,
                "lo": 100 * g.low,
                "hi": 100 * g.high,
                "hue": theme.colour("blue" if found.setting else "native"),
                "d": f"{name}, fresh runs: {gain_text(g)}",
            },
        )
    low = min(0.0, *(float(str(r["lo"])) for r in rows))
    high = max(0.0, *(float(str(r["hi"])) for r in rows))
    pad = 0.06 * (high - low) or 1.0
    word = f"{'less' if found.metric.better == 'lower' else 'more'} {metric_name(found.metric)}"
    x = alt.X(
        "v:Q",
        title=f"Gain (% {word})",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False),
        axis=alt.Axis(tickCount=6),
    )
    y = alt.Y(
        "name:N",
        sort=[str(r["name"]) for r in rows],
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=320),
    )
    base = chart_of(rows)
    hue = alt.Color("hue:N", scale=None, legend=None)
    picture = layer(
        chart_of([{"v": 0}]).mark_rule(color=theme.colour("faint"), strokeDash=[3, 3]).encode(x=x),
        base.mark_rule(aria=False, strokeWidth=3).encode(
            x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, color=hue
        ),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=x, y=y, color=hue, description=alt.Description("d:N")
        ),
    )
    return Figure(
        f"settings-{number}",
        "Gain of each setting on the command itself",
        picture.properties(width=460, height=alt.Step(BAND)),
        "dot: median; bar: 95 % interval; the dashed line is native",
    )
