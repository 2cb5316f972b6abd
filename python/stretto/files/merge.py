"""Several tables of one MPI and one kind of node, merged: where they differ, more evidence wins."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.identity import UNKNOWN_CPU, cpu_slug
from stretto.files.rows import LARGEST_SIZE, Row, Table, merge_rows

#: of a row's evidence, from weak to strong; another one is weaker than all
_SOURCES = ("earlier", "simulated", "interpolated", "learned", "measured")


def merge_tables(tables: Sequence[tuple[Path, Table]]) -> Table:
    """Return one table; the order of the tables does not matter.

    Each size of a collective and layout takes the row with the most evidence. The head is that of
    the newest table, with ``*`` for what differs between the layouts of the heads.

    Raises StrettoError: when the MPI or the processor of two tables differ, or one is unknown.
    """
    _refuse_other_systems(tables)
    newest = max((t for _, t in tables), key=lambda t: (t.created, t.stretto, t.host))
    nodes = newest.nodes if len({t.nodes for _, t in tables}) == 1 else None
    ppn = newest.ppn if len({t.ppn for _, t in tables}) == 1 else None
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for _, table in tables:
        for row in table.rows:
            # without a layout of its own a row is for that of its head, which may go
            one = dataclasses.replace(
                row,
                nodes=row.nodes or (table.nodes if nodes is None else None),
                ppn=row.ppn or (table.ppn if ppn is None else None),
            )
            groups.setdefault((one.collective, one.nodes or 0, one.ppn or 0), []).append(one)
    rows = [
        _saved_once(row, groups[key])
        for key in sorted(groups)
        for row in merge_rows(_best(groups[key]))
    ]
    return dataclasses.replace(newest, nodes=nodes, ppn=ppn, rows=rows)


def _refuse_other_systems(tables: Sequence[tuple[Path, Table]]) -> None:
    first_path, first = tables[0]
    for path, table in tables if len(tables) > 1 else ():
        if cpu_slug(table.cpu) == UNKNOWN_CPU:
            raise StrettoError(
                "the table does not name its processor, so it may be for another processor",
                path,
                f'write the model in its "created" line, in place of cpu "{table.cpu}"',
            )
        for what, one, other in (
            ("MPI", _mpi(first), _mpi(table)),
            ("processor", first.cpu, table.cpu),
        ):
            if one != other:
                raise StrettoError(
                    f"the tables are for different {what}s: {one} and {other}",
                    f"{first_path}, {path}",
                    f"merge only tables for one {what}",
                )


def _mpi(table: Table) -> str:
    return f"{table.family} {table.mpi_version}"


def _saved_once(row: Row, rows: Sequence[Row]) -> Row:
    """Return a row without the time saved if it is a part: that is of the whole row."""
    if row in rows:
        return row
    kept = {k: v for k, v in row.evidence.items() if k not in ("saved_s", "saved_spread_s")}
    return dataclasses.replace(row, evidence=kept)


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


def _weight(row: Row) -> tuple[int, float, float, int, str]:
    """Return how much evidence a row has; its text decides between equal ones.

    A later table may repeat a row without the time that it saved: then the one with more words.
    """
    source = row.evidence.get("source", "")
    strength = _SOURCES.index(source) if source in _SOURCES else -1
    seen = _number(row, "launches") or _number(row, "calls")
    text = f"{row.choice} {sorted(row.evidence.items())}"
    return strength, seen, _number(row, "pairs"), len(row.evidence), text


def _number(row: Row, key: str) -> float:
    try:
        return float(row.evidence.get(key, "0"))
    except ValueError:
        return 0
