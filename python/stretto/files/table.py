"""Tables: which algorithm for which call (``NAME.table``; the C library reads the same text).

The format is in ``docs/reference/files.md``. Sizes are bytes, bounds inclusive; ``inf``: no end.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import cast, get_args

from stretto import plan
from stretto.counted import counted
from stretto.errors import EXIT_USAGE, StrettoError, meant
from stretto.files.identity import Identity, arm_name
from stretto.files.io import read_text, write_atomic
from stretto.files.regular import MOST_SMALL_BYTES
from stretto.files.rows import Row, Table, merge_rows, star
from stretto.kinds import Family
from stretto.light import TYPE_CHECKING, later

if TYPE_CHECKING:
    from collections.abc import Collection

    from stretto.files import kind
else:
    kind = later("stretto.files.kind")

__all__ = [
    "COLLECTIVES", "NEIGHBORHOODS", "ROW_OF", "TUNABLE", "WITHOUT_SIZE", "Row", "Table",
    "check_choice", "check_choices", "format_table", "merge_rows", "parse_table", "read_table",
    "table_of", "write_table",
]  # fmt: skip

VERSION = 1
WHAT = "a table"
#: those that the measuring program measures: the interposer carries out all below
TUNABLE = (
    "allreduce", "bcast", "reduce", "allgather", "alltoall", "gather", "scatter",
    "reduce_scatter_block", "allgatherv", "alltoallv", "gatherv", "scatterv", "reduce_scatter",
    "scan", "exscan", "barrier",
)  # fmt: skip
#: measured on a graph, where one is named or recorded; not in campaigns
NEIGHBORHOODS = (
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
)  # fmt: skip
COLLECTIVES = (
    "allreduce", "bcast", "reduce", "allgather", "barrier", "alltoall", "alltoallv", "gather",
    "gatherv", "scatter", "scatterv", "allgatherv", "reduce_scatter_block", "reduce_scatter",
    "scan", "exscan", *NEIGHBORHOODS,
)  # fmt: skip
#: collectives that use the row of another one: blocks of any datatypes
ROW_OF = {"alltoallw": "alltoallv", "neighbor_alltoallw": "neighbor_alltoallv"}
#: no rank knows the others' sizes: only a row for every size is used (docs/explanation/calls.md)
WITHOUT_SIZE = ("alltoallv", "gatherv", "scatterv", *NEIGHBORHOODS)
_REMEDY = "correct the line, or make the table again with: stretto tune"
_CHOICES_REMEDY = "write for example: --choice 'allreduce=shm;bcast=knomial(4)'"
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,18})\Z")
_CHOICE = re.compile(
    r"(native(:[!-~]{1,199})?|shm|(shm\+)?[a-z][a-z0-9_]*(\([1-9][0-9]{0,9}[KM]?(,[1-9][0-9]?)?\))?"
    r"|lanes(\([1-9][0-9]*\))?\+[a-z][a-z0-9_]*(\([1-9][0-9]{0,9}[KM]?(,[1-9][0-9]?)?\))?)\Z"
)


def table_of(identity: Identity, nodes: int | None, ppn: int | None, rows: list[Row]) -> Table:
    mpi, host = identity.mpi, identity.host
    return Table(
        mpi.family, mpi.version, nodes, ppn, identity.created, identity.stretto, host.name,
        host.cpu, rows,
    )  # fmt: skip


def _wrong(problem: str, place: str) -> StrettoError:
    return StrettoError(problem, place, _REMEDY)


def check_choice(collective: str, choice: str, place: str) -> None:
    """Refuse a choice that cannot be: bad grammar, or an algorithm that Stretto does not have.

    Names and parameters are checked against the plan library where it is installed; without it
    (a source tree that is not built) only the grammar is.
    """
    if not _CHOICE.match(choice):
        raise _wrong(
            f"{choice!r} is not a choice; examples: native, ring, bruck_k(8), shm+bruck_k(8)", place
        )
    problem = plan_says(collective, choice)
    if problem is not None:
        raise _wrong(problem, place)


def meant_collective(name: str, known: Collection[str]) -> str:
    """Return a remedy for a collective that is not known here."""
    row = ROW_OF.get(name)
    if row in known:
        return f"write {row}: {name} uses its algorithms and rows"
    return meant(name, known)


def check_choices(text: str, place: str = "--choice") -> None:
    """Check forced choices such as ``allreduce=shm;bcast=knomial(4)``."""
    found = [one for one in re.split(r"[;\s]+", text) if one]  # as in the library's reader
    if not found:
        raise StrettoError("no choice is given", place, _CHOICES_REMEDY, EXIT_USAGE)
    for one in found:
        collective, equals, choice = one.partition("=")
        if not equals or collective not in COLLECTIVES:
            remedy = meant_collective(collective, COLLECTIVES) if equals else _CHOICES_REMEDY
            what = f"there is no collective {collective!r}" if equals else (
                f"{one!r} is not COLLECTIVE=CHOICE, with one of {', '.join(COLLECTIVES)}"
            )  # fmt: skip
            raise StrettoError(what, place, remedy, EXIT_USAGE)
        try:
            check_choice(collective, choice, place)
        except StrettoError as error:
            error.remedy = "stretto plan list names the algorithms"
            error.exit_code = EXIT_USAGE
            raise


def plan_says(collective: str, choice: str) -> str | None:
    """Return what the plan library has against a choice; None when nothing, or not built."""
    try:
        return plan.choice_problem(collective, choice)
    except StrettoError:
        return None  # the library is not built; launching will say so


def parse_table(text: str, place: str) -> Table:
    """Parse a table's text; algorithms that this Stretto does not have are refused."""
    kind.refuse_other(text, place, "stretto-table")
    lines = text.split("\n")
    _check_first(lines[0], place)
    header: dict[str, list[str]] = {}
    rows: list[Row] = []
    for number, line in enumerate(lines[1:], start=2):
        where = f"{place}:{number}"
        words = _words(line, where)
        if not words:
            continue
        keyword = words[0]
        if keyword == "row":
            if "layout" not in header or "mpi" not in header:
                raise _wrong("rows come after the mpi and layout lines", where)
            rows.append(_parse_row(words, where))
        elif keyword == "end":
            _check_end(words, rows, lines[number:], number, place)
            if number == len(lines):
                break  # "end 2" without a line feed: its number may have been cut
            return _table(header, rows, place)
        elif keyword in ("mpi", "layout", "created") and keyword not in header and not rows:
            header[keyword] = words[1:]
        else:
            raise _wrong(f"{_short(line)} is not a line of a table", where)
    raise StrettoError(
        "the table is truncated: it does not end in 'end N'",
        f"{place}:{len(lines)}",
        "it is not used; copy it again, or make it again with: stretto tune",
    )


