"""The measured points: one for each collective, candidate, layout, size and mode.

Figures and tables are made from these; nothing behind this module sees a single time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from stretto.files.layout import RankLayout
from stretto.report import format as fmt
from stretto.report.stats import MedianInterval

NATIVE = "native"


@dataclass(frozen=True)
class CandidatePoint:
    """What was measured (or simulated) for one candidate at one size.

    `estimate`: time per call in microseconds.
    `correct`: False when any launch found wrong contents in the buffers; such a candidate is never
    chosen.
    `variant`: datatype and operation, as in ``MPI_DOUBLE, MPI_SUM``.
    `relative`: time divided by native's in the same launch, over the launches that measured both;
    None where no launch did.
    """

    collective: str
    candidate: str
    layout: RankLayout
    bytes: int
    mode: str
    estimate: MedianInterval
    source: str
    correct: bool = True
    variant: str = ""
    relative: MedianInterval | None = None

    @property
    def simulated(self) -> bool:
        return self.source == "simulated"


def _slug(words: Iterable[str]) -> str:
    return fmt.identifier(
        "-".join(w.removeprefix("MPI_").replace(" ", "").lower() for w in words if w)
    )


@dataclass
class Panel:
    """All points of one collective, layout, mode and variant, and what the table chose there.

    `chosen`: bytes to the name that the table gives; sizes without a row, or a table, are missing.
    `failed`: candidates that were to be measured and gave no time or wrong contents, with the
    reason.
    """

    collective: str
    layout: RankLayout
    mode: str
    points: list[CandidatePoint]
    variant: str = ""
    chosen: dict[int, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the panel's name, usable as an id and file name."""
        return _slug([self.collective, self.layout.slug, self.mode, *self.variant.split(", ")])

    @property
    def kind(self) -> str:
        """Return the name without the layout: what panels of several layouts have in common."""
        return _slug([self.collective, self.mode, *self.variant.split(", ")])

    @property
    def setting(self) -> str:
        """Return layout, datatype, operation and mode, as under a chart's title."""
        return ", ".join(w for w in (fmt.layout(self.layout), self.variant, self.mode) if w)

    @property
    def function(self) -> str:
        return f"MPI_{self.collective.capitalize()}"

    def title(self, number: int) -> str:
        """Return the function and the message size; a barrier has none."""
        return self.function + (f" of {fmt.size(number)}" if number else "")

    @property
    def simulated(self) -> bool:
        return any(p.simulated for p in self.points)

    @property
    def sizes(self) -> list[int]:
        return sorted({p.bytes for p in self.points})

    @property
    def candidates(self) -> list[str]:
        """Return the candidates with points: native first, then by name."""
        names = {p.candidate for p in self.points}
        return sorted(names, key=lambda n: (n != NATIVE, n))

    def at(self, number: int) -> list[CandidatePoint]:
        """Return the points of one size, fastest first."""
        return sorted(
            (p for p in self.points if p.bytes == number), key=lambda p: p.estimate.median
        )

    def of(self, candidate: str) -> list[CandidatePoint]:
        return sorted((p for p in self.points if p.candidate == candidate), key=lambda p: p.bytes)

    def point(self, candidate: str, number: int) -> CandidatePoint | None:
        return next(
            (p for p in self.points if p.bytes == number and p.candidate == candidate), None
        )

    def choice_at(self, number: int) -> CandidatePoint | None:
        choice = self.chosen.get(number)
        return None if choice is None else self.point(choice, number)

    def gain(self, number: int) -> float | None:
        """Return how many times faster than native the choice at this size is."""
        native, taken = self.point(NATIVE, number), self.choice_at(number)
        if native is None or taken is None or taken.estimate.median <= 0:
            return None
        return native.estimate.median / taken.estimate.median

    def ever_chosen(self) -> list[str]:
        return ever_chosen([self])


def ever_chosen(panels: Iterable[Panel]) -> list[str]:
    """Return the names chosen at some size, other than native, most often chosen first."""
    times = Counter(name for p in panels for name in p.chosen.values() if name != NATIVE)
    return sorted(times, key=lambda n: (-times[n], n))


def panels(points: Iterable[CandidatePoint]) -> list[Panel]:
    """Sort points into panels, by collective, then layout, mode and variant."""
    groups: dict[tuple[str, RankLayout, str, str], list[CandidatePoint]] = defaultdict(list)
    for p in points:
        groups[(p.collective, p.layout, p.mode, p.variant)].append(p)
    return [
        Panel(collective, layout, mode, groups[(collective, layout, mode, variant)], variant)
        for collective, layout, mode, variant in sorted(groups)
    ]
