"""The answer to a measurement of the network: rates, whether streams help, and what to type."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from stretto.counted import counted, sized, three
from stretto.files.net import NetFile, Streams
from stretto.launch.typed import without
from stretto.measure.stats import FEWEST
from stretto.mpi.settings.openmpi import SPREAD
from stretto.net.judge import (
    BUSY,
    OUT,
    WAITS,
    WHICH,
    NetFinding,
    again,
    compare,
    fastest_setting,
    findings,
    middle,
    one_machine,
    other_pairs,
    rate_words,
    waited,
)

#: streams of which each still has this part of what one alone has are capped one by one
EACH_KEEPS = 0.8
#: fewer streams that reach this part of the best rate do as well
ENOUGH = 0.95
#: options of Open MPI without which large messages use few of the connections
_SPREAD = " ".join(f"--mca {name.removeprefix('OMPI_MCA_')} {value}" for name, value in SPREAD)


@dataclass(frozen=True)
class NetAnswer:
    """The page's first lines: what was found, why, and the next command.

    `text`: the first sentence. `more`: what follows it.
    """

    text: str
    remedy: str | None
    next_command: str
    more: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        return [self.text, *self.more]


def answer(result: NetFile) -> NetAnswer:
    """Return the gravest finding of hosts or pairs, and what the pairs without one reach."""
    if not result.streams:
        return _latency_answer(result)
    found = [f for f in findings(result) if f.topic in ("host", "pair", "loss")]
    usual = _usual_answer(result, found)
    if one_machine(result):
        return replace(usual, text=f"one machine, no network: {usual.text}", remedy=None)
    if not found:
        return usual
    further = other_pairs(result, found[0].pairs[0]) if found[0].topic == "pair" else None
    text = found[0].text
    if found[0].topic == "loss":
        text = text.partition(":")[0]  # the findings have the figures
    return NetAnswer(
        f"{text}; {usual.text}", usual.remedy,
        f"{further}   ({WHICH})" if further else usual.next_command,
    )  # fmt: skip


def _usual_answer(result: NetFile, found: Sequence[NetFinding]) -> NetAnswer:
    """Return the answer for the pairs that have no finding of their own (else for all)."""
    odd = {pair for finding in found for pair in finding.pairs}
    usual = [point for point in result.streams if point.pair not in odd]
    rest = "the other " if 0 < len(usual) < len(result.streams) else ""
    points = usual or result.streams
    threads, size = min(p.threads for p in points), max(p.bytes for p in points)
    whole = [p for p in points if p.bytes == size]
    points = [p for p in whole if p.threads == threads]
    by_streams: dict[int, list[Streams]] = defaultdict(list)
    for point in sorted(points, key=lambda p: p.streams):
        by_streams[point.streams].append(point)
    pairs = dict.fromkeys(point.pair for point in points)
    named = " -> ".join(next(iter(pairs)))
    title = named if len(pairs) == 1 else f"median of {rest}{len(pairs)} pairs"
    fewest, *others = by_streams
    threaded = _more_threads(points, whole)
    if others:
        said = _scaling(title, by_streams, result)
        return replace(said, text=said.text.rstrip(".") + threaded) if threaded else said
    words = rate_words(median(_pooled(points)))
    return NetAnswer(
        f"{title}: {words} with {_number(fewest)}{threaded}", None,
        f"{again(result, '--streams', '1,4,16')}   (whether each stream is capped)",
    )  # fmt: skip


def _more_threads(few: Sequence[Streams], points: Sequence[Streams]) -> str:
    """Return the fastest streams and threads, unless it is the fewest threads (`few`)."""
    best = fastest_setting([p for p in points if p.beside == few[0].beside])
    if best[0].threads == few[0].threads:
        return ""
    (found,) = compare([(_pooled(best), _pooled(fastest_setting(few)))])
    if found.tested and not found.differs:
        return ""
    rate = rate_words(median(_pooled(best)))
    words = f"{_number(best[0].streams)} on {counted(best[0].threads, 'thread')}"
    return f"; fastest{'' if found.tested else ' (not tested)'}: {rate} with {words}"


def _latency_answer(result: NetFile) -> NetAnswer:
    size = min(point.bytes for point in result.latencies)
    points = [point for point in result.latencies if point.bytes == size]
    us = median(run.median_us for point in points for run in point.runs)
    title = " -> ".join(points[0].pair) if len(points) == 1 else f"median of {len(points)} pairs"
    words = [word for word in without(result.command, *OUT) if word != "--latency"]
    return NetAnswer(
        f"{title}: {three(us)} us one way for {sized(size)}", None,
        f"{shlex.join(['stretto', *words, '--no-latency'])}   (bandwidth)",
    )  # fmt: skip


def _pooled(points: Sequence[Streams]) -> list[float]:
    """Return a rate for each run: the median over the pairs."""
    return [float(median(run)) for run in zip(*(point.rates for point in points), strict=False)]


def _number(streams: int) -> str:
    return "one stream" if streams == 1 else counted(streams, "stream")


def _scaling(title: str, by_streams: dict[int, list[Streams]], result: NetFile) -> NetAnswer:
    """Return the answer where several numbers of streams were measured."""
    rates = {streams: _pooled(points) for streams, points in by_streams.items()}
    rate = {streams: median(found) for streams, found in rates.items()}
    fewest, *others = rates
    found = dict(zip(others, compare([(rates[n], rates[fewest]) for n in others]), strict=True))
    enough = min(n for n in others if rate[n] >= ENOUGH * max(rate[m] for m in others))
    application = "stretto settings -- mpirun -n N ./app   (whether your application gains)"
    shown = [n for n in others if n <= enough]
    first = f"{title}: {rate_words(rate[fewest])} with {_number(fewest)}"
    more = "".join(f", {rate_words(rate[n])} with {n}" for n in shown)
    if not found[enough].tested:
        return NetAnswer(
            f"{first}{more}; not tested: fewer than {FEWEST} runs", None,
            again(result, "--runs", str(FEWEST)),
        )  # fmt: skip
    if not found[enough].differs or found[enough].ratio.median < 1:
        words = rate_words(max(rate[n] for n in others))
        return NetAnswer(
            f"{first}; more streams do not help (at most {words}): the limit is the path or the "
            "host, not the stream",
            None, application,
        )  # fmt: skip
    each = rate[fewest] / fewest
    kept = [n for n in others if rate[n] >= EACH_KEEPS * each * n]
    busy = any(middle(p, lambda run: run.send_thread) >= BUSY for p in by_streams[fewest])
    held = any(waited(p) >= WAITS for p in by_streams[fewest])
    why = "one stream does not fill the path" if fewest == 1 else "a few streams do not fill it"
    if held:
        why = "the socket buffer limits each stream"
    elif kept and not busy:
        why = f"each stream is capped at about {rate_words(each)}"
    following = application
    if kept and max(kept) == max(others):
        why += "; the total limit was not reached"
        wider = f"{fewest},{enough},{4 * enough}"
        following = f"{again(result, '--streams', wider)}   (to find the limit); {application}"
    return NetAnswer(
        f"{first}{more} ({found[enough].ratio.median:.1f}x): {why}.",
        f"Use more connections per pair; Open MPI over TCP: --mca btl_tcp_links {enough} "
        f"{_SPREAD} (stretto net rails measures it). An application that already has many "
        "connections gains nothing: test it.",
        following,
    )  # fmt: skip
