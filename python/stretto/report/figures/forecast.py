"""A recorded application at other scales: elapsed time against cores, native and tuned."""

from __future__ import annotations

from typing import Any

from stretto.files.forecast import ForecastFile
from stretto.report import format as fmt
from stretto.report.figures import axes
from stretto.report.figures.scaling import over_cores
from stretto.report.points import NATIVE
from stretto.report.render import Figure


def elapsed(forecast: ForecastFile) -> Figure:
    rows: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for kind in (NATIVE, "tuned"):
        tuned = kind == "tuned"
        turn = forecast.turning_point(tuned)
        for s in forecast.scales:
            low, high = s.tuned_interval_s if tuned else s.native_interval_s
            time = (s.tuned if tuned else s.native).total_s
            words = f"{fmt.seconds(time)} ({fmt.seconds(low)} to {fmt.seconds(high)}), simulated"
            rows.append({"cores": s.ranks, "v": time, "lo": low, "hi": high, "kind": kind,
                         "d": f"{kind}, {s.nodes} x {s.ppn} | {words}"})  # fmt: skip
            if turn is s:
                words = f"{kind}: slower beyond {fmt.count(s.ranks)} cores"
                turns.append({"cores": s.ranks, "v": time, "kind": kind, "words": words})
    low, high = min(row["lo"] for row in rows), max(row["hi"] for row in rows)
    picture = over_cores(rows, axes.log_time_y("v", low, high, "Elapsed time"), turns, band=True)
    name = fmt.identifier(f"forecast-{forecast.name}-{forecast.platform}-{forecast.scaling}")
    return Figure(name, f"{forecast.name}: forecast", picture, forecast.note, True)
