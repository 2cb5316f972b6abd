"""Bench results: append-only JSON lines that survive a kill at any moment (``NAME.bench.jsonl``).

Every record is one line, written by one `write` to a file opened for appending (`bench_writer`). A
last line without its line feed is the trace of a kill: readers drop it, and resuming cuts it off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from stretto.errors import StrettoError, from_oserror
from stretto.files.append import LineDocument, line_of
from stretto.files.identity import Host, Identity, MPIIdentity
from stretto.files.io import parse_json, read_text
from stretto.files.schema import decode
from stretto.files.usage import Usage
from stretto.kinds import Source

SCHEMA = "stretto-bench"
WHAT = "bench results"
BLOCKING = "blocking"
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
        return Identity(self.stretto, self.created, self.host, self.mpi)

    @property
    def calls(self) -> str:
        """How calls were made: ``blocking``, ``nonblocking`` or ``persistent``."""
        return str(self.settings.get("calls", BLOCKING))

    @property
    def cold(self) -> bool:
        """Whether calls took buffers that were in no cache."""
        return bool(self.settings.get("cold"))


@dataclass
class Launch:
    """One start of the measuring program; `candidates` by collective.

    `hosts` are the nodes that it was started on, where they were named.
    """

    launch: int
    nodes: int
    ppn: int
    nranks: int
    candidates: dict[str, list[str]]
    clock_error_us: float | None = None
    variant: str = (
        "stretto"  # "bare": without the interposer; "native:SETTINGS", "natives:START": variants.py
    )
    hosts: list[str] | None = None


@dataclass
class Sample:
    """Times of one candidate at one size in one launch.

    `times_us` holds one value a batch of `batch` calls: the largest over the ranks, per call.
    `reference_us` is what a fixed exchange of messages took meanwhile, in the same mode (the
    median): it has the same luck as the launch (src/bench/reference.c). `flag_ns`: for each value,
    ns one way that a flag took between the cores of two ranks on one node just before and after;
    0: the cores moved in between (src/bench/flag.c). `bytes` is the mean block where `pattern` says
    that blocks differ (src/bench/blocks.c).
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
    reference_us: float | None = None
    flag_ns: list[float] | None = None
    pattern: str | None = None  # how sizes of blocks differ: FACTOR:PERCENT,...; None: they do not


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


#: detail of a launch that the budget cut off: nobody's fault
BUDGET_ENDED = "the budget ended"


@dataclass
class LaunchEnd:
    """How a launch ended, and how many seconds it took, start and end of the job included.

    `usage` is what its ranks had of their processors; None: it did not come to its end.
    """

    launch: int
    status: Literal["ok", "timeout", "failed"]
    detail: str = ""
    seconds: float | None = None
    usage: Usage | None = None

    @property
    def at_fault(self) -> bool:
        return self.status != "ok" and self.detail != BUDGET_ENDED


Record = Launch | Sample | Excluded | LaunchEnd
LINES = LineDocument(SCHEMA, Header, WHAT)

