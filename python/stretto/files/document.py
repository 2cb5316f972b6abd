"""What JSON files of one kind have in common: how they are read, checked and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from stretto.errors import StrettoError
from stretto.files.io import dump_json, parse_body, read_text, write_atomic
from stretto.files.schema import decode, encode

T = TypeVar("T")


@dataclass(frozen=True)
class Document(Generic[T]):
    """One kind of file.

    `command` makes one. `problems`: in what the parts of a value do not fit together.
    """

    schema: str
    kind: type[T]
    what: str
    command: str
    problems: Callable[[T], Iterator[str]]

    def read(self, path: Path) -> T:
        return self.parse(read_text(path, self.what, f"make one with: {self.command}"), str(path))

    def parse(self, text: str, place: str) -> T:
        found = decode(self.kind, parse_body(text, place, self.what, self.schema), place)
        self._check(found, place)
        return found

    def _check(self, value: T, place: str) -> None:
        for problem in self.problems(value):
            remedy = f"the file is damaged; make it again with: {self.command}"
            raise StrettoError(problem, place, remedy)

    def format(self, value: T) -> str:
        return dump_json({"schema": self.schema, "version": 1, **encode(value)})

    def write(self, value: T, path: Path) -> None:
        """Write a file; an existing one is replaced only when all is well."""
        self._check(value, str(path))
        write_atomic(path, self.format(value), f"the {self.what.partition(' ')[2]}")
