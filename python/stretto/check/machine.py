"""Judging a machine: processor, limits, memory, network."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.check.facts import Fabric, Facts, Interface
from stretto.check.finding import Finding, finding, fine, note, problem, warning
from stretto.counted import counted, sized
from stretto.errors import UsageError
from stretto.files.toml import toml_values

MIB = 1 << 20
#: segments of dead jobs are large from this part of /dev/shm on; so many are named
SEGMENTS_LARGE, NAMED = 0.25, 40


def judge(facts: Facts, ranks_here: int | None = None) -> list[Finding]:
    """Judge a machine.

    `ranks_here`: ranks of the job on this node, where known.
    """
    return [
        *_cpu(facts, ranks_here),
        *_limits(facts, ranks_here),
        *_memory(facts, ranks_here),
        *judge_network(facts),
    ]


def judge_nodes(nodes: Mapping[str, Facts], ranks: Mapping[str, int]) -> list[Finding]:
    """Judge each node of a job; what holds of several is said once."""
    at: dict[tuple[str, ...], tuple[Finding, list[str]]] = {}
    for node, facts in nodes.items():
        for one in judge(facts, ranks.get(node)):
            # figures such as the load differ from node to node; names such as mlx5_0 stay
            text = re.sub(r"(?<![\w.])[\d.]+", "#", one.text) if one.kind else one.text
            same = (one.severity, one.kind, text)
            where = at.setdefault(same, (one, []))[1]
            if node not in where:
                where.append(node)
    every = len(nodes)
    return [
        replace(one, nodes=() if len(where) == every else tuple(where))
        for one, where in at.values()
    ]


def _cpu(f: Facts, ranks: int | None) -> Iterator[Finding]:
    smt = f" ({counted(f.threads, 'hardware thread')})" if f.threads != f.cores else ""
    where = f" on {f.product}" if f.product else ""
    yield fine(
        "cpu",
        f"{f.cpu}, {counted(f.cores, 'core')}{smt}, {counted(f.sockets, 'socket')}, "
        f"{counted(max(1, len(f.numa)), 'NUMA node')}, kernel {f.kernel}{where}",
    )
    if len(f.allowed) < f.threads:
        yield warning(
            "part-of-node",
            f"this process may use {len(f.allowed)} of {f.threads} hardware threads",
            "ask the batch system for whole nodes, or start from an unbound shell "
            "(taskset -p $$ shows the binding)",
        )
    usable = min(f.cores, len(f.allowed) or f.cores)
    if ranks is not None and ranks > usable:
        yield warning(
            "too-many-ranks",
            f"{ranks} ranks share {counted(usable, 'core')} here: waiting ranks take time from "
            "working ones",
            "use fewer ranks per node; otherwise let them yield "
            "(Open MPI: --mca mpi_yield_when_idle 1)",
        )
    if f.governor not in (None, "performance"):
        yield warning(
            "governor",
            f"the frequency governor is {f.governor!r}: short collectives run slowly",
            "cpupower frequency-set -g performance (root)",
        )
    if f.clock not in (None, "tsc", "arch_sys_counter", "kvm-clock", "timebase"):
        yield warning(
            "clock-source",
            f"the time source is {f.clock!r}, which is slow to read: short times are inaccurate",
            "boot with clocksource=tsc where the processor's counter is stable",
        )
    if f.numa_balancing and len(f.numa) > 1:
        yield note(
            "numa-balancing",
            "automatic NUMA balancing is on: it moves pages of bound ranks without benefit",
            "sysctl kernel.numa_balancing=0 (root), and bind the ranks",
        )
    if f.load > max(1, f.cores) * 0.5:
        yield warning(
            "busy",
            f"the machine is busy (load {f.load:.1f} on {counted(f.cores, 'core')}): times "
            "measured now are unreliable",
            "measure on an idle machine",
        )


def _limits(f: Facts, ranks: int | None) -> Iterator[Finding]:
    if f.cpu_quota is not None and f.cpu_quota < (ranks or f.cores):
        yield finding(
            "problem" if f.cpu_quota < 1 else "warning",
            "cpu-quota",
            f"the container or job may use the time of {f.cpu_quota:g} CPUs; the kernel stops "
            "its ranks for part of every period",
            "raise the CPU limit (docker --cpus, Kubernetes limits)",
        )
    if f.memory_limit_bytes is not None and f.memory_limit_bytes < f.memory_bytes:
        yield note(
            "memory-limit",
            f"the container or job may use {sized(f.memory_limit_bytes)} of "
            f"{sized(f.memory_bytes)} memory; shared memory counts too",
        )
    if f.pids_limit is not None and f.pids_limit < 4 * (ranks or f.cores) + 64:
        yield warning(
            "process-limit",
            f"at most {f.pids_limit} processes and threads may run here",
            "raise the limit (docker --pids-limit)",
        )
    if f.memlock_bytes is not None and f.memlock_bytes < 64 * MIB and f.fabrics:
        yield problem(
            "locked-memory",
            f"only {sized(f.memlock_bytes)} may be locked, but the network locks its buffers",
            "set 'memlock unlimited' in /etc/security/limits.conf (root) and log in again",
        )


def cma_refusal(f: Facts) -> tuple[str, str]:
    """Return why a process cannot read the memory of another one here, and the remedy."""
    if (f.ptrace_scope or 0) > 0:
        return (
            f"kernel.yama.ptrace_scope is {f.ptrace_scope}",
            "sysctl kernel.yama.ptrace_scope=0 (root)",
        )
    return (
        "seccomp forbids it" if f.seccomp else "the kernel refuses it",
        "docker --cap-add SYS_PTRACE, or a seccomp profile that allows process_vm_readv",
    )


def _memory(f: Facts, ranks: int | None) -> Iterator[Finding]:
    if f.shm_bytes is None:
        yield problem(
            "no-shm",
            "there is no /dev/shm: neither the MPI nor Stretto can share memory within the node",
            "mount it: mount -t tmpfs tmpfs /dev/shm (root)",
        )
    else:
        free = f.shm_free_bytes or 0
        need = 64 * MIB + 8 * MIB * (ranks or f.cores)
        total = f"/dev/shm has {sized(f.shm_bytes)}, {sized(free)} of it free"
        if free < need:
            yield finding(
                "problem" if free < 32 * MIB else "warning",
                "shm-full",
                f"{total}; the ranks of a node need about {sized(need)}",
                "start the container with --shm-size=1g, remount it larger "
                "(mount -o remount,size=4g /dev/shm), or remove left-over files in it",
            )
        else:
            yield fine("memory", total)
        yield from _segments(f)
    if f.cma is False or (f.cma is None and (f.ptrace_scope or 0) > 1):
        reason, remedy = cma_refusal(f)
        yield warning(
            "two-copies",
            f"ranks cannot read each other's memory ({reason}): large messages within a node are "
            "copied twice",
            remedy,
        )
    elif f.cma:
        only = "; the MPI must permit it (MPICH does not)" if f.ptrace_scope == 1 else ""
        yield fine("memory", f"ranks can read each other's memory (single copies){only}")
    if f.thp == "never":
        yield note(
            "huge-pages",
            "transparent huge pages are off: address translation of large buffers is slower",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (root)",
        )
    if f.thp_shmem in ("never", "deny"):
        yield note(
            "huge-pages",
            f"shared memory does not use huge pages (shmem_enabled is {f.thp_shmem!r})",
            "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled (root)",
        )


def _segments(f: Facts) -> Iterator[Finding]:
    if not f.segments:
        return
    names, sizes = zip(*f.segments, strict=True)
    large = sum(sizes) >= SEGMENTS_LARGE * (f.shm_bytes or 1)
    more = f", then check again: {len(names) - NAMED} more" if len(names) > NAMED else ""
    yield finding(
        "warning" if large else "note",
        "dead-segments",
        f"{counted(len(names), 'shared-memory segment')} of ended jobs in /dev/shm: "
        f"{sized(sum(sizes))}",
        f"cd /dev/shm && rm {shlex.join(names[:NAMED])}{more}",
        "no visible process has them mapped or open",
    )


_INSTANCES = Path(__file__).with_name("instances.toml")
#: round trip in a cluster, with reserve: a socket must hold what is sent in that time
_ROUND_TRIP_S = 0.25e-3
#: Gb/s that one TCP connection gets at most between instances with the `ena` driver: AWS, EC2 User
#: Guide, "Amazon EC2 instance network bandwidth": 5, in a cluster placement group 10
_ENA_STREAM_GBPS = 10
FAST_MBITS = 10_000


@dataclass(frozen=True)
class Instance:
    """What AWS publishes of an instance type.

    `gbps`: of all cards together; `efa`: generation of EFA; `settings`: what makes MPIs use it.
    """

    name: str
    cpu: str
    cores: int
    sockets: int
    cards: int
    gbps: int
    efa: int
    settings: tuple[str, ...]


@functools.lru_cache(maxsize=1)
def instances() -> dict[str, Instance]:
    """Return the instance types with EFA that Stretto knows, by name."""
    found = toml_values(_INSTANCES.read_text(encoding="utf-8"))
    return {
        name: Instance(
            name,
            **facts,
            settings=tuple(
                f"{mpi}: {words['set']}"
                for mpi, words in found["settings"].items()
                if facts["cards"] >= words["cards"]
                and (words["arm"] or "Graviton" not in facts["cpu"])
            ),
        )
        for name, facts in found["types"].items()
    }


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
    any_up = any(fabric.up for fabric in f.fabrics)
    for fabric in f.fabrics:  # of cards with two ports, one is often not connected
        words = f"{fabric.kind} {fabric.name}: {fabric.state}, {fabric.rate}"
        if fabric.up:
            yield fine("network", words)
        else:
            remedy = "check the cable, the subnet manager and ibstat"
            yield finding("note" if any_up else "problem", "fabric-down", words, remedy)
    real = [i for i in f.interfaces if i.driver]
    for interface in real:
        speed = interface.speed_mbits
        words = f"{speed / 1000:g} Gb/s" if speed else "speed unknown to the driver"
        yield fine(
            "network", f"{interface.name}: {words}, MTU {interface.mtu} ({interface.driver})"
        )
        if speed is not None and speed >= FAST_MBITS and interface.mtu < 9000 and not f.fabrics:
            yield note(
                "small-mtu",
                f"{interface.name} has an MTU of {interface.mtu}: large messages need more "
                "packets than with jumbo frames",
                f"ip link set {interface.name} mtu 9000 (root; 9001 on EC2), where every "
                "switch allows it",
            )
    cards = fast(f)
    if len(cards) > 1:
        names = ",".join(i.name for i in cards)
        yield note(
            "rails",
            f"{len(cards)} rails: {names}; check that the MPI uses all of them",
            "count the bytes of each: stretto net rails --hosts A,B; "
            f"Open MPI over TCP: --mca btl_tcp_if_include {names}",
        )
    yield from _buffers(f)
    yield from _instance(f)
    if not real and not f.fabrics:
        yield note("no-network", "no network hardware was found; jobs on one node need none")


def _buffers(f: Facts) -> Iterator[Finding]:
    speed = max((i.speed_mbits or 0 for i in fast(f)), default=0)
    need = int(speed * 1e6 / 8 * _ROUND_TRIP_S)
    if f.tcp_bytes is None or min(f.tcp_bytes) >= need:
        return
    name = "tcp_rmem" if f.tcp_bytes[0] < need else "tcp_wmem"
    yield warning(
        "socket-buffer",
        f"a TCP socket may hold {sized(min(f.tcp_bytes))} (net.ipv4.{name}): at "
        f"{speed / 1000:g} Gb/s and a round trip of {_ROUND_TRIP_S * 1e3:g} ms it needs "
        f"{sized(need)}",
        f"sysctl net.ipv4.{name}='4096 131072 {max(16 << 20, need)}' (root)",
    )


def _instance(f: Facts) -> Iterator[Finding]:
    known = instances().get(f.product.rpartition(" ")[2])
    if known is None:
        return
    words = f"{known.name}: {known.gbps} Gb/s over {counted(known.cards, 'network card')}"
    found = [x for x in f.fabrics if x.kind == "EFA"]
    yield fine("network", f"{words} ({known.cpu}, {counted(known.cores, 'core')})")
    yield fine("network", f"settings for EFA version {known.efa}: {', '.join(known.settings)}")
    if not found:
        yield warning(
            "efa-missing",
            f"{known.name} has EFA, but no EFA device was found: MPI uses TCP",
            "attach EFA interfaces when the instance is launched, and install the EFA driver "
            "(fi_info -p efa lists the devices)",
        )
    elif len(found) < known.cards:
        yield warning(
            "one-rail",
            f"{len(found)} of {counted(known.cards, 'EFA device')} is attached: "
            f"{known.gbps / known.cards * len(found):g} of {known.gbps} Gb/s can be used",
            "give the launch template one EFA interface per network card (NetworkCardIndex 0 and "
            "1)",
        )


def stream_limit_gbps(f: Facts) -> float | None:
    """Return what one TCP connection gets at most from this machine's cards, if known."""
    cards = fast(f)
    if cards and all(i.driver == "ena" for i in cards):
        speed = max(i.speed_mbits or 0 for i in cards) / 1000
        return _ENA_STREAM_GBPS if speed > _ENA_STREAM_GBPS else None
    return None
