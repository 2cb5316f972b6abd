"""The page of `stretto io`: the answer, a picture of all ways, all figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.files.storage import IoFile, read_io
from stretto.report import network
from stretto.report.figures.storage import ways_bars
from stretto.storage.measure import READ
from stretto.storage.show import about, answer, cache_words, change_lines, rows_of, table

ENDING = ".io.json"


@dataclass(frozen=True)
class Stored:
    """One result, as the page wants it."""

    name: str
    paths: tuple[Path, ...]
    result: IoFile

    @property
    def about(self) -> str:
        return about(self.result)


def report(
    paths: Sequence[Path], output: Path, png: Path | None, svg: Path | None, drawn: network.Drawn
) -> dict[str, Any]:
    """Write the page of the one path; return what it says, for ``--json``."""
    (path,) = paths
    result = read_io(path)
    rows = rows_of(result)
    sections = []
    for key, title, reads in (
        ("reading", "Ways to read", True),
        ("writing", "Ways to write", False),
    ):
        mine = [row for row in rows if (row.way.name in READ) == reads]
        if mine:
            sections.append((key, title, [ways_bars(f"io-{key}", title, mine)]))
    cache = cache_words(result)
    shown = network.NetPage(
        list(answer(result)),
        [(line, "") for line in change_lines(result)],
        [Stored(path.name.removesuffix(ENDING), (path,), result)],
        sections,
        [["way", *table(result)[0][1:]], *table(result)[1:]],
        [] if cache is None else [cache[:1].upper() + cache[1:]],
        "Stretto io",
        "Medians over launches, with 95 % intervals where there are six or more. All ways are "
        "measured in turn in each launch, which begins with another one. A sample lasts until the "
        "last rank is done. A ratio stands only where the rank test of the launches, adjusted for "
        "all comparisons of this page, was made. A difference counts only if it is significant "
        "(5 %) and above 3 %.",
    )
    return network.written(shown, "io", output, png, svg, drawn)
