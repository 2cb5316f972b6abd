"""The page of network results, of one system or of two: the answer, pictures, all figures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from stretto.counted import sized, three
from stretto.files.net import NetFile
from stretto.measure.stats import Interval, median_interval
from stretto.net import systems as net
from stretto.net.cores import cores_answer, cores_findings
from stretto.net.judge import answer, fastest_setting, findings
from stretto.net.p2p import RATE_BYTES
from stretto.net.p2p_show import mpi_page
from stretto.net.rails_judge import bandwidth, per_launch, rails_answer, rails_findings, shares_of
from stretto.report import format as fmt
from stretto.report import page, render
from stretto.report.figures import network as draw
from stretto.report.figures.network import Curve
from stretto.report.head import Head
from stretto.report.render import Figure

#: findings of a kind that are on the page
REMARKS = 2
#: so much of a name stands at a line
LABEL = 36

Drawn = Callable[[int, int, str], None]


METHOD = (
    "Medians over launches (messages through an MPI) or runs with new connections (TCP), with 95 % "
    "intervals where there are six or more. A ratio stands only where both systems have six, and "
    "the rank test, adjusted for all comparisons of this page, was made. A difference counts only "
    "if it is significant (5 %) and above 3 %. MB/s are 10^6 bytes a second."
)


class Shown(Protocol):
    """What the page says of a system; `result` has `stretto` and `created`."""

    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def paths(self) -> tuple[Path, ...]: ...
    @property
    def result(self) -> Any: ...


@dataclass(frozen=True)
class NetPage:
    """What the page shows; sections without data are not in it."""

    sentences: Sequence[str]
    remarks: list[tuple[str, str]]
    systems: Sequence[Shown]
    sections: list[tuple[str, str, list[Figure]]]
    rows: list[list[str]]
    notes: Sequence[str]
    title: str = "Stretto network"
    method: str = METHOD
    following: str = ""

    @property
    def answer(self) -> str:
        return " ".join(self.sentences)

    @property
    def figures(self) -> list[Figure]:
        return [figure for _, _, figures in self.sections for figure in figures]


def report(
    paths: Sequence[Path], output: Path, png: Path | None, svg: Path | None, drawn: Drawn
) -> dict[str, Any]:
    """Write the page of one or two systems; return what it says, for ``--json``."""
    found = net.systems(paths)
    shown = compared(net.compared(*found)) if len(found) == 2 else alone(found[0])
    return written(shown, "network", output, png, svg, drawn)


def written(
    shown: NetPage, kind: str, output: Path, png: Path | None, svg: Path | None, drawn: Drawn
) -> dict[str, Any]:
    """Write a page; return what it says, for ``--json``."""
    paths = write(shown, output, png, svg, drawn)
    return {
        "verdict": shown.answer,
        "kind": kind,
        "notes": list(shown.notes),
        "figures": [figure.name for figure in shown.figures],
        "written": [str(path) for path in paths],
    }


def compared(found: net.NetCompared) -> NetPage:
    a, b = found.systems
    rows = [["figure", "size", "unit", a.name, b.name, f"{b.name} against {a.name}"]]
    rows += [
        [r.figure.what, r.figure.size, r.figure.unit,
         *(three(v.median) for v in r.values), r.words]
        for r in found.rows
    ]  # fmt: skip
    return NetPage([found.answer], [], found.systems, _sections(found.systems), rows, found.notes)


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
    if result.streams or result.latencies:
        said = answer(result)
        sentences.append(said.text[:1].upper() + said.text[1:])
        remarks += [(said.remedy, "")] if said.remedy else []
        following = said.next_command
    if result.rails is not None:
        tried = rails_answer(result.rails)
        sentences.append(tried.text)
        remarks += [(tried.remedy, "")] if tried.remedy else []
        following = tried.next_command or following
        remarks += [(f.text, f.remedy) for f in rails_findings(result.rails)]
    if result.cores is not None:
        sentences += list(cores_answer(result.cores))
        remarks += [(f.text, f.remedy) for f in cores_findings(result.cores)]
    rows = [["figure", "size", "unit", "median", "95 % interval", "launches or runs"]]
    for figure, values in net.figures(result).items():
        value = median_interval(values)
        spread = "" if value.low is None else f"{three(value.low)} to {three(value.high or 0)}"
        rows.append([figure.what, figure.size, figure.unit, three(value.median),
                     spread, str(value.n)])  # fmt: skip
    unknown = result.imported.unknown if result.imported else []
    notes = [f"Not known: {', '.join(unknown)}."] if unknown else []
    if more > 0:
        notes.append(f"{more} more findings of the same kinds: stretto net tcp --json has all.")
    return NetPage(sentences, remarks, [system], _sections([system]), rows, notes, following)


def write(
    shown: NetPage,
    output: Path | None,
    png: Path | None,
    svg: Path | None,
    drawn: Drawn = lambda done, total, name: None,
) -> list[Path]:
    """Write the page and the charts that were asked for; None: not asked for."""
    total = len(shown.figures)
    written: list[Path] = []
    done: list[str] = []

    def counted(name: str) -> None:
        done.append(name)
        drawn(len(done), total, name)

    if output is not None:
        names = [s.name for s in shown.systems]
        text = (
            page.environment(counted)
            .get_template("network.html.j2")
            .render(
                p=shown,
                title=f"{shown.title}: {' and '.join(names)}",
                head=_head(shown),
                about=[(s.name, s.about) for s in shown.systems],
            )
        )
        written.append(render.save(output, text))
    for figure in shown.figures:
        written += render.write(figure, png, svg)
    return written


def _head(shown: NetPage) -> Head:
    names = [s.name for s in shown.systems]
    first, *more = re.split(r"(?<=\.) (?=[A-Z])", shown.sentences[0])
    held = [("findings", "Findings")] if shown.remarks or shown.notes else []
    held += [(key, key.capitalize()) for key, _, _ in shown.sections]
    return Head(
        shown.title.removeprefix("Stretto "),
        " and ".join(names),
        first,
        _facts(shown.systems[0].result) if names == [shown.systems[0].name] else [],
        shown.following,
        [*more, *shown.sentences[1:]],
        sections=[*held, ("numbers", "Numbers"), ("method", "Method")],
    )


def _facts(result: Any) -> list[tuple[str, str]]:
    """Return the extremes of one network: the least latency, and the most bandwidth."""
    out = []
    if not isinstance(result, NetFile):
        return []
    found = {f: median_interval(v).median for f, v in net.figures(result).items()}
    for unit, pick, what in (("us", min, "least latency"), ("MB/s", max, "most bandwidth")):
        mine = {f: value for f, value in found.items() if f.unit == unit}
        if mine:
            best = pick(mine, key=lambda f: mine[f])
            out.append((what, f"{three(mine[best])} {unit} ({best.what}, {best.size})"))
    return out


def _sections(systems: Sequence[net.NetSystem]) -> list[tuple[str, str, list[Figure]]]:
    sections = (
        ("latency", "Latency against message size", _over_sizes(systems, "us")),
        ("bandwidth", "Bandwidth against message size", _over_sizes(systems, "MB/s")),
        ("streams", "Bandwidth against TCP streams", _streams(systems)),
        ("rails", "Links and rails", [f for s in systems for f in _rails(s, len(systems) > 1)]),
        ("cores", "Cores of a node", [f for s in systems for f in _cores(s, len(systems) > 1)]),
        ("pairs", "Pairs of hosts", [f for s in systems for f in _pairs(s, len(systems) > 1)]),
    )
    return [(key, title, figures) for key, title, figures in sections if figures]


def _label(system: net.NetSystem) -> str:
    """Return a system's name, short enough to stand at a line."""
    name, half = system.name, LABEL // 2
    return name if len(name) <= LABEL else f"{name[: half - 1]}\u2026{name[-half:]}"


