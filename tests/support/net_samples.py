"""Network results of systems that never were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stretto.files.identity import Host, MPIIdentity
from stretto.files.net import (
    CoreCopy,
    CorePair,
    Latency,
    LatencyRun,
    Messages,
    NetFile,
    NetHost,
    NodeCore,
    NodeCores,
    RailBytes,
    Rails,
    RailSetting,
    Ranks,
    StreamRun,
    Streams,
)
from stretto.net.systems import NetSystem, together

MPI = MPIIdentity("openmpi", "openmpi", "5.0.6")
#: launches of a system that vary by 1 %
SPREAD = (0.99, 0.995, 1.0, 1.0, 1.005, 1.01, 1.002)
Key = tuple[str, int, int, int]
TCP: dict[Key, float] = {
    ("latency", 8, 1, 1): 20.0, ("latency", 1024, 1, 1): 25.0,
    ("bandwidth", 8, 1, 64): 4.0, ("bandwidth", 65536, 1, 64): 1180.0,
    ("bandwidth", 1 << 20, 1, 64): 1180.0, ("bandwidth", 2048, 8, 64): 5000.0,
    ("bandwidth", 1 << 20, 8, 64): 11000.0, ("sends", 8, 1, 64): 0.5,
}  # fmt: skip


def messages(values: dict[Key, float], launches: int = 7) -> list[Messages]:
    return [
        Messages(test, size, pairs, window, 1, "single",
                 "MB/s" if test.startswith("b") else "us",
                 [[value * s, value * s * 1.001] for s in SPREAD[:launches]])
        for (test, size, pairs, window), value in values.items()
    ]  # fmt: skip


def result(found: list[Messages] | None, hosts: tuple[str, ...] = ("a", "b")) -> NetFile:
    """Return a result of eight ranks on each of two hosts."""
    each = [host for host in hosts for _ in range(16 // len(hosts))]
    ranks = None if found is None else Ranks(MPI, each, found)
    return NetFile("0", "", Host("h", "c", 1, "k", 1), [], 0, 0, None, [], ranks=ranks)


def system(name: str, *results: NetFile) -> NetSystem:
    return NetSystem(name, (Path(name),), together(results, Path(name)))


def scaled(**factors: float) -> dict[Key, float]:
    return {k: v * factors.get(k[0], 1.0) for k, v in TCP.items()}


def tcp(pair: tuple[str, str], rate: float, tool: str = "own", streams: int = 4) -> NetFile:
    hosts = [NetHost(n, n, n, "", 1500, None, 1, "", "", 0, 0) for n in pair]
    runs = [
        StreamRun(rate * s / 8, [], 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1)
        for s in SPREAD
    ]
    one = Streams(*pair, streams, 1, 65536, "nothing", tool, runs)  # type: ignore[arg-type]
    latency = Latency(*pair, 8, "nothing", [LatencyRun(1, 1, 30 * s, 40) for s in SPREAD])
    return replace(result(None), hosts=hosts, streams=[one], latencies=[latency])


def rails(launches: int = 7) -> NetFile:
    """Return two rails of which the default uses one, and four connections use both."""
    settings = []
    for name, rate, parts in (
        ("native", 1100, (1.0, 0.0)),
        ("btl_tcp_links=4", 2150, (0.51, 0.49)),
    ):
        traffic = [
            RailBytes(host, rail, False, True, 10_000, int(1e9 * part), int(1e9 * part))
            for host in ("a", "b") for rail, part in zip(("eth0", "eth1"), parts, strict=True)
        ]  # fmt: skip
        environment = {} if name == "native" else {"OMPI_MCA_btl_tcp_links": "4"}
        found = messages({("latency", 8, 1, 1): 20.0, ("bandwidth", 262144, 2, 64): rate}, launches)
        settings.append(
            RailSetting(name, "", environment, found, [[1, 1]] * launches, [traffic] * launches)
        )
    both = Rails(MPI, ["a", "a", "b", "b"], ["eth0", "eth1"], settings)
    return replace(result(None), rails=both)


def cluster(hosts: list[str], factor: float = 1.0) -> NetFile:
    """Return all pairs with 1, 4 and 16 streams, one host slow, and messages of eight pairs."""
    parts = [
        tcp((a, b), factor * 9e9 * (0.3 if hosts[-1] in (a, b) else 1.0) * n**0.5, streams=n)
        for a in hosts for b in hosts if a != b for n in (1, 4, 16)
    ]  # fmt: skip
    large: dict[Key, float] = {
        **{("latency", size, 1, 1): (20 + size / 1e3) / factor for size in (0, 64, 4096, 1 << 20)},
        **{("bidirectional", size, 1, 64): 900 * factor for size in (8, 1024, 1 << 20)},
    }
    values = {**scaled(latency=1 / factor, bandwidth=factor), **large}
    return replace(
        parts[0], ranks=result(messages(values)).ranks, command=["net", "tcp"],
        hosts=list({h.name: h for p in parts for h in p.hosts}.values()),
        streams=[s for p in parts for s in p.streams],
        latencies=[p.latencies[0] for p in parts[::3]],
    )  # fmt: skip


def node(factor: float = 1.0) -> NetFile:
    """Return flags and copies between four hardware threads of two sockets."""
    threads = [NodeCore(i, i, i // 2, 0, i // 2) for i in range(4)]
    pairs = [
        CorePair(
            a.cpu, b.cpu, "cache" if a.cache == b.cache else "node",
            [(60 if a.cache == b.cache else 400) * factor * s for s in SPREAD],
            [CoreCopy("shared", n, *([x / factor * s for s in SPREAD] for x in (9e9, 15e9)))
             for n in (8192, 1 << 20)],
        )
        for a in threads for b in threads if a.cpu < b.cpu
    ]  # fmt: skip
    return replace(result(None), cores=NodeCores(threads, pairs, xpmem_refused="no module"))
