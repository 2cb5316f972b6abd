"""Reading the recorder's raw files (``src/record/raw.h``, version 9)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.errors import StrettoError, from_oserror

MAGIC = b"STRETRAW"
VERSION = 9
SUFFIX = ".strettoraw"
RUNNING, FINALIZED, ABORTED, EXITED = 1, 2, 3, 4
FUNCTIONS, NAMES, SHAPES, EVENTS, ENTRIES, PEERS, FILES, BLOCKS, PACKS, ZEROS = range(1, 11)
CLOCK_MONOTONIC = 3
UNKNOWN_WAIT = (1 << 64) - 1
ROOT = np.uint64(1 << 63)
UNKNOWN_PEER = 0xFFFFFFFF

Array = npt.NDArray[Any]

_INSTANT = [("ticks", "u8"), ("ns", "u8")]
_OFFSET = [("at_ns", "i8"), ("offset_ns", "i8"), ("error_ns", "i8")]


def _all(names: str, kind: str) -> list[tuple[str, str]]:
    return [(name, kind) for name in names.split()]


_HEADER = np.dtype(
    [
        ("magic", "S8"),
        *_all("version byte_order", "u4"),
        ("world", "u8"),
        *_all("rank nranks state exit_code clock thread_level", "u4"),
        ("pid", "i4"),
        ("nsections", "u4"),
        ("first", _INSTANT),
        ("last", _INSTANT),
        *_all("began_ticks last_ticks clock_domain started_realtime_ns", "u8"),
        ("offsets", _OFFSET, (2,)),
        *_all("nevents stride_log2 dropped_calls paused_ticks paused_since", "u8"),
        *_all("cpu_ns core_wait_ns involuntary faults grown_pages", "u8"),
        ("fault_ns", "f8"),
        ("load", "f8"),
        ("cores", "i8"),
        *_all("busy_threads allowed_cores", "u4"),
        ("host", "S64"),
        ("family", "S16"),
        *_all("library program front", "S256"),
    ]
)
_SECTION = np.dtype([*_all("kind item_bytes", "u4"), *_all("offset items", "u8")])
_ITEMS = {
    FUNCTIONS: np.dtype([("name", "S44"), ("kind", "u4")]),
    NAMES: np.dtype([("name", "S60"), ("kind", "u4")]),
    SHAPES: np.dtype([*_all("origin size nodes ppn", "u4"), ("count", "u8"), ("name", "S40")]),
    EVENTS: np.dtype(_all("communicator sequence key enter leave started", "u8")),
    ENTRIES: np.dtype(
        [*_all("key calls bytes ticks min_ticks max_ticks", "u8"), ("unused", "u8", (2,))]
    ),
    PEERS: np.dtype([*_all("rank1 unused", "u4"), *_all("messages bytes", "u8")]),
    FILES: np.dtype(
        [
            *_all("used opens mpi_opens reads writes read_bytes written_bytes", "u8"),
            *_all("mpi_read_bytes mpi_written_bytes read_ticks write_ticks other_ticks", "u8"),
            *_all("size touched system", "u8"),
            ("path", "S392"),
        ]
    ),
    BLOCKS: np.dtype(
        [
            *_all("key calls", "u8"),
            *(("blocks", "u8", (42,)), ("bytes", "u8", (42,)), ("dims", "i4", (4,))),
            *_all("degree noffsets", "i4"),
            ("offsets", "i4", (32,)),
        ]
    ),
    ZEROS: np.dtype(_all("key calls zero", "u8")),
    PACKS: np.dtype(_all("key calls bytes pack_ticks copy_ticks", "u8")),
}

_REMEDY = "record again with: stretto profile -- CMD"


@dataclass
class Key:
    """What one row of counters is about; see ``STRETTO_KEY_*`` in raw.h."""

    function: int
    shape: int
    operation: int
    datatype: int
    size_class: int
    detail: int


def split_key(key: int) -> Key:
    """Take a key apart; function, shape, operation and datatype count from 1, 0 is none."""
    return Key(
        key & 1023,
        key >> 10 & 4095,
        key >> 22 & 63,
        key >> 28 & 255,
        key >> 36 & 63,
        key >> 42 & 1023,
    )


@dataclass
class RawFile:
    path: Path
    header: Any
    functions: list[tuple[str, int]]
    names: list[str]
    shapes: Array
    entries: Array
    events: Array
    peers: Array
    #: those that were used, by path; without one: those that found no room
    files: Array
    #: sizes of blocks of some calls, and graphs, by key
    blocks: Array
    #: packing of derived datatypes in some calls, by key
    packs: Array
    #: how often this rank contributed zeros, of some calls, by key
    zeros: Array
    #: that were in MPI at one time or another, not counting those that began after others ended
    threads: int = 1

    @property
    def rank(self) -> int:
        return int(self.header["rank"])

    @property
    def state(self) -> int:
        """How the recording ended; `RUNNING` when the process was killed."""
        return int(self.header["state"])

    @property
    def host(self) -> str:
        return text_of(self.header["host"])

    @property
    def program(self) -> str:
        """The program's file, as the kernel names it; "" where it could not be read."""
        return text_of(self.header["program"])

    @property
    def front(self) -> str:
        """What takes MPI calls before the recorder: a tool, or the program; empty: nothing."""
        return text_of(self.header["front"])

    @property
    def ns_per_tick(self) -> float:
        header = self.header
        if int(header["clock"]) == CLOCK_MONOTONIC:
            return 1.0
        ticks = int(header["last"]["ticks"]) - int(header["first"]["ticks"])
        ns = int(header["last"]["ns"]) - int(header["first"]["ns"])
        if ticks <= 0 or ns <= 0:
            raise StrettoError("the rate of its clock is unknown", self.path, _REMEDY)
        return ns / ticks

    def monotonic_ns(self, ticks: Array) -> Array:
        """Time stamps as nanoseconds of the node's CLOCK_MONOTONIC (whole, 64 bits)."""
        first = self.header["first"]
        # differences first: the absolute numbers are larger than a double holds exactly
        delta = (ticks - first["ticks"]).astype(np.int64)
        since = np.rint(delta * self.ns_per_tick).astype(np.int64)
        stamps: Array = since + np.int64(first["ns"])
        return stamps

    @property
    def whole_s(self) -> float:
        """Seconds from MPI_Init to MPI_Finalize, or to the last that was seen."""
        ticks = int(self.header["last_ticks"]) - int(self.header["began_ticks"])
        return max(ticks, 0) * self.ns_per_tick * 1e-9

    @property
    def paused_s(self) -> float:
        """Seconds of it in which MPI_Pcontrol(0) had the recording switched off."""
        ticks, since = int(self.header["paused_ticks"]), int(self.header["paused_since"])
        if since:
            ticks += max(int(self.header["last_ticks"]) - since, 0)
        return min(ticks * self.ns_per_tick * 1e-9, self.whole_s)

    @property
    def wall_s(self) -> float:
        return self.whole_s - self.paused_s

    @property
    def _recorded(self) -> float:
        return self.wall_s / self.whole_s if self.whole_s > 0 else 1.0

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU time, of all threads; of what was recorded, as its part of the run."""
        return int(self.header["cpu_ns"]) * 1e-9 * self._recorded

    @property
    def core_wait_s(self) -> float | None:
        """Seconds without a core on the run queue; None: the kernel does not say."""
        waited = int(self.header["core_wait_ns"])
        return None if waited == UNKNOWN_WAIT else waited * 1e-9 * self._recorded

    @property
    def repeated_faults(self) -> int:
        """Page faults beyond those of the pages by which its memory grew; as `cpu_s` of the run."""
        beyond = max(int(self.header["faults"]) - int(self.header["grown_pages"]), 0)
        return round(beyond * self._recorded)

    @property
    def load(self) -> float | None:
        """The node's load average at MPI_Init; None: not known."""
        load = float(self.header["load"])
        return load if load >= 0 else None


