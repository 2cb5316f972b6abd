"""The page of messages through an MPI, also with a progress thread; the same in OSU's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from stretto.counted import counted, sized, three
from stretto.files.identity import titled
from stretto.files.net import Messages, Ranks
from stretto.measure.show import in_columns
from stretto.measure.stats import FEWEST, Interval, median_interval
from stretto.net.judge import compare
from stretto.net.p2p import LEVELS, PING, WINDOW, Point, messages_s, million, placement
from stretto.net.systems import message_words

#: OSU's programs and titles, by test
_OSU = {
    "latency": ("OSU MPI Latency Test", "Latency (us)"),
    "bandwidth": ("OSU MPI Bandwidth Test", "Bandwidth (MB/s)"),
    "bidirectional": ("OSU MPI Bi-Directional Bandwidth Test", "Bandwidth (MB/s)"),
}
_THREADS = {
    "threads": "threads at once, a communicator each",
    "shared": "threads at once, one communicator",
    "turns": "threads one after the other",
}


def value(messages: Messages) -> Interval:
    """Return the median over launches with its interval; a launch counts by its median."""
    return median_interval(_middles(messages.launches))


def by_point(ranks: Ranks, level: str = "single") -> dict[Point, Messages]:
    """Return the measurements of one thread level by their point."""
    return _by_point([m for m in ranks.messages if m.level == level])


def _lowest(ranks: Ranks) -> str:
    """Return the lowest thread level measured: an MPI may give more than was asked for."""
    return min((m.level for m in ranks.messages), key=LEVELS.index, default="single")


def by_thread_level(ranks: Ranks) -> dict[str, dict[int, Messages]]:
    """Return the latency of one pair by thread level and size; empty with one level."""
    out: dict[str, dict[int, Messages]] = {}
    for level in LEVELS:
        found = sorted(by_point(ranks, level).items())
        latency = {p.bytes: m for p, m in found if p == Point("latency", p.bytes)}
        if latency:
            out[f"MPI_THREAD_{level.upper()}"] = latency
    return out if len(out) > 1 else {}


def _level_rows(levels: Mapping[str, Mapping[int, Messages]]) -> list[list[str]]:
    """Return a row a message size, a column a thread level."""
    rows = [["bytes", *levels]]
    for size in sorted({size for found in levels.values() for size in found}):
        row = [three(value(m[size]).median) if size in m else "" for m in levels.values()]
        rows.append([sized(size), *row])
    return rows


def level_answer(ranks: Ranks) -> list[str]:
    """Return whether the highest thread level costs latency: nothing with one level."""
    levels = by_thread_level(ranks)
    if not levels:
        return []
    (low, *_, high), (before, *_, after) = list(levels), list(levels.values())
    sizes = [size for size in before if size in after]
    pairs = [(_middles(before[s].launches), _middles(after[s].launches)) for s in sizes]
    compared = compare(pairs)
    name = f"  {high} against {low}"
    if not compared or not all(found.tested for found in compared):
        return [f"{name}: not tested; a test needs {FEWEST} launches or more."]
    out = []
    for word, sign in (("higher", -1), ("lower", 1)):
        changed = [
            (sign * found.ratio.median, f"{sized(size)} {three(median(a))} -> {three(median(b))}")
            for size, (a, b), found in zip(sizes, pairs, compared, strict=True)
            if found.differs and sign * (found.ratio.median - 1) > 0
        ]
        if changed:
            of = f"{len(changed)} of {counted(len(sizes), 'size')}"
            out.append(f"{word} latency at {of} (most: {max(changed)[1]} us)")
    return [f"{name}: {', '.join(out) or 'no significant difference in latency'}."]


def mpi_page(ranks: Ranks) -> list[str]:
    found = by_point(ranks, _lowest(ranks))
    pairs = max((p.pairs for p in found), default=1)
    out = [*_answer(ranks, found, pairs), *level_answer(ranks), *progress_answer(ranks), ""]
    out.append(
        f"{titled(ranks.mpi)}, {counted(len(ranks.hosts), 'rank')}: {placement(ranks.hosts, pairs)}"
    )
    out += in_columns(_sizes(found, pairs), left=0)
    levels = by_thread_level(ranks)
    if levels:
        out += ["", "Latency by requested thread level, us", *in_columns(_level_rows(levels), 0)]
    threads = [m for m in ranks.messages if m.test in _THREADS]
    if threads:
        out += ["", "Round trips of threads, 8 B"]
        out += [
            f"  {m.threads} {_THREADS[m.test]} (MPI_THREAD_{m.level.upper()}): "
            f"{_words(value(m))} until each thread completed one round trip"
            for m in threads
        ]
    out += overlap_lines(ranks)
    runs = max(len(m.launches) for m in ranks.messages)
    out += [
        "",
        f"Medians of {counted(runs, 'launch')}; MB/s are 10^6 bytes a second, summed over all "
        "pairs.",
    ]
    return out


def _answer(ranks: Ranks, found: Mapping[Point, Messages], pairs: int) -> Iterator[str]:
    small = min((p.bytes for p in found if p.test == "latency" and p.bytes > 0), default=None)
    rated = {p: m for p, m in found.items() if p.test == "bandwidth" and p.window > 1 and p.bytes}
    alone = [m for p, m in rated.items() if p.pairs == 1]
    best = max(alone, key=lambda m: value(m).median, default=None)
    many = sorted((p.bytes, m) for p, m in rated.items() if p.pairs == pairs > 1)
    words = []
    if small is not None:
        words.append(f"{sized(small)} in {three(value(found[Point('latency', small)]).median)} us")
    if best is not None:
        words.append(
            f"{three(value(best).median)} MB/s with one pair ({sized(best.bytes)} messages)"
        )
        all_pairs = next((m for size, m in many if size == best.bytes), None)
        if all_pairs is not None:
            words.append(f"{three(value(all_pairs).median)} MB/s with {pairs}")
    elif many:
        size, most = many[-1]
        words.append(
            f"{three(value(most).median)} MB/s with {pairs} pairs ({sized(size)} messages)"
        )
    least = many[0][1] if many else min(alone, key=lambda m: m.bytes, default=None)
    if least is not None:
        rate = million(messages_s(value(least).median, least.bytes))
        words.append(f"{rate} messages of {sized(least.bytes)} a second")
    if not words:
        first = min(ranks.messages, key=lambda m: m.bytes)
        words.append(f"{message_words(first)} of {sized(first.bytes)}: "
                     f"{three(value(first).median)} {first.unit}")  # fmt: skip
    yield f"{titled(ranks.mpi)}: {', '.join(words)}."
    if pairs == 1:
        yield (
            "  One pair may not saturate a node. next: repeat with more ranks per node "
            "(-n 8 --ppn 4)"
        )


def _sizes(found: Mapping[Point, Messages], pairs: int) -> list[list[str]]:
    """Return a row a message size; MB/s of all pairs together."""
    columns = [
        ("latency us", "latency", 1, 1),
        ("send us", "sends", 1, WINDOW),
        ("MB/s", "bandwidth", 1, WINDOW),
        ("MB/s, window 1", "bandwidth", 1, 1),
        ("MB/s, both ways", "bidirectional", 1, WINDOW),
    ]
    if pairs > 1:
        columns.append((f"MB/s, {pairs} pairs", "bandwidth", pairs, WINDOW))
    rows = [["bytes", *(c[0] for c in columns)]]
    sizes = {p.bytes for p in found if p.test in ("latency", "bandwidth")}
    for size in sorted(sizes):
        row = [sized(size)]
        for _, test, of, window in columns:
            messages = found.get(Point(test, size, of, window))
            row.append("" if messages is None else three(value(messages).median))
        rows.append(row)
    return rows


def _words(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return f"{three(interval.median)} us"
    return f"{three(interval.median)} us ({three(interval.low)} to {three(interval.high)})"


def osu_lines(ranks: Ranks) -> list[str]:
    """Return osu_latency, osu_bw, osu_bibw and osu_mbw_mr as those programs print them."""
    found = by_point(ranks, _lowest(ranks))
    out: list[str] = []
    for test, (title, column) in _OSU.items():
        window = 1 if test == "latency" else WINDOW
        rows = sorted((p.bytes, m) for p, m in found.items()
                      if (p.test, p.pairs, p.window) == (test, 1, window))  # fmt: skip
        if rows:
            out += [f"# {title}", f"# {'Size':<10}{column:>20}"]
            out += [f"{size:<10}{value(m).median:>22.2f}" for size, m in rows]
    pairs = max((p.pairs for p in found), default=1)
    many = sorted((p.bytes, m) for p, m in found.items()
                  if (p.test, p.pairs, p.window) == ("bandwidth", pairs, WINDOW))  # fmt: skip
    if many:
        out += [
            "# OSU MPI Multiple Bandwidth / Message Rate Test",
            f"# [ pairs: {pairs} ] [ window size: {WINDOW} ]",
            f"# {'Size':<20}{'MB/s':>10}{'Messages/s':>23}",
        ]
        for size, messages in many:
            rate = value(messages).median
            out.append(f"{size:<22}{rate:>10.2f}{messages_s(rate, size) if size else 0:>23.2f}")
    return out


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
        (f"{_name(m)} of {sized(m.bytes)}", _costs(m), _costs(threaded[_point(m)]))
        for m in overlap
        if _point(m) in threaded
    ]
    alone = by_point(ranks)
    if PING in alone and PING in threaded:
        before, after = (_middles(by[PING].launches) for by in (alone, threaded))
        changes.append(("latency of 8 B", before, after))
    name = f"  Progress thread ({ranks.progress_thread})"
    compared = compare([(before, after) for _, before, after in changes])
    if not compared or not all(found.tested for found in compared):
        return [f"{name}: not tested; a test needs {FEWEST} launches or more."]
    words = [
        (what, f"{what} {three(median(before))} -> {three(median(after))} us", found.ratio.median)
        for (what, before, after), found in zip(changes, compared, strict=True)
        if found.differs
    ]
    less = [text for what, text, ratio in words if ratio > 1 and what != "latency of 8 B"]
    more = [text for _, text, ratio in words if ratio < 1]
    pays = (
        "it speeds up transfers"
        if less and not more
        else "it helps some transfers"
        if less
        else "it slows transfers"
    )
    out = [f"{name}: {pays}. Transfer time that is not hidden by a computation:"]
    out += [f"    less: {', '.join(less)}"] if less else []
    out += [f"    more: {', '.join(more)}"] if more else []
    return out if less or more else [f"{name}: it changes no measured value."]


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
        row = [_name(messages), sized(messages.bytes)]
        row += [_us(messages.pure_us), *_figures(messages)]
        if threaded:
            other = threaded.get(_point(messages))
            row += ["", "", ""] if other is None else _figures(other)
        rows.append(row)
    return [
        "",
        "Overlap: share of a transfer that proceeds while its rank computes for the time of the "
        "transfer alone",
        *in_columns(rows, left=1),
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
