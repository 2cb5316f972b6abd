"""Where a call's time goes: every rank's core over time, and the messages between.

Drawn from a price with its trace (`stretto.model.price.price`, ``trace=True``), thus simulated, and
the picture says so. Up to `MOST_LANES` ranks have a lane each; with more, a node shows the rank
that has most to do, and the last of its others stands for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.counted import counted
from stretto.model.price import Price, Span
from stretto.model.svg import END, MIDDLE, Drawing

MOST_LANES = 64
WIDTH = 980  # px of the time axis
LEFT, TOP, RIGHT = 118, 104, 54
MOST_MESSAGES = 1500  # with more, the lines would be a grey surface

#: what a core does: class, words, order in the legend
DOINGS = {
    "send": "sending",
    "recv": "receiving",
    "wait": "waiting",
    "reduce": "reducing",
    "copy": "copying",
    "node": "in the node's shared memory",
}

LIGHT = """.rule{stroke:#d8dee4}
.lane{fill:#e9edf1}.g-send{fill:#0067a8}.g-recv{fill:#6db6e2}.g-wait{fill:#cfd6dd}
.g-reduce{fill:#d0500a}.g-copy{fill:#96407f}.g-node{fill:#8fcdbb}
.far{stroke:#0067a8}.near{stroke:#00806a}.end{stroke:#b3261e}.endfill{fill:#b3261e}
.bound{stroke:#57606a}"""
DARK = """.rule{stroke:#2e363f}
.lane{fill:#222a32}.g-send{fill:#5db7f5}.g-recv{fill:#2f6f9c}.g-wait{fill:#3a444e}
.g-reduce{fill:#ff8f4d}.g-copy{fill:#dd93c8}.g-node{fill:#2f7f6c}
.far{stroke:#5db7f5}.near{stroke:#3faf90}.end{stroke:#ff8a80}.endfill{fill:#ff8a80}
.bound{stroke:#a3adb8}"""


@dataclass
class _Lane:
    rank: int
    node: int
    label: str
    y: float = 0.0


def _lanes(p: Price, hosts: Sequence[int]) -> tuple[list[_Lane], int]:
    if p.nranks <= MOST_LANES:
        order = sorted(range(p.nranks), key=lambda r: (hosts[r], r))
        return [_Lane(r, hosts[r], f"rank {r}") for r in order], 0
    busy = [0] * p.nranks
    for s in p.spans:
        if s.kind == "message":
            busy[s.rank] += 1
            busy[s.peer] += 1
    members: dict[int, list[int]] = {}
    for rank, node in enumerate(hosts):
        members.setdefault(node, []).append(rank)
    nodes = sorted(members)
    per_node = 1 if max(len(m) for m in members.values()) == 1 else 2
    room = MOST_LANES // per_node
    if len(nodes) > room:  # from everywhere, and the one that ends last
        shown = {nodes[i * len(nodes) // room] for i in range(room)} | {hosts[p.last_rank]}
    else:
        shown = set(nodes)
    lanes = []
    for node in sorted(shown):
        ranks = members[node]
        first = max(ranks, key=lambda r: (busy[r], -r))
        lanes.append(_Lane(first, node, f"rank {first}"))
        others = [r for r in ranks if r != first]
        if others:
            latest = max(others, key=lambda r: (p.finish[r], -r))
            lanes.append(_Lane(latest, node, counted(len(others), "other")))
    return lanes, len(nodes) - len(shown)


def _ticks(end: float) -> list[float]:
    raw = end / 8
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((f * power for f in (1, 2, 5, 10)), key=lambda s: abs(s - raw))
    return [i * step for i in range(int(end / step + 1e-9) + 1)]


def critical_path(p: Price, hosts: Sequence[int]) -> list[Span]:
    """Return what the last rank's end rests on, back to the beginning, first things first.

    Where a rank waited for a message, the path goes to the message and its sender; where it waited
    for its node, to the rank of the node that came last. Waiting itself is never on the path,
    except where nothing else is known to have caused its end (a rendezvous's permission, say).
    """
    begins: dict[int, list[Span]] = {}
    arrivals: dict[tuple[int, int], list[Span]] = {}
    for s in p.spans:
        if s.kind == "message":
            arrivals.setdefault((s.rank, s.peer), []).append(s)
        elif s.end > s.begin:
            begins.setdefault(s.rank, []).append(s)
    path: list[Span] = []
    rank, t = p.last_rank, p.last
    for _ in range(len(p.spans)):
        slack = 1e-12 * max(t, 1e-9)
        before = [s for s in begins.get(rank, []) if s.end <= t + slack]
        if not before:
            break
        span = max(before, key=lambda s: (s.end, s.begin))
        cause = None
        if span.kind == "wait" and span.peer >= 0:
            came = [m for m in arrivals.get((span.peer, rank), []) if m.end <= span.end + slack]
            cause = max(came, key=lambda m: m.end, default=None)
            if cause is not None and cause.end < span.end - slack:
                cause = None  # it had come already; the wait was for something else
        elif span.kind == "wait":
            late = [
                s
                for r, spans in begins.items()
                if r != rank and hosts[r] == hosts[rank]
                for s in spans
                if s.kind != "wait" and abs(s.end - span.end) <= slack
            ]
            if late:
                rank, t = late[0].rank, span.end
                continue
        if cause is not None:
            path.append(cause)
            rank, t = cause.rank, cause.begin
        else:
            path.append(span)
            t = span.begin
    return path[::-1]


class _Canvas(Drawing):
    def __init__(self, p: Price, hosts: Sequence[int]) -> None:
        super().__init__(LIGHT, DARK)
        self.p = p
        self.begin = min(p.enter)
        self.end = p.last
        self.lanes, self.left_out = _lanes(p, hosts)
        n = len(self.lanes)
        self.height = 24 if n <= 16 else 17 if n <= 32 else 12
        gap = self.height * 0.45
        y = float(TOP)
        for i, lane in enumerate(self.lanes):
            if i and lane.node != self.lanes[i - 1].node:
                y += gap
            lane.y = y
            y += self.height
        self.bottom = y
        self.at = {lane.rank: lane for lane in self.lanes}

    def x(self, t: float) -> float:
        return LEFT + WIDTH * (t - self.begin) / ((self.end - self.begin) or 1.0)


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.4g} µs"


def _axis(c: _Canvas) -> None:
    nodes = dict.fromkeys(lane.node for lane in c.lanes)
    for node in nodes if len(nodes) > 1 else []:
        of_node = [lane for lane in c.lanes if lane.node == node]
        if len(of_node) > 1:
            top, bottom = of_node[0].y - 2, of_node[-1].y + c.height + 2
            c.rect(10, top, LEFT + WIDTH + 6, bottom - top, "band", 'rx="5"')
        middle = (of_node[0].y + of_node[-1].y + c.height) / 2 + 4
        c.text(18, middle, f"node {node}", "muted", 10 if c.height > 12 else 9)
    for t in _ticks(c.end - c.begin):
        x = c.x(c.begin + t)
        c.line(x, TOP - 8, x, c.bottom + 6, "rule")
        label = f"{t * 1e6:.6g}"
        if x + 3.3 * len(label) < LEFT + WIDTH + 11:  # there the unit begins
            c.text(x, TOP - 14, label, "muted", 11, MIDDLE)
    c.text(LEFT + WIDTH + 14, TOP - 14, "µs", "muted", 11)
    for lane in c.lanes:
        pad = c.height * 0.14
        x, end = c.x(c.p.enter[lane.rank]), c.x(c.p.finish[lane.rank])
        c.rect(x, lane.y + pad, max(0.5, end - x), c.height - 2 * pad, "lane")
        size = 11 if c.height > 12 else 9
        c.text(LEFT - 8, lane.y + c.height / 2 + 4, lane.label, "ink", size, END)


def _bar(c: _Canvas, s: Span) -> None:
    lane = c.at[s.rank]
    pad = c.height * (0.34 if s.kind == "wait" else 0.14)
    x, width = c.x(s.begin), c.x(s.end) - c.x(s.begin)
    what = s.detail.removeprefix("node_") if s.kind == "node" else DOINGS[s.kind]
    with_whom = f" with rank {s.peer}" if s.peer >= 0 else ""
    when = f"{_microseconds(s.end - s.begin)} from {_microseconds(s.begin - c.begin)}"
    title = f"rank {s.rank}: {what}{with_whom}, {when}"
    height = c.height - 2 * pad
    c.rect(x, lane.y + pad, max(0.4, width), height, f"g-{s.kind}", title=title)
    name = s.detail.removeprefix("node_")
    if s.kind == "node" and width > 7 * len(name) + 6 and c.height > 12:
        c.text(x + width / 2, lane.y + c.height / 2 + 4, name, "ink", 10, MIDDLE)


def _underline(c: _Canvas, s: Span) -> None:
    lane = c.at[s.rank]
    x, width = c.x(s.begin), c.x(s.end) - c.x(s.begin)
    c.rect(x, lane.y + c.height * 0.86 - 2, max(0.4, width), 2.4, "endfill")


def _flight(c: _Canvas, s: Span, opacity: float, critical: bool = False) -> None:
    source, target = c.at[s.rank], c.at[s.peer]
    level = "end" if critical else "far" if s.level in ("rail", "network") else "near"
    half = c.height / 2
    down = target.y > source.y
    y1 = source.y + half + (half * 0.7 if down else -half * 0.7)
    y2 = target.y + half - (half * 0.7 if down else -half * 0.7)
    c.lines.append(
        f"<g><title>rank {s.rank} to rank {s.peer}: {s.nbytes:,.0f} bytes in flight "
        f"{_microseconds(s.end - s.begin)}, {s.level}</title>"
        f'<line x1="{c.x(s.begin):.1f}" y1="{y1:.1f}" x2="{c.x(s.end):.1f}" y2="{y2:.1f}" '
        f'class="{level}" stroke-width="{2 if critical else 1.1}" stroke-opacity="{opacity:.2f}"/>'
        f'<circle cx="{c.x(s.end):.1f}" cy="{y2:.1f}" r="1.7" class="{level}" '
        f'fill="none" stroke-opacity="{min(1.0, opacity + 0.2):.2f}"/></g>'
    )


def _end(c: _Canvas) -> None:
    x = c.x(c.end)
    c.line(x, TOP - 8, x, c.bottom + 12, "end", 'stroke-width="1.6"')
    c.text(x, c.bottom + 26, _microseconds(c.end - c.begin), "endfill", 11, MIDDLE)
    bound = c.p.bound
    if bound and 0 < bound < (c.end - c.begin) * 0.995 and len(c.p.took) == 1:
        x = c.x(c.begin + bound)
        dashed = 'stroke-width="1.4" stroke-dasharray="5 4"'
        c.line(x, TOP - 8, x, c.bottom + 12, "bound", dashed)
        anchor = END if c.x(c.end) - x < 150 else MIDDLE
        c.text(x, c.bottom + 26, f"lower bound {_microseconds(bound)}", "muted", 11, anchor)


def _legend(c: _Canvas, shown: set[str], levels: set[str]) -> None:
    x, y = float(LEFT), c.bottom + 54
    for kind, words in DOINGS.items():
        if kind not in shown:
            continue
        c.rect(x, y - 10, 16, 12, f"g-{kind}", 'rx="2"')
        x = c.legend(x + 22, y, words)
    x, y = float(LEFT), y + 22
    for level, words in (("far", "message between nodes"), ("near", "message within a node")):
        if level in levels:
            c.line(x, y - 4, x + 16, y - 4, level, 'stroke-width="2"')
            x = c.legend(x + 22, y, words)
    c.line(x, y - 4, x + 16, y - 4, "end", 'stroke-width="2.4"')
    c.legend(x + 22, y, "critical path: determines the end time")


def gantt(p: Price, hosts: Sequence[int], nbytes: int) -> str:
    c = _Canvas(p, hosts)
    _axis(c)
    bars = [s for s in p.spans if s.kind != "message" and s.rank in c.at and s.end > s.begin]
    flights = [s for s in p.spans if s.kind == "message" and s.rank in c.at and s.peer in c.at]
    for s in sorted(bars, key=lambda s: (s.kind != "wait", s.rank, s.begin)):
        _bar(c, s)
    hidden = len(flights) > MOST_MESSAGES
    flights = [] if hidden else flights
    opacity = 0.75 if len(flights) <= 80 else 0.45 if len(flights) <= 300 else 0.25
    path = critical_path(p, hosts)
    for s in flights:
        if s not in path:
            _flight(c, s, opacity)
    for s in path:
        if s.kind == "message" and s.rank in c.at and s.peer in c.at:
            _flight(c, s, 0.9, True)
        elif s.kind != "message" and s.rank in c.at:
            _underline(c, s)
    _end(c)
    _legend(
        c,
        {s.kind for s in bars},
        {"far" if s.level in ("rail", "network") else "near" for s in flights},
    )
    name = f"{p.collective} · {p.choice}"
    nothing = p.collective == "barrier"
    size = "no data" if nothing else f"{nbytes:,} {'byte' if nbytes == 1 else 'bytes'}"
    ranks = counted(p.nranks, "rank")
    note = f"{ranks} on {counted(p.nnodes, 'node')}, {size}, on {p.platform}: simulated"
    if p.nranks > MOST_LANES:
        note += "; for each node, its busiest rank and the last of the other ranks"
    if c.left_out:
        note += f"; {counted(c.left_out, 'node')} {'is' if c.left_out == 1 else 'are'} not shown"
    if hidden:
        note += "; messages are not drawn"
    return c.document(LEFT + WIDTH + RIGHT, c.bottom + 96, 18, name, note)
