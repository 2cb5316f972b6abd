"""What a comparison amounts to: the one type for every page and file that says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["faster", "slower", "same", "inconclusive"]


@dataclass(frozen=True)
class Verdict:
    """Whether a candidate is faster than its baseline.

    `outcome`: ``faster`` and ``slower``: a test says so. ``same``: a test was made, and the
    difference is within the threshold. ``inconclusive``: it cannot be told. `missing`: what an
    inconclusive comparison lacks: launches, budget, a quieter machine; with how many. `more`: how
    many launches or runs that is.
    """

    outcome: Outcome
    why: str
    missing: str = ""
    tested: bool = True
    more: int = field(default=0, compare=False)

    @property
    def words(self) -> str:
        return f"{self.why}; {self.missing}" if self.missing else self.why
