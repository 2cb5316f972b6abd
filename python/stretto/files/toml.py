"""Parsing TOML that somebody else wrote: as in `stretto.files.parse`."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

#: digits of the largest whole number that every later step can turn into a float
_MOST_DIGITS = 300


def toml_values(text: str) -> dict[str, Any]:
    """Return the keys and values of a TOML text."""
    try:
        values = tomllib.loads(text)
        _check(values)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return values


def _check(value: Any) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _check(one)
    elif isinstance(value, int) and abs(value) >= 10**_MOST_DIGITS:
        raise ValueError("a number is too large")
