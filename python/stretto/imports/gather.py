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
from stretto.imports.natives import Naming, NoSuchAlgorithm
from stretto.imports.pattern import FileFacts, Pattern, match, misfit
from stretto.imports.placing import Asked, Item, Placing, refuse_several
from stretto.imports.printed import Printed, Reading
from stretto.imports.unsaid import refuse_other_mpi, refuse_unlike_sizes, refuse_unsaid
from stretto.imports.walk import MOST_BYTES, Packed, files_in, text_of


@dataclass(frozen=True)
class Gathered:
    """Launches of collectives, and point-to-point tables with what is known of their files."""

    items: list[Item]
    messages: list[tuple[Printed, FileFacts]]


@dataclass(frozen=True)
class _File:
    path: Path
    facts: FileFacts
    reading: Reading

    @property
    def tables(self) -> list[Printed]:
        return self.reading.tables


def gather(
    paths: Sequence[Path],
    read: Callable[[str, str], Reading],
    asked: Asked,
    naming: Naming,
    left_out: list[str],
) -> Gathered:
    found = _read_all(paths, read, asked, left_out)
    _keep_wanted(found, asked.facts.collective, left_out)
    if asked.facts.algorithm is None:
        unsaid = [
            (f.path, f.tables[0].collective or f.facts.collective)
            for f in found
            if f.facts.algorithm is None and f.tables and not _shows_choice(f.tables)
        ]
        refuse_unsaid(unsaid, paths, asked.facts, asked.mpi, naming.note)
    for file in found:
        if file.facts.mpi is None:
            refuse_several([*file.tables, *file.reading.messages], asked)
        every = [*file.tables, *file.reading.messages]
        if not asked.patterns and not any(t.context.mpis for t in every):
            refuse_other_mpi(file.path, paths, asked.mpi)
    if not asked.patterns:
        unsized = [f.path for f in found if f.tables and not _shows_size(f.tables)]
        refuse_unlike_sizes(unsized, paths)
    placing = Placing(asked, naming)
    unknown: dict[str, list[NoSuchAlgorithm]] = defaultdict(list)
    for file in _without_copies(found, left_out):
        for t in file.tables:
            try:
                placing.add(t, file.facts)
            except NoSuchAlgorithm as error:
                unknown[error.message].append(error)
    items = placing.items()
    if unknown and not items:
        raise next(iter(unknown.values()))[0]
    left_out += [_lacking(errors) for errors in unknown.values()]
    if items:
        naming.refuse_unused()
    refuse_unlike(items)
    return Gathered(_as_warm(items, left_out), _messages(found, left_out))


def _messages(found: Sequence[_File], left_out: list[str]) -> list[tuple[Printed, FileFacts]]:
    """Return the point-to-point tables, each once."""
    copies = copied([(file.facts, file.reading.messages) for file in found])
    left_out += [f"{copy}: the same table as {place}, which counts once"
                 for copy, place in copies.items()]  # fmt: skip
    return [
        (t, file.facts) for file in found for t in file.reading.messages if t.place not in copies
    ]


def _read_all(
    paths: Sequence[Path],
    read: Callable[[str, str], Reading],
    asked: Asked,
    left_out: list[str],
) -> list[_File]:
    """Return what all files hold that can be read and fit a pattern."""
    found: list[_File] = []
    seen: dict[Path, Path] = {}
    names: set[str] = set()
    unfit: list[Path] = []
    unread: dict[str, list[Path]] = defaultdict(list)
    for path in files_in(paths, left_out):
        other = seen.setdefault(path.resolve(), path)
        if other is not path:  # as a second launch it would make chance look like significance
            left_out.append(f"{path}: the same file as {other}, which counts once")
            continue
        facts = match(asked.patterns, path) if asked.patterns else FileFacts()
        if facts is None:
            unfit.append(path)
            continue
        if facts.mpi is not None:
            names.add(facts.mpi)
        text = _text(path, path in paths, unread, left_out)
        if text is None:
            continue
        reading = read(text, str(path))
        if reading.foreign is not None:
            unread[reading.foreign].append(path)
            continue
        left_out += reading.problems
        if not (reading.tables or reading.messages):
            left_out.append(f"{path}: there is no table of a collective or of messages in it")
        found.append(_File(path, facts, reading))
    if unread and not any(file.tables or file.reading.messages for file in found):
        raise _nothing_read(unread)
    left_out += [_together(files, words) for words, files in unread.items()]
    if unfit and not found:
        raise _no_fit(asked.patterns, unfit, paths)
    which = "--pattern" if len(asked.patterns) == 1 else "any --pattern"
    left_out += [f"{path}: its name has not the form of {which}" for path in unfit]
    if found:
        _check_names(asked.by_name, names)
    return found


def _text(
    path: Path, named: bool, unread: dict[str, list[Path]], left_out: list[str]
) -> str | None:
    """Return a file's text, None where it is not taken; one that the user named must be."""
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        left_out.append(f"{path}: too large to be what a benchmark printed")
        return None
    try:
        return text_of(path)
    except StrettoError as error:
        if named:
            raise
        if isinstance(error, Packed):
            unread[f"{error.message}; {error.remedy}"].append(path)
        else:
            left_out.append(str(error))
        return None


