"""From paths to the page and the pictures: what ``stretto report`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError, UsageError
from stretto.report import compare as comparing
from stretto.report import findings, page, render, sections
from stretto.report.breakdown import breakdown
from stretto.report.figures import curves, picture
from stretto.report.load import System, load
from stretto.report.render import Figure

Drawn = Callable[[int, int, str], None]


def report(
    paths: Sequence[Path],
    output: Path,
    png: Path | None = None,
    svg: Path | None = None,
    drawn: Drawn | None = None,
) -> dict[str, Any]:
    """Write the page, and the charts as files where a directory is given.

    `drawn`: called with done, total and name for each chart drawn.
    What the report says and what was written, for ``--json``.
    """
    systems = load(paths)
    text: str
    figures: list[Figure]
    if len(systems) == 2:
        both = comparing.build(systems[0], systems[1])
        figures = list(both.figures())
        counter = _counter(figures, png, svg, drawn)
        text = comparing.html(both, counter)
        out = comparing.summary(both)
    else:
        content = sections.build(systems[0])
        figures = list(content.figures())
        counter = _counter(figures, png, svg, drawn)
        text = page.html(content, counter)
        out = summary(systems[0], figures)
    written = [render.save(output, text)]
    if png is not None or svg is not None:
        for figure in figures:
            written += render.write(figure, png, svg)
            counter(figure.name)
    out["written"] = [str(p) for p in written]
    return out


def _counter(
    figures: Sequence[Figure], png: Path | None, svg: Path | None, drawn: Drawn | None
) -> Callable[[str], None]:
    total = len(figures) * (2 if png is not None or svg is not None else 1)
    done = 0

    def count(name: str) -> None:
        nonlocal done
        done += 1
        if drawn is not None:
            drawn(done, total, name)

    return count


def summary(system: System, figures: Iterable[Figure]) -> dict[str, Any]:
    sentence, kind = findings.headline(system)
    parts = breakdown(system.profile) if system.profile else None
    v = system.verdict
    return {
        "verdict": sentence,
        "kind": kind,
        "simulated": system.simulated,
        "measured_gain": None
        if v is None or v.measured is None
        else {
            "low": v.measured.low,
            "median": v.measured.median,
            "high": v.measured.high,
            "p": v.measured.p,
        },
        "outputs_equal": None if v is None else v.outputs_equal,
        "time_s": None if parts is None else {p.key: p.mean for p in parts.parts},
        "table_rows": [
            {
                "collective": r.collective,
                "nodes": r.nodes,
                "ppn": r.ppn,
                "low": r.low,
                "high": r.high,
                "choice": r.choice,
                "evidence": r.evidence,
            }
            for t in system.tables
            for r in t.rows
        ],
        "notes": findings.notes(system),
        "files": [str(path) for _, path in system.files],
        "figures": [f.name for f in figures],
    }


def over_processes(paths: Sequence[Path], directory: Path) -> dict[str, Any]:
    """Write a picture a collective: Stretto against the MPI over ranks, at three sizes."""
    systems = load(paths)
    figures = [
        figure
        for system in systems
        for panels in sections.over_ranks(system)
        if (figure := curves.processes(panels))
    ]
    if not figures:
        raise StrettoError(
            "no collective was measured at one size on two numbers of ranks",
            ", ".join(map(str, paths)),
            "measure more layouts: stretto bench -n 2, -n 4, ... or stretto campaign run",
        )
    written = [str(path) for f in figures for path in render.write(f, None, directory)]
    return {**summary(systems[0], figures), "written": written}


def one_picture(paths: Sequence[Path], output: Path) -> dict[str, Any]:
    systems = load(paths)
    if len(systems) > 1:
        raise UsageError(
            "--picture is of one system", ", ".join(map(str, paths)), "name one of the two"
        )
    (system,) = systems
    figure = picture.picture(system)
    written = render.write_to(figure, output)
    return {**summary(system, [figure]), "written": [str(written)]}
