"""The page of `stretto io`: the answer, a picture of all ways, all figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stretto.counted import seconds, sized
from stretto.files.storage import read_io
from stretto.report.figures.bars import ways_bars
from stretto.report.format import sentence
from stretto.report.network import NetPage, file_words, parted, written
from stretto.report.page import PageFiles
from stretto.storage.measure import READ, WORDS
from stretto.storage.show import about, answer, cache_words, change_lines, rows_of, table

ENDING = ".io.json"
METHOD = (
    "Medians over launches, with 95 % intervals where there are six or more. All methods are "
    "measured in turn in each launch, in rotating order. A sample lasts until the last rank is "
    "done. A ratio is shown only if the rank test over launches, adjusted for all comparisons of "
    "this page, was made. A difference counts only if it is significant (5 %) and above 3 %."
)


def report(paths: Sequence[Path], to: PageFiles) -> dict[str, Any]:
    """Write the page of the one path; return what it says, for ``--json``."""
    (path,) = paths
    result = read_io(path)
    sections = []
    for verb, reads in (("read", True), ("write", False)):
        mine = [row for row in rows_of(result) if (row.way.name in READ) == reads]
        if mine:
            key = "reading" if reads else "writing"
            chart = ways_bars(f"io-{key}", f"Time to {verb} {sized(result.bytes)}", mine)
            sections.append((key, f"Ways to {verb}", [chart]))
    cache = cache_words(result)
    name = path.name.removesuffix(ENDING)
    rows = table(result)
    busy, _ = parted([sentence(note) for note in result.notes])
    timed = [way for way in rows_of(result) if way.way.name in READ] or rows_of(result)
    fastest = min(timed, key=lambda way: way.value.median)
    shown = NetPage(
        "io",
        METHOD,
        [(name, about(result), [file_words(path, result)])],
        list(answer(result)),
        sections,
        [["way", *rows[0][1:]], *rows[1:]],
        notes=[] if cache is None else [sentence(cache)],
        remarks=[(sentence(line), "") for line in change_lines(result)],
        facts=[
            ("shortest median", f"{seconds(fastest.value.median)} ({WORDS[fastest.way.name]})"),
            ("where", about(result).partition(": ")[0]),
        ],
        following="stretto diagnose -- mpirun ./app   (how long a job reads and writes)",
        warnings=busy,
        numbers=(2, 3, 4),
    )
    return written(shown, to)
