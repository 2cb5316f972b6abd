"""What a user's own options for sbatch ask for: its nodes, and an array."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

#: options of one letter that take no value: another one may follow in the same word
_FLAGS = "hHIkOQsuvVW"
_NODES = re.compile(r"(\d{1,9})([km]?)(?:-(\d{1,9})([km]?))?(?::\d{1,9})?")
_UNITS = {"": 1, "k": 1024, "m": 1024**2}
_INDEXES = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


def values_of(options: Sequence[str], letter: str | None, name: str, shortest: str) -> list[str]:
    """Return the values that an option of sbatch is given, of which the last one counts.

    `letter`, `name`: ``N`` and ``nodes``; None: it has no letter.
    """
    found = []
    for option in options:
        words = _words(option)
        for word, after in zip(words, [*words[1:], ""], strict=True):
            short = letter and re.fullmatch(rf"-[{_FLAGS}]*{letter}(.*)", word, re.DOTALL)
            head, equals, value = word.partition("=")
            if short:
                found.append(short[1] or after)
            elif head.startswith(f"--{shortest}") and f"--{name}".startswith(head):
                found.append(value if equals else after)
    return [x.strip() for x in found]


def value_of(options: Sequence[str], letter: str, name: str, shortest: str) -> str | None:
    """Return the value of an option that counts, None where it is not given."""
    return next(reversed(values_of(options, letter, name, shortest)), None)


def _words(option: str) -> list[str]:
    try:
        return shlex.split(option, comments=True)
    except ValueError:  # a quote without end, which sbatch refuses
        return option.split()


def nodes_asked(options: Sequence[str]) -> tuple[int, int] | None:
    """Return the fewest and most nodes that a job is to get, None where nothing readable says."""
    text = value_of(options, "N", "nodes", "nodes")
    found = [_NODES.fullmatch(part.lower()) for part in (text or "").split(",")]
    ranges = [m for m in found if m is not None]
    if len(ranges) < len(found):
        return None
    least = [int(m[1]) * _UNITS[m[2]] for m in ranges]
    most = [int(m[3]) * _UNITS[m[4]] for m in ranges if m[3] is not None]
    return min(least), max(least + most)


def names_nodes(options: Sequence[str]) -> bool:
    named = value_of(options, "w", "nodelist", "nodeli")
    return named is not None or value_of(options, "F", "nodefile", "nodef") is not None


def array_asked(options: Sequence[str]) -> int | None:
    """Return how many jobs of an array may run at once, None where the options ask for none."""
    text = value_of(options, "a", "array", "ar")
    if text is None:
        return None
    indexes, _, limit = text.partition("%")
    count = 0
    for part in indexes.split(","):
        found = _INDEXES.fullmatch(part)
        if found is not None:  # sbatch refuses others
            first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            count += max(0, last - first) // max(1, step) + 1
    return max(1, min(count, int(limit)) if re.fullmatch(r"\d{1,9}", limit) else count)
