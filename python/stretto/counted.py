"""Numbers in sentences: ``1 launch``, ``2 launches``, ``3 minutes``."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun; `nouns`: its plural where an s alone does not do."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {nouns or noun + ('es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's')}"


def duration(seconds: float) -> str:
    """Return a time in words, with the digits that count."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} hours"
    if seconds >= 100:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
