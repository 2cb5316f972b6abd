"""When the messages of a plan go, in a simple model: what the picture of a plan shows.

Every message takes one step, whatever its size; a rank sends one message and receives one at a
time; a node phase takes one step; local work takes none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Action = dict[str, Any]


@dataclass
class Message:
    """One message: ranks, step in which it starts, what it carries."""

    source: int
    target: int
    start: int
    buffer: str
    first: int
    count: int
    reduced: bool


@dataclass
class Phase:
    """One node phase."""

    kind: str
    node: int
    ranks: list[int]
    root: int | None
    start: int


@dataclass
class LocalWork:
    """Local reductions of a rank at one moment that are not part of a receive."""

    rank: int
    at: int
    count: int


@dataclass
class Timeline:
    """All that happens, in steps from 0."""

    nranks: int
    node_of: list[int]
    messages: list[Message] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    work: list[LocalWork] = field(default_factory=list)
    steps: int = 0


@dataclass
class _Rank:
    actions: list[Action]
    at: int = 0
    clock: int = 0
    sending_until: int = 0
    receiving_until: int = 0
    issued: dict[int, int] = field(default_factory=dict)  # action: when
    ended: dict[int, int] = field(default_factory=dict)  # action: when
    in_node: bool = False


def _arrivals(actions: list[Action]) -> dict[int, int]:
    found: dict[int, int] = {}
    for i, a in enumerate(actions):
        if a["kind"] not in ("wait", "fence"):
            continue
        ended = [a["peer"]] if a["kind"] == "wait" else range(i)
        landed = {
            tuple(actions[j].get("dst", ())): j for j in ended if actions[j]["kind"] == "recv"
        }
        j = i + 1
        while j < len(actions) and actions[j]["kind"] == "reduce":
            receive = landed.pop(tuple(actions[j]["src"]), None)
            if receive is not None:
                found[receive] = j
            j += 1
    return found


class _Run:
    """Runs the streams; picks the message that can go first whenever nobody else can move."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.ranks = [_Rank(r["actions"]) for r in plan["ranks"]]
        nodes = list(plan["node_of"]) or [0] * plan["nranks"]  # not known: as if on one
        self.timeline = Timeline(plan["nranks"], nodes)
        self.partner: dict[tuple[int, int], tuple[int, int]] = {}
        self.waiting: list[tuple[int, int]] = []  # sends, both sides issued, not yet placed
        self.arrivals = [_arrivals(rank.actions) for rank in self.ranks]
        sends: dict[tuple[int, int], list[int]] = {}
        for r, rank in enumerate(self.ranks):
            for i, a in enumerate(rank.actions):
                if a["kind"] == "send":
                    sends.setdefault((r, a["peer"]), []).append(i)
        for r, rank in enumerate(self.ranks):
            for i, a in enumerate(rank.actions):
                if a["kind"] == "recv":
                    j = sends[(a["peer"], r)].pop(0)
                    self.partner[(r, i)] = (a["peer"], j)
                    self.partner[(a["peer"], j)] = (r, i)

    def run(self) -> Timeline:
        while True:
            while any([self._advance(r) for r in range(len(self.ranks))]):
                pass
            if not self.waiting:
                break
            self._place(min(self.waiting, key=self._key))
        if any(rank.at < len(rank.actions) for rank in self.ranks):
            raise ValueError("the plans do not end; stretto plan verify gives the reason")
        t = self.timeline
        ends = [m.start + 1 for m in t.messages] + [p.start + 1 for p in t.phases]
        t.steps = max(ends, default=0)
        return t

    def _earliest(self, send: tuple[int, int]) -> int:
        (s, i), (d, j) = send, self.partner[send]
        source, target = self.ranks[s], self.ranks[d]
        return max(source.issued[i], target.issued[j], source.sending_until, target.receiving_until)

    def _key(self, send: tuple[int, int]) -> tuple[int, int, int]:
        return (self._earliest(send), send[1], send[0])

    def _place(self, send: tuple[int, int]) -> None:
        (s, i), (d, j) = send, self.partner[send]
        source, target = self.ranks[s], self.ranks[d]
        start = self._earliest(send)
        self.waiting.remove(send)
        source.sending_until = target.receiving_until = start + 1
        source.ended[i] = target.ended[j] = start + 1
        buffer, first, count = source.actions[i].get("src", ("", 0, 0))
        if buffer == "TMP" and "dst" in target.actions[j]:
            buffer, first, count = target.actions[j]["dst"]  # blocks of OUT say more
        use = self.arrivals[d].get(j)
        if use is not None:
            buffer, first, count = target.actions[use]["dst"]
        reduced = use is not None
        self.timeline.messages.append(Message(s, d, start, buffer, first, count, reduced))

    def _ended(self, rank: _Rank, i: int) -> bool:
        if i not in rank.ended:
            return False
        rank.clock = max(rank.clock, rank.ended[i])
        return True

    def _advance(self, r: int) -> bool:
        rank = self.ranks[r]
        begin = rank.at
        while rank.at < len(rank.actions):
            a = rank.actions[rank.at]
            kind = a["kind"]
            if kind in ("send", "recv"):
                rank.issued[rank.at] = rank.clock
                other, j = self.partner[(r, rank.at)]
                if j in self.ranks[other].issued:
                    self.waiting.append((r, rank.at) if kind == "send" else (other, j))
            elif kind == "wait":
                if not self._ended(rank, a["peer"]):
                    break
            elif kind == "fence":
                if not all([self._ended(rank, i) for i in rank.issued]):
                    break
            elif kind == "reduce":
                self._note_work(r)
            elif kind.startswith("node_") and not self._node(r, kind):
                break
            rank.at += 1
        return rank.at > begin

    def _note_work(self, r: int) -> None:
        rank = self.ranks[r]
        if rank.at in self.arrivals[r].values():
            return  # shown with its message
        work = self.timeline.work
        if work and work[-1].rank == r and work[-1].at == rank.clock:
            work[-1].count += 1
        else:
            work.append(LocalWork(r, rank.clock, 1))

    def _node(self, r: int, kind: str) -> bool:
        rank = self.ranks[r]
        node_of = self.timeline.node_of
        members = [m for m in range(len(self.ranks)) if node_of[m] == node_of[r]]
        if rank.in_node:
            return False
        rank.in_node = True
        if not all(self.ranks[m].in_node for m in members):
            return False
        start = max(self.ranks[m].clock for m in members)
        a = rank.actions[rank.at]
        root = members[a["peer"]] if "peer" in a else None
        self.timeline.phases.append(Phase(kind, node_of[r], members, root, start))
        for m in members:
            self.ranks[m].clock = start + 1
            self.ranks[m].in_node = False
            if m != r:
                self.ranks[m].at += 1
        return True


def timeline(plan: dict[str, Any]) -> Timeline:
    return _Run(plan).run()
