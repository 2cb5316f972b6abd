"""All algorithms of all MPIs at one place as bars, and their times over message sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import altair as alt

from stretto.files.layout import RankLayout
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.bars import bar, cut_bars, end_of
from stretto.report.figures.data import SHAPE, keyed, layer, lined
from stretto.report.figures.lines import MICRO, Line, time_y
from stretto.report.figures.lines import chart as line_chart
from stretto.report.points import NATIVE, CandidatePoint, MedianInterval
from stretto.report.ranking import Ranking, RankingEntry, default_of, fastest
from stretto.report.render import Figure

#: more rows than this are no picture; the slowest are left out, and counted
MOST_ROWS = 48
DEFAULT, FASTEST = "default", "fastest algorithm"


def hues(rankings: Sequence[Ranking]) -> dict[str, str]:
    names = sorted({e.mpi for r in rankings for e in r.entries})
    return {name: theme.chosen_colour(i) for i, name in enumerate(names)}


def _colour(rows: Sequence[Mapping[str, object]], colours: Mapping[str, str]) -> alt.Color:
    drawn = {r["mpi"] for r in rows}
    own = {name: colour for name, colour in colours.items() if name in drawn}
    colour = keyed("mpi", own, columns=4)
    return colour if len(own) > 1 else colour.legend(None)


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


def bars(ranking: Ranking, colours: Mapping[str, str]) -> Figure:
    """Draw every algorithm of every MPI, fastest first; those far behind the defaults are cut."""
    entries, left = kept(ranking)
    defaults = [e.time.median for e in entries if e is default_of(entries, e.mpi)]
    anchor = min(defaults, default=entries[0].time.median)
    whole = max(3 * anchor, min(1.1 * max(defaults, default=0.0), 10 * anchor))
    limit = end_of(whole, [e.time.high or e.time.median for e in entries])
    several = len({e.mpi for e in entries}) > 1
    names = fmt.distinct(
        {
            f"{e.mpi}, {e.candidate}": (f"{e.mpi}: " if several else "") + fmt.choice(e.label, 40)
            for e in entries
        }
    )
    rows = []
    for e in entries:
        words = f"{e.mpi}, {e.candidate} | {fmt.microseconds(e.time.median)}"
        if e.time.low is not None:
            words += f" ({fmt.microseconds(e.time.low)} to {fmt.microseconds(e.time.high)})"
        words += f", {fmt.plural(e.time.n, 'launch', 'launches')}"
        words += ", source: simulated" if e.simulated else ""
        times = (e.time.median, e.time.low or e.time.median, e.time.high or e.time.median)
        name = f"{e.mpi}, {e.candidate}"
        mark = " \u2190 default" if e is default_of(ranking.entries, e.mpi) else ""
        rows.append({"mpi": e.mpi} | bar(name, names[name], times, limit, mark, words))
    p = ranking.place
    where = fmt.layout(RankLayout(p.nodes, p.ppn, p.nranks))
    size = "" if p.collective == "barrier" else f" of {fmt.size(p.bytes)}"
    note = f"{where}, {p.shape or 'any type'}, {ranking.mode}; thin lines: 95 % intervals"
    if left:
        note += f"; {fmt.slowest_left_out(left, len(ranking.entries), 'algorithm')}"
    picture = cut_bars(rows, limit, None, _colour(rows, colours), labelLimit=360)
    return Figure(
        f"ranking-{name_of(ranking)}",
        f"{_function(p.collective)}{size}: all algorithms"
        + (" of all MPIs" if several else f" of {entries[0].mpi}"),
        picture.properties(width=430, height=alt.Step(19)),
        note,
        ranking.simulated,
    )


def over_sizes(rankings: Sequence[Ranking], colours: Mapping[str, str]) -> Figure | None:
    """Draw the time of each MPI's default, and of its fastest algorithm, over message sizes."""
    rows = [
        {
            "mpi": d.mpi,
            "x": r.place.bytes,
            "y": e.beside_us * MICRO,
            "line": f"{d.mpi} {what}",
            "what": what,
            "shape": "square" if what == DEFAULT else "circle",
            "d": f"{d.mpi}, {fmt.size(r.place.bytes)} | {what}"
            + (f": {e.label}" if e is not d.default else "")
            + f", {fmt.microseconds(e.beside_us)}",
        }
        for r in rankings
        for d in r.distances
        for what, e in ((DEFAULT, d.default), (FASTEST, d.own.best))
        if r.place.bytes > 0 and e.beside_us > 0
    ]
    sizes = sorted({int(str(r["x"])) for r in rows})
    if len(sizes) < 2:
        return None
    times = [float(str(r["y"])) for r in rows]
    dash = alt.StrokeDash(
        "what:N",
        scale=alt.Scale(domain=[DEFAULT, FASTEST], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(title=None, orient="top"),
    )
    colour = _colour(rows, colours)
    x = axes.size_x("x", sizes)
    y = axes.log_time(alt.Y, "y", min(times), max(times), "Time per call")
    parts = lined(rows, x, y, colour, SHAPE, 36, strokeDash=dash, detail=alt.Detail("line:N"))
    picture = layer(*parts)
    first = rankings[0]
    p = first.place
    shape = f"-{p.shape.replace(' ', '-').lower()}" if p.shape.strip() else ""
    return Figure(
        fmt.identifier(
            f"sizes-{p.collective}-{p.nodes}x{p.ppn}-{p.nranks}{shape}-{p.root}-{first.mode}"
        ),
        f"{_function(p.collective)}: each MPI's default and its fastest algorithm",
        picture.properties(width=560, height=300),
        f"{fmt.layout(RankLayout(p.nodes, p.ppn, p.nranks))}, {p.shape or 'any type'}, "
        f"{first.mode}; squares: default",
        any(r.simulated for r in rankings),
    )


def over_ranks(
    rankings: Sequence[Ranking], colours: Mapping[str, str], apart: Collection[int] = ()
) -> Figure | None:
    """Draw the time of each MPI's default, and of its fastest algorithm, over ranks.

    `rankings`: of one call and size, on several layouts. Of layouts with as many ranks, that of
    the most MPIs counts, then that on the fewest nodes. `apart`: numbers of ranks that are shown in
    the other mode. None when there is one number of ranks.
    """
    found: dict[tuple[str, str], dict[int, CandidatePoint]] = defaultdict(dict)
    for r in sorted(rankings, key=lambda r: (-len({e.mpi for e in r.entries}), r.place.nodes)):
        p = r.place
        layout = RankLayout(p.nodes, p.ppn, p.nranks)
        drawn = [(d.mpi, DEFAULT, d.default) for d in r.distances]
        drawn += [(d.mpi, FASTEST, d.own.best) for d in r.distances if d.own.known]
        for mpi in {e.mpi for e in r.entries} - {d.mpi for d in r.distances}:
            drawn.append((mpi, FASTEST, fastest(e for e in r.entries if e.mpi == mpi)))
        for mpi, what, e in drawn:
            source = "simulated" if e.simulated else "measured"
            point = CandidatePoint(e.label, layout, p.bytes, _interval(e), source)
            found[mpi, what].setdefault(p.nranks, point)
    points = [p for by_ranks in found.values() for p in by_ranks.values()]
    ranks = sorted({p.layout.nranks for p in points})
    if len(ranks) < 2 or any(p.estimate.low <= 0 for p in points):
        return None
    lines = []
    for (mpi, what), by_ranks in sorted(found.items()):
        own = [by_ranks[n] for n in sorted(by_ranks)]
        name, emphasis = (NATIVE, 2) if what == DEFAULT else (what, 1)
        xs = [float(p.layout.nranks) for p in own]
        label = f"{mpi}, {what.split()[0]}"
        lines.append(Line(name, label, colours[mpi], emphasis, xs, own, f"{mpi}, {what}"))
    x = axes.log_cores_x("x", ranks, "Ranks", axes.size_ticks(ranks, 7))
    several = [n for n in ranks if len({p.layout for p in points if p.layout.nranks == n}) > 1]
    mode, p = rankings[0].mode, rankings[0].place
    size = "" if p.collective == "barrier" else f" of {fmt.size(p.bytes)}"
    each = {q.layout.ppn for q in points}
    ppn = f"{each.pop()} ranks per node" if len(each) == 1 else "several numbers of ranks per node"
    both = any(what == FASTEST for _, what in found)
    note = f"{ppn}, {p.shape or 'any type'}, {mode}; squares: default"
    note += ", circles: fastest algorithm" if both else ""
    if several:
        note += f"; not all MPIs have the same layout on {', '.join(map(str, several))} ranks"
    if missing := sorted(set(apart) - set(ranks)):
        note += f"; {', '.join(map(str, missing))} ranks are compared in the other mode (--mode)"
    words = [p.collective, *p.shape.split(), str(p.root), mode, str(p.bytes)]
    return Figure(
        fmt.identifier("-".join(["ranks", *(w.removeprefix("MPI_").lower() for w in words)])),
        f"{_function(p.collective)}{size} over ranks: each MPI's default"
        + (" and its fastest algorithm" if both else ""),
        line_chart(lines, x, time_y(points)),
        note,
        any(p.simulated for p in points),
    )


def _interval(e: RankingEntry) -> MedianInterval:
    """Return an entry's time beside the default of its MPI, with the interval of its launches."""
    low, high = e.time.low, e.time.high
    if low is None or high is None:
        return MedianInterval(e.beside_us, e.beside_us, e.beside_us, "none", e.time.n, e.time.n)
    moved = e.beside_us / e.time.median
    return MedianInterval(e.beside_us, moved * low, moved * high, "launches", e.time.n, e.time.n)
