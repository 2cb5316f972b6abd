"""The picture of a plan: ranks over steps, messages as arrows, node phases as boxes."""

from __future__ import annotations

import math
from typing import Any

from stretto.counted import counted
from stretto.errors import UsageError
from stretto.model.plan_timeline import LocalWork, Message, Phase, Timeline, timeline
from stretto.model.svg import END, MIDDLE, Drawing

WIDEST_STEP, NARROWEST_STEP = 104, 58  # px from one step to the next
STEPS_WIDTH = 1250  # px that all steps should fit in
MOST_LANES = 64
LANES = ((16, 40), (32, 27), (64, 18))  # up to so many ranks: px from one to the next
NODE_GAP = 18  # px more between nodes
LEFT, TOP, RIGHT, BOTTOM = 96, 96, 40, 64
DENSE = 200  # messages; with more their lines are thin
MOST_LABELS = 80  # messages; with more the labels would hide the arrows

#: of a node: the colour
PHASES = {
    "reduce": "reduce", "allreduce": "reduce", "bcast": "spread", "allgather": "gather",
    "barrier": "barrier", "gather": "gather", "scatter": "spread", "alltoall": "gather",
    "reduce_scatter": "reduce", "scan": "reduce", "exscan": "reduce",
}  # fmt: skip

LIGHT = """.rule{stroke:#d0d7de}
.lane{stroke:#b6bfc8}.send{stroke:#0067a8}.sendfill{fill:#0067a8}.near{stroke:#00806a}
.nearfill{fill:#00806a}
.sumfill{fill:#d0500a}.reduce{fill:#f6c9ae;stroke:#d0500a}.spread{fill:#b5d5ea;stroke:#0067a8}
.gather{fill:#bfe3d8;stroke:#00806a}.barrier{fill:#e3d3ec;stroke:#96407f}"""
DARK = """.rule{stroke:#3a434d}
.lane{stroke:#566270}.send{stroke:#5db7f5}.sendfill{fill:#5db7f5}.near{stroke:#3faf90}
.nearfill{fill:#3faf90}
.sumfill{fill:#ff8f4d}.reduce{fill:#6b3a1c;stroke:#ff8f4d}.spread{fill:#1f4a68;stroke:#5db7f5}
.gather{fill:#164a3e;stroke:#3faf90}.barrier{fill:#4a2c48;stroke:#dd93c8}"""


class _Canvas(Drawing):
    """Coordinates of ranks and steps, and the lines of the file."""

    def __init__(self, t: Timeline) -> None:
        super().__init__(LIGHT, DARK)
        self.t = t
        step = STEPS_WIDTH // max(1, t.steps)
        self.step = min(WIDEST_STEP, max(NARROWEST_STEP, step))
        nodes = t.node_of
        self.order = sorted(range(t.nranks), key=lambda r: (nodes[r], r))
        self.y: dict[int, float] = {}
        lane = next((px for most, px in LANES if t.nranks <= most), LANES[-1][1])
        self.lane, node_gap = lane, NODE_GAP * lane // LANES[0][1]
        at = float(TOP)
        for i, rank in enumerate(self.order):
            if i and nodes[rank] != nodes[self.order[i - 1]]:
                at += node_gap
            self.y[rank] = at
            at += lane
        self.bottom = at - lane
        self.right = LEFT + max(1, t.steps) * self.step
        self.width = float(max(self.right + RIGHT, 560))
        self.height = self.bottom + BOTTOM

    def x(self, step: float) -> float:
        return LEFT + step * self.step


def _blocks(message: Message) -> str:
    if message.count == 0:
        return ""
    last = message.first + message.count - 1
    return str(message.first) if message.count == 1 else f"{message.first}–{last}"


def _grid(c: _Canvas) -> None:
    nodes = c.t.node_of
    for node in sorted(set(nodes)) if len(set(nodes)) > 1 else []:
        lanes = [c.y[r] for r in range(c.t.nranks) if nodes[r] == node]
        pad = 18 * c.lane / LANES[0][1]
        top, bottom = min(lanes) - pad, max(lanes) + pad
        c.rect(12, top, c.right + 8, bottom - top, "band", 'rx="8"')
        middle = (top + bottom) / 2
        turn = f'{MIDDLE} transform="rotate(-90 28 {middle:.1f})"'
        c.text(28, middle, f"node {node}" if len(lanes) > 1 else f"n{node}", "muted", 11, turn)
    for step in range(c.t.steps + 1):
        x = c.x(step)
        c.line(x, TOP - 16, x, c.bottom + 14, "rule", 'stroke-dasharray="2 4"')
        if step < c.t.steps:
            c.text(c.x(step + 0.5), TOP - 22, str(step + 1), "muted", 11, MIDDLE)
    for rank, y in c.y.items():
        c.line(LEFT, y, c.right, y, "lane", 'stroke-width="1.4"')
        c.text(LEFT - 12, y + 4, f"rank {rank}", "ink", 12 if c.lane > 20 else 10, END)


def _phase(c: _Canvas, p: Phase) -> None:
    word = p.kind.removeprefix("node_")
    kind = PHASES[word]
    lanes = [c.y[r] for r in p.ranks]
    pad = 11 * c.lane / LANES[0][1]
    top, bottom = min(lanes) - pad, max(lanes) + pad
    left = c.x(p.start) + 10
    title = f"node {p.node}: {word} among ranks {', '.join(map(str, p.ranks))}"
    box = left, top, c.step - 20, bottom - top
    c.rect(*box, kind, 'rx="9" stroke-width="1.4"', title)
    down, size = (4, 12) if c.lane > 20 or len(p.ranks) > 1 else (3, 9)
    c.text(left + (c.step - 20) / 2, (top + bottom) / 2 + down, word, "ink", size, MIDDLE)
    if p.root is not None:
        at = left + (c.step - 20 if word == "reduce" else 0)
        c.lines.append(f'<circle cx="{at:.1f}" cy="{c.y[p.root]:.1f}" r="4.5" class="ink"/>')


