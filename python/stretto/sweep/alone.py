"""Two processes of a campaign never measure on one node at once: each would time the other."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.errors import StrettoError, from_oserror

DIRECTORY = "nodes"


@contextlib.contextmanager
def alone_on(out: Path, names: Sequence[str]) -> Iterator[None]:
    """Hold the nodes of a campaign while the block runs, or say who has them.

    The locks end with the process, however it ends. Where a file system has none, nothing is held.

    Parameters
    ----------
    out
        The campaign's directory.
    names
        Of the nodes.

    Raises
    ------
    StrettoError
        Another process of this campaign measures on one of them.
    """
    handles: list[int] = []
    try:
        for name in sorted(set(names)):
            path = out / DIRECTORY / f"{name.replace('/', '_')}.lock"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handles.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))
            except OSError as error:
                raise from_oserror(error, "cannot hold a node", path) from error
            try:
                fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise StrettoError(
                    f"another process of this campaign measures on {name}",
                    path,
                    "two at once would time one another: wait for it, or give each nodes of its "
                    "own (--hosts; stretto campaign submit --jobs N)",
                ) from error
            except OSError:
                continue  # some network file systems have no locks
        yield
    finally:
        for handle in handles:
            os.close(handle)
