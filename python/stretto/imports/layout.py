"""On how many nodes and ranks a table was measured, from all that is known; never guessed."""

from __future__ import annotations

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.imports.pattern import FileFacts
from stretto.imports.printed import Printed


def layout_of(table: Printed, facts: FileFacts) -> tuple[int, int, int]:
    """Return ranks, nodes and ranks per node; smaller communicators fill node after node."""
    zero = [n for n in ("nodes", "ppn", "nranks") if getattr(facts, n) == 0]
    if zero:  # said, and no number of any: not the same as unsaid
        raise StrettoError(
            f"{' and '.join(zero)} of 0, as the file's name says, is not a layout", table.place,
            "correct --pattern, or the name",
        )  # fmt: skip
    job = table.nranks + table.waiting if table.nranks else None
    if job and facts.nranks and job > facts.nranks:
        raise StrettoError(
            f"the job has {job} ranks, but the file's name says {facts.nranks}", table.place,
            "correct --pattern, or move the file",
        )  # fmt: skip
    nranks = table.nranks or facts.nranks
    ppn, nodes = facts.ppn, facts.nodes
    total = facts.nranks or job or nranks
    if nranks is None and ppn and nodes:
        nranks = nodes * ppn
    if ppn is None and nodes and total:
        ppn = -(-total // nodes)
    if nranks is None or ppn is None:
        raise _layout_unknown(nodes, ppn, nranks, table.place)
    if nodes and nranks > nodes * ppn:
        raise StrettoError(
            f"{nranks} ranks do not fit on {counted(nodes, 'node')} x {counted(ppn, 'rank')}",
            table.place,
            "correct --nodes, --ppn or --pattern",
        )  # fmt: skip
    if nodes is None or nodes == 1 or (total and nranks != total):
        return nranks, -(-nranks // ppn), min(ppn, nranks)
    if nranks < ppn + nodes - 1:
        raise StrettoError(
            f"{counted(nranks, 'rank')} {'is' if nranks == 1 else 'are'} too few for {nodes} "
            f"nodes, {counted(ppn, 'rank')} on one of them",
            table.place, "correct --nodes, --ppn or --pattern",
        )  # fmt: skip
    return nranks, nodes, ppn


def _layout_unknown(
    nodes: int | None, ppn: int | None, nranks: int | None, place: str
) -> StrettoError:
    """Return what to say where nodes and ranks are not known: what alone is missing."""
    if nodes:
        on = f"each of {nodes} nodes" if nodes > 1 else "its node"
        what, say = f"on how many ranks on {on}", "--ppn 36, or {ppn} or {nranks}"
    elif ppn:
        what, say = (
            f"on how many nodes of {counted(ppn, 'rank')}",
            "--nodes 8, or {nodes} or {nranks}",
        )
    elif nranks:
        were = "rank was" if nranks == 1 else f"{nranks} ranks were"
        what, say = f"on how many nodes the {were}", "--nodes 8, or {nodes} or {ppn}"
    else:
        what, say = "on how many nodes and ranks", "--nodes 8 --ppn 36, or {nodes}, {ppn}, {nranks}"
    was = "" if nranks and not (nodes or ppn) else " this was measured"
    return StrettoError(f"{what}{was} is not known", place, f"say it: {say} in --pattern")
