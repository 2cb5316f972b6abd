"""From files to printed tables, each with its MPI, layout, collective and candidate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.product import product
from stretto.imports.copies import copied
from stretto.imports.layout import layout_of
from stretto.imports.mpis import agreed, identity_of, version_of, versioned, written
from stretto.imports.natives import Naming, NoSuchAlgorithm
from stretto.imports.others import Packed, together
from stretto.imports.pattern import Facts, Pattern, match, misfit
from stretto.imports.printed import Printed, Reading
from stretto.imports.unsaid import refuse_unsaid
from stretto.imports.walk import MOST_BYTES, files_in, text_of

Which = Literal["max", "avg"]
#: two launches do not print so many digits alike; a table of one short line they might
DIGITS = 40


@dataclass(frozen=True)
class Asked:
    """What the user said of the files.

    Attributes
    ----------
    patterns
        What their places say, the first of them that fits; empty: nothing.
    facts
        What holds for all whose places do not say it.
    by_name, mpi
        From `assigned`.
    value
        Which of the printed times; None: the largest over the ranks where all files have it.
    host
        Of the measurements.
    """

    patterns: Sequence[Pattern]
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
        """The file's name; the version stands in it, or nodes x ranks would be read as one."""
        ranks = "" if self.nranks == self.nodes * self.ppn else f".{self.nranks}"
        return f"{product(self.mpi)}-{self.mpi.version}-{self.nodes}x{self.ppn}{ranks}.bench.jsonl"


@dataclass(frozen=True)
class Item:
    """One table with all that is known of it: one launch; `called` is its MPI's name at {mpi}."""

    table: Printed
    layout: Layout
    collective: str
    candidate: str
    order: tuple[int, str]
    called: str | None


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
    found: list[tuple[Path, Facts, Reading]] = []
    seen: dict[object, Path] = {}
    names: set[str] = set()
    unfit: list[Path] = []
    unread: dict[str, list[Path]] = defaultdict(list)
    for path in files_in(paths, left_out):
        facts = match(asked.patterns, path) if asked.patterns else Facts()
        if facts is None:
            unfit.append(path)
            continue
        if facts.mpi is not None:
            names.add(facts.mpi)
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            left_out.append(f"{path}: too large to be what a benchmark printed")
            continue
        try:
            text = text_of(path)
        except StrettoError as error:
            if path in paths:
                raise
            if isinstance(error, Packed):
                unread[f"{error.message}; {error.remedy}"].append(path)
            else:
                left_out.append(str(error))
            continue
        other = _twin(path, text, facts, seen)
        if other is not None:  # as a second launch it would make chance look like significance
            left_out.append(f"{path}: the same measurement as {other}, which counts once")
            continue
        reading = read(text, str(path))
        if reading.foreign is not None:
            unread[reading.foreign].append(path)
            continue
        left_out += reading.problems
        if not reading.tables:
            left_out.append(f"{path}: there is no table of a collective in it")
        found.append((path, facts, reading))
    if unread and not any(reading.tables for _, _, reading in found):
        raise _nothing_read(unread)
    left_out += [together(files, words) for words, files in unread.items()]
    if unfit and not found:
        raise _no_fit(asked.patterns, unfit, paths)
    which = "--pattern" if len(asked.patterns) == 1 else "any --pattern"
    left_out += [f"{path}: its name has not the form of {which}" for path in unfit]
    if found:
        _check_names(asked.by_name, names)
    if asked.facts.algorithm is None:
        unsaid = [
            (path, reading.tables[0].collective or facts.collective)
            for path, facts, reading in found
            if facts.algorithm is None and reading.tables
        ]
        refuse_unsaid(unsaid, paths, asked.facts, asked.mpi, naming.note)
    items: list[Item] = []
    unknown: dict[str, list[NoSuchAlgorithm]] = defaultdict(list)
    copies = copied([(facts, reading.tables) for _, facts, reading in found])
    for path, facts, reading in found:
        mine = {place: copies[place] for t in reading.tables if (place := t.place) in copies}
        if mine:
            left_out.append(_same(path, mine, len(reading.tables)))
        for t in reading.tables:
            if t.place in mine:
                continue
            try:
                items.append(_place(t, _all(facts, asked.facts), asked, naming))
            except NoSuchAlgorithm as error:
                unknown[error.message].append(error)
    if unknown and not items:
        raise next(iter(unknown.values()))[0]
    left_out += [_lacking(errors) for errors in unknown.values()]
    if items:
        naming.refuse_unused()
    return _as_warm(items, left_out)


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


