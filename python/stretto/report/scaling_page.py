"""The page of ``stretto scale``, and its charts as files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from stretto.files.identity import titled
from stretto.files.scale import ScaleFile
from stretto.launch.naming import program_of
from stretto.report import format as fmt
from stretto.report import page, render
from stretto.report.figures import scaling as draw
from stretto.report.head import Head, sentence
from stretto.report.render import Figure
from stretto.scaling.analyse import Findings
from stretto.scaling.show import answer, facts, number, sentences


def write(
    scale: ScaleFile,
    found: Findings,
    price: float | None,
    source: Path,
    output: Path,
    png: Path | None = None,
    svg: Path | None = None,
) -> list[Path]:
    head = scale.header
    drawn = (draw.elapsed(found, head.metric), draw.speedup(found), draw.cost(found, price))
    figures = [f for f in drawn if f is not None]
    metric = head.metric.name + (f" ({head.metric.unit})" if head.metric.unit else "")
    text = (
        page.environment()
        .get_template("scaling.html.j2")
        .render(
            title=f"Stretto scaling: {shlex.join(head.command)}",
            head=_head(scale, found, figures),
            command=shlex.join(head.command),
            mpi=titled(head.mpi),
            host=f"started on {head.host.name}, {head.host.cpu}",
            sentences=[sentence(s) for s in sentences(found, price)],
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
        written += render.write(figure, png, svg)
    return written


def _head(scale: ScaleFile, found: Findings, figures: Sequence[Figure]) -> Head:
    command = scale.header.command
    tuned = any(m.kind == "tuned" for m in found.points)
    held = [("scaling", "Scaling")] if figures else []
    return Head(
        "scaling",
        f"{titled(scale.header.mpi)} on {scale.header.host.name}",
        answer(found, program_of(command)),
        facts(found, scale.header.metric),
        f"stretto {'run' if tuned else 'tune'} -- {shlex.join(command)}",
        warnings=[] if found.busy is None else [f"The machine was busy: {found.busy}."],
        sections=[*held, ("numbers", "Numbers"), ("method", "Method")],
    )
