"""Results of ``stretto scale`` of several systems: the same points side by side."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import titled
from stretto.files.outcome import Verdict
from stretto.files.results import names_of, stands_for
from stretto.files.scale import ScaleFile, read_scale
from stretto.files.verdict import as_typed, is_time
from stretto.measure.show import in_columns
from stretto.measure.stats import FEWEST, Interval, benjamini_hochberg, rank_sum_test
from stretto.scaling.analyse import Findings, MeasuredPoint, analyse, judged
from stretto.scaling.show import energy_words, metric_words, name_of, number

ENDING = ".scale.jsonl"
#: more cannot be told apart in a chart
MOST = 8


@dataclass(frozen=True)
class ScaleSystem:
    """One result, and what it is called here."""

    name: str
    path: Path
    file: ScaleFile
    found: Findings

    @property
    def about(self) -> str:
        head = self.file.header
        return f"{titled(head.mpi)} on {head.host.name}, {head.host.cpu}"


@dataclass(frozen=True)
class ScaleRow:
    """One point that the first system and another have.

    `points`: of each system; None where it has none. `verdicts`: on each but the first.
    """

    words: str
    cores: int
    kind: str
    points: tuple[MeasuredPoint | None, ...]
    verdicts: tuple[Verdict | None, ...]

    def percent(self, system: int) -> float | None:
        """Return how much more of the metric a system has than the first, in percent."""
        one, other = self.points[0], self.points[system]
        if one is None or other is None:
            return None
        return 100 * (other.value.median / one.value.median - 1)

    def ratio_words(self, system: int) -> str:
        """Return ``+18 %``, with ``?`` where it was not tested; no ratio that a test refused."""
        percent, verdict = self.percent(system), self.verdicts[system - 1]
        if percent is None or verdict is None:
            return ""
        if verdict.tested and verdict.outcome not in ("faster", "slower"):
            return verdict.outcome
        digits = 0 if abs(percent) >= 9.95 else 1
        return f"{percent:+.{digits}f} %" + ("" if verdict.tested else "?")


@dataclass(frozen=True)
class ScaleCompared:
    """All systems, the points to compare, and what the reader must know of them."""

    systems: tuple[ScaleSystem, ...]
    rows: tuple[ScaleRow, ...]
    notes: tuple[str, ...]

    @property
    def energies(self) -> list[str]:
        """Return where a run of each system takes the least energy."""
        return [f"{s.name}: {words[0]}" for s in self.systems if (words := energy_words(s.found))]

    @property
    def answer(self) -> str:
        """Say how the systems differ at the largest point that most of them have."""
        first, *others = (s.name for s in self.systems)
        if not self.rows:
            return f"No other result has a point with the same number of cores as {first}."
        row = max(self.rows, key=_importance)
        alike = [r for r in self.rows if (r.cores, r.kind) == (row.cores, row.kind)]
        where = f" ({row.words})" if len(alike) > 1 else ""
        metric = self.systems[0].found.metric
        parts = [
            _said(name, first, row.percent(i), row.verdicts[i - 1], is_time(metric),
                  name_of(metric))
            for i, name in enumerate(others, start=1) if row.points[i] is not None
        ]  # fmt: skip
        return f"On {counted(row.cores, 'core')}{where}, {'; '.join(parts)}."


def _importance(row: ScaleRow) -> tuple[int, int, bool, float]:
    """Return what the answer's row has most of: systems, cores, native, speed on the first."""
    own = row.points[0]
    return sum(map(bool, row.points)), row.cores, row.kind == "native", own.speedup if own else 0.0


def _said(
    name: str, first: str, percent: float | None, verdict: Verdict | None, timed: bool, what: str
) -> str:
    if percent is None or verdict is None or not verdict.tested:
        return f"{name} against {first} is not tested" + (f": {verdict.why}" if verdict else "")
    if verdict.outcome == "same":
        return (
            f"{name} is as fast as {first}" if timed else f"{name} has the same {what} as {first}"
        )
    if verdict.outcome == "inconclusive":
        return f"{name} against {first} is inconclusive: {verdict.words}"
    size = f"{abs(percent):.0f} %"
    if timed:
        return f"{name} takes {size} {'more' if percent > 0 else 'less'} time than {first}"
    how = "higher" if percent > 0 else "lower"
    return f"the {what} of {name} is {size} {how} than that of {first}"


