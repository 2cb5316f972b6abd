"""The page of ``stretto compare``, and its charts as files."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from stretto.report import format as fmt
from stretto.report import page, render
from stretto.report.figures import ranking as draw
from stretto.report.head import Head
from stretto.report.ranking import RankedCall, Ranking
from stretto.report.ranking_show import answer, facts, place_words
from stretto.report.render import Figure
from stretto.report.sources import Source

#: a chart of all algorithms for each of so many places; with more, only those over sizes
MOST_CHARTS = 12


def figures(rankings: Sequence[Ranking]) -> tuple[list[Figure], list[Figure]]:
    colours = draw.hues(rankings)
    groups: dict[tuple[object, ...], list[Ranking]] = defaultdict(list)
    for r in rankings:
        groups[_series(r.place), r.mode].append(r)
    over = [f for g in groups.values() if (f := draw.over_sizes(g, colours))]
    few = len(rankings) <= MOST_CHARTS
    return over, [draw.bars(r, colours) for r in rankings] if few else []


def _series(place: RankedCall) -> tuple[object, ...]:
    return place.collective, place.nodes, place.ppn, place.nranks, place.shape, place.root


def write(
    rankings: Sequence[Ranking],
    files: Sequence[Source],
    notes: Sequence[str],
    output: Path | None,
    png: Path | None,
    svg: Path | None,
) -> list[Path]:
    """Write the page and the charts that were asked for.

    `output`: the page; None for none.
    `png`, `svg`: directories for the charts; None for none.
    """
    over, bars = figures(rankings)
    written: list[Path] = []
    if output is not None:
        mpis = sorted({e.mpi for r in rankings for e in r.entries})
        text = (
            page.environment()
            .get_template("ranking.html.j2")
            .render(
                title="Stretto: " + ", ".join(mpis),
                head=_head(rankings, files, notes, mpis, over, bars),
                rankings=rankings,
                over=over,
                bars=bars,
                files=files,
                words=place_words,
                us=fmt.microseconds,
                ratio=fmt.ratio,
                short=lambda label: fmt.choice(label, 40),
            )
        )
        written.append(render.save(output, text))
    for figure in [*over, *bars]:
        written += render.write(figure, png, svg)
    return written


def _head(
    rankings: Sequence[Ranking],
    files: Sequence[Source],
    notes: Sequence[str],
    mpis: Sequence[str],
    over: Sequence[Figure],
    bars: Sequence[Figure],
) -> Head:
    held = (("sizes", "Sizes", over), ("algorithms", "Algorithms", bars),
            ("defaults", "Defaults", True), ("method", "Method", True))  # fmt: skip
    return Head(
        "comparison",
        ", ".join(mpis),
        answer(rankings),
        facts(rankings),
        f"stretto table decide {shlex.quote(str(files[0].path))}",
        warnings=notes,
        sections=[(id, title) for id, title, there in held if there],
        simulated=any(r.simulated for r in rankings),
    )
