"""Where the time goes: the whole run in one bar, and every rank in a bar of its own."""

from __future__ import annotations

import math

import altair as alt
import numpy as np

from stretto.files.profile import Profile
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.breakdown import Breakdown
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, HUE, Chart, keyed, layer
from stretto.report.figures.data import chart as chart_of
from stretto.report.render import Figure

WIDTH, HEIGHT = 1000, 220
MOST_BARS = 96  # more ranks are averaged in groups: thinner bars cannot be read


def overview(parts: Breakdown) -> Figure:
    rows, start = [], 0.0
    for p in parts.parts:
        share = parts.share(p.key)
        words = f"{p.name}: {fmt.seconds(p.mean)}, {fmt.percent(share)} of the run | {p.meaning}"
        rows.append(
            {
                "a": start,
                "b": start + share,
                "mid": start + share / 2,
                "hue": theme.colour(p.hue),
                "d": words,
                "text": fmt.percent(share) if share > 0.035 else "",
                "name": p.name if share > 0.0072 * len(p.name) else "",
            }
        )
        start += share
    base = chart_of(rows)
    title = "Share of the run, mean over the ranks"
    x = axes.quantity(alt.X, "a", title, [0, 1], format=".0%", tickCount=5, grid=False)
    bars = base.mark_bar(height=34, stroke=theme.colour("paper"), strokeWidth=1).encode(
        x=x,
        x2=alt.X2("b:Q"),
        color=HUE,
        description=DESCRIBED,
    )
    middle = alt.X("mid:Q")
    texts = base.mark_text(dy=-27, fontSize=12, fontWeight="bold").encode(
        x=middle, text=alt.Text("text:N")
    )
    names = base.mark_text(dy=-42, fontSize=11, color=theme.colour("muted")).encode(
        x=middle, text=alt.Text("name:N")
    )
    chart = layer(bars, texts, names).properties(width=WIDTH, height=38)
    return Figure("profile-overview", "Parts of the run", chart, "mean over the ranks")


def _groups(n: int) -> list[tuple[int, int]]:
    step = math.ceil(n / MOST_BARS)
    return [(i, min(i + step, n)) for i in range(0, n, step)]


def ranks(profile: Profile, parts: Breakdown) -> Figure:
    groups = _groups(profile.nranks)
    step = groups[0][1] - groups[0][0]
    node_of = {r: node.name for node in profile.nodes for r in node.ranks}
    # none of unrecorded ranks
    index = {parts.profile.number(i): i for i in range(parts.profile.nranks)}
    rows = []
    for order, part in enumerate(parts.parts):
        for first, last in groups:
            chosen = [index[r] for r in range(first, last) if r in index]
            value = float(part.per_rank[chosen].mean()) if chosen else 0.0
            if value <= 0:
                continue
            who = f"rank {first}" if last - first == 1 else f"ranks {first} to {last - 1}, mean"
            rows.append(
                {
                    "r": (first + last - 1) / 2,
                    "t": value,
                    "order": order,
                    "hue": theme.colour(part.hue),
                    "name": part.name,
                    "d": f"{who} on {node_of[first]} | {part.name}: {fmt.seconds(value)}",
                }
            )
    high = float(np.max(sum(p.per_rank for p in parts.parts))) * 1.03
    width = min(WIDTH, max(240, 26 * len(groups)))
    bar = min(44.0, width / len(groups) * 0.86)
    ticks = sorted({int(t) for t in axes.linear_ticks(profile.nranks - 1, 12)})
    if profile.nranks <= 24:
        ticks = list(range(profile.nranks))
    ends = [-0.5, profile.nranks - 0.5]
    x = axes.quantity(alt.X, "r", "Rank", ends, values=ticks, format="d", grid=False)
    y = axes.from_zero(alt.Y, "t", high, "Time")
    y.stack = "zero"
    colours = {p.name: theme.colour(p.hue) for p in parts.parts}
    bars = (
        chart_of(rows)
        .mark_bar(size=bar)
        .encode(
            x=x,
            y=y,
            order=alt.Order("order:Q"),
            color=keyed("name", colours, columns=4, symbolType="square"),
            description=DESCRIBED,
        )
    )
    chart = _with_nodes(bars, profile, x)
    note = fmt.plural(profile.nranks, "rank")
    if step > 1:
        note += f", each bar the mean of {step} neighbouring ranks"
    return Figure(
        "profile-ranks", "Time of every rank", chart.properties(width=width, height=HEIGHT), note
    )


def _with_nodes(chart: alt.Chart, profile: Profile, x: alt.X) -> Chart:
    """Mark where one node ends and the next begins, where ranks are placed in blocks."""
    blocks = sorted(
        (min(n.ranks), max(n.ranks), n.name, len(n.ranks)) for n in profile.nodes if n.ranks
    )
    if not 2 <= len(blocks) <= 16 or any(b[1] - b[0] + 1 != b[3] for b in blocks):
        return chart
    edges = [{"r": b[0] - 0.5} for b in blocks[1:]]
    names = [{"r": (b[0] + b[1]) / 2, "name": b[2]} for b in blocks]
    rules = (
        chart_of(edges).mark_rule(color=theme.colour("ink"), strokeWidth=1, opacity=0.6).encode(x=x)
    )
    texts = (
        chart_of(names)
        .mark_text(baseline="bottom", color=theme.colour("muted"), fontSize=11)
        .encode(x=x, y=alt.YValue(-3), text=alt.Text("name:N"))  # type: ignore[no-untyped-call]
    )
    return layer(chart, rules, texts)
