"""What a benchmark printed: one table of one collective on one communicator."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from stretto.imports.evidence import Context, StreamEvidence
from stretto.imports.prefixes import streams

#: whose sizes other benchmarks count as Stretto does (type size x count; of one block for
#: allgather, alltoall, gather and scatter)
SAME_SIZES = (
    "allreduce", "bcast", "reduce", "allgather", "alltoall", "gather", "scatter", "barrier",
    "allgatherv", "alltoallv", "gatherv", "scatterv",
)  # fmt: skip
REDUCTIONS = ("allreduce", "reduce")
#: microseconds that no call takes: more than 30 years
LONGEST_US = 1e15
#: of a number of bytes or calls, which fits 64 bits
DIGITS = 18

Form = Literal["osu", "imb"]
#: how each benchmark calls itself, and what is printed by it alone
_OWN: dict[Form, tuple[str, re.Pattern[str]]] = {
    "osu": ("the OSU micro-benchmarks", re.compile(r"(?:#\s*)?OSU MPI\S*\s+\S.*\bTest\b")),
    "imb": (
        "Intel MPI Benchmarks",
        re.compile(r"#\s*Intel ?\(R\) MPI Benchmarks|#bytes\s+#repetitions\s.*\bt_max\[usec\]"),
    ),
}


@dataclass(frozen=True)
class TableLine:
    """One size of a table.

    `bytes`: as the benchmark counts them; 0 for a barrier. `average`, `largest`: microseconds a
    call, over the ranks; None where it was not printed. `iterations`: calls that the mean is of;
    None where it was not printed. `decimals`: digits behind the point of its times, of which a
    table's lines have equally many.
    """

    bytes: int
    average: float | None
    largest: float | None
    iterations: int | None
    correct: bool = True
    decimals: int = field(default=0, compare=False, repr=False)
    place: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Columns:
    """How a benchmark calls the columns of its tables.

    `average`: the first of these that a table has. `good`: a column that tells whether results were
    right, and the largest number, or the word, that it has then.
    """

    size: str
    average: tuple[str, ...]
    largest: str
    calls: str
    good: tuple[str, float | str]

    def line(self, row: Mapping[str, str]) -> TableLine | None:
        """Return the line of a row; None where a word of it cannot be its column's."""
        average = next((n for n in self.average if n in row), "")
        times = {n: number(row[n]) for n in (average, self.largest) if n in row}
        counts = {n: count(row[n]) for n in (self.size, self.calls) if n in row}
        name, limit = self.good
        word = row.get(name, str(limit)).lower()
        try:
            correct = word == limit if isinstance(limit, str) else float(word) <= limit
        except ValueError:
            return None
        if not times or None in times.values() or None in counts.values():
            return None
        return TableLine(
            counts.get(self.size) or 0, times.get(average), times.get(self.largest),
            counts.get(self.calls), correct, min(decimals(row[n]) for n in times),
        )  # fmt: skip


def row_of(words: Sequence[str], columns: Sequence[str] | None) -> dict[str, str] | None:
    """Return the words of a line by their columns, None where they are not as many."""
    if columns is None or len(words) != len(columns):
        return None
    return dict(zip(columns, words, strict=True))


@dataclass(frozen=True)
class MessageKind:
    """Which messages between ranks a table is of, as `files.net.Messages` has them.

    `pairs`: None: half of the ranks. `window`, `threads`: None: not printed, and so the program's
    own default.
    """

    test: str
    unit: str
    pairs: int | None = None
    window: int | None = 1
    threads: int | None = 1
    level: str = "single"


@dataclass
class Printed:
    """One table.

    `nranks`: of the communicator; None where the benchmark does not say. `waiting`: ranks of the
    job that are not in the communicator. `mode`: ``latency``: the ranks met before each call;
    ``throughput``: a loop of calls. `cold`: each call had buffers that the ones before it had not
    touched. `exchange`: of a point-to-point table.
    """

    collective: str | None
    nranks: int | None
    datatype: str | None
    mode: Literal["latency", "throughput"]
    tool: str
    place: str
    lines: list[TableLine] = field(default_factory=list)
    kernel: str | None = None
    date: str | None = None
    cold: bool = False
    waiting: int = 0
    context: Context = field(default_factory=Context)
    exchange: MessageKind | None = None


