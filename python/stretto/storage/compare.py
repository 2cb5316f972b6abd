"""Results of ``stretto io`` side by side: over ranks, or before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from stretto.counted import counted, seconds, sized
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import titled
from stretto.files.results import names_of
from stretto.files.storage import IoFile, Way, read_io
from stretto.measure.show import in_columns
from stretto.measure.stats import (
    FEWEST,
    Interval,
    benjamini_hochberg,
    median_interval,
    rank_sum_test,
    ratio_apart,
)
from stretto.measure.verdict import judge
from stretto.storage.measure import READ, WORDS
from stretto.storage.show import WayTime, about, cache_words, per_launch, words_of

ENDING = ".io.json"
#: of more results than these the answer names those with the fewest and with the most ranks
_NAMED = 3


@dataclass(frozen=True)
class IoResult:
    """One result, and what it is called here."""

    name: str
    path: Path
    file: IoFile

    @property
    def ranks(self) -> int:
        return len(self.file.hosts)


@dataclass(frozen=True)
class IoRow:
    """One way: its time in each result, against the first; None where it was not measured."""

    name: str
    times: tuple[WayTime | None, ...]

    @property
    def reads(self) -> bool:
        return self.name in READ

    def words(self, result: int) -> str:
        """Return what one result is against the first one."""
        time = self.times[result]
        if result == 0 or time is None:
            return ""
        return words_of(time) if self.times[0] is not None else "not in the first"


@dataclass(frozen=True)
class IoCompared:
    """All results, in order of their ranks, and the ways that any of them has."""

    results: tuple[IoResult, ...]
    rows: tuple[IoRow, ...]
    notes: tuple[str, ...]

    @property
    def over_ranks(self) -> bool:
        return len({r.ranks for r in self.results}) > 1

    @property
    def labels(self) -> list[str]:
        """Return the names, with the number of ranks where these differ."""
        return [
            f"{r.name} ({counted(r.ranks, 'rank')})" if self.over_ranks else r.name
            for r in self.results
        ]

    @property
    def answer(self) -> list[str]:
        """Say of reading and of writing what the first way takes in each result."""
        out = []
        for reads, verb in ((True, "read"), (False, "write")):
            mine = [row for row in self.rows if row.reads == reads]
            if not mine:
                continue
            row = mine[0]
            measured = [i for i, time in enumerate(row.times) if time is not None]
            if len(measured) > _NAMED:
                ranks = [self.results[i].ranks for i in measured]
                ends = min(ranks), max(ranks)
                measured = [i for i, n in zip(measured, ranks, strict=True) if n in ends]
            parts = [
                f"{seconds(time.value.median)} with {self.labels[i]}"
                + (f", {words}" if (words := row.words(i)) else "")
                for i in measured if (time := row.times[i]) is not None
            ]  # fmt: skip
            size = sized(self.results[0].file.bytes)
            out.append(f"To {verb} {size}: {WORDS[row.name]}: {'; '.join(parts)}.")
        return out


def is_io(path: Path) -> bool:
    return path.name.endswith(ENDING)


def results(paths: Sequence[Path]) -> list[IoResult]:
    """Read two or more results, in order of their ranks; those with as many stay as they are."""
    files = list({path.resolve(): path for path in paths}.values())
    if len(files) < 2:
        raise UsageError(
            "there is only one result of stretto io to compare", str(paths[0]),
            "name two or more, or show this one: stretto report NAME.io.json",
        )  # fmt: skip
    named = zip(names_of(files, ENDING), files, strict=True)
    found = [IoResult(name, path, read_io(path)) for name, path in named]
    sizes = {r.file.bytes: r for r in reversed(found)}
    if len(sizes) > 1:
        which = ", ".join(f"{sized(n)} ({r.path})" for n, r in reversed(sizes.items()))
        raise StrettoError(
            f"the results are of files of different sizes: {which}", None,
            "compare results of one file, or of copies of it",
        )  # fmt: skip
    return sorted(found, key=lambda r: r.ranks)


def compared(found: Sequence[IoResult]) -> IoCompared:
    """Compare each way with that of the first result; all tests are one family."""
    by_name = [{way.name: way for way in r.file.ways} for r in found]
    names = [name for name in WORDS if any(name in own for own in by_name)]
    cases = [
        (name, i) for name in names if name in by_name[0]
        for i in range(1, len(found)) if name in by_name[i]
    ]  # fmt: skip
    pairs = [(_times(by_name[i][name]), _times(by_name[0][name])) for name, i in cases]
    ps = [rank_sum_test(a, b) for a, b in pairs]
    tested = {}
    for case, (a, b), p, q in zip(cases, pairs, ps, benjamini_hochberg(ps), strict=True):
        ratio = ratio_apart(a, b)
        tested[case] = ratio, judge(ratio, q, ratio.n, p=p)
    rows = []
    for name in names:
        times: list[WayTime | None] = []
        for i, own in enumerate(by_name):
            time = WayTime(own[name], median_interval(_times(own[name]))) if name in own else None
            if time is not None and (name, i) in tested:
                ratio, verdict = tested[name, i]
                time = replace(time, ratio=ratio, verdict=verdict)
            times.append(time)
        rows.append(IoRow(name, tuple(times)))
    return IoCompared(tuple(found), tuple(rows), tuple(_notes(found, rows)))


def _times(way: Way) -> list[float]:
    return list(per_launch(way).values())


def _notes(found: Sequence[IoResult], rows: Sequence[IoRow]) -> Iterator[str]:
    verdicts = [t.verdict for row in rows for t in row.times if t is not None and t.verdict]
    untested = sum(not v.tested for v in verdicts)
    if untested:
        yield (
            f"not tested: {untested} of {counted(len(verdicts), 'difference')}; each result needs "
            f"{FEWEST} launches (stretto io --launches {FEWEST})"
        )
    yield (
        "the results were measured one after the other: other load on the file system can cause "
        "a difference"
    )
    hosts = {r.file.host.name for r in found}
    if len(hosts) > 1:
        yield "the results are from several machines; differences may come from these"
    for r in found:
        cache = cache_words(r.file)
        if cache is not None and not cache.startswith("page cache: cold"):
            yield f"{r.name}: {cache}"
        yield from (f"{r.name}: {note}" for note in r.file.notes)


def curves(found: IoCompared, rows: Sequence[IoRow]) -> dict[str, dict[str, dict[int, Interval]]]:
    """Return charts over the number of ranks, by way: one ("") with a line for each way.

    Results of several file systems, paths, MPIs or settings have a chart for each way, with a line
    for each of them. Empty: no line would have two points.
    """
    lines = _lines_of(found.results)
    if lines is None:
        return {}
    one = len(set(lines)) == 1
    out: dict[str, dict[str, dict[int, Interval]]] = {}
    for row in rows:
        for result, line, time in zip(found.results, lines, row.times, strict=True):
            if time is not None:
                chart, series = ("", WORDS[row.name]) if one else (row.name, line)
                out.setdefault(chart, {}).setdefault(series, {})[result.ranks] = time.value
    return out


def _lines_of(found: Sequence[IoResult]) -> list[str] | None:
    """Return the line of each result; None: they are no lines over the number of ranks."""
    facts: Sequence[Callable[[IoResult], str]] = (
        lambda r: r.file.system,
        lambda r: r.file.path,
        lambda r: titled(r.file.mpi),
        lambda r: " ".join(f"{n}={v}" for n, v in r.file.environment.items()) or "no settings",
    )
    differing = [fact for fact in facts if len({fact(r) for r in found}) > 1]
    lines = [", ".join(fact(r) for fact in differing) for r in found]
    if len({(line, r.ranks) for line, r in zip(lines, found, strict=True)}) < len(found):
        # a change that the results do not show, as of stripes: their names without the number
        lines = [r.name.rstrip("0123456789").rstrip("-_.") or r.name for r in found]
    points = {(line, r.ranks) for line, r in zip(lines, found, strict=True)}
    return lines if len(points) == len(found) > len(set(lines)) else None


def table(found: IoCompared) -> list[list[str]]:
    """Return a row for each way and result: median, interval, comparison with the first result."""
    against = f"against {found.results[0].name}"
    out = [["way", "result", "ranks", "median", "95 % interval", against]]
    for row in found.rows:
        for i, (result, time) in enumerate(zip(found.results, row.times, strict=True)):
            if time is None:
                continue
            value = time.value
            spread = "" if value.low is None else (
                f"{seconds(value.low)} to {seconds(value.high or 0)}"
            )  # fmt: skip
            named = [WORDS[row.name], result.name, str(result.ranks)]
            out.append([*named, seconds(value.median), spread, row.words(i) or "the first"])
    return out


def lines(found: IoCompared) -> list[str]:
    """Return the comparison as text."""
    rows = table(found)
    shown = [rows[0], *(
        ["" if row[0] == before[0] else row[0], *row[1:]]
        for before, row in pairwise(rows)
    )]  # fmt: skip
    abouts = [f"  {r.name}: {about(r.file)}" for r in found.results]
    notes = [f"note: {note}" for note in found.notes]
    return [*found.answer, *abouts, "", *in_columns(shown, left=2), "", *notes]


def as_json(found: IoCompared) -> Mapping[str, Any]:
    return {
        "answer": found.answer,
        "results": [
            {"name": r.name, "file": str(r.path), "ranks": r.ranks, "about": about(r.file)}
            for r in found.results
        ],
        "rows": [
            {"way": row.name,
             "values": [None if t is None else asdict(t.value) for t in row.times],
             "ratios": [asdict(t.ratio) if t and t.ratio and t.verdict and t.verdict.tested
                        else None for t in row.times],
             "outcomes": [t.verdict.outcome if t and t.verdict else None for t in row.times],
             "why": [t.verdict.words if t and t.verdict else None for t in row.times]}
            for row in found.rows
        ],
        "notes": list(found.notes),
    }  # fmt: skip
