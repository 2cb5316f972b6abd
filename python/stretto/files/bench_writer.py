"""Appending to a results file: one campaign at a time, whole lines only, on from where it stood."""

from __future__ import annotations

import os
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.append import LineFile
from stretto.files.bench import (
    Bench,
    Header,
    Launch,
    LaunchEnd,
    Record,
    check_record,
    format_record,
    parse_bench,
)


class BenchWriter(LineFile):
    """Appends records to a results file; use it in a ``with`` statement.

    `resume`: go on with an existing file: a half-written last line is cut off, and `header` must be
    of the same MPI and host. `previous`: what the file holds, records written since included.
    """

    def __init__(self, path: Path, header: Header, resume: bool = False) -> None:
        self.previous = Bench(header)
        self._launches: dict[int, Launch] = {}
        if path.exists() and not resume and path.stat().st_size > 0:
            raise StrettoError(
                "this file already has results, and they are never overwritten",
                path,
                "continue with --resume, or give another file",
            )
        super().__init__(path, "another campaign", "a result")
        try:
            if text := self.begin(format_record(header)):
                self._resume(text, header)
        except BaseException:
            self.close()
            raise

    def _resume(self, text: str, header: Header) -> None:
        self.previous = parse_bench(text, str(self.path))
        old, new = self.previous.header, header
        mpis = (f"{h.mpi.family} {h.mpi.version}" for h in (old, new))
        facts = (("MPI", *mpis), ("CPU", old.host.cpu, new.host.cpu))
        self.go_on(
            text, self.previous.truncated, facts,
            "results of different systems cannot be mixed; give another file",
        )  # fmt: skip
        self._launches = {r.launch: r for r in self.previous.launches}

    def write(self, record: Record) -> None:
        """Append one record; at a launch's end everything is brought to disk."""
        check_record(record, self._launches, str(self.path))
        if isinstance(record, Launch):
            self._launches[record.launch] = record
        self.append(format_record(record), sync=False)
        self.previous.records.append(record)
        if isinstance(record, LaunchEnd):
            try:
                os.fsync(self.handle)
            except OSError as error:
                raise from_oserror(error, "cannot save the results", self.path) from error
