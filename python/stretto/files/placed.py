"""JSON that a person wrote, with the lines of its objects and keys, for errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stretto.errors import StrettoError
from stretto.files.parse import json_value

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}]')


class PlacedObject(dict[str, Any]):
    """An object, with the line on which it begins; `twice`: a key that it has more than once."""

    def __init__(self, pairs: Sequence[tuple[str, Any]], line: int, lines: Sequence[int]) -> None:
        super().__init__(pairs)
        self.line = line
        self._lines = {key: at for (key, _), at in zip(pairs, lines, strict=False)}
        keys = [key for key, _ in pairs]
        self.twice: str | None = None
        if len(self) < len(keys):
            self.twice = next(k for i, k in enumerate(keys) if k in keys[:i])

    def line_of(self, key: str) -> int:
        return self._lines.get(key, self.line)


def placed_json(text: str, place: str, remedy: str) -> Any:
    """Return the value of a JSON text; `remedy`: where it is none."""
    opened: list[tuple[int, list[int]]] = []
    closed: list[tuple[int, list[int]]] = []  # in the order in which the parser returns objects
    line, at = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        if token[0] == "{":
            opened.append((line, []))
        elif token[0] == "}" and opened:
            closed.append(opened.pop())
        elif token[1] and opened:
            opened[-1][1].append(line)
    order = iter(closed)
    try:
        return json_value(
            text, object_pairs_hook=lambda pairs: PlacedObject(pairs, *next(order, (0, [])))
        )
    except ValueError as error:
        raise StrettoError(f"it is not JSON: {error}", place, remedy) from error


def object_of(value: object, what: str, place: str, remedy: str) -> PlacedObject:
    """Return a value that must be an object."""
    if not isinstance(value, PlacedObject):
        raise StrettoError(f"{what} should be an object: {{...}}", place, remedy)
    return value
