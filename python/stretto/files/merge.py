"""Several tables of one MPI and one kind of node, merged: where they differ, more evidence wins."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.rows import LARGEST_SIZE, Row, Table, merge_rows, star

#: of a row's evidence, from weak to strong; another one is weaker than all
_SOURCES = ("earlier", "simulated", "interpolated", "learned", "measured")


def merge_tables(tables: Sequence[tuple[Path, Table]]) -> Table:
    """Return one table; the order of the tables does not matter.

    Each size of a collective and layout takes the row with the most evidence. The head is that of
    the newest table.

    Raises StrettoError: when the MPI, the processor or the layout of two tables differ.
    """
    first_path, first = tables[0]
    for path, table in tables[1:]:
        for what, one, other in zip(
            ("MPI", "processor", "layout"), _identity(first), _identity(table), strict=True
        ):
            if one != other:
                raise StrettoError(
                    f"the tables are for different {what}s: {one} and {other}",
                    f"{first_path}, {path}",
                    f"merge only tables for one {what}",
                )
    newest = max((t for _, t in tables), key=lambda t: (t.created, t.stretto, t.host))
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for _, table in tables:
        for row in table.rows:
            key = (row.collective, row.nodes or 0, row.ppn or 0)
            groups.setdefault(key, []).append(row)
    rows = [row for key in sorted(groups) for row in merge_rows(_best(groups[key]))]
    return dataclasses.replace(newest, rows=rows)


def _identity(table: Table) -> tuple[str, str, str]:
    layout = f"{star(table.nodes)} x {star(table.ppn)} (nodes x ppn)"
    return f"{table.family} {table.mpi_version}", table.cpu, layout


def _best(rows: Sequence[Row]) -> list[Row]:
    """Return rows that do not overlap: at each size the one with the most evidence."""
    bounds = sorted({b for row in rows for b in (row.low, _end(row) + 1)})
    out = []
    for low, beyond in pairwise(bounds):
        here = [row for row in rows if row.low <= low and beyond - 1 <= _end(row)]
        if here:
            high = None if beyond > LARGEST_SIZE else beyond - 1
            out.append(dataclasses.replace(max(here, key=_weight), low=low, high=high))
    return out


def _end(row: Row) -> int:
    return LARGEST_SIZE if row.high is None else row.high


def _weight(row: Row) -> tuple[int, float, float, str]:
    """Return how much evidence a row has; its text decides between equal ones."""
    source = row.evidence.get("source", "")
    strength = _SOURCES.index(source) if source in _SOURCES else -1
    seen = _number(row, "launches") or _number(row, "calls")
    text = f"{row.choice} {sorted(row.evidence.items())}"
    return strength, seen, _number(row, "pairs"), text


def _number(row: Row, key: str) -> float:
    try:
        return float(row.evidence.get(key, "0"))
    except ValueError:
        return 0
