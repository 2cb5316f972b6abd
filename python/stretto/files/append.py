"""Appending lines to a file: one process at a time, whole lines only."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from stretto.errors import StrettoError, from_oserror
from stretto.files.regular import open_to_write

Self = TypeVar("Self", bound="LineFile")


class LineFile:
    """A file that is open for appending, and locked; use it in a ``with`` statement.

    `who`, `what`: what else may be writing to it (``"another campaign"``), and what a line is (``"a
    result"``), for error messages.
    """

    def __init__(self, path: Path, who: str, what: str) -> None:
        self.path = path
        self.what = what
        self.handle = -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.handle = open_to_write(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise from_oserror(error, "cannot open the results file", path) from error
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise StrettoError(
                f"{who} is writing to this file", path, "wait for it, or name another file (--out)"
            ) from error
        except OSError:
            return  # some network file systems have no locks; appending is still safe

    @property
    def size(self) -> int:
        return os.fstat(self.handle).st_size

    def cut(self, size: int) -> None:
        os.ftruncate(self.handle, size)

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
