"""The nodes that times are of, and their processor; a header has the host of the start.

That may be a login node, which is not what was measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from stretto.files.bench import Bench, Header
from stretto.files.identity import Host

#: so many nodes are named, and the rest counted
MOST_NAMED = 6


def nodes_of(bench: Bench) -> set[str]:
    """Return the nodes that a file's launches name; none where they name none."""
    return {name for r in bench.launches for name in r.hosts or ()}


def processor(header: Header) -> str:
    """Return the processor of a file's nodes, or the best guess: that of where it was started."""
    return str(header.settings.get("node_cpu") or header.host.cpu)


def is_node(host: Host, nodes: Collection[str]) -> bool:
    """Whether a header's host is one of the nodes; it is the only one where none are named."""
    return not nodes or host.name.split(".")[0] in {n.split(".")[0] for n in nodes}


def listed(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """Return names of nodes, the first few of many: ``n1, n2, n3 and 13 more``.

    `names`: in any order.
    """
    ordered = sorted(names, key=lambda n: (len(n), n))
    rest = len(ordered) - most
    return ", ".join(ordered[:most]) + (f" and {rest} more" if rest > 0 else "")