def _over_sizes(systems: Sequence[net.NetSystem], unit: str) -> list[Figure]:
    """Return one chart of all tests of a system; of two systems one a test."""
    curves: dict[str, dict[str, dict[int, Interval]]] = defaultdict(lambda: defaultdict(dict))
    for system in systems:
        for figure, values in net.figures(system.result).items():
            if figure.unit == unit:
                curves[figure.what][_label(system)][figure.bytes] = median_interval(values)
    out: list[Figure | None] = []
    kind = "latency" if unit == "us" else "bandwidth"
    if len(systems) == 1:
        found = {what: next(iter(found.values())) for what, found in curves.items()}
        lines: Mapping[str, Curve] = {w: curve for w, curve in found.items() if len(curve) > 1}
        parts = [dict(list(lines.items())[i : i + 5]) for i in range(0, len(lines), 5)]
        words = "Time of a message" if unit == "us" else "Bandwidth"
        out = [
            draw.over_sizes(f"net-{kind}-{i}", words, part, unit) for i, part in enumerate(parts)
        ]
    else:
        both = [(what, found) for what, found in curves.items() if len(found) == 2]
        for i, (what, found) in enumerate(both):
            title = f"{what[:1].upper()}{what[1:]}"
            out.append(draw.over_sizes(f"net-{kind}-{i}", title, found, unit))
    return [figure for figure in out if figure is not None]


