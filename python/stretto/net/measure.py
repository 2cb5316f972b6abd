"""What is measured in which order, and what the agents' answers come to."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from stretto.counted import counted
from stretto.files.net import Beside, FailedPair, Latency, LatencyRun, StreamRun, Streams, Tool
from stretto.net.agents import Agents, Message
from stretto.net.hosts import Pair, rounds

#: to connect, to agree and to hand over figures; the agents' own limits are shorter
SLACK_S = 60.0
#: of a run that is none of the traffic: connections, start and end
EACH_S = 0.15
#: of one latency run: warm-up and measurement
LATENCY_S = (0.05, 0.2)

REMEDIES = {
    "refused": "a firewall rejects it: try --port N, --interface NAME",
    "unreachable": "no route to the host: select another network with --interface NAME",
    "timeout": "a firewall drops it, or the host is down; try: ping, nc -z HOST PORT; --port N",
    "closed": "the agent on the other host ended, or lost its network; check its log",
    "version": "install the same Stretto on all hosts",
    "foreign": "another run of stretto net, or another program, uses this port: leave out --port",
    "system": "check the limits there: ulimit -n, ulimit -u, free memory",
}


@dataclass(frozen=True)
class NetSetting:
    """What is measured of a pair: bandwidth with so many streams and threads, or latency."""

    streams: int
    threads: int
    bytes: int
    latency: bool = False


@dataclass(frozen=True)
class Plan:
    """All of it: pairs, settings, runs, and how long each lasts (`tool` of bandwidth)."""

    pairs: Sequence[Pair]
    settings: Sequence[NetSetting]
    runs: int
    seconds: float
    warmup_s: float
    interval_s: float
    at_once: bool = False
    both: bool = False
    buffer: int = 0
    device: str | None = None
    tool: Tool = "own"

    @property
    def beside(self) -> Beside:
        """What is measured at the same time as a pair."""
        return "all" if self.at_once else "reverse" if self.both else "nothing"

    def steps(self) -> Iterator[tuple[list[Pair], NetSetting]]:
        """Yield the pairs that are measured at once, and how: every run visits each once."""
        grouped = rounds(self.pairs, self.at_once)
        for run in range(self.runs):
            order = self.settings if run % 2 == 0 else self.settings[::-1]
            for together in grouped:
                for setting in order:
                    yield together, setting

    def seconds_of(self, setting: NetSetting, pairs: int = 1) -> float:
        """Return how long a step takes; iperf3 takes whole seconds, and a pair at a time."""
        if setting.latency:
            return EACH_S + sum(LATENCY_S)
        if self.tool == "iperf3":
            return pairs * (2 * EACH_S + math.ceil(self.seconds) + math.ceil(self.warmup_s))
        return EACH_S + self.seconds + self.warmup_s

    @property
    def total_s(self) -> float:
        return sum(self.seconds_of(setting, len(pairs)) for pairs, setting in self.steps())


def parameters(plan: Plan, setting: NetSetting) -> str:
    """Return a measurement in the words of src/net (net_format)."""
    warmup, seconds = LATENCY_S if setting.latency else (plan.warmup_s, plan.seconds)
    direction = 3 if plan.both and not setting.latency else 1
    return (
        f"mode={int(setting.latency)} direction={direction} streams={setting.streams} "
        f"threads={setting.threads} bytes={setting.bytes} buffer={plan.buffer} warmup={warmup:g} "
        f"seconds={seconds:g} interval={plan.interval_s:g}"
    )


def stream_run(sender: Mapping[str, Any], receiver: Mapping[str, Any]) -> StreamRun:
    """Return the figures of one direction, from what both sides counted.

    `sender`, `receiver`: JSON of src/net/stream.c.
    """
    out = [flow for flow in sender["flows"] if flow["sends"]]
    into = [flow for flow in receiver["flows"] if not flow["sends"]]
    spent, took = float(sender["measured_s"]), float(receiver["measured_s"])

    def middle(flows: Sequence[Mapping[str, Any]], key: str) -> float:
        return float(median(float(flow[key]) for flow in flows))

    def share(key: str) -> float:
        busy = sum(float(flow["busy_us"]) for flow in out)
        return min(1.0, sum(float(flow[key]) for flow in out) / busy) if busy else 0.0

    each = [flow["bytes"] / took for flow in into]
    total = sum(receiver["received"])
    return StreamRun(
        rate_bytes_s=total / took,
        intervals_bytes_s=[
            n / s for n, s in zip(receiver["received"], receiver["seconds"], strict=True)
        ],
        bytes=total,
        retransmitted=sum(flow["retransmitted"] for flow in out),
        send_cores=sender["cpu_s"] / spent,
        send_thread=sender["busiest_thread_s"] / spent,
        receive_cores=receiver["cpu_s"] / took,
        receive_thread=receiver["busiest_thread_s"] / took,
        cwnd_bytes=int(median(flow["cwnd_segments"] * flow["mss"] for flow in out)),
        rtt_us=middle(out, "rtt_us"),
        min_rtt_us=middle(out, "min_rtt_us"),
        mss=int(middle(out, "mss")),
        path_mtu=int(middle(out, "path_mtu")),
        send_buffer=int(middle(out, "send_buffer")),
        receive_buffer=int(middle(into, "receive_buffer")),
        buffer_limited=share("buffer_limited_us"),
        receiver_limited=share("receiver_limited_us"),
        slowest_stream_bytes_s=min(each),
        fastest_stream_bytes_s=max(each),
    )


class NetResults:
    """What was measured so far, by pair and setting."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.streams: dict[tuple[Pair, NetSetting], Streams] = {}
        self.latencies: dict[tuple[Pair, NetSetting], Latency] = {}
        self.failed: dict[Pair, FailedPair] = {}

    def add_stream(self, pair: Pair, setting: NetSetting, run: StreamRun) -> None:
        """Add a run of bandwidth from the pair's first host to its second."""
        made = Streams(
            *pair, setting.streams, setting.threads, setting.bytes, self.plan.beside, self.plan.tool
        )
        self.streams.setdefault((pair, setting), made).runs.append(run)

    def add(self, pair: Pair, setting: NetSetting, message: Message) -> None:
        client, server = message["client"], message["server"]
        if not setting.latency:
            self.add_stream(pair, setting, stream_run(client, server))
            if self.plan.both:
                self.add_stream((pair[1], pair[0]), setting, stream_run(server, client))
            return
        made = Latency(*pair, setting.bytes, "all" if self.plan.at_once else "nothing")
        self.latencies.setdefault((pair, setting), made).runs.append(
            LatencyRun(client["count"], client["min_us"], client["median_us"], client["p99_us"])
        )

    def fail(self, pair: Pair, kind: str, reason: str) -> None:
        """Give a pair up."""
        source, target = pair
        remedy = REMEDIES.get(kind, REMEDIES["system"]).replace("HOST", target)
        self.failed.setdefault(pair, FailedPair(source, target, reason, remedy))


