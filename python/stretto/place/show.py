"""What `stretto place` found, in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stretto.check.facts import Facts
from stretto.counted import counted, seconds, sized
from stretto.files.schema import encode
from stretto.measure.show import in_columns
from stretto.place.order import Cost, Ordering, block, placement
from stretto.place.output import TITLES, core_list, launch_lines, options
from stretto.place.site import JobNodes, Seat

#: why an order is not written
UNCHANGED = "no order of the ranks is better than the given one"


def seats_lines(
    facts: Facts, seats: Sequence[Seat], site: JobNodes, directory: Path | None
) -> list[str]:
    """Return where the ranks of a node go, and the options that start them there.

    `site`, `directory`: nodes that have a rank file, and where it is.
    """
    used = {core.socket for seat in seats for core in seat.cores}
    cards = sorted({seat.card for seat in seats if seat.card is not None})
    far = sum(seat.far for seat in seats)
    each = len(seats[0].cores)
    first = (
        f"{counted(len(seats), 'rank')} on {counted(len(seats) * each, 'core')} of "
        f"{facts.name} ({counted(facts.cores, 'core')}, {counted(facts.sockets, 'socket')}), on "
        f"{counted(len(used), 'socket')}; "
    )
    if not cards:
        first += "the NUMA domains of the network cards are unknown"
    elif far:
        first += f"{far} of them on another socket than the nearest card"
    else:
        first += f"each on the socket of its card ({', '.join(cards)})"
    rows: list[tuple[str, ...]] = [("rank", "cores", "hardware threads", "socket", "NUMA", "card")]
    for i, seat in enumerate(seats):
        at = seat.cores[0]
        threads = ",".join(str(t) for core in seat.cores for t in core.threads)
        place = ("?" if n < 0 else str(n) for n in (at.socket, at.numa))
        card = f"{seat.card or '-'}{' (other socket)' if seat.far else ''}"
        rows.append((str(i), core_list(seat.cores), threads, *place, card))
    out = [first, "", *in_columns(rows, len(rows[0])), ""]
    written: dict[str, str] = {}
    if directory is not None:
        written = dict(launch_lines(directory, site, placement("block", block(site.sizes))))
    for kind, title in TITLES.items():
        text = options(kind, seats) or written.get(title)
        text = text or "this placement needs a rank file: add --hosts A,B,... -o DIR"
        out.append(f"{title + ':':12} {text}")
    return [
        *out, "",
        "rank: number on the node. cores: numbers of Open MPI and hwloc; hardware threads: "
        "numbers of the kernel.",
    ]  # fmt: skip


def answer(found: Ordering, ranks: int) -> str:
    """Return the first line: what an order gains, or that none does."""
    now, then = found.of(found.given), found.of("best")
    several = max(c.nodes for c in found.costs) > 0
    tried = f"best of {counted(found.tried, 'tried order')}"
    what = f"ranks 0..{ranks - 1}"
    if not found.gain and not several:
        return f"nothing to gain: {what} are on one node ({sized(now.sockets)} between its sockets)"
    if not found.gain:
        share = f"{percent(now.share)} of bytes between nodes"
        return f"nothing to gain: {what}, {now.order} order: {share} ({tried})"
    if not several:
        return (
            f"{what}: {sized(now.sockets)} between sockets -> {sized(then.sockets)} (one node, "
            f"{now.order} -> best order)"
        )
    return (
        f"{what}: {percent(now.share)} of bytes between nodes -> {percent(then.share)} ({tried}; "
        f"{now.order} order before); busiest card {sized(now.card)} -> {sized(then.card)}"
    )


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def cost_rows(costs: Sequence[Cost]) -> list[tuple[str, ...]]:
    """Return a row an order, the names of the columns first."""
    priced = any(c.priced_s is not None for c in costs)
    head = ("order", "between nodes", "share", "busiest card", "between sockets", "between caches")
    rows: list[tuple[str, ...]] = [(*head, *(["predicted time"] if priced else []))]
    for c in costs:
        cells = (c.order, sized(c.nodes), percent(c.share), sized(c.card), sized(c.sockets),
                 sized(c.caches))  # fmt: skip
        rows.append((*cells, *([seconds(c.priced_s or 0.0)] if priced else [])))
    return rows


def order_lines(found: Ordering) -> list[str]:
    zeros = not any(c.nodes or c.sockets or c.caches for c in found.costs)
    rows = cost_rows(found.costs)
    table = [] if zeros else ["", *in_columns(rows, len(rows[0]))]
    return [answer(found, len(found.best.node)), *table]


def typed_lines(found: Ordering, site: JobNodes, directory: Path | None) -> list[str]:
    """Return what to type for a written order, for each launcher."""
    if not found.gain:
        return [] if directory is None else ["", f"nothing was written to {directory}: {UNCHANGED}"]
    out = [""]
    if directory is None:
        return [*out, "next: the same command with -o DIR writes the order for each launcher"]
    out += [f"{title}: {text}" for title, text in launch_lines(directory, site, found.best)]
    if not site.named:
        out.append("node1, node2, ... are placeholders; for real names add --hosts A,B,...")
    if site.bound:
        out.append(
            "These lines bind ranks to cores. If your job does not bind: Open MPI: mpirun "
            f"--map-by seq --hostfile {directory / 'hosts'} --bind-to none; other launchers: "
            "omit the list of cores"
        )
    else:
        out.append(
            "These lines choose no cores: a node has too few cores for its ranks, or its cores are "
            "unknown"
        )
    return out


def binding_line(nodes: JobNodes, ordered: bool, threads: int | None) -> str:
    """Return how the ranks of a command are bound.

    `ordered`: without a binding there is an order to look for, too. `threads`: of --threads.
    """
    if threads is not None and nodes.bound:
        return f"binding: {counted(threads, 'core')} for each rank (--threads {threads})"
    if threads is not None and nodes.loose:
        return f"binding: none; a node has more ranks than cores, despite --threads {threads}"
    if nodes.bound:
        return "binding: as in CMD; the bindings of a node are redistributed among its ranks"
    if not nodes.loose:
        return "binding: as set by the options of CMD; ranks share cores, or the cores are unknown"
    line = "binding: none, as in CMD"
    return line if ordered else f"{line}; to place ranks on cores, bind them: --threads 1"


def order_json(
    found: Ordering, site: JobNodes, conclusion: Sequence[str] | None = None
) -> dict[str, Any]:
    return {
        "gain": found.gain,
        "tried": found.tried,
        "given": found.given,
        "orders": encode(found.costs),
        "conclusion": conclusion,
        "node_of_rank": [site.names[n] for n in found.best.node],
    }
