"""Parsing text that somebody else wrote: whatever is wrong with it is a `ValueError`.

A text may be nested deeper than the interpreter's stack, and may hold numbers of any length.
"""

from __future__ import annotations

from stretto.light import TYPE_CHECKING, later

if TYPE_CHECKING:
    import json
    from typing import Any
else:
    json = later("json")


def json_value(text: str | bytes, **hooks: Any) -> Any:
    try:
        return json.loads(text, **hooks)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
