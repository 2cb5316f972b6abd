"""Reads native files as the MPI reads them, and compares them with what the export was to say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from stretto.errors import StrettoError
from stretto.export import han, intel, openmpi, openmpi_json, openmpi_words
from stretto.export.cases import CheckCase, cases_of
from stretto.export.mpich import as_rule
from stretto.export.mpich_leaves import leaves_of, needs_of
from stretto.export.mpich_tree import FILES, Tree, TreeCall, leaf_for, read_file, read_library
from stretto.export.output import SCRIPT
from stretto.export.sizes import intel_bytes, openmpi_bytes
from stretto.files.export import REMEDY, ExportManifest
from stretto.files.io import read_text
from stretto.mpi.algorithms import discover
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import control_variables

#: sizes that no machine need have room for: files are read here, nothing is called
_ANY = 1 << 50


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file.

    `row`: index of the row that it is about; None: all of them.
    """

    message: str
    place: str
    row: int | None = None
    remedy: str = REMEDY


@dataclass(frozen=True)
class Found:
    """What a file says for a call: settings as a row has them (empty: the MPI decides), and where.

    `unknown`: what the file asks for and the MPI does not have.
    """

    settings: Mapping[str, str]
    place: str
    unknown: str | None = None


#: answers what the files say for a call
Lookup = Callable[[CheckCase], Found]


def examine(
    manifest: ExportManifest,
    directory: Path,
    environment: Mapping[str, str],
    installation: MPIInstallation | None,
) -> list[Fault]:
    """Return what is wrong with an export's files, without running anything."""
    if not set(manifest.environment) & set(environment):  # the script found no list of its own
        moved = _elsewhere(manifest, directory, manifest.environment)
        if moved:
            return moved
    faults = [
        Fault(
            f"{name} is {environment.get(name, 'not set')} and was written as {value}",
            str(directory / SCRIPT),
        )
        for name, value in manifest.environment.items()
        if environment.get(name) != value
    ]
    faults += _elsewhere(manifest, directory, environment)
    # rows, communicators and collectives that are not in the list: no call of it would meet them
    strange = [
        Fault("is not as it was written with this list of rows", str(directory / name))
        for name in manifest.strangers(directory)
        if name in manifest.files
    ]
    try:
        judge = _judge(manifest, directory, environment, installation)
    except StrettoError as error:
        return [*faults, Fault(error.message, error.place or str(directory), None), *strange]
    seen: set[tuple[int | None, str]] = set()
    for case in _also_on_one_node(manifest):
        found = judge(case) if judge else None
        if found and (case.row, found[1]) not in seen:
            seen.add((case.row, found[1]))
            faults.append(Fault(found[0], found[1], case.row))
    return [*faults, *strange]


def _also_on_one_node(manifest: ExportManifest) -> Iterator[CheckCase]:
    """Go through the calls to look at.

    Where files do not know nodes, what lies beside a row on several nodes is looked at for as many
    ranks on one node, too: HAN's file decides for the first, and steps aside for the second, whom a
    row of coll/tuned that begins too early would reach.
    """
    for case in cases_of(manifest, _ANY):
        yield case
        if case.nodes > 1 and not case.inside and not manifest.knows_nodes:
            yield replace(case, nodes=1)


def _elsewhere(
    manifest: ExportManifest, directory: Path, environment: Mapping[str, str]
) -> list[Fault]:
    """Return a fault where the script names the files of another directory, as in a copy."""
    for name in manifest.environment:
        path = Path(environment.get(name, ""))
        if path.name not in manifest.files or not path.is_absolute():
            continue
        if path.parent.exists() and path.parent.samefile(directory):
            continue
        return [
            Fault(
                f"{name} names {path}, which is not in this directory: what lies here is not read",
                str(directory / SCRIPT),
                None,
                f"write the export again with --out {shlex.quote(str(directory.resolve()))}; a "
                "copy has the paths of the original",
            )
        ]
    return []


def _judge(
    manifest: ExportManifest,
    directory: Path,
    environment: Mapping[str, str],
    installation: MPIInstallation | None,
) -> Callable[[CheckCase], tuple[str, str] | None] | None:
    """Return what says of a call what is wrong, and where; None: nothing can be said."""
    if manifest.knows_nodes:
        # its files are compared with the trees in the library
        if installation is None or installation.libmpi is None:
            return None
        return TreeReader(manifest, directory, installation).judge
    known: dict[str, str] = {}  # what files may ask for, by number and by name, to its number
    if installation is not None:
        for a in discover(installation):
            name, value = a.settings[0]
            known |= {f"{name}={value}": value, f"{name}={a.name}": value}
    lookup = _READERS[manifest.target](manifest, directory, environment, known)

    def judge(case: CheckCase) -> tuple[str, str] | None:
        found = lookup(case)
        words = _difference(manifest, case, found)
        return (words, found.place) if words else None

    return judge


