"""What JSON files of one kind have in common: how they are read, checked and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from stretto.files.io import check_schema, dump_json, parse_json, read_text, write_atomic
from stretto.files.schema import decode, encode

T = TypeVar("T")


@dataclass(frozen=True)
class Document(Generic[T]):
    """One kind of file.

    `check`: raises a `StrettoError` when the parts of a value do not fit together.
    """

    schema: str
    version: int
    kind: type[T]
    what: str
    remedy: str
    check: Callable[[T, str], None]

    def read(self, path: Path) -> T:
        return self.parse(read_text(path, self.what, self.remedy), str(path))

    def parse(self, text: str, place: str) -> T:
        value = parse_json(text, place, self.what)
        check_schema(value, self.schema, self.version, place, self.what)
        body = {k: v for k, v in value.items() if k not in ("schema", "version")}
        found = decode(self.kind, body, place)
        self.check(found, place)
        return found

    def format(self, value: T) -> str:
        return dump_json({"schema": self.schema, "version": self.version, **encode(value)})

    def write(self, value: T, path: Path) -> None:
        """Write a file; an existing one is replaced only when all is well."""
        self.check(value, str(path))
        write_atomic(path, self.format(value), f"the {self.what.partition(' ')[2]}")
