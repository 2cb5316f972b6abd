"""Numbers of things in sentences: ``1 launch``, ``2 launches``."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun in the singular or plural.

    Parameters
    ----------
    number
        How many.
    noun, nouns
        Of one, and of several where an s alone does not do.
    """
    return f"{number} {noun if number == 1 else nouns or _several(noun)}"


def _several(noun: str) -> str:
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
