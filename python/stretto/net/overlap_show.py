"""How much of a transfer goes on while its rank computes, with and without a progress thread."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from stretto.files.net import Messages, Ranks
from stretto.measure.stats import FEWEST
from stretto.net.judge import compare, size_words, three
from stretto.net.p2p import PING, Point
from stretto.net.text import aligned


def progress_answer(ranks: Ranks) -> list[str]:
    """Return whether a progress thread pays: nothing if there were no overlap tests.

    It pays where the transfer costs its rank less time beside a computation. Its price is what a
    short message takes longer.
    """
    overlap = _overlap(ranks.messages)
    if not overlap:
        return []
    if not ranks.progress_thread:
        return [f"  Progress thread: {ranks.progress_missing or 'not measured'}."]
    threaded = _by_point(ranks.with_thread)
    changes = [
        (f"{_name(m)} of {size_words(m.bytes)}", _costs(m), _costs(threaded[_point(m)]))
        for m in overlap
        if _point(m) in threaded
    ]
    alone = _by_point([m for m in ranks.messages if m.level == "single"])
    if PING in alone and PING in threaded:
        before, after = (_middles(by[PING].launches) for by in (alone, threaded))
        changes.append(("latency of 8 B", before, after))
    name = f"  Progress thread ({ranks.progress_thread})"
    compared = compare([(before, after) for _, before, after in changes])
    if not compared or not all(found.tested for found in compared):
        return [f"{name}: not tested, which takes {FEWEST} launches or more."]
    words = [
        (what, f"{what} {three(median(before))} -> {three(median(after))} us", found.ratio.median)
        for (what, before, after), found in zip(changes, compared, strict=True)
        if found.differs
    ]
    less = [text for what, text, ratio in words if ratio > 1 and what != "latency of 8 B"]
    more = [text for _, text, ratio in words if ratio < 1]
    pays = "it pays" if less and not more else "it pays for some" if less else "it does not pay"
    out = [f"{name}: {pays}. Time that a transfer costs beside a computation:"]
    out += [f"    less: {', '.join(less)}"] if less else []
    out += [f"    more: {', '.join(more)}"] if more else []
    return out if less or more else [f"{name}: it changes nothing that was measured."]


def _costs(messages: Messages) -> list[float]:
    """Return what a transfer costs beside a computation, us: one value a launch.

    That is at least 1 % of the transfer: below it is noise of the clock.
    """
    return [
        median(max(all_ - pure, pure / 100) for all_, pure in zip(*both, strict=True))
        for both in zip(messages.overall_us, messages.pure_us, strict=True)
    ]


def overlap_lines(ranks: Ranks) -> list[str]:
    """Return the table: transfer alone, with a computation as long, and the part that overlaps."""
    overlap = _overlap(ranks.messages)
    if not overlap:
        return []
    threaded = _by_point(ranks.with_thread)
    head = ["operation", "bytes", "pure us", "compute us", "overall us", "overlap"]
    with_head = ["pure us, thread", "overall us, thread", "overlap, thread"]
    rows = [[*head, *(with_head if threaded else [])]]
    for messages in overlap:
        row = [_name(messages), size_words(messages.bytes)]
        row += [_us(messages.pure_us), *_figures(messages)]
        if threaded:
            other = threaded.get(_point(messages))
            row += ["", "", ""] if other is None else _figures(other)
        rows.append(row)
    return [
        "",
        "Overlap: part of a transfer that goes on while its rank computes as long as the transfer "
        "alone takes",
        *aligned(rows, left=1),
    ]


def _figures(messages: Messages) -> list[str]:
    return [
        _us(messages.pure_us),
        _us(messages.overall_us),
        f"{median(_middles(messages.launches)):.0f} %",
    ]


def _us(launches: Sequence[Sequence[float]]) -> str:
    return three(median(_middles(launches))) if launches else ""


def _middles(launches: Sequence[Sequence[float]]) -> list[float]:
    return [median(batches) for batches in launches]


def _overlap(found: Sequence[Messages]) -> list[Messages]:
    return [messages for messages in found if messages.test.startswith("overlap")]


def _point(m: Messages) -> Point:
    return Point(m.test, m.bytes, m.pairs, m.window, m.threads)


def _by_point(found: Sequence[Messages]) -> dict[Point, Messages]:
    return {_point(messages): messages for messages in found}


def _name(messages: Messages) -> str:
    return messages.test.partition("-")[2] or "message"
