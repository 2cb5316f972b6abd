"""One ``stretto tune`` at a time in an output directory: two would take each other's files away.

Outputs, evidence, results and the verdict of all steps lie there, under names that a second process
would use as well.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.identity import now
from stretto.files.regular import open_to_write
from stretto.tune.place import LOCK, make_output


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold an output directory, which is made when missing, or refuse: another process has it.

    The lock goes with the process, however that ends; its file stays.
    """
    if ";" in str(directory) or "\n" in str(directory):
        raise UsageError(
            "a semicolon or a line feed in this name would not reach the ranks", str(directory),
            "name another directory (--out), or work in one without",
        )  # fmt: skip
    make_output(directory)
    path = directory / LOCK
    try:
        handle = open_to_write(path, os.O_RDWR | os.O_CREAT, alone=True)
    except OSError as error:
        raise from_oserror(error, "cannot open the lock", path) from error
    try:
        _lock(handle, directory)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, directory: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(handle, 200, 0).decode("utf-8", "replace").strip()
        raise StrettoError(
            f"another stretto is at work in this directory ({holder or 'just begun'})",
            directory,
            "wait until it has ended, or name another directory (--out)",
        ) from error
    except OSError:
        return  # some network file systems have no locks
    with suppress(OSError):  # who it is only serves the message
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {os.uname().nodename}, {now()}\n".encode(), 0)
