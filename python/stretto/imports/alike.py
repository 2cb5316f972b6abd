"""Launches of one candidate were measured alike, as far as the log says: else it asks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from stretto.errors import StrettoError
from stretto.imports.evidence import Context, Said
from stretto.imports.pattern import FileFacts
from stretto.imports.placing import Item
from stretto.imports.printed import Printed
from stretto.imports.templates import default_for

#: names of directories that differ from launch to launch
_RUNS = re.compile(r"(?<![A-Za-z])(?:run|rep|job|trial|tmp|launch|iter)[\w.-]*")
_SIZES = "give the tables of each layout in a file of their own, and say it by --pattern"
_SAME = (
    "give the tables of each in a file of their own, and say by --pattern what differs; if they "
    "are launches of the MPI by itself, all alike: --algorithm default"
)


def refuse_unlike(items: Sequence[Item]) -> None:
    """Refuse tables that would be launches of one candidate although the log says otherwise."""
    groups: dict[object, list[Item]] = defaultdict(list)
    for item in items:
        _check_size(item)
        t = item.table
        groups[item.layout, item.collective, item.candidate, t.datatype, t.mode].append(item)
    for group in groups.values():
        _check("the size of the job", group, lambda c: c.size, _SIZES)
        free = [i for i in group if not i.said]
        template = default_for(group[0].layout.mpi)
        _check("the algorithm", free, lambda c: c.algorithm, f"--setting '{template}' says which "
               "setting chose it, and the algorithms are taken from the log; if all are of the MPI "
               "by itself: --algorithm default", alone=True)  # fmt: skip
        _check("the set of the launcher's options", free, _options, _SAME)
        _check("the launcher's or the program's directory", free, _paths, _SAME)
        for one in _by_file(free):
            _check("the heading line", one, lambda c: c.headline, _SAME)
            _check("the line before the table", one, lambda c: c.before, _SAME)


def _check_size(item: Item) -> None:
    """Refuse a table of another number of ranks than the text before it says."""
    said = item.table.context.size
    ranks = re.search(r"nranks (\d+)", said.value) if said else None
    if said and ranks and item.table.nranks is None and ranks[1] != str(item.layout.nranks):
        raise StrettoError(
            f"the log says {ranks[1]} ranks, and {item.layout.nodes} x {item.layout.ppn} with "
            f"{item.layout.nranks} ranks is given for the table at {item.table.place}",
            said.place,
            "correct --nodes, --ppn or --pattern; tables of several sizes: a file for each",
        )


def _check(
    what: str,
    group: Sequence[Item],
    said: Callable[[Context], Said | None],
    remedy: str,
    alone: bool = False,
) -> None:
    """Refuse tables of which two things are said; `alone`: or something and nothing."""
    found: dict[str | None, tuple[Item, Said | None]] = {}
    for item in group:
        one = said(item.table.context)
        found.setdefault(one.value if one else None, (item, one))
    known = [(item, one) for item, one in found.values() if one is not None]
    if len(known) < 2 and not (alone and known and None in found):
        return
    (first, one), (second, two) = [*known, *([found[None]] if None in found else [])][:2]
    assert one is not None
    other = f"{two.value} ({two.place})" if two else f"nothing ({second.table.place})"
    raise StrettoError(
        f"{what} differs between tables that would be launches of one candidate of "
        f"{first.collective} ({first.candidate}): {one.value} ({one.place}), {other}",
        first.table.place if one.place == first.table.place else one.place,
        remedy,
    )


def _options(context: Context) -> Said | None:
    if context.launch is None:
        return None
    return Said(" ".join(sorted(context.launch.options)) or "none", context.place)


def _paths(context: Context) -> Said | None:
    """Return the directories of launcher and program, without what numbers a run."""
    if context.launch is None:
        return None
    words = " and ".join(p for p in context.launch.paths if p not in ("", "."))
    words = _RUNS.sub("*", words)
    return Said(words or "none", context.place)


def _by_file(items: Sequence[Item]) -> list[list[Item]]:
    out: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        out[item.table.place.rpartition(":")[0]].append(item)
    return list(out.values())


#: two launches do not print so many digits of times alike; a table of one line they might
DIGITS = 20


def copied(files: Sequence[tuple[FileFacts, Sequence[Printed]]]) -> dict[str, str]:
    """Return, by its place, each table that is a copy, and the place of what it is a copy of.

    A table of many digits identifies itself. Of a short one (a barrier has one line) chance can
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
    what = (
        table.collective, table.nranks, table.datatype, table.mode, table.cold, table.date,
        table.exchange,
    )  # fmt: skip
    return replace(facts, launch=None), what, tuple(table.lines)


def _digits(table: Printed) -> int:
    times = [t for line in table.lines for t in (line.average, line.largest) if t is not None]
    return sum(c.isdecimal() for t in times for c in f"{t:.2f}")
