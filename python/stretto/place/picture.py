"""The communication matrix before and after, as heat maps on one page."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import numpy as np

from stretto.place.order import Ordering, Placement, RankTraffic
from stretto.place.show import answer
from stretto.report import render, theme
from stretto.report.figures.matrix import heat


def write_picture(traffic: RankTraffic, found: Ordering, path: Path) -> Path:
    """Write a page with two matrices; their ranks are sorted by node, core by core."""
    parts = []
    for placed, words in ((found.before, found.given), (found.best, "best")):
        figure = heat(_sorted(traffic, placed), traffic.size, "rank")
        assert figure is not None  # there is traffic
        title = f"Bytes between ranks, sorted by node: {words} order"
        drawn = render.inline(replace(figure, name=f"matrix-{words}", title=title))
        parts.append(f"<figure><figcaption>{title}. {figure.note}</figcaption>{drawn}</figure>")
    heading = html.escape(answer(found, traffic.size))
    text = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Stretto: order of ranks</title>"
        f"<style>{theme.css_variables()}body{{background:var(--paper);color:var(--ink);"
        f"font-family:{theme.FONT};margin:2em}}"
        "figure{display:inline-block;margin:1em;max-width:33em;vertical-align:top}"
        "svg{width:var(--w);max-width:100%;height:auto;background:#fff}</style>"
        f"<h1>Order of ranks</h1><p>{heading}</p>{''.join(parts)}"
        "<p>The numbers are places: ranks are sorted by node, then by core. Bytes near the "
        "diagonal stay inside a node.</p></html>\n"
    )
    return render.save(path, text, "the picture")


def _sorted(traffic: RankTraffic, placed: Placement) -> list[tuple[int, int, int, int]]:
    """Return the messages with ranks numbered by node and seat."""
    number = np.empty(traffic.size, np.int64)
    number[np.lexsort((placed.seat, placed.node))] = np.arange(traffic.size)
    cells = zip(number[traffic.source], number[traffic.target], traffic.messages, traffic.bytes,
                strict=True)  # fmt: skip
    return [(int(s), int(t), int(m), int(b)) for s, t, m, b in cells]
