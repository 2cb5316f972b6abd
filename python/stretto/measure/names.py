"""Names of nodes as people type them: Slurm's brackets written out, other forms refused."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from stretto.errors import UsageError

#: as many as Slurm writes out of one expression
MOST_NAMES = 65536
#: commas between names, not those inside of brackets
_COMMA = re.compile(r",(?![^\[\]]*\])")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?\Z")
_FORMS = (
    "write names as n1,n2, or with Slurm's brackets: n[1-3,07-09]; ppn (--ppn) sets the ranks of a "
    "node, ~/.ssh/config the user names"
)


def read_names(words: Sequence[str], key: str) -> tuple[str, ...]:
    """Return the nodes that words name, each of them once.

    `words`: names with commas between, with Slurm's brackets: ``login``, ``n[1-3,07-09]``,
    ``r[1-2]n[1-4]``.
    Raises UsageError: a word is no name, or a node is named twice.
    """
    names: list[str] = []
    for word in itertools.chain.from_iterable(_COMMA.split(x) for x in words):
        if word.strip():
            names += _expanded(word.strip(), key, MOST_NAMES - len(names))
    if not names:
        raise UsageError(f"{key} has no node names", key, f'write for example {key} = ["a", "b"]')
    double = next((x for x, times in Counter(names).items() if times > 1), None)
    if double is not None:  # of a list with a line for each rank, say
        raise UsageError(f"{double} is named twice", key, _FORMS)
    return tuple(names)


def allocated(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nodes of the Slurm allocation that this process runs in, empty outside of one."""
    names = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST")
    return read_names([names], "SLURM_JOB_NODELIST") if names else ()


def _expanded(word: str, key: str, most: int) -> Iterator[str]:
    # every other part is what stood inside of brackets
    parts = _BRACKETS.split(word)
    if not _NAME.match("1".join(parts[::2])):
        raise UsageError(f"{word!r} is not the name of a node", key, _FORMS)
    numbers = [[_range(x, word, key) for x in inside.split(",")] for inside in parts[1::2]]
    if math.prod(sum(last - first + 1 for first, last, _ in ranges) for ranges in numbers) > most:
        raise UsageError(f"with {word!r} {key} names more than {MOST_NAMES} nodes", key, _FORMS)
    choices = [[text] if at % 2 == 0 else _written(numbers[at // 2])
               for at, text in enumerate(parts)]  # fmt: skip
    return ("".join(x) for x in itertools.product(*choices))


def _range(text: str, word: str, key: str) -> tuple[int, int, int]:
    found = _RANGE.match(text.strip())
    first, last = (found[1], found[2] or found[1]) if found else ("1", "0")
    if int(first) > int(last):
        raise UsageError(f"{word!r}: {text!r} is not a range of numbers", key, _FORMS)
    return int(first), int(last), len(first)


def _written(ranges: Sequence[tuple[int, int, int]]) -> list[str]:
    return [f"{n:0{width}}" for first, last, width in ranges for n in range(first, last + 1)]
