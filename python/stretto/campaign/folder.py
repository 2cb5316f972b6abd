"""What was measured on one layout: a file of each job that worked on it, read as one.

Every start of a campaign appends to a results file of its own, so that no two processes ever write
to one file. Reading puts them together: each cell (a launch's case, whose candidates ran in one
process) is taken from one file only, in an order that does not depend on who measured what.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import (
    SCHEMA,
    WHAT,
    Bench,
    Excluded,
    Header,
    Launch,
    LaunchEnd,
    Record,
    Sample,
    broken_off,
    check_record,
    parse_record,
)
from stretto.files.identity import Identity
from stretto.files.io import parse_body
from stretto.files.schema import decode

#: of the files of one start each; the merged one beside the folder has the same ending
ENDING = ".bench.jsonl"
CellKey = tuple[int, str, int, str, str, int]
#: of a launch: the generation of its claim (0: none), which file, in the order in which they
#: were begun, and which record of it
When = tuple[int, int, int]
Start = tuple[int, int, int]  # of a launch: the generation, the file, and which one in it
_Cells = dict[CellKey, dict[Start, dict[tuple[str, str], tuple[When, Sample]]]]


@dataclass
class Session:
    """The file of one start, as far as it was read."""

    path: Path
    header: Header | None = None
    records: list[Record] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # which start of its launch each belongs to
    generations: list[int] = field(default_factory=list)  # of the claim of each; 0: none
    offset: int = 0
    lines: int = 0
    strange: str | None = None
    damaged: str | None = None  # a line in it, or it cannot be read; what was read before counts
    bad: bytes = b""  # that line
    launches: dict[int, Launch] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)

    def refresh(self) -> bool:
        """Read the lines that are new, up to a damaged one; return whether anything has changed.

        A node that loses its power leaves holes in a file, in its first line as in any other: one
        job's must not stop all others, nor must a file that cannot be read. Both may be for a
        moment only (what a client of NFS writes may come to the server in another order), so that
        it is looked at again.
        """
        before = self.lines, self.damaged
        try:
            data = self._new()
        except OSError as error:
            self.damaged, self.bad = f"cannot be read now: {error.strerror}", b""
            return before[1] != self.damaged
        if data is None:
            return False
        self.damaged, self.bad = None, b""
        for line in data.split(b"\n")[:-1]:  # what follows is being written, or a kill cut it off
            try:
                self._take(line.decode("utf-8", "replace"), f"{self.path}:{self.lines + 1}")
            except StrettoError as error:
                what = f"line {self.lines + 1} and what stands behind it"
                self.damaged, self.bad = f"{what}: {error.message}", line + b"\n"
                break
            self.lines += 1
            self.offset += len(line) + 1
        return before != (self.lines, self.damaged)

    def _new(self) -> bytes | None:
        """Return what was not read yet, None where it is the damaged line that was there before."""
        with self.path.open("rb") as stream:
            if self.bad:
                stream.seek(self.offset)
                if stream.read(len(self.bad)) == self.bad:
                    return None  # all that stands behind it need not be read
            stream.seek(self.offset)
            return stream.read() if os.fstat(stream.fileno()).st_size > self.offset else b""

    def _take(self, line: str, place: str) -> None:
        if self.header is None:
            body = parse_body(line, str(self.path), WHAT, SCHEMA)
            self.header = decode(Header, body, place)
            return
        record = parse_record(line, place)
        check_record(record, self.launches, place)
        self.add(record)

    def add(self, record: Record) -> None:
        if isinstance(record, Launch):
            self.launches[record.launch] = record
            self.counts[record.launch] += 1
        self.records.append(record)
        self.starts.append(self.counts[record.launch])
        self.generations.append(self.launches[record.launch].generation or 0)


def strange(header: Header, mine: Identity, node_cpu: str | None) -> str | None:
    """Return in what a file differs from the system at hand so that it must not be mixed in.

    `node_cpu`: processor of the nodes that it measures on, None where that is not known.
    """
    old, new = header.mpi, mine.mpi
    if (old.family, old.version) != (new.family, new.version):
        return f"measured with {old.family} {old.version}, and this is {new.family} {new.version}"
    if old.library and new.library and old.library != new.library:
        return f"measured with another build of {old.family} {old.version}: {old.library!r}"
    then = str(header.settings.get("node_cpu") or header.host.cpu)
    now = node_cpu or mine.host.cpu
    return f"measured on {then}, and these nodes are {now}" if then != now else None


@dataclass(frozen=True)
class Merged:
    """All files of a layout as one.

    `bench`: the records that count, in an order that does not depend on who measured what.
    `dropped`: samples that do not count, because their cell was measured again as a whole.
    `aside`: a sentence for each file that was not used, or not all of it.
    """

    bench: Bench
    dropped: int
    aside: tuple[str, ...]


class Folder:
    """The results of one layout.

    `modes`: that are measured, in the order in which the program writes them.
    """

    def __init__(
        self, directory: Path, mine: Identity, modes: Sequence[str], node_cpu: str | None = None
    ) -> None:
        self.directory = directory
        self.mine = mine
        self.modes = tuple(modes)
        self.node_cpu = node_cpu
        self._sessions: dict[str, Session] = {}
        self._merged: Merged | None = None

    def merged(self) -> Merged:
        self._refresh()
        if self._merged is None:
            self._merged = merge(list(self._sessions.values()), self.mine, self.modes)
        return self._merged

    def held(self, launch: int) -> int:
        self._refresh()
        cells = _cells(_used(list(self._sessions.values())), self.modes, launch)
        return sum(len(starts[_best(starts)]) for starts in cells.values())

    def _refresh(self) -> None:
        """Read what is new in the files; nothing is merged any more where there is something."""
        for path in sorted(self.directory.glob(f"[!.]*{ENDING}")):
            session = self._sessions.setdefault(path.name, Session(path))
            if session.strange is None and session.refresh():
                self._merged = None
                if session.header is not None:
                    session.strange = strange(session.header, self.mine, self.node_cpu)


def merge(sessions: Sequence[Session], mine: Identity, modes: Sequence[str]) -> Merged:
    """Put the files of a layout together.

    A crash from before the same launch measured the candidate stands before its samples, any other
    exclusion behind them: `standing_exclusions` goes by that order. One for good is so wherever it
    stands.
    """
    used = _used(sessions)
    launches: dict[int, Launch] = {}
    excluded: list[tuple[When, Excluded]] = []
    ends: list[tuple[When, LaunchEnd]] = []
    for at, session in enumerate(used):
        for number, record in enumerate(session.records):
            if isinstance(record, Sample):
                continue
            if isinstance(record, Launch):
                launches[record.launch] = _joined(launches.get(record.launch), record)
                continue
            when = session.generations[number], at, number
            if isinstance(record, Excluded):
                excluded.append((when, record))
            else:
                ends.append((when, record))
    samples: dict[int, list[Record]] = {k: [] for k in launches}
    last: dict[tuple[int, str, str], When] = {}  # sample of a candidate in a launch
    place = {mode: i for i, mode in enumerate(modes)}
    total = kept = 0
    cells = _cells(used, modes)
    for key in sorted(cells):
        starts = cells[key]
        chosen = starts[_best(starts)]
        total += sum(len(x) for x in starts.values())
        kept += len(chosen)
        order = sorted(chosen, key=lambda k: (k[0], place.get(k[1], len(place))))
        samples[key[0]] += [chosen[k][1] for k in order]
        for when, x in chosen.values():
            who = x.launch, x.collective, x.candidate
            last[who] = max(when, last.get(who, when))
    before: dict[int, list[Record]] = {k: [] for k in launches}
    behind: dict[int, list[Record]] = {k: [] for k in launches}
    for when, out in sorted(excluded, key=lambda e: (*_about(e[1]), e[0])):
        since = last.get((out.launch, out.collective, out.candidate), when) > when
        (before if since else behind)[out.launch].append(out)
    for _, end in sorted(ends, key=lambda e: e[0]):
        behind[end.launch].append(end)
    header = used[0].header if used else None
    bench = Bench(header or Header(mine.stretto, mine.created, mine.host, mine.mpi, []))
    bench.records = [
        r for k in sorted(launches) for r in (launches[k], *before[k], *samples[k], *behind[k])
    ]
    aside = tuple(f"{s.path}: {s.strange or s.damaged}" for s in sessions if s.strange or s.damaged)
    return Merged(bench, total - kept, aside)


def _used(sessions: Sequence[Session]) -> list[Session]:
    """Return the files that count, in the order in which they were begun."""
    used = [s for s in sessions if s.header is not None and s.strange is None]
    return sorted(used, key=lambda s: (s.header.created if s.header else "", s.path.name))


def _cells(used: Sequence[Session], modes: Sequence[str], launch: int | None = None) -> _Cells:
    """Return the samples of each cell by the starts that measured it; None: of all launches.

    A last sample whose other mode was still to come does not count.
    """
    cells: _Cells = {}
    for at, session in enumerate(used):
        if launch is not None and launch not in session.launches:
            continue
        cut = broken_off(session.records, modes[-1])
        for number, record in enumerate(session.records):
            if not isinstance(record, Sample) or number in cut:
                continue
            if launch is None or record.launch == launch:
                generation = session.generations[number]
                starts = cells.setdefault(_key(record), {})
                found = starts.setdefault((generation, at, session.starts[number]), {})
                found[record.candidate, record.mode] = (generation, at, number), record
    return cells


def _best(starts: Mapping[Start, Sized]) -> Start:
    """Return the start from which a cell is taken: one that has the most of it.

    Of several it is the last one that held the claim: later rounds rest on it, whatever one that
    had lost it has written since.
    """
    return min(starts, key=lambda s: (-len(starts[s]), -s[0], s[1], -s[2]))


def _about(r: Excluded) -> tuple[str, str, int]:
    return (r.collective, r.candidate, r.bytes)


def _key(r: Sample) -> CellKey:
    return (r.launch, r.collective, r.bytes, r.datatype or "", r.operation or "", r.root or 0)


def _joined(old: Launch | None, new: Launch) -> Launch:
    if old is None:
        return new
    names = {
        c: list(dict.fromkeys([*old.candidates.get(c, []), *new.candidates.get(c, [])]))
        for c in [*old.candidates, *(c for c in new.candidates if c not in old.candidates)]
    }
    return replace(new, candidates=names)


def session_path(directory: Path, holder_place: str, pid: int, created: str) -> Path:
    """Return a fresh name for the file of this start: no other process can come by it."""
    host = holder_place.split(" ")[0].split(".")[0]
    stamp = created.replace(":", "").replace("-", "")
    for number in range(1000):
        tail = f".{number}" if number else ""
        path = directory / f"{stamp}.{host}.{pid}{tail}{ENDING}"
        if not path.exists():
            return path
    raise StrettoError("there is no free name for a results file", directory, "look what is there")
