"""The page of network results, of one system, two or more: the answer, pictures, all figures."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from stretto.counted import sized, three
from stretto.files.net import NetFile, Ranks
from stretto.measure.idle import says_busy
from stretto.measure.stats import Interval, median_interval
from stretto.net import systems as net
from stretto.net.answer import answer
from stretto.net.compared import NetCompared
from stretto.net.compared import compared as compared_systems
from stretto.net.cores import cores_answer, cores_findings
from stretto.net.judge import fastest_setting, findings
from stretto.net.p2p import RATE_BYTES, hosts_known, million
from stretto.net.p2p_show import by_thread_level, level_answer, mpi_page, value
from stretto.net.rails_judge import (
    NATIVE,
    bandwidth,
    label,
    per_launch,
    rails_answer,
    rails_findings,
    shares_of,
)
from stretto.report import format as fmt
from stretto.report import page
from stretto.report.figures import network as draw
from stretto.report.format import sentence
from stretto.report.page import Head, PageFiles
from stretto.report.render import Figure

#: findings of a kind that are on the page
REMARKS = 2
#: so much of a name stands at a line
LABEL = 36
METHOD = (
    "Medians over launches (messages through an MPI) or runs with new connections (TCP), with 95 % "
    "intervals where there are six or more. A ratio is shown only if both systems have six and "
    "the rank test, adjusted for all comparisons of this page, was made. A difference counts only "
    "if it is significant (5 %) and above 3 %. MB/s are 10^6 bytes a second."
)


#: by unit: title of a chart over sizes, and its name in files
_TITLES = {"us": "Time of a message", "MB/s": "Bandwidth", "messages/s": "Message rate"}
_KEYS = {"us": "latency", "MB/s": "bandwidth", "messages/s": "rate"}
_WORDS = {"us": "latency", "MB/s": "bandwidth", "messages/s": "message rate"}


@dataclass(frozen=True)
class NetPage:
    """What the page of network or of storage results shows; sections without data are not in it.

    `systems`: name, what it is of, and its files.
    `remarks`: what stands out, and its remedy.
    `rows`: all figures, the names of the columns first; `numbers`: which columns, from 1, have
    numbers.
    """

    kind: str
    method: str
    systems: Sequence[tuple[str, str, Sequence[str]]]
    sentences: Sequence[str]
    sections: Sequence[tuple[str, str, list[Figure]]]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    remarks: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str]] = ()
    following: str = ""
    warnings: Sequence[str] = ()
    numbers: Sequence[int] = (4, 5, 6)


def report(paths: Sequence[Path], to: PageFiles) -> dict[str, Any]:
    """Write the page of one, two or more systems; return what it says, for ``--json``.

    Two are compared, if they have a measurement in common.
    """
    found = net.systems(paths)
    if len(found) == 1:
        return written(alone(found[0]), to)
    if len(found) == 2 and net.alike(*found):
        return written(compared(compared_systems(*found)), to)
    return written(several(found), to)


def written(shown: NetPage, to: PageFiles) -> dict[str, Any]:
    """Write a page; return what it says, for ``--json``."""
    names = [name for name, *_ in shown.systems]
    held = [(key, key.capitalize(), figures) for key, _, figures in shown.sections]
    head = Head(
        shown.kind,
        f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0],
        shown.sentences[0],
        [("findings", "Findings", [*shown.remarks, *shown.notes]), *held,
         ("numbers", "Numbers", True), ("method", "Method", True)],
        shown.facts,
        shown.following,
        shown.sentences[1:],
        shown.warnings,
    )  # fmt: skip
    figures = [figure for *_, drawn in shown.sections for figure in drawn]
    paths = page.write("network.html.j2", head, figures, to, p=shown)
    return {
        "verdict": " ".join(shown.sentences),
        "kind": shown.kind,
        "notes": list(shown.notes),
        "figures": [figure.name for figure in figures],
        "written": paths,
    }


def file_words(path: Path, result: Any) -> str:
    return f"{path} (stretto {result.stretto}, {result.created})"


def _about(system: net.NetSystem) -> tuple[str, str, list[str]]:
    files = [file_words(path, system.result) for path in system.paths]
    return system.name, system.about, files


def compared(found: NetCompared) -> NetPage:
    a, b = found.systems
    rows = [["measurement", "size", "unit", a.name, b.name, f"{b.name} against {a.name}"]]
    for r in found.rows:
        medians = [three(v.median) for v in r.values]
        rows.append([r.figure.what, r.figure.size, r.figure.unit, *medians, r.words])
    words = Counter("different" if " times " in r.words else r.words for r in found.rows)
    busy, notes = parted([f"{note.rstrip('.')}." for note in found.notes])
    facts = [("results of the tests", ", ".join(f"{n} {what}" for what, n in words.most_common()))]
    return NetPage(
        "network", METHOD, [_about(a), _about(b)], [found.answer], _sections(found.systems), rows,
        notes, facts=[*facts, *((s.name, _where(s)) for s in found.systems)],
        following=f"stretto report {shlex.join(map(str, b.paths))}", warnings=busy,
        numbers=(4, 5),
    )  # fmt: skip


def several(systems: Sequence[net.NetSystem]) -> NetPage:
    """Return the page of systems side by side, in charts and a table, without a test."""
    names = [system.name for system in systems]
    found = [net.figures(system.result) for system in systems]
    rows = [["measurement", "size", "unit", *names]]
    for figure in sorted({f for one in found for f in one}, key=net.order):
        medians = [three(median_interval(one[figure]).median) if figure in one else ""
                   for one in found]  # fmt: skip
        rows.append([figure.what, figure.size, figure.unit, *medians])
    best = [words for unit in _TITLES if (words := _best(systems, unit))]
    what = "; ".join(best) or ", ".join(names)
    busy, notes = parted([f"{s.name}: {note.rstrip('.')}." for s in systems
                          for note in s.result.notes])  # fmt: skip
    pairs = [(a, b) for i, a in enumerate(systems) for b in systems[i + 1 :] if net.alike(a, b)]
    notes.append("Differences are not tested here: stretto compare A B tests two results."
                 if pairs else "No two of these results have a measurement in common.")  # fmt: skip
    a, b = pairs[0] if pairs else (None, None)
    return NetPage(
        "network", METHOD, [_about(s) for s in systems], [f"{len(systems)} results: {what}."],
        _sections(systems), rows, notes, warnings=busy,
        following=f"stretto compare {_typed(a)} {_typed(b)}" if a and b else "",
        numbers=range(4, 4 + len(systems)),
    )  # fmt: skip


def _typed(system: net.NetSystem) -> str:
    """Return a system's file, or the directory of its files, as it is typed."""
    paths = system.paths
    return shlex.quote(str(paths[0] if len(paths) == 1 else paths[0].parent))


