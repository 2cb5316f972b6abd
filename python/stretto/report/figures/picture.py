"""The one small figure for a README: latency native against tuned, and the application's time."""

from __future__ import annotations

import shlex

import altair as alt

from stretto.errors import StrettoError
from stretto.files.identity import product
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
    own = system.layout
    usable = [p for p in system.panels if p.layout == own and any(p.gain(n) for n in p.sizes)]
    if not usable:
        return None
    key = importance(system)
    return min(
        usable,
        key=lambda p: (
            key(p.collective)[0],
            p.mode != "latency",
            -max(p.gain(n) or 0 for n in p.sizes),
        ),
    )


def _latency(panel: Panel) -> Chart:
    """Draw native and tuned against size; the candidates where only one size was measured."""
    sizes = [n for n in panel.sizes if n > 0 and panel.gain(n)]
    if len(sizes) < 2:
        number = max(panel.sizes, key=lambda n: panel.gain(n) or 0.0)
        one = bars.candidates(panel, number, {})
        assert one is not None  # there is a gain: native and the choice both have a point
        return one.chart.properties(title=alt.TitleParams(panel.title(number)))
    native = [p for p in panel.of(NATIVE) if p.bytes > 0 and p.estimate.low > 0]
    tuned = [
        p
        for n in panel.sizes
        if n > 0 and (p := panel.point(panel.chosen.get(n, NATIVE), n)) and p.estimate.low > 0
    ]
    lines = [
        Line("tuned", "tuned", theme.colour("blue"), 1, [float(p.bytes) for p in tuned], tuned),
        Line(NATIVE, NATIVE, theme.colour("native"), 2, [float(p.bytes) for p in native], native),
    ]
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
            ", ".join(str(path) for _, path in system.files),
            "make both with: stretto tune -- CMD",
        )
    charts: list[Chart] = []
    if panel is not None:
        charts.append(_latency(panel))
    if dots is not None:
        charts.append(dots.chart)
    facts = []
    if system.verdict is not None:
        facts.append(shlex.join(system.verdict.command))
    if system.layout is not None:
        facts.append(fmt.layout(system.layout))
    if system.identities:
        one = system.identities[0]
        facts.append(f"{product(one.mpi)} {one.mpi.version}")
        facts.append(one.host.cpu)
    title, _ = findings.headline(system)
    chart = charts[0] if len(charts) == 1 else beside(*charts)
    note = ", ".join(facts)
    return Figure(
        "result", title, chart, note if len(note) < 140 else fmt.choice(note, 140), system.simulated
    )
