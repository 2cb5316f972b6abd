"""Rules as they stand in a native file, whoever wrote it: for which calls, and what they set.

`Rule` is what was measured, on a layout and in Stretto's bytes; a `NativeRow` is what a file says,
for a range of ranks and in the MPI's bytes. The writers' own text functions make files of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.export.sizes import BLOCKS, MPICH_AVERAGE, intel_bytes, openmpi_bytes
from stretto.files.layout import RankLayout
from stretto.grouped import grouped
from stretto.kinds import Family
from stretto.mpi.algorithms.intel import PRESETS
from stretto.mpi.algorithms.openmpi_names import HAN, LOOKED_AT, TUNED

#: the condition of calls for which Open MPI 6 looks no further, though there is no row: it decides
OTHER_SIZES = "other sizes"
#: settings that say more of an algorithm, by the ends of their names
_MORE = (
    ("_fanout", "fan-out {}"), ("_segmentsize", "segments of {} bytes"),
    ("_max_requests", "at most {} requests"),
)  # fmt: skip


@dataclass(frozen=True)
class NativeRow:
    """One rule of a file.

    `place`: file and line. `first`, `last`: numbers of ranks, `low`, `high`: bytes as the MPI
    counts them, all included; None: without end. `settings`: what it sets, empty: the MPI decides.
    `only`: further conditions, in the words of the file. `written`: the communicator size of a
    classic file, where `first` may be smaller.
    """

    place: str
    collective: str
    first: int
    last: int | None
    low: int
    high: int | None
    settings: tuple[tuple[str, str], ...]
    only: tuple[str, ...] = ()
    written: int = 0

    def holds(self, ranks: int, size: int | None) -> bool:
        """Return whether it is for a call; `size`: None: the MPI does not look at it."""
        fits = self.first <= ranks and (self.last is None or ranks <= self.last)
        sized = size is None or (self.low <= size and (self.high is None or size <= self.high))
        return fits and sized

    def setting(self, name: str) -> str | None:
        return dict(self.settings).get(name)

    @property
    def calls(self) -> str:
        """Which calls it is for, in words."""
        words = [self.collective, self._ranks(), *self.only]
        if self.low > 0 or self.high is not None:
            words.append(sizes(self.low, self.high))
        return ", ".join(words)

    def _ranks(self) -> str:
        if self.first <= 2:
            return "any number of ranks" if self.last is None else f"up to {self.last} ranks"
        if self.last is None:
            return f"{self.first} ranks and more"
        return f"{self.first} ranks" if self.first == self.last else (
            f"{self.first} to {self.last} ranks"
        )  # fmt: skip

    @property
    def choice(self) -> str:
        """What it sets, in words."""
        return choice_words(self.collective, self.settings)

    def lies_on(self, layout: RankLayout) -> bool:
        """Return whether its further conditions hold on a layout, in a call as it was measured."""
        ppn = -(-layout.nranks // layout.nodes)
        known = {"on one node": layout.nodes == 1, f"{ppn} ranks a node": True, OTHER_SIZES: True}
        return all(known.get(words, words.endswith("=yes")) for words in self.only)

    def said(self) -> dict[str, object]:
        return {
            "place": self.place, "collective": self.collective, "ranks": [self.first, self.last],
            "bytes": [self.low, self.high], "only": list(self.only),
            "settings": dict(self.settings), "words": f"{self.calls}: {self.choice}",
        }  # fmt: skip


@dataclass(frozen=True)
class NativeFile:
    """A file's rules, in the order of the file.

    `form`: ``classic``, ``json``, ``han``, ``mpich``, ``intel`` or ``settings``. `faults`: place
    and what is wrong there. `notes`: what a user should know. `text`: the file's own.
    """

    path: str
    form: str
    family: Family
    text: str
    rows: tuple[NativeRow, ...]
    faults: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the file is, in words."""
        if self.form == "classic" and VERSION_2 in self.text:
            return "rules of Open MPI's coll/tuned, version 2 of the classic form (5.0.7 and later)"
        return FORMS[self.form]

    def row_for(self, collective: str, size: int, layout: RankLayout) -> int | None:
        """Return the index of the row for a call of all ranks; `size` as Stretto counts it."""
        counted = self._counted(collective, size, layout.nranks)
        for i, row in enumerate(self.rows):
            mine = row.collective == collective and row.holds(layout.nranks, counted)
            if mine and row.lies_on(layout):
                return i
        return None

    def _counted(self, collective: str, size: int, ranks: int) -> int | None:
        if self.form in ("classic", "json"):
            return openmpi_bytes(collective, size, ranks)
        if self.form == "mpich":
            return size if collective in MPICH_AVERAGE else size * ranks
        return size if self.form == "han" else intel_bytes(collective, size, ranks)


def sizes(low: int, high: int | None) -> str:
    """Return a range of sizes, to the byte: ``from 4 KiB on``, ``below 4 KiB``."""
    if high is None:
        return f"from {exact(low)} on"
    if high == low:
        return exact(low)
    upper = f"below {exact(high + 1)}" if (high + 1) % 1024 == 0 else f"up to {exact(high)}"
    return upper if low == 0 else f"from {exact(low)}, {upper}"


