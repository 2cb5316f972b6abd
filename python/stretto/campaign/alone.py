"""What processes of a campaign never do at once: measure on one node, and make the tables.

Two on one node would time one another; of two tables the older could be written last. Locks end
with the process, however it ends. Where a file system has none, nothing is held.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.identity import now
from stretto.files.regular import open_to_read, open_to_write

DIRECTORY = "nodes"
#: bytes of a lock's file that are read
MOST = 512
#: s: that tables are waited for which another process makes; it takes seconds as a rule
TURN_S = 120.0


class HeldError(StrettoError):
    """Another process of the campaign measures on one of the nodes."""


@contextlib.contextmanager
def alone_on(out: Path, names: Sequence[str], said: Sequence[str] = ()) -> Iterator[None]:
    """Hold the nodes of a campaign while the block runs, or say who has them.

    `said`: what each node calls itself: by that it is held, whatever the user calls it.

    Raises HeldError: another process of this campaign measures on one of them.
    """
    with contextlib.ExitStack() as stack:
        for node, name in _nodes(names, said):
            path = _place(out, node)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handle = open_to_write(path, os.O_RDWR | os.O_CREAT, alone=True)
            except OSError as error:
                raise from_oserror(error, "cannot hold a node", path) from error
            stack.callback(os.close, handle)
            if not _lock(handle, fcntl.LOCK_EX):
                raise _held(handle, path, node, name)
            job = os.environ.get("SLURM_JOB_ID", "")
            of = f" (Slurm job {job})" if job else ""
            words = f"process {os.getpid()} on {os.uname().nodename}{of}, since {now()}\n"
            with contextlib.suppress(OSError):  # for messages only; the lock holds without it
                os.ftruncate(handle, 0)
                os.pwrite(handle, words.encode(errors="replace"), 0)
        yield


def refuse_held(out: Path, names: Sequence[str]) -> None:
    """Say who measures on one of the nodes, before anything is started there; hold nothing.

    Raises HeldError: as there.
    """
    for node, name in _nodes(names, ()):
        path = _place(out, node)
        try:
            handle = open_to_read(path)
        except OSError:
            continue  # nobody has ever held it; what else there is `alone_on` says
        try:
            if not _lock(handle, fcntl.LOCK_SH):
                raise _held(handle, path, node, name)
        finally:
            os.close(handle)


@contextlib.contextmanager
def in_turn(out: Path, wait_s: float = TURN_S) -> Iterator[None]:
    """Let one process at a time make a campaign's tables, so that the last has read the most."""
    path, end = out / DIRECTORY / ".tables.lock", time.monotonic() + wait_s
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open_to_write(path, os.O_RDWR | os.O_CREAT, alone=True)
    except OSError:  # a full disk is told where the table is written
        yield
        return
    try:
        while not _lock(handle, fcntl.LOCK_EX) and time.monotonic() < end:
            time.sleep(0.1)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, how: int) -> bool:
    """Return whether nobody else holds a file."""
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # some network file systems have no locks
    return True


def _nodes(names: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """Return each node once, with the user's name for it, in an order that all processes have."""
    asked = dict(zip(names, said, strict=False))
    nodes: dict[str, str] = {}
    for name in names:
        nodes.setdefault(short(asked[name]) if name in asked else node_of(name), name)
    return sorted(nodes.items())


def _place(out: Path, node: str) -> Path:
    return out / DIRECTORY / f"{node.replace('/', '_')}.lock"


def _held(handle: int, path: Path, node: str, name: str) -> HeldError:
    try:
        who = os.pread(handle, MOST, 0).decode(errors="replace").partition("\n")[0]
    except OSError:
        who = ""
    words = node if short(name) == node else f"{name}, which calls itself {node}"
    return HeldError(
        f"another process of this campaign measures on {words}"
        + (f": {who}" if who and who.isprintable() else ""),
        path,
        "two at once would time one another: wait for it, or give each nodes of its own "
        "(--hosts; stretto campaign submit --jobs N)",
    )


def node_of(name: str) -> str:
    """Return what a node that nobody has asked calls itself: its short name, as far as is known."""
    own = short(os.uname().nodename)  # of a container or namespace its own, unlike the boot's id
    return own if short(name) in (own, "localhost", "127.0.0.1", "::1") else short(name)


def short(name: str) -> str:
    """Return a host's name without its domain, an address as it is."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.partition(".")[0].lower() or name
