"""What a file's place says: ``{collective}/N{nodes}n{nranks}/run{launch}/{algorithm}.log``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import UsageError

NUMBERS = ("nodes", "ppn", "nranks", "launch")
#: algorithms that are what the MPI does by itself
DEFAULTS = ("default", "native", "auto", "bare")
FIELDS = (*NUMBERS, "collective", "mpi", "version", "algorithm")


@dataclass(frozen=True)
class FileFacts:
    """What is known of a file before it is read; None: it was not said."""

    collective: str | None = None
    nodes: int | None = None
    ppn: int | None = None
    nranks: int | None = None
    launch: int | None = None
    mpi: str | None = None
    version: str | None = None
    algorithm: str | None = None


@dataclass(frozen=True)
class Pattern:
    """A pattern as it was written, and as an expression for the end of a path."""

    text: str
    expression: re.Pattern[str]


def compile_pattern(text: str) -> Pattern:
    """Return a pattern with named fields, ready to be matched with paths.

    `text`: fields in braces, ``*`` for anything within one directory or file name, ``{}`` likewise;
    a field that stands twice must be the same in both places.
    """
    out, seen = "", set()
    for part in re.split(r"(\{\w*\}|\*)", text):
        name = part.strip("{}*")
        if part in ("*", "{}"):
            out += r"[^/]*"
        elif not part.startswith("{"):
            out += re.escape(part)
        elif name not in FIELDS:
            raise UsageError(
                f"{part} is not a field of a pattern",
                "--pattern",
                f"fields are {', '.join(FIELDS)}",
            )
        elif name in seen:
            out += f"(?P={name})"
        else:
            seen.add(name)
            out += f"(?P<{name}>{r'[0-9]+' if name in NUMBERS else r'[^/]+?'})"
    return Pattern(text, re.compile(rf"(?:^|.*/){out}$"))


def match(patterns: Sequence[Pattern], path: Path) -> FileFacts | None:
    """Return what a path says by the first pattern that fits, None when none does."""
    tried = (pattern.expression.match(path.as_posix()) for pattern in patterns)
    found = next((m for m in tried if m is not None), None)
    if found is None:
        return None
    values = {k: int(v) if k in NUMBERS else v for k, v in found.groupdict().items()}
    return FileFacts(**values)  # type: ignore[arg-type]


def misfit(pattern: Pattern, path: Path) -> str:
    """Return the shortest end of a pattern that a path does not fit."""
    parts = pattern.text.split("/")
    ends = ("/".join(parts[n:]) for n in reversed(range(len(parts))))
    return next(end for end in ends if match([compile_pattern(end)], path) is None)