def file_of(place: str) -> str:
    """Return the file of ``FILE:LINE``."""
    return place.rpartition(":")[0]


@dataclass
class Reading:
    """What one file gave: tables, and what in it could not be taken, each with its place.

    `foreign`: what it is, where another benchmark printed it, and how to read it: nothing was read.
    `messages`: point-to-point tables.
    """

    tables: list[Printed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    foreign: tuple[str, str] | None = None
    messages: list[Printed] = field(default_factory=list)

    def part(self) -> None:
        """Move point-to-point tables out of those of collectives; leave empty ones out."""
        self.messages = [t for t in self.tables if t.exchange is not None and t.lines]
        self.tables = [t for t in self.tables if t.exchange is None and t.lines]


@dataclass
class StreamReader:
    """Where in the lines of one rank or host the reading is."""

    out: Reading
    evidence: StreamEvidence = field(default_factory=StreamEvidence)
    table: Printed | None = None
    columns: Sequence[str] | None = None
    ended: bool = False
    told: bool = False

    def line(self, line: str, place: str) -> None:
        raise NotImplementedError

    def problem(self, place: str, words: str) -> None:
        self.out.problems.append(f"{place}: {words}")

    def begin(self, table: Printed | None) -> None:
        """Begin a table; None: what follows is left out."""
        self.table, self.columns, self.ended, self.told = table, None, False, False
        if table is not None:
            self.out.tables.append(table)

    def row(self, line: str, found: TableLine | None, place: str, any_order: bool = False) -> None:
        """Take a line of numbers behind a heading; `found`: what it says, None: it is none.

        `any_order`: the user of the benchmark chose the sizes; otherwise they rise.
        """
        if self.table is not None and not self.ended:
            lines = self.table.lines
            if not lines and not self.told:  # what was said before a table, once
                self.told = True
                self.table.context = self.evidence.at_table(self.table.collective)
            # digits that are missing: another file's begin gave a cut line its end
            if found is None or (lines and found.decimals < lines[0].decimals):
                self.problem(place, f"this line of the table is broken: {line[:60]}")
                return
            if any_order or not lines or lines[-1].bytes < found.bytes:
                lines.append(replace(found, place=place))
                return
            self.end()
        if self.ended and found is not None and not self.told:
            self.told = True
            self.problem(
                place, "the table ended before this line (empty line, or sizes that do not "
                    f"increase); the rest is left out: {line.strip()[:60]}",
            )  # fmt: skip

    def end(self) -> None:
        self.ended, self.told = True, False


def read_streams(
    text: str,
    place: str,
    form: Form,
    mark: re.Pattern[str],
    reader: Callable[[Reading], StreamReader],
) -> Reading:
    """Read all tables in a text: a job's output may hold several, and other lines between them."""
    out = Reading(foreign=foreign(text, form))
    if out.foreign is None:
        for stream in streams(text, place, mark, out.problems):
            one = reader(out)
            for at, line in stream:
                one.line(line, f"{place}:{at}")
            one.evidence.finish()
        out.part()
    return out


def number(word: str) -> float | None:
    """Return a time that can be one, else None (``nan``, ``1e999``, ``0.00``, half a word)."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 < value < LONGEST_US else None


def count(word: str) -> int | None:
    """Return a number of bytes, calls or ranks that can be one, else None (5,000 digits)."""
    fits = word.isdecimal() and word.isascii() and len(word) <= DIGITS
    return int(word) if fits else None


def decimals(word: str) -> int:
    """Return how many digits stand behind a number's point."""
    return len(word.partition(".")[2])


def foreign(text: str, form: Form) -> tuple[str, str] | None:
    """Return what a text is that another benchmark printed, and the command that reads it."""
    if _OWN[form][1].search(text):
        return None
    for other, (title, mark) in _OWN.items():
        if other != form and mark.search(text):
            return f"this is the output of {title}", f"stretto import {other}"
    return None
