"""The page of ways to read and write a file: which is fastest, by how much, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stretto.counted import counted, seconds, sized
from stretto.files.identity import titled
from stretto.files.outcome import Verdict
from stretto.files.schema import encode
from stretto.files.storage import IoFile, Way
from stretto.measure.compare import compare_times
from stretto.measure.show import columns
from stretto.measure.stats import Interval, benjamini_hochberg, median_interval
from stretto.measure.verdict import judge
from stretto.storage.measure import READ, WORDS

#: a file of which more than this part was in memory was not read from the file system
WARM = 0.05
#: what to change for a way
_CHANGES = {
    "read-bcast": "read it on rank 0, then MPI_Bcast(buffer, n, MPI_BYTE, 0, comm)",
    "read-whole": "MPI_File_open on all ranks, MPI_File_read_at_all of the whole file",
    "read-parts": "MPI_File_open on all ranks, MPI_File_read_at_all of the part of each rank",
    "write-own": "one file per rank, merged after the run",
    "write-parts": "MPI_File_open on all ranks, MPI_File_write_at_all of the part of each rank",
}


@dataclass(frozen=True)
class WayTime:
    """One way: its median over launches, and how many times longer it takes than the first."""

    way: Way
    value: Interval
    ratio: Interval | None = None
    verdict: Verdict | None = None


def per_launch(way: Way) -> dict[int, float]:
    """Return the median of each launch."""
    return {i: median_interval(values).median for i, values in enumerate(way.launches)}


def rows_of(result: IoFile) -> list[WayTime]:
    """Return the ways of one result, each compared with the first of its kind."""
    out: list[WayTime] = []
    for reads in (True, False):
        ways = [w for w in result.ways if (w.name in READ) == reads]
        first, rest = ways[:1], ways[1:]
        tested = [compare_times(per_launch(w), per_launch(first[0])) for w in rest]
        adjusted = benjamini_hochberg([p for _, _, p, _ in tested])
        out += [WayTime(w, median_interval(list(per_launch(w).values()))) for w in first]
        for way, (ratio, _, p, _), q in zip(rest, tested, adjusted, strict=True):
            verdict = judge(ratio, q, len(way.launches), p=p)
            value = median_interval(list(per_launch(way).values()))
            out.append(WayTime(way, value, ratio, verdict))
    return out


def words_of(row: WayTime) -> str:
    """Return what a way is against the first one; a ratio only where a test was made."""
    if row.verdict is None or row.ratio is None:
        return "the first"
    if not row.verdict.tested or row.verdict.outcome == "inconclusive":
        return "inconclusive" if row.verdict.tested else "not tested"
    if row.verdict.outcome == "same":
        return "equal"
    faster = row.verdict.outcome == "faster"
    middle, low, high = row.ratio.median, row.ratio.low or 0.0, row.ratio.high or 0.0
    if faster:
        middle, low, high = 1 / middle, 1 / high if high else 0.0, 1 / low if low else 0.0
    return f"{middle:.3g} times {'faster' if faster else 'slower'} ({low:.3g} to {high:.3g})"


def best_of(rows: Sequence[WayTime]) -> WayTime | None:
    """Return the fastest of those that a test shows to be faster than the first."""
    proven = [r for r in rows if r.verdict is not None and r.verdict.outcome == "faster"]
    return min(proven, key=lambda r: r.value.median, default=None)


def answer(result: IoFile) -> list[str]:
    """Return the first lines: what all ranks reading costs, and what is faster."""
    rows = rows_of(result)
    out = []
    for reads in (True, False):
        mine = [r for r in rows if (r.way.name in READ) == reads]
        if not mine:
            continue
        verb = "read" if reads else "write"
        # who reads its part has another result than who reads all of it
        alike = [r for r in mine if r.way.name != "read-parts"]
        words = f"{WORDS[mine[0].way.name]}: {seconds(mine[0].value.median)}"
        best = best_of(alike)
        if best is not None:
            words += f"; {WORDS[best.way.name]}: {seconds(best.value.median)}, {words_of(best)}"
        else:
            words += f"; {_unproven([r.verdict for r in alike if r.verdict is not None])}"
        out.append(f"To {verb} {sized(result.bytes)} on {result.system}: {words}.")
        parts = next((r for r in mine if r.way.name == "read-parts"), None)
        if parts is not None and parts.verdict is not None and parts.verdict.outcome == "faster":
            out.append(
                "Where each rank needs only its part: MPI_File_read_at_all, "
                f"{seconds(parts.value.median)}, {words_of(parts)}."
            )
    return out


def _unproven(verdicts: Sequence[Verdict]) -> str:
    """Return why no other way is named."""
    if not verdicts:
        return "nothing else was measured"
    missing = next((v.missing or v.why for v in verdicts if v.outcome == "inconclusive"), None)
    if missing is None:
        return "no other method with the same result is faster"
    return f"inconclusive whether another method with the same result is faster ({missing})"


def cache_words(result: IoFile) -> str | None:
    """Return whether the page caches held the file before it was read; None: nothing was read."""
    held = [c for w in result.ways if w.name in READ for launch in w.cached for c in launch]
    if not held:
        return None
    servers = "Caches of file servers and disks are unknown."
    if min(held) < 0:
        return (
            "page cache: UNKNOWN. The file belongs to another user, and may have been in memory: "
            f"a time shorter than the file system allows is that of memory. {servers}"
        )
    if max(held) > WARM:
        why = "the file of another user cannot be dropped from the page cache"
        if result.own:
            why = "tmpfs is memory" if result.system == "tmpfs" else "the kernel did not drop it"
        return (
            f"page cache: WARM. It held up to {100 * max(held):.0f} % of the file before reading "
            f"({why}): these are times of memory, not of the file system"
        )
    return f"page cache: cold. It held at most 5 % of the file before each read. {servers}"


def change_lines(result: IoFile) -> Iterator[str]:
    """Yield what to change in the source for the fastest way of each kind."""
    rows = rows_of(result)
    for reads in (True, False):
        mine = [r for r in rows if (r.way.name in READ) == reads]
        alike = best_of([r for r in mine if r.way.name != "read-parts"])
        parts = best_of([r for r in mine if r.way.name == "read-parts"])
        for row in (alike, parts):
            if row is not None:
                yield f"do: {_CHANGES[row.way.name]}"


def table(result: IoFile) -> list[list[str]]:
    """Return a row a way: median, interval, rate, comparison."""
    rows = [["", "median", "95 % interval", "GB/s", "against the first"]]
    for row in rows_of(result):
        value = row.value
        spread = "" if value.low is None else f"{seconds(value.low)} to {seconds(value.high or 0)}"
        rate = f"{1e-9 * result.bytes / value.median:.3g}" if value.median > 0 else ""
        rows.append([WORDS[row.way.name], seconds(value.median), spread, rate, words_of(row)])
    return rows


def about(result: IoFile) -> str:
    nodes = counted(len(set(result.hosts)), "node")
    what = f"a file of {sized(result.bytes)} in {result.path}" if result.made else (
        f"{result.path} ({sized(result.bytes)})"
    )  # fmt: skip
    settings = ", ".join(f"{n}={v}" for n, v in result.environment.items())
    return (
        f"{titled(result.mpi)}, {counted(len(result.hosts), 'rank')} on {nodes}, {result.system}: "
        + what
        + (f"; {settings}" if settings else "")
    )


def page(result: IoFile) -> list[str]:
    launches = max(len(w.launches) for w in result.ways)
    out = [*answer(result), *(f"  {line}" for line in change_lines(result)), "", about(result)]
    out += columns(table(result), left=1)
    cache = cache_words(result)
    if cache is not None:
        out += ["", cache]
    last = (
        f"Medians of {counted(launches, 'launch')}, interleaved; a sample ends when the last "
        "rank is done. GB/s: size of the file / time."
    )
    return [*out, *([] if cache is not None else [""]), last]


def as_json(result: IoFile, file: str | None) -> dict[str, Any]:
    """Return the result and its answer for ``--json``."""
    return {
        "answer": answer(result), "changes": list(change_lines(result)),
        "cache": cache_words(result), "file": file, **encode(result),
    }  # fmt: skip
