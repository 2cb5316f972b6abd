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
LIGHT: dict[str, str] = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "faint": "#8c959f",
    "rule": "#d0d7de",
    "grid": "#e6eaee",
    "native": "#d0500a",
    "native-band": "#f6c9ae",
    "blue": "#0067a8",
    "blue-band": "#b5d5ea",
    "green": "#00806a",
    "purple": "#96407f",
    "sky": "#2d93c8",
    "brown": "#8a6a14",
    "slate": "#5b6b7b",
    "compute": "#c9d1d9",
    "wait": "#e69f00",
    "p2p": "#3aa07f",
    "io": "#c77bab",
    "other-mpi": "#7a8794",
    "unsplit": "#7fb2d4",
}
DARK: dict[str, str] = {
    "paper": "#12161b",
    "ink": "#e6ebf0",
    "muted": "#a3adb8",
    "faint": "#77828e",
    "rule": "#3a434d",
    "grid": "#262d35",
    "native": "#ff8f4d",
    "native-band": "#6b3a1c",
    "blue": "#5db7f5",
    "blue-band": "#1f4a68",
    "green": "#3fcaa6",
    "purple": "#dd93c8",
    "sky": "#97d7f5",
    "brown": "#dcbb55",
    "slate": "#93a3b3",
    "compute": "#4a545f",
    "wait": "#f2b632",
    "p2p": "#55bd9a",
    "io": "#d894c0",
    "other-mpi": "#98a5b2",
    "unsplit": "#3d7297",
}

CHOSEN_COLOURS = ("blue", "green", "purple", "sky", "brown", "slate")

# White to dark blue: one hue, so that more is darker for every eye and on every printer.
RAMP = ("#eaf2f9", "#c3dcee", "#92c1e0", "#5a9fcb", "#2a7ab3", "#0d5590", "#08306b")

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
FONT_SIZE = 12


def colour(name: str) -> str:
    return LIGHT[name]


def chosen_colour(position: int) -> str:
    return LIGHT[CHOSEN_COLOURS[min(position, len(CHOSEN_COLOURS) - 1)]]


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration that all charts share."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelFontSize": FONT_SIZE}
    return {
        "background": LIGHT["paper"],
        "font": FONT,
        "padding": {"left": 4, "right": 4, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontSize": FONT_SIZE,
            "titleFontWeight": "normal",
            "titleColor": LIGHT["muted"],
            "labelColor": LIGHT["ink"],
            "domainColor": LIGHT["rule"],
            "tickColor": LIGHT["rule"],
            "gridColor": LIGHT["grid"],
            "tickSize": 4,
            "titlePadding": 8,
            "labelPadding": 4,
        },
        "legend": {
            **text,
            "titleFontSize": FONT_SIZE,
            "titleFontWeight": "normal",
            "titleColor": LIGHT["muted"],
            "labelColor": LIGHT["ink"],
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
        **{mark: {"aria": False} for mark in ("rule", "line", "tick", "image")},
        "text": {"aria": False, "font": FONT, "fontSize": FONT_SIZE, "color": LIGHT["ink"]},
    }


_BY_VALUE = {value: name for name, value in LIGHT.items()}
_COLOUR = re.compile(r'"(#[0-9a-fA-F]{6}|white)"')


def to_variables(svg: str) -> str:
    """Replace the theme's colours in an SVG by the CSS variables of the page."""

    def swap(match: re.Match[str]) -> str:
        value = "#ffffff" if match.group(1) == "white" else match.group(1).lower()
        name = _BY_VALUE.get(value)
        return match.group(0) if name is None else f'"var(--{name})"'

    return _COLOUR.sub(swap, svg)


def css_variables() -> str:
    """Return the style rules that define the variables for light, dark and print."""

    def block(palette: dict[str, str]) -> str:
        return "".join(f"--{name}:{value};" for name, value in palette.items())

    light, dark = block(LIGHT), block(DARK)
    return (
        f":root{{{light}color-scheme:light}}\n"
        f"@media screen and (prefers-color-scheme:dark){{"
        f":root:not([data-theme=light]){{{dark}color-scheme:dark}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}color-scheme:dark}}}}\n"
    )
