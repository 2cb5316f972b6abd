"""The page of ``stretto scale``, and its charts as files."""

from __future__ import annotations

import shlex
from pathlib import Path

from stretto.files.identity import titled
from stretto.files.scale import ScaleFile
from stretto.launch.naming import program_of
from stretto.launch.resize import has_placeholders, resize
from stretto.measure.stats import FEWEST
from stretto.report import page
from stretto.report.figures import scaling as draw
from stretto.report.page import Head, PageFiles
from stretto.scaling.analyse import Findings
from stretto.scaling.show import answer, facts, metric_words, number, sentences


def write(
    scale: ScaleFile, found: Findings, price: float | None, source: Path, to: PageFiles
) -> list[str]:
    """Write the page and the charts that were asked for; return their paths."""
    head, command = scale.header, scale.header.command
    drawn = (draw.elapsed(found, head.metric), draw.speedup(found), draw.cost(found, price))
    figures = [f for f in drawn if f is not None]
    tuned = any(m.kind == "tuned" for m in found.points)
    typed = list(command)
    if has_placeholders(typed):  # which `scale` alone fills in
        largest = max((m.point for m in found.points), key=lambda p: p.cores)
        typed = resize(typed, largest, {}, Path())
    return page.write(
        "scaling.html.j2",
        Head(
            "scaling",
            f"{titled(head.mpi)} on {head.host.name}",
            answer(found, program_of(command)),
            [("scaling", "Scaling", figures), ("numbers", "Numbers", True),
             ("method", "Method", True)],
            facts(found, head.metric),
            f"stretto {'run' if tuned else 'tune'} -- {shlex.join(typed)}",
            warnings=[] if found.busy is None else [f"The machine was busy: {found.busy}."],
        ),
        figures,
        to,
        header=head,
        mpi=titled(head.mpi),
        sentences=sentences(found, price),
        figures=figures,
        points=found.points,
        price=price,
        threads=any(m.point.threads is not None for m in found.points),
        fewest=FEWEST,
        metered=any(m.energy_j is not None for m in found.points),
        metric=metric_words(head.metric, head.metric.name),
        number=number,
        file=source,
    )  # fmt: skip
