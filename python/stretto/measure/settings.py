"""What a campaign measures: sizes, candidates, launches; and how long that will take."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from stretto.errors import UsageError
from stretto.files.table import NEIGHBORHOODS, meant_collective
from stretto.files.table import TUNABLE as COLLECTIVES
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.reference import visits
from stretto.measure.variants import apart, launch_for, variant_for
from stretto.mpi.algorithms.base import PREFIX

#: what the measuring program can also do, but no table can hold
EXTRA = ("self",)
REDUCTIONS = (
    "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "self",
)  # fmt: skip
#: a size for each rank
IRREGULAR = (
    "allgatherv", "alltoallv", "gatherv", "scatterv", "reduce_scatter", "neighbor_allgatherv",
    "neighbor_alltoallv",
)  # fmt: skip
ROOTED = ("bcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
#: a block for each rank on every rank
_ALL_BLOCKS = (
    "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block",
)  # fmt: skip
#: what elements and operations the measuring program knows (``src/bench/data.c``), with bytes
DATATYPES = {
    "MPI_BYTE": 1,
    "MPI_CHAR": 1,
    "MPI_INT": 4,
    "MPI_LONG": 8,
    "MPI_FLOAT": 4,
    "MPI_DOUBLE": 8,
    "MPI_UNSIGNED": 4,
    "MPI_UNSIGNED_LONG": 8,
    "MPI_LONG_LONG": 8,
}
ARITHMETIC = ("MPI_SUM", "MPI_MAX", "MPI_MIN", "MPI_PROD")
LOGIC = ("MPI_LAND", "MPI_LOR", "MPI_BAND", "MPI_BOR")
_NO_WHOLE_NUMBERS = ("MPI_BYTE", "MPI_CHAR", "MPI_FLOAT", "MPI_DOUBLE")
LARGEST = 1 << 34
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

#: s: what a launch costs besides measuring (a guess until the first one was seen)
STARTUP_S = 1.2
#: a check fills and compares all that a rank gives and gets, in three calls (src/bench/check.c):
#: 0.003 us a byte of doubles on an EPYC (Zen 4), whatever the number of ranks
CHECKED_CALLS, CHECK_US_PER_BYTE = 3, 0.004


@dataclass(frozen=True)
class Case:
    """One collective at one size with the candidates that are compared there."""

    collective: str
    bytes: int
    datatype: str
    operation: str
    root: int
    candidates: tuple[str, ...]
    #: the graph of a neighbourhood, and how sizes of blocks differ (`measure.blocks`)
    pattern: str = ""


@dataclass(frozen=True)
class Files:
    """Native tuning files, as launches ``native:files`` have them.

    `variables`: names and values for all ranks; all other launches are without any of them.
    `digest`: of the files' contents: times of other files are not of this campaign.
    """

    variables: tuple[tuple[str, str], ...]
    digest: str


@dataclass(frozen=True)
class Settings:
    """All that a campaign is.

    `variants`: kinds of launches (`measure.variants`); each is launched `launches` times.
    `budget_s`: time for all of it; None: as long as the intervals need.
    `modes`: of ``throughput`` and ``latency``.
    `calls`: ``blocking``, ``nonblocking`` or ``persistent`` (`measure.calls`).
    `stall_s`: a candidate that does nothing for so long is taken to hang.
    `files`: for the candidate ``native:files``.
    """

    nranks: int
    cases: tuple[Case, ...]
    variants: tuple[str, ...]
    launches: int = 6
    ppn: int | None = None
    hosts: tuple[str, ...] = ()
    seed: int = 1
    budget_s: float | None = None
    relative_ci: float = 0.02
    batch_us: float = 300.0
    batches: tuple[int, int] = (9, 60)
    cold: bool = False
    calls: str = "blocking"
    modes: tuple[str, ...] = ("throughput", "latency")
    oversubscribed: bool = False
    stall_s: float = 60.0
    files: Files | None = None

    def total(self) -> int:
        return self.launches * len(self.variants)

    def variant_of(self, launch: int) -> str:
        return self.variants[launch % len(self.variants)]

    def order_of(self, turn: int) -> list[int]:
        """Return the launches of a round, in an order of its own."""
        n = len(self.variants)
        launches = list(range(turn * n, (turn + 1) * n))
        random.Random(self.seed * 7919 + turn).shuffle(launches)
        return launches

    @property
    def reference(self) -> bool:
        """Whether launches time an exchange of messages: some of them have no baseline in them."""
        return apart(self.variants)

    def cases_of(self, variant: str) -> list[Case]:
        out = []
        for case in self.cases:
            mine = tuple(c for c in case.candidates if launch_for(c, self.variants) == variant)
            if mine:
                out.append(replace(case, candidates=mine))
        return out

    def launches_needed(self) -> list[str]:
        names = {c for case in self.cases for c in case.candidates}
        return list({launch_for(c, self.variants) for c in names})

    def fixed(self) -> dict[str, Any]:
        """Return what must be equal for results to go into one file."""
        keys = ("calls", "nranks", "variants", "ppn", "hosts", "seed", "cold",
                "oversubscribed", "files")  # fmt: skip
        record = self.record()
        return {k: record[k] for k in keys}

    def record(self) -> dict[str, Any]:
        """Return all settings as a results file has them."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def estimate_s(self, reference: bool | None = None) -> float:
        """Return about how long the campaign takes, in seconds.

        `reference`: whether a reference is timed beside the candidates; None: as it will be.
        """
        timed = self.reference if reference is None else reference
        # how many cores ranks share is not known here: at worst they have one together
        on_a_core = (self.ppn or self.nranks) if self.oversubscribed else 1
        seconds = 0.0
        for case in self.cases:
            moved = case.bytes * (self.nranks if case.collective in _ALL_BLOCKS else 1)
            call_us = 1 + moved / 4000
            rounds = 0.5 * sum(self.batches)
            warm_us, visit_us = 36 * self.batch_us, 2.5 * max(self.batch_us, call_us)
            us = warm_us + CHECK_US_PER_BYTE * moved * on_a_core
            us = (us + rounds * visit_us + CHECKED_CALLS * call_us) * len(case.candidates)
            if timed:  # not in every round, and not checked
                launches = len({launch_for(c, self.variants) for c in case.candidates})
                us += (visits(rounds) * visit_us + warm_us) * launches
            seconds += 1e-6 * us
        whole = self.launches * (seconds + STARTUP_S * len(self.variants))
        if self.budget_s is None:
            return whole
        return min(whole, max(self.budget_s, self.total() * STARTUP_S))


