"""The page: the answer, what stands out, and the figures; and the same as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from stretto.counted import counted, sized, three
from stretto.files.net import Latency, LatencyRun, NetFile, StreamRun, Streams
from stretto.files.schema import encode
from stretto.measure.show import in_columns
from stretto.net.answer import answer
from stretto.net.judge import NetFinding, findings, lost_share, middle, one_machine
from stretto.net.rails_judge import pulled_findings, rails_answer, rails_findings, traffic_lines

#: more pairs than these are summed up: slowest, median and fastest
ROWS_MOST = 8
#: of a kind that are printed
WARNINGS_MOST = 4

_BESIDE = {"nothing": "", "reverse": ", both directions at once", "all": ", all pairs at once"}


def page(result: NetFile) -> list[str]:
    out: list[str] = []
    if result.streams or result.latencies:
        said = answer(result)
        out += [said.text]
        out += [f"  {said.remedy}"] if said.remedy else []
        out += [f"  next: {said.next_command}"]
    by_topic: dict[str, list[NetFinding]] = defaultdict(list)
    for finding in _found(result):
        by_topic[finding.topic].append(finding)
    for found in by_topic.values():
        for finding in found[:WARNINGS_MOST]:
            out += [f"WARNING {finding.text}", f"  -> {finding.remedy}"]
        if len(found) > WARNINGS_MOST:
            out.append(f"  and {len(found) - WARNINGS_MOST} more of this kind (--json lists all)")
    for lost in result.failed:
        out += [f"FAILED  {lost.reason}", f"  -> {lost.remedy}"]
    by_beside: dict[str, list[Streams]] = defaultdict(list)
    for point in result.streams:
        by_beside[f"{_tool(point)}{_BESIDE[point.beside]}"].append(point)
    for words, points in by_beside.items():
        pairs = {point.pair for point in points}
        out += ["", f"Bandwidth, measured with {words}"]
        out += _summed(points) if len(pairs) > ROWS_MOST else _table(points)
        out += _matrix(result, points)
    if result.latencies:
        out += ["", "Latency of one message (half of a round trip)"]
        out += list(_latency_lines(result))
    by_interface = [] if one_machine(result) else traffic_lines(result.traffic)
    if by_interface:
        out += ["", "Bytes by interface during the measurement", *by_interface]
        out.append(
            "  --interface NAME selects another; stretto net rails shows which of them an MPI uses"
        )
    out += ["", *_notes(result)]
    return out


def _found(result: NetFile) -> list[NetFinding]:
    if result.rails is not None:
        return rails_findings(result.rails)
    return [*findings(result), *pulled_findings(result.traffic)]


def _tool(point: Streams) -> str:
    return "iperf3" if point.tool == "iperf3" else "the sender of Stretto"


def _lost(lost: tuple[float, int] | None) -> str:
    if lost is None:
        return "-"
    return f"{lost[1]} ({100 * lost[0]:.2g} %)" if lost[1] else "0"


def _spread(point: Streams) -> str:
    low, high = min(point.rates), max(point.rates)
    return f"{three(8e-9 * low)}..{three(8e-9 * high)}" if len(point.runs) > 1 else ""


def _table(points: Sequence[Streams]) -> list[str]:
    rows = [["pair", "streams", "threads", "message", "Gb/s", "range", "MB/s", "retransmitted",
             "cores out", "cores in", "cwnd", "RTT us"]]  # fmt: skip
    for point in sorted(points, key=lambda p: (p.pair, p.bytes, p.threads, p.streams)):
        lost = lost_share(point)

        def mid(value: Callable[[StreamRun], float], of: Streams = point) -> float:
            return middle(of, value)

        rows.append([
            f"{point.source} -> {point.target}", str(point.streams), str(point.threads),
            sized(point.bytes), three(8e-9 * point.rate), _spread(point),
            three(1e-6 * point.rate),
            _lost(lost),
            three(mid(lambda run: run.send_cores)), three(mid(lambda run: run.receive_cores)),
            sized(mid(lambda run: run.cwnd_bytes)), three(mid(lambda run: run.rtt_us)),
        ])  # fmt: skip
    return in_columns(rows)


def _summed(points: Sequence[Streams]) -> list[str]:
    by_setting: dict[Any, list[Streams]] = defaultdict(list)
    for point in points:
        by_setting[point.setting].append(point)
    rows = [["streams", "threads", "message", "pairs", "median Gb/s", "median MB/s", "slowest Gb/s",
             "", "fastest Gb/s", ""]]  # fmt: skip
    for setting, found in sorted(by_setting.items()):
        ordered = sorted(found, key=lambda p: p.rate)
        rate = median(p.rate for p in found)
        row = [str(setting[0]), str(setting[1]), sized(setting[2]), str(len(found))]
        row += [three(8e-9 * rate), three(1e-6 * rate)]
        for point in (ordered[0], ordered[-1]):
            row += [three(8e-9 * point.rate), f"{point.source} -> {point.target}"]
        rows.append(row)
    return in_columns(rows, left=0)


def _matrix(result: NetFile, points: Sequence[Streams]) -> list[str]:
    """Return all pairs as a matrix, of the setting with most streams."""
    names = [host.name for host in result.hosts]
    wanted = max(point.setting for point in points)
    rates = {point.pair: point.rate for point in points if point.setting == wanted}
    if len(names) < 3 or len(rates) < len(names) * (len(names) - 1):
        return []
    rows = [["from \\ to", *names]]
    for source in names:
        cells = (rates.get((source, target)) for target in names)
        rows.append([source, *("" if rate is None else three(8e-9 * rate) for rate in cells)])
    return ["", f"  Gb/s, {counted(wanted[0], 'stream')}", *in_columns(rows)]


def _latency_lines(result: NetFile) -> Iterator[str]:
    rows = [["pair", "message", "min us", "median us", "p99 us", "messages"]]
    points: list[Latency] = sorted(result.latencies, key=lambda p: (p.pair, p.bytes))
    pairs = list(dict.fromkeys(point.pair for point in points))

    def mid(runs: Sequence[LatencyRun], value: Callable[[LatencyRun], float]) -> float:
        return float(median(value(run) for run in runs))

    def row(label: str, size: int, runs: Sequence[LatencyRun]) -> list[str]:
        return [label, sized(size), three(min(run.min_us for run in runs)),
                three(mid(runs, lambda r: r.median_us)), three(mid(runs, lambda r: r.p99_us)),
                str(sum(run.count for run in runs))]  # fmt: skip

    if len(pairs) <= ROWS_MOST:
        rows += [row(f"{p.source} -> {p.target}", p.bytes, p.runs) for p in points]
    else:
        for size in dict.fromkeys(sorted(p.bytes for p in points)):
            runs = [run for p in points if p.bytes == size for run in p.runs]
            rows.append(row(f"{len(pairs)} pairs", size, runs))
    yield from in_columns(rows)


def _notes(result: NetFile) -> Iterator[str]:
    first = result.hosts[0]
    kinds = {(host.interface, host.mtu, host.congestion, host.speed_mbits) for host in result.hosts}
    speed = f"{three(first.speed_mbits / 1000)} Gb/s" if first.speed_mbits else "speed unknown"
    same = "all hosts" if len(kinds) == 1 else first.name
    points: list[Streams | Latency] = [*result.streams, *result.latencies]
    runs = max((len(point.runs) for point in points), default=0)
    sizes = sorted({run.mss for point in result.streams for run in point.runs if run.mss})
    segment = f", segments of {' and '.join(map(str, sizes[:3]))} B" if sizes else ""
    network = f"{same}: {first.interface} ({speed}), MTU {first.mtu}{segment}, {first.congestion}"
    if one_machine(result):
        network = f"all hosts are one machine ({first.node}): loopback, no network card"
    yield (
        f"{network}; "
        f"{counted(runs, 'run')} each, new connections in each run, median and range of the runs."
    )
    yield (
        "cores: CPU time of the program's threads; without network interrupts. Not measured: RDMA "
        "(InfiniBand, EFA) and the overhead of an MPI."
    )


def as_json(result: NetFile, file: str | None) -> dict[str, Any]:
    """Return the result, its answer and its findings for ``--json``."""
    said = answer(result) if result.streams or result.latencies else None
    if result.rails is not None:
        said = rails_answer(result.rails)
    return {
        "answer": None if said is None else asdict(said),
        "findings": [asdict(finding) for finding in _found(result)],
        "file": file,
        **encode(result),
    }
