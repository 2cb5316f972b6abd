"""Words of a command that lead out of its directory: in a copy of it they would lead elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from stretto.tune.place import Place

#: ``-o``, ``--out``, ``--output-dir``: a run must not write there what the user keeps
_OUTPUT = re.compile(r"--?o(ut(put)?([-_.]?\w+)*)?\Z", re.IGNORECASE)


def for_copies(words: Sequence[str], place: Place) -> list[str]:
    """Return a command as its runs get it: what exists outside of the directory by its full path.

    A relative path, alone or behind ``NAME=``, is replaced when it leads out of the directory and
    there is something. Names of outputs are left alone: each copy's lead to a place of its own.

    Parameters
    ----------
    words
        As typed.
    place
        Where they run; without copies nothing is replaced.
    """
    if place.in_place or place.reset is not None:
        return list(words)
    return [
        word if _OUTPUT.match(before) else _from_anywhere(word, place.base)
        for before, word in zip(["", *words], words, strict=False)
    ]


def outside(words: Sequence[str], place: Place) -> list[str]:
    """Return what `for_copies` makes of the words that it replaces.

    Parameters
    ----------
    words, place
        As for `for_copies`.
    """
    pairs = zip(words, for_copies(words, place), strict=True)
    return list(dict.fromkeys(new for old, new in pairs if new != old))


def _from_anywhere(word: str, base: Path) -> str:
    name, equals, value = word.partition("=")
    found = _outside(word, base)
    if found is None and equals and not _OUTPUT.match(name):
        found = _outside(value, base)
        return word if found is None else f"{name}={found}"
    return word if found is None else found


def _outside(word: str, base: Path) -> str | None:
    """Return the full path of something outside of a directory, None where a word is none."""
    if ".." not in word.split("/") or word.startswith("/"):
        return None
    typed = base / word
    plain = Path(os.path.normpath(typed))
    if base in (plain, *plain.parents) or not _exists(typed):
        return None
    # behind a link, .. is not what the text says
    return str(plain if plain.resolve() == typed.resolve() else typed)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text that is too long for a name, or no name at all
        return False
