"""Files of JSON lines, a header first: appended to by one process at a time, whole lines only."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from stretto.errors import StrettoError, from_oserror
from stretto.files.io import parse_body, read_text
from stretto.files.kind import KINDS, refuse_other
from stretto.files.regular import open_to_write
from stretto.files.schema import decode, encode

Self = TypeVar("Self", bound="LineFile")
H = TypeVar("H")


@dataclass(frozen=True)
class LineDocument(Generic[H]):
    """One kind of file of lines; `header` is the dataclass that its first line is."""

    schema: str
    header: type[H]
    what: str

    def first(self, header: H) -> str:
        return line_of(header, schema=self.schema, version=1)

    def parse(self, text: str, place: str) -> tuple[H, list[str], bool]:
        """Return the header, the other whole lines, and whether one without its end was dropped."""
        refuse_other(text, place, self.schema)
        complete, _, rest = text.rpartition("\n")
        if not complete:
            if text.strip() and not text.lstrip().startswith("{"):
                raise StrettoError(
                    f"expected {self.what}, but this is not a file of Stretto", place
                )
            raise StrettoError(
                f"expected {self.what}, but the first line is cut off",
                place,
                "the file is empty or cut off; remove it and measure again",
            )
        head, *lines = complete.split("\n")
        if lines and not head.rstrip().endswith("}"):
            raise StrettoError(
                f"expected {self.what}, but the first line is not a header", f"{place}:1",
                f"give {KINDS[self.schema].named}",
            )  # fmt: skip
        body = parse_body(head, place, self.what, self.schema)
        return decode(self.header, body, f"{place}:1"), lines, bool(rest)


def line_of(value: Any, **first: Any) -> str:
    """Return a dataclass as a line, with some keys before its own."""
    return json.dumps({**first, **encode(value)}, ensure_ascii=False, allow_nan=False) + "\n"


class BusyError(StrettoError):
    """Another process writes to the file."""


class LineFile:
    """A file that is open for appending, and locked; use it in a ``with`` statement.

    `who`, `what`: what else may be writing to it (``"another campaign"``), and what a line is (``"a
    result"``), for error messages.
    """

    def __init__(self, path: Path, who: str, what: str) -> None:
        self.path = path
        self.what = what
        self.handle = -1
        self.locked = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.handle = open_to_write(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise from_oserror(error, "cannot open the results file", path) from error
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.locked = True
        except BlockingIOError as error:
            self.close()
            raise BusyError(
                f"{who} is writing to this file", path, "wait for it, or name another file (--out)"
            ) from error
        except OSError:
            return  # some network file systems have no locks; appending is still safe

    @property
    def size(self) -> int:
        return os.fstat(self.handle).st_size

    def cut(self, size: int) -> None:
        os.ftruncate(self.handle, size)

    def begin(self, first: str) -> str:
        """Write the first line of a new file; return the text of one to go on with.

        Nothing is lost by beginning anew where a kill left only a part of the first line.
        """
        text = read_text(self.path, self.what) if self.size else ""
        if "\n" in text or not first.startswith(text[:20]):
            return text
        self.cut(0)
        self.append(first, sync=True)
        return ""

    def go_on(
        self, text: str, truncated: bool, facts: Iterable[Sequence[object]], remedy: str
    ) -> None:
        """Drop a half-written last line; refuse a file of which a fact is not that of now."""
        for name, old, new in facts:
            if old != new:
                words = f"these results are of another {name}: {old}, not {new}"
                raise StrettoError(words, f"{self.path}:1", remedy)
        if truncated:
            self.cut(len(text[: text.rindex("\n") + 1].encode()))

    def append(self, line: str, sync: bool) -> None:
        """Append a line whole, or not at all."""
        data = line.encode(errors="backslashreplace")  # see write_atomic
        before = None
        try:
            before = self.size
            written = os.write(self.handle, data)
            if written != len(data):
                # A full disk shows itself as a short write first; the retry gives the reason.
                os.write(self.handle, data[written:])
                raise OSError(errno.EIO, "the line could be written only in parts")
            if sync:
                os.fsync(self.handle)
        except OSError as error:
            if before is not None:
                with contextlib.suppress(OSError):
                    self.cut(before)
            doing = f"cannot write {self.what} (earlier ones are kept)"
            raise from_oserror(error, doing, self.path) from error

    def close(self) -> None:
        handle, self.handle = self.handle, -1
        if handle < 0:
            return
        try:
            os.close(handle)
        except OSError as error:  # a network file system tells only here what did not come through
            raise from_oserror(error, f"cannot save {self.what}", self.path) from error

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