def _difference(manifest: ExportManifest, case: CheckCase, found: Found) -> str | None:
    if found.unknown:
        return f"{case.words} is given {found.unknown}, which this MPI does not have"
    wanted: dict[str, str] = {}
    if case.inside and case.row is not None:
        wanted = dict((name, value) for name, value in manifest.rows[case.row].settings)
        if wanted == {"coll_han_priority": "100"} and not found.settings:
            return None  # HAN's own choice
    if not wanted:
        # an MPI whose files cannot leave it to decide has no bounds
        if found.settings and manifest.bounded:
            return f"{case.words} is to be the MPI's decision, and the file says {_say(found)}"
        return None
    lost = [
        n for n, v in wanted.items()
        if n.endswith(("_segmentsize", "_fanout")) and v != "0" and n not in found.settings
    ]  # fmt: skip
    if any(wanted.get(name) != value for name, value in found.settings.items()) or (
        lost or not found.settings
    ):
        asked = ", ".join(
            f"{n}={v}" for n, v in wanted.items() if n in found.settings or n in lost
        ) or ", ".join(f"{n}={v}" for n, v in list(wanted.items())[:1])
        return f"{case.words} was written as {asked}, and the file says {_say(found)}"
    return None


def _say(found: Found) -> str:
    return ", ".join(f"{n}={v}" for n, v in found.settings.items()) or "nothing"


def _classic(
    manifest: ExportManifest,
    directory: Path,
    environment: Mapping[str, str],
    known: Mapping[str, str],
) -> Lookup:
    del environment
    path = directory / openmpi.RULES_FILE
    tables: dict[int, dict[int, list[openmpi.FileRow]]] = {}
    if openmpi.RULES_FILE in manifest.files:
        tables = openmpi.read_classic(_text(path), str(path))
    of_han = _HanFile(manifest, directory, known)

    def lookup(case: CheckCase) -> Found:
        collective, size, ranks = case.call
        by_han = of_han.found(case)
        if by_han:
            return by_han
        number = openmpi.IDS.get(collective, -1)
        if not tables.get(number):
            return Found({}, str(path))
        own = _row(tables[number], ranks, openmpi_bytes(collective, size, ranks))
        return _tuned(collective, own, f"{path}:{own.line}", known)

    return lookup


class _HanFile:
    """HAN's file of an export, if it has one."""

    def __init__(self, manifest: ExportManifest, directory: Path, known: Mapping[str, str]) -> None:
        self.path, self.known = directory / han.RULES_FILE, known
        self.tables: dict[int, dict[int, list[han.HanRow]]] = {}
        if han.RULES_FILE in manifest.files:
            found = han.read_rules_file(_text(self.path), str(self.path), openmpi.IDS)
            self.tables = {number: levels.get(han.GLOBAL, {}) for number, levels in found.items()}

    def found(self, case: CheckCase) -> Found | None:
        """Return what it says for a call; None: nothing, or that coll/tuned is to decide."""
        table = self.tables.get(openmpi.IDS.get(case.collective, -1))
        if case.nodes == 1 or not table:
            return None
        row = _row(table, case.ranks, case.bytes)
        if row.component != "han":
            return None
        return _han(case.collective, row, f"{self.path}:{row.line}", self.known)


_Row = TypeVar("_Row", openmpi.FileRow, han.HanRow)


def _row(tables: Mapping[int, Sequence[_Row]], ranks: int, size: int | None) -> _Row:
    """Return the row for a call: both numbers are lower bounds, and the first holds below."""
    rows = tables[max((r for r in tables if r <= ranks), default=min(tables))]
    return ([r for r in rows if size is None or r.size <= size] or list(rows))[-1]


def _han(collective: str, row: han.HanRow, place: str, known: Mapping[str, str]) -> Found:
    if row.algorithm == 0:
        return Found({}, place)
    name = f"coll_han_use_{collective}_algorithm"
    missing = known and f"{name}={row.algorithm}" not in known
    return Found({name: str(row.algorithm)}, place, row.words if missing else None)


