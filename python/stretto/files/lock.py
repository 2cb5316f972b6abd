"""Files that one process at a time holds. The lock ends with the process, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from stretto.errors import from_oserror
from stretto.files.identity import now
from stretto.files.regular import open_to_read, open_to_write

#: bytes that are read of who holds a file
_MOST = 512


@contextlib.contextmanager
def hold(path: Path, wait_s: float = 0.0) -> Iterator[str | None]:
    """Hold a file, which is made when missing, while the block runs.

    It gives None; or, where another process has had it for `wait_s` seconds, who that is (may be
    empty). Where the file system has no locks, nothing is held.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open_to_write(path, os.O_RDWR | os.O_CREAT, alone=True)
    except OSError as error:
        doing = "cannot create the lock file, which prevents two commands at once"
        raise from_oserror(error, doing, path) from error
    end = time.monotonic() + wait_s
    try:
        while (taken := _taken(handle, fcntl.LOCK_EX)) and time.monotonic() < end:
            time.sleep(0.1)
        if taken:
            yield _words(handle)
            return
        job = os.environ.get("SLURM_JOB_ID", "")
        of = f" (Slurm job {job})" if job else ""
        words = f"process {os.getpid()} on {os.uname().nodename}{of}, since {now()}\n"
        with contextlib.suppress(OSError):  # for messages only; the lock holds without it
            os.ftruncate(handle, 0)
            os.pwrite(handle, words.encode(errors="replace"), 0)
        yield None
    finally:
        os.close(handle)


def holder(path: Path) -> str | None:
    """Return who holds a file (may be empty); None: nobody, or there is no such file."""
    try:
        handle = open_to_read(path)
    except OSError:
        return None
    try:
        return _words(handle) if _taken(handle, fcntl.LOCK_SH) else None
    finally:
        os.close(handle)


def _taken(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # some network file systems have no locks
    return False


def _words(handle: int) -> str:
    try:
        who = os.pread(handle, _MOST, 0).decode(errors="replace").partition("\n")[0]
    except OSError:
        return ""
    return who if who.isprintable() else ""
