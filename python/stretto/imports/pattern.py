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


@dataclass(frozen=True)
class Misfit:
    """Where a path leaves a pattern."""

    matched: tuple[int, int]
    words: str


def compile_pattern(text: str) -> Pattern:
    """Return a pattern with named fields, ready to be matched with paths.

    `text`: fields in braces, ``*`` for anything within one directory or file name, ``{}`` likewise;
    a field that stands twice must be the same in both places.
    """
    return Pattern(text, re.compile(rf"(?:^|.*/){_expression(_parts(text))}$"))


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"(\{\w*\}|\*)", text) if part]


def _expression(parts: Sequence[str]) -> str:
    out, seen = "", set()
    for part in parts:
        name = part.strip("{}*")
        if part in ("*", "{}"):
            out += r"[^/]*"
        elif not part.startswith("{"):
            out += re.escape(part)
        elif name not in FIELDS:
            raise UsageError(
                f"{part} is not a field of a pattern", "--pattern", f"there are {', '.join(FIELDS)}"
            )
        elif name in seen:
            out += f"(?P={name})"
        else:
            seen.add(name)
            out += f"(?P<{name}>{r'[0-9]+' if name in NUMBERS else r'[^/]+?'})"
    return out


def match(patterns: Sequence[Pattern], path: Path) -> FileFacts | None:
    """Return what a path says by the first pattern that fits, None when none does."""
    tried = (pattern.expression.match(path.as_posix()) for pattern in patterns)
    found = next((m for m in tried if m is not None), None)
    if found is None:
        return None
    values = {k: int(v) if k in NUMBERS else v for k, v in found.groupdict().items()}
    return FileFacts(**values)  # type: ignore[arg-type]


def misfit(pattern: Pattern, path: Path) -> Misfit:
    """Return where a path leaves a pattern; names are compared from the last."""
    wanted, names = pattern.text.split("/"), path.as_posix().split("/")
    fits = next(
        n
        for n in range(len(wanted))
        if n >= len(names)
        or not re.fullmatch(
            _expression(_parts("/".join(wanted[-n - 1 :]))), "/".join(names[-n - 1 :])
        )
    )
    form = wanted[-fits - 1]
    if fits >= len(names):
        return Misfit((fits, 0), f"no directory is left for {form!r}")
    name, parts = names[-fits - 1], _parts(form)
    for good in range(len(parts)):
        fit = re.fullmatch if good + 1 == len(parts) else re.match
        if fit(_expression(parts[: good + 1]), name) is None:
            number = " (a number)" if parts[good].strip("{}") in NUMBERS else ""
            start = f" from {parts[good]!r} on" if len(parts) > 1 else ""
            return Misfit((fits, good), f"{name!r} does not fit {form!r}{start}{number}")
    # by itself it fits
    return Misfit((fits, len(parts)), f"{name!r} is not what its field is in the names behind it")
