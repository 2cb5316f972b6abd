"""Results of `stretto net` (``NAME.net.json``): hosts, pairs, and what each run gave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from stretto.files.document import Document
from stretto.files.identity import Host, MPIIdentity

Tool = Literal["own", "iperf3"]
#: what else was measured at the same time
Beside = Literal["nothing", "reverse", "all"]


@dataclass
class NetHost:
    """A host: how the user names it, and the address and interface that were measured.

    The buffers are the largest that the kernel gives a connection by itself; 0: unknown.
    """

    name: str
    node: str
    address: str
    interface: str
    mtu: int
    speed_mbits: int | None
    cores: int
    kernel: str
    congestion: str
    send_buffer_most: int
    receive_buffer_most: int


@dataclass
class StreamRun:
    """One run of a bandwidth measurement: new connections, one observation.

    Rates are payload that arrived. `retransmitted` counts segments; None where the tool does not
    say. Cores are CPU seconds a second, of all threads and of the busiest. Figures of connections
    are medians over them.
    """

    rate_bytes_s: float
    intervals_bytes_s: list[float]
    bytes: int
    retransmitted: int | None
    send_cores: float
    send_thread: float
    receive_cores: float
    receive_thread: float
    cwnd_bytes: int
    rtt_us: float
    min_rtt_us: float
    mss: int
    path_mtu: int
    send_buffer: int
    receive_buffer: int
    buffer_limited: float
    receiver_limited: float
    slowest_stream_bytes_s: float
    fastest_stream_bytes_s: float


@dataclass
class Streams:
    """Bandwidth from `source` to `target` with so many connections, threads and bytes a message."""

    source: str
    target: str
    streams: int
    threads: int
    bytes: int
    beside: Beside
    tool: Tool
    runs: list[StreamRun] = field(default_factory=list)

    @property
    def pair(self) -> tuple[str, str]:
        """Source and target."""
        return self.source, self.target

    @property
    def setting(self) -> tuple[int, int, int, Beside]:
        """What is measured, whatever the pair."""
        return self.streams, self.threads, self.bytes, self.beside

    @property
    def rates(self) -> list[float]:
        """Bytes a second, one a run."""
        return [run.rate_bytes_s for run in self.runs]

    @property
    def rate(self) -> float:
        """Median of the runs, bytes a second."""
        return median(self.rates)


@dataclass
class LatencyRun:
    """One run: half of the time there and back, in microseconds, of `count` messages."""

    count: int
    min_us: float
    median_us: float
    p99_us: float


@dataclass
class Latency:
    """Latency between two hosts for one message size."""

    source: str
    target: str
    bytes: int
    beside: Beside
    runs: list[LatencyRun] = field(default_factory=list)

    @property
    def pair(self) -> tuple[str, str]:
        """Source and target."""
        return self.source, self.target


@dataclass
class FailedPair:
    """A pair that was not measured to the end, and why."""

    source: str
    target: str
    reason: str
    remedy: str


@dataclass
class Messages:
    """Messages between ranks: one test, size and number of pairs, at one thread level.

    `launches` has a list a launch: a value a batch, in `unit` (docs/reference/files.md). Of overlap
    tests, in the same form: the time of the transfer alone, and of transfer and computation, which
    takes as long as the transfer alone.
    """

    test: str
    bytes: int
    pairs: int
    window: int
    threads: int
    level: str
    unit: str
    launches: list[list[float]]
    pure_us: list[list[float]] = field(default_factory=list)
    overall_us: list[list[float]] = field(default_factory=list)


@dataclass
class Ranks:
    """What was measured through an MPI: pair i is rank i of `hosts` and rank i + n/2.

    `progress_thread` is the setting that starts a progress thread in each rank, `with_thread` what
    was measured in launches with it; without them, `progress_missing` is the reason.
    """

    mpi: MPIIdentity
    hosts: list[str]
    messages: list[Messages]
    progress_thread: str = ""
    with_thread: list[Messages] = field(default_factory=list)
    progress_missing: str = ""


#: the smallest thing that two hardware threads share
Sharing = Literal["core", "cache", "numa", "socket", "node"]
#: a copy through shared memory, by the kernel (CMA), from attached memory (XPMEM)
Way = Literal["shared", "cma", "xpmem"]


@dataclass
class NodeCore:
    """A hardware thread. Numbers are equal for two that share the thing; -1: not known."""

    cpu: int
    core: int
    cache: int
    numa: int
    socket: int


@dataclass
class CoreCopy:
    """Copies of so many bytes: a rate a run, in bytes a second.

    `both_bytes_s`: both directions at the same time, summed.
    """

    way: Way
    bytes: int
    bytes_s: list[float]
    both_bytes_s: list[float]


@dataclass
class CorePair:
    """Hardware thread `a` writes, `b` reads; the flag's time one way in nanoseconds, a value a run.

    `share` is the smallest thing that both have in common.
    """

    a: int
    b: int
    share: Sharing
    flag_ns: list[float]
    copies: list[CoreCopy]


@dataclass
class NodeCores:
    """The cores of this node. Why copies by CMA or XPMEM do not work here; empty: they do.

    `cma_permission`: CMA works only for processes that permit it with PR_SET_PTRACER.
    """

    cores: list[NodeCore]
    pairs: list[CorePair]
    cma_refused: str = ""
    cma_remedy: str = ""
    cma_permission: bool = False
    xpmem_refused: str = ""


@dataclass
class NetImport:
    """The software whose output was imported (`stretto import`), and the facts that it lacks."""

    software: list[str]
    files: list[str]
    dates: list[str]
    unknown: list[str]


@dataclass
class RailBytes:
    """Bytes that an interface or RDMA port of a host sent and received during a measurement."""

    host: str
    name: str
    rdma: bool
    up: bool
    speed_mbits: int
    sent: int
    received: int


@dataclass
class RailSetting:
    """Messages under one setting of the MPI; "native" is without any.

    `sockets` has a list a launch: TCP connections of each pair. `traffic` has a list a launch:
    bytes while the bandwidth of all pairs was measured. `failed`: why it has no more launches.
    `dropped`: the first launch showed that the MPI ignores it.
    """

    name: str
    what: str
    environment: dict[str, str]
    messages: list[Messages] = field(default_factory=list)
    sockets: list[list[int]] = field(default_factory=list)
    traffic: list[list[RailBytes]] = field(default_factory=list)
    failed: str | None = None
    dropped: bool = False


@dataclass
class Rails:
    """What settings of links and interfaces change; the first setting is "native".

    `hosts`: of each rank, as in `Ranks`. `shared`: interfaces and RDMA ports (``mlx5_0:1``) that
    all nodes have.
    """

    mpi: MPIIdentity
    hosts: list[str]
    shared: list[str]
    settings: list[RailSetting]


@dataclass
class NetFile:
    """One call of `stretto net`. `host` is where it was given; times are in seconds.

    `environment`: variables of the MPI and the network that were set, by name (of a log that was
    imported: as it has them). `notes`: what makes its figures doubtful.
    """

    stretto: str
    created: str
    host: Host
    command: list[str]
    seconds: float
    warmup_s: float
    buffer: int | None
    hosts: list[NetHost]
    streams: list[Streams] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
    failed: list[FailedPair] = field(default_factory=list)
    ranks: Ranks | None = None
    imported: NetImport | None = None
    cores: NodeCores | None = None
    rails: Rails | None = None
    traffic: list[RailBytes] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _problems(found: NetFile) -> Iterator[str]:
    names = {host.name for host in found.hosts}
    if len(names) < len(found.hosts):
        yield "a host is listed twice"
    points: list[Streams | Latency] = [*found.streams, *found.latencies]
    for source, target in [
        *(p.pair for p in points),
        *((f.source, f.target) for f in found.failed),
    ]:
        if source == target or not {source, target} <= names:
            yield f"{source} -> {target} is not a pair of its hosts"
    for point in points:
        if not point.runs:
            yield f"{' -> '.join(point.pair)} has no runs"
    ranks, cores = found.ranks, found.cores
    for messages in [*ranks.messages, *ranks.with_thread] if ranks else ():
        if not messages.launches or not all(messages.launches):
            yield f"{messages.test} of {messages.bytes} bytes has no values"
        if ranks and 2 * messages.pairs > len(ranks.hosts):
            yield f"{messages.pairs} pairs are more than its ranks"
    known = {core.cpu for core in cores.cores} if cores else set()
    for pair in cores.pairs if cores else ():
        if pair.a == pair.b or not {pair.a, pair.b} <= known:
            yield f"{pair.a} and {pair.b} are not a pair of its cores"
        if not pair.flag_ns or not all(copy.bytes_s for copy in pair.copies):
            yield f"the pair {pair.a}, {pair.b} has no values"
    if found.rails is not None:
        for setting in found.rails.settings:
            counts = {len(setting.sockets), len(setting.traffic)}
            counts |= {len(m.launches) for m in setting.messages}
            if len(counts) > 1 or not all(all(m.launches) for m in setting.messages):
                yield f"{setting.name} has not as many values as launches"
        if not found.rails.settings or found.rails.settings[0].name != "native":
            yield "the first setting is not native"
    if any(run.rate_bytes_s < 0 for streams in found.streams for run in streams.runs):
        yield "a rate is below zero"


DOCUMENT = Document(
    "stretto-net", NetFile, "a result of stretto net",
    "stretto net tcp --hosts a,b -o NAME.net.json", _problems,
)  # fmt: skip
read_net, write_net = DOCUMENT.read, DOCUMENT.write
