"""SVG by hand: what the pictures of plans and of prices are written with.

Light and dark follow the reader's setting, and nothing is loaded from elsewhere: a picture can
stand in documentation, in a page or on a slide.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

_FONT = (
    'text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",'
    "sans-serif}"
)
_LIGHT = ".paper{fill:#fff}.ink{fill:#1b1f24}.muted{fill:#57606a}.band{fill:#f3f5f7}"
_DARK = ".paper{fill:#12161b}.ink{fill:#e6ebf0}.muted{fill:#a3adb8}.band{fill:#1b2128}"
#: anchors of texts
MIDDLE, END = 'text-anchor="middle"', 'text-anchor="end"'


class Drawing:
    """Shapes in px, each with its classes; `light` and `dark` give these colours."""

    def __init__(self, light: str, dark: str) -> None:
        self.lines: list[str] = []
        self._style = (
            f"\n{_LIGHT}{light}\n@media (prefers-color-scheme:dark){{\n{_DARK}{dark}}}\n{_FONT}\n"
        )

    def text(self, x: float, y: float, text: str, kind: str, size: int, more: str = "") -> None:
        self.lines.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" font-size="{size}" {more}>'
            f"{escape(text)}</text>"
        )

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, more: str = "",
        title: str = "",
    ) -> None:  # fmt: skip
        self._shape(
            f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" '
            f'class="{kind}" {more}/>',
            title,
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, more: str = "") -> None:
        self.lines.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}" {more}/>'
        )

    def _shape(self, shape: str, title: str) -> None:
        words = f"<title>{escape(title)}</title>"
        self.lines.append(f"<g>{words}{shape}</g>" if title else shape)

    def legend(self, x: float, y: float, words: str) -> float:
        """Write a legend's words right of its sign; return where the next sign stands."""
        self.text(x, y, words, "muted", 12)
        return x + 6.6 * len(words) + 26

    def document(self, width: float, height: float, left: float, name: str, note: str) -> str:
        """Return the file's text; name and note are also what screen readers read."""
        self.text(left, 30, name, "ink", 17, 'font-weight="600"')
        self.text(left, 50, note, "muted", 12)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
            f'aria-label="{escape(name)}, {escape(note)}"><style>{self._style}</style>'
            '<rect width="100%" height="100%" class="paper"/>\n'
            + "\n".join(self.lines)
            + "\n</svg>\n"
        )