def _streams(systems: Sequence[net.NetSystem]) -> list[Figure]:
    curves: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for system in systems:
        streams = [s for s in system.result.streams if s.beside == "nothing"]
        most = max((s.bytes for s in streams), default=0)
        for s in streams:
            if s.bytes == most:
                words = "one thread" if s.threads == 1 else f"{s.threads} threads"
                series = f"{_label(system)}, {words}" if len(systems) > 1 else words
                curves[series][s.streams].append(8e-9 * s.rate)
    lines = {
        series: {n: Interval(median(found), None, None, len(found)) for n, found in curve.items()}
        for series, curve in curves.items() if len(curve) > 1
    }  # fmt: skip
    figure = draw.over_streams("net-streams", "Medians over the pairs of hosts", lines)
    return [figure] if figure is not None else []


def _rails(system: net.NetSystem, several: bool) -> list[Figure]:
    """Return the bandwidth of each setting, parted by the rails that carried its bytes."""
    rails = system.result.rails
    if rails is None:
        return []
    whose = f" of {system.name}" if several else ""
    key = f"-{fmt.identifier(system.name)}" if several else ""
    bars: dict[str, tuple[float, Mapping[str, float]]] = {}
    rates: dict[str, tuple[float, Mapping[str, float]]] = {}
    for s in rails.settings:
        if s.messages:
            bars[s.name] = float(median(per_launch(bandwidth(s)))), shares_of(rails, s)
            small = [m for m in s.messages if (m.test, m.bytes) == ("bandwidth", RATE_BYTES)]
            if small:
                rates[s.name] = 1e6 / RATE_BYTES * float(median(per_launch(small[0]))), {}
    title = f"Message rate, {sized(RATE_BYTES)}{whose}"
    return [
        draw.rails_bars(f"net-rails{key}", f"Bandwidth by rail{whose}", bars),
        *([draw.rails_bars(f"net-rails-rate{key}", title, rates, "messages/s")] if rates else []),
    ]


def _pairs(system: net.NetSystem, several: bool) -> list[Figure]:
    whose = f" of {system.name}" if several else ""
    best = {s.pair: 8e-9 * s.rate for s in fastest_setting(system.result.streams)}
    least = min((x.bytes for x in system.result.latencies), default=0)
    latency = {
        x.pair: float(median(run.median_us for run in x.runs))
        for x in system.result.latencies if x.bytes == least
    }  # fmt: skip
    key = f"-{fmt.identifier(system.name)}" if several else ""
    found = (
        draw.pairs_heat(f"net-pairs-bandwidth{key}", f"Bandwidth{whose}", best, "Gb/s"),
        draw.pairs_heat(
            f"net-pairs-latency{key}", f"Latency of {sized(least)}{whose}", latency, "us"
        ),
    )
    return [figure for figure in found if figure is not None]


def _cores(system: net.NetSystem, several: bool) -> list[Figure]:
    """Return flags and copies between hardware threads; a pair was measured in one direction."""
    if system.result.cores is None:
        return []
    whose = f" of {system.name}" if several else ""
    key = f"-{fmt.identifier(system.name)}" if several else ""
    flags: dict[tuple[str, str], float] = {}
    copies: dict[tuple[str, str], float] = {}
    for pair in system.result.cores.pairs:
        both = [(str(pair.a), str(pair.b)), (str(pair.b), str(pair.a))]
        flags |= dict.fromkeys(both, float(median(pair.flag_ns)))
        shared = [copy for copy in pair.copies if copy.way == "shared"]
        if shared:
            large = max(shared, key=lambda copy: copy.bytes)
            copies |= dict.fromkeys(both, 1e-9 * float(median(large.bytes_s)))
    found = (
        draw.pairs_heat(f"net-cores-flag{key}", f"Flag between cores{whose}", flags, "ns"),
        draw.pairs_heat(f"net-cores-copy{key}", f"Copy between cores{whose}", copies, "GB/s"),
    )
    return [figure for figure in found if figure is not None]