def step(
    agents: Agents, plan: Plan, results: NetResults, together: Sequence[Pair], setting: NetSetting
) -> None:
    """Measure pairs at the same time; what fails is noted, and the other pairs go on."""
    waiting: dict[int, Pair] = {}
    for pair in together:
        gone = next((name for name in pair if agents.by_name[name].lost is not None), None)
        if gone is not None:
            lost = agents.by_name[gone].lost
            results.fail(pair, "closed", f"the agent on {gone} has ended: {lost}")
        if pair not in results.failed:
            waiting[agents.run(*pair, parameters(plan, setting), plan.device)] = pair
    end = time.monotonic() + plan.seconds_of(setting) + SLACK_S
    while waiting:
        found = agents.take(end - time.monotonic())
        if found is None:
            for pair in waiting.values():
                results.fail(pair, "timeout", f"{pair[0]} gave no figures within {SLACK_S:g} s")
            return
        agent, message = found
        if message is None:  # pairs with its host as a target hear of it from their source
            for number, pair in list(waiting.items()):
                if pair[0] == agent.name:
                    del waiting[number]
                    results.fail(pair, "closed", f"the agent on {pair[0]} ended: {agent.lost}")
            continue
        pair_of = waiting.pop(int(message.get("id", -1)), None)
        if pair_of is None:
            continue
        if message["event"] == "result":
            results.add(pair_of, setting, message)
        else:
            text = f"{pair_of[0]} -> {pair_of[1]}: {message.get('text')}"
            results.fail(pair_of, str(message.get("kind")), text)


def measure(
    agents: Agents,
    plan: Plan,
    progress: Callable[[float, str], None],
    other: Callable[[Pair, NetSetting, NetResults], None] | None = None,
) -> NetResults:
    """Carry a plan out.

    `progress`: called before every step with the seconds of the last one and a note. `other`:
    measures the bandwidth of a pair another way, for `Plan.tool`.
    """
    results = NetResults(plan)
    done = 0.0
    for together, setting in plan.steps():
        words = "latency" if setting.latency else counted(setting.streams, "stream")
        progress(done, f"{' '.join(f'{a}->{b}' for a, b in together[:4])}: {words}")
        if other is not None and not setting.latency:
            for pair in together:
                if pair not in results.failed:
                    other(pair, setting, results)
        else:
            step(agents, plan, results, together, setting)
        done = plan.seconds_of(setting, len(together))
    return results
