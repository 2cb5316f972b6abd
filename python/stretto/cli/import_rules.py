"""``stretto import rules``: native tuning files explained, checked, compared and converted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stretto.cli.lazy import lazily
from stretto.counted import counted
from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.kinds import Family
from stretto.output import print_json, say

with lazily():
    from stretto.export.mpich_tree import Trees, read_library
    from stretto.export.native_check import Reader, checked, known_of
    from stretto.export.native_convert import FILE, convert
    from stretto.export.native_measured import RowEvidence, evidence
    from stretto.export.native_read import read_native
    from stretto.export.native_rows import NativeFile, size_meaning
    from stretto.export.rules import read_results
    from stretto.files.export import TARGETS
    from stretto.files.io import write_atomic
    from stretto.files.regular import read_regular
    from stretto.imports.mpis import UNKNOWN, identity_of
    from stretto.mpi import MPIInstallation, find_installation


def run(
    path: Path, mpi: str | None, results: Sequence[Path], to: str | None, out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    if to is not None and to not in TARGETS:
        raise UsageError(f"unknown form {to!r}", "--to", f"use one of {', '.join(TARGETS)}")
    if out is not None and to is None:
        raise UsageError("-o needs --to", "--out", f"add --to with one of {', '.join(TARGETS)}")
    piped = str(path) == "-"
    name = "standard input" if piped else str(path)
    try:
        data = sys.stdin.buffer.read() if piped else read_regular(path)
    except OSError as error:
        raise from_oserror(error, "cannot read the rules", path) from error
    installation, version = _mpi(mpi)
    first = read_native(data, name, _trees(installation, mpi, data))
    reader = _reader(first.family, installation, version, mpi)
    file = checked(first, reader)
    found = evidence(file, read_results(results)) if results else []
    answer: dict[str, object] = {
        "file": name, "form": file.form, "family": file.family,
        "rows": [r.said() | ({"measured": found[i].words} if found else {})
                 for i, r in enumerate(file.rows)],
        "faults": [{"place": p, "fault": w} for p, w in file.faults], "notes": list(file.notes),
    }  # fmt: skip
    if to is not None:
        _convert(file, to, out, answer, as_json)
    elif not as_json:
        _explain(file, found)
    if as_json:
        print_json(answer)
    if file.faults and to is None:
        place, words = file.faults[0]
        raise StrettoError(words, place, "correct the file there")


def _mpi(words: str | None) -> tuple[MPIInstallation | None, str]:
    """Return the MPI of ``--mpi``: one that is here, or the version in openmpi@5.0.6."""
    if words is None:
        return None, ""
    if "@" in words:
        version = identity_of(words).version
        return None, "" if version == UNKNOWN else version
    found = find_installation(words)
    return found, found.version


def _trees(installation: MPIInstallation | None, mpi: str | None, data: bytes) -> Trees | None:
    """Return the trees of the MPICH that is named, or is here; None: there is none."""
    if b'"collective=' not in data:
        return None
    if installation is None and mpi is None:
        try:
            installation = find_installation("mpich")
        except StrettoError:
            return None
    known = installation is not None and installation.libmpi is not None
    return read_library(installation.libmpi) if known else None  # type: ignore[union-attr,arg-type]


def _reader(
    family: Family, installation: MPIInstallation | None, version: str, mpi: str | None,
) -> Reader:  # fmt: skip
    named = installation.family if installation else identity_of(mpi).family if mpi else family
    if named != family:
        raise UsageError(
            f"the file is for {family}, not for {named}", "--mpi", f"name the {family}: "
            f"--mpi {family}@VERSION",
        )  # fmt: skip
    asks = installation is not None and family != "mpich"
    return Reader(family, version, known_of(installation) if asks else ())  # type: ignore[arg-type]


def _explain(file: NativeFile, found: Sequence[RowEvidence]) -> None:
    print(f"{file.path}: {file.title}; {counted(len(file.rows), 'rule')}")
    told = None
    for i, row in enumerate(file.rows):
        meaning = size_meaning(file.form, row.collective)
        if row.collective != told and meaning:
            print(f"{row.collective}: {meaning}")
        told = row.collective
        line = row.place.rpartition(":")[2]
        print(f"  {row.calls}: {row.choice}  [line {line}]")
        if found:
            print(f"      {found[i].words}")
    for words in file.notes:
        say(f"stretto: note: {words}")
    for place, words in file.faults[1:]:
        say(f"stretto: error: {words}\n  at: {place}")


def _convert(
    file: NativeFile, to: str, out: Path | None, answer: dict[str, object], as_json: bool
) -> None:
    done = convert(file, to)
    for place, words in file.faults:
        say(f"stretto: warning: {words} [{place}]")
    for words in done.lost:
        say(f"stretto: warning: {words}")
    where = "FILE" if out is None else str(out.resolve())
    settings = [s.replace(FILE, where) for s in done.settings]
    answer |= {"to": to, "text": done.text, "settings": settings, "lost": done.lost}
    if out is not None:
        write_atomic(out, done.text, "the converted rules")
    if as_json:
        return
    if out is None:
        print(done.text, end="")
    for line in settings:
        say(f"next: {line}")