def _json(
    manifest: ExportManifest,
    directory: Path,
    environment: Mapping[str, str],
    known: Mapping[str, str],
) -> Lookup:
    del environment
    path = directory / openmpi_json.JSON_FILE
    document = openmpi_json.read_json(_text(path), str(path))
    named = [r for es in document.values() for e in es for r in e.rows if r.name is not None]
    if named and not known:
        raise StrettoError(
            f"the number of the algorithm {named[0].name!r} is not known without that MPI",
            named[0].place,
            "name the MPI: stretto export --check --mpi PREFIX",
        )
    of_han = _HanFile(manifest, directory, known)

    def lookup(case: CheckCase) -> Found:
        collective, size, ranks = case.call
        by_han = of_han.found(case)
        if by_han:
            return by_han
        counted = openmpi_bytes(collective, size, ranks) or 0  # it asks for 0 where none counts
        row = openmpi_json.first_row(document.get(collective, []), ranks, case.nodes, counted)
        if row is None:
            return Found({}, str(path))
        setting = f"coll_tuned_{collective}_algorithm"
        number = str(row.algorithm)
        if row.name is not None:
            number = known.get(f"{setting}={row.name}", row.name)
        if number == "0":
            return Found({}, row.place)
        if known and f"{setting}={number}" not in known:
            # the MPI leaves out a row like this one, and goes on with the next
            return Found({setting: number}, row.place, f"algorithm {number}")
        values = (int(number), row.fanout, row.segment, row.requests)
        settings = openmpi_words.tuned_settings(collective, values, openmpi_json.FANOUT)
        return Found(settings, row.place)

    return lookup


def _tuned(collective: str, row: openmpi.FileRow, place: str, known: Mapping[str, str]) -> Found:
    if row.algorithm == 0:
        return Found({}, place)
    settings = openmpi_words.tuned_settings(collective, row.values)
    first = next(f"{n}={v}" for n, v in settings.items())
    missing = known and first not in known
    return Found(settings, place, f"algorithm {row.algorithm}" if missing else None)


def _intel(
    manifest: ExportManifest,
    directory: Path,
    environment: Mapping[str, str],
    known: Mapping[str, str],
) -> Lookup:
    place = str(directory / "stretto-native.sh")
    clauses = {
        name: intel.read_clauses(environment.get(name, ""), f"{place}: {name}")
        for name in manifest.environment
    }

    def lookup(case: CheckCase) -> Found:
        collective, size, ranks = case.call
        for row in manifest.rows:
            name = row.settings[0][0] if row.settings else ""
            if row.collective == collective and clauses.get(name):
                value = intel.preset_for(clauses[name], intel_bytes(collective, size, ranks), ranks)
                missing = known and f"{name}={value}" not in known
                return Found({name: value}, f"{place}: {name}", value if missing else None)
        return Found({}, place)

    return lookup


def _text(path: Path) -> str:
    return read_text(path, "the native file", REMEDY)


_READERS: dict[
    str, Callable[[ExportManifest, Path, Mapping[str, str], Mapping[str, str]], Lookup]
] = {
    "openmpi-4": _classic,
    "openmpi-5": _classic,
    "openmpi-6": _json,
    "intel": _intel,
}


class TreeReader:
    """Looks up calls in an export's files, and in the library's own trees."""

    def __init__(
        self, manifest: ExportManifest, directory: Path, installation: MPIInstallation
    ) -> None:
        assert installation.libmpi is not None
        self.rows = manifest.rows
        self.library = read_library(installation.libmpi)
        self.variables = control_variables(installation)
        self.trees = dict(self.library.trees)
        self.places: dict[str, str] = {}
        for layer, name in FILES.items():
            if name in manifest.files:
                path = directory / name
                text = _text(path)
                self.trees[layer] = read_file(text, str(path), self.library.leaves)
                self.places[layer] = str(path)

    def judge(self, case: CheckCase) -> tuple[str, str] | None:
        """Return what is wrong with a call's leaves, and where; None: nothing."""
        call = TreeCall(case.collective, case.bytes, case.ranks, case.nodes)
        wanted: dict[str, Tree] = {}
        if case.inside and case.row is not None:
            found = leaves_of(as_rule(self.rows[case.row]), self.library, self.variables)
            if isinstance(found, str):
                return found, next(iter(self.places.values()), "")
            wanted = found
        for layer, place in self.places.items():
            own = leaf_for(self.library.trees[layer], call)
            got = leaf_for(self.trees[layer], call)
            leaf = wanted.get(layer)
            expected = own if leaf is None else (next(iter(leaf)), *sorted(*leaf.values()))
            tree = self.library.trees[layer].get(f"collective={case.collective}", {})
            few = leaf is not None and "count=any" in needs_of(next(iter(leaf)), tree)
            if got != expected and not (few and got == own and call.holds("count<pow2")):
                return (
                    f"{case.words} is to get {_say_leaf(expected)}, "
                    f"and the file says {_say_leaf(got)}",
                    f"{place}: collective={case.collective}",
                )
        return None


def _say_leaf(leaf: tuple[str, ...] | None) -> str:
    return " ".join(leaf) if leaf else "nothing"
