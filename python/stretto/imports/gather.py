"""From files to printed tables, each with its MPI, layout, collective and candidate.

Lines lose their prefixes and become tables with what was said before each (the readers); tables
become items with a candidate (`placing`); items that would be launches of one candidate must have
been measured alike (`alike`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import MPIIdentity
from stretto.imports.alike import copied, refuse_unlike
from stretto.imports.mpis import written
from stretto.imports.names import algorithm_in, refuse_other_mpi, shown, size_in
from stretto.imports.natives import Naming, NoSuchAlgorithm
from stretto.imports.pattern import FileFacts, match, misfit
from stretto.imports.placing import Asked, Item, Placing
from stretto.imports.printed import Printed, Reading, file_of
from stretto.imports.walk import MOST_BYTES, Packed, files_in, text_of


@dataclass(frozen=True)
class Gathered:
    """Launches of collectives, and point-to-point tables with what is known of their files."""

    items: list[Item]
    messages: list[tuple[Printed, FileFacts]]


@dataclass
class _File:
    """`kinds`: its tables of collectives, and its point-to-point tables."""

    path: Path
    facts: FileFacts
    kinds: tuple[list[Printed], list[Printed]]

    @property
    def every(self) -> list[Printed]:
        return [*self.kinds[0], *self.kinds[1]]


def gather(
    paths: Sequence[Path],
    read: Callable[[str, str], Reading],
    asked: Asked,
    naming: Naming,
    left_out: list[str],
) -> Gathered:
    found = _read_all(paths, read, asked, left_out)
    _keep_wanted(found, asked.facts.collective, left_out)
    _drop_copies(found, left_out)
    for file in found:
        _take_name(file, paths, asked)
    placing = Placing(asked, naming)
    unknown: dict[str, list[NoSuchAlgorithm]] = defaultdict(list)
    for file in found:
        for t in file.kinds[0]:
            try:
                placing.add(t, file.facts)
            except NoSuchAlgorithm as error:
                unknown[error.message].append(error)
    items = placing.items()
    if unknown and not items:
        raise next(iter(unknown.values()))[0]
    for first, *more in unknown.values():
        place = f"{first.place}{f' and {len(more)} more' if more else ''}"
        left_out.append(f"{place}: left out: {first.message}; {first.remedy}")
    if items:
        naming.refuse_unused()
    refuse_unlike(items)
    messages = [(t, file.facts) for file in found for t in file.kinds[1]]
    return Gathered(_as_warm(items, left_out), messages)


def _read_all(
    paths: Sequence[Path],
    read: Callable[[str, str], Reading],
    asked: Asked,
    left_out: list[str],
) -> list[_File]:
    """Return what all files hold that can be read and fit a pattern."""
    found: list[_File] = []
    seen: dict[Path, Path] = {}
    unfit: list[Path] = []
    unread: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in files_in(paths, left_out):
        other = seen.setdefault(path.resolve(), path)
        facts = match(asked.patterns, path) if asked.patterns else FileFacts()
        if other is not path:  # as a second launch it would make chance look like significance
            left_out.append(f"{path}: the same file as {other}; it is used once")
        elif facts is None:
            unfit.append(path)
        elif path.is_file() and path.stat().st_size > MOST_BYTES:
            left_out.append(f"{path}: too large to be the output of a benchmark")
        else:
            try:
                reading = read(text_of(path), str(path))
            except Packed as error:
                unread[error.message, str(error.remedy)].append(path)
                continue
            except StrettoError as error:
                if path in paths:
                    raise
                left_out.append(str(error))
                continue
            if reading.foreign is not None:
                unread[reading.foreign].append(path)
                continue
            left_out += reading.problems
            file = _File(path, facts, (reading.tables, reading.messages))
            if not file.every:
                left_out.append(f"{path}: it contains no table of a collective or of messages")
            found.append(file)
    for (message, remedy), (first, *more) in unread.items():
        if not any(file.every for file in found):
            others = f" (and {counted(len(more), 'file')} more)" if more else ""
            raise StrettoError(f"{message}{others}", first, remedy)
        others = f" and {len(more)} more" if more else ""
        left_out.append(f"{first}{others}: {message}; {remedy}")
    if unfit and not found:
        end = misfit(asked.patterns[0], unfit[0])
        raise UsageError(
            f"no file fits --pattern ({counted(len(unfit), 'file')}): {unfit[0]} does not end in "
            f"{end!r}", f"--pattern {asked.patterns[0].text!r}",
            "correct the pattern; {nodes}, {ppn}, {nranks} and {launch} are "
            "numbers, * is anything within one name",
        )  # fmt: skip
    left_out += [f"{path}: its name matches no --pattern" for path in unfit]
    if found:
        _check_names(asked.by_name, {f.facts.mpi for f in found if f.facts.mpi})
    return found


def _check_names(by_name: Mapping[str, MPIIdentity], names: set[str]) -> None:
    """Refuse what --mpi says of a name that no file has: a slip of the pen changes the MPI."""
    for name in by_name.keys() - names:
        have = f"names are {', '.join(sorted(names))}; " if names else ""
        raise UsageError(
            f"no file has the name {name!r} at {{mpi}}",
            f"--mpi {name}={written(by_name[name])}",
            f"{have}mark the name by {{mpi}} in --pattern; for the MPI of all files, leave out "
            f"the name: --mpi {written(by_name[name])}",
        )


def _keep_wanted(found: Sequence[_File], wanted: str | None, left_out: list[str]) -> None:
    """Leave out tables whose titles name another collective than --collective."""
    if wanted is None:
        return
    wanted = wanted.lower().removeprefix("osu_")
    others: list[Printed] = []
    for file in found:
        for tables in file.kinds if file.facts.collective is None else ():
            others += [t for t in tables if t.collective not in (None, wanted)]
            tables[:] = [t for t in tables if t.collective in (None, wanted)]
    if others and not any(file.every for file in found):
        titles = ", ".join(dict.fromkeys(str(t.collective) for t in others))
        raise StrettoError(
            f"no table contains {wanted}: the titles name {titles}", others[0].place,
            "leave out --collective, or correct it",
        )  # fmt: skip
    left_out += [
        f"{t.place}: left out: its title names {t.collective}, but --collective names {wanted}"
        for t in others
    ]


def _take_name(file: _File, paths: Sequence[Path], asked: Asked) -> None:
    """Let a file's name count for its tables as far as neither they nor a pattern say as much."""
    name = shown(file.path, paths)
    tables = file.kinds[0]
    if not any(t.context.settings or t.context.algorithm for t in tables):
        algorithm = algorithm_in(name, file.path)
        for t in tables:
            t.context = replace(t.context, algorithm=algorithm)
    if asked.patterns:
        return
    if not any(t.context.mpis for t in file.every):
        refuse_other_mpi(name, file.path, asked.mpi)
    launches = (t.context.launch for t in tables)
    if not any(t.nranks for t in tables) and not any(x and x.nranks for x in launches):
        size = size_in(name, file.path)
        for t in tables:
            t.context = replace(t.context, size=t.context.size or size)


