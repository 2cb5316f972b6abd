"""All algorithms of all MPIs at one place, and every MPI's default over message sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from stretto.files.layout import RankLayout
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, SHAPE, keyed, layer, looked_up
from stretto.report.figures.data import chart as chart_of
from stretto.report.figures.lines import MICRO
from stretto.report.ranking import Ranking, RankingEntry, default_of
from stretto.report.render import Figure

#: more rows than this are no picture; the slowest are left out, and counted
MOST_ROWS = 48


def hues(rankings: Sequence[Ranking]) -> dict[str, str]:
    names = sorted({e.mpi for r in rankings for e in r.entries})
    return {name: theme.chosen_colour(i) for i, name in enumerate(names)}


def _colour(rows: Sequence[Mapping[str, object]], colours: Mapping[str, str]) -> alt.Color:
    drawn = {r["mpi"] for r in rows}
    own = {name: colour for name, colour in colours.items() if name in drawn}
    return keyed("mpi", own, columns=4)


def _function(collective: str) -> str:
    return f"MPI_{collective.capitalize()}"


def name_of(ranking: Ranking) -> str:
    """Return a name for files and elements that is unique in a comparison."""
    p = ranking.place
    words = [p.collective, f"{p.nodes}x{p.ppn}", str(p.nranks), *p.shape.split(), str(p.root)]
    words += [ranking.mode, str(p.bytes)]
    return fmt.identifier("-".join(w.removeprefix("MPI_").lower() for w in words))


def kept(ranking: Ranking) -> tuple[list[RankingEntry], int]:
    """Return the entries to draw (all defaults among them), and how many were left out."""
    entries = ranking.entries
    if len(entries) <= MOST_ROWS:
        return list(entries), 0
    defaults = [e for e in entries if e is default_of(entries, e.mpi)]
    rest = [e for e in entries if e not in defaults][: MOST_ROWS - len(defaults)]
    chosen = [e for e in entries if e in defaults or e in rest]
    return chosen, len(entries) - len(chosen)


def dots(ranking: Ranking, colours: dict[str, str]) -> Figure:
    entries, left = kept(ranking)
    rows = []
    labels: dict[str, str] = {}
    for e in entries:
        default = e is default_of(ranking.entries, e.mpi)
        low = e.time.low if e.time.low is not None else e.time.median
        high = e.time.high if e.time.high is not None else e.time.median
        label = f"{e.mpi}: {fmt.choice(e.label, 36)}" + (" \u25a0" if default else "")
        number = len(labels)  # of its own, however alike two labels are when they are cut
        labels[str(number)] = label
        words = f"{e.mpi}, {e.candidate} | {fmt.microseconds(e.time.median)}"
        if e.time.low is not None:
            words += f" ({fmt.microseconds(low)} to {fmt.microseconds(high)})"
        words += f", {fmt.plural(e.time.n, 'launch', 'launches')}"
        rows.append(
            {
                "row": str(number),
                "mpi": e.mpi,
                "t": e.time.median * MICRO,
                "a": max(low, 1e-6) * MICRO,
                "b": high * MICRO,
                "shape": "square" if default else "circle",
                "d": words + (", source: simulated" if e.simulated else ""),
            }
        )
    rows = [r for r in rows if float(str(r["t"])) > 0]
    order = [str(r["row"]) for r in rows]
    lowest, highest = (f(float(str(r[k])) for r in rows) for f, k in ((min, "a"), (max, "b")))
    x = axes.log_time_x("t", lowest, highest, "Time per call")
    left_end = axes.log_time_x("a", lowest, highest, "Time per call")
    y = axes.names_y("row", order, labelLimit=420, grid=True, labelExpr=looked_up(labels))
    colour = _colour(rows, colours)
    base = chart_of(rows)
    picture = layer(
        base.mark_rule(strokeWidth=2).encode(x=left_end, x2=alt.X2("b:Q"), y=y, color=colour),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=x, y=y, color=colour, description=DESCRIBED, shape=SHAPE
        ),
    )  # fmt: skip
    p = ranking.place
    where = fmt.layout(RankLayout(p.nodes, p.ppn, p.nranks))
    size = "" if p.collective == "barrier" else f" of {fmt.size(p.bytes)}"
    note = f"{where}, {p.shape or 'any type'}, {ranking.mode}; "
    note += "squares: the MPI's default; bars: 95% intervals"
    if left:
        note += "; the slowest " + ("is left out" if left == 1 else f"{left} are left out")
    return Figure(
        f"ranking-{name_of(ranking)}",
        f"{_function(p.collective)}{size}: all MPIs, all algorithms",
        # Browsers' fonts may be wider than the one that was measured with.
        picture.properties(width=520, height=alt.Step(18), padding={"left": 60, "right": 4}),
        note,
        ranking.simulated,
    )


def over_sizes(rankings: Sequence[Ranking], colours: dict[str, str]) -> Figure | None:
    """Draw how many times longer than the best of all each MPI's default takes, over sizes."""
    rows = [
        {
            "mpi": d.mpi,
            "x": r.place.bytes,
            "y": gap.ratio,
            "what": what,
            "d": f"{d.mpi}, {fmt.size(r.place.bytes)} | default {fmt.factor(gap.ratio)} of "
            f"{gap.best.mpi}, {gap.best.label}",
        }
        for r in rankings
        for d in r.distances
        for what, gap in (("of all", d.every), ("its own", d.own))
        if r.place.bytes > 0 and gap.known
    ]
    sizes = sorted({int(str(r["x"])) for r in rows})
    if len(sizes) < 2:
        return None
    top = max(float(str(r["y"])) for r in rows)
    ticks = [t for t in (1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100) if t <= top * 1.2]
    y = alt.Y(
        "y:Q", title="Default's time / best's",
        scale=alt.Scale(type="log", domain=[0.97, max(top * 1.1, 1.5)], nice=False),
        axis=alt.Axis(values=ticks, format="~g"),
    )  # fmt: skip
    colour = _colour(rows, colours)
    dash = alt.StrokeDash(
        "what:N",
        scale=alt.Scale(domain=["of all", "its own"], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(title="best", orient="top"),
    )
    base = chart_of(rows)
    x = axes.size_x("x", sizes)
    picture = layer(
        base.mark_line(aria=False, strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash),
        base.mark_point(filled=True, size=36, opacity=1).encode(
            x=x, y=y, color=colour, description=DESCRIBED
        ),
    )
    first = rankings[0]
    p = first.place
    shape = f"-{p.shape.replace(' ', '-').lower()}" if p.shape.strip() else ""
    return Figure(
        fmt.identifier(
            f"defaults-{p.collective}-{p.nodes}x{p.ppn}-{p.nranks}{shape}-{p.root}-{first.mode}"
        ),
        f"{_function(p.collective)}: how far each MPI's default is from the best",
        picture.properties(width=560, height=280),
        f"{fmt.layout(RankLayout(p.nodes, p.ppn, p.nranks))}, {p.shape or 'any type'}; solid: best "
        "of all, dashed: its own best",
        any(r.simulated for r in rankings),
    )
