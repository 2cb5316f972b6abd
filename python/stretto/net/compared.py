"""Two systems compared in all that both have figures of: an answer, a table and notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stretto.counted import counted, sized, three
from stretto.errors import StrettoError
from stretto.files.net import Ranks
from stretto.files.outcome import Verdict
from stretto.measure.show import in_columns
from stretto.measure.stats import FEWEST, Interval, median_interval
from stretto.measure.verdict import judge
from stretto.net.judge import ComparedRates, compare
from stretto.net.p2p import messages_s, million
from stretto.net.rails_judge import label
from stretto.net.systems import NetFigure, NetSystem, differing_settings, figures


@dataclass(frozen=True)
class NetRow:
    """One figure of both systems.

    `values`: median over launches or runs of each. `ratio`: how many times better the second is
    than the first.
    """

    figure: NetFigure
    values: tuple[Interval, Interval]
    ratio: Interval
    verdict: Verdict

    @property
    def words(self) -> str:
        """The second against the first; a ratio only where a test was made."""
        outcome = self.verdict.outcome
        if not self.verdict.tested or outcome == "inconclusive":
            return "inconclusive" if self.verdict.tested else "not tested"
        if outcome == "same":
            return "equal"
        better = outcome == "faster"
        lower = better == self.figure.lower_is_better
        ratio = self.ratio.median, self.ratio.low or 0.0, self.ratio.high or 0.0
        middle, low, high = ratio if better else (1 / ratio[0], 1 / ratio[2], 1 / ratio[1])
        word = "lower" if lower else "higher"
        return f"{three(middle)} times {word} ({three(low)} to {three(high)})"


@dataclass(frozen=True)
class NetCompared:
    """Two systems, the figures that both have, and what could not be compared."""

    systems: tuple[NetSystem, NetSystem]
    rows: tuple[NetRow, ...]
    notes: tuple[str, ...]

    @property
    def answer(self) -> str:
        first, second = (s.name for s in self.systems)
        return f"{second} against {first}: {', '.join(_answers(self.rows))}."


def compared(a: NetSystem, b: NetSystem) -> NetCompared:
    """Compare two systems in everything that both have figures of; all tests are one family."""
    common = (a.pairs & b.pairs) or None
    one, two = (figures(s.result, common) for s in (a, b))
    shared = [figure for figure in one if figure in two]
    if not shared:
        raise StrettoError(
            f"the systems have no measurement in common: {a.name} has {_kinds(one)}; {b.name} "
            f"has {_kinds(two)}",
            ", ".join(map(str, (*a.paths[:1], *b.paths[:1]))),
            "measure both with the same command: stretto net mpi -o NAME.net.json; one chart of "
            "both: stretto report A.net.json B.net.json",
        )  # fmt: skip
    # the first is divided by the second where less is better, the other way round elsewhere
    whole = [f for f in shared if min(*one[f], *two[f]) > 0]
    cases = [(one[f], two[f]) if f.lower_is_better else (two[f], one[f]) for f in whole]
    tested = dict(zip(whole, compare(cases), strict=True))
    rows = []
    for figure in shared:
        values = median_interval(one[figure]), median_interval(two[figure])
        number = min(v.n for v in values)
        now = tested.get(figure, ComparedRates(Interval(1.0, None, None, number), None))
        inverse = Interval(1 / now.ratio.median, None, None, number)  # judge takes ratios of times
        rows.append(NetRow(figure, values, now.ratio, judge(inverse, now.q, number)))
    return NetCompared((a, b), tuple(rows), tuple(_notes((a, b), (one, two), rows)))


def lines(found: NetCompared) -> list[str]:
    a, b = found.systems
    out = [found.answer, f"  {a.name}: {a.about}", f"  {b.name}: {b.about}", ""]
    table = [["", "bytes", "", a.name, b.name, f"{b.name} against {a.name}"]]
    for row in found.rows:
        figure = row.figure
        values = [three(v.median) for v in row.values]
        table.append([figure.what, figure.size, figure.unit, *values, row.words])
    return [*out, *in_columns(table), "", *(f"note: {note}" for note in found.notes)]


def _kinds(found: Mapping[NetFigure, object]) -> str:
    return ", ".join(_ordered(list(found))) or "none"


def _answers(rows: Sequence[NetRow]) -> Iterator[str]:
    """Yield latency, bandwidth, all pairs, message rate and TCP, as far as there are rows."""
    latency = [r for r in rows if r.figure.what == "latency" and r.figure.bytes > 0]
    if latency:
        small = min(latency, key=lambda r: (r.figure.bytes != 8, r.figure.bytes))
        yield f"{sized(small.figure.bytes)} latency {_said(small)}"
    by_what: dict[str, list[NetRow]] = defaultdict(list)
    for row in rows:
        by_what[row.figure.what].append(row)
    many = [w for w in by_what if w.startswith("bandwidth, ") and w.endswith(" pairs")]
    for what in ("bandwidth", *many):
        if what in by_what:
            yield _bandwidth(what, sorted(by_what[what], key=lambda r: r.figure.bytes))
    rated = [r for r in by_what[many[-1]] if r.figure.bytes] if many else []
    if rated:
        yield _message_rate(min(rated, key=lambda r: r.figure.bytes))
    tcp = [r for r in rows if r.figure.what.startswith("TCP")]
    for unit, those in (("us", tcp[:1]), ("Gb/s", tcp[-1:])):
        yield from (f"{r.figure.what} {_said(r)}" for r in those if r.figure.unit == unit)
    if (
        not latency
        and not by_what.keys() & {"bandwidth", *many}
        and rows[0].figure.what[:3] != "TCP"
    ):
        first = rows[0].figure
        yield f"{first.size} {first.what} {_said(rows[0])}".strip()


def _bandwidth(what: str, rows: Sequence[NetRow]) -> str:
    """Return the bandwidth of large messages: from where on it is equal, or how it differs."""
    last = rows[-1]
    what += "," if "," in what else ""
    if last.verdict.outcome != "same":
        return f"{what} at {sized(last.figure.bytes)} {_said(last)}"
    since = last
    for row in reversed(rows):
        if row.verdict.outcome != "same":
            break
        since = row
    return f"{what} from {sized(since.figure.bytes)} equal"


def _message_rate(row: NetRow) -> str:
    """Return the rate of the smallest messages; its ratio is that of their bandwidth."""
    words = row.words
    if not row.verdict.tested:
        a, b = (million(messages_s(v.median, row.figure.bytes)) for v in row.values)
        words = f"{b} messages/s (against {a}, not tested)"
    return f"message rate at {row.figure.size} {words}"


def _said(row: NetRow) -> str:
    if row.verdict.tested:
        return row.words
    a, b = (three(v.median) for v in row.values)
    return f"{b} {row.figure.unit} (against {a}, not tested)"


def _notes(
    pair: tuple[NetSystem, NetSystem],
    found: tuple[Mapping[NetFigure, Sequence[float]], Mapping[NetFigure, Sequence[float]]],
    rows: Sequence[NetRow],
) -> Iterator[str]:
    untested = [r for r in rows if not r.verdict.tested]
    if untested:
        fewest = min(v.n for r in untested for v in r.values)
        yield (
            f"not tested: {counted(len(untested), 'figure')}; some have only "
            f"{counted(fewest, 'launch')} in a system, but {FEWEST} are needed"
        )
    for system in pair:
        yield from (f"{system.name}: {note}" for note in system.result.notes)
    for i in (0, 1):
        only = [f for f in found[i] if f not in found[1 - i]]
        kinds = {f.what for f in only} - {f.what for f in found[1 - i]}
        sizes = [f for f in only if f.what not in kinds]
        if kinds:
            yield f"only {pair[i].name} has: {', '.join(w for w in _ordered(only) if w in kinds)}"
        if sizes:
            some = ", ".join(
                f"{what} of {', '.join(sized(f.bytes) for f in sizes if f.what == what)}"
                for what in _ordered(sizes)
            )
            yield f"only {pair[i].name} has: {some}"
    pairs = [s.pairs for s in pair]
    if all(pairs) and pairs[0] != pairs[1]:
        same = len(pairs[0] & pairs[1])
        yield (
            f"the pairs of hosts differ; {counted(same, 'common pair')} are compared" if same else
            "the systems have other pairs of hosts: medians over the pairs of each are compared"
        )  # fmt: skip
    cpus = [s.result.host.cpu for s in pair if s.result.cores is not None]
    if len(set(cpus)) > 1:
        yield "the processors differ: a class of cores may differ between them"
    settings = [s.result.environment for s in pair if s.result.ranks or s.result.rails]
    if len(settings) == 2 and settings[0] != settings[1]:
        own = [label(found) or "none" for found in differing_settings(settings)]
        yield f"the settings differ: {pair[0].name} has {own[0]}; {pair[1].name} has {own[1]}"
    places = [_where(s.result.ranks) for s in pair if s.result.ranks is not None]
    if len(set(places)) > 1:
        yield f"{pair[0].name} was measured {places[0]}, {pair[1].name} {places[1]}"
    software = [s.result.imported.software if s.result.imported else ["stretto"] for s in pair]
    if software[0] != software[1]:
        yield "the systems were measured by different software: " + "; ".join(
            f"{s.name} by {', '.join(names)}" for s, names in zip(pair, software, strict=True)
        )


def _ordered(found: Sequence[NetFigure]) -> list[str]:
    return list(dict.fromkeys(f.what for f in found))


def _where(ranks: Ranks) -> str:
    half = len(ranks.hosts) // 2
    return "between nodes" if ranks.hosts[0] != ranks.hosts[half] else "within a node"
