"""The critical path of a traced price: what the last rank's end rests on, back to the beginning."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.model.price import Price, Span


def critical_path(p: Price, hosts: Sequence[int]) -> list[Span]:
    """Return what happened on the way to the last end, first things first.

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
