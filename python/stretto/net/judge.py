"""What limits this network: comparisons of runs, and findings with what to do about them."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from stretto.counted import counted, sized, three
from stretto.files.net import Latency, NetFile, Streams
from stretto.launch.typed import without
from stretto.measure.stats import Interval, benjamini_hochberg, rank_sum_test, ratio_apart
from stretto.measure.verdict import ALPHA, THRESHOLD
from stretto.net.hosts import Pair

#: a pair or host below this part of the best one is slow
SLOW = 0.8
#: a thread that works for this part of the time is at its limit
BUSY = 0.9
#: retransmissions, as a part of the segments sent, from which on a pair loses packets
LOSSY = 2e-3
LOST_LEAST = 10
#: a pair with so many times the latency of the best one is slow
FAR = 1.5
#: part of the time that a sender waits for a socket buffer, from which on the buffer is the limit
WAITS = 0.5
#: left out of commands that measure again: they would overwrite the result
OUT = ("--out", "-o")
#: what the pairs beside a slow one are measured for
WHICH = "to find out whether a host or the path is slow"
#: a round trip so many times the least one is spent in queues
QUEUED = 3


@dataclass(frozen=True)
class ComparedRates:
    """Rates of two settings or hosts: the ratio, and p adjusted for all comparisons of its kind."""

    ratio: Interval
    q: float | None

    @property
    def tested(self) -> bool:
        return self.q is not None

    @property
    def differs(self) -> bool:
        """Whether the difference is significant and above 3 %."""
        return self.q is not None and self.q < ALPHA and abs(self.ratio.median - 1) > THRESHOLD


@dataclass(frozen=True)
class NetFinding:
    """One thing that limits or disturbs, the hosts named in it, and all pairs that it explains.

    The topic is ``host``, ``loss``, ``pair``, ``asymmetry``, ``latency``, ``cpu``, ``buffer`` or
    ``mtu``.
    """

    topic: str
    hosts: tuple[str, ...]
    pairs: tuple[Pair, ...]
    text: str
    remedy: str


def compare(cases: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[ComparedRates]:
    """Compare rates, numerator first; p is adjusted for the number of cases."""
    qs = benjamini_hochberg([rank_sum_test(a, b) for a, b in cases])
    return [ComparedRates(ratio_apart(a, b), q) for (a, b), q in zip(cases, qs, strict=True)]


def rate_words(bytes_s: float) -> str:
    """Return a rate in bits: ``9.41 Gb/s``, ``199 Mb/s``."""
    for unit, factor in (("Gb/s", 1e9), ("Mb/s", 1e6)):
        if 8 * bytes_s >= 0.9995 * factor:
            return f"{three(8 * bytes_s / factor)} {unit}"
    return f"{three(8e-3 * bytes_s)} kb/s"


def middle(point: Streams, value: Callable[..., float]) -> float:
    """Return the median of a figure over a point's runs."""
    return float(median(value(run) for run in point.runs))


def lost_share(point: Streams) -> tuple[float, int] | None:
    """Return which part of the segments sent were retransmissions, and how many; None: unknown."""
    counts = [run.retransmitted for run in point.runs if run.retransmitted is not None]
    segments = sum(counts) + sum(run.bytes / run.mss for run in point.runs if run.mss)
    return (sum(counts) / segments, sum(counts)) if counts and segments else None


def fastest_setting(points: Sequence[Streams]) -> list[Streams]:
    """Return the points of the setting that is fastest over all pairs, one a pair."""
    by_setting: dict[object, list[Streams]] = defaultdict(list)
    for point in points:
        by_setting[point.setting].append(point)
    most = max((len(found) for found in by_setting.values()), default=0)
    whole = [found for found in by_setting.values() if len(found) == most]
    return max(whole, key=lambda found: median(p.rate for p in found), default=[])


def one_machine(result: NetFile) -> bool:
    """Whether all hosts are names of one: no packet leaves it, whatever the interface."""
    return len({host.address for host in result.hosts}) == 1


