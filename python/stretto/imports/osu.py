"""The OSU micro-benchmarks' print-outs (osu_allreduce and the other blocking collectives).

A title (``# OSU MPI Allreduce Latency Test v7.5``), since version 7 a line with the datatype, a
line that names the columns, and a line a size, each twice the one before; with several datatypes
all but the title again for each, and no empty line between. ``-f`` adds smallest and largest over
the ranks and the number of iterations, ``-c`` a column that says whether the results were right.
The calls of a size are timed one by one, a barrier between them; what is printed is their mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from stretto.imports.evidence import StreamEvidence
from stretto.imports.prefixes import streams
from stretto.imports.printed import (
    REDUCTIONS,
    SAME_SIZES,
    MessageKind,
    Printed,
    Reading,
    TableLine,
    conclude,
    count,
    decimals,
    foreign,
    number,
)

#: some who copy an output leave out the #
_TITLE = re.compile(
    r"(?:#\s*)?OSU MPI(-\w+)?\s+(.+?)\s+(Latency|Bandwidth|Bi-Directional).*?(?:v(\S+))?$"
)
#: of messages between ranks
_PAIRS_TITLE = re.compile(
    r"(?:#\s*)?OSU MPI\s+(Multi |Multi-threaded |Bi-Directional |Multiple |)(Latency|Bandwidth)"
    r"(?: / Message Rate)? Test(?:\s+v(\S+))?$"
)
#: program and what it measures, by the words of its title; all but these two take two ranks
_PAIRS = {
    ("", "Latency"): ("latency", MessageKind("latency", "us", 1)),
    ("Multi", "Latency"): ("multi_lat", MessageKind("latency", "us")),
    ("Multi-threaded", "Latency"): (
        "latency_mt", MessageKind("latency-mt", "us", 1, 1, None, "multiple")
    ),
    ("", "Bandwidth"): ("bw", MessageKind("bandwidth", "MB/s", 1, None)),
    ("Bi-Directional", "Bandwidth"): ("bibw", MessageKind("bidirectional", "MB/s", 1, None)),
    ("Multiple", "Bandwidth"): ("mbw_mr", MessageKind("bandwidth", "MB/s", None, None)),
}  # fmt: skip
_PAIRS_FACTS = re.compile(
    r"(?:#\s*)?(?:\[ (pairs): (\d+) \] \[ window size: (\d+) \]"
    r"|Number of (Receiver) threads:\s*(\d+))"
)
#: of whatever it is: what was read until then has ended
_ANY_TITLE = re.compile(
    r"#\s*OSU\b.*\bTest\b|OSU (?:MPI|OpenSHMEM|UPC|NCCL|RCCL)\S*\s(?:.*\s)?Test(?:\s+v\S+)?$"
)
_DATATYPE = re.compile(r"#?\s*Datatype:\s*(\w+)")
#: what no other program prints
_MARK = re.compile(r"(?:#\s*)?OSU (?:MPI|Open|UPC|NCCL)\S*\s.*\bTest\b|(?:#\s*)?Size\s+Avg Latency")
_NAMES = {
    "broadcast": "bcast",
    "all-to-all personalized exchange": "alltoall",
    "all-to-all": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
}
_SIZE, _AVERAGE, _SMALLEST, _LARGEST, _TIMES = "size", "avg latency(us)", "min latency(us)", (
    "max latency(us)"
), "iterations"  # fmt: skip
#: what was sent of a derived datatype; the size is that of its extent
_DERIVED = "transmit size"
#: what a table may print, the first of them that it has
_VALUES = (_AVERAGE, "latency(us)", "bandwidth(mb/s)", "mb/s")
_PLAIN = (_SIZE, _AVERAGE)
_FULL = (_SIZE, _AVERAGE, _SMALLEST, _LARGEST, _TIMES)
#: what stands in no row: "4 nodes", "4x8"
_WORDS = re.compile(r"(?<![\w.])(?!(?:nan|inf|pass|fail)\b)[A-Za-z]{2,}|\b\d+x\d+\b", re.IGNORECASE)
#: a column with its unit, which begins the heading of a table without sizes
_UNIT = re.compile(r"[a-z. ]+\((?:[nmu\u00b5]?s|[kmg]i?b/s)\)")


@dataclass
class _Reader:
    """Where in a text the reading is.

    `run`: what the last title says, for as long as its program goes on printing: a table for each
    datatype. None: there was no title. `skipping`: what is printed is of a benchmark, or of a kind,
    that is not taken. `ended`: the last table has, and neither a title nor a heading followed;
    `told`: its first line was reported.
    """

    out: Reading
    evidence: StreamEvidence = field(default_factory=StreamEvidence)
    run: Printed | None = None
    table: Printed | None = None
    columns: tuple[str, ...] | None = None
    skipping: bool = False
    ended: bool = False
    told: bool = False
    placed: list[Printed] = field(default_factory=list)

    def line(self, line: str, place: str) -> None:
        text = line.strip()
        if pairs := _PAIRS_TITLE.match(text):
            self.run, self.skipping = _pairs_run(pairs, place), False
            self._begin(self.run, place)
        elif self._pairs_facts(text):
            return
        elif title := _TITLE.match(text):
            self.run = _run(title, place, self.out)
            self._begin(self.run, place)
            self.skipping = self.run is None
            if self.skipping:
                self.evidence.passed()
        elif _ANY_TITLE.match(text):
            self._skip(_left_out(place, text))
        elif datatype := _DATATYPE.match(text):
            self._datatype(datatype.group(1), place)
        elif text.startswith("#") or _is_heading(text):
            if not self._heading(text, place):
                self.evidence.line(text, place)
        elif not text:
            if self.table is not None and self.table.lines:
                self._end()
        elif text[0].isdecimal() and text[0].isascii() and not self.skipping:
            self._numbers(line, place)
        else:
            self.evidence.line(text, place)

    def _begin(self, like: Printed | None, place: str) -> None:
        """Begin a table; one without a title is begun by its first line."""
        self.table = None if like is None else replace(like, place=place, lines=[])
        self.columns, self.ended, self.told = None, False, False
        if self.table is not None:
            self.out.tables.append(self.table)

    def _pairs_facts(self, text: str) -> bool:
        """Take what a program prints of its pairs, its window and its threads."""
        found = _PAIRS_FACTS.match(text)
        if found is None or self.table is None or self.table.exchange is None:
            return False
        exchange = self.table.exchange
        if found[1]:
            exchange = replace(exchange, pairs=int(found[2]), window=int(found[3]))
            self.table.nranks = 2 * int(found[2])
        else:
            exchange = replace(exchange, threads=int(found[5]))
        self.table.exchange = exchange
        return True

    def _skip(self, problem: str) -> None:
        self.run = self.table = self.columns = None
        self.skipping = True
        self.evidence.passed()
        self.out.problems.append(problem)

    def _end(self) -> None:
        self.table, self.ended = None, True

    def _datatype(self, name: str, place: str) -> None:
        """Since version 7 a program prints a table for each datatype, and its title but once."""
        if self.table is not None and self.table.lines and self.table.exchange is not None:
            self._skip(f"{place}: another datatype ({name}); left out")
            return
        if self.run is not None:
            self.run, self.skipping = replace(self.run, datatype=name), False
        if self.table is not None and not self.table.lines:
            self.table.datatype = name
        elif self.run is not None or not self.skipping:
            self._begin(self.run or _untitled(place, name), place)

    def _heading(self, text: str, place: str) -> bool:
        """Take a line that names columns; return whether it does."""
        pairs = self.table is not None and self.table.exchange is not None and not self.ended
        named = _columns(text, _VALUES if pairs else _VALUES[:1])
        if self.skipping:
            return named is not None or _is_heading(text)
        if named is None:
            # Another program's table, or of another time or unit: numbers like any others.
            if _is_heading(text):
                self._skip(_unknown_columns(place, text))
            return _is_heading(text)
        if self.ended:  # whose table this is, no title says
            self.run = None
        if self.ended or (self.table is not None and self.table.lines):
            self._begin(self.run, place)
        self.columns = named
        if _DERIVED in named:
            self.skipping = True
            self.out.problems.append(
                f"{place}: of a derived datatype (-D), whose packing is in the times; left out"
            )
        return True

    def _numbers(self, line: str, place: str) -> None:
        words = line.split()
        if self.ended and self.evidence.names_program and _guess(words, None):
            self.run = self.table = self.columns = None  # the next of some without titles
            self.ended = self.told = False
        if self.ended:
            if _line(words, self.columns) is None:
                self._other(line, place)
            elif not self.told:
                self.out.behind(place, line)
                self.told = True
            return
        if self.columns is None and (self.table is None or self.table.exchange is None):
            self.columns = _guess(words, self.table)
        if self.table is None:
            if self.columns is None or number(words[-1]) is None:
                self.columns = None
                self._other(line, place)
                return
            self.table = _untitled(place, None)
            self.out.tables.append(self.table)
        if not self.table.lines:
            self._first(self.table)
        found = _line(words, self.columns)
        if found is None or self.table.is_cut(found):
            if _WORDS.search(line):
                self.evidence.line(line, place)
                return
            if len(words) == 1 and words[0].isdecimal():
                self.evidence.number(line, place)
            self.out.problems.append(f"{place}: this line of the table is broken: {line[:60]}")
        elif self.table.goes_on_with(found):
            self.table.lines.append(replace(found, place=place))
        else:
            self._end()
            self._numbers(line, place)

    def _other(self, line: str, place: str) -> None:
        """Take a line that begins with a number and is no table's."""
        if line.strip().isdecimal():
            self.evidence.number(line, place)
        else:
            self.evidence.line(line, place)

    def _first(self, table: Printed) -> None:
        """Take what was said before a table."""
        if self.placed and table is self.placed[-1]:
            return
        table.context = self.evidence.at_table(table.collective)
        self.placed.append(table)
        program = table.context.program
        if table.collective is None and program is not None:
            table.collective = program
            if program not in SAME_SIZES:
                self.out.problems.append(_left_out(table.place, f"osu_{program}, without a title"))


