"""Whether an export's files are those that were written with its list of rows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from stretto.export.native_check import Reader, known_of, lacking
from stretto.export.native_rows import NativeRow
from stretto.export.output import SCRIPT
from stretto.export.verdicts import RowCheck
from stretto.files.export import REMEDY, ExportManifest
from stretto.mpi.base import MPIInstallation


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
            f"{name} is {environment.get(name, 'not set')}, but was written as {value}",
            str(directory / SCRIPT),
        )
        for name, value in manifest.environment.items()
        if environment.get(name) != value
    ]
    faults += _elsewhere(manifest, directory, environment)
    faults += [
        _fault("cannot be read", str(directory / name))
        for name in manifest.files
        if not os.access(directory / name, os.R_OK)
    ]
    faults += [
        _fault("was changed after the export", str(directory / name))
        for name in manifest.strangers(directory)
        if name in manifest.files
    ]
    return faults + (_unknown(manifest, directory, installation) if installation else [])


def _fault(message: str, place: str, remedy: str = REMEDY) -> RowCheck:
    return RowCheck(None, "the whole file", "wrong", message, remedy, place)


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
                f"{name} names {path}, which is not in this directory: the files here are not read",
                str(directory / SCRIPT),
                f"write the export again with --out {shlex.quote(str(directory.resolve()))}; a "
                "copy still contains the original paths",
            )
        ]
    return []


def _unknown(
    manifest: ExportManifest, directory: Path, installation: MPIInstallation
) -> list[RowCheck]:
    """Return the rows whose algorithms an MPI does not have: another release, say."""
    reader = Reader(installation.family, installation.version, known_of(installation))
    out = []
    for index, row in enumerate(manifest.rows):
        native = NativeRow("", row.collective, 0, None, 0, None, tuple(row.settings))
        missing = lacking(native, reader)
        if missing:
            out.append(RowCheck(index, row.words, "wrong", missing, REMEDY, str(directory)))
    return out
