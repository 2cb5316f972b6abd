"""A /dev/shm that only one test's processes see, without what others on this machine make there."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mpis import missing

#: keeps the namespace until its input ends
HOLD = "mount -t tmpfs tmpfs /dev/shm && echo ready && read line"


@contextlib.contextmanager
def own_shm() -> Iterator[tuple[list[str], Path]]:
    """Words that start a command with such a folder, and where this process sees the same folder.

    The test fails (or is left out) where this user may not mount.
    """
    holder = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    words, folder = ["nsenter", "-m", "-t", str(holder.pid), "--wd=."], f"/proc/{holder.pid}/root"
    with holder:
        if holder.stdout.readline() != "ready\n":
            missing("no mount namespace for a /dev/shm of one's own")
        yield words, Path(folder, "dev/shm")
