"""A table simulated before there was a cluster, refined by what was then measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.errors import UsageError
from stretto.files.identity import Family
from stretto.files.rows import Row
from stretto.files.table import read_table

SIMULATED = "simulated"


def read_simulated(path: Path, family: Family) -> list[Row]:
    """Return the rows of a simulated table, or refuse one that is for another MPI or measured.

    Parameters
    ----------
    path
        What ``stretto tune --platform`` wrote.
    family
        Of the MPI that is measured: choices such as ``native:...`` mean nothing to another.
    """
    table = read_table(path)
    if table.family != family:
        raise UsageError(
            f"this table is for {table.family}, and {family} is measured",
            str(path),
            f"make it for {family}: stretto tune --platform ... --mpi {family}",
        )
    measured = [r for r in table.rows if r.evidence and r.evidence.get("source") != SIMULATED]
    if measured:
        r = measured[0]
        raise UsageError(
            f"a row of this table is not simulated ({r.collective}, {r.nodes}x{r.ppn})",
            str(path),
            "measurements of several campaigns are not mixed: name one table of "
            "stretto tune --platform",
        )
    return table.rows


def refined(rows: Sequence[Row], simulated: Sequence[Row]) -> tuple[list[Row], int]:
    """Return measured rows, and the simulated ones of collectives and layouts that have none.

    A collective on a layout is one or the other as a whole: a measured ``native`` is a finding.

    Parameters
    ----------
    rows
        What the campaign decided, interpolated rows included.
    simulated
        Of `read_simulated`.

    Returns
    -------
    tuple
        The rows, and how many of them are simulated.
    """
    have = {(r.collective, r.nodes, r.ppn) for r in rows}
    kept = [r for r in simulated if (r.collective, r.nodes, r.ppn) not in have]
    return [*rows, *kept], len(kept)
