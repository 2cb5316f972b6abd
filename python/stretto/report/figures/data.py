"""Charts from rows of values."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import altair as alt

from stretto.report import format as fmt
from stretto.report import theme

#: what marks show that bring their own colour and tooltip
HUE = alt.Color("hue:N", scale=None, legend=None)
DESCRIBED = alt.Description("d:N")
SHAPE = alt.Shape("shape:N", scale=None, legend=None)
#: native is square and vermilion, tuned round and blue
KINDS = {"native": "native", "tuned": "blue"}
#: of systems that are compared, two but for charts over processes
HUES = ("blue", "green", "purple", "brown")


def chart(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Return a chart of rows.

    The rows go in as JSON text: Altair copies every list that it is given at each step of building
    a chart, which makes a report take several times as long.
    """
    text = json.dumps(list(rows), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    text = fmt.drawable(text)
    return alt.Chart(cast(Any, {"values": text, "format": {"type": "json"}}))


def spans(
    rows: Sequence[Mapping[str, object]], x: alt.X, y: alt.Y, colour: Any, height: int
) -> alt.Chart:
    """Return bars from the field of `x` to the field ``b``, each with its tooltip."""
    bars: alt.Chart = chart(rows).mark_bar(height=height)
    out: alt.Chart = bars.encode(x=x, x2=alt.X2("b:Q"), y=y, color=colour, description=DESCRIBED)
    return out


def lined(
    rows: Sequence[Mapping[str, object]], x: Any, y: Any, colour: Any, shape: Any, size: int,
    simulated: bool = False, **more: Any,
) -> tuple[alt.Chart, alt.Chart]:  # fmt: skip
    """Return lines, and their points with tooltips; `more`: channels of the lines alone.

    Lines of a simulation are dashed, their points hollow.
    """
    base = chart(rows)
    dash: dict[str, Any] = {"strokeDash": [3, 3]} if simulated else {}
    fill: dict[str, Any] = {"fill": theme.colour("paper")} if simulated else {}
    line: alt.Chart = base.mark_line(strokeWidth=2, aria=False, **dash)
    points: alt.Chart = base.mark_point(filled=not simulated, size=size, opacity=1, **fill)
    return line.encode(x=x, y=y, color=colour, **more), points.encode(
        x=x, y=y, color=colour, shape=shape, description=DESCRIBED
    )


def looked_up(labels: Mapping[str, str]) -> str:
    """Return the expression of an axis for labels by the names that are its values.

    Names may hold anything: quotes, line ends, halves of characters.
    """
    drawn = {fmt.drawable(k): fmt.drawable(v) for k, v in labels.items()}
    return f"({json.dumps(drawn)})[datum.value]"


def keyed(field: str, colours: Mapping[str, str], **legend: Any) -> alt.Color:
    """Return the colour of a field by its values, with a legend above."""
    names = list(colours)
    return alt.Color(
        f"{field}:N",
        sort=names,
        scale=alt.Scale(domain=names, range=list(colours.values())),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1, **legend),
    )


def by_kind(field: str, drawn: Collection[str]) -> alt.Color:
    """Return the colours of native and tuned; `drawn`: those that the legend names."""
    return keyed(field, {kind: theme.colour(KINDS[kind]) for kind in KINDS if kind in drawn})


SPECIFICATIONS: dict[str, Any] = {
    "layer": alt.TopLevelLayerSpec,
    "hconcat": alt.TopLevelHConcatSpec,
    "vconcat": alt.TopLevelVConcatSpec,
}


class Composed:
    """Charts laid over one another or side by side, as Altair's of the same names.

    Each part is described once. Altair copies all parts at every step, and takes twice as long.
    """

    def __init__(self, kind: str, parts: Sequence[Chart], **properties: Any) -> None:
        self.kind, self.parts, self.own = kind, parts, properties

    def properties(self, **properties: Any) -> Composed:
        return Composed(self.kind, self.parts, **{**self.own, **properties})

    def resolve_scale(self, **scales: str) -> Composed:
        return self.properties(resolve={"scale": scales})

    def to_dict(self, validate: bool = True) -> dict[str, Any]:
        """Return the Vega-Lite specification.

        Raises altair.utils.schemapi.SchemaValidationError: when it is checked and not valid.
        """
        parts: list[dict[str, Any]] = []
        datasets: dict[str, Any] = {}
        for part in self.parts:
            described = part.to_dict(validate=False)
            for top_level in ("$schema", "config"):
                described.pop(top_level, None)
            datasets |= described.pop("datasets", {})
            parts.append(described)
        out: dict[str, Any] = {"$schema": alt.SCHEMA_URL, self.kind: parts, "datasets": datasets}
        for name, value in self.own.items():
            out[name] = value.to_dict(validate=False) if hasattr(value, "to_dict") else value
        if validate:
            SPECIFICATIONS[self.kind].validate(out)
        return out


Chart = alt.Chart | Composed


def layer(*charts: Chart) -> Composed:
    """Return charts of one plot laid over one another, the last on top."""
    return Composed("layer", charts)


def beside(*charts: Chart) -> Composed:
    return Composed("hconcat", charts, spacing=28)


def stacked(charts: Sequence[Chart], columns: int) -> Chart:
    """Return charts in rows of so many."""
    rows = [beside(*charts[i : i + columns]) for i in range(0, len(charts), columns)]
    return charts[0] if len(charts) == 1 else Composed("vconcat", rows, spacing=24)
