"""The pages of ``stretto scale``, of one result and of several, and their charts as files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stretto.counted import three
from stretto.errors import UsageError
from stretto.files.identity import titled
from stretto.files.scale import ScaleFile
from stretto.launch.naming import program_of
from stretto.launch.resize import has_placeholders, resize
from stretto.measure.stats import FEWEST
from stretto.report import network, page
from stretto.report.figures import scaling as draw
from stretto.report.format import capital, sentence
from stretto.report.page import Head, PageFiles
from stretto.scaling import compare
from stretto.scaling.analyse import Findings, MeasuredPoint
from stretto.scaling.show import answer, facts, metric_words, number, sentences

METHOD = (
    "Medians over whole runs of the command. Percentages are differences to the first system; "
    "those marked ? were not tested. A difference counts only if it is above 3 % and "
    "significant (5 %) in a rank test over the runs, adjusted for all comparisons of this page. "
    "The test needs six runs of both systems at a point."
)


def report(paths: Sequence[Path], to: PageFiles) -> dict[str, Any]:
    """Write the page of one result or of several; return what it says, for ``--json``."""
    found = compare.systems(paths)
    if len(found) > 1:
        return several(compare.compared(found), to)
    (one,) = found
    written = write(one.file, one.found, None, one.path, to)
    said = answer(one.found, program_of(one.file.header.command))
    return {"verdict": said, "kind": "scaling", "written": written}


def several(found: compare.ScaleCompared, to: PageFiles) -> dict[str, Any]:
    """Write the page of several systems: one chart with a line for each, and the ratios."""
    first = found.systems[0]
    layouts = all(s.found.layouts for s in found.systems)
    series = [
        line for s in found.systems for line in draw.series_of(s.found, s.name, by_nodes=layouts)
    ]
    if len(series) > compare.MOST:
        raise UsageError(
            f"the chart would have {len(series)} lines (systems, threads per rank, tuned)", None,
            f"give fewer results; a chart has at most {compare.MOST} lines",
        )  # fmt: skip
    metric = first.found.metric
    lines = draw.elapsed(series, metric, _base(first.found)), draw.energy(series)
    figures = draw.layouts(series, metric) if layouts else [f for f in lines if f is not None]
    rows = compare.table(found)
    busy, notes = network.parted([sentence(note) for note in [*found.energies, *found.notes]])
    best = [max(s.found.points, key=lambda m: m.speedup) for s in found.systems]
    shown = network.NetPage(
        "scaling",
        METHOD,
        [(s.name, s.about, [network.file_words(s.path, s.file.header)]) for s in found.systems],
        [found.answer],
        [("scaling", f"{capital(metric_words(metric))} of each system", figures)]
        if figures
        else [],
        rows,
        notes,
        facts=[
            (s.name, f"best: {number(m.value.median)} {metric.unit} on {m.point.words}")
            for s, m in zip(found.systems, best, strict=True)
        ],
        following=f"stretto report {shlex.quote(str(first.path))}",
        warnings=busy,
        numbers=range(2, len(rows[0]) + 1),
    )
    return network.written(shown, to)


def _base(found: Findings) -> MeasuredPoint:
    reference = found.reference, found.reference_kind
    return next(m for m in found.points if (m.point, m.kind) == reference)


def write(
    scale: ScaleFile, found: Findings, price: float | None, source: Path, to: PageFiles
) -> list[str]:
    """Write the page and the charts that were asked for; return their paths."""
    head, command = scale.header, scale.header.command
    drawn = (
        draw.elapsed(draw.series_of(found), head.metric, _base(found), found.turns),
        draw.speedup(found),
        draw.energy(draw.series_of(found)),
        draw.cost(found, price),
    )
    figures = [f for f in drawn if f is not None]
    if found.layouts:
        figures = draw.layouts(draw.series_of(found, by_nodes=True), head.metric) + figures
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
            facts(found),
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
        metric=metric_words(head.metric),
        number=number,
        three=three,
        title=_section(found, price),
        file=source,
    )  # fmt: skip


def _section(found: Findings, price: float | None) -> str:
    """Return the heading of the charts."""
    titles = ["layouts at equal cores"] if found.layouts else []
    if len({m.point.cores for m in found.points}) > 1:
        titles += ["speed-up"]
    titles += ["cost"] if price is not None else []
    titles = ["Elapsed time" if found.metric.pattern is None else "Metric", *titles]
    return f"{', '.join(titles[:-1])} and {titles[-1]}" if titles[1:] else titles[0]
