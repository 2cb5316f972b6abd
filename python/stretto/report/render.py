"""From an Altair chart to SVG for the page, and to SVG and PNG files.

Charts are drawn by Vega in vl-convert, without a browser. The page holds plain SVG: it opens
offline, needs no script to be seen, prints, is small (about 20 kB a chart), and its text can be
searched and copied. A few lines of script add tooltips from the marks' descriptions.
"""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert as vlc

from stretto.errors import StrettoError
from stretto.files.io import write_bytes
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures.data import Chart
from stretto.report.text import fixed

SIMULATED = "source: simulated"


@dataclass(frozen=True)
class Figure:
    """One chart of the report.

    `name`: file name without extension, and the element's id; unique in a report.
    `title`: what is shown, in words; inside exported files, above the chart in the page.
    `chart`: the chart, without title.
    `note`: lines below the title: layout, what was left out, how it was measured.
    `of`: what it is of, a line each; in exported files only, as the page has it elsewhere.
    `simulated`: whether any mark of it comes from a simulation; the figure then says so itself.
    `light_only`: drawn in colours that are inverted, not replaced, in dark mode (heat maps).
    """

    name: str
    title: str
    chart: Chart
    note: str = ""
    simulated: bool = False
    light_only: bool = False
    of: tuple[str, ...] = ()


def titled(figure: Figure) -> Chart:
    """Return the chart with its title, and with the note below it."""
    of = [line for text in figure.of for line in textwrap.wrap(text, 72)]
    notes = [*of, *figure.note.split("\n"), SIMULATED if figure.simulated else ""]
    subtitle = [line for line in notes if line]
    lines = textwrap.wrap(figure.title, 88) or [""]
    return figure.chart.properties(title=alt.TitleParams(text=lines, subtitle=subtitle))


def _svg(figure: Figure, standalone: bool) -> str:
    chart = figure.chart
    if standalone:
        chart = titled(figure)
    elif figure.simulated:
        # in the page too the picture itself says it: it may be copied out of its context
        chart = chart.properties(
            title=alt.TitleParams(
                text=SIMULATED, fontSize=theme.FONT_SIZE, color=theme.colour("native"), offset=4
            )
        )
    spec = chart.to_dict(validate=False)  # the tests validate; here it costs half the time
    spec["config"] = theme.config()
    return fixed(str(vlc.vegalite_to_svg(drawable(spec))))


def drawable(value: Any) -> Any:
    if isinstance(value, str):
        return fmt.drawable(value)
    if isinstance(value, dict):
        return {k: drawable(v) for k, v in value.items()}
    return [drawable(v) for v in value] if isinstance(value, list) else value


_NOISE = re.compile(
    r' (?:role="(?:graphics-object|graphics-symbol)"|aria-roledescription="[^"]*"'
    r'|pointer-events="none"|aria-hidden="true"|stroke-miterlimit="10"|xmlns:xlink="[^"]*"|version="1.1"|opacity="1")'
)
#: coordinates with needless digits; words and descriptions keep theirs
_LONG = re.compile(r'aria-label="[^"]*"|>[^<]*<|(\d+\.\d{2})\d+')
_EMPTY = re.compile(r'<path class="(?:background|foreground)"[^>]*(?: d=""|d="M0,0h0v0h0Z")[^>]*/>')
#: the page has its own, and shadows at the edges of what scrolls
_PAPER = re.compile(r'(<svg [^>]*>)<rect [^>]*fill="#ffffff"/>')
_HEAD = re.compile(r'<svg ([^>]*?)width="(\d+(?:\.\d+)?)" height="(\d+(?:\.\d+)?)"')
_AXIS_LABEL = re.compile(r' aria-label="(?:[XY]-axis|Legend|Title|Subtitle|Symbol legend)[^"]*"')


def inline(figure: Figure) -> str:
    """Return the figure as SVG for the page: small, with CSS variables for colours."""
    svg = _svg(figure, standalone=False)
    svg = _EMPTY.sub("", _PAPER.sub(r"\1", svg, count=1))
    svg = _AXIS_LABEL.sub("", _NOISE.sub("", svg))
    svg = _LONG.sub(lambda found: found[1] or found[0], svg)
    if not figure.light_only:
        svg = theme.to_variables(svg)
    match = _HEAD.match(svg)
    if match is None:
        raise RuntimeError("vl-convert gave an SVG of an unknown form")
    width = float(match.group(2))
    label = figure.title.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    head = (
        f'<svg {match.group(1)}role="img" aria-label="{label}" data-width="{width:.0f}" '
        f'style="--w:{width:.0f}px"'
    )
    return head + svg[match.end() :]


def write(figure: Figure, png: Path | None, svg: Path | None) -> list[Path]:
    """Write a figure into directories for PNG and SVG files; None leaves the kind out."""
    places = ((svg, "svg"), (png, "png"))
    return [write_to(figure, d / f"{figure.name}.{kind}") for d, kind in places if d is not None]


def write_to(figure: Figure, path: Path) -> Path:
    """Write a figure to a file whose ending gives the format: .svg, .png or .html."""
    kind = path.suffix.lower()
    if kind not in (".svg", ".png", ".html"):
        raise StrettoError(
            "a picture is written as .svg, .png or .html", path, "name it so: picture.svg"
        )
    text = _svg(figure, standalone=True)
    if kind == ".png":
        write_bytes(path, vlc.svg_to_png(text, scale=2.0), "the picture")
        return path
    if kind == ".html":
        title = html.escape(figure.title)
        text = f"<!doctype html><meta charset=utf-8><title>{title}</title>{text}\n"
    return save(path, text, "the picture")


def save(path: Path, text: str, what: str = "the report") -> Path:
    write_bytes(path, text.encode(errors="backslashreplace"), what)
    return path