def _check_first(line: str, place: str) -> None:
    words = line.split()
    if not words or words[0] != "stretto-table":
        raise StrettoError(
            "expected a table, but this file does not begin with 'stretto-table'",
            f"{place}:1",
            "give a file that stretto tune wrote",
        )
    if words[1:] != [str(VERSION)]:
        raise StrettoError(
            f"this is version {' '.join(words[1:]) or '?'} of the table format, and this Stretto "
            f"reads version {VERSION}",
            f"{place}:1",
            "use the Stretto that wrote it, or make the table again with: stretto tune",
        )


def _words(line: str, place: str) -> list[str]:
    if line.lstrip().startswith("#"):
        return []
    if '"' not in line:
        return line.split()
    try:
        lexer = shlex.shlex(line, posix=True)
        lexer.whitespace_split = True
        lexer.quotes = '"'
        lexer.escape = ""
        lexer.commenters = ""
        return list(lexer)
    except ValueError as error:
        raise _wrong("a quotation mark is not closed", place) from error


def _check_end(words: list[str], rows: list[Row], rest: list[str], at: int, place: str) -> None:
    if len(words) != 2 or words[1] != str(len(rows)):
        raise StrettoError(
            f"the last line says {_short(' '.join(words))}, but "
            f"{counted(len(rows), 'row')} {'was' if len(rows) == 1 else 'were'} read",
            f"{place}:{at}",
            "rows are missing; copy the table again, or make it again with: stretto tune",
        )
    for offset, line in enumerate(rest, start=1):
        if line.strip():
            raise _wrong("nothing may follow the end line", f"{place}:{at + offset}")


def _parse_row(words: list[str], place: str) -> Row:
    if len(words) < 7:
        raise _wrong("a row is: row COLLECTIVE NODES PPN LOW-HIGH CHOICE EVIDENCE", place)
    _, collective, nodes, ppn, size, choice, *evidence = words
    if collective not in COLLECTIVES:
        raise _wrong(
            f"there is no collective {_short(collective)}; there are {', '.join(COLLECTIVES)}",
            place,
        )
    low_text, dash, high_text = size.partition("-")
    if not dash:
        raise _wrong(f"{_short(size)} is not a range of bytes such as 0-2047", place)
    low = _number(low_text, "a size in bytes", place)
    high = None if high_text == "inf" else _number(high_text, "a size in bytes or inf", place)
    if high is not None and high < low:
        raise _wrong(f"the range {size} is empty", place)
    check_choice(collective, choice, place)
    return Row(
        collective,
        _layout_number(nodes, "nodes", place),
        _layout_number(ppn, "ppn", place),
        low,
        high,
        choice,
        _evidence(evidence, place),
    )