def _twin(path: Path, text: str, facts: Facts, seen: dict[object, Path]) -> Path | None:
    """Return the file that was read already, by this name or as a copy that says the same."""
    keys: list[object] = [path.resolve()]
    if sum(c.isdecimal() for c in text) >= DIGITS:
        keys.append((text, replace(facts, launch=None)))
    other = next((seen[k] for k in keys if k in seen), None)
    for key in keys:
        seen.setdefault(key, path)
    return other


def _all(facts: Facts, everywhere: Facts) -> Facts:
    own = {k: v for k, v in vars(facts).items() if v is not None}
    return replace(everywhere, **own)


def _place(table: Printed, facts: Facts, asked: Asked, naming: Naming) -> Item:
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
    nranks, nodes, ppn = layout_of(table, facts)
    mpi = _mpi(facts, asked, table.place)
    try:
        candidate = naming.candidate(mpi, collective, facts.algorithm, facts.mpi)
    except NoSuchAlgorithm as error:
        error.place = table.place
        raise
    except StrettoError as error:
        place = error.place or table.place
        raise StrettoError(error.message, place, error.remedy, error.exit_code) from error
    order = (facts.launch if facts.launch is not None else -1, table.place.rpartition(":")[0])
    layout = Layout(mpi, nodes, ppn, nranks)
    return Item(table, layout, collective, candidate, order, facts.mpi)


def _mpi(facts: Facts, asked: Asked, place: str) -> MPIIdentity:
    """Return the MPI: what is said of the name goes before the name, and must fit what is for all.

    Of what --mpi says of a name, what it says of all files takes nothing back: it is for the rest.
    """
    if facts.mpi is None:
        if asked.mpi is None:
            raise UsageError(
                f"with which MPI this was measured is not known ({place})",
                "--mpi",
                "say it: --mpi openmpi@4.0.1, or {mpi} in --pattern",
            )
        return _of(asked.mpi, facts, place, "--mpi", "")
    named = asked.by_name.get(facts.mpi)
    by = "--mpi" if named else repr(facts.mpi)
    mpi = _of(named or identity_of(facts.mpi, place), facts, place, by, f"{facts.mpi}=")
    if asked.mpi is None:
        return mpi
    version = agreed(mpi.version, asked.mpi.version)
    if product(mpi) == product(asked.mpi) and version is not None:
        # A name of its own may be a build of its own.
        plain = facts.mpi == product(mpi)
        return versioned(asked.mpi if plain else mpi, version)
    if named:
        return mpi
    raise StrettoError(
        f"the file's name says {written(mpi)}, --mpi {written(asked.mpi)}", place,
        f"correct --mpi, or say what the name means: --mpi {facts.mpi}={written(asked.mpi)}",
    )  # fmt: skip


def _of(mpi: MPIIdentity, facts: Facts, place: str, by: str, name: str) -> MPIIdentity:
    """Return an MPI that --mpi or the place names with the version that the place says."""
    if facts.version is None:
        return mpi
    said = version_of(facts.version, place)
    version = agreed(said, mpi.version)
    if version is None:
        raise StrettoError(
            f"the file's name says version {said}, {by} {mpi.version}", place,
            f"say the version in one place: --mpi {name}{product(mpi)}",
        )  # fmt: skip
    return versioned(mpi, version)