def read(text: str, place: str) -> Reading:
    """Read all tables in a text: a job's output may hold several, and other lines between them."""
    out = Reading(foreign=foreign(text, "osu"))
    if out.foreign is not None:
        return out
    for stream in streams(text, place, _MARK, out.problems):
        reader = _Reader(out)
        for at, line in stream:
            reader.line(line, f"{place}:{at}")
        conclude(reader.evidence, reader.placed)
    taken = (None, *SAME_SIZES)
    out.tables = [t for t in out.tables if t.exchange is not None or t.collective in taken]
    out.part()
    return out


def _untitled(place: str, datatype: str | None) -> Printed:
    return Printed(None, None, datatype, "latency", "OSU", place)


def _run(title: re.Match[str], place: str, out: Reading) -> Printed | None:
    """Return what a title says of the tables below it; None for a benchmark that is not taken."""
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
        tool = f"OSU {version or ''}".strip()
        return Printed(collective, None, datatype, "latency", tool, place)
    return None


def _pairs_run(title: re.Match[str], place: str) -> Printed:
    kind, value, version = title.groups()
    program, exchange = _PAIRS[kind.strip(), value]
    return Printed(
        program, None if exchange.pairs is None else 2, None, "throughput",
        f"OSU {version or ''}".strip(), place, exchange=exchange,
    )  # fmt: skip


