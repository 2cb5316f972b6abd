"""Messages between ranks, measured through an MPI by launches of ``stretto-p2p`` (src/p2p)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from stretto.built import library
from stretto.counted import counted, duration, three
from stretto.errors import CommandFailedError, StrettoError, UsageError
from stretto.files.identity import MPIIdentity
from stretto.files.net import Messages, RailBytes, Ranks
from stretto.files.parse import json_value
from stretto.kinds import Binding
from stretto.launch.execute import run
from stretto.measure.request import Where

Level = Literal["single", "funneled", "serialized", "multiple"]
#: what the test needs; without an entry: any level
_LEVELS: dict[str, Level] = {"turns": "serialized", "threads": "multiple", "shared": "multiple"}
LEVELS: tuple[Level, ...] = ("single", "funneled", "serialized", "multiple")
WINDOW = 64
#: bytes at which message rates are published (AWS, OSU)
RATE_BYTES = 2048
#: how a host begins whose name an imported table does not have; its number follows
UNKNOWN_HOST = "unknown-"
_START_S = 60.0
#: bytes a second of a slow network: what long windows take there decides the estimate
_SLOW_BYTES_S = 1e9
#: batches of a point in a launch, and their length in microseconds
SAMPLES, BATCH_US = 5, 10_000.0


@dataclass(frozen=True, order=True)
class Point:
    """One thing to measure.

    `test`: ``latency``, ``echo`` (latency of data that was just received; not measured by
    default), ``bandwidth``, ``bidirectional``, ``sends`` (blocking, in a row), ``threads``
    (ping-pong of several threads, a communicator each), ``shared`` (on one communicator), ``turns``
    (one thread after the other), ``overlap`` and ``overlap-COLLECTIVE``.
    `bytes`: of a message; of the vector of a rank for collectives. `pairs`: of ranks that exchange
    messages at the same time. `window`: messages in flight in each direction, or blocking sends in
    a row. `threads`: of each rank.
    """

    test: str
    bytes: int
    pairs: int = 1
    window: int = 1
    threads: int = 1

    @property
    def word(self) -> str:
        """What ``stretto-p2p`` takes."""
        return f"{self.test}:{self.bytes}:{self.pairs}:{self.window}:{self.threads}"

    @property
    def level(self) -> Level:
        return _LEVELS.get(self.test, "single")


PING = Point("latency", 8)


@dataclass(frozen=True)
class Batch:
    """What one batch took: seconds for all iterations; of overlap tests, the parts as well."""

    iterations: int
    seconds: float
    pure_seconds: float | None = None
    computed_seconds: float | None = None


@dataclass(frozen=True)
class P2PLaunch:
    """What one launch measured.

    `level`: thread level that was asked for; an MPI may give a higher one. `library`: first line of
    the version of the MPI. `hosts`: of each rank. `cut`: the budget ended before all batches were
    measured. `progress`: the ranks had progress threads. `sockets`: TCP connections between the
    ranks of each pair; `traffic`: bytes of each interface of each node; where they were counted.
    """

    level: Level
    library: str
    hosts: tuple[str, ...]
    batches: Mapping[Point, tuple[Batch, ...]]
    cut: bool = False
    progress: bool = False
    sockets: tuple[int, ...] = ()
    traffic: Mapping[Point, tuple[RailBytes, ...]] = field(default_factory=dict)


def points(sizes: Sequence[int], nranks: int, threads: int = 1) -> list[Point]:
    """Return what is measured by default.

    `threads`: more than one: thread tests with so many.
    """
    pairs = nranks // 2
    out: list[Point] = []
    for size in sizes:
        out += [Point("latency", size), Point("bandwidth", size)]
        out += [Point(test, size, 1, WINDOW) for test in ("bandwidth", "bidirectional", "sends")]
        if pairs > 1:
            out.append(Point("bandwidth", size, pairs, WINDOW))
    out.append(Point("bandwidth", RATE_BYTES, pairs, WINDOW))
    for size in (64 << 10, 1 << 20):
        out += [Point("overlap", size), Point("overlap-allreduce", size)]
    if threads > 1:
        out += [Point(test, 8, threads=threads) for test in ("turns", "threads", "shared")]
    return list(dict.fromkeys(out))


def placement(hosts: Sequence[str], pairs: int) -> str:
    """Return where the pairs are, or refuse a placement under which figures would mislead.

    Pair i is rank i and rank i + n/2. Either every pair is on two nodes, or every pair is on one.
    """
    half = len(hosts) // 2
    ends = [(hosts[i], hosts[i + half]) for i in range(pairs)]
    between = [a != b for a, b in ends]
    if any(between) and not all(between):
        i = between.index(False)
        raise StrettoError(
            f"{between.count(True)} of {counted(pairs, 'pair')} are on two nodes, ranks {i} and "
            f"{i + half} are both on {ends[i][0]}: the results would mix network and shared memory",
            "the placement of the ranks",
            "place half of the ranks on each node: --hosts a,b --ppn RANKS/2",
        )
    nodes = len(set(hosts))
    where = "between nodes" if all(between) else "within a node"
    words = f"{counted(pairs, 'pair')} {where}, {counted(nodes, 'node')}"
    if not hosts_known(hosts):
        return words
    return f"{words}: " + ", ".join(f"{a}-{b}" if a != b else a for a, b in dict.fromkeys(ends))


def hosts_known(hosts: Sequence[str]) -> bool:
    """Whether the hosts are named; those of imported results may be only numbered."""
    return not any(host.startswith(UNKNOWN_HOST) for host in hosts)


def read_launch(output: str, place: str) -> P2PLaunch:
    """Return what a launch printed; other lines are skipped."""
    head: dict[str, Any] = {}
    batches: dict[Point, list[Batch]] = {}
    traffic: dict[Point, list[RailBytes]] = {}
    sockets: list[int] = []
    cut = True
    for line in output.splitlines():
        if not line.startswith('{"kind":'):
            continue
        try:
            values = json_value(line)
        except ValueError as error:
            raise StrettoError(
                "the output of several ranks is mixed in one line",
                place,
                "leave out options that tag or merge output (srun --label, --tag-output)",
            ) from error
        kind = values.pop("kind")
        if kind == "launch":
            head = values
        elif kind == "end":
            cut = bool(values["cut"])
        elif kind == "sockets":
            sockets = values["pairs"]
        else:
            names = ("test", "bytes", "pairs", "window", "threads")
            point = Point(*(values.pop(n) for n in names))
            if kind == "rails":
                found = traffic.setdefault(point, [])
                found += [RailBytes(values["host"], **rail) for rail in values["rails"]]
            else:
                batches.setdefault(point, []).append(Batch(**values))
    if not head:
        raise StrettoError("the launch measured nothing", place, "run it by hand to see the error")
    return P2PLaunch(
        head["asked"],
        str(head["library"]),
        tuple(str(h) for h in head["hosts"]),
        {p: tuple(b) for p, b in batches.items()},
        cut,
        sockets=tuple(sockets),
        traffic={p: tuple(c) for p, c in traffic.items()},
    )


def by_level(wanted: Sequence[Point]) -> dict[Level, list[Point]]:
    """Return the points of the launches of each thread level.

    If a test needs a level, the latency of every size is measured at all levels, for comparison.
    """
    if all(point.level == "single" for point in wanted):
        return {"single": list(wanted)}
    pings = [PING, *(point for point in wanted if point.test == "latency")]
    return {
        level: list(dict.fromkeys([*pings, *(p for p in wanted if p.level == level)]))
        for level in LEVELS
    }


def with_thread(wanted: Sequence[Point]) -> list[Point]:
    """Return what is measured with progress threads: overlap, and the cost to a short message."""
    return [PING, *(point for point in wanted if point.test.startswith("overlap"))]


def measure(
    where: Where,
    wanted: Sequence[Point],
    launches: int,
    oversubscribe: bool = False,
    progress: Mapping[str, str] | None = None,
    report: Callable[[int, int], None] = lambda number, total: None,
) -> Iterator[P2PLaunch]:
    """Measure points in repeated launches; those of one thread level share a launch.

    `progress`: variables that start progress threads: then some points are measured in launches
    with them, too (`with_thread`). `report`: called before each launch with its number, and how
    many there are.
    """
    if where.nranks < 2:
        raise UsageError("messages need two ranks or more", "--ranks", "-n 2")
    kinds: list[tuple[Level, list[Point], Mapping[str, str]]] = [
        (level, some, {}) for level, some in by_level(wanted).items()
    ]
    if progress:
        kinds.append(("single", with_thread(wanted), progress))
    # some MPIs bind a rank to one core, which its threads would share
    bind: Binding = "none" if any(p.threads > 1 for p in wanted) else "default"
    number, total = 0, launches * len(kinds)
    for _ in range(launches):
        for level, some, variables in kinds:
            number += 1
            report(number, total)
            limit = limit_s(wanted)
            found = launch(where, level, some, oversubscribe, bind, variables, budget_s=limit)
            yield replace(found, progress=bool(variables))


def limit_s(wanted: Sequence[Point]) -> float:
    """Return the seconds after which a launch measures no further batch."""
    return 10 * expected_s(wanted, 1) + _START_S


def launch(
    where: Where,
    level: Level,
    wanted: Sequence[Point],
    oversubscribe: bool = False,
    bind: Binding = "default",
    variables: Mapping[str, str] | None = None,
    count: bool = False,
    budget_s: float | None = None,
) -> P2PLaunch:
    """Measure points in one launch.

    `level`: thread level that is asked for. `variables`: of the MPI, for its launcher and the
    ranks. `count`: count TCP connections and the bytes of each interface, too. `budget_s`: seconds
    after which no further batch is measured; None: `limit_s`.
    """
    budget = budget_s or limit_s(wanted)
    program = [str(library("p2p", where.installation.abi)), *(["--count"] if count else [])]
    program += [level, "-", str(SAMPLES), str(BATCH_US), f"{budget:.0f}"]
    argv, environ = where.installation.launch(
        where.nranks,
        [*program, *(p.word for p in wanted)],
        # Hydra would deal ranks out to hosts in turn, and put both of a pair on one node
        ppn=where.ppn or (where.each if where.hosts else None),
        hosts=where.hosts,
        bind=bind,
        variables=variables,
        oversubscribe=oversubscribe,
    )
    environ |= variables or {}
    result = run(argv, environ, timeout=2 * budget, capture="yes").require(argv)
    found = read_launch(result.stdout, argv[0])
    if not found.batches:
        raise CommandFailedError(
            f"a launch measured nothing within its limit of {duration(budget)}: "
            "use an idle machine, or fewer --bytes",
            argv[0],
        )
    placement(found.hosts, max(p.pairs for p in wanted))
    return found


def collected(
    mpi: MPIIdentity, launches: Sequence[P2PLaunch], progress: Mapping[str, str] | None = None
) -> Ranks:
    """Return what launches measured, by point and thread level, as the file has it."""
    return Ranks(
        replace(mpi, library=launches[0].library),
        list(launches[0].hosts),
        _messages([launch for launch in launches if not launch.progress]),
        " ".join(f"{name}={value}" for name, value in (progress or {}).items()),
        _messages([launch for launch in launches if launch.progress]),
    )


def _messages(launches: Sequence[P2PLaunch]) -> list[Messages]:
    out: dict[tuple[Point, Level], Messages] = {}
    for launch in launches:
        for p, batches in launch.batches.items():
            fresh = Messages(
                p.test, p.bytes, p.pairs, p.window, p.threads, launch.level, unit_of(p), []
            )
            found = out.setdefault((p, launch.level), fresh)
            found.launches.append([value_of(p, batch) for batch in batches])
            if p.test.startswith("overlap"):
                found.pure_us.append([1e6 * (b.pure_seconds or 0) / b.iterations for b in batches])
                found.overall_us.append([1e6 * b.seconds / b.iterations for b in batches])
    return list(out.values())


def messages_s(mb_s: float, size: int) -> float:
    """Return messages a second from a bandwidth in MB/s."""
    return 1e6 * mb_s / size


def million(rate: float) -> str:
    """Return a rate of messages in words: ``17.9 million``, ``6204``."""
    return f"{three(1e-6 * rate)} million" if rate >= 1e6 else three(rate)


def expected_s(wanted: Sequence[Point], launches: int, progress: bool = False) -> float:
    if progress:
        return expected_s(wanted, launches) + expected_s(with_thread(wanted), launches)
    found = by_level(wanted)
    each = (
        max(BATCH_US * 1e-6, p.bytes * p.window * p.pairs / _SLOW_BYTES_S)
        for some in found.values()
        for p in some
    )
    return launches * (len(found) * 1.0 + (SAMPLES + 3) * sum(each))


def unit_of(point: Point) -> str:
    """Return the unit of `value_of`: us, MB/s (10^6 bytes a second, all pairs) or %."""
    if point.test in ("bandwidth", "bidirectional"):
        return "MB/s"
    return "%" if point.test.startswith("overlap") else "us"


def value_of(point: Point, batch: Batch) -> float:
    """Return the figure of one batch, in the unit of `unit_of`.

    One-way latency, the time of one blocking send, bandwidth of all pairs, the part of a transfer
    that went on during computation, a round trip of one thread.
    """
    each = batch.seconds / batch.iterations
    if point.test in ("latency", "echo"):
        return 1e6 * each / 2
    if point.test == "sends":
        return 1e6 * each / point.window
    if point.test in ("bandwidth", "bidirectional"):
        ways = 2 if point.test == "bidirectional" else 1
        return 1e-6 * ways * point.bytes * point.window * point.pairs / each
    if point.test.startswith("overlap"):
        pure, computed = batch.pure_seconds or 0, batch.computed_seconds or 0
        hidden = 1 - (batch.seconds - computed) / pure if pure else 0
        return 100 * min(1, max(0, hidden))
    return 1e6 * each  # a round trip of each thread