def parse_size(text: str, most: int = LARGEST) -> int:
    """Return the bytes in ``8``, ``64K``, ``1M``; at most `most`."""
    found = re.fullmatch(r"(\d{1,99})([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise UsageError(
            f"{text[:40]!r} is not a size", "--bytes", "write for example 8, 64K or 1M"
        )
    size = int(found.group(1)) * _UNITS[found.group(2).upper()]
    if size > most:
        raise UsageError(f"{text} is too large", "--bytes", f"at most {most >> 30}G")
    return size


def whole(text: str) -> bool:
    """Return whether a text is a whole number of plain digits (``isdigit`` takes ``²``, too).

    So many digits that Python refuses to read them are a mistake.
    """
    return text.isascii() and text.isdecimal() and len(text) < 99


def parse_sizes(text: str) -> list[int]:
    """Return the sizes in ``8:1M`` (powers of two), ``8:1M:4`` (times four) or ``8,1K,64K``."""
    sizes: set[int] = set()
    for part in text.split(","):
        bounds = part.split(":")
        if len(bounds) == 1:
            sizes.add(parse_size(part))
            continue
        low, high = parse_size(bounds[0]), parse_size(bounds[1])
        factor = 2 if len(bounds) == 2 else int(bounds[2]) if whole(bounds[2]) else 0
        if len(bounds) > 3 or factor < 2 or low < 1 or high < low:
            raise UsageError(
                f"{part!r} is not a range of sizes", "--bytes", "write LOW:HIGH or LOW:HIGH:FACTOR"
            )
        while low <= high:
            sizes.add(low)
            low *= factor
    return sorted(sizes)


def parse_counts(text: str, option: str) -> list[int]:
    """Return the numbers in ``64``, ``2,4,6`` or ``2:128`` (doubling, ends included), as typed."""
    example = "write 64, 2,4,8 or 2:128 (doubling)"
    if not text.strip():
        raise UsageError(f"{option} is empty", option, f"{example}; is a shell variable unset?")
    found: list[int] = []
    for part in text.split(","):
        low, colon, high = part.strip().partition(":")
        if not whole(low) or int(low) < 1 or (colon and not whole(high)):
            raise UsageError(f"{part[:40]!r} is not a positive whole number", option, example)
        if colon and int(high) < int(low):
            raise UsageError(f"{part!r} is not a range", option, "write it as LOW:HIGH")
        number, end = int(low), int(high if colon else low)
        while number < end:
            found.append(number)
            number *= 2
        found.append(end)
    return found


