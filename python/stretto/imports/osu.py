"""Output of the OSU micro-benchmarks (osu_allreduce and the other blocking collectives).

A title (``# OSU MPI Allreduce Latency Test v7.5``), since version 7 a line with the datatype, a
line that names the columns, and a line a size, each twice the one before; with several datatypes
all but the title again for each, and no empty line between. ``-f`` adds smallest and largest over
the ranks and the number of iterations, ``-c`` a column that says whether the results were right.
The calls of a size are timed one by one, a barrier between them; what is printed is their mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.imports.printed import (
    REDUCTIONS,
    SAME_SIZES,
    Columns,
    MessageKind,
    Printed,
    Reading,
    StreamReader,
    TableLine,
    read_streams,
    row_of,
)

#: some who copy an output leave out the #
_TITLE = re.compile(
    r"(?:#\s*OSU|OSU(?= (?:MPI|Open|UPC|NCCL|RCCL)))\s+(\S+)\s+(.*?)\s*\bTest\b(?:\s+v(\S+))?$"
)
#: what no other program prints
_MARK = re.compile(r"(?:#\s*)?OSU (?:MPI|Open|UPC|NCCL)\S*\s.*\bTest\b|(?:#\s*)?Size\s+Avg Latency")
#: what is measured, by the words of the title: a collective, or a program and its messages; all but
#: two of these take two ranks
_TESTS: dict[str, tuple[str, MessageKind | None]] = {
    **{f"{name} latency": (name, None) for name in SAME_SIZES},
    "broadcast latency": ("bcast", None),
    "all-to-all personalized exchange latency": ("alltoall", None),
    "all-to-all latency": ("alltoall", None),
    "all-to-allv personalized exchange latency": ("alltoallv", None),
    "latency": ("latency", MessageKind("latency", "us", 1)),
    "multi latency": ("multi_lat", MessageKind("latency", "us")),
    "multi-threaded latency": (
        "latency_mt", MessageKind("latency-mt", "us", 1, 1, None, "multiple")
    ),
    "bandwidth": ("bw", MessageKind("bandwidth", "MB/s", 1, None)),
    "bi-directional bandwidth": ("bibw", MessageKind("bidirectional", "MB/s", 1, None)),
    "multiple bandwidth / message rate": ("mbw_mr", MessageKind("bandwidth", "MB/s", None, None)),
}  # fmt: skip
_KNOWN = ", ".join(dict.fromkeys(name for name, _ in _TESTS.values()))
_PAIRS_FACTS = re.compile(
    r"(?:#\s*)?(?:\[ (pairs): (\d+) \] \[ window size: (\d+) \]"
    r"|Number of (Receiver) threads:\s*(\d+))"
)
_DATATYPE = re.compile(r"#?\s*Datatype:\s*(\w+)")
#: what a table may print, the first of them that it has
_VALUES = ("avg latency(us)", "latency(us)", "bandwidth(mb/s)", "mb/s")
_COLUMNS = Columns("size", _VALUES, "max latency(us)", "iterations", ("validation", "pass"))
_PLAIN = ("size", _VALUES[0])
_FULL = (*_PLAIN, "min latency(us)", "max latency(us)", "iterations")
#: what was sent of a derived datatype; the size is that of its extent
_DERIVED = "transmit size"
#: what stands in no row: "4 nodes", "4x8"
_WORDS = re.compile(r"(?<![\w.])(?!(?:nan|inf|pass|fail)\b)[A-Za-z]{2,}|\b\d+x\d+\b", re.IGNORECASE)
#: a column with its unit, which begins the heading of a table without sizes
_UNIT = re.compile(r"[a-z. ]+\((?:[nmu\u00b5]?s|[kmg]i?b/s)\)")


@dataclass
class _Reader(StreamReader):
    """`run`: what the last title says, for as long as its program goes on printing.

    That is a table for each datatype; None: there was no title. `skipping`: what is printed is of a
    benchmark, or of a kind, that is not taken.
    """

    run: Printed | None = None
    skipping: bool = False

    def line(self, line: str, place: str) -> None:
        text = line.strip()
        if title := _TITLE.match(text):
            self._title(title, place)
        elif self._pairs_facts(text):
            return
        elif datatype := _DATATYPE.match(text):
            self._datatype(datatype.group(1), place)
        elif text.startswith("#") or _is_heading(text):
            if not self._heading(text, place):
                self.evidence.line(text, place)
        elif not text:
            if self.table is not None and self.table.lines and not self.ended:
                self.end()
        elif text[0].isdecimal() and text[0].isascii() and not self.skipping:
            self._numbers(line, place)
        else:
            self.evidence.line(text, place)

    def _title(self, title: re.Match[str], place: str) -> None:
        library, name, version = title.groups()
        test = _TESTS.get(" ".join(name.lower().split())) if library == "MPI" else None
        if test is None:
            device = library.startswith("MPI-")
            why = (
                "of device memory, which Stretto leaves to the MPI"
                if device
                else f"not one of {_KNOWN}"
            )
            self._skip(place, f"{title.group(0).lstrip('# ')}: {why}; left out")
            return
        program, kind = test
        # Before version 7 reductions were of floats, and no line said so.
        datatype = "MPI_FLOAT" if program in REDUCTIONS else "MPI_CHAR"
        self.run = Printed(
            program, 2 if kind and kind.pairs else None, None if kind else datatype,
            "throughput" if kind else "latency", f"OSU {version or ''}".strip(), place,
            exchange=kind,
        )  # fmt: skip
        self.skipping = False
        self._begin(self.run, place)

    def _begin(self, like: Printed | None, place: str) -> None:
        self.begin(None if like is None else replace(like, place=place, lines=[]))

    def _pairs_facts(self, text: str) -> bool:
        """Take what a program prints of its pairs, its window and its threads."""
        found = _PAIRS_FACTS.match(text)
        if found is None or self.table is None or self.table.exchange is None or self.ended:
            return False
        exchange = self.table.exchange
        if found[1]:
            self.table.exchange = replace(exchange, pairs=int(found[2]), window=int(found[3]))
            self.table.nranks = 2 * int(found[2])
        else:
            self.table.exchange = replace(exchange, threads=int(found[5]))
        return True

    def _skip(self, place: str, problem: str) -> None:
        self.run = None
        self._begin(None, place)
        self.skipping = True
        self.evidence.passed()
        self.problem(place, problem)

    def _datatype(self, name: str, place: str) -> None:
        """Since version 7 a program prints a table for each datatype, and its title but once."""
        if self.table is not None and self.table.lines and self.table.exchange is not None:
            self._skip(place, f"another datatype ({name}); left out")
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
        names = _names(text)
        known = any(value in names for value in (_VALUES if pairs else _VALUES[:1]))
        if self.skipping or not (known or _is_heading(text)):
            return known or _is_heading(text)
        if not known:
            # Another program's table, or of another time or unit: numbers like any others.
            words = text.lstrip("# ")[:60]
            self._skip(place, f"{words}: no columns of a collective's mean latency in "
                       "microseconds; left out up to the next title")  # fmt: skip
            return True
        if self.ended:  # whose table this is, no title says
            self.run = None
        if self.ended or (self.table is not None and self.table.lines):
            self._begin(self.run, place)
        self.columns = names
        if _DERIVED in names:
            self.skipping = True
            words = "of a derived datatype (-D): the times include packing; left out"
            self.problem(place, words)
        return True

    def _numbers(self, line: str, place: str) -> None:
        found = _line(line.split(), self.columns)
        taken = self.columns is not None and not self.ended
        alone, strange = line.strip().isdecimal(), not taken or _WORDS.search(line)
        if found is None and alone:
            self.evidence.number(line, place)
        elif found is None and strange:
            self.evidence.line(line, place)
        if found is None and strange:
            return
        if taken and self.table is None:
            columns = self.columns
            self.begin(_untitled(place, None))
            self.columns = columns
        self.row(line, found, place)


def read(text: str, place: str) -> Reading:
    return read_streams(text, place, "osu", _MARK, _Reader)


def _untitled(place: str, datatype: str | None) -> Printed:
    return Printed(None, None, datatype, "latency", "OSU", place)


def _names(line: str) -> tuple[str, ...]:
    text = line.lstrip("#").strip().lower().replace(" (", "(")
    for known in (_PLAIN, _FULL):  # whatever became of the spaces
        if text.split() == " ".join(known).split():
            return known
    return tuple(re.split(r"\s{2,}|\t+", text))


def _is_heading(line: str) -> bool:
    return line.lstrip("#").split()[:1] == ["Size"] or bool(_UNIT.fullmatch(_names(line)[0]))


def _line(words: Sequence[str], columns: Sequence[str] | None) -> TableLine | None:
    row = row_of(words, columns)
    return None if row is None else _COLUMNS.line(row)
