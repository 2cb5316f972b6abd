"""The OSU micro-benchmarks' print-outs (osu_allreduce and the other blocking collectives).

A title (``# OSU MPI Allreduce Latency Test v7.5``), since version 7 a line with the datatype, a
line that names the columns, and a line a size. ``-f`` adds smallest and largest over the ranks and
the number of iterations, ``-c`` a column that says whether the results were right. The calls of a
size are timed one by one, a barrier between them; what is printed is their mean.
"""

from __future__ import annotations

import re

from stretto.imports.printed import (
    REDUCTIONS,
    SAME_SIZES,
    Line,
    Printed,
    Reading,
    number,
    whole_lines,
)

_TITLE = re.compile(
    r"#\s*OSU MPI(-\w+)?\s+(.+?)\s+(Latency|Bandwidth|Bi-Directional).*?(?:v(\S+))?$"
)
#: of whatever it is: what was read until then has ended
_ANY_TITLE = re.compile(r"#\s*OSU\b.*\bTest\b")
_DATATYPE = re.compile(r"#\s*Datatype:\s*(\w+)")
_NAMES = {
    "broadcast": "bcast",
    "all-to-all personalized exchange": "alltoall",
    "all-to-all": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
}
_SIZE, _AVERAGE, _SMALLEST, _LARGEST, _TIMES = "size", "avg latency(us)", "min latency(us)", (
    "max latency(us)"
), "iterations"  # fmt: skip
_PLAIN = (_SIZE, _AVERAGE)
_FULL = (_SIZE, _AVERAGE, _SMALLEST, _LARGEST, _TIMES)


def read(text: str, place: str) -> Reading:
    """Read all tables in a text: a job's output may hold several, and other lines between them.

    Parameters
    ----------
    text
        The file's.
    place
        Its name.
    """
    out = Reading()
    table: Printed | None = None
    columns: tuple[str, ...] | None = None
    skipping = False
    for at, line in enumerate(whole_lines(text, place, out.problems), start=1):
        title = _TITLE.match(line.strip())
        if title:
            table, columns = _begin(title, f"{place}:{at}", out), None
            skipping = table is None
        elif _ANY_TITLE.match(line.strip()):
            table, columns, skipping = None, None, True
            out.problems.append(_left_out(f"{place}:{at}", line.strip()))
        elif datatype := _DATATYPE.match(line.strip()):
            if table is not None:
                table.datatype = datatype.group(1)
        elif line.lstrip().startswith("#"):
            named = _columns(line)
            if named is None and columns is not None and _is_heading(line):
                table, skipping = None, True  # another program's table, whose title is missing
                out.problems.append(_left_out(f"{place}:{at}", line.strip()))
            columns = named or columns
        elif re.match(r"\s*\d", line) and not skipping:
            words = line.split()
            if columns is None:
                columns = _guess(words, table)
            if table is None:
                if columns is None or number(words[-1]) is None:
                    continue  # some other program's line
                table = Printed(None, None, None, "latency", "OSU", f"{place}:{at}")
                out.tables.append(table)
            found = _line(words, columns)
            if found is None:
                out.problems.append(f"{place}:{at}: this line of the table is broken: {line[:60]}")
            else:
                table.lines.append(found)
    out.tables = [t for t in out.tables if t.lines]
    return out


def _begin(title: re.Match[str], place: str, out: Reading) -> Printed | None:
    """Begin a table; None for a benchmark that is not taken."""
    device, name, kind, version = title.groups()
    name = name.lower()
    collective = _NAMES.get(name, name)
    if device:
        out.problems.append(f"{place}: {title.group(0)[2:]}: of device memory, which is the MPI's")
    elif kind != "Latency" or collective not in SAME_SIZES:
        out.problems.append(_left_out(place, title.group(0)))
    else:
        # Before version 7 reductions were of floats, and no line said so.
        datatype = "MPI_FLOAT" if collective in REDUCTIONS else "MPI_CHAR"
        table = Printed(
            collective, None, datatype, "latency", f"OSU {version or ''}".strip(), place
        )
        out.tables.append(table)
        return table
    return None


def _left_out(place: str, title: str) -> str:
    return f"{place}: {title.lstrip('# ')}: not one of {', '.join(SAME_SIZES)}; left out"


def _is_heading(line: str) -> bool:
    return line.strip().lstrip("#").split()[:1] == ["Size"]


def _columns(line: str) -> tuple[str, ...] | None:
    words = re.split(r"\s{2,}|\t+", line.strip().lstrip("#").strip())
    names = tuple(w.lower() for w in words)
    return names if _AVERAGE in names else None


def _guess(words: list[str], table: Printed | None) -> tuple[str, ...] | None:
    """Return the columns of a table whose heading was cut away."""
    if table is not None and table.collective == "barrier":
        return (_FULL if len(words) == len(_FULL) - 1 else _PLAIN)[1:]
    return {len(_PLAIN): _PLAIN, len(_FULL): _FULL}.get(len(words))


def _line(words: list[str], columns: tuple[str, ...] | None) -> Line | None:
    if columns is None or len(words) != len(columns):
        return None
    row = dict(zip(columns, words, strict=True))
    size, average = row.get(_SIZE, "0"), number(row[_AVERAGE])
    times = row.get(_TIMES, "")
    if not size.isdecimal() or average is None or (times and not times.isdecimal()):
        return None
    largest = number(row[_LARGEST]) if _LARGEST in row else None
    if _LARGEST in row and largest is None:
        return None
    correct = row.get("validation", "pass").lower() == "pass"
    return Line(int(size), average, largest, int(times) if times else None, correct)
