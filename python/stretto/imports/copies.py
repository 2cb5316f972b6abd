"""Tables that stand in several files: a job's output beside the logs it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from stretto.imports.pattern import FileFacts
from stretto.imports.printed import Printed

#: two launches do not print so many digits of times alike; a table of one line they might
DIGITS = 20


def copied(files: Sequence[tuple[FileFacts, Sequence[Printed]]]) -> dict[str, str]:
    """Return, by its place, each table that is a copy, and the place of what it is a copy of.

    A table of many digits is told by itself. Of a short one (a barrier has one line) chance can
    be the reason: it is a copy of one in a file of which a long table was copied as well, or in a
    file that holds nothing but copies. The files with the fewest tables are the originals, as it
    is these that are joined to larger ones.
    """
    originals: dict[object, list[str]] = {}
    copies: dict[str, str] = {}
    for facts, tables in sorted(files, key=lambda f: len(f[1])):
        keyed = [(t, _key(t, facts)) for t in tables]
        sources = {
            _file(originals[key][0]) for table, key in keyed if _is_long(table) and key in originals
        }
        everywhere, among = Counter[object](), Counter[object]()
        same: dict[str, str] = {}
        beside: dict[str, str] = {}
        for table, key in keyed:
            others = originals.get(key, [])
            for found, seen, known in (
                (same, everywhere, others),
                (beside, among, [o for o in others if _file(o) in sources]),
            ):
                if seen[key] < len(known):
                    found[table.place] = known[seen[key]]
                seen[key] += 1
        if len(same) == len(tables) and sum(_digits(t) for t in tables) >= DIGITS:
            beside = same
        for table, key in keyed:
            known = originals.setdefault(key, [])
            if _is_long(table) and known:
                copies[table.place] = known[0]
            elif table.place in beside:
                copies[table.place] = beside[table.place]
            else:
                known.append(table.place)
    return copies


def _file(place: str) -> str:
    return place.rpartition(":")[0]


def _is_long(table: Printed) -> bool:
    """Whether no other launch prints the same; the second at which one began tells, too."""
    return table.date is not None or _digits(table) >= DIGITS


def _key(table: Printed, facts: FileFacts) -> object:
    """Return what two tables share that are of one measurement, whatever launch they are called."""
    what = (table.collective, table.nranks, table.datatype, table.mode, table.cold, table.date)
    return replace(facts, launch=None), what, tuple(table.lines)


def _digits(table: Printed) -> int:
    times = [t for line in table.lines for t in (line.average, line.largest) if t is not None]
    return sum(c.isdecimal() for t in times for c in f"{t:.2f}")