def _best(systems: Sequence[net.NetSystem], unit: str) -> str:
    """Return the best value over all lines of the chart of a unit."""
    pick, word = (min, "lowest") if unit == "us" else (max, "highest")
    values = [(value.median, size, name) for name, curve in _lines(systems, unit).items()
              for size, value in curve.items()]  # fmt: skip
    if not values:
        return ""
    value, size, name = pick(values)
    return f"{word} {_WORDS[unit]} {_amount(value, unit)} ({name}, {sized(size)})"


def _amount(value: float, unit: str) -> str:
    return f"{million(value)} messages/s" if unit == "messages/s" else f"{three(value)} {unit}"


def _plain(unit: str, what: str) -> re.Match[str] | None:
    """Return the match of what each chart of several systems shows, with the number of pairs."""
    return re.fullmatch(rf"{_WORDS[unit]}(?:, (\d+ pairs))?", what)


def _lines(systems: Sequence[net.NetSystem], unit: str) -> dict[str, dict[int, Interval]]:
    """Return a line over sizes for each system and number of pairs."""
    out: dict[str, dict[int, Interval]] = defaultdict(dict)
    for system, name in zip(systems, net.line_names(systems), strict=True):
        found = net.figures(system.result)
        for figure, values in (net.rates(found) if unit == "messages/s" else found).items():
            line = _plain(unit, figure.what)
            if line is not None:
                pairs = line[1] or "1 pair"
                out[f"{name}, {pairs}"][figure.bytes] = median_interval(values)
    return out


