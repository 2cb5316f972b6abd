"""Launches of one candidate were measured alike, as far as the log says, and each counts once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

from stretto.errors import StrettoError
from stretto.grouped import grouped
from stretto.imports.evidence import Context, Said
from stretto.imports.pattern import FileFacts
from stretto.imports.placing import Item
from stretto.imports.printed import Printed, file_of
from stretto.imports.templates import default_for

#: names of directories that differ from launch to launch
_RUNS = re.compile(r"(?<![A-Za-z])(?:run|rep|job|trial|tmp|launch|iter)[\w.-]*")
_SIZES = "put the tables of each layout into a separate file, and name the layout with --pattern"
_SAME = (
    "put the tables of each into a separate file, and name the difference with --pattern; if "
    "all are launches of native: --algorithm default"
)


def refuse_unlike(items: Sequence[Item]) -> None:
    """Refuse tables that would be launches of one candidate although the log says otherwise."""
    for item in items:
        _check_size(item)
    for group in grouped((i.layout, i) for i in items).values():
        _check("the size of the job", group, lambda c: c.size, _SIZES)
    alike = (
        ((i.layout, i.collective, i.candidate, i.table.datatype, i.table.mode), i) for i in items
    )
    for group in grouped(alike).values():
        free = [i for i in group if not i.said]
        _check("the algorithm", [i for i in group if not i.named], lambda c: c.algorithm,
               f"--setting '{default_for(group[0].layout.mpi)}' gives the setting that selected "
               "it; if all are native: --algorithm default", alone=True)  # fmt: skip
        _check("the set of the launcher's options", free, _options, _SAME)
        _check("the launcher's or the program's directory", free, _paths, _SAME)
        for one in grouped((file_of(i.table.place), i) for i in free).values():
            _check_lines(one)


def _check_size(item: Item) -> None:
    """Refuse a table of another number of ranks than the text before it says."""
    said = item.table.context.size
    ranks = re.search(r"nranks (\d+)", said.value) if said else None
    if said and ranks and item.table.nranks is None and ranks[1] != str(item.layout.nranks):
        raise StrettoError(
            f"{ranks[1]} ranks are named here, but the table at {item.table.place} is given "
            f"{item.layout.nodes} x {item.layout.ppn} with {item.layout.nranks} ranks",
            said.place,
            said.remedy
            or "correct --nodes, --ppn or --pattern; use a separate file for each size of the job",
        )


def _check(
    what: str,
    group: Sequence[Item],
    said: Callable[[Context], Said | None],
    remedy: str,
    alone: bool = False,
) -> None:
    """Refuse tables of which two things are said; `alone`: or something and nothing."""
    found: dict[str, Said] = {}
    for item in group:
        one = said(item.table.context)
        if one is not None:
            found.setdefault(one.value, one)
        elif alone:
            found.setdefault("nothing", Said("nothing", item.table.place))
    if len(found) > 1:
        raise _differs(what, group[0], list(found.values()), remedy)


def _check_lines(group: Sequence[Item]) -> None:
    """Refuse tables before each of which a line stands that does not stand before the other."""
    before = {tuple(i.table.context.lines): i.table.context.lines for i in group}
    for one, two in combinations(before.values(), 2):
        mine, other = ([a[k] for k in a if k not in b] for a, b in ((one, two), (two, one)))
        if mine and other:
            raise _differs("the text before the table", group[0], [mine[-1], other[-1]], _SAME)


def _differs(what: str, item: Item, found: Sequence[Said], remedy: str) -> StrettoError:
    one, two = found[:2]
    return StrettoError(
        f"{what} differs between tables that count as launches of one candidate of "
        f"{item.collective} ({item.candidate}): {one.value} ({one.place}), {two.value} "
        f"({two.place})", one.place, next((s.remedy for s in found if s.remedy), remedy),
    )  # fmt: skip


def _options(context: Context) -> Said | None:
    if context.launch is None:
        return None
    return Said(" ".join(sorted(context.launch.options)) or "none", context.place)


def _paths(context: Context) -> Said | None:
    """Return the directories of launcher and program, without what numbers a run."""
    if context.launch is None:
        return None
    words = " and ".join(p for p in context.launch.paths if p not in ("", "."))
    return Said(_RUNS.sub("*", words) or "none", context.place)


#: two launches do not print so many digits of times alike; a table of one line they might
DIGITS = 20


def copied(files: Sequence[tuple[FileFacts, Sequence[Printed]]]) -> dict[str, str]:
    """Return, by its place, each table that is a copy, and the place of what it is a copy of.

    A table of many digits identifies itself. A short one (a barrier has one line) is a copy where
    its file has a copy of a long one of the same other file, or holds nothing but copies. The files
    with the fewest tables are the originals, as it is these that are joined to larger ones.
    """
    originals: dict[object, list[str]] = defaultdict(list)
    copies: dict[str, str] = {}
    for facts, tables in sorted(files, key=lambda f: len(f[1])):
        keyed = [(t, _key(t, facts)) for t in tables]
        sources = {file_of(p) for t, key in keyed if _is_long(t) for p in originals[key][:1]}
        whole = all(originals[key] for _, key in keyed) and sum(map(_digits, tables)) >= DIGITS
        for table, key in keyed:
            anyone = whole or _is_long(table)
            known = (p for p in originals[key] if anyone or file_of(p) in sources)
            original = next(known, None)
            if original is None:
                originals[key].append(table.place)
            else:
                copies[table.place] = original
    return copies


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