def _evidence(words: list[str], place: str) -> dict[str, str]:
    if words == ["-"]:
        return {}
    out: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value) or key in out:
            raise _wrong(f"{_short(word)} is not evidence (key=value)", place)
        out[key] = value
    return out


def _number(text: str, what: str, place: str) -> int:
    if not _NUMBER.match(text) or int(text) > 2**63 - 1:
        raise _wrong(f"{_short(text)} is not {what}", place)
    return int(text)


def _layout_number(text: str, what: str, place: str) -> int | None:
    if text == "*":
        return None
    value = _number(text, f"a number of {what} or *", place)
    if not 1 <= value <= 2**24:
        raise _wrong(f"{what} must be from 1 to {2**24}", place)
    return value


def _table(header: dict[str, list[str]], rows: list[Row], place: str) -> Table:
    for name in ("mpi", "layout", "created"):
        if name not in header:
            raise _wrong(f"the table has no {name} line", place)
    mpi, layout, created = header["mpi"], header["layout"], header["created"]
    if len(mpi) != 2 or mpi[0] not in get_args(Family):
        raise _wrong(
            f"the mpi line is: mpi FAMILY VERSION, with FAMILY {' or '.join(get_args(Family))}",
            place,
        )
    settings = dict(w.partition("=")[::2] for w in layout)
    if len(layout) != 2 or set(settings) != {"nodes", "ppn"}:
        raise _wrong("the layout line is: layout nodes=N ppn=N", place)
    if len(created) != 7 or created[1::2] != ["stretto", "host", "cpu"]:
        raise _wrong(
            'the created line is: created TIME stretto VERSION host NAME cpu "MODEL"', place
        )
    return Table(
        family=cast(Family, mpi[0]),
        mpi_version=mpi[1],
        nodes=_layout_number(settings["nodes"], "nodes", place),
        ppn=_layout_number(settings["ppn"], "ppn", place),
        created=created[0],
        stretto=created[2],
        host=created[4],
        cpu=arm_name(created[6]),
        rows=rows,
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def read_table(path: Path) -> Table:
    text = read_text(path, WHAT, "make one with: stretto tune", MOST_SMALL_BYTES)
    return parse_table(text, str(path))


def format_table(table: Table) -> str:
    """Return a table's text, its columns aligned."""
    head = [
        f"stretto-table {VERSION}",
        f"mpi {_word(table.family)} {_word(table.mpi_version)}",
        f"layout nodes={star(table.nodes)} ppn={star(table.ppn)}",
        f"created {_word(table.created)} stretto {_word(table.stretto)} "
        f'host {_word(table.host)} cpu "{_quotable(table.cpu)}"',
    ]
    names = ["# collective", "nodes", "ppn", "bytes", "choice", "evidence"]
    cells = [names, *(_cells(row) for row in table.rows)]
    widths = [max(len(c[i]) for c in cells) for i in range(5)]
    body = ["  ".join([*(c[i].ljust(widths[i]) for i in range(5)), c[5]]).rstrip() for c in cells]
    return "\n".join([*head, *body, f"end {len(table.rows)}"]) + "\n"


def _cells(row: Row) -> list[str]:
    evidence = " ".join(f"{_word(k)}={_word(v)}" for k, v in row.evidence.items()) or "-"
    high = "inf" if row.high is None else str(row.high)
    return [
        f"row {_word(row.collective)}",
        star(row.nodes),
        star(row.ppn),
        f"{row.low}-{high}",
        _word(row.choice),
        evidence,
    ]


def _word(text: str) -> str:
    """Return `text`, which must be one word of printable ASCII, or the file could not be read."""
    if not re.fullmatch(r"[!#-~]+", text):
        raise StrettoError(f"{_short(text)} cannot stand in a table: it must be one word")
    return text


def _quotable(text: str) -> str:
    return re.sub(r"[^ !#-~]", "?", text.replace('"', "'"))


def write_table(table: Table, path: Path) -> None:
    """Write a table; an existing file is replaced only when all is well.

    The text is read back first, so that what is written can always be read.
    """
    text = format_table(table)
    parse_table(text, str(path))
    write_atomic(path, text, "the table")
