"""Whether a directory can be written to, and has room."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from stretto.errors import StrettoError, from_oserror


def try_writing(directory: Path) -> None:
    """Raise an `OSError` where nothing can be written into a directory, or made in its place.

    Permissions do not tell: root may do everything, and yet not write in /proc; file systems are
    read-only, full, or of a server. What is written is removed again.
    """
    there = next(p for p in (directory, *directory.parents) if os.path.lexists(p))
    with tempfile.TemporaryDirectory(prefix=".stretto-", dir=there):
        pass


def require_parent(path: Path) -> None:
    """Refuse a name for a new file or directory whose parent is missing: it is mistyped."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise StrettoError("there is no such directory", parent, "create it, or check the path")


def require_place(path: Path) -> None:
    """Refuse a name for a result that could not be written, before anything is measured."""
    require_parent(path)
    if path.is_dir():
        raise StrettoError("this is a directory", path, "name a file")
    if path.exists() and not path.is_file():
        return  # /dev/stdout, a pipe: nothing is made beside it
    try:
        try_writing(path.absolute().parent)
    except OSError as error:
        problem = from_oserror(error, "nothing can be written into this directory", path)
        problem.remedy = "choose another directory"
        raise problem from error


def look_for_room(directory: Path, size: int) -> None:
    """Raise an `OSError` where so many bytes cannot be written.

    `size`: bytes, which are on the disk for a moment: quotas of network file systems show so.
    """
    with tempfile.TemporaryFile(prefix=".stretto-room-", dir=directory) as stream:
        os.posix_fallocate(stream.fileno(), 0, size)
        stream.write(b"x")
        stream.flush()
        os.fsync(stream.fileno())
