"""From printed tables to bench results, one file for each MPI and layout."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from stretto import __version__
from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.bench import Header, Launch, LaunchEnd, Record, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity, now
from stretto.files.io import read_text
from stretto.imports.natives import UNKNOWN, Naming, identity_of
from stretto.imports.pattern import Facts, match
from stretto.imports.printed import REDUCTIONS, Printed, Reading

Which = Literal["max", "avg"]
WHAT = "a benchmark's output"
MOST_BYTES = 64 << 20
#: two launches do not print so many digits alike; a table of one short line they might
DIGITS = 40


@dataclass(frozen=True)
class Asked:
    """What the user said of the files.

    Attributes
    ----------
    pattern
        What their places say; None: nothing.
    facts
        What holds for all whose places do not say it.
    by_name, mpi
        From `assigned`.
    value
        Which of the printed times; None: the largest over the ranks where all files have it.
    host
        Of the measurements.
    """

    pattern: re.Pattern[str] | None
    facts: Facts
    by_name: Mapping[str, MPIIdentity]
    mpi: MPIIdentity | None
    value: Which | None
    host: Host


@dataclass(frozen=True)
class Layout:
    """MPI, nodes, ranks on a node and ranks: what makes a file of its own."""

    mpi: MPIIdentity
    nodes: int
    ppn: int
    nranks: int

    @property
    def name(self) -> str:
        """The file's name."""
        version = "" if self.mpi.version == UNKNOWN else f"-{self.mpi.version}"
        ranks = "" if self.nranks == self.nodes * self.ppn else f".{self.nranks}"
        return f"{self.mpi.family}{version}-{self.nodes}x{self.ppn}{ranks}.bench.jsonl"


@dataclass(frozen=True)
class Item:
    """One table with all that is known of it: one launch."""

    table: Printed
    layout: Layout
    collective: str
    candidate: str
    order: tuple[int, str]


@dataclass
class Imported:
    """What came of it.

    Attributes
    ----------
    files
        Results files that were written, with launches and samples in each.
    fewest
        The least number of launches behind any collective, candidate and size.
    left_out
        Files and lines that were not taken, with the reason.
    """

    files: dict[Path, tuple[int, int]] = field(default_factory=dict)
    value: Which = "avg"
    fewest: int = 0
    left_out: list[str] = field(default_factory=list)


def files_in(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files named, and those in the directories named, in the order of their numbers."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = _files_below(path)
        yield from sorted(found, key=lambda p: [_natural(part) for part in p.parts])


def _files_below(directory: Path) -> list[Path]:
    """Return all files below a directory, each directory once: by its own name before a link's."""
    files: list[Path] = []
    been: set[Path] = set()
    waiting, links = [directory], list[Path]()
    while waiting or links:
        at = waiting.pop() if waiting else links.pop(0)
        if (real := at.resolve()) in been:
            continue
        been.add(real)
        try:
            entries = sorted(at.iterdir())
        except OSError as error:
            raise from_oserror(error, "cannot read the directory", at) from error
        for entry in entries:
            if not entry.is_dir():
                files.append(entry)
            else:
                (links if entry.is_symlink() else waiting).append(entry)
    return files


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(w), "") if w.isdecimal() else (-1, w) for w in re.split(r"(\d+)", text)]


def gather(
    paths: Sequence[Path],
    read: Callable[[str, str], Reading],
    asked: Asked,
    naming: Naming,
    left_out: list[str],
) -> list[Item]:
    """Read all files and place each table.

    Parameters
    ----------
    paths
        Files and directories.
    read
        The format's reader.
    asked, naming
        What the user said.
    left_out
        Gets a sentence for each file or line that is not taken.
    """
    items: list[Item] = []
    seen: dict[object, Path] = {}
    for path in files_in(paths):
        facts = Facts() if asked.pattern is None else match(asked.pattern, path)
        if facts is None:
            left_out.append(f"{path}: its name has not the form of --pattern")
            continue
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            left_out.append(f"{path}: too large to be what a benchmark printed")
            continue
        text = _text(path)
        other = _twin(path, text, facts, seen)
        if other is not None:  # as a second launch it would make chance look like significance
            left_out.append(f"{path}: the same measurement as {other}, which counts once")
            continue
        reading = read(text, str(path))
        left_out += reading.problems
        if not reading.tables:
            left_out.append(f"{path}: there is no table of a collective in it")
        whole = max((t.nranks or 0 for t in reading.tables), default=0) or None
        items += [_place(t, _all(facts, asked.facts), whole, asked, naming) for t in reading.tables]
    return items


