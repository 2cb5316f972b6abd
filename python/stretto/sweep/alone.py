"""Two processes of a campaign never measure on one node at once: each would time the other."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.errors import StrettoError, from_oserror
from stretto.files.identity import now

DIRECTORY = "nodes"
#: bytes of a lock's file that are read
MOST = 512


class HeldError(StrettoError):
    """Another process of the campaign measures on one of the nodes."""


@contextlib.contextmanager
def alone_on(out: Path, names: Sequence[str], said: Sequence[str] = ()) -> Iterator[None]:
    """Hold the nodes of a campaign while the block runs, or say who has them.

    A node is held by what it calls itself, whatever the user calls it. The locks end with the
    process, however it ends. Where a file system has none, nothing is held.

    Parameters
    ----------
    out
        The campaign's directory.
    names
        Of the nodes, as the user has them.
    said
        What each of them calls itself, where they were asked.

    Raises
    ------
    HeldError
        Another process of this campaign measures on one of them.
    """
    asked = dict(zip(names, said, strict=False))
    nodes: dict[str, str] = {}
    for name in names:
        nodes.setdefault(short(asked[name]) if name in asked else node_of(name), name)
    handles: list[int] = []
    try:
        for node, name in sorted(nodes.items()):
            path = out / DIRECTORY / f"{node.replace('/', '_')}.lock"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handles.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))
            except OSError as error:
                raise from_oserror(error, "cannot hold a node", path) from error
            try:
                fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                words = node if short(name) == node else f"{name}, which calls itself {node}"
                raise HeldError(
                    f"another process of this campaign measures on {words}{_said_by(handles[-1])}",
                    path,
                    "two at once would time one another: wait for it, or give each nodes of its "
                    "own (--hosts; stretto campaign submit --jobs N)",
                ) from error
            except OSError:
                continue  # some network file systems have no locks
            _say_who(handles[-1])
        yield
    finally:
        for handle in handles:
            os.close(handle)


def _say_who(handle: int) -> None:
    """Write into a lock's file who holds it, for others to read; the lock holds without it, too."""
    job = os.environ.get("SLURM_JOB_ID", "")
    of = f" (Slurm job {job})" if job else ""
    words = f"process {os.getpid()} on {os.uname().nodename}{of}, since {now()}\n"
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, words.encode(errors="replace"), 0)


def _said_by(handle: int) -> str:
    """Return who has said to hold a lock, as an addition to a sentence; empty: nobody."""
    try:
        words = os.pread(handle, MOST, 0).decode(errors="replace").partition("\n")[0]
    except OSError:
        return ""
    return f": {words}" if words.isprintable() and words else ""


def node_of(name: str) -> str:
    """Return what a node that nobody has asked calls itself, as far as this machine can tell.

    Parameters
    ----------
    name
        As the user has it: with or without a domain, an address, ``localhost``.
    """
    own = short(os.uname().nodename)  # of a container or namespace its own, unlike the boot's id
    return own if short(name) in (own, "localhost") or _leads_here(name) else short(name)


def short(name: str) -> str:
    """Return a host's name without its domain, an address as it is.

    Parameters
    ----------
    name
        The host's.
    """
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.partition(".")[0].lower() or name


def _leads_here(name: str) -> bool:
    """Return whether a name, or address, is one of this very machine's."""
    try:
        found = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    return any(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: tuple[object, ...]) -> bool:
    """Return whether an address is this machine's: what it sends there comes from there, too."""
    try:
        if ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            return True
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)  # sends nothing
            return bool(probe.getsockname()[0] == address[0])
    except (OSError, ValueError):
        return False