def is_scale(path: Path) -> bool:
    return stands_for(path, ENDING)


def systems(paths: Sequence[Path]) -> list[ScaleSystem]:
    """Read a system from each path: a file, or a directory with one.

    Raises StrettoError: where no run succeeded. UsageError: for a directory of several results, and
    for more than can be drawn.
    """
    files = list({p.resolve(): p for p in map(_file, paths)}.values())
    if len(files) > MOST:
        raise UsageError(
            f"{len(files)} results were given",
            None,
            f"give at most {MOST}; a chart has a line for each",
        )
    read = [(path, read_scale(path)) for path in files]
    out = []
    for name, (path, file) in zip(_names(read), read, strict=True):
        found = analyse(file.runs, file.header.metric, None, file.header.energy)
        if found is None:
            raise StrettoError(
                "no run in this result succeeded", path, "measure again: stretto scale -- CMD"
            )
        out.append(ScaleSystem(name, path, file, found))
    return out


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.glob(f"*{ENDING}"))
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise UsageError(
            f"this directory has several results: {names}", str(path), "name the files"
        )
    return found[0]


def _names(read: Sequence[tuple[Path, ScaleFile]]) -> list[str]:
    """Return the MPIs; of files with the same, what tells hosts, names or directories apart."""
    titles = [titled(file.header.mpi) for _, file in read]
    if len(set(titles)) == len(titles):
        return titles
    hosts = [file.header.host.name for _, file in read]
    words = hosts if len(set(zip(titles, hosts, strict=True))) == len(read) else (
        names_of([path for path, _ in read], ENDING)
    )  # fmt: skip
    if len(set(titles)) == 1:
        return words
    return [t if titles.count(t) == 1 else f"{t} ({w})" for t, w in zip(titles, words, strict=True)]


def compared(found: Sequence[ScaleSystem]) -> ScaleCompared:
    """Compare all systems with the first at the points that both have; all tests are one family.

    Points are equal in nodes, ranks and threads; where no other system has such a point, in cores.
    """
    first = found[0]
    for other in found[1:]:
        one, two = (as_typed(s.file.header.metric) for s in (first, other))
        if one != two:
            raise StrettoError(
                f"the results have different metrics: {one}, and {two}",
                f"{first.path}, {other.path}",
                "compare results of the same --metric",
            )  # fmt: skip
    rows = _rows(found, lambda m: m.point)
    notes = []
    if not rows:
        rows = _rows(found, lambda m: m.point.cores)
        if rows:
            notes.append("the layouts differ: points with the same number of cores are compared")
    return ScaleCompared(tuple(found), tuple(rows), (*notes, *_notes(found, rows)))


def _rows(found: Sequence[ScaleSystem], key: Callable[[MeasuredPoint], object]) -> list[ScaleRow]:
    metric = found[0].found.metric
    by_key: list[Mapping[object, MeasuredPoint]] = [
        # the best of those with one key is the last one, and stays
        {(key(m), m.kind): m for m in sorted(s.found.points, key=lambda m: m.speedup)}
        for s in found
    ]
    shared = [
        (k, m) for k, m in by_key[0].items() if any(k in other for other in by_key[1:])
    ]  # fmt: skip
    shared.sort(key=lambda item: (item[1].point.cores, item[1].point, item[1].kind))
    cases = [(m, other[k]) for k, m in shared for other in by_key[1:] if k in other]
    ps = [rank_sum_test(_times(b), _times(a)) for a, b in cases]
    tested = iter(zip(cases, ps, benjamini_hochberg(ps), strict=True))
    rows = []
    for k, m in shared:
        verdicts: list[Verdict | None] = []
        for other in by_key[1:]:
            if k not in other:
                verdicts.append(None)
                continue
            (a, b), p, q = next(tested)
            runs = Interval(1.0, None, None, min(a.value.n, b.value.n))
            verdicts.append(judged(b, a, metric, runs, p, q, None)[1])
        points = tuple(own.get(k) for own in by_key)
        layouts = dict.fromkeys(p.point.words for p in points if p is not None)
        rows.append(ScaleRow(" / ".join(layouts), m.point.cores, m.kind, points, tuple(verdicts)))
    return rows


