"""What a campaign has measured and has still to do, and whether results belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.bench import (
    CRASHES,
    MOST_CRASHES,
    Bench,
    Excluded,
    Launch,
    LaunchEnd,
    Record,
    Sample,
    read_bench,
    standing_exclusions,
)
from stretto.measure.settings import Case, Settings

Key = tuple[int, str, int, str, str]  # launch, collective, bytes, shape, candidate
#: a candidate that crashed is tried so many times more in the same campaign before it is excluded
RETRIES = 1


class Ledger:
    """The cells that are done, and the candidates that are out.

    A candidate that gives wrong results, is refused or is silently left to the MPI is out for good.
    A crash may have come from outside: the launch is repeated once with the candidate. Candidates
    that crashed or hung are tried again when the same command continues (`again`), until they have
    been excluded twice. `ended`: launches that came to their end.
    """

    def __init__(self, settings: Settings, records: Iterable[Record] = ()) -> None:
        self.settings = settings
        self.done: set[Key] = set()
        self.gone: set[tuple[str, str]] = set()
        self.again: list[Excluded] = []
        self.ended: set[int] = set()
        self._strikes: Counter[tuple[str, str]] = Counter()
        self._half: Key | None = None  # its other mode is still to come
        everything = list(records)
        for record in everything:
            self.count(record)
        if everything and isinstance(everything[-1], Sample):
            self._break_off()
        crashes = Counter(
            (r.collective, r.candidate)
            for r in everything
            if isinstance(r, Excluded) and r.reason in CRASHES
        )
        self.gone = set()
        for key, record in standing_exclusions(everything).items():
            if record.reason in CRASHES and crashes[key] < MOST_CRASHES:
                self.again.append(record)
            else:
                self.gone.add(key)

    @property
    def progress(self) -> int:
        """A number that grows with whatever brings the campaign nearer to its end."""
        return len(self.done) + len(self.gone) + sum(self._strikes.values())

    def count(self, record: Record) -> None:
        """Take a record into account.

        A candidate's modes come one after the other, and the last may be missing by itself; where
        the start ended in the midst it is measured again (a full disk, say).
        """
        if isinstance(record, Excluded):
            self.gone.add((record.collective, record.candidate))
        elif isinstance(record, Sample):
            shape = f"{record.datatype} {record.operation} {record.root} {record.pattern or ''}"
            key = (record.launch, record.collective, record.bytes, shape, record.candidate)
            self.done.add(key)
            self._half = None if record.mode == self.settings.modes[-1] else key
        elif isinstance(record, LaunchEnd) and record.status == "ok":
            if self._half is not None:  # of several starts of the launch one came to its end
                self.done.add(self._half)
            self._half = None
            self.ended.add(record.launch)
        else:
            self._break_off()
            self.ended.discard(record.launch)
            if isinstance(record, Launch):
                self._half = None

    def _break_off(self) -> None:
        if self._half is not None:
            self.done.discard(self._half)

    def strike(self, collective: str, candidate: str) -> bool:
        """Count a crash; return whether the candidate may be tried once more."""
        self._break_off()  # it ended the start
        self._strikes[collective, candidate] += 1
        return self._strikes[collective, candidate] <= RETRIES

    def pending(self, launch: int) -> list[Case]:
        """What is still to be measured in a launch; a cell is measured whole or not at all."""
        out = []
        for case in self.settings.cases_of(self.settings.variant_of(launch)):
            names = tuple(c for c in case.candidates if (case.collective, c) not in self.gone)
            if not all(self.has(launch, case, c) for c in names):
                out.append(replace(case, candidates=names))
        return out

    def has(self, launch: int, case: Case, candidate: str) -> bool:
        shape = f"{case.datatype} {case.operation} {case.root} {case.pattern or ''}"
        return (launch, case.collective, case.bytes, shape, candidate) in self.done

    def order(self) -> list[int]:
        """Return the launches as they will run: rounds, each in an order of its own."""
        return [k for turn in range(self.settings.launches) for k in self.settings.order_of(turn)]

    def left_s(self) -> float:
        """Return about how long the rest of the campaign takes, in seconds."""
        cells = sum(len(self.settings.cases_of(self.settings.variant_of(k))) for k in self.order())
        left = sum(len(self.pending(k)) for k in self.order())
        return self.settings.estimate_s() * left / cells if cells else 0.0


def time_left(settings: Settings, path: Path, restart: bool = False) -> float:
    if restart or not path.exists() or path.stat().st_size == 0:
        return settings.estimate_s()
    return Ledger(settings, read_bench(path).records).left_s()


def require_layout(bench: Bench, nodes: int, ppn: int, path: Path) -> None:
    """Refuse results whose ranks were not where a table of them would say."""
    seen: dict[int, set[tuple[int, int]]] = {s.launch: set() for s in bench.samples}
    for record in bench.launches:
        if record.launch in seen:  # a start that measured nothing may not know where it was
            seen[record.launch].add((record.nodes, record.ppn))
    for launch, layouts in seen.items():
        if (nodes, ppn) not in layouts:
            where = " or ".join(f"{n} x {p}" for n, p in sorted(layouts))
            raise StrettoError(
                f"the ranks of launch {launch} were on {where} (nodes x ranks), not on "
                f"{nodes} x {ppn}, so no table for that layout can be made of it",
                path,
                "name the correct number of nodes (--hosts), and check the placement of the ranks "
                "with `stretto check -- mpirun ...`",
            )


def check_same(settings: Settings, previous: Bench, path: Path) -> None:
    """Refuse to go on with results of another layout."""
    old = previous.header.settings
    for key, value in settings.fixed().items():
        if key in old and old[key] != value:
            differing, again = f"{key} {old[key]}, and now it is {value}", "give "
            if key == "variants":
                differing = "other candidates, or another --separate-launches"
                again += "--candidates and --separate-launches as before, or "
            raise StrettoError(
                f"these results were measured with {differing}",
                path,
                f"{again}another file (-o), or --restart (it keeps the old one)",
            )