def _drop_copies(found: Sequence[_File], left_out: list[str]) -> None:
    """Leave out tables that are copies; what is said of these counts for the originals, too."""
    for kind in (0, 1):
        copies = copied([(file.facts, file.kinds[kind]) for file in found])
        by_place = {t.place: t for file in found for t in file.kinds[kind]}
        for copy, original in copies.items():
            if not by_place[original].context.says_anything:
                by_place[original].context = by_place[copy].context
        for file in found:
            mine = [t.place for t in file.kinds[kind] if t.place in copies]
            if mine:
                which = f"{len(mine)} of its {counted(len(file.kinds[kind]), 'table')}"
                left_out.append(
                    f"{file.path}: {which} repeat the measurements in {file_of(copies[mine[0]])}, "
                    "which are used once"
                )
            file.kinds[kind][:] = [t for t in file.kinds[kind] if t.place not in copies]


def _as_warm(items: list[Item], left_out: list[str]) -> list[Item]:
    """Return the items without those of cold caches, unless all are of such."""
    cold = [i for i in items if i.table.cold]
    if not cold or len(cold) == len(items):
        return items
    left_out.append(
        f"{cold[0].table.place}: left out, {counted(len(cold), 'table')} in all: measured with "
        "buffers outside the caches (-off_cache), which cannot be mixed with the other tables; "
        "import them separately"
    )
    return [i for i in items if not i.table.cold]