def findings(result: NetFile) -> list[NetFinding]:
    """Return what stands out, the gravest first."""
    points = result.streams
    limits = [*_busy(points), *_buffers(points, result.buffer)]
    if one_machine(result):
        return limits
    best = fastest_setting(points)
    found = [*_slow_hosts(best), *_lossy(points)]
    found += _one_way(best, {pair for finding in found for pair in finding.pairs})
    found += _slow_pairs(result, best, {pair for finding in found for pair in finding.pairs})
    found += _far(result.latencies)
    return [*found, *limits, *_mtus(result)]


def _slow_hosts(points: Sequence[Streams]) -> Iterator[NetFinding]:
    """Name hosts of which every pair is slow, the slowest first: of both ways, or of one."""
    left = list(points)
    while len(left) >= 3:
        top = max(point.rate for point in left)
        healthy = [point for point in left if point.rate >= SLOW * top]
        cases: list[tuple[str, str, list[Streams]]] = []
        for host in dict.fromkeys(name for point in left for name in point.pair):
            sends = [point for point in left if point.source == host]
            takes = [point for point in left if point.target == host]
            for word, own in (("in both directions", [*sends, *takes] if sends and takes else []),
                              ("as a sender", sends), ("as a receiver", takes)):  # fmt: skip
                if len(own) >= 2 and all(point.rate < SLOW * top for point in own):
                    cases.append((host, word, own))
                    break
        if not cases:
            return
        # the host of which more pairs are slow explains those of the others
        host, word, own = max(cases, key=lambda c: (len(c[2]), -median(p.rate for p in c[2])))
        good = [rate for point in healthy for rate in point.rates]
        bad = [rate for point in own for rate in point.rates]
        (found,) = compare([(bad, good)])
        left = [point for point in left if point not in own]
        if not found.differs:
            continue
        yield NetFinding(
            "host", (host,), tuple(point.pair for point in own),
            f"{host} is slow {word}: its pairs have {rate_words(median(bad))}, the others "
            f"{rate_words(median(good))} ({found.ratio.median:.2f}x)",
            f"leave {host} out, or check its network card: ethtool INTERFACE (speed), tc qdisc "
            "show, "
            "its switch port, its instance type",
        )  # fmt: skip


def _slow_pairs(
    result: NetFile, points: Sequence[Streams], explained: set[Pair]
) -> Iterator[NetFinding]:
    left = [point for point in points if point.pair not in explained]
    top = max((point.rate for point in left), default=0.0)
    healthy = [rate for point in left if point.rate >= SLOW * top for rate in point.rates]
    slow = [point for point in left if point.rate < SLOW * top]
    for point, found in zip(slow, compare([(p.rates, healthy) for p in slow]), strict=True):
        if found.differs:
            yield NetFinding(
                "pair", point.pair, (point.pair,),
                f"{point.source} -> {point.target} is slow: {rate_words(point.rate)}, the other "
                f"pairs {rate_words(median(healthy))} ({found.ratio.median:.2f}x)",
                _pair_remedy(result, point.pair, {p.pair for p in points if p.rate < SLOW * top}),
            )  # fmt: skip


def _pair_remedy(result: NetFile, pair: Pair, slow: set[Pair]) -> str:
    if not _beside(result, pair):
        return f"measure both with a third host {WHICH}"
    further = other_pairs(result, pair)
    if further:
        return f"measure both with other hosts {WHICH}: {further}"
    too = [" -> ".join(one) for one in _beside(result, pair) if one in slow]
    if too:
        return (
            f"with other hosts they are also slow ({', '.join(too)}): check what these pairs "
            "share (network card, switch port, route)"
        )
    return "both are fast with other hosts: check the path (cables, switch ports, routes)"


def _beside(result: NetFile, pair: Pair) -> list[Pair]:
    """Return the pairs that tell whether a slow pair's hosts are slow with others, too."""
    others = [host.name for host in result.hosts if host.name not in pair][:2]
    return [(pair[0], other) for other in others] + [(other, pair[1]) for other in others]


