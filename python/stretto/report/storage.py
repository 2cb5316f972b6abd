"""The pages of `stretto io`, of one result and of several: the answer, pictures, all figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stretto.counted import seconds, sized
from stretto.files.storage import read_io
from stretto.report.figures.bars import results_bars, ways_bars
from stretto.report.figures.network import over_ranks
from stretto.report.format import sentence, told_apart
from stretto.report.network import NetPage, file_words, parted, written
from stretto.report.page import PageFiles
from stretto.report.render import Figure
from stretto.storage import compare
from stretto.storage.measure import READ, WORDS
from stretto.storage.show import about, answer, cache_words, change_lines, rows_of, table

METHOD = (
    "Medians over launches, with 95 % intervals where there are six or more. Each launch measures "
    "all methods, in rotating order. A sample lasts until the last rank is "
    "done. A ratio is shown only if the rank test over launches, adjusted for all comparisons of "
    "this page, was made. A difference counts only if it is significant (5 %) and above 3 %."
)
SEVERAL = (
    "Medians over launches, with 95 % intervals where there are six or more. A sample lasts until "
    "the last rank is done. Ratios are to the first result, in order of ranks. A ratio is shown "
    "only if both results have six launches and the rank test, adjusted for all comparisons of "
    "this page, was made. A difference counts only if it is significant (5 %) and above 3 %."
)
#: characters of a name at a line or bar
_LABEL = 48


def report(paths: Sequence[Path], to: PageFiles) -> dict[str, Any]:
    """Write the page of one result or of several; return what it says, for ``--json``."""
    if len(paths) > 1:
        return several(compare.compared(compare.results(paths)), to)
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
    name = path.name.removesuffix(compare.ENDING)
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


def several(found: compare.IoCompared, to: PageFiles) -> dict[str, Any]:
    """Write the page of several results: time over ranks, or bars side by side, and ratios."""
    sections = []
    for key, verb, reads in (("reading", "read", True), ("writing", "write", False)):
        mine = [row for row in found.rows if row.reads == reads]
        if mine:
            sections.append((key, f"Ways to {verb}", _figures(found, mine, key, verb)))
    busy, notes = parted([sentence(note) for note in found.notes])
    first = found.results[0]
    return written(
        NetPage(
            "io",
            SEVERAL,
            [(r.name, about(r.file), [file_words(r.path, r.file)]) for r in found.results],
            found.answer,
            sections,
            compare.table(found),
            notes,
            following=f"stretto report {shlex.quote(str(first.path))}",
            warnings=busy,
            numbers=(3, 4, 5),
        ),
        to,
    )


def _figures(
    found: compare.IoCompared, rows: Sequence[compare.IoRow], key: str, verb: str
) -> list[Figure]:
    title = f"Time to {verb} {sized(found.results[0].file.bytes)}"
    charts = compare.curves(found, rows)
    out = []
    for way, lines in charts.items():
        called = told_apart(list(lines), _LABEL)
        named = {called[line]: curve for line, curve in lines.items()}
        heading = f"{title}: {WORDS[way]}" if way else title
        drawn = over_ranks(f"io-{way or key}-ranks", heading, named)
        out += [drawn] if drawn is not None else []
    return out or [results_bars(f"io-{key}", title, rows, found.labels)]