def _twin(path: Path, text: str, facts: Facts, seen: dict[object, Path]) -> Path | None:
    """Return the file that was read already, by this name or as a copy that says the same."""
    keys: list[object] = [path.resolve()]
    if sum(c.isdecimal() for c in text) >= DIGITS:
        keys.append((text, replace(facts, launch=None)))
    other = next((seen[k] for k in keys if k in seen), None)
    for key in keys:
        seen.setdefault(key, path)
    return other


def _text(path: Path) -> str:
    """Return a file's text; whatever else a job printed into it must not stop the reading."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return read_text(path, WHAT)  # which explains


def _all(facts: Facts, everywhere: Facts) -> Facts:
    own = {k: v for k, v in vars(facts).items() if v is not None}
    return replace(everywhere, **own)


def _place(table: Printed, facts: Facts, whole: int | None, asked: Asked, naming: Naming) -> Item:
    collective = table.collective or facts.collective
    if collective is None:
        raise StrettoError(
            "this table does not say of which collective it is",
            table.place,
            "name it: --collective allreduce, or {collective} in --pattern",
        )
    said = (facts.collective or collective).lower().removeprefix("osu_")
    if said != collective:
        raise StrettoError(
            f"the table is of {collective}, but the file's name (or --collective) says {said}",
            table.place,
            "correct --pattern, or move the file",
        )
    nranks, nodes, ppn = _layout(table, facts, whole)
    mpi = _mpi(facts, asked, table.place)
    try:
        candidate = naming.candidate(mpi, collective, facts.algorithm)
    except StrettoError as error:
        raise StrettoError(error.message, table.place, error.remedy) from error
    order = (facts.launch if facts.launch is not None else -1, table.place.rpartition(":")[0])
    return Item(table, Layout(mpi, nodes, ppn, nranks), collective, candidate, order)


def _layout(table: Printed, facts: Facts, whole: int | None) -> tuple[int, int, int]:
    """Return ranks, nodes and ranks per node; smaller communicators fill node after node."""
    nranks = table.nranks or facts.nranks
    ppn, nodes = facts.ppn, facts.nodes
    total = facts.nranks or whole or nranks
    if nranks is None and ppn and nodes:
        nranks = nodes * ppn
    if ppn is None and nodes and total:
        ppn = -(-total // nodes)
    if nranks is None or ppn is None:
        raise StrettoError(
            "on how many nodes and ranks this was measured is not known",
            table.place,
            "say it: --nodes 8 --ppn 36, or {nodes}, {ppn} and {nranks} in --pattern",
        )
    if min(nranks, ppn, 1 if nodes is None else nodes) < 1:
        raise StrettoError(
            f"{nranks} ranks on {nodes} nodes x {ppn} ranks is no layout", table.place,
            "correct --pattern, or the name",
        )  # fmt: skip
    if nodes and nranks > nodes * ppn:
        raise StrettoError(
            f"{nranks} ranks do not fit on {nodes} nodes x {ppn} ranks", table.place,
            "correct --nodes, --ppn or --pattern",
        )  # fmt: skip
    return nranks, -(-nranks // ppn), min(ppn, nranks)


def _mpi(facts: Facts, asked: Asked, place: str) -> MPIIdentity:
    if facts.mpi is not None:
        known = asked.by_name.get(facts.mpi)
        return known or identity_of(facts.mpi, facts.version)
    if asked.mpi is None:
        raise UsageError(
            f"with which MPI this was measured is not known ({place})",
            "--mpi",
            "say it: --mpi openmpi@4.0.1, or {mpi} in --pattern",
        )
    return asked.mpi


def choose_value(items: Sequence[Item], wanted: Which | None, left_out: list[str]) -> Which:
    """Return which of the printed times is taken from all files alike.

    The largest over the ranks is what Stretto's own results hold; the mean over the ranks is all
    that most OSU files have, and the two must not be compared with one another.

    Parameters
    ----------
    items
        All tables.
    wanted
        What the user asked for.
    left_out
        Gets a sentence for each table that lacks it.
    """
    lines = [line for item in items for line in item.table.lines]
    value: Which = wanted or ("max" if all(x.largest is not None for x in lines) else "avg")
    missing = [x for x in lines if _time(x, value) is None]
    if missing:
        left_out.append(f"{len(missing)} lines have no {value} column and were left out")
    return value


def _time(line: Any, value: Which) -> float | None:
    found: float | None = line.largest if value == "max" else line.average
    return found


def write(
    items: Sequence[Item],
    out: Path,
    asked: Asked,
    value: Which,
    form: str,
    command: Sequence[str],
) -> Imported:
    """Write the results files.

    Parameters
    ----------
    items
        All tables.
    out
        Directory for the files.
    asked
        What the user said.
    value
        Which time.
    form
        ``osu`` or ``imb``.
    command
        For the headers.
    """
    done = Imported(value=value)
    groups: dict[Layout, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.layout].append(item)
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    _refuse_taken(groups, out)
    for layout, members in sorted(groups.items(), key=lambda g: g[0].name):
        path = out / layout.name
        header = _header(layout, members, asked, value, form, command)
        launches = samples = 0
        part = path.with_name(f".{path.name}.part")
        part.unlink(missing_ok=True)
        try:
            with BenchWriter(part, header) as writer:
                for number, item in enumerate(sorted(members, key=lambda i: i.order)):
                    for record in _records(number, item, value):
                        writer.write(record)
                        if isinstance(record, Sample):
                            samples += 1
                            counts[layout, record.collective, record.candidate, record.bytes] += 1
                    launches += 1
            part.replace(path)
        finally:
            with contextlib.suppress(OSError):
                part.unlink()
        done.files[path] = (launches, samples)
    done.fewest = min(counts.values(), default=0)
    return done


def _refuse_taken(layouts: Iterable[Layout], out: Path) -> None:
    """Refuse, before anything is written, a file that exists or that two MPIs would both be."""
    mine: dict[str, Layout] = {}
    for layout in layouts:
        path, other = out / layout.name, mine.setdefault(layout.name, layout)
        if other is not layout:
            mpis = (other.mpi, layout.mpi)
            words = sorted(m.library.removesuffix(" (imported)") for m in mpis)
            version = layout.mpi.version
            whole = layout.mpi.family + ("" if version == UNKNOWN else f"@{version}")
            raise StrettoError(
                f"{' and '.join(words)} would both be {path.name}; builds are never mixed", path,
                "if they are one MPI, say so: "
                + " ".join(f"--mpi {w.partition('@')[0]}={whole}" for w in words)
                + "; otherwise import them by themselves, each with its own --out",
            )  # fmt: skip
        if path.exists():
            raise StrettoError(
                "this file exists already, and results are not overwritten", path,
                "name another directory (--out), or remove the file",
            )  # fmt: skip


def _records(number: int, item: Item, value: Which) -> list[Record]:
    """Return one launch's records; sizes of 0 bytes, at which nothing is sent, are left out."""
    table = item.table
    samples: list[Record] = []
    for line in table.lines:
        found = _time(line, value)
        if found is None or (line.bytes == 0 and item.collective != "barrier"):
            continue
        barrier = item.collective == "barrier"
        samples.append(
            Sample(
                launch=number,
                collective=item.collective,
                candidate=item.candidate,
                bytes=line.bytes,
                datatype="MPI_BYTE" if barrier else table.datatype,
                operation="MPI_SUM" if item.collective in REDUCTIONS else None,
                root=0,
                mode=table.mode,
                batch=max(1, line.iterations or 1),
                times_us=[found],
                correct=line.correct,
                source="measured",
            )
        )
    launch = Launch(
        number, item.layout.nodes, item.layout.ppn, item.layout.nranks,
        {item.collective: [item.candidate]}, None, item.candidate,
    )  # fmt: skip
    return [launch, *samples, LaunchEnd(number, "ok", f"imported from {table.place}")]


