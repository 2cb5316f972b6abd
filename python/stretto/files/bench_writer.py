"""Appending to a results file: one campaign at a time, whole lines only, on from where it stood."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType

from stretto.errors import StrettoError, from_oserror
from stretto.files.bench import (
    WHAT,
    Bench,
    Header,
    Launch,
    LaunchEnd,
    Record,
    check_record,
    format_record,
    parse_bench,
)
from stretto.files.io import read_text


class BenchWriter:
    """Appends records to a results file; use it in a ``with`` statement.

    Parameters
    ----------
    path
        The file.
    header
        Its first line, for a new file.
    resume
        Go on with an existing file: it is read into `previous`, a half-written last line is cut
        off, and `header` must be of the same MPI and host.

    Attributes
    ----------
    previous
        What the file held when it was opened.
    """

    def __init__(self, path: Path, header: Header, resume: bool = False) -> None:
        self.path = path
        self.previous = Bench(header)
        self._handle = -1
        self._launches: dict[int, Launch] = {}
        existing = path.exists()
        if existing and not resume and path.stat().st_size > 0:
            raise StrettoError(
                "there are results in this file already, and they are not overwritten",
                path,
                "go on with them (--resume), or name another file",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise from_oserror(error, "cannot open the results file", path) from error
        try:
            self._lock()
            if resume and os.fstat(self._handle).st_size > 0:
                self._resume(header)
            else:
                self._append(format_record(header))
                os.fsync(self._handle)
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StrettoError(
                "another campaign is writing to this file",
                self.path,
                "wait for it, or name another file",
            ) from error
        except OSError:
            # Some network file systems have no locks; appending is still safe.
            return

    def _resume(self, header: Header) -> None:
        text = read_text(self.path, WHAT)
        if "\n" not in text and format_record(header).startswith(text[:20]):
            # Killed while the very first line was written: nothing is lost by starting again.
            os.ftruncate(self._handle, 0)
            self._append(format_record(header))
            return
        self.previous = parse_bench(text, str(self.path))
        old, new = self.previous.header, header
        for name, a, b in (
            ("MPI", f"{old.mpi.family} {old.mpi.version}", f"{new.mpi.family} {new.mpi.version}"),
            ("CPU", old.host.cpu, new.host.cpu),
        ):
            if a != b:
                raise StrettoError(
                    f"these results are of another {name}: {a}, not {b}",
                    f"{self.path}:1",
                    "results of different systems are never mixed; name another file",
                )
        if self.previous.truncated:
            os.ftruncate(self._handle, len(text[: text.rindex("\n") + 1].encode()))
        self._launches = {r.launch: r for r in self.previous.launches}

    def write(self, record: Record) -> None:
        """Append one record; at a launch's end everything is brought to disk."""
        check_record(record, self._launches, str(self.path))
        if isinstance(record, Launch):
            self._launches[record.launch] = record
        self._append(format_record(record))
        if isinstance(record, LaunchEnd):
            try:
                os.fsync(self._handle)
            except OSError as error:
                raise from_oserror(error, "cannot save the results", self.path) from error

    def _append(self, line: str) -> None:
        data = line.encode()
        before = os.fstat(self._handle).st_size
        try:
            written = os.write(self._handle, data)
            if written != len(data):
                # A full disk shows itself as a short write first; the retry gives the reason.
                os.write(self._handle, data[written:])
                raise OSError(5, "the line could be written only in parts")
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, before)
            raise from_oserror(
                error, "cannot write a result (earlier ones are kept)", self.path
            ) from error

    def close(self) -> None:
        """Close the file (and so give up the lock)."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> BenchWriter:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()