def _message(c: _Canvas, m: Message, widest: int, label: bool) -> None:
    nodes = c.t.node_of
    inside = nodes[m.source] == nodes[m.target] and len(set(nodes)) > 1
    line = "near" if inside else "send"
    tip = "sum" if m.reduced else line
    x1, y1, x2, y2 = c.x(m.start) + 5, c.y[m.source], c.x(m.start + 1) - 5, c.y[m.target]
    length = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    width = 1.3 + (2.2 * math.sqrt(m.count / widest) if widest else 0)
    if len(c.t.messages) > DENSE:
        width = 0.5 + width * 0.2
    head, dot = 7 + width, min(2.6, width + 0.6)
    ex, ey = x2 - ux * head * 0.8, y2 - uy * head * 0.8
    wing = head * 0.42
    points = (
        f"{x2:.1f},{y2:.1f} {x2 - ux * head - uy * wing:.1f},{y2 - uy * head + ux * wing:.1f} "
        f"{x2 - ux * head + uy * wing:.1f},{y2 - uy * head - ux * wing:.1f}"
    )
    what = f"{m.buffer} {_blocks(m)}" if m.count else "no data"
    title = f"step {m.start + 1}: rank {m.source} to rank {m.target}, {what}"
    c.lines.append(
        f"<g><title>{title}{', reduced on arrival' if m.reduced else ''}</title>"
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{ex:.1f}" y2="{ey:.1f}" class="{line}" '
        f'stroke-width="{width:.2f}"/><polygon points="{points}" class="{tip}fill"/>'
        f'<circle cx="{x1:.1f}" cy="{y1:.1f}" r="{dot:.1f}" class="{line}fill"/></g>'
    )
    if label and m.count and m.buffer != "TMP":
        # at the sender, on the side that the arrow does not take: one message leaves at a time
        y = y1 - 8 if y2 > y1 else y1 + 16
        c.text(x1 + 1, y, _blocks(m), f"{line}fill", 10)


def _work(c: _Canvas, w: LocalWork) -> None:
    x, y = c.x(w.at), c.y[w.rank]
    turn = f'transform="rotate(45 {x:.1f} {y:.1f})"'
    c.rect(x - 5, y - 5, 10, 10, "sumfill", turn, f"rank {w.rank}: {w.count} local reductions")


def _legend(c: _Canvas) -> None:
    x, y = float(LEFT), c.bottom + 44
    entries: list[tuple[str, str]] = []
    nodes = c.t.node_of
    several = len(set(nodes)) > 1
    near = [several and nodes[m.source] == nodes[m.target] for m in c.t.messages]
    if not all(near):
        entries.append(("send", "message between nodes" if several else "message"))
    if any(near):
        entries.append(("near", "message within a node"))
    if any(m.reduced for m in c.t.messages):
        entries.append(("sum", "reduced on arrival"))
    if c.t.work:
        entries.append(("work", "local reductions"))
    for word in dict.fromkeys(p.kind.removeprefix("node_") for p in c.t.phases):
        entries.append((PHASES[word], f"{word} in the node's shared memory"))
    for kind, words in entries:
        if kind == "sum":
            c.lines.append(
                f'<polygon points="{x + 4:.1f},{y - 9:.1f} {x + 18:.1f},{y - 4:.1f} '
                f'{x + 4:.1f},{y + 1:.1f}" class="sumfill"/>'
            )
        elif kind in ("send", "near"):
            c.line(x, y - 4, x + 20, y - 4, kind, 'stroke-width="2.6"')
        elif kind == "work":
            turn = f'transform="rotate(45 {x + 10.5:.1f} {y - 4.5:.1f})"'
            c.rect(x + 6, y - 9, 9, 9, "sumfill", turn)
        else:
            c.rect(x, y - 11, 20, 14, kind, 'rx="4"')
        x = c.legend(x + 27, y, words)
    c.width = max(c.width, x)


def picture(plan: dict[str, Any]) -> str:
    if plan["nranks"] > MOST_LANES:
        raise UsageError(
            f"{plan['nranks']} ranks do not fit in a picture", "--ranks",
            f"give at most {MOST_LANES}, or --platform, which draws the busiest of more",
        )  # fmt: skip
    t = timeline(plan)
    c = _Canvas(t)
    out = max((r["out"] for r in plan["ranks"]), default=0)
    label = out > 1 and len(t.messages) <= MOST_LABELS
    label = label and any(m.count and m.buffer != "TMP" for m in t.messages)
    widest = max([out, *(m.count for m in t.messages)]) if t.messages else 0
    _grid(c)
    for p in t.phases:
        _phase(c, p)
    for m in sorted(t.messages, key=lambda m: m.start):
        _message(c, m, widest, label)
    for w in t.work:
        _work(c, w)
    _legend(c)
    on = f" on {plan['nnodes']} nodes" if plan["nnodes"] > 1 else ""
    name = f"{plan['collective']} · {plan['choice']}"
    note = (
        f"{counted(t.nranks, 'rank')}{on}: {counted(t.steps, 'step')}, "
        f"{counted(len(t.messages), 'message')}"
    )
    if t.messages:
        note += "; drawn with one step per message and one message at a time per rank"
    if label:
        note += "; numbers are blocks"
    c.width = max(c.width, LEFT - 60 + 6.6 * len(note))
    return c.document(c.width, c.height, LEFT - 72, name, note)