def parse_duration(text: str, option: str = "--budget") -> float:
    """Return the seconds in ``90``, ``90s``, ``10m``, ``1.5h``; `option` is where it was given."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", text.strip())
    if not found or float(found.group(1)) <= 0:
        raise UsageError(f"{text!r} is not a time", option, "write for example 90s, 10m or 1h")
    return float(found.group(1)) * {"s": 1, "m": 60, "min": 60, "h": 3600}[found.group(2) or "s"]


def parse_collectives(
    text: str | None, option: str = "--collective", near: bool = False
) -> list[str]:
    """Return the collectives named in ``allreduce,bcast``.

    All but ``self`` and neighbourhoods for None. `near`: neighbourhoods may be named.
    """
    if text is None:
        return list(COLLECTIVES)
    names = [n.strip().lower().removeprefix("mpi_") for n in text.split(",") if n.strip()]
    known = COLLECTIVES + (NEIGHBORHOODS if near else ())
    there = f"there are {', '.join(known)}"
    if not names:
        raise UsageError("no collective is named", option, there)
    for name in names:
        if name not in known + EXTRA:
            raise UsageError(
                f"there is no collective {name!r} to measure", option, meant_collective(name, known)
            )
    return list(dict.fromkeys(names))


def parse_tunable(text: str | None, option: str = "--collective", near: bool = False) -> list[str]:
    """Return the collectives named in ``allreduce,bcast`` of which there can be tables."""
    names = parse_collectives(text, option, near)
    for name in set(names) & set(EXTRA):
        there = f"there are {', '.join(COLLECTIVES)}"
        raise UsageError(
            f"Stretto leaves {name} to the MPI, so there is nothing to tune", option, there
        )
    return names


def mpi_name(text: str) -> str:
    """Return the MPI's name of what a user calls ``max``, ``MAX`` or ``MPI_MAX``."""
    return "MPI_" + text.strip().upper().removeprefix("MPI_")


def check_elements(size: int, datatype: str, operation: str, reduces: bool) -> None:
    """Refuse by its option what the measuring program would refuse after a launch."""
    if datatype not in DATATYPES:
        known = ", ".join(DATATYPES)
        raise UsageError(f"{datatype} is not measured", "--datatype", f"one of {known}")
    if operation not in ARITHMETIC + LOGIC:
        known = ", ".join(ARITHMETIC + LOGIC)
        raise UsageError(f"{operation} is not measured", "--operation", f"one of {known}")
    if size % DATATYPES[datatype]:
        raise UsageError(
            f"{size} bytes are not a multiple of the size of {datatype}",
            "--bytes",
            f"use multiples of {DATATYPES[datatype]}, or another --datatype",
        )
    bits = operation in LOGIC and datatype in _NO_WHOLE_NUMBERS
    if reduces and (bits or DATATYPES[datatype] == 1):
        raise UsageError(
            f"MPI does not define {operation} on {datatype}",
            "--operation" if bits else "--datatype",
            "MPI_LAND, LOR, BAND and BOR need an integer type such as MPI_INT; reductions of "
            "MPI_BYTE and MPI_CHAR are not measured",
        )


def make_case(
    collective: str,
    size: int,
    candidates: Sequence[str],
    datatype: str | None = None,
    operation: str | None = None,
    root: int = 0,
    pattern: str = "",
) -> Case:
    """Return a case with a datatype that fits the size.

    `collective`, `size`, `candidates`: what to measure; `size` in bytes, of one block where each
    rank has one (their mean, for collectives with a size for each rank).
    `datatype`, `operation`: MPI names; by default the widest that fits, and MPI_SUM.
    `pattern`: of a neighbourhood the graph, and how sizes of blocks differ: from
    `measure.blocks.whole_pattern`.
    """
    if collective == "barrier":
        return Case(collective, 0, "MPI_BYTE", "MPI_SUM", 0, tuple(candidates))
    if datatype is None and collective not in REDUCTIONS:
        datatype = "MPI_BYTE"
    elif datatype is None:
        if size % 4:
            raise UsageError(
                f"{size} bytes are not a multiple of the element size of a reduction",
                "--bytes",
                "use multiples of 4 for reductions",
            )
        datatype = "MPI_FLOAT" if size % 8 else "MPI_DOUBLE"
    operation = operation or "MPI_SUM"
    check_elements(size, datatype, operation, collective in REDUCTIONS)
    return Case(collective, size, datatype, operation, root, tuple(candidates), pattern)


def variants_of(cases: Sequence[Case], shared: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the kinds of launches that the candidates of the cases need.

    `shared`: candidates that share a launch, and its name: from `inlaunch.shared_launches`.
    """
    together = shared or {}
    found = {together.get(c, variant_for(c)) for case in cases for c in case.candidates}
    order = {"stretto": 0, BARE: 1}
    return tuple(sorted(found, key=lambda v: (order.get(v, 2), v)))


def check_candidates(collective: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates with their baselines and without doubles.

    Those of Stretto's are compared with native, which is put in front, native algorithms with bare.
    """
    out = list(dict.fromkeys(c.strip() for c in candidates if c.strip()))
    for candidate in out:
        if not re.fullmatch(r"[!-~]{1,200}", candidate) or '"' in candidate:
            raise UsageError(
                f"{candidate!r} is not a candidate for {collective}",
                "--candidates",
                "write for example native,shm,bare,bruck_k(8)",
            )
    if NATIVE not in out and any(variant_for(c) == "stretto" for c in out):
        out.insert(0, NATIVE)
    if any(c.startswith(PREFIX) for c in out) and BARE not in out:
        out.append(BARE)
    return out
