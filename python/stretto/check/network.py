"""Judging the network of one machine: cards, fabrics, what a known instance type should have."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stretto.check.facts import Fabric, Facts, Interface
from stretto.check.finding import Finding, size_words
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.files.toml import toml_values

_INSTANCES = Path(__file__).with_name("instances.toml")
#: round trip in a cluster, with reserve: a socket must hold what is sent in that time
_ROUND_TRIP_S = 0.25e-3
#: Gb/s that one TCP connection gets at most between instances with the `ena` driver: AWS, EC2 User
#: Guide, "Amazon EC2 instance network bandwidth": 5, in a cluster placement group 10
_ENA_STREAM_GBPS = 10
FAST_MBITS = 10_000


@dataclass(frozen=True)
class Instance:
    """What AWS publishes of an instance type; `gbps` is of all cards together."""

    name: str
    cpu: str
    cores: int
    sockets: int
    cards: int
    gbps: int


@functools.lru_cache(maxsize=1)
def instances() -> dict[str, Instance]:
    """Return the instance types with EFA that Stretto knows, by name."""
    types = toml_values(_INSTANCES.read_text(encoding="utf-8"))["types"]
    return {name: Instance(name, **facts) for name, facts in types.items()}


def instance_of(facts: Facts) -> Instance | None:
    """Return the type of the instance that a machine is, None where it is none that is known."""
    return instances().get(facts.product.rpartition(" ")[2])


def known_instance(name: str) -> Instance:
    """Return an instance type by its name, or raise an error with the names that are known."""
    try:
        return instances()[name]
    except KeyError:
        raise UsageError(
            f"{name} is not an instance type that Stretto knows",
            "--instance",
            f"there are {', '.join(instances())}",
        ) from None


def fast(facts: Facts) -> list[Interface]:
    """Return the cards of 10 Gb/s and more that are up."""
    return [i for i in facts.interfaces if i.driver and (i.speed_mbits or 0) >= FAST_MBITS]


def cards_of(facts: Facts) -> list[Fabric | Interface]:
    """Return the cards of the fastest kind that are up: RDMA devices, else fast interfaces."""
    return [x for x in facts.fabrics if x.up] or list(fast(facts))


def judge_network(f: Facts) -> Iterator[Finding]:
    """Judge the network cards and fabrics of a machine.

    Parameters
    ----------
    f
        The machine.
    """
    any_up = any(fabric.up for fabric in f.fabrics)
    for fabric in f.fabrics:  # of cards with two ports, one is often not connected
        yield Finding(
            "network",
            "ok" if fabric.up else "note" if any_up else "problem",
            f"{fabric.kind} {fabric.name}: {fabric.state}, {fabric.rate}",
            None if fabric.up else "check the cable, the subnet manager and ibstat",
            kind="" if fabric.up else "fabric-down",
        )
    real = [i for i in f.interfaces if i.driver]
    for interface in real:
        speed = interface.speed_mbits
        words = f"{speed / 1000:g} Gb/s" if speed else "speed unknown to the driver"
        yield Finding(
            "network",
            "ok",
            f"{interface.name}: {words}, MTU {interface.mtu} ({interface.driver})",
        )
        if speed is not None and speed >= FAST_MBITS and interface.mtu < 9000 and not f.fabrics:
            yield Finding(
                "network",
                "note",
                f"{interface.name} has an MTU of {interface.mtu}: more packets than needed for "
                "large messages",
                f"ip link set {interface.name} mtu 9000 (root; 9001 on EC2), where every "
                "switch allows it",
                kind="small-mtu",
            )
    cards = fast(f)
    if len(cards) > 1:
        names = ",".join(i.name for i in cards)
        yield Finding(
            "network",
            "note",
            f"{len(cards)} rails: {names}; see that the MPI uses all of them",
            "count the bytes of each: stretto net rails --hosts A,B; "
            f"Open MPI over TCP: --mca btl_tcp_if_include {names}",
            kind="rails",
        )
    yield from _buffers(f)
    yield from _instance(f)
    if not real and not f.fabrics:
        yield Finding(
            "network",
            "note",
            "no network hardware is seen here; jobs of one node do not need any",
            kind="no-network",
        )


def _buffers(f: Facts) -> Iterator[Finding]:
    speed = max((i.speed_mbits or 0 for i in fast(f)), default=0)
    need = int(speed * 1e6 / 8 * _ROUND_TRIP_S)
    if f.tcp_bytes is None or min(f.tcp_bytes) >= need:
        return
    name = "tcp_rmem" if f.tcp_bytes[0] < need else "tcp_wmem"
    yield Finding(
        "network",
        "warning",
        f"a TCP socket may hold {size_words(min(f.tcp_bytes))} (net.ipv4.{name}): at "
        f"{speed / 1000:g} Gb/s and a round trip of {_ROUND_TRIP_S * 1e3:g} ms it needs "
        f"{size_words(need)}",
        f"sysctl net.ipv4.{name}='4096 131072 {max(16 << 20, need)}' (root)",
        kind="socket-buffer",
    )


def _instance(f: Facts) -> Iterator[Finding]:
    known = instance_of(f)
    if known is None:
        return
    words = f"{known.name}: {known.gbps} Gb/s over {counted(known.cards, 'network card')}"
    found = [x for x in f.fabrics if x.kind == "EFA"]
    yield Finding("network", "ok", f"{words} ({known.cpu}, {counted(known.cores, 'core')})")
    if not found:
        yield Finding(
            "network",
            "warning",
            f"{known.name} has EFA, and no EFA device is seen: MPI uses TCP",
            "attach EFA interfaces when the instance is launched, and install the EFA driver "
            "(fi_info -p efa lists the devices)",
            kind="efa-missing",
        )
    elif len(found) < known.cards:
        yield Finding(
            "network",
            "warning",
            f"{len(found)} of {counted(known.cards, 'EFA device')} is attached: "
            f"{known.gbps / known.cards * len(found):g} of {known.gbps} Gb/s can be used",
            "give the launch template one EFA interface a network card (NetworkCardIndex 0 and 1)",
            kind="one-rail",
        )


def stream_limit_gbps(f: Facts) -> float | None:
    """Return what one TCP connection gets at most from this machine's cards, where that is known.

    Parameters
    ----------
    f
        The machine.
    """
    cards = fast(f)
    if cards and all(i.driver == "ena" for i in cards):
        speed = max(i.speed_mbits or 0 for i in cards) / 1000
        return _ENA_STREAM_GBPS if speed > _ENA_STREAM_GBPS else None
    return None