def _left_out(place: str, title: str) -> str:
    known = ", ".join((*SAME_SIZES, *(program for program, _ in _PAIRS.values())))
    return f"{place}: {title.lstrip('# ')}: not one of {known}; left out"


def _unknown_columns(place: str, heading: str) -> str:
    return (
        f"{place}: {heading.lstrip('# ')[:60]}: no columns of a collective's mean latency in "
        "microseconds; left out, as far as the next title"
    )


def _names(line: str) -> tuple[str, ...]:
    text = line.lstrip("#").strip().lower().replace(" (", "(")
    for known in (_PLAIN, _FULL):  # whatever became of the spaces
        if text.split() == " ".join(known).split():
            return known
    return tuple(re.split(r"\s{2,}|\t+", text))


def _is_heading(line: str) -> bool:
    return line.lstrip("#").split()[:1] == ["Size"] or bool(_UNIT.fullmatch(_names(line)[0]))


def _columns(line: str, values: tuple[str, ...]) -> tuple[str, ...] | None:
    names = _names(line)
    return names if any(value in names for value in values) else None


def _guess(words: list[str], table: Printed | None) -> tuple[str, ...] | None:
    """Return the columns of a table whose heading was cut away."""
    if table is not None and table.collective == "barrier":
        return (_FULL if len(words) == len(_FULL) - 1 else _PLAIN)[1:]
    return {len(_PLAIN): _PLAIN, len(_FULL): _FULL}.get(len(words))


def _line(words: list[str], columns: tuple[str, ...] | None) -> TableLine | None:
    if columns is None or len(words) != len(columns):
        return None
    row = dict(zip(columns, words, strict=True))
    word = next(row[value] for value in _VALUES if value in row)
    average, times = number(word), row.get(_TIMES, "")
    size, calls = count(row.get(_SIZE, "0")), count(times) if times else None
    if size is None or average is None or (times and calls is None):
        return None
    largest = number(row[_LARGEST]) if _LARGEST in row else None
    if _LARGEST in row and largest is None:
        return None
    correct = row.get("validation", "pass").lower() == "pass"
    return TableLine(size, average, largest, calls, correct, decimals(word))
