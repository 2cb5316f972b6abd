"""When the ranks were in collectives: the sampled calls of the whole run, and one call close up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import altair as alt

from stretto.files.profile import Event, Profile
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes
from stretto.report.figures.data import DESCRIBED, keyed
from stretto.report.figures.data import chart as chart_of
from stretto.report.render import Figure

WIDTH = 1000
#: more ranks than this are thinned out evenly, and in one lane one call a bin is drawn: the longest
MOST_LANES, BINS = 16, 300
HUES = ("blue", "wait", "green", "purple", "brown")


def timeline(profile: Profile) -> list[Figure]:
    events = profile.timeline or []
    last = max((e.end_s for e in events), default=0.0)
    if last <= 0:
        return []
    lanes = _lanes(sorted({e.rank for e in events}))
    here = [e for e in events if e.rank in lanes]
    colours = _colours(here)
    drawn = _thinned(here, last / BINS)
    note = f"sampled collectives, in each lane the longest call of each {fmt.seconds(last / BINS)}"
    if len(lanes) < profile.nranks:
        note += f"; {len(lanes)} of {profile.nranks} ranks"
    out = [
        _figure("timeline-run", "Collectives over the run", drawn, lanes, colours, 0.0, last, note)
    ]
    longest = max(here, key=lambda e: e.end_s - e.start_s)
    call = _call_of(longest, events)  # of all ranks: the last one need not be drawn
    begin, end = min(e.start_s for e in call), max(e.end_s for e in call)
    if len(call) > 1 and end > begin:
        pad = 0.06 * (end - begin)
        late = max(e.start_s for e in call) - begin
        near = [e for e in here if e.end_s > begin - pad and e.start_s < end + pad]
        words = (
            f"{longest.function}, {fmt.seconds(begin)} after the start: the last rank entered "
            f"{fmt.seconds(late)} after the first"
        )
        out.append(
            _figure(
                "timeline-longest", "The longest of these calls", near, lanes, colours,
                max(0.0, begin - pad), end + pad, words,
            )
        )  # fmt: skip
    return out


def _lanes(ranks: Sequence[int]) -> list[int]:
    if len(ranks) <= MOST_LANES:
        return list(ranks)
    step = (len(ranks) - 1) / (MOST_LANES - 1)
    return sorted({ranks[round(i * step)] for i in range(MOST_LANES)})


def _colours(events: Sequence[Event]) -> dict[str, str]:
    time: dict[str, float] = {}
    for e in events:
        time[e.function] = time.get(e.function, 0.0) + e.end_s - e.start_s
    order = sorted(time, key=lambda f: (-time[f], f))
    return {f: theme.colour(HUES[i] if i < len(HUES) else "slate") for i, f in enumerate(order)}


def _thinned(events: Sequence[Event], width: float) -> list[Event]:
    """Keep, for each rank and bin of time, the longest call that begins there."""
    kept: dict[tuple[int, int], Event] = {}
    for e in events:
        key = (e.rank, int(e.start_s / width))
        old = kept.get(key)
        if old is None or e.end_s - e.start_s > old.end_s - old.start_s:
            kept[key] = e
    return list(kept.values())


def _call_of(event: Event, events: Sequence[Event]) -> list[Event]:
    found = {event.rank: event}
    for e in events:
        alike = (e.function, e.communicator) == (event.function, event.communicator)
        if alike and e.rank not in found and e.start_s < event.end_s and e.end_s > event.start_s:
            found[e.rank] = e
    return list(found.values())


def _figure(
    name: str,
    title: str,
    events: Sequence[Event],
    lanes: Sequence[int],
    colours: dict[str, str],
    low: float,
    high: float,
    note: str,
) -> Figure:
    thin = (high - low) / WIDTH  # a call is drawn at least as wide as can be seen
    rows = [
        {
            "r": f"{e.rank}",
            "a": max(e.start_s, low) - low,
            "b": min(max(e.end_s, e.start_s + thin), high) - low,
            "f": e.function,
            "d": f"rank {e.rank} | {e.function}, {fmt.size(e.bytes)} | {fmt.seconds(e.start_s)} "
            f"after the start, took {fmt.seconds(e.end_s - e.start_s)}",
        }
        for e in events
        if e.start_s < high and e.end_s > low
    ]
    x = axes.from_zero(alt.X, "a", high - low, "Time since the start" if low == 0 else "Time")
    lane = max(15, min(28, 90 // len(lanes)))
    present = {f: c for f, c in colours.items() if any(r["f"] == f for r in rows)}
    marks = (
        chart_of(rows)
        .mark_bar(height=lane - 4)
        .encode(
            x=x,
            x2=alt.X2("b:Q"),
            y=alt.Y("r:N", title="Rank", sort=[f"{r}" for r in lanes],
                    scale=alt.Scale(domain=[f"{r}" for r in lanes])),
            color=keyed("f", present, columns=5, symbolType="square"),
            description=DESCRIBED,
        )
        .properties(width=WIDTH, height=lane * len(lanes))
    )  # fmt: skip
    return Figure(name, title, cast(alt.Chart, marks), note)
