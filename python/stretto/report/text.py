"""The width of a chart's text, the same in every viewer.

Vega places labels by the widths of Liberation Sans, which are those of Helvetica and Arial. Where
none of these fonts is installed, another one is wider: legends overlap, and names lose letters.
Every text of a picture therefore carries its width, and viewers fit their own font into it.
"""

from __future__ import annotations

import html
import re

#: widths in thousandths of the font size, by the characters that have them
_REGULAR = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft\u00a0", 333: "()-`r", 334: "{}", 355: '"',
    389: "*", 469: "^", 500: "Jckvxsyz", 556: "#$0123456789?L_abdeghnopqu\u2013",
    576: "\u00b5", 584: "+<=>~\u2212\u00d7", 611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw",
    778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "\u2014\u2026\u2190", 1015: "@",
}  # fmt: skip
_BOLD = {
    238: "'", 278: " ,./I\\ijl\u00a0", 280: "|", 333: "!()-:;[]`ft", 389: "*r{}", 474: '"',
    500: "z", 556: "#$0123456789J_aceksvxy\u2013", 576: "\u00b5", 584: "+<=>^~\u2212\u00d7",
    611: "?FLTZbdghnopqu", 667: "EPSVXY", 722: "&ABCDHKNRU", 778: "GOQw", 833: "M", 889: "%m",
    944: "W", 975: "@", 1000: "\u2014\u2026\u2190",
}  # fmt: skip
_WIDTHS = [
    {c: width for width, characters in table.items() for c in characters}
    for table in (_REGULAR, _BOLD)
]
#: shorter texts are not fitted: a number at an axis has room
SHORT = 5
_TEXT = re.compile(r"<text ([^>]*[^/>])>(.*?)</text>", re.S)
_SPAN = re.compile(r"<tspan((?: [^>]*[^/>])?)>(.*?)</tspan>", re.S)
_SIZE = re.compile(r'font-size="([0-9.]+)px"')


def width(text: str, size: float, bold: bool = False) -> float | None:
    """Return the width of a text in pixels; None where a character's is not known.

    `size`: of the font, in pixels.
    """
    widths = _WIDTHS[bold]
    found = [widths.get(c) for c in text]
    return None if None in found else size * sum(w or 0 for w in found) / 1000


def fixed(svg: str) -> str:
    """Return a picture whose texts all have the width that they were placed with."""

    def text(match: re.Match[str]) -> str:
        attributes, inside = match.groups()
        found = _SIZE.search(attributes)
        if found is None:
            return match.group(0)
        bold = 'font-weight="bold"' in attributes

        def length(words: str) -> str:
            if len(words) < SHORT:
                return ""
            pixels = width(html.unescape(words), float(found[1]), bold)
            return "" if not pixels else (
                f' textLength="{pixels:.1f}" lengthAdjust="spacingAndGlyphs"'
            )  # fmt: skip

        if "<tspan" in inside:
            inside = _SPAN.sub(lambda m: f"<tspan{m[1]}{length(m[2])}>{m[2]}</tspan>", inside)
            return f"<text {attributes}>{inside}</text>"
        return f"<text {attributes}{length(inside)}>{inside}</text>"

    return _TEXT.sub(text, svg)
