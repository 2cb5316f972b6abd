"""What was measured on one layout: a file of each job that worked on it, read as one.

Every start of a campaign appends to a results file of its own, so that no two processes ever write
to one file. Reading puts them together: each cell (a launch's case, whose candidates ran in one
process) is taken from one file only, in an order that does not depend on who measured what.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.bench import (
    SCHEMA,
    VERSION,
    WHAT,
    Bench,
    Excluded,
    Header,
    Launch,
    LaunchEnd,
    Record,
    Sample,
    check_record,
    parse_record,
)
from stretto.files.identity import Identity
from stretto.files.io import check_schema, parse_json
from stretto.files.schema import decode

#: of the files of one start each; the merged one beside the folder has the same ending
ENDING = ".bench.jsonl"
CellKey = tuple[int, str, int, str, str, int]
When = tuple[int, int]  # which file, in the order in which they were begun, and which record of it


@dataclass
class Session:
    """The file of one start, as far as it was read."""

    path: Path
    header: Header | None = None
    records: list[Record] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # which start of its launch each belongs to
    offset: int = 0
    lines: int = 0
    strange: str | None = None
    damaged: str | None = None  # a line in it; what stands before counts
    launches: dict[int, Launch] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)

    def refresh(self) -> bool:
        """Read the lines that are new, up to a damaged one; return whether there were any.

        A node that loses its power leaves holes in a file, in its first line as in any other: one
        job's must not stop all others.
        """
        if self.damaged is not None:
            return False
        try:
            with self.path.open("rb") as stream:
                if os.fstat(stream.fileno()).st_size <= self.offset:
                    return False
                stream.seek(self.offset)
                data = stream.read()
        except OSError as error:
            raise from_oserror(error, f"cannot read {WHAT}", self.path) from error
        complete = data.rfind(b"\n") + 1  # what follows is being written, or was cut off by a kill
        if complete == 0:
            return False
        self.offset += complete
        for line in data[:complete].decode("utf-8", "replace").split("\n")[:-1]:
            self.lines += 1
            try:
                self._take(line)
            except StrettoError as error:
                self.damaged = f"line {self.lines} and what stands behind it: {error.message}"
                break
        return True

    def _take(self, line: str) -> None:
        place = f"{self.path}:{self.lines}"
        if self.header is None:
            value = parse_json(line, str(self.path), WHAT)
            check_schema(value, SCHEMA, VERSION, str(self.path), WHAT)
            body = {k: v for k, v in value.items() if k not in ("schema", "version")}
            self.header = decode(Header, body, place)
            return
        record = parse_record(line, place)
        check_record(record, self.launches, place)
        if isinstance(record, Launch):
            self.launches[record.launch] = record
            self.counts[record.launch] += 1
        self.records.append(record)
        self.starts.append(self.counts[record.launch])


def strange(header: Header, mine: Identity, node_cpu: str | None) -> str | None:
    """Return in what a file differs from the system at hand so that it must not be mixed in.

    Parameters
    ----------
    header
        Of the file.
    mine
        Of the present campaign.
    node_cpu
        Processor of the nodes that it measures on, None where that is not known.
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

    Attributes
    ----------
    bench
        The records that count, in an order that does not depend on who measured what.
    dropped
        Samples that do not count, because their cell was measured again as a whole.
    aside
        A sentence for each file that was not used, or not all of it.
    """

    bench: Bench
    dropped: int
    aside: tuple[str, ...]


class Folder:
    """The results of one layout.

    Parameters
    ----------
    directory
        Where its files lie.
    mine
        Identity of the campaign: what other systems measured is set aside.
    modes
        That are measured, in the order in which the program writes them.
    node_cpu
        As in `strange`.
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
        """Return everything that is in the files now."""
        changed = self._merged is None
        for path in sorted(self.directory.glob(f"[!.]*{ENDING}")):
            session = self._sessions.setdefault(path.name, Session(path))
            if session.strange is None and session.refresh():
                changed = True
                if session.header is not None:
                    session.strange = strange(session.header, self.mine, self.node_cpu)
        if changed or self._merged is None:
            self._merged = merge(list(self._sessions.values()), self.mine, self.modes)
        return self._merged


