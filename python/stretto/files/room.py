"""Whether a directory can be written to, and has room."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def try_writing(directory: Path) -> None:
    """Raise an `OSError` where nothing can be written into a directory, or made in its place.

    Permissions do not tell: root may do everything, and yet not write in /proc; file systems are
    read-only, full, or of a server. What is written is removed again.
    """
    there = next(p for p in (directory, *directory.parents) if os.path.lexists(p))
    with tempfile.TemporaryDirectory(prefix=".stretto-", dir=there):
        pass


def look_for_room(directory: Path, size: int) -> None:
    """Raise an `OSError` where so many bytes cannot be written.

    `size`: bytes, which are on the disk for a moment: quotas of network file systems show so.
    """
    with tempfile.TemporaryFile(prefix=".stretto-room-", dir=directory) as stream:
        os.posix_fallocate(stream.fileno(), 0, size)
        stream.write(b"x")
        stream.flush()
        os.fsync(stream.fileno())
