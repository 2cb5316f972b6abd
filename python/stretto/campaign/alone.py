"""What processes of a campaign never do at once: measure on one node, and make the tables.

Two on one node would time one another; of two tables the older could be written last. Locks end
with the process, however it ends. Where a file system has none, nothing is held.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.lock import hold, holder

DIRECTORY = "nodes"
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
            who = stack.enter_context(hold(path))
            if who is not None:
                raise _held(who, path, node, name)
        yield


def refuse_held(out: Path, names: Sequence[str]) -> None:
    """Say who measures on one of the nodes, before anything is started there; hold nothing.

    Raises HeldError: as there.
    """
    for node, name in _nodes(names, ()):
        path = _place(out, node)
        if (who := holder(path)) is not None:
            raise _held(who, path, node, name)


@contextlib.contextmanager
def in_turn(out: Path, wait_s: float = TURN_S) -> Iterator[None]:
    """Let one process at a time write a campaign's tables and its list of starts.

    The last one has read the most.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(StrettoError):  # a full disk: reported where the table is written
            stack.enter_context(hold(out / DIRECTORY / ".tables.lock", wait_s))
        yield


def _nodes(names: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """Return each node once, with the user's name for it, in an order that all processes have."""
    asked = dict(zip(names, said, strict=False))
    nodes: dict[str, str] = {}
    for name in names:
        nodes.setdefault(short(asked[name]) if name in asked else node_of(name), name)
    return sorted(nodes.items())


def _place(out: Path, node: str) -> Path:
    return out / DIRECTORY / f"{node.replace('/', '_')}.lock"


def _held(who: str, path: Path, node: str, name: str) -> HeldError:
    words = node if short(name) == node else f"{name} (host name {node})"
    return HeldError(
        f"another process of this campaign measures on {words}" + (f": {who}" if who else ""),
        path,
        "two campaigns on one node disturb each other: wait, or use other nodes (--hosts; stretto "
        "campaign submit --jobs N)",
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
