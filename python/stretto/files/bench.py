"""Bench results: append-only JSON lines that survive a kill at any moment (``NAME.bench.jsonl``).

Every record is one line, written by one `write` to a file opened for appending. A last line without
its line feed is the trace of a kill: readers drop it, and resuming cuts it off.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from stretto.errors import StrettoError, from_oserror
from stretto.files.identity import Host, Identity, MPIIdentity, Source
from stretto.files.io import check_schema, parse_json, read_text
from stretto.files.schema import decode, encode

SCHEMA = "stretto-bench"
VERSION = 1
WHAT = "bench results"
_DAMAGED = "the file is damaged here; remove the line, or measure again into a new file"


@dataclass
class Header:
    """The first line: who measured, with which command and settings."""

    stretto: str
    created: str
    host: Host
    mpi: MPIIdentity
    command: list[str]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> Identity:
        """Host, MPI and Stretto that it comes from."""
        return Identity(self.stretto, self.created, self.host, self.mpi)


@dataclass
class Launch:
    """One start of the measuring program; `candidates` by collective."""

    launch: int
    nodes: int
    ppn: int
    nranks: int
    candidates: dict[str, list[str]]
    clock_error_us: float | None = None
    variant: str = (
        "stretto"  # "bare": without the interposer; "native:SETTINGS": other MPI settings
    )


@dataclass
class Sample:
    """Times of one candidate at one size in one launch.

    `times_us` holds one value a batch of `batch` calls: the largest over the ranks, per call.
    """

    launch: int
    collective: str
    candidate: str
    bytes: int
    datatype: str | None
    operation: str | None
    root: int | None
    mode: Literal["throughput", "latency"]
    batch: int
    times_us: list[float]
    correct: bool
    source: Source = "measured"
    missed: int = 0  # batches or windows that a rank reached too late, and that were dropped


@dataclass
class Excluded:
    """A candidate that was not measured, or no longer is, for a collective, and why.

    `bytes` is the size at which it showed.
    """

    launch: int
    collective: str
    candidate: str
    bytes: int
    reason: Literal["refused", "wrong", "hung", "failed", "not_done"]
    detail: str = ""


@dataclass
class LaunchEnd:
    """How a launch ended."""

    launch: int
    status: Literal["ok", "timeout", "failed"]
    detail: str = ""


Record = Launch | Sample | Excluded | LaunchEnd
Cell = tuple[int, str, int]  # launch, collective, bytes

_TYPES: dict[str, type[Record]] = {
    "launch": Launch,
    "sample": Sample,
    "excluded": Excluded,
    "launch_end": LaunchEnd,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


@dataclass
class Bench:
    """A whole file.

    Attributes
    ----------
    truncated
        A last, half-written line was dropped.
    """

    header: Header
    records: list[Record] = field(default_factory=list)
    truncated: bool = False

    @property
    def launches(self) -> list[Launch]:
        """All launches in file order."""
        return [r for r in self.records if isinstance(r, Launch)]

    @property
    def samples(self) -> list[Sample]:
        """All samples in file order."""
        return [r for r in self.records if isinstance(r, Sample)]

    @property
    def excluded(self) -> list[Excluded]:
        """All candidates that were excluded, in file order."""
        return [r for r in self.records if isinstance(r, Excluded)]

    @property
    def ends(self) -> dict[int, LaunchEnd]:
        """How each launch that ended did so; the last word counts."""
        return {r.launch: r for r in self.records if isinstance(r, LaunchEnd)}

    def complete_cells(self) -> set[Cell]:
        """Return the (launch, collective, bytes) that a resumed campaign need not measure again.

        A cell is complete when every candidate of its launch has a sample in every mode that the
        launch used for that collective and size.
        """
        candidates = {
            (r.launch, collective): set(names)
            for r in self.launches
            for collective, names in r.candidates.items()
        }
        for gone in self.excluded:
            candidates.get((gone.launch, gone.collective), set()).discard(gone.candidate)
        modes: dict[Cell, set[str]] = {}
        seen: dict[Cell, set[tuple[str, str]]] = {}
        for s in self.samples:
            cell = (s.launch, s.collective, s.bytes)
            modes.setdefault(cell, set()).add(s.mode)
            seen.setdefault(cell, set()).add((s.candidate, s.mode))
        return {
            cell
            for cell, found in seen.items()
            if all(
                (name, mode) in found
                for name in candidates.get(cell[:2], set())
                for mode in modes[cell]
            )
        }


def _check(record: Record, launches: dict[int, Launch], place: str) -> None:
    """Raise a `StrettoError` when a record does not fit to those before it."""

    def refuse(problem: str) -> StrettoError:
        return StrettoError(problem, place, _DAMAGED)

    if isinstance(record, Launch):
        if min(record.nodes, record.ppn, record.nranks) < 1:
            raise refuse("nodes, ppn and nranks must be at least 1")
        if record.nranks > record.nodes * record.ppn:
            raise refuse(f"{record.nranks} ranks do not fit on {record.nodes} x {record.ppn}")
        if record.clock_error_us is not None and record.clock_error_us < 0:
            raise refuse("clock_error_us is negative")
        return
    if record.launch not in launches:
        raise refuse(f"launch {record.launch} was never started in this file")
    if isinstance(record, Sample):
        if record.bytes < 0 or record.batch < 1:
            raise refuse("bytes must be at least 0 and batch at least 1")
        if not record.times_us or min(record.times_us) < 0:
            raise refuse("times_us must hold times in microseconds, none of them negative")
        known = launches[record.launch].candidates.get(record.collective, [])
        if record.candidate not in known:
            raise refuse(
                f"{record.candidate} is not a candidate for {record.collective} "
                f"in launch {record.launch}"
            )


def parse_record(line: str, place: str) -> Record:
    """Parse one line after the first.

    Parameters
    ----------
    line
        The line.
    place
        ``file:line``, for the error message.
    """
    file, _, number = place.rpartition(":")
    value = parse_json(line, file, "a bench record", int(number) if number.isdigit() else 1)
    kind = _TYPES.get(str(value.pop("type", None)))
    if kind is None:
        raise StrettoError(f"a record is of type {', '.join(_TYPES)}", place, _DAMAGED)
    return decode(kind, value, place)


def format_record(record: Record | Header) -> str:
    """Return a record's line, with its line feed."""
    value: dict[str, Any]
    if isinstance(record, Header):
        value = {"schema": SCHEMA, "version": VERSION, **encode(record)}
    else:
        value = {"type": _NAMES[type(record)], **encode(record)}
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def parse_bench(text: str, place: str) -> Bench:
    """Parse a file's text; `place` is its name for error messages."""
    complete, _, rest = text.rpartition("\n")
    lines = complete.split("\n") if complete else []
    if not lines:
        if text.strip() and not text.lstrip().startswith("{"):
            raise StrettoError(f"{WHAT} were expected, but this is something else", place)
        raise StrettoError(
            f"{WHAT} were expected, but the file ends before its first line does",
            place,
            "it was cut off at the very start; remove it and measure again",
        )
    value = parse_json(lines[0], place, WHAT)
    check_schema(value, SCHEMA, VERSION, place, WHAT)
    body = {k: v for k, v in value.items() if k not in ("schema", "version")}
    bench = Bench(decode(Header, body, f"{place}:1"), truncated=bool(rest))
    launches: dict[int, Launch] = {}
    for number, line in enumerate(lines[1:], start=2):
        where = f"{place}:{number}"
        record = parse_record(line, where)
        _check(record, launches, where)
        if isinstance(record, Launch):
            launches[record.launch] = record
        bench.records.append(record)
    return bench


def read_bench(path: Path) -> Bench:
    """Read bench results, or raise a `StrettoError` that names file, line and remedy."""
    return parse_bench(read_text(path, WHAT, "make them with: stretto bench"), str(path))


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
        _check(record, self._launches, str(self.path))
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
