"""Opening files that somebody else may have put there: the only way in which Stretto opens them.

A name may stand for a pipe that never gets a writer, for a device without an end, for a file larger
than the memory, or for a link to something that must not be overwritten. All faults are `OSError`.
"""

from __future__ import annotations

import errno
import os
import stat

from stretto.paths import Path

#: the largest file that is read as a whole
MOST_BYTES = 512 << 20
#: the largest table, platform or campaign file, which a person could have written (as in C)
MOST_SMALL_BYTES = 16 << 20
_PIECE = 1 << 20
_ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
#: what a shell hands over in place of a file's name: ``<(zcat a.log.gz)``
_HANDED_OVER = ("/dev/fd", "/proc/self/fd")


def handed_over(path: Path) -> bool:
    """Tell whether a shell gives this name to what it has opened itself."""
    text = path.as_posix()
    head, _, number = text.rpartition("/")
    return text == "/dev/stdin" or (head in _HANDED_OVER and number.isascii() and number.isdigit())


def open_to_read(path: Path) -> int:
    """Return the descriptor of a regular file, or of what a shell has handed over."""
    handle = os.open(path, os.O_RDONLY | _ALWAYS)
    if handed_over(path):
        os.set_blocking(handle, True)
        return handle
    return _regular(handle, path)


def read_regular(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the contents of a regular file, or of what a shell has handed over."""
    handle = open_to_read(path)
    try:
        if os.fstat(handle).st_size > most:
            raise _too_large(path, most)
        pieces, total = [], 0
        while piece := os.read(handle, _PIECE):
            total += len(piece)
            if total > most:
                raise _too_large(path, most)
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(handle)


def open_to_write(path: Path, flags: int, alone: bool = False) -> int:
    """Return the descriptor of a regular file to write to; never of what a link leads to.

    `alone`: refuse a file that has a second name, too: it would be overwritten under both.
    """
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | _ALWAYS, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise linked(path) from error
        raise
    _regular(handle, path)
    if alone and os.fstat(handle).st_nlink > 1:
        os.close(handle)
        raise OSError(errno.EMLINK, "the file has a second name (a hard link)", str(path))
    return handle


def linked(path: Path) -> OSError:
    """Return the error of a symbolic link where a file is to be written."""
    return OSError(
        errno.ELOOP, "it is a symbolic link, which Stretto does not follow when writing", str(path)
    )


def _regular(handle: int, path: Path) -> int:
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is a pipe, a socket or a device, not a file", str(path))


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB", str(path))
