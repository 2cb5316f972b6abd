"""What a benchmark printed: one table of one collective on one communicator."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

#: whose sizes other benchmarks count as Stretto does (type size x count; of one block for
#: allgather, alltoall, gather and scatter)
SAME_SIZES = (
    "allreduce", "bcast", "reduce", "allgather", "alltoall", "gather", "scatter", "barrier",
    "allgatherv", "alltoallv", "gatherv", "scatterv",
)  # fmt: skip
REDUCTIONS = ("allreduce", "reduce")
ROOTED = ("bcast", "reduce", "gather", "scatter", "gatherv", "scatterv")


@dataclass(frozen=True)
class Line:
    """One size of a table.

    Attributes
    ----------
    bytes
        As the benchmark counts them; 0 for a barrier.
    average, largest
        Microseconds a call, over the ranks; None where it was not printed.
    iterations
        Calls that the mean is of; None where it was not printed.
    correct
        False where the benchmark checked the results and found them wrong.
    decimals
        Digits behind the point of its times, of which a table's lines have equally many.
    place
        ``file:line``, where it stands.
    """

    bytes: int
    average: float | None
    largest: float | None
    iterations: int | None
    correct: bool = True
    decimals: int = field(default=0, compare=False, repr=False)
    place: str = field(default="", compare=False, repr=False)


@dataclass
class Printed:
    """One table.

    Attributes
    ----------
    collective
        ``allreduce``; None where the benchmark does not say.
    nranks
        Of the communicator; None where the benchmark does not say.
    waiting
        Ranks of the job that are not in the communicator.
    mode
        ``latency``: the ranks met before each call; ``throughput``: a loop of calls.
    tool
        The benchmark and its version, as far as it says.
    place
        ``file:line`` of its title.
    kernel, date
        Of the machine and the day, as far as it says.
    cold
        Each call had buffers that the ones before it had not touched.
    """

    collective: str | None
    nranks: int | None
    datatype: str | None
    mode: Literal["latency", "throughput"]
    tool: str
    place: str
    lines: list[Line] = field(default_factory=list)
    kernel: str | None = None
    date: str | None = None
    cold: bool = False
    waiting: int = 0

    def goes_on_with(self, line: Line, any_order: bool = False) -> bool:
        """Return whether a line can be this table's next: benchmarks print sizes that rise.

        Parameters
        ----------
        line
            What looks like one of the table's.
        any_order
            The user of the benchmark chose the sizes: they may stand in any order.
        """
        return any_order or not self.lines or self.lines[-1].bytes < line.bytes

    def is_cut(self, line: Line) -> bool:
        """Return whether a number's end is missing: another file's begin gave it a line feed."""
        return bool(self.lines) and line.decimals < self.lines[0].decimals


@dataclass
class Reading:
    """What one file gave: tables, and what in it could not be taken, each with its place.

    `foreign` says whose output it is, where it is another benchmark's: then nothing was read.
    """

    tables: list[Printed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    foreign: str | None = None

    def behind(self, place: str, line: str) -> None:
        """Say that numbers follow a table that has ended."""
        self.problems.append(
            f"{place}: the table before it has ended (by an empty line, or as the sizes no longer "
            f"rise); this and what follows is left out: {line.strip()[:60]}"
        )


def whole_lines(text: str, place: str, problems: list[str]) -> list[str]:
    """Return the lines of a file without byte order marks and without a last one that was cut off.

    A number whose last digits are missing looks like any other: only the missing line feed tells.
    The marks stand where Windows' editors and shells began a file, which may have been joined to
    others since.

    Parameters
    ----------
    text, place
        Of the file.
    problems
        Gets the sentence.
    """
    text = text.replace("\ufeff", "").replace("\r\n", "\n")
    complete, _, rest = text.rpartition("\n")
    lines = complete.split("\n")
    if re.match(r"(?:\[[^\]]*\](?:<std\w+>:)?)?\s*\d", rest):  # behind a launcher's tag, too
        problems.append(f"{place}:{len(lines) + 1}: the last line is cut off and was dropped")
    return lines


def number(word: str) -> float | None:
    """Return a time that can be one, else None (``nan``, ``-1``, ``0.00``, half a word)."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def decimals(word: str) -> int:
    """Return how many digits stand behind a number's point."""
    return len(word.partition(".")[2])
