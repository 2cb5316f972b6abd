"""Reads rules files that are trees of counts: Open MPI's classic file and HAN's."""

from __future__ import annotations

from stretto.errors import StrettoError
from stretto.files.export import REMEDY


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
            raise StrettoError(f"the file ends where {what} should stand", self.place, REMEDY)
        self.line, word = self._words.pop()
        return word

    def number(self, what: str) -> int:
        word = self.word(what)
        if not word.isdecimal() or word != str(int(word)):
            raise self.fault(f"{word!r} stands where {what} should")
        return int(word)

    def ascending(self, what: str, before: int | None, first: int | None) -> int:
        """Return a number above the one before; the first of all must be `first`, None: any."""
        number = self.number(f"a {what}")
        if first not in (None, number) if before is None else number <= before:
            raise self.fault(f"{what} {number} is not the next one")
        return number

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
            raise self.fault(f"{word!r} is left over: a count before it is too small")
