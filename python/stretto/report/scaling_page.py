"""The page of ``stretto scale``, and its charts as files."""

from __future__ import annotations

import shlex
from pathlib import Path

from stretto.files.product import titled
from stretto.files.scale import ScaleFile
from stretto.report import format as fmt
from stretto.report import page, render
from stretto.report.figures import scaling as draw
from stretto.scaling.analyse import Findings
from stretto.scaling.show import number, sentences


def write(
    scale: ScaleFile,
    found: Findings,
    price: float | None,
    source: Path,
    output: Path,
    svg: Path | None = None,
) -> list[Path]:
    figures = [f for f in (draw.speedup(found), draw.cost(found, price)) if f is not None]
    head = scale.header
    metric = head.metric.name + (f" ({head.metric.unit})" if head.metric.unit else "")
    text = (
        page.environment()
        .get_template("scaling.html.j2")
        .render(
            title=f"Stretto scaling: {shlex.join(head.command)}",
            command=shlex.join(head.command),
            mpi=titled(head.mpi),
            host=f"started on {head.host.name}, {head.host.cpu}",
            sentences=sentences(found, price),
            figures=figures,
            points=found.points,
            price=price,
            metric=metric,
            number=number,
            seconds=fmt.seconds,
            percent=fmt.percent,
            file=str(source),
        )
    )
    written = [render.save(output, text)]
    for figure in figures:
        written += render.write(figure, None, svg)
    return written
