"""The page of ``stretto compare``, and its charts as files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from stretto.report import format as fmt
from stretto.report import page, render
from stretto.report.figures import ranking as draw
from stretto.report.ranking import RankedCall, Ranking
from stretto.report.ranking_show import place_words
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
    return over, [draw.dots(r, colours) for r in rankings] if few else []


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
    over, dots = figures(rankings)
    written: list[Path] = []
    if output is not None:
        mpis = sorted({e.mpi for r in rankings for e in r.entries})
        text = (
            page.environment()
            .get_template("ranking.html.j2")
            .render(
                title="Stretto: " + ", ".join(mpis),
                mpis=mpis,
                notes=notes,
                rankings=rankings,
                over=over,
                dots=dots,
                files=files,
                simulated=any(r.simulated for r in rankings),
                words=place_words,
                us=fmt.microseconds,
                ratio=fmt.ratio,
                plural=fmt.plural,
                short=lambda label: fmt.choice(label, 40),
            )
        )
        written.append(render.save(output, text))
    for figure in [*over, *dots]:
        written += render.write(figure, png, svg)
    return written
