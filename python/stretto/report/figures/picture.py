"""The one small figure for a README: latency native against tuned, and the application's time."""

from __future__ import annotations

import shlex

import altair as alt

from stretto.errors import StrettoError
from stretto.report import findings, theme
from stretto.report import format as fmt
from stretto.report.figures import axes, bars, runs
from stretto.report.figures.data import Chart, beside
from stretto.report.figures.lines import Line, time_y
from stretto.report.figures.lines import chart as line_chart
from stretto.report.load import System
from stretto.report.points import NATIVE, Panel
from stretto.report.render import Figure
from stretto.report.tables import importance


def _best_panel(system: System) -> Panel | None:
    """Return the collective of most importance that has a choice, or else gains most."""
    key = importance(system)

    def order(panel: Panel) -> tuple[float, bool, float]:
        most = max(panel.gain(n) or 0 for n in panel.sizes)
        return key(panel.collective)[0], panel.mode != "latency", -most

    own = [p for p in system.panels if p.layout == system.layout]
    return min((p for p in own if any(p.gain(n) for n in p.sizes)), key=order, default=None)


def _latency(panel: Panel) -> Chart:
    """Draw native and tuned against size; the candidates where only one size was measured."""
    sizes = [n for n in panel.sizes if n > 0 and panel.gain(n)]
    if len(sizes) < 2:
        number = max(panel.sizes, key=lambda n: panel.gain(n) or 0.0)
        one = bars.candidates(panel, number, {})
        assert one is not None  # there is a gain: native and the choice both have a point
        return one.chart.properties(title=alt.TitleParams(panel.title(number)))
    native = [p for p in panel.of(NATIVE) if p.bytes > 0 and p.estimate.low > 0]
    found = [panel.choice_at(n) or panel.point(NATIVE, n) for n in panel.sizes]
    tuned = [p for p in found if p is not None and p.bytes > 0 and p.estimate.low > 0]
    lines = [
        Line("tuned", "tuned", theme.colour("blue"), 1, [float(p.bytes) for p in tuned], tuned),
        Line(NATIVE, panel.native_name, theme.colour("native"), 2,
             [float(p.bytes) for p in native], native),
    ]  # fmt: skip
    points = native + tuned
    y = time_y(points, f"{panel.function}, time per call")
    sizes = sorted({p.bytes for p in points})
    return line_chart(lines, axes.size_x("x", sizes), y)


def picture(system: System) -> Figure:
    """Return the figure: the gain as its title, latency at the left, the application at the right.

    Raises StrettoError: when the files hold neither.
    """
    panel = _best_panel(system)
    dots = runs.dots(system.verdict, 100) if system.verdict else None
    if panel is None and dots is None:
        raise StrettoError(
            "there is nothing to draw: no tuned collective and no run of an application",
            ", ".join(str(f.path) for f in system.files),
            "make both with: stretto tune -- CMD",
        )
    charts: list[Chart] = [] if panel is None else [_latency(panel)]
    charts += [] if dots is None else [dots.chart]
    facts = [] if system.verdict is None else [shlex.join(system.verdict.command)]
    facts += [] if system.layout is None else [fmt.layout(system.layout)]
    facts += [system.mpi, system.identities[0].host.cpu] if system.identities else []
    title, _ = findings.headline(system)
    chart = charts[0] if len(charts) == 1 else beside(*charts)
    note = fmt.shortened(", ".join(facts), 140)
    return Figure("result", title, chart, note, system.simulated)
