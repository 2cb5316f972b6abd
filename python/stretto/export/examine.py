"""Reads native files as the MPI reads them, and compares them with what the export was to say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from stretto.errors import StrettoError
from stretto.export import han, openmpi, openmpi_json
from stretto.export.cases import CheckCase, cases_of
from stretto.export.mpich import as_rule
from stretto.export.mpich_leaves import leaves_of, needs_of
from stretto.export.mpich_tree import FILES, Tree, TreeCall, leaf_for, read_file, read_library
from stretto.export.native_check import Reader, known_of, lacking
from stretto.export.native_read import parsed
from stretto.export.native_rows import NativeFile, NativeRow
from stretto.export.output import SCRIPT
from stretto.export.users import family_of
from stretto.export.verdicts import RowCheck
from stretto.files.export import REMEDY, ExportManifest
from stretto.files.io import read_text
from stretto.files.layout import RankLayout
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import control_variables

#: sizes that no machine need have room for: files are read here, nothing is called
_ANY = 1 << 50


def _fault(
    manifest: ExportManifest, message: str, place: str, row: int | None = None, remedy: str = REMEDY
) -> RowCheck:
    words = "the whole file" if row is None else manifest.rows[row].words
    return RowCheck(row, words, "wrong", message, remedy, place)


def examine(
    manifest: ExportManifest,
    directory: Path,
    environment: Mapping[str, str],
    installation: MPIInstallation | None,
) -> list[RowCheck]:
    """Return what is wrong with an export's files, without running anything."""
    if not set(manifest.environment) & set(environment):  # the script found no list of its own
        moved = _elsewhere(manifest, directory, manifest.environment)
        if moved:
            return moved
    faults = [
        _fault(
            manifest,
            f"{name} is {environment.get(name, 'not set')} and was written as {value}",
            str(directory / SCRIPT),
        )
        for name, value in manifest.environment.items()
        if environment.get(name) != value
    ]
    faults += _elsewhere(manifest, directory, environment)
    # rows, communicators and collectives that are not in the list: no call of it would meet them
    strange = [
        _fault(manifest, "is not as it was written with this list of rows", str(directory / name))
        for name in manifest.strangers(directory)
        if name in manifest.files
    ]
    try:
        judge = _judge(manifest, directory, environment, installation)
    except StrettoError as error:
        return [*faults, _fault(manifest, error.message, error.place or str(directory)), *strange]
    seen: set[tuple[int | None, str]] = set()
    for case in _also_on_one_node(manifest):
        found = judge(case) if judge else None
        if found and (case.row, found[1]) not in seen:
            seen.add((case.row, found[1]))
            faults.append(_fault(manifest, found[0], found[1], case.row))
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
) -> list[RowCheck]:
    """Return a fault where the script names the files of another directory, as in a copy."""
    for name in manifest.environment:
        path = Path(environment.get(name, ""))
        if path.name not in manifest.files or not path.is_absolute():
            continue
        if path.parent.exists() and path.parent.samefile(directory):
            continue
        return [
            _fault(
                manifest,
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
        return _tree_judge(manifest, directory, installation)
    files = _files(manifest, directory, environment)
    release = manifest.target[-1] if manifest.target.startswith("openmpi") else ""
    reader = Reader(family_of(manifest.target), release)
    if installation is not None:
        reader = Reader(installation.family, installation.version, known_of(installation))

    def judge(case: CheckCase) -> tuple[str, str] | None:
        row = _row_for(files, case)
        words = _difference(manifest, case, row, reader)
        place = row.place if row else files[-1].path if files else str(directory)
        return (words, place) if words else None

    return judge


def _files(
    manifest: ExportManifest, directory: Path, environment: Mapping[str, str]
) -> list[NativeFile]:
    """Return the files that decide, that of HAN first: it hands over to coll/tuned."""
    if manifest.target == "intel":
        given = {name: shlex.quote(environment.get(name, "")) for name in manifest.environment}
        script = directory / SCRIPT
        return [parsed(f"{name}={value}", f"{script}: {name}") for name, value in given.items()]
    names = (han.RULES_FILE, openmpi.RULES_FILE, openmpi_json.JSON_FILE)
    paths = [directory / name for name in names if name in manifest.files]
    return [parsed(_text(path), str(path)) for path in paths]


def _row_for(files: Sequence[NativeFile], case: CheckCase) -> NativeRow | None:
    """Return the row that decides a call; None: the MPI does."""
    layout = RankLayout(case.nodes, -(-case.ranks // case.nodes), case.ranks)
    for file in files:
        at = file.row_for(case.collective, case.bytes, layout)
        if at is None or (file.form == "han" and case.nodes == 1):
            continue
        row = file.rows[at]
        if row.settings == (("component", "han"),):
            return replace(row, settings=())
        if not row.settings or row.settings[0][0] != "component":
            return row
    return None


def _difference(
    manifest: ExportManifest, case: CheckCase, row: NativeRow | None, reader: Reader
) -> str | None:
    missing = lacking(row, reader) if row else None
    if missing:
        return f"{case.words}: {missing}"
    found = dict(row.settings) if row else {}
    wanted: dict[str, str] = {}
    if case.inside and case.row is not None:
        wanted = {name: value for name, value in manifest.rows[case.row].settings}
        if wanted == {"coll_han_priority": "100"} and not found:
            return None  # HAN's own choice
    if not wanted:
        # an MPI whose files cannot leave it to decide has no bounds
        if found and manifest.bounded:
            return f"{case.words} is to be the MPI's decision, and the file says {_say(found)}"
        return None
    lost = [
        n for n, v in wanted.items()
        if n.endswith(("_segmentsize", "_fanout")) and v != "0" and n not in found
    ]  # fmt: skip
    if found and not lost and all(wanted.get(name) == value for name, value in found.items()):
        return None
    asked = {n: v for n, v in wanted.items() if n in found or n in lost}
    asked = asked or dict(list(wanted.items())[:1])
    return f"{case.words} was written as {_say(asked)}, and the file says {_say(found)}"


def _say(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{n}={v}" for n, v in settings.items()) or "nothing"


def _text(path: Path) -> str:
    return read_text(path, "the native file", REMEDY)


def _tree_judge(
    manifest: ExportManifest, directory: Path, installation: MPIInstallation
) -> Callable[[CheckCase], tuple[str, str] | None]:
    """Return what compares an export's trees with those in the library, call by call."""
    assert installation.libmpi is not None
    library = read_library(installation.libmpi)
    variables = control_variables(installation)
    paths = {layer: directory / name for layer, name in FILES.items() if name in manifest.files}
    trees = {x: read_file(_text(p), str(p), library.leaves) for x, p in paths.items()}

    def judge(case: CheckCase) -> tuple[str, str] | None:
        call = TreeCall(case.collective, case.bytes, case.ranks, case.nodes)
        wanted: dict[str, Tree] = {}
        if case.inside and case.row is not None:
            found = leaves_of(as_rule(manifest.rows[case.row]), library, variables)
            if isinstance(found, str):
                return found, str(next(iter(paths.values()), ""))
            wanted = found
        for layer, tree in trees.items():
            own, got = leaf_for(library.trees[layer], call), leaf_for(tree, call)
            leaf = wanted.get(layer)
            expected = own if leaf is None else (next(iter(leaf)), *sorted(*leaf.values()))
            branch = library.trees[layer].get(f"collective={case.collective}", {})
            few = leaf is not None and "count=any" in needs_of(next(iter(leaf)), branch)
            if got != expected and not (few and got == own and call.holds("count<pow2")):
                said, is_to_be = (" ".join(x) if x else "nothing" for x in (got, expected))
                words = f"{case.words} is to get {is_to_be}, and the file says {said}"
                return words, f"{paths[layer]}: collective={case.collective}"
        return None

    return judge