def _header(
    layout: Layout,
    members: Sequence[Item],
    asked: Asked,
    value: Which,
    form: str,
    command: Sequence[str],
) -> Header:
    kernels = {m.table.kernel for m in members} - {None}
    host = asked.host
    if host.kernel == UNKNOWN and len(kernels) == 1:
        host = replace(host, kernel=str(kernels.pop()))
    unknown = [f"host.{k}" for k, v in vars(host).items() if v in (UNKNOWN, 0)]
    if layout.mpi.version == UNKNOWN:
        unknown.append("mpi.version")
    if any(line.iterations is None for m in members for line in m.table.lines):
        unknown.append("batch (iterations of each mean; 1 stands in the samples)")
    imported = {
        "format": form,
        "tools": sorted({m.table.tool for m in members}),
        "value": {"max": "largest over the ranks", "avg": "mean over the ranks"}[value],
        "each": "the mean of all iterations of one launch",
        "results_checked": "only where the benchmark said so",
        "files": sorted({m.table.place.rpartition(":")[0] for m in members}),
        "dates": sorted({m.table.date for m in members if m.table.date}),
        "unknown": unknown,
    }
    settings = {"nranks": layout.nranks, "imported": imported}
    return Header(__version__, now(), host, layout.mpi, list(command), settings)