def other_pairs(result: NetFile, pair: Pair) -> str | None:
    """Return the command that measures a slow pair's hosts with others; None: that was done."""
    wanted = _beside(result, pair)
    if not wanted or set(wanted) <= {point.pair for point in fastest_setting(result.streams)}:
        return None
    words = [word for word in result.command if word not in ("--all-pairs", "--reverse")]
    words = without(words, "--streams", "--threads", "--tool")
    words += ["--streams", "1", "--threads", "1", "--no-latency", "--tool", result.streams[0].tool]
    return again(replace(result, command=words), "--pairs", ",".join(map(":".join, wanted)))


def _far(latencies: Sequence[Latency]) -> Iterator[NetFinding]:
    """Name pairs whose latency of the smallest message is far above that of the others."""
    size = min((point.bytes for point in latencies), default=0)
    times = {p.pair: [run.median_us for run in p.runs] for p in latencies if p.bytes == size}
    least = min((median(found) for found in times.values()), default=0.0)
    near = [us for found in times.values() if median(found) < FAR * least for us in found]
    far = {pair: found for pair, found in times.items() if median(found) >= FAR * least}
    compared = compare([(found, near) for found in far.values()])
    for (pair, found), one in zip(far.items(), compared, strict=True):
        if one.differs:
            yield NetFinding(
                "latency", pair, (pair,),
                f"{pair[0]} -> {pair[1]} is far: {three(median(found))} us one way, other pairs "
                f"{three(median(near))} us ({one.ratio.median:.2f}x)",
                "choose hosts close to each other (placement group, same switch); busy or "
                "sleeping cores also add latency",
            )  # fmt: skip


def _lossy(points: Sequence[Streams]) -> Iterator[NetFinding]:
    worst: dict[Pair, tuple[float, int, int]] = {}
    for point in points:
        lost = lost_share(point)
        if lost and lost[0] >= LOSSY and lost[1] >= LOST_LEAST:
            worst[point.pair] = max(worst.get(point.pair, (0.0, 0, 0)), (*lost, point.streams))
    targets: dict[str, list[str]] = defaultdict(list)
    for source, target in worst:
        targets[source].append(target)
    for source, found in targets.items():
        pairs = tuple((source, target) for target in found)
        share, count, streams = max(worst[pair] for pair in pairs)
        to = found[0] if len(found) == 1 else f"{counted(len(found), 'host')} ({', '.join(found)})"
        yield NetFinding(
            "loss", (source, *found), pairs,
            f"{source} -> {to} loses packets: {100 * share:.2g} % of the segments sent were "
            f"retransmissions ({count}, with {counted(streams, 'stream')})",
            "look at the drops: ethtool -S INTERFACE, ip -s link, tc -s qdisc; causes are traffic "
            "shaping, a full switch queue, or a bad cable",
        )  # fmt: skip


def _busy(points: Sequence[Streams]) -> Iterator[NetFinding]:
    """Name threads that have no time left, with what more threads gave where that was measured."""
    said: set[tuple[Pair, str]] = set()
    cases = []
    for point in sorted(points, key=lambda p: -p.streams):
        for word, host, used in (
            ("sending", point.source, middle(point, lambda run: run.send_thread)),
            ("receiving", point.target, middle(point, lambda run: run.receive_thread)),
        ):
            if used >= BUSY and point.threads == 1 and (point.pair, word) not in said:
                said.add((point.pair, word))
                cases.append((point, word, host, used))
    for point, word, host, used in cases:
        same = (point.pair, point.streams, point.bytes, point.beside)
        alike = [p for p in points if (p.pair, p.streams, p.bytes, p.beside) == same]
        more = [p for p in alike if p.threads > 1]
        gain = ""
        if more:
            best = max(more, key=lambda p: p.rate)
            (found,) = compare([(best.rates, point.rates)])
            if found.differs:
                gain = f"; {counted(best.threads, 'thread')}: {found.ratio.median:.2f}x"
        yield NetFinding(
            "cpu", (host,), (point.pair,),
            f"the {word} thread on {host} is saturated: {used:.2f} cores at "
            f"{rate_words(point.rate)} with {counted(point.streams, 'stream')}{gain}",
            "use more threads, not more streams: more ranks per node, or an MPI with a progress "
            "thread per link; measure with --threads 1,4; a larger MTU and larger messages also "
            "need fewer cores",
        )  # fmt: skip


