"""Charts from rows of values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import altair as alt


def chart(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Return a chart of rows.

    The rows go in as JSON text: Altair copies every list that it is given at each step of
    building a chart, which makes a report take several times as long.

    Parameters
    ----------
    rows
        One object for each mark.
    """
    text = json.dumps(list(rows), allow_nan=False, separators=(",", ":"))
    return alt.Chart(cast(Any, {"values": text, "format": {"type": "json"}}))


def layer(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Return charts of one plot laid over one another, the last on top."""
    return cast(alt.LayerChart, alt.layer(*charts))
