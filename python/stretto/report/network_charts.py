"""The pictures on the page of network results: which figures of which systems, in which section."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from stretto.counted import sized
from stretto.measure.stats import Interval, median_interval
from stretto.net import systems as net
from stretto.net.judge import fastest_setting
from stretto.net.p2p import RATE_BYTES
from stretto.net.p2p_show import by_thread_level, value
from stretto.net.rails_judge import NATIVE, bandwidth, label, per_launch, shares_of
from stretto.report import format as fmt
from stretto.report.figures import network as draw
from stretto.report.render import Figure

#: so much of a name stands at a line
LABEL = 36
#: by unit: title of a chart over sizes, and its name in files
TITLES = {"us": "Time of a message", "MB/s": "Bandwidth", "messages/s": "Message rate"}
_KEYS = {"us": "latency", "MB/s": "bandwidth", "messages/s": "rate"}
WORDS = {"us": "latency", "MB/s": "bandwidth", "messages/s": "message rate"}


def _plain(unit: str, what: str) -> re.Match[str] | None:
    """Return the match of what each chart of several systems shows, with the number of pairs."""
    return re.fullmatch(rf"{WORDS[unit]}(?:, (\d+ pairs))?", what)


def lines_of(systems: Sequence[net.NetSystem], unit: str) -> dict[str, dict[int, Interval]]:
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


def sections(systems: Sequence[net.NetSystem]) -> list[tuple[str, str, list[Figure]]]:
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
        title = TITLES[unit]
        lines.sort(key=lambda line: not line[0].endswith(f", {NATIVE}"))
        what = f"{WORDS[unit]}, "
        if all(words.startswith(what) for words, _ in lines):  # of `net rails`
            lines = [(words.removeprefix(what), curve) for words, curve in lines]
        charts = [(title, dict(lines[i : i + 5])) for i in range(0, len(lines), 5)]
    else:
        charts = [(fmt.capital(what), dict(found)) for what, found in curves.items()
                  if len(found) == len(systems) == 2]  # fmt: skip
    drawn = [draw.over_sizes(f"net-{kind}-{i}", *chart, unit) for i, chart in enumerate(charts)]
    partly = any(_plain(unit, w) and len(found) < len(systems) for w, found in curves.items())
    if len(systems) > 2 or partly:
        beside = lines_of(systems, unit)
        drawn.insert(0, draw.over_sizes(f"net-{kind}", TITLES[unit], beside, unit))
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
