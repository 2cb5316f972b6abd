"""The page of ``stretto compare``, and its charts as files."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from stretto.launch.typed import without
from stretto.measure.stats import FEWEST
from stretto.report import page
from stretto.report.figures import ranking as draw
from stretto.report.page import Head, PageFiles
from stretto.report.ranking import Ranking
from stretto.report.ranking_show import answer, facts, place_words
from stretto.report.render import Figure
from stretto.report.sources import Source

#: a chart of all algorithms for each of so many places; with more, only those over sizes
MOST_CHARTS = 12


def figures(rankings: Sequence[Ranking]) -> tuple[list[Figure], list[Figure]]:
    colours = draw.hues(rankings)
    groups: dict[object, list[Ranking]] = defaultdict(list)
    for r in rankings:
        groups[replace(r.place, bytes=0), r.mode].append(r)
    over = [f for g in groups.values() if (f := draw.over_sizes(g, colours))]
    few = len(rankings) <= MOST_CHARTS
    return over, [draw.bars(r, colours) for r in rankings] if few else []


def write(
    rankings: Sequence[Ranking], files: Sequence[Source], notes: Sequence[str], to: PageFiles
) -> list[str]:
    """Write the page and the charts that were asked for; return their paths."""
    over, bars = figures(rankings)
    head = Head(
        "comparison",
        ", ".join(sorted({e.mpi for r in rankings for e in r.entries})),
        answer(rankings),
        [("sizes", "Sizes", over), ("algorithms", "Algorithms", bars),
         ("defaults", "Defaults", True), ("method", "Method", True)],
        facts(rankings),
        _following(rankings, files),
        warnings=notes,
        simulated=any(r.simulated for r in rankings),
    )  # fmt: skip
    return page.write(
        "ranking.html.j2", head, [*over, *bars], to,
        rankings=rankings, over=over, bars=bars, files=files, words=place_words,
    )  # fmt: skip


def _following(rankings: Sequence[Ranking], files: Sequence[Source]) -> str:
    """Return the next command: one that measures on where no test can be made, else to decide."""
    held = [f for f in files if f.bench.samples] or list(files)
    for f in held:
        command = f.bench.header.command
        mine = [e for r in rankings for e in r.entries if e.file == str(f.path)]
        # an MPI's default is in launches of all kinds, each of the others in those of one
        rivals = [e for e in mine if e.kind != "default"] or mine
        if command[:2] == ["stretto", "bench"] and rivals and all(e.few for e in rivals):
            return shlex.join([*without(command, "--launches"), "--launches", str(FEWEST)])
    return f"stretto table decide {shlex.quote(str(held[0].path))}"