def waited(point: Streams) -> float:
    """Return for which part of the time a socket buffer held the streams back.

    None of it where packets queue on the way: then the path is the limit, whatever the buffer.
    """
    if middle(point, lambda run: run.rtt_us / (run.min_rtt_us or run.rtt_us or 1)) > QUEUED:
        return 0.0
    return middle(point, lambda run: max(run.buffer_limited, run.receiver_limited))


def _buffers(points: Sequence[Streams], asked: int | None) -> Iterator[NetFinding]:
    said: set[Pair] = set()
    for point in points:
        waits = waited(point)
        thread = middle(point, lambda run: max(run.send_thread, run.receive_thread))
        if waits < WAITS or thread >= BUSY or point.pair in said:
            continue
        said.add(point.pair)
        sender = middle(point, lambda run: run.buffer_limited - run.receiver_limited) > 0
        side = "send" if sender else "receive"
        # the kernel doubles what is asked for, and counts its own structures in it
        held = median(run.send_buffer if sender else run.receive_buffer for run in point.runs)
        rtt = middle(point, lambda run: run.rtt_us)
        letter = "w" if sender else "r"
        remedy = (
            f"raise it: sysctl -w net.ipv4.tcp_{letter}mem='4096 131072 67108864' (root); "
            "Open MPI: --mca btl_tcp_sndbuf 0 --mca btl_tcp_rcvbuf 0"
        )
        yield NetFinding(
            "buffer", point.pair, (point.pair,),
            f"{point.source} -> {point.target}: the {side} buffer of {sized(held)} limits each "
            f"stream for {100 * waits:.0f} % of the time (bandwidth = buffer / round "
            f"trip of {three(rtt)} us)",
            "leave --buffer out, or give more" if asked else remedy,
        )  # fmt: skip


def _one_way(points: Sequence[Streams], explained: set[Pair]) -> Iterator[NetFinding]:
    by_pair = {point.pair: point for point in points if point.pair not in explained}
    both = [
        (point, by_pair[pair[::-1]]) for pair, point in by_pair.items()
        if pair[0] < pair[1] and pair[::-1] in by_pair
    ]  # fmt: skip
    compared = compare([(a.rates, b.rates) for a, b in both])
    for (there, back), found in zip(both, compared, strict=True):
        ratio = found.ratio.median
        if found.differs and not SLOW < ratio < 1 / SLOW:
            yield NetFinding(
                "asymmetry", there.pair, (there.pair, back.pair),
                f"{there.source} -> {there.target} has {rate_words(there.rate)}, and back "
                f"{rate_words(back.rate)} ({max(ratio, 1 / ratio):.2f}x)",
                "look for a limit in one direction: traffic shaping, duplex mode, different routes",
            )  # fmt: skip


def _mtus(result: NetFile) -> Iterator[NetFinding]:
    mtus = defaultdict(list)
    for host in result.hosts:
        mtus[host.mtu].append(host.name)
    if len(mtus) > 1:
        words = "; ".join(f"{mtu}: {', '.join(names[:4])}" for mtu, names in sorted(mtus.items()))
        yield NetFinding(
            "mtu", tuple(name for names in mtus.values() for name in names), (),
            f"the hosts differ in MTU ({words})",
            "set the same MTU on all interfaces of a network: ip link set INTERFACE mtu N (root)",
        )  # fmt: skip
    of = {host.name: host.mtu for host in result.hosts}
    for pair, mtu in {
        p.pair: int(middle(p, lambda run: run.path_mtu)) for p in result.streams
    }.items():
        if 0 < mtu < min(of[pair[0]], of[pair[1]]):
            yield NetFinding(
                "mtu", pair, (pair,),
                f"{pair[0]} -> {pair[1]}: packets are fragmented to {mtu} bytes on the path; the "
                f"interfaces have an MTU of {min(of[pair[0]], of[pair[1]])}",
                "raise the MTU of the switches or tunnels between the two, or lower the hosts'",
            )  # fmt: skip


def again(result: NetFile, option: str, value: str) -> str:
    """Return the command that made a result, with another value of an option."""
    words = without(result.command, option, *OUT)
    return shlex.join(["stretto", *words, option, value])
