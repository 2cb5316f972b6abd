"""A recorded application at other scales: elapsed time against cores, native and tuned."""

from __future__ import annotations

from typing import Any

import altair as alt

from stretto.files.forecast import ForecastFile
from stretto.report import format as fmt
from stretto.report.figures import axes
from stretto.report.figures.data import Chart, by_kind, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.points import NATIVE
from stretto.report.render import Figure

WIDTH, HEIGHT = 520, 320


def elapsed(forecast: ForecastFile) -> Figure:
    rows: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for what in (NATIVE, "tuned"):
        tuned = what == "tuned"
        for s in forecast.scales:
            low, high = s.tuned_interval_s if tuned else s.native_interval_s
            time = (s.tuned if tuned else s.native).total_s
            rows.append({"cores": s.ranks, "s": time, "low": low, "high": high, "what": what})
        turn = forecast.turning_point(tuned)
        if turn is not None:
            time = (turn.tuned if tuned else turn.native).total_s
            marks.append({"cores": turn.ranks, "s": time, "what": what,
                          "words": f"{what}: slower beyond {turn.ranks}"})  # fmt: skip
    colour = by_kind("what")
    cores = sorted({row["cores"] for row in rows})
    x = axes.log_cores_x("cores", cores, "cores", cores)
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    y = axes.log_time_y("s", low, high, "elapsed time")
    band = chart_of(rows).mark_area(opacity=0.18)
    line = chart_of(rows).mark_line(point=True)
    layers: list[Chart] = [
        band.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        line.encode(x=x, y=y, color=colour),
    ]
    if marks:
        turning = chart_of(marks)
        layers.append(turning.mark_point(size=160, filled=False).encode(x=x, y=y, color=colour))
        for what, below in ((NATIVE, False), ("tuned", True)):
            words = turning.transform_filter(alt.datum.what == what).mark_text(
                dx=12, dy=16 if below else -14, align="left"
            )
            layers.append(words.encode(x=x, y=y, text=alt.Text("words:N"), color=colour))
    chart = layer(*layers).properties(width=WIDTH, height=HEIGHT)
    name = fmt.identifier(f"forecast-{forecast.name}-{forecast.platform}-{forecast.scaling}")
    return Figure(name, f"{forecast.name}: forecast", chart, forecast.note, True)
