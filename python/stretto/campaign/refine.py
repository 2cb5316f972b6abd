"""A table simulated before there was a cluster, refined by what was then measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stretto.campaign.interpolate import Gone
from stretto.errors import UsageError
from stretto.files.identity import Family
from stretto.files.io import read_text
from stretto.files.rows import Row, star
from stretto.files.table import read_table
from stretto.measure.compare import NATIVE


def read_simulated(path: Path, family: Family) -> list[Row]:
    """Return the rows of a simulated table, or refuse one that is for another MPI or measured.

    A choice without evidence, as a hand writes it, is not taken for a simulated one.

    `path`: what ``stretto tune --platform`` wrote.
    `family`: of the MPI that is measured: choices such as ``native:...`` mean nothing to another.
    """
    table = read_table(path)
    if table.family != family:
        raise UsageError(
            f"this table is for {table.family}, and {family} is measured",
            str(path),
            f"make it for {family}: stretto tune --platform ... --mpi {family}",
        )
    for at, r in enumerate(table.rows):
        if not r.simulated and (r.evidence or r.choice != NATIVE):
            raise UsageError(
                f"a row of this table is not simulated: it lacks source=simulated "
                f"({r.collective}, {star(r.nodes)}x{star(r.ppn)}: {r.choice})",
                f"{path}:{_line(path, at)}",
                "name a table of stretto tune --platform, as it was written: what several "
                "campaigns measured, or a hand wrote, is not mixed in",
            )
    return table.rows


def refined(
    rows: Sequence[Row], simulated: Sequence[Row], gone: Gone | None = None
) -> tuple[list[Row], int]:
    """Return measured rows, and the simulated ones of collectives and layouts that have none.

    A collective on a layout is one or the other as a whole: a measured ``native`` is a finding.
    Where a candidate is out, a simulated choice of it is left to the MPI.
    """
    have = {(r.collective, r.nodes, r.ppn) for r in rows}
    kept = [r for r in simulated if (r.collective, r.nodes, r.ppn) not in have]
    left = [replace(r, choice=NATIVE, evidence={}) if _out(r, gone or {}) else r for r in kept]
    return [*rows, *left], sum(r.simulated for r in left)


def _out(row: Row, gone: Gone) -> bool:
    return any(
        row.nodes in (None, x.nodes) and row.ppn in (None, x.ppn)
        for x, out in gone.items()
        if (row.collective, row.choice) in out
    )


def _line(path: Path, at: int) -> int:
    lines = read_text(path, "a table").split("\n")
    return [i for i, line in enumerate(lines, 1) if line.split()[:1] == ["row"]][at]
