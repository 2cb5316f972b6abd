"""The plans behind the table's choices: who sends to whom by step, and every rank's priced time."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from stretto.errors import StrettoError
from stretto.files.layout import RankLayout
from stretto.files.rows import Row
from stretto.model.plan_gantt import gantt
from stretto.model.plan_picture import picture
from stretto.model.platform_file import load, locate
from stretto.model.price import price
from stretto.model.sweep import hosts_of
from stretto.plan import CallPlans
from stretto.report import format as fmt
from stretto.report.load import System
from stretto.report.points import NATIVE
from stretto.report.tables import importance

MOST_PLANS = 4
#: ranks that are drawn, or fewer where that is too much to see; a smaller layout shows the idea
RANKS = (16, 8, 4)
MOST_NODES = 4
MOST_ACTIONS = 1500
#: prices a measured system's plans: nothing describes its network
STANDIN = "this-machine"


@dataclass(frozen=True)
class Drawn:
    """One choice, as pictures.

    `title`, `layout`, `price`: what and where, in words.
    `plan`, `time`: the pictures as data: URLs. A picture of its own keeps its styles to itself.
    """

    title: str
    layout: str
    price: str
    plan: str
    time: str


def _url(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _layout(row: Row, system: System, most: int) -> tuple[int, int]:
    """Return nodes and ppn to draw: the row's, or the report's, or as much as `most` ranks show."""
    own = system.layout
    nodes = row.nodes or (own.nodes if own else 1)
    ppn = row.ppn or (own.ppn if own else 2)
    if nodes * ppn > most:
        nodes = min(nodes, MOST_NODES, most)
        ppn = min(ppn, max(1, most // nodes))
    return nodes, ppn


def platform_name(system: System) -> str:
    """Return the platform that the files were simulated on, or a stand-in."""
    names = [t.host for t in system.tables if any(r.simulated for r in t.rows)]
    # a machine may be called as a platform is
    heads = [b.header for b in system.benches]
    names += [h.host.name for h in heads if h.settings.get("source") == "simulated"]
    for name in names:
        try:
            locate(name)
        except StrettoError:
            continue
        return name
    return STANDIN


def _rows(system: System) -> Iterator[Row]:
    """Yield one row of each choice, the report's own layout and the hottest collective first."""
    own, key = system.layout, importance(system)
    rows = [r for t in system.tables for r in t.rows if not r.choice.startswith(NATIVE)]

    def place(row: Row) -> tuple[object, ...]:
        here = own is not None and (row.nodes, row.ppn) == (own.nodes, own.ppn)
        return (not here, key(row.collective), -(row.nodes or 0), -(row.ppn or 0), row.low)

    seen = set()
    for row in sorted(rows, key=place):
        if (row.collective, row.choice) not in seen:
            seen.add((row.collective, row.choice))
            yield row


def _draw(row: Row, system: System, platform: str, most: int) -> Drawn | None:
    nodes, ppn = _layout(row, system, most)
    if nodes * ppn < 2:
        return None
    hosts = hosts_of(nodes, ppn)
    size = row.low or min(8, row.high if row.high is not None else 8)
    if row.collective == "barrier":
        size = 0
    try:
        with CallPlans(row.collective, row.choice, nodes * ppn, hosts, nbytes=size) as call:
            actions = call.actions()
        if sum(len(rank["actions"]) for rank in actions["ranks"]) > MOST_ACTIONS:
            return None
        found = price(row.collective, row.choice, hosts, size, load(platform), trace=True)
    except StrettoError:
        return None  # not for the layout that can be drawn, or no library
    return Drawn(
        f"{row.collective}: {row.choice}, {fmt.size(size)}",
        fmt.layout(RankLayout(nodes, ppn, nodes * ppn)),
        f"{fmt.microseconds(found.seconds * 1e6)} on {platform}",
        _url(picture(actions)),
        _url(gantt(found, hosts, size)),
    )


def plans(system: System) -> list[Drawn]:
    platform = platform_name(system)
    out: list[Drawn] = []
    for row in _rows(system):
        tried = (_draw(row, system, platform, most) for most in RANKS)
        drawn = next((d for d in tried if d), None)
        if drawn is not None:
            out.append(drawn)
        if len(out) == MOST_PLANS:
            break
    return out
