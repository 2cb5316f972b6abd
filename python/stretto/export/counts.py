"""Reads rules files that are trees of counts: Open MPI's classic file and HAN's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from stretto.errors import StrettoError
from stretto.export.native_rows import NativeRow
from stretto.files.export import REMEDY

#: the numbers of collectives in rules files (coll_base_functions.h's COLLTYPE)
IDS = {
    "allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "alltoallv": 4, "alltoallw": 5,
    "barrier": 6, "bcast": 7, "exscan": 8, "gather": 9, "gatherv": 10, "reduce": 11,
    "reduce_scatter": 12, "reduce_scatter_block": 13, "scan": 14, "scatter": 15, "scatterv": 16,
}  # fmt: skip
NUMBERED = {str(number): name for name, number in IDS.items()}


_Row = TypeVar("_Row")


def bounded(tables: Mapping[int, list[_Row]], native: _Row) -> dict[int, list[_Row]]:
    """Return tables by communicator size, a lower bound, and the native row for all other sizes."""
    others = dict.fromkeys([1, *(ranks + 1 for ranks in tables)])
    return {ranks: [native] for ranks in others} | dict(tables)


class CountFile:
    """The words of a file, one by one; whatever is wrong is refused with its line."""

    def __init__(self, text: str, place: str) -> None:
        self.place, self.line = place, 0
        self._words = [
            (number, word)
            for number, line in enumerate(text.splitlines(), 1)
            for word in line.split("#")[0].split()
        ][::-1]

    def fault(self, message: str) -> StrettoError:
        return StrettoError(message, f"{self.place}:{self.line}", REMEDY)

    def word(self, what: str) -> str:
        if not self._words:
            raise StrettoError(f"the file ends where {what} is expected", self.place, REMEDY)
        self.line, word = self._words.pop()
        return word

    def number(self, what: str) -> int:
        word = self.word(what)
        if not word.isdecimal() or word != str(int(word)):
            raise self.fault(f"{word!r} was found where {what} is expected")
        return int(word)

    def one_of(self, what: str, values: Mapping[str, str], taken: Collection[str]) -> str:
        word = self.word(what)
        if word not in values:
            raise self.fault(f"{word!r} is not {what}")
        if values[word] in taken:
            raise self.fault(f"{word!r} occurs twice")
        return values[word]

    def ascending(self, what: str, before: int | None, first: int | None) -> int:
        """Return a number above the one before; the first of all must be `first`, None: any."""
        number = self.number(f"a {what}")
        if before is None and first not in (None, number):
            raise self.fault(f"the first {what} must be {first}, not {number}")
        if before is not None and number <= before:
            raise self.fault(f"{what} {number} follows {before}: sizes must ascend")
        return number

    def rows(
        self,
        collective: str,
        first_ranks: int | None,
        settings: Callable[[], tuple[tuple[str, str], ...]],
        only: tuple[str, ...] = (),
    ) -> Iterator[NativeRow]:
        """Read communicator sizes, message sizes, and what `settings` reads of each row.

        Both numbers are lower bounds. The first communicator size holds for smaller ones, too.
        """
        sizes: dict[int, list[NativeRow]] = {}
        for _ in range(self.number("the number of communicator sizes")):
            ranks = self.ascending("communicator size", max(sizes, default=None), first_ranks)
            mine = sizes[ranks] = []
            for _ in range(self.number("the number of message sizes")):
                size = self.ascending("message size", mine[-1].low if mine else None, 0)
                place = f"{self.place}:{self.line}"
                first = ranks if len(sizes) > 1 else 0
                spans = (first, None, size, None)
                mine.append(NativeRow(place, collective, *spans, settings(), only, ranks))
            if not mine:
                raise self.fault(f"{ranks} ranks have no rows")
        if not sizes:
            raise self.fault(f"{collective} has no communicator sizes")
        for mine, last in zip(sizes.values(), _ends(list(sizes)), strict=True):
            for row, high in zip(mine, _ends([r.low for r in mine]), strict=True):
                yield replace(row, last=last, high=high)

    def same_line(self) -> bool:
        """Return whether the next word stands on the line of the last one."""
        return bool(self._words) and self._words[-1][0] == self.line

    def option(self, sign: str) -> str | None:
        """Return the next word without its sign; None where it begins otherwise."""
        if not self._words or not self._words[-1][1].startswith(sign):
            return None
        self.line, word = self._words.pop()
        return word.removeprefix(sign)

    def end(self) -> None:
        if self._words:
            self.line, word = self._words[-1]
            raise self.fault(f"{word!r} is surplus: an earlier count is too small")


def _ends(starts: Sequence[int]) -> list[int | None]:
    return [*(s - 1 for s in starts[1:]), None]