_TYPES: dict[str, type[Record]] = {
    "launch": Launch,
    "sample": Sample,
    "excluded": Excluded,
    "launch_end": LaunchEnd,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


@dataclass
class Bench:
    """A whole file."""

    header: Header
    records: list[Record] = field(default_factory=list)
    truncated: bool = False

    @property
    def launches(self) -> list[Launch]:
        return [r for r in self.records if isinstance(r, Launch)]

    @property
    def samples(self) -> list[Sample]:
        return [r for r in self.records if isinstance(r, Sample)]

    @property
    def excluded(self) -> list[Excluded]:
        return [r for r in self.records if isinstance(r, Excluded)]

    @property
    def ends(self) -> dict[int, LaunchEnd]:
        """How each launch that ended did so; the last word counts."""
        return {r.launch: r for r in self.records if isinstance(r, LaunchEnd)}


#: reasons that may come from outside the candidate, so that it is worth another try
CRASHES = ("hung", "failed")
#: and so many such exclusions of one candidate stand for good
MOST_CRASHES = 2


def standing_exclusions(records: Iterable[Record]) -> dict[tuple[str, str], Excluded]:
    """Return the candidates that are out, by collective and candidate, with the last word on each.

    One that crashed, was tried again and measured since counts as any other; wrong results, a
    refusal, or a second crash stand for good.
    """
    out: dict[tuple[str, str], Excluded] = {}
    crashes: Counter[tuple[str, str]] = Counter()
    for record in records:
        if isinstance(record, Excluded):
            key = (record.collective, record.candidate)
            crashes[key] += record.reason in CRASHES
            if key not in out or out[key].reason in CRASHES:
                out[key] = record
        elif isinstance(record, Sample):
            key = (record.collective, record.candidate)
            if key in out and out[key].reason in CRASHES and crashes[key] < MOST_CRASHES:
                del out[key]
    return out


def check_record(record: Record, launches: dict[int, Launch], place: str) -> None:
    """Raise a `StrettoError` when a record does not fit to those before it."""
    for problem in _problems(record, launches):
        raise StrettoError(problem, place, _DAMAGED)


def _problems(record: Record, launches: dict[int, Launch]) -> Iterator[str]:
    if isinstance(record, Launch):
        if min(record.nodes, record.ppn, record.nranks) < 1:
            yield "nodes, ppn and nranks must be at least 1"
        if record.nranks > record.nodes * record.ppn:
            yield f"{record.nranks} ranks do not fit on {record.nodes} x {record.ppn}"
        if (record.clock_error_us or 0) < 0:
            yield "clock_error_us is negative"
    elif record.launch not in launches:
        yield f"launch {record.launch} was never started in this file"
    elif isinstance(record, LaunchEnd):
        if (record.seconds or 0) < 0:
            yield "seconds is negative"
    elif isinstance(record, Sample):
        if record.bytes < 0 or record.batch < 1:
            yield "bytes must be at least 0 and batch at least 1"
        if not record.times_us or min(record.times_us) <= 0:
            yield "times_us must hold times in microseconds, all of them above 0"
        if record.reference_us is not None and record.reference_us <= 0:
            yield "reference_us must be a time in microseconds"
        if record.flag_ns is not None and len(record.flag_ns) != len(record.times_us):
            yield "flag_ns must have a value for each of times_us"
        if record.candidate not in launches[record.launch].candidates.get(record.collective, []):
            yield (
                f"{record.candidate} is not a candidate for {record.collective} "
                f"in launch {record.launch}"
            )


def parse_record(line: str, place: str) -> Record:
    """Parse one line after the first."""
    file, _, number = place.rpartition(":")
    value = parse_json(line, file, "a bench record", int(number) if number.isdecimal() else 1)
    kind = _TYPES.get(str(value.pop("type", None)))
    if kind is None:
        raise StrettoError(f"a record is of type {', '.join(_TYPES)}", place, _DAMAGED)
    return decode(kind, value, place)


def format_record(record: Record | Header) -> str:
    if isinstance(record, Header):
        return LINES.first(record)
    return line_of(record, type=_NAMES[type(record)])


def format_bench(bench: Bench) -> str:
    return "".join(format_record(record) for record in (bench.header, *bench.records))


def parse_bench(text: str, place: str) -> Bench:
    header, lines, truncated = LINES.parse(text, place)
    bench = Bench(header, truncated=truncated)
    launches: dict[int, Launch] = {}
    for number, line in enumerate(lines, start=2):
        where = f"{place}:{number}"
        record = parse_record(line, where)
        check_record(record, launches, where)
        if isinstance(record, Launch):
            launches[record.launch] = record
        bench.records.append(record)
    return bench


def read_bench(path: Path) -> Bench:
    return parse_bench(read_text(path, WHAT, "make them with: stretto bench"), str(path))


def read_header(path: Path) -> Header | None:
    """Return the first line of results; None where it was cut off, or there are none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            line = stream.readline()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_oserror(error, f"cannot read {WHAT}", path) from error
    return LINES.parse(line, str(path))[0] if line.endswith("\n") else None
