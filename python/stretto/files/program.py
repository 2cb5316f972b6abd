"""The program files that runs are of: a later start sees whether they are still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import from_oserror

_PIECE = 1 << 20


@dataclass(frozen=True)
class ProgramFile:
    """A program, or a script, as it was when it ran; `sha256` of its contents."""

    path: str
    size: int
    mtime_ns: int
    sha256: str


def take(path: Path) -> ProgramFile:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            found = path.stat()
            while piece := stream.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise from_oserror(error, "cannot read the program", path) from error
    return ProgramFile(str(path), found.st_size, found.st_mtime_ns, digest.hexdigest())


def changed(before: Sequence[ProgramFile], paths: Sequence[Path]) -> Path | None:
    """Return the first of the files that is not what was run before, None where all are.

    Contents decide: one that was built again, or copied elsewhere, may be the same. They are read
    only where size or time say that they may have changed.
    """
    stamps = {(f.path, f.size, f.mtime_ns) for f in before}
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            return path
        if (str(path), found.st_size, found.st_mtime_ns) in stamps:
            continue
        if take(path).sha256 not in {f.sha256 for f in before}:
            return path
    return None
