"""Charts from rows of values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import altair as alt

from stretto.report import format as fmt


def chart(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Return a chart of rows.

    The rows go in as JSON text: Altair copies every list that it is given at each step of
    building a chart, which makes a report take several times as long.

    Parameters
    ----------
    rows
        One object for each mark.
    """
    text = json.dumps(list(rows), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    text = fmt.drawable(text)
    return alt.Chart(cast(Any, {"values": text, "format": {"type": "json"}}))


def looked_up(labels: Mapping[str, str]) -> str:
    """Return the expression of an axis for labels by the names that are its values.

    Names may hold anything: quotes, line ends, halves of characters.
    """
    drawn = {fmt.drawable(k): fmt.drawable(v) for k, v in labels.items()}
    return f"({json.dumps(drawn)})[datum.value]"


def layer(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Return charts of one plot laid over one another, the last on top."""
    return cast(alt.LayerChart, alt.layer(*charts))
