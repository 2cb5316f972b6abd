"""From paths to the page and the pictures: what ``stretto report`` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.report import compare, facts, findings, render, sections
from stretto.report.breakdown import breakdown
from stretto.report.figures import curves, picture
from stretto.report.load import PROCESSES, System, load
from stretto.report.page import PageFiles
from stretto.report.render import Figure

#: Altair checks each part of a chart against its schema as it is made, which takes longer than all
#: else; the tests check, here nothing can differ but the numbers.
UNCHECKED = debug_mode(False)


@UNCHECKED
def report(paths: Sequence[Path], to: PageFiles) -> dict[str, Any]:
    """Write the page and the charts; return what it says and what was written, for ``--json``."""
    systems = load(paths)
    if len(systems) == 2:
        both = compare.build(systems[0], systems[1])
        written = compare.write(both, to)
        return {**compare.summary(both), "written": written}
    content = sections.build(systems[0])
    written = sections.write(content, to)
    return {**summary(systems[0], content.figures), "written": written}


def summary(system: System, figures: Iterable[Figure]) -> dict[str, Any]:
    sentence, kind = findings.headline(system)
    v, profile = system.verdict, system.profile
    gain = v.measured if v is not None else None
    return {
        "verdict": sentence,
        "kind": kind,
        "simulated": system.simulated,
        "measured_gain": None if gain is None else vars(gain),
        "outputs_equal": None if v is None else v.outputs_equal,
        "time_s": {p.key: p.mean for p in breakdown(profile).parts} if profile else None,
        "table_rows": [vars(row) for row in system.rows],
        "notes": findings.notes(system),
        "files": [str(f.path) for f in system.files],
        "figures": [f.name for f in figures],
    }


@UNCHECKED
def over_processes(paths: Sequence[Path], directory: Path) -> dict[str, Any]:
    """Write a picture a collective: Stretto against the MPI over ranks, at three sizes."""
    systems = load(paths, PROCESSES)
    panels = {system.name: sections.by_kind(system) for system in systems}
    kinds = dict.fromkeys(kind for own in panels.values() for kind in own)
    figures = [
        figure
        for kind in kinds
        if (figure := curves.processes(
            {name: own.get(kind, []) for name, own in panels.items()}, _origins(systems, kind)
        ))
    ]  # fmt: skip
    if not figures:
        raise StrettoError(
            "no collective was measured as native or bare at the same size on two numbers of ranks",
            ", ".join(map(str, paths)),
            "measure more layouts: stretto bench -n 2, -n 4, ... or stretto campaign run",
        )
    written = [str(path) for f in figures for path in render.write(f, None, directory)]
    if len(systems) == 1:
        return {**summary(systems[0], figures), "written": written}
    names = [f.name for f in figures]
    if len(systems) == 2:
        both = compare.build(systems[0], systems[1])
        return {**compare.summary(both), "figures": names, "written": written}
    verdict = f"{counted(len(figures), 'chart')} of {', '.join(s.name for s in systems)}"
    verdict += "; differences between them were not tested."
    return {"verdict": verdict, "figures": names, "written": written}


def _origins(systems: Sequence[System], kind: str) -> str:
    """Return the MPI and the machine of each system, below the title of a chart."""
    if len(systems) == 1:
        return facts.origin(systems[0])
    cpus = {cpu for system in systems for cpu in system.processors}
    out = []
    for system in systems:
        words = f"{system.name}: {facts.origin(system)}"
        if len(cpus) > 1 and system.processors:
            words += f", {', '.join(sorted(system.processors))}"
        if not any(p.kind == kind for p in system.panels):
            words += " (not measured)"
        out.append(words)
    return "\n".join(out)


@UNCHECKED
def one_picture(paths: Sequence[Path], output: Path) -> dict[str, Any]:
    systems = load(paths)
    if len(systems) > 1:
        raise UsageError(
            "--picture shows only one system", ", ".join(map(str, paths)), "name one of the two"
        )
    figure = picture.picture(systems[0])
    written = render.write_to(figure, output)
    return {**summary(systems[0], [figure]), "written": [str(written)]}
