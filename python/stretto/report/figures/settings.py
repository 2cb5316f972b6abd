"""Settings of the MPI tried on the user's command: the gain of each, with its interval."""

from __future__ import annotations

import altair as alt

from stretto.files.settings import SettingsFile
from stretto.files.verdict import GainInterval
from stretto.report.figures.runs import gain_chart, gain_row
from stretto.report.render import Figure

BAND = 26


def gains(found: SettingsFile, number: int = 1) -> Figure | None:
    def row(name: str, gain: GainInterval, chosen: bool, note: str = "") -> dict[str, object]:
        return gain_row(name, gain, "blue" if chosen else "native", note)

    measured = [(t, t.gain) for t in found.tried if t.gain is not None]
    if not measured:
        return None
    rows = [
        row(t.name, gain, t.name == found.setting, f"; {t.outcome}")
        for t, gain in sorted(measured, key=lambda m: -m[1].median)
    ]
    if found.confirmed is not None:
        name = f"{found.confirmed_of or found.setting}, fresh runs"
        rows.insert(0, row(name, found.confirmed, bool(found.setting)))
    picture = gain_chart(rows, found.metric, texts=False, labelLimit=320)
    return Figure(
        f"settings-{number}",
        "Gain of each setting on the command itself",
        picture.properties(width=460, height=alt.Step(BAND)),
        "dot: median; bar: 95 % interval; the dashed line is native",
    )
