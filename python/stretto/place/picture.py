"""The page of an order of ranks: the communication matrix before and after, as heat maps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from stretto.counted import counted, sized
from stretto.place.order import Ordering, Placement, RankTraffic
from stretto.place.show import cost_rows, percent
from stretto.report.figures.matrix import heat
from stretto.report.network import NetPage, written
from stretto.report.page import PageFiles

METHOD = (
    "Bytes of point-to-point messages in a recorded run. The numbers at the charts are places: "
    "ranks are sorted by node, then by core. Bytes near the diagonal stay inside a node. Nothing "
    "on this page was run with another order."
)


def write_picture(traffic: RankTraffic, found: Ordering, path: Path) -> Path:
    """Write a page with two matrices; their ranks are sorted by node, core by core."""
    figures = []
    for placed, words in ((found.before, found.given), (found.best, "best")):
        figure = heat(_sorted(traffic, placed), traffic.size, "place")
        assert figure is not None  # there is traffic
        title = f"Bytes between places, {words} order"
        figures.append(replace(figure, name=f"matrix-{words}", title=title))
    now, then = found.of(found.given), found.of("best")
    if max(now.nodes, then.nodes) > 0:
        what = (
            f"{percent(then.share)} of the bytes go between nodes, instead of {percent(now.share)}"
        )
        moved = [("busiest network card", f"{sized(then.card)}, before {sized(now.card)}")]
    else:
        what = f"{sized(then.sockets)} go between sockets, instead of {sized(now.sockets)}"
        moved = []
    rows = cost_rows(found.costs)
    shown = NetPage(
        "order of ranks",
        METHOD,
        [("order", f"best of {counted(found.tried, 'tried order')}", [])],
        [f"With the best order found, {what}."],
        [("matrices", "Who sends to whom", figures)],
        rows,
        facts=[*moved, ("before", f"{now.order} order"),
               ("tried", counted(found.tried, "order"))],
        following="stretto place -- mpirun ./app   (runs the job in both orders)",
        numbers=range(2, len(rows[0]) + 1),
    )  # fmt: skip
    written(shown, PageFiles(path))
    return path


def _sorted(traffic: RankTraffic, placed: Placement) -> list[tuple[int, int, int, int]]:
    """Return the messages with ranks numbered by node and seat."""
    number = np.empty(traffic.size, np.int64)
    number[np.lexsort((placed.seat, placed.node))] = np.arange(traffic.size)
    cells = zip(number[traffic.source], number[traffic.target], traffic.messages, traffic.bytes,
                strict=True)  # fmt: skip
    return [(int(s), int(t), int(m), int(b)) for s, t, m, b in cells]
