"""Two systems compared: the same messages and streams in network results of two."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from stretto.counted import counted, sized, three
from stretto.errors import StrettoError
from stretto.files.identity import titled
from stretto.files.net import (
    Messages,
    NetFile,
    NodeCores,
    Ranks,
    read_net,
)
from stretto.files.outcome import Verdict
from stretto.files.results import names_of
from stretto.measure.show import in_columns
from stretto.measure.stats import FEWEST, Interval, median_interval
from stretto.measure.verdict import judge
from stretto.net.hosts import Pair
from stretto.net.judge import ComparedRates, compare
from stretto.net.p2p import WINDOW, messages_s, million, placement
from stretto.net.rails_judge import label

_Part = TypeVar("_Part")
ENDING = ".net.json"
#: files beside which a network result does not stand for its directory
_OTHERS = ("*.bench.jsonl", "*.profile.json", "*.table", "*.verdict.json", "*.settings.json")
#: the bandwidth of larger messages is what networks are compared by
LARGE = 64 << 10
#: what is measured, by the tests that do not say it themselves
_WORDS = {
    "bidirectional": "bandwidth both ways",
    "sends": "blocking send",
    "threads": "round trip of threads, a communicator each",
    "shared": "round trip of threads, one communicator",
    "turns": "round trip of threads in turn",
    "latency-mt": "latency of one thread with several",
    "overlap": "overlap of messages",
}
_SHARING = {
    "core": "one core",
    "cache": "one cache",
    "numa": "one NUMA domain",
    "socket": "one socket",
    "node": "the node",
}


@dataclass(frozen=True, order=True)
class NetFigure:
    """One thing that a result has a figure of.

    `unit`: us, ns, MB/s, Gb/s, GB/s, messages/s or %.
    """

    what: str
    bytes: int
    unit: str

    @property
    def lower_is_better(self) -> bool:
        return self.unit in ("us", "ns")

    @property
    def size(self) -> str:
        """The message size in words; a flag has none."""
        return "" if self.unit == "ns" else sized(self.bytes)


@dataclass(frozen=True)
class NetSystem:
    """One system: its name, its files, and what they hold together."""

    name: str
    paths: tuple[Path, ...]
    result: NetFile

    @property
    def about(self) -> str:
        ranks, imported = self.result.ranks, self.result.imported
        words = [] if ranks is None else [titled(ranks.mpi), _placed(ranks)]
        words += [label(self.result.environment)] if self.result.environment else []
        rails = self.result.rails
        if rails is not None:
            pairs = max((m.pairs for s in rails.settings for m in s.messages), default=1)
            words += [titled(rails.mpi), placement(rails.hosts, pairs)]
        hosts = [host.name for host in self.result.hosts]
        if hosts:
            more = f" and {len(hosts) - 4} more" if len(hosts) > 4 else ""
            words.append(f"TCP between {', '.join(hosts[:4])}{more}")
        if self.result.cores is not None:
            words.append(f"cores of {self.result.host.name}, {self.result.host.cpu}")
        if imported is not None:
            words.append(f"measured by {', '.join(imported.software)}")
        return "; ".join(words)

    @property
    def pairs(self) -> set[Pair]:
        """Pairs of hosts with figures of TCP."""
        return {s.pair for s in self.result.streams} | {x.pair for x in self.result.latencies}


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


def is_net(path: Path) -> bool:
    """Return whether a path is a network result, or a directory that holds nothing else."""
    if not path.is_dir():
        return path.name.endswith(ENDING)
    others = any(any(path.glob(pattern)) for pattern in _OTHERS)
    return any(path.glob(f"*{ENDING}")) and not others


def systems(paths: Sequence[Path]) -> list[NetSystem]:
    """Read a system from each path: a file, or a directory with one for each of its launches."""
    out = []
    for name, path in zip(names_of(paths, ENDING), paths, strict=True):
        files = sorted(path.glob(f"*{ENDING}")) if path.is_dir() else [path]
        whole = together([read_net(file) for file in files], path)
        out.append(NetSystem(name, tuple(files), whole))
    return out


def together(results: Sequence[NetFile], place: Path) -> NetFile:
    """Return results of one system as one: launches and runs one after the other."""
    kinds = {
        (r.ranks.mpi.version, *r.ranks.hosts, *r.environment.items())
        for r in results
        if r.ranks is not None
    }
    if len(kinds) > 1 or len({r.imported is None for r in results}) > 1:
        raise StrettoError(
            "the results in this directory have several MPIs, placements, settings or sources",
            place, "use a separate directory for each system",
        )  # fmt: skip
    if len([r for r in results if r.rails is not None]) > 1:
        raise StrettoError(
            "this directory has several results of net rails", place,
            "give one file; it contains all launches",
        )  # fmt: skip
    hosts = {host.name: host for result in results for host in result.hosts}
    ranks = next((r.ranks for r in results if r.ranks is not None), None)
    if ranks is not None:
        every = [r.ranks for r in results if r.ranks is not None]
        ranks = replace(
            ranks,
            messages=_messages([m for r in every for m in r.messages]),
            with_thread=_messages([m for r in every for m in r.with_thread]),
        )
    streams = [s for r in results for s in r.streams]
    latencies = [x for r in results for x in r.latencies]
    return replace(
        results[0], hosts=list(hosts.values()), ranks=ranks,
        notes=list(dict.fromkeys(note for r in results for note in r.notes)),
        streams=_joined(streams, lambda s: (s.pair, s.setting, s.tool), "runs"),
        latencies=_joined(latencies, lambda x: (x.pair, x.bytes, x.beside), "runs"),
        cores=_cores([r.cores for r in results if r.cores]),
        rails=next((r.rails for r in results if r.rails is not None), None),
    )  # fmt: skip


def _joined(found: Sequence[_Part], key: Callable[[_Part], object], *lists: str) -> list[_Part]:
    """Return one of those with the same key, with the lists of all, one after the other."""
    out: dict[object, _Part] = {}
    for one in found:
        if key(one) not in out:
            first = out[key(one)] = copy(one)
            for name in lists:
                setattr(first, name, [])
        for name in lists:
            getattr(out[key(one)], name).extend(getattr(one, name))
    return list(out.values())


def _messages(found: Sequence[Messages]) -> list[Messages]:
    def key(m: Messages) -> object:
        return m.test, m.bytes, m.pairs, m.window, m.threads, m.level, m.unit

    return _joined(found, key, "launches", "pure_us", "overall_us")


def _cores(found: Sequence[NodeCores]) -> NodeCores | None:
    pairs = [pair for cores in found for pair in cores.pairs]
    joined = _joined(pairs, lambda pair: (pair.a, pair.b), "flag_ns", "copies")
    for pair in joined:
        pair.copies = _joined(
            pair.copies, lambda one: (one.way, one.bytes), "bytes_s", "both_bytes_s"
        )
    return replace(found[0], pairs=joined) if found else None


def figures(result: NetFile, pairs: set[Pair] | None = None) -> dict[NetFigure, list[float]]:
    """Return a value for each launch or run of everything measured.

    `pairs`: of hosts that count in figures of TCP: medians over them; None: all.
    """
    measured = [(m, "") for m in (result.ranks.messages if result.ranks else ())]
    if result.ranks is not None:
        measured += [(m, ", progress thread") for m in result.ranks.with_thread]
    for setting in result.rails.settings if result.rails else ():
        measured += [(m, f", {setting.name}") for m in setting.messages]
    out = {
        NetFigure(message_words(m) + more, m.bytes, m.unit): [float(median(x)) for x in m.launches]
        for m, more in measured
    }
    runs: dict[NetFigure, list[list[float]]] = defaultdict(list)
    for s in result.streams:
        if pairs is None or s.pair in pairs:
            words = f"TCP, {counted(s.streams, 'stream')} x {counted(s.threads, 'thread')}"
            what = f"{words}{_beside(s.beside)} ({s.tool})"
            runs[NetFigure(what, s.bytes, "Gb/s")].append([8e-9 * rate for rate in s.rates])
    for latency in result.latencies:
        if pairs is None or latency.pair in pairs:
            what = f"TCP latency{_beside(latency.beside)}"
            runs[NetFigure(what, latency.bytes, "us")].append([r.median_us for r in latency.runs])
    for pair in result.cores.pairs if result.cores else ():
        near = _SHARING[pair.share]
        runs[NetFigure(f"flag between cores of {near}", 0, "ns")].append(pair.flag_ns)
        for one in pair.copies:
            what = f"copy between cores of {near} ({one.way})"
            for more, rates in (("", one.bytes_s), (_beside("reverse"), one.both_bytes_s)):
                values = [1e-9 * rate for rate in rates]
                runs[NetFigure(what + more, one.bytes, "GB/s")].append(values)
    for figure, found in runs.items():
        out[figure] = [float(median(run)) for run in zip(*found, strict=False)]
    return dict(sorted(out.items(), key=lambda item: order(item[0])))


def rates(found: Mapping[NetFigure, Sequence[float]]) -> dict[NetFigure, list[float]]:
    """Return messages a second of each bandwidth in one direction with a full window."""
    return {
        NetFigure(f.what.replace("bandwidth", "message rate"), f.bytes, "messages/s"):
            [messages_s(value, f.bytes) for value in values]
        for f, values in found.items()
        if f.bytes and re.fullmatch(r"bandwidth(, \d+ pairs)?", f.what)
    }  # fmt: skip


def alike(a: NetSystem, b: NetSystem) -> bool:
    """Whether two systems have a measurement in common."""
    return bool(figures(a.result).keys() & figures(b.result).keys())


def line_names(found: Sequence[NetSystem]) -> list[str]:
    """Return what tells systems apart in one chart: the MPI, its settings, else their names."""
    mpis = []
    for system in found:
        measured = system.result.ranks or system.result.rails
        mpis.append(titled(measured.mpi) if measured is not None else "")
    settings = differing_settings([s.result.environment for s in found])
    out = [", ".join(filter(None, parts)) for parts in zip(mpis, map(label, settings), strict=True)]
    if all(out) and len(set(out)) == len(out):
        return out
    return [", ".join(filter(None, (n, s.name))) for n, s in zip(out, found, strict=True)]


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


def order(figure: NetFigure) -> tuple[Any, ...]:
    """Return where a figure stands: latency, bandwidth, others, TCP last."""
    what = figure.what
    return (
        what.startswith("copy"), what.startswith(("TCP", "flag")), not what.startswith("latency"),
        not what.startswith("bandwidth"), what != "bandwidth",
        [(int(w), "") if w.isdecimal() else (-1, w) for w in what.split()], figure.bytes,
    )  # fmt: skip


def _placed(ranks: Ranks) -> str:
    return placement(ranks.hosts, max((m.pairs for m in ranks.messages), default=1))


def differing_settings(found: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return of each environment the variables that others do not have, or with other values."""
    same = set.intersection(*(set(one.items()) for one in found))
    return [{n: v for n, v in one.items() if (n, v) not in same} for one in found]


def message_words(m: Messages) -> str:
    base, _, collective = m.test.partition("-")
    words = _WORDS.get(m.test, f"overlap of {collective}" if base == "overlap" else m.test)
    if m.pairs > 1:
        words += f", {m.pairs} pairs"
    if m.test in ("bandwidth", "bidirectional") and m.window != WINDOW:
        words += f", window {m.window}"
    if m.threads > 1:
        words += f", {m.threads} threads"
    return words + (
        "" if m.level == "single" or m.threads > 1 else f", MPI_THREAD_{m.level.upper()}"
    )


def _beside(beside: str) -> str:
    return {"nothing": "", "reverse": ", both ways", "all": ", all pairs at once"}[beside]


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