def exact(number: int) -> str:
    """Return bytes without rounding: ``64 KiB``, ``1000 bytes``."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >= 1 << shift and number % (1 << shift) == 0:
            return f"{number >> shift} {unit}"
    return f"{number} bytes"


#: the first line of the classic form that has a fifth number, of requests
VERSION_2 = "rule-file-version-2"
#: what a file is, in words
FORMS = {
    "classic": "rules of Open MPI's coll/tuned, classic form (Open MPI 4 and 5)",
    "json": "rules of Open MPI's coll/tuned, JSON form (Open MPI 6)",
    "han": "rules of Open MPI's HAN, for communicators on several nodes (Open MPI 5 and 6)",
    "mpich": "a selection tree of MPICH",
    "intel": "a tuning tree of Intel MPI (mpitune)",
    "settings": "settings of an MPI",
}


def choice_words(collective: str, settings: Sequence[tuple[str, str]]) -> str:
    """Return settings in a user's words: ``algorithm 6 (rabenseifner)``."""
    if not settings:
        return "the MPI decides"
    (name, value), *more = settings
    words = f"{name}={value}"
    if name == f"coll_tuned_{collective}_algorithm":
        words = f"algorithm {_named(value, TUNED.get(collective, '').split())}"
    elif name == f"coll_han_use_{collective}_algorithm":
        words = f"HAN's algorithm {_named(value, HAN.get(collective, '').split())}"
    elif name == f"I_MPI_ADJUST_{collective.upper()}":
        published = PRESETS.get(collective, "").split(", ")
        number = int(value) if value.isdecimal() else 0
        words = f"preset {value}"
        if 0 < number <= len(published) and published[0]:
            words += f" (documented as {published[number - 1]})"
    elif name == "component":
        words = {"han": "HAN decides", "tuned": "coll/tuned decides"}.get(value, f"coll/{value}")
    elif name in ("algorithm", "composition"):
        words = f"{name} {value}"
    else:
        more = []
        words = ", ".join(f"{n}={v}" for n, v in settings)
    for name, value in more:
        if ignored(collective, settings[0][1], name):
            continue
        text = next((t for end, t in _MORE if name.endswith(end)), None)
        words += ", " + (text.format(value) if text else f"{name}={value}")
    return words


def ignored(collective: str, algorithm: str, name: str) -> bool:
    """Return whether an algorithm of coll/tuned does not look at a parameter of its rule."""
    lookers = next((by for end, by in LOOKED_AT.items() if name.endswith(end)), None)
    return lookers is not None and algorithm not in tuple(lookers.get(collective, ""))


def _named(value: str, names: Sequence[str]) -> str:
    if not value.isdecimal():
        return value
    number = int(value)
    return f"{value} ({names[number - 1]})" if 0 < number <= len(names) else value


def size_meaning(form: str, collective: str) -> str | None:
    """Return what sizes of a file count, where that is not the vector; None: the vector."""
    if form in ("classic", "json"):
        if openmpi_bytes(collective, 1, 2) is None:
            return "sizes are those of the local arguments of each rank, or ignored"
        if openmpi_bytes(collective, 1, 2) == 2:
            return "sizes count the blocks of all ranks together"
    if collective in BLOCKS:
        return "sizes are of one block"
    return None


def flattened(rows: Sequence[NativeRow]) -> list[NativeRow]:
    """Return rows that do not overlap, where the first of a call counts.

    By collective, with what no row is for left to the MPI: every call of two ranks and more has
    one.
    """
    out: list[NativeRow] = []
    for collective, mine in grouped((r.collective, r) for r in rows).items():
        for first, last in _spans([(r.first, r.last) for r in mine]):
            here = [r for r in mine if r.holds(first, None)]
            for low, high in _spans([(r.low, r.high) for r in here]):
                found = next((r for r in here if r.holds(first, low)), None)
                row = found or NativeRow("", collective, first, last, low, high, ())
                row = replace(row, first=first, last=last, low=low, high=high)
                before = out[-1] if out else None
                if before and (before.collective, before.first) == (collective, first) and (
                    before.settings == row.settings
                ):  # fmt: skip
                    out[-1] = replace(before, high=high)
                else:
                    out.append(row)
    return out


def _spans(bounds: Sequence[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Return neighbouring spans from 0 on between all bounds, the last without end."""
    ends = {high + 1 for _, high in bounds if high is not None}
    ordered = sorted({0, *(low for low, _ in bounds), *ends})
    return list(zip(ordered, [s - 1 for s in ordered[1:]] + [None], strict=True))


def shadowed(rows: Sequence[NativeRow]) -> list[tuple[NativeRow, NativeRow]]:
    """Return rows that never apply, each with the first one that takes some of its calls.

    Of rows of one collective, the first for a call counts.
    """
    out = []
    for mine in grouped((r.collective, r) for r in rows).values():
        for i, row in enumerate(mine):
            before = [r for r in mine[:i] if not r.only or r.only == row.only]
            spans = _spans([(r.first, r.last) for r in [*before, row]])
            left = [
                (first, low)
                for first, _ in spans
                for low, _ in _spans([(r.low, r.high) for r in [*before, row]])
                if row.holds(first, low) and not any(r.holds(first, low) for r in before)
            ]
            if not left:
                out.append((row, next(r for r in before if r.last is None or r.last >= row.first)))
    return out
