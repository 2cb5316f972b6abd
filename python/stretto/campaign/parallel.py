"""Layouts that need a part of the nodes, measured side by side: each lane on nodes of its own.

Lanes are threads of one process. What keeps several jobs on one directory apart keeps them apart as
well: a layout's results are locked. Nodes are cut by the number that a layout needs, one number
after another, so that a node belongs to one lane only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from stretto.campaign.layout import Layout
from stretto.campaign.worker import Worker
from stretto.measure.process import told
from stretto.progress import Progress

#: s: between two looks at how far the lanes are
LOOK_S = 0.2
LaneMaker = Callable[[tuple[str, ...], tuple[Layout, ...]], Worker]


def levels(layouts: Iterable[Layout]) -> list[tuple[int, tuple[Layout, ...]]]:
    """Return the layouts by the nodes that they need, the most first, else in their order."""
    known = list(layouts)
    counts = sorted({x.nodes for x in known}, reverse=True)
    return [(n, tuple(x for x in known if x.nodes == n)) for n in counts]


def cut(names: Sequence[str], nodes: int) -> list[tuple[str, ...]]:
    """Return disjoint subsets of so many nodes; one that is too small where there are too few."""
    parts = [tuple(names[at : at + nodes]) for at in range(0, len(names) - nodes + 1, nodes)]
    return parts or [tuple(names)]


def side_by_side(
    whole: Worker, names: Sequence[str], lane_of: LaneMaker, say: Callable[[str], None]
) -> bool:
    said: set[int] = set()
    title, quiet = whole.title, whole.quiet
    with Progress(title, quiet=quiet, before=whole.progress()[0]) as progress:
        progress.word = "ended"
        while True:
            before = _state(whole)
            for nodes, layouts in levels(whole.sites):
                left = [x for x in layouts if not whole.settled(whole.sites[x])]
                if not left or whole.enough():
                    continue
                parts = cut(names, nodes)
                if len(parts) > 1 and nodes not in said:
                    said.add(nodes)
                    words = " | ".join(", ".join(p) for p in parts)
                    say(f"stretto: layouts of {nodes} nodes side by side: {words}")
                lanes = [lane_of(p, _turned(left, at)) for at, p in enumerate(parts)]
                _together(whole, lanes, progress)
                _learn(whole, lanes, left)
            if all(whole.settled(s) for s in whole.all()):
                if all(s.over for s in whole.all()):
                    progress.word = "done"
                return True
            if whole.enough():
                progress.word = "stopped"
            if whole.enough() or _state(whole) == before:
                return False


def _turned(layouts: Sequence[Layout], at: int) -> tuple[Layout, ...]:
    """Return the layouts from another one on, so that lanes begin with different ones."""
    at %= len(layouts)
    return (*layouts[at:], *layouts[:at])


def _state(whole: Worker) -> tuple[int, int, int]:
    """Return what grows whenever something comes of a lane."""
    written = sum(s.path.stat().st_size for s in whole.all() if s.path.exists())
    lost = sum(len(s.given_up) + (s.closed is not None) for s in whole.all())
    return sum(s.over for s in whole.all()), written, lost


def _together(whole: Worker, lanes: Sequence[Worker], progress: Progress) -> None:
    """Run lanes to their end; the first error of one ends the others after their launch."""
    errors: list[BaseException] = []

    def run(lane: Worker) -> None:
        try:
            lane.run()
        except BaseException as error:  # of a thread: it is raised below
            errors.append(error)
            whole.ended.set()

    threads = []
    for lane in lanes:
        lane.stopping, lane.ended = whole.stopping, whole.ended
        for site in whole.all():
            lane.sites[site.plan.layout].closed = site.closed
            lane.sites[site.plan.layout].given_up |= site.given_up
        threads.append(threading.Thread(target=run, args=(lane,), daemon=True))
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(LOOK_S)
                done = sum(max(w.done(w.sites[x]) for w in (whole, *lanes)) for x in whole.sites)
                progress.most = any(s.plan.eliminate for s in whole.all())
                progress.update(done, f"{len(lanes)} at once", whole.progress()[1])
    except BaseException:
        told.set()
        whole.ended.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        told.clear()
        raise
    if errors:
        raise errors[0]


def _learn(whole: Worker, lanes: Sequence[Worker], layouts: Iterable[Layout]) -> None:
    for layout in layouts:
        site, found = whole.sites[layout], [lane.sites[layout] for lane in lanes]
        reasons = [s.closed for s in found if s.closed is not None]
        if len(reasons) == len(found):
            site.closed = reasons[0]
        for other in found:
            site.given_up |= other.given_up