def parted(notes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the notes on a busy machine, which stand above all else, and the others."""
    busy = [note for note in notes if says_busy(note)]
    return busy, [note for note in notes if not says_busy(note)]


def _where(system: net.NetSystem) -> str:
    return ", ".join(system.about.split("; ")[:2])


def _next_of_mpi(ranks: Ranks) -> str:
    """Return what to measure after messages between ranks."""
    hosts = list(dict.fromkeys(ranks.hosts))
    if not hosts_known(hosts):
        return ""
    if len(hosts) == 1:
        return "stretto net node   (what the cores can do without an MPI)"
    return f"stretto net rails --hosts {','.join(hosts[:2])}   (whether all network cards are used)"


def alone(system: net.NetSystem) -> NetPage:
    result = system.result
    topics: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for finding in findings(result):
        topics[finding.topic].append((finding.text, finding.remedy))
    remarks = [remark for found in topics.values() for remark in found[:REMARKS]]
    more = sum(map(len, topics.values())) - len(remarks)
    remarks += [(lost.reason, lost.remedy) for lost in result.failed]
    sentences: list[str] = []
    following = ""
    if result.ranks is not None:
        sentences.append(mpi_page(result.ranks)[0])
        sentences += [line.strip() for line in level_answer(result.ranks)]
        following = _next_of_mpi(result.ranks)
    if result.streams or result.latencies:
        said = answer(result)
        of_host = said.text.split(" ")[0] in {host.name for host in result.hosts}
        sentences.append(f"{said.text.rstrip('.')}." if of_host else sentence(said.text))
        remarks += [(said.remedy, "")] if said.remedy else []
        following = said.next_command
    if result.rails is not None:
        tried = rails_answer(result.rails)
        sentences += tried.sentences
        remarks += [(tried.remedy, "")] if tried.remedy else []
        following = tried.next_command or following
        remarks += [(f.text, f.remedy) for f in rails_findings(result.rails)]
    if result.cores is not None:
        sentences += list(cores_answer(result.cores))
        following = following or "stretto net mpi   (messages of an MPI between these cores)"
        remarks += [(f.text, f.remedy) for f in cores_findings(result.cores)]
    rows = [["measurement", "size", "unit", "median", "95 % interval", "launches or runs"]]
    for figure, values in net.figures(result).items():
        value = median_interval(values)
        spread = "" if value.low is None else f"{three(value.low)} to {three(value.high or 0)}"
        named = [figure.what, figure.size, figure.unit]
        rows.append([*named, three(value.median), spread, str(value.n)])
    unknown = result.imported.unknown if result.imported else []
    busy, notes = parted([sentence(note) for note in result.notes])
    notes += [f"Not known: {', '.join(unknown)}."] if unknown else []
    if more > 0:
        notes.append(f"{more} more findings of the same kinds: stretto net tcp --json has all.")
    return NetPage(
        "network", METHOD, [_about(system)], sentences, _sections([system]), rows, notes,
        [(_remark(result, text), _remark(result, remedy)) for text, remedy in remarks],
        [*_facts(result), *([("where", where)] if (where := _where(system)) else []),
         *([("settings", label(found))] if (found := result.environment) else [])],
        following,
        busy,
    )  # fmt: skip


def _remark(result: NetFile, text: str) -> str:
    """Return a remark as a sentence; names and commands at its start stay as they are."""
    first = text.partition(" ")[0].rstrip(":")
    names = {host.name for host in result.hosts} | {"stretto", "mpirun", "sysctl"}
    kept = first in names or not first.isalpha()
    return f"{text.rstrip('.')}." if kept and text else sentence(text)


def _facts(result: NetFile) -> list[tuple[str, str]]:
    """Return the extremes of one network: the least latency, and the most bandwidth."""
    out = []
    found = {f: median_interval(v).median for f, v in net.figures(result).items()}
    extremes = (("us", min, "least latency"), ("MB/s", max, "most bandwidth"),
                ("ns", min, "shortest flag"), ("GB/s", max, "fastest copy"))  # fmt: skip
    for unit, pick, what in extremes:
        mine = {f: value for f, value in found.items() if f.unit == unit and "send" not in f.what}
        if mine:
            best = pick(mine, key=lambda f: mine[f])
            where = ", ".join(filter(None, (best.what, best.size)))
            out.append((what, f"{three(mine[best])} {unit} ({where})"))
    return out[:2]


def _sections(systems: Sequence[net.NetSystem]) -> list[tuple[str, str, list[Figure]]]:
    sections = (
        (
            "latency",
            "Latency against message size",
            [
                *_over_sizes(systems, "us"),
                *(f for s in systems for f in _levels(s, _suffix(s, systems))),
            ],
        ),
        (
            "bandwidth",
            "Bandwidth and message rate against message size",
            [*_over_sizes(systems, "MB/s"), *_over_sizes(systems, "messages/s")],
        ),
        ("streams", "Bandwidth against TCP streams", _streams(systems)),
        ("rails", "Links and rails", [f for s in systems for f in _rails(s, _suffix(s, systems))]),
        ("cores", "Cores of a node", [f for s in systems for f in _cores(s, _suffix(s, systems))]),
        ("pairs", "Pairs of hosts", [f for s in systems for f in _pairs(s, _suffix(s, systems))]),
    )
    of = _of(systems)
    return [
        (key, title, [replace(figure, of=of) for figure in figures])
        for key, title, figures in sections if figures
    ]  # fmt: skip


def _of(systems: Sequence[net.NetSystem]) -> tuple[str, ...]:
    """Return what pictures are of: a line for each system, or what more than two have alike."""
    abouts = [system.about.split("; ")[:3] for system in systems]
    if len(systems) == 1:
        return ("; ".join(abouts[0]),)
    if len(systems) == 2:
        return tuple(f"{s.name}: {'; '.join(x)}" for s, x in zip(systems, abouts, strict=True))
    return tuple(part for part in abouts[0] if all(part in about for about in abouts))


def _suffix(system: net.NetSystem, systems: Sequence[net.NetSystem]) -> tuple[str, str]:
    """Return what tells a chart of one of two systems apart: behind its name, and its title."""
    if len(systems) == 1:
        return "", ""
    return f"-{fmt.identifier(system.name)}", f" of {system.name}"


def _levels(system: net.NetSystem, suffix: tuple[str, str]) -> list[Figure]:
    """Return the latency over sizes at each thread level."""
    ranks = system.result.ranks
    levels = by_thread_level(ranks) if ranks is not None else {}
    if not levels:
        return []
    curves = {name: {n: value(m) for n, m in found.items()} for name, found in levels.items()}
    key, whose = suffix
    title = f"Latency by requested thread level{whose}"
    figure = draw.over_sizes(f"net-levels{key}", title, curves, "us")
    return [figure] if figure is not None else []


def _over_sizes(systems: Sequence[net.NetSystem], unit: str) -> list[Figure]:
    """Return one chart of all tests of a system; of two systems that are compared one a test.

    Where not all systems have the same, also one chart: a line for each and number of pairs.
    """
    kind = _KEYS[unit]
    curves: dict[str, dict[str, dict[int, Interval]]] = defaultdict(lambda: defaultdict(dict))
    called = fmt.told_apart([s.name for s in systems], LABEL)
    settings = net.differing_settings([s.result.environment for s in systems])
    for system, own in zip(systems, settings, strict=True):
        name = called[system.name] + (f" ({label(own)})" if own else "")
        found = net.figures(system.result)
        for figure, values in (net.rates(found) if unit == "messages/s" else found).items():
            if figure.unit == unit:
                curves[figure.what][name][figure.bytes] = median_interval(values)
    if len(systems) == 1:
        # thread levels have another chart
        skipped = "latency, MPI_THREAD_" if _levels(systems[0], ("", "")) else None
        lines = [(w, c) for w, found in curves.items() for c in found.values()
                 if len(c) > 1 and not (skipped and w.startswith(skipped))]  # fmt: skip
        title = _TITLES[unit]
        lines.sort(key=lambda line: not line[0].endswith(f", {NATIVE}"))
        what = f"{_WORDS[unit]}, "
        if all(words.startswith(what) for words, _ in lines):  # of `net rails`
            lines = [(words.removeprefix(what), curve) for words, curve in lines]
        charts = [(title, dict(lines[i : i + 5])) for i in range(0, len(lines), 5)]
    else:
        charts = [(fmt.capital(what), dict(found)) for what, found in curves.items()
                  if len(found) == len(systems) == 2]  # fmt: skip
    drawn = [draw.over_sizes(f"net-{kind}-{i}", *chart, unit) for i, chart in enumerate(charts)]
    partly = any(_plain(unit, w) and len(found) < len(systems) for w, found in curves.items())
    if len(systems) > 2 or partly:
        beside = _lines(systems, unit)
        drawn.insert(0, draw.over_sizes(f"net-{kind}", _TITLES[unit], beside, unit))
    return [figure for figure in drawn if figure is not None]


def _streams(systems: Sequence[net.NetSystem]) -> list[Figure]:
    curves: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    called = fmt.told_apart([s.name for s in systems], LABEL)
    for system in systems:
        streams = [s for s in system.result.streams if s.beside == "nothing"]
        most = max((s.bytes for s in streams), default=0)
        for s in streams:
            if s.bytes == most:
                words = "one thread" if s.threads == 1 else f"{s.threads} threads"
                if len(systems) > 1:
                    words = f"{called[system.name]}, {words}"
                curves[words][s.streams].append(8e-9 * s.rate)
    lines = {
        series: {n: Interval(median(found), None, None, len(found)) for n, found in curve.items()}
        for series, curve in curves.items()
    }  # fmt: skip
    figure = draw.over_streams("net-streams", "Bandwidth over TCP streams", lines)
    return [replace(figure, note="medians over the pairs of hosts")] if figure is not None else []


def _rails(system: net.NetSystem, suffix: tuple[str, str]) -> list[Figure]:
    """Return the bandwidth of each setting, parted by the rails that carried its bytes."""
    rails = system.result.rails
    if rails is None:
        return []
    key, whose = suffix
    bars: dict[str, tuple[float, Mapping[str, float]]] = {}
    rates: dict[str, tuple[float, Mapping[str, float]]] = {}
    for s in rails.settings:
        if s.messages:
            bars[s.name] = float(median(per_launch(bandwidth(s)))), shares_of(rails, s)
        for m in s.messages:
            if (m.test, m.bytes) == ("bandwidth", RATE_BYTES):
                rates[s.name] = 1e6 / RATE_BYTES * float(median(per_launch(m))), {}
    title = f"Message rate, {sized(RATE_BYTES)}{whose}"
    return [
        draw.rails_bars(f"net-rails{key}", f"Bandwidth by rail{whose}", bars),
        *([draw.rails_bars(f"net-rails-rate{key}", title, rates, "messages/s")] if rates else []),
    ]


def _pairs(system: net.NetSystem, suffix: tuple[str, str]) -> list[Figure]:
    result = system.result
    best = {s.pair: 8e-9 * s.rate for s in fastest_setting(result.streams)}
    least = min((x.bytes for x in result.latencies), default=0)
    latency = {
        x.pair: float(median(run.median_us for run in x.runs))
        for x in result.latencies if x.bytes == least
    }  # fmt: skip
    title = f"Latency of {sized(least)}"
    return _heats(
        suffix, ("pairs-bandwidth", "Bandwidth", best, "Gb/s"),
        ("pairs-latency", title, latency, "us"),
    )  # fmt: skip


def _cores(system: net.NetSystem, suffix: tuple[str, str]) -> list[Figure]:
    """Return flags and copies between hardware threads; a pair was measured in one direction."""
    flags: dict[tuple[str, str], float] = {}
    copies: dict[tuple[str, str], float] = {}
    at_once: dict[tuple[str, str], float] = {}
    for pair in system.result.cores.pairs if system.result.cores is not None else ():
        both = [(str(pair.a), str(pair.b)), (str(pair.b), str(pair.a))]
        flags |= dict.fromkeys(both, float(median(pair.flag_ns)))
        shared = [copy for copy in pair.copies if copy.way == "shared"]
        if shared:
            large = max(shared, key=lambda copy: copy.bytes)
            copies |= dict.fromkeys(both, 1e-9 * float(median(large.bytes_s)))
            at_once |= dict.fromkeys(both, 1e-9 * float(median(large.both_bytes_s)))
    return _heats(
        suffix, ("cores-flag", "Flag between cores", flags, "ns"),
        ("cores-copy", "Copy between cores", copies, "GB/s"),
        ("cores-both", "Copies between cores, both ways at once", at_once, "GB/s"),
    )  # fmt: skip


def _heats(
    suffix: tuple[str, str], *charts: tuple[str, str, Mapping[tuple[str, str], float], str]
) -> list[Figure]:
    key, whose = suffix
    drawn = [
        draw.pairs_heat(f"net-{name}{key}", f"{title}{whose}", values, unit)
        for name, title, values, unit in charts
    ]
    return [figure for figure in drawn if figure is not None]
