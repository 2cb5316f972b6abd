"""Network results by system, and every figure that one has: messages, streams, flags, copies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from stretto.counted import counted, sized
from stretto.errors import StrettoError
from stretto.files.identity import titled
from stretto.files.net import (
    Messages,
    NetFile,
    NodeCores,
    Ranks,
    read_net,
)
from stretto.files.results import names_of, stands_for
from stretto.net.hosts import Pair
from stretto.net.p2p import WINDOW, messages_s, placement
from stretto.net.rails_judge import label

_Part = TypeVar("_Part")
ENDING = ".net.json"
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


def is_net(path: Path) -> bool:
    return stands_for(path, ENDING)


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
