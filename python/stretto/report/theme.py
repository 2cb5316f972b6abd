"""Colours and type of the charts, in light and dark, the same meaning everywhere.

The palette is Okabe and Ito's, safe for the common kinds of colour blindness, darkened where needed
for contrast on white. Native is always vermilion, what Stretto chose starts with blue, waiting is
amber; what is only context is grey. Marks never differ by colour alone: native has square points
and its name at its line, chosen ones have round points.

A chart is rendered once, in the light colours. In the page every colour of `LIGHT` is replaced by a
CSS variable, so the one picture follows the reader's setting; exported files keep `LIGHT`.
"""

from __future__ import annotations

import re
from typing import Any

# The light values are distinct from one another, because they are the keys of the replacement.
PALETTE = {  # in light and in dark
    "paper": ("#ffffff", "#12161b"),
    "ink": ("#1b1f24", "#e6ebf0"),
    "muted": ("#57606a", "#a3adb8"),
    "faint": ("#8c959f", "#77828e"),
    "rule": ("#d0d7de", "#3a434d"),
    "grid": ("#e6eaee", "#262d35"),
    "native": ("#d0500a", "#ff8f4d"),
    "blue": ("#0067a8", "#5db7f5"),
    "blue-band": ("#b5d5ea", "#1f4a68"),
    "green": ("#00806a", "#3fcaa6"),
    "purple": ("#96407f", "#dd93c8"),
    "sky": ("#2d93c8", "#97d7f5"),
    "brown": ("#8a6a14", "#dcbb55"),
    "slate": ("#5b6b7b", "#93a3b3"),
    "compute": ("#c9d1d9", "#4a545f"),
    "wait": ("#e69f00", "#f2b632"),
    "p2p": ("#3aa07f", "#55bd9a"),
    "io": ("#c77bab", "#d894c0"),
    "other-mpi": ("#7a8794", "#98a5b2"),
    "unsplit": ("#7fb2d4", "#3d7297"),
}
LIGHT = {name: light for name, (light, _) in PALETTE.items()}
DARK = {name: dark for name, (_, dark) in PALETTE.items()}

CHOSEN_COLOURS = ("blue", "green", "purple", "sky", "brown", "slate")

# White to dark blue: one hue, so that more is darker for every eye and on every printer.
RAMP = ("#d5e5f2", "#b9d5ea", "#92c1e0", "#5a9fcb", "#2a7ab3", "#0d5590", "#08306b")

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
FONT_SIZE = 12


def colour(name: str) -> str:
    return LIGHT[name]


def chosen_colour(position: int) -> str:
    return LIGHT[CHOSEN_COLOURS[min(position, len(CHOSEN_COLOURS) - 1)]]


def config() -> dict[str, Any]:
    text = {
        "labelFont": FONT,
        "labelFontSize": FONT_SIZE,
        "labelColor": LIGHT["ink"],
        "titleFont": FONT,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "titleColor": LIGHT["muted"],
    }
    return {
        "background": LIGHT["paper"],
        "font": FONT,
        "padding": {"left": 4, "right": 4, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "axis": {
            **text,
            "domainColor": LIGHT["rule"],
            "tickColor": LIGHT["rule"],
            "gridColor": LIGHT["grid"],
            "tickSize": 4,
            "titlePadding": 8,
            "labelPadding": 4,
        },
        "legend": {
            **text,
            "labelLimit": 260,
            "symbolStrokeWidth": 2,
            "gradientLabelOffset": 6,
        },
        "title": {
            "font": FONT,
            "fontSize": 13,
            "fontWeight": "bold",
            "color": LIGHT["ink"],
            "anchor": "start",
            "frame": "bounds",
            "subtitleFont": FONT,
            "subtitleFontSize": FONT_SIZE,
            "subtitleColor": LIGHT["muted"],
            "subtitlePadding": 4,
            "offset": 10,
        },
        # only marks that describe themselves speak: to screen readers, and in tooltips
        **{mark: {"aria": False} for mark in ("area", "rule", "line", "tick", "image")},
        "text": {"aria": False, "font": FONT, "fontSize": FONT_SIZE, "color": LIGHT["ink"]},
    }


_BY_VALUE = {value: name for name, value in LIGHT.items()}
_COLOUR = re.compile(r'"(#[0-9a-fA-F]{6}|white)"')


def to_variables(svg: str) -> str:
    def swap(match: re.Match[str]) -> str:
        value = "#ffffff" if match.group(1) == "white" else match.group(1).lower()
        name = _BY_VALUE.get(value)
        return match.group(0) if name is None else f'"var(--{name})"'

    return _COLOUR.sub(swap, svg)


def css_variables() -> str:
    def block(palette: dict[str, str]) -> str:
        return "".join(f"--{name}:{value};" for name, value in palette.items())

    light, dark = block(LIGHT), block(DARK)
    return (
        f":root{{{light}color-scheme:light}}\n"
        f"@media screen and (prefers-color-scheme:dark){{"
        f":root:not([data-theme=light]){{{dark}color-scheme:dark}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}color-scheme:dark}}}}\n"
    )
