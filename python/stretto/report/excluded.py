"""Candidates of which nothing counts, though they were measured: wrong results, crashes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from stretto.files.bench import Bench, standing_exclusions
from stretto.measure.show import size_words
from stretto.report.sources import Source

_WORDS = {
    "wrong": "wrong results",
    "hung": "it hung",
    "failed": "it crashed",
    "not_done": "it was not what ran",
}
#: sizes that are named one by one
MOST_SIZES = 3


def excluded(bench: Bench, label: Callable[[str], str]) -> list[str]:
    """Say of which candidates no time counts, and why: ``tuned ring: wrong results at 4 B``.

    What an MPI refused was never measured, and is not named.
    """
    sizes: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for e in standing_exclusions(bench.records).values():
        if e.reason in _WORDS:
            sizes[e.collective, e.candidate, e.reason].add(e.bytes)
    for s in bench.samples:
        if not s.correct:
            sizes[s.collective, s.candidate, "wrong"].add(s.bytes)
    return [
        f"{label(candidate)} is excluded for {collective}: {_WORDS[reason]}{_at(collective, found)}"
        for (collective, candidate, reason), found in sorted(sizes.items())
    ]


def of_all(files: Sequence[Source], label: Callable[[Source, str], str]) -> list[str]:
    return list(
        dict.fromkeys(
            f"{source.mpi}: {text}"
            for source in files
            for text in excluded(source.bench, lambda name, source=source: label(source, name))  # type: ignore[misc]
        )
    )


def _at(collective: str, sizes: set[int]) -> str:
    if collective == "barrier":
        return ""
    found = sorted(sizes)
    more = f" and {len(found) - MOST_SIZES} more sizes" if len(found) > MOST_SIZES else ""
    return f" at {', '.join(size_words(n) for n in found[:MOST_SIZES])} B{more}"