def _times(m: MeasuredPoint) -> list[float]:
    return [time for _, time in m.by_round]


def _notes(found: Sequence[ScaleSystem], rows: Sequence[ScaleRow]) -> Iterator[str]:
    untested = [v for row in rows for v in row.verdicts if v is not None and not v.tested]
    made = sum(v is not None for row in rows for v in row.verdicts)
    if untested:
        yield (
            f"? not tested: {len(untested)} of {counted(made, 'difference')}; "
            f"both systems need {FEWEST} runs at a point (stretto scale --repeats {FEWEST})"
        )
    machines = {(s.file.header.host.name, s.file.header.host.cpu) for s in found}
    if len(machines) > 1:
        yield "the results are from several machines, which may cause the differences"
    energies = {s.found.energy for s in found if s.found.energy}
    if len(energies) > 1:
        yield "the energies cannot be compared: they have different sources"
    commands = {shlex.join(s.file.header.command) for s in found}
    if len(commands) > 1:
        yield "the commands differ: " + "; ".join(sorted(commands))
    yield from (f"{s.name}: the machine was busy: {s.found.busy}" for s in found if s.found.busy)
    yield from (
        f"{s.name}, {p.words}, {kind}: no run succeeded: {why}"
        for s in found for p, kind, why in s.found.failed
    )  # fmt: skip


def table(found: ScaleCompared) -> list[list[str]]:
    """Return the points with the metric of each system, and in parentheses the difference."""
    kinds = any(row.kind == "tuned" for row in found.rows)
    threads = any(m.point.threads for row in found.rows for m in row.points if m is not None)
    head = [f"nodes x ranks{' x threads' if threads else ''}", "cores", *(["run"] if kinds else [])]
    out = [[*head, *(s.name for s in found.systems)]]
    for row in found.rows:
        values = ["" if m is None else number(m.value.median) for m in row.points]
        for i in range(1, len(values)):
            values[i] += f" ({words})" if (words := row.ratio_words(i)) else ""
        out.append([row.words, str(row.cores), *([row.kind] if kinds else []), *values])
    return out


def lines(found: ScaleCompared) -> list[str]:
    about = [f"  {s.name}: {s.about} ({s.path})" for s in found.systems]
    first = found.systems[0]
    title = f"{metric_words(first.found.metric)}; in parentheses: difference to {first.name}"
    shown = [title, *in_columns(table(found))] if found.rows else []
    notes = [*found.energies, *(f"note: {note}" for note in found.notes)]
    return [found.answer, *about, "", *shown, *([""] if shown and notes else []), *notes]


def as_json(found: ScaleCompared) -> dict[str, Any]:
    return {
        "answer": found.answer,
        "metric": vars(found.systems[0].found.metric),
        "systems": [
            {"name": s.name, "file": str(s.path), "mpi": vars(s.file.header.mpi),
             "host": s.file.header.host.name}
            for s in found.systems
        ],
        "rows": [
            {"layout": row.words, "cores": row.cores, "kind": row.kind,
             "values": [None if m is None else vars(m.value) for m in row.points],
             "energy_j": [None if m is None else m.energy_j for m in row.points],
             "percent": [row.percent(i) for i in range(1, len(found.systems))],
             "outcomes": [None if v is None else v.outcome for v in row.verdicts],
             "why": [None if v is None else v.words for v in row.verdicts]}
            for row in found.rows
        ],
        "notes": list(found.notes),
    }  # fmt: skip
