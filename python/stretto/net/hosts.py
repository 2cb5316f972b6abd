"""Which hosts are measured, by which of their addresses, with which others, and which at once."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError, UsageError
from stretto.files.net import NetHost
from stretto.launch.layout import read_hostfile
from stretto.measure.names import allocated


def find_hosts(named: str | None, hostfile: Path | None) -> list[str]:
    """Return the hosts: named, of a file, or of the batch job; each once, at least two."""
    if named is not None and hostfile is not None:
        raise UsageError("both give hosts", "--hosts, --hostfile", "give one of them")
    batch = os.environ.get("PBS_NODEFILE")
    if named is not None:
        found = [name.strip() for name in named.split(",") if name.strip()]
    elif hostfile is not None:
        found = [name for name, _ in read_hostfile(hostfile)]
        if not found:
            raise StrettoError("no host is named in this file", hostfile, "write one host per line")
    else:
        found = list(allocated(os.environ)) or [
            name for name, _ in (read_hostfile(Path(batch)) if batch else [])
        ]
        if not found:
            raise UsageError(
                "no hosts were given, and this is not a Slurm or PBS job", "--hosts",
                "stretto net tcp --hosts a,b   (or run it inside salloc or sbatch)",
            )  # fmt: skip
    hosts = list(dict.fromkeys(found))
    if len(hosts) < 2:
        raise UsageError(
            f"only {hosts[0] if hosts else 'no host'} is named: a network needs two hosts",
            "--hosts", "stretto net tcp --hosts a,b   (only this machine: 127.0.0.1,127.0.0.2)",
        )  # fmt: skip
    for name in hosts:
        if name.startswith("-") or any(c.isspace() for c in name):
            raise UsageError(f"{name!r} is not a host", "--hosts", "write them as a,b,c")
    return hosts


def _resolved(name: str) -> set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    except OSError:
        return set()


def _chosen(
    name: str, interfaces: Sequence[Mapping[str, Any]], wanted: str | None
) -> Mapping[str, Any]:
    if wanted is not None:
        try:
            network = ipaddress.ip_network(wanted)
        except ValueError:
            network = None
        for one in interfaces:
            address = ipaddress.ip_address(one["address"])
            if one["name"] == wanted or (network is not None and address in network):
                return one
        has = ", ".join(f"{one['name']} {one['address']}" for one in interfaces) or "none"
        raise StrettoError(
            f"{name} has no interface {wanted} that is up and has an address", name,
            f"use one of {has}",
        )  # fmt: skip
    addresses = _resolved(name)
    for one in interfaces:
        if one["address"] in addresses:
            return one
    for one in interfaces:  # its name is a loopback's there, or this host does not know it
        if ":" not in one["address"]:
            return one
    raise StrettoError(
        f"{name} has no interface that is up and has an IPv4 address", name,
        "name the network: --interface NAME or --interface 10.0.0.0/8",
    )  # fmt: skip


def _most(text: str) -> int:
    """Return the last number in ``4096 16384 4194304``, 0 where there is none."""
    words = text.split()
    return int(words[-1]) if words and words[-1].isdecimal() else 0


def describe(name: str, hello: Mapping[str, Any], wanted: str | None) -> NetHost:
    """Return a host as its agent describes it.

    `wanted`: the interface's name, or a network that its address is in; None: that of the host's
    name.
    """
    chosen = _chosen(name, hello["interfaces"], wanted)
    speed = int(chosen["speed_mbits"])
    return NetHost(
        name, str(hello["host"]), str(chosen["address"]), str(chosen["name"]), int(chosen["mtu"]),
        speed if speed > 0 else None, int(hello["cores"]), str(hello["kernel"]),
        str(hello["congestion"]), _most(hello["tcp_wmem"]), _most(hello["tcp_rmem"]),
    )  # fmt: skip


Pair = tuple[str, str]


def chosen_pairs(hosts: Sequence[str], words: Sequence[str], every: bool) -> list[Pair]:
    """Return pairs, source first: those named ``a:b``, all, or each host and the next one."""
    if words and every:
        raise UsageError("both give pairs", "--pairs, --all-pairs", "give one of them")
    if every:
        return [(a, b) for a in hosts for b in hosts if a != b]
    if not words:
        return [(a, b) for a, b in zip(hosts, [*hosts[1:], hosts[0]], strict=True)]
    pairs = []
    for word in (part for text in words for part in text.split(",") if part):
        source, colon, target = word.partition(":")
        unknown = [name for name in (source, target) if name not in hosts]
        if not colon or unknown or source == target:
            raise UsageError(
                f"{word!r} is not a pair of two of the hosts", "--pairs",
                f"write for example --pairs {hosts[0]}:{hosts[1]}",
            )  # fmt: skip
        pairs.append((source, target))
    return list(dict.fromkeys(pairs))


def rounds(pairs: Sequence[Pair], at_once: bool) -> list[list[Pair]]:
    """Return pairs in rounds: all pairs of a round are measured at the same time.

    No host is twice in a round, so that pairs do not share a card, unless all are `at_once`.
    """
    if at_once:
        return [list(pairs)]
    hosts = list(dict.fromkeys(name for pair in pairs for name in pair))
    ordered: list[Pair] = []
    # the circle method: every two hosts meet once in n - 1 rounds
    circle: list[str | None] = [*hosts, None] if len(hosts) % 2 else [*hosts]
    half = len(circle) // 2
    for _ in range(len(circle) - 1):
        met = [
            (a, b) for a, b in zip(circle[:half], circle[: half - 1 : -1], strict=True) if a and b
        ]
        ordered += [pair for pair in (*met, *((b, a) for a, b in met)) if pair in set(pairs)]
        circle = [circle[0], circle[-1], *circle[1:-1]]
    out: list[list[Pair]] = []
    for pair in ordered:  # into the first round that has neither host: few pairs, few rounds
        free = (one for one in out if not {name for p in one for name in p} & set(pair))
        found = next(free, None)
        if found is None:
            out.append([pair])
        else:
            found.append(pair)
    return out