def mix(x: Array) -> Array:
    """Scramble 64-bit numbers as ``stretto_mix`` in clock.h does.

    `x`: unsigned 64-bit numbers.
    """
    factor = np.uint64(0xD6E8FEB86659FD93)
    half = np.uint64(32)
    x = x ^ (x >> half)
    x = x * factor
    x = x ^ (x >> half)
    x = x * factor
    mixed: Array = x ^ (x >> half)
    return mixed


def thinned(events: Array, stride_log2: int) -> Array:
    """Return the events that the recorder would keep at a stride, the same on all ranks.

    `stride_log2`: 0 keeps all.
    """
    if not stride_log2:
        return events
    chosen = mix(events["communicator"] + (events["sequence"] & ~ROOT))
    kept: Array = events[chosen >> np.uint64(64 - stride_log2) == 0]
    return kept


def text_of(value: bytes) -> str:
    return bytes(value).split(b"\0")[0].decode("utf-8", "replace")


def read_raw(path: Path) -> RawFile:
    """Read one rank's raw file, or raise a `StrettoError` that names it and what is wrong."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(8)
        if magic != MAGIC:
            raise StrettoError("this is not a file of Stretto's recorder", path, _REMEDY)
        # mapped, not read: most of the room for events may be empty, and there may be many ranks
        data = np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise from_oserror(error, "cannot read the recorder's file", path) from error
    if len(data) < _HEADER.itemsize:
        raise _truncated(path, len(data), _HEADER.itemsize)
    header = np.frombuffer(data, _HEADER, 1)[0]
    if int(header["byte_order"]) != 0x01020304:
        raise StrettoError(
            "the file was written on a machine with another byte order", path, "read it there"
        )
    if int(header["version"]) != VERSION:
        raise StrettoError(
            f"the file has version {int(header['version'])}, this Stretto reads {VERSION}",
            path,
            "use the version of Stretto that recorded it, or " + _REMEDY,
        )
    found: dict[int, list[Array]] = {kind: [] for kind in _ITEMS}
    directory_end = _HEADER.itemsize + int(header["nsections"]) * _SECTION.itemsize
    if len(data) < directory_end:
        raise _truncated(path, len(data), directory_end)
    for section in np.frombuffer(data, _SECTION, int(header["nsections"]), _HEADER.itemsize):
        kind, offset, items = (int(section[k]) for k in ("kind", "offset", "items"))
        dtype = _ITEMS.get(kind)
        if dtype is None or int(section["item_bytes"]) != dtype.itemsize:
            raise StrettoError(f"the file has a section of unknown kind {kind}", path, _REMEDY)
        if kind == EVENTS:  # room is reserved for more than there are
            items = min(items, int(header["nevents"]))
        if offset + items * dtype.itemsize > len(data):
            raise _truncated(path, len(data), offset + items * dtype.itemsize)
        found[kind].append(np.frombuffer(data, dtype, items, offset))
    for kind in (FUNCTIONS, SHAPES, ENTRIES):
        if not found[kind]:
            raise StrettoError("the file is incomplete: the job ended in MPI_Init", path, _REMEDY)

    def joined(kind: int) -> Array:
        return np.concatenate(found[kind]) if found[kind] else np.empty(0, _ITEMS[kind])

    entries, peers, files = joined(ENTRIES), joined(PEERS), joined(FILES)
    blocks, packs, zeros = joined(BLOCKS), joined(PACKS), joined(ZEROS)
    raw = RawFile(
        path,
        header,
        [(text_of(f["name"]), int(f["kind"])) for f in joined(FUNCTIONS)],
        [text_of(n["name"]) for n in joined(NAMES)],
        joined(SHAPES),
        entries[(entries["key"] != 0) & (entries["calls"] != 0)],
        joined(EVENTS),
        peers[(peers["rank1"] != 0) & (peers["messages"] != 0)],
        files[files["used"] != 0],
        blocks[blocks["key"] != 0],
        packs[packs["key"] != 0],
        zeros[zeros["key"] != 0],
        sum(1 for part in found[ENTRIES] if np.any(part["calls"])),
    )
    if not 0 <= raw.rank < int(header["nranks"]):
        raise StrettoError(
            f"rank {raw.rank} of {int(header['nranks'])} is impossible", path, _REMEDY
        )
    return raw


def _truncated(path: Path, size: int, needed: int) -> StrettoError:
    return StrettoError(
        f"the recorder's file is truncated: {size} bytes where {needed} are needed", path, _REMEDY
    )


def find_raw(directory: Path) -> dict[int, list[Path]]:
    """Return the raw files of a directory by run (one MPI_COMM_WORLD each), ranks in order."""
    runs: dict[int, list[Path]] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        world, dash, rank = path.stem.partition("-")
        try:
            key = int(world, 16)
            int(rank)
        except ValueError:
            raise StrettoError(
                "this file's name is not one of the recorder's", path, "remove it from there"
            ) from None
        if not dash:
            continue
        runs.setdefault(key, []).append(path)
    return runs