def merge(sessions: Sequence[Session], mine: Identity, modes: Sequence[str]) -> Merged:
    """Put the files of a layout together.

    A crash from before the same launch measured the candidate stands before its samples, any other
    exclusion behind them: `standing_exclusions` goes by that order. One for good is so wherever it
    stands.

    Parameters
    ----------
    sessions
        The files.
    mine, modes
        As in `Folder`.
    """
    used = [s for s in sessions if s.header is not None and s.strange is None]
    used.sort(key=lambda s: (s.header.created if s.header else "", s.path.name))
    cells: dict[CellKey, dict[tuple[int, int], list[tuple[When, Sample]]]] = {}
    launches: dict[int, Launch] = {}
    excluded: list[tuple[When, Excluded]] = []
    ends: list[LaunchEnd] = []
    total = 0
    for at, session in enumerate(used):
        numbered = enumerate(zip(_whole(session, modes), session.starts, strict=False))
        for number, (record, start) in numbered:
            when = at, number
            if isinstance(record, Sample):
                total += 1
                starts = cells.setdefault(_key(record), {})
                starts.setdefault((at, start), []).append((when, record))
            elif isinstance(record, Launch):
                launches[record.launch] = _joined(launches.get(record.launch), record)
            elif isinstance(record, Excluded):
                excluded.append((when, record))
            else:
                ends.append(record)
    samples: dict[int, list[Record]] = {k: [] for k in launches}
    last: dict[tuple[int, str, str], When] = {}  # sample of a candidate in a launch
    kept = 0
    for key in sorted(cells):
        starts = cells[key]
        best = min(starts, key=lambda s: (-len(starts[s]), s))
        chosen = {(x.candidate, x.mode): x for _, x in starts[best]}
        kept += len(chosen)
        place = {mode: i for i, mode in enumerate(modes)}
        order = sorted(chosen, key=lambda k: (k[0], place.get(k[1], len(place))))
        samples[key[0]] += [chosen[k] for k in order]
        for when, x in starts[best]:
            who = x.launch, x.collective, x.candidate
            last[who] = max(when, last.get(who, when))
    before: dict[int, list[Record]] = {k: [] for k in launches}
    behind: dict[int, list[Record]] = {k: [] for k in launches}
    for when, out in sorted(excluded, key=lambda e: (e[1].collective, e[1].candidate, e[1].bytes)):
        since = last.get((out.launch, out.collective, out.candidate), when) > when
        (before if since else behind)[out.launch].append(out)
    for end in ends:
        behind[end.launch].append(end)
    header = used[0].header if used else None
    bench = Bench(header or Header(mine.stretto, mine.created, mine.host, mine.mpi, []))
    bench.records = [
        r for k in sorted(launches) for r in (launches[k], *before[k], *samples[k], *behind[k])
    ]
    aside = tuple(f"{s.path}: {s.strange or s.damaged}" for s in sessions if s.strange or s.damaged)
    return Merged(bench, total - kept, aside)


def _key(r: Sample) -> CellKey:
    return (r.launch, r.collective, r.bytes, r.datatype or "", r.operation or "", r.root or 0)


def _whole(session: Session, modes: Sequence[str]) -> list[Record]:
    """Return a file's records without a last sample whose other mode was still to come."""
    records = session.records
    last = records[-1] if records else None
    if isinstance(last, Sample) and last.mode != modes[-1]:
        return records[:-1]
    return records


def _joined(old: Launch | None, new: Launch) -> Launch:
    """Return one launch's record for all its starts: the candidates of each."""
    if old is None:
        return new
    names = {
        c: list(dict.fromkeys([*old.candidates.get(c, []), *new.candidates.get(c, [])]))
        for c in [*old.candidates, *(c for c in new.candidates if c not in old.candidates)]
    }
    return replace(new, candidates=names)


def session_path(directory: Path, holder_place: str, pid: int, created: str) -> Path:
    """Return a fresh name for the file of this start: no other process can come by it.

    Parameters
    ----------
    directory
        Of the layout.
    holder_place, pid, created
        Who and when.
    """
    host = holder_place.split(" ")[0].split(".")[0]
    stamp = created.replace(":", "").replace("-", "")
    for number in range(1000):
        tail = f".{number}" if number else ""
        path = directory / f"{stamp}.{host}.{pid}{tail}{ENDING}"
        if not path.exists():
            return path
    raise StrettoError("there is no free name for a results file", directory, "look what is there")