def _keep_wanted(found: Sequence[_File], wanted: str | None, left_out: list[str]) -> None:
    """Leave out tables whose titles name another collective than --collective."""
    if wanted is None:
        return
    wanted = wanted.lower().removeprefix("osu_")
    others: list[Printed] = []
    for file in found:
        if file.facts.collective is None:
            for tables in (file.tables, file.reading.messages):
                others += [t for t in tables if t.collective not in (None, wanted)]
                tables[:] = [t for t in tables if t.collective in (None, wanted)]
    if others and not any(file.tables or file.reading.messages for file in found):
        titles = ", ".join(dict.fromkeys(str(t.collective) for t in others))
        raise StrettoError(
            f"no table is of {wanted}: the title of each says {titles}", others[0].place,
            "leave out --collective, or name what was measured",
        )  # fmt: skip
    left_out += [
        f"{t.place}: of {t.collective} by its title, and --collective says {wanted}; left out"
        for t in others
    ]


def _shows_choice(tables: Sequence[Printed]) -> bool:
    return any(t.context.settings or t.context.algorithm for t in tables)


def _shows_size(tables: Sequence[Printed]) -> bool:
    launches = [t.context.launch for t in tables]
    return any(t.nranks or (x and x.nranks) for t, x in zip(tables, launches, strict=True))


def _without_copies(found: Sequence[_File], left_out: list[str]) -> list[_File]:
    """Return the files without tables that are copies; what is said of these counts for both."""
    copies = copied([(file.facts, file.tables) for file in found])
    by_place = {t.place: t for file in found for t in file.tables}
    out = []
    for file in found:
        mine = {place: copies[place] for t in file.tables if (place := t.place) in copies}
        if mine:
            left_out.append(_same(file.path, mine, len(file.tables)))
        for copy, place in mine.items():
            original = by_place[place]
            if not original.context.says_anything:
                original.context = by_place[copy].context
        tables = [t for t in file.tables if t.place not in mine]
        out.append(replace(file, reading=replace(file.reading, tables=tables)))
    return out


def _together(paths: Sequence[Path], words: str) -> str:
    """Return one sentence on several files: ``a.log and 8 more: WORDS``."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}: {words}"


def _no_fit(
    patterns: Sequence[Pattern], unfit: Sequence[Path], paths: Sequence[Path]
) -> StrettoError:
    """Return what to say where no file has the form of any pattern: of the one nearest to it."""
    near, path, pattern = max(
        ((misfit(pattern, path), path, pattern) for path in unfit for pattern in patterns),
        key=lambda found: found[0].matched,
    )
    base = next((p for p in paths if p in path.parents), None)
    shown, where = (path, "") if base is None else (path.relative_to(base), f" in {base}")
    several = f"none of {len(unfit)} files fits" if len(unfit) > 1 else "the file does not fit"
    return UsageError(
        f"{several} --pattern: of {shown}{where}, {near.words}",
        f"--pattern {pattern.text!r}",
        "let the pattern say what stands there; {nodes}, {ppn}, {nranks} and {launch} are "
        "numbers, * is anything within one name",
    )


def _lacking(errors: Sequence[NoSuchAlgorithm]) -> str:
    """Return the sentence for tables of one algorithm that the MPI has not."""
    more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{errors[0].place}{more}: left out: {errors[0].message}; {errors[0].remedy}"


def _nothing_read(unread: Mapping[str, list[Path]]) -> StrettoError:
    """Return what to say where all files have to be read otherwise."""
    words, files = next(iter(unread.items()))
    message, _, remedy = words.rpartition("; " if "; " in words else ": ")
    more = f" (and {counted(len(files) - 1, 'file')} more)" if len(files) > 1 else ""
    return StrettoError(f"{message}{more}", files[0], remedy)


def _check_names(by_name: Mapping[str, MPIIdentity], names: set[str]) -> None:
    """Refuse what --mpi says of a name that no file has: a slip of the pen changes the MPI."""
    for name in by_name:
        if name not in names:
            have = f"there is {', '.join(sorted(names))}; " if names else ""
            raise UsageError(
                f"no file has the name {name!r} at {{mpi}}",
                f"--mpi {name}={written(by_name[name])}",
                f"{have}{{mpi}} in --pattern says where the name stands; the MPI of all files "
                f"goes without one: --mpi {written(by_name[name])}",
            )


def _same(path: Path, copies: Mapping[str, str], tables: int) -> str:
    others = sorted({place.rpartition(":")[0] for place in copies.values()} - {str(path)})
    where = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    which = "all its tables" if len(copies) == tables else f"{len(copies)} of its {tables} tables"
    return (
        f"{path}: {which} are the same measurements as those of {where or 'others in it'}, which "
        "count once"
    )


def _as_warm(items: list[Item], left_out: list[str]) -> list[Item]:
    """Return the items without those of cold caches, unless all are of such."""
    cold = [i for i in items if i.table.cold]
    if not cold or len(cold) == len(items):
        return items
    alike = f", as are {len(cold)} tables" if len(cold) > 1 else ""
    left_out.append(
        f"{cold[0].table.place}: of buffers that are in no cache (-off_cache){alike}; the others "
        "are of buffers used again, and the two are never mixed: left out, import them by "
        "themselves"
    )
    return [i for i in items if not i.table.cold]
