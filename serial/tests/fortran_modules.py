"""What a module file of gfortran says: its procedures with their arguments, and its constants.

The file is a gzipped list of lists in brackets; the symbols are its seventh part, six items each:
number, name, module, binding label, number of the parent, description.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def _lists(text: str) -> list[Any]:
    """The nested lists of a text in brackets."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"'[^']*'|[()]|[^\s()']+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            ended = stack.pop()
            stack[-1].append(ended)
        else:
            stack[-1].append(token.strip("'"))
    return stack[0]


@dataclass(frozen=True)
class Argument:
    """A dummy argument: ``intent`` is IN, OUT, INOUT or "", ``rank`` counts its dimensions."""

    name: str
    intent: str
    type: str
    rank: int
    optional: bool


@dataclass(frozen=True)
class Module:
    """Names in lower case; ``parameters`` have their types."""

    procedures: dict[str, tuple[Argument, ...]]
    parameters: dict[str, str]
    variables: dict[str, str]


def read(path: Path) -> Module:
    with gzip.open(path, "rt") as stream:
        symbols = _lists(stream.read().split("\n", 1)[1])[6]
    table = {symbols[i]: symbols[i + 1 : i + 6] for i in range(0, len(symbols), 6)}

    def type_of(description: list[Any]) -> str:
        kind: list[Any] = description[2]
        if kind[0] == "DERIVED":
            return str(table[kind[1]][0]).lower()
        return f"{kind[0]}{kind[1]}".lower() if kind[0] in ("INTEGER", "REAL") else kind[0].lower()

    def rank_of(description: list[Any]) -> int:
        for part in description[5:]:
            if isinstance(part, list) and len(part) > 2 and part[2] in ("EXPLICIT", "ASSUMED_SIZE"):
                return int(part[0])
        return 0

    def argument(number: str) -> Argument:
        name, _, _, _, description = table[number]
        first = description[0]
        intent = first[1] if first[0] == "VARIABLE" else ""
        return Argument(
            name,
            "" if intent == "UNKNOWN-INTENT" else intent,
            "procedure" if first[0] == "PROCEDURE" else type_of(description),
            rank_of(description),
            "OPTIONAL" in first,
        )

    found = Module({}, {}, {})
    for name, _, _, parent, description in table.values():
        if not isinstance(description, list) or not isinstance(description[0], list):
            continue
        first = description[0]
        if first[0] == "PROCEDURE" and "BODY" in first:
            found.procedures[name] = tuple(argument(number) for number in description[5])
        elif first[0] == "PARAMETER":
            found.parameters[name] = type_of(description)
        elif first[0] == "VARIABLE" and "DUMMY" not in first and parent == "1":
            found.variables[name] = type_of(description)
    return found
