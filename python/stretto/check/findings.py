"""Judging the facts: each finding has a severity and, where something is wrong, a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stretto.check.facts import Facts
from stretto.counted import counted

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    topic
        ``cpu``, ``memory``, ``network``, ``mpi``, ``launch``.
    severity
        ``ok``; ``note`` (good to know); ``warning`` (costs speed); ``problem`` (will not work).
    text
        What was found.
    remedy
        What to do about it.
    """

    topic: str
    severity: Severity
    text: str
    remedy: str | None = None


def judge(facts: Facts, ranks_here: int | None = None) -> list[Finding]:
    """Judge a machine.

    Parameters
    ----------
    facts
        The machine.
    ranks_here
        Ranks of the job on this node, where known.
    """
    return [
        *_cpu(facts, ranks_here),
        *_limits(facts, ranks_here),
        *_memory(facts, ranks_here),
        *_network(facts),
    ]


def _cpu(f: Facts, ranks: int | None) -> Iterator[Finding]:
    smt = f" ({counted(f.threads, 'hardware thread')})" if f.threads != f.cores else ""
    where = f" on {f.product}" if f.product else ""
    yield Finding(
        "cpu",
        "ok",
        f"{f.name}: {f.cpu}, {counted(f.cores, 'core')}{smt}, {counted(f.sockets, 'socket')}, "
        f"{counted(max(1, len(f.numa)), 'NUMA node')}, kernel {f.kernel}{where}",
    )
    if len(f.allowed) < f.threads:
        yield Finding(
            "cpu",
            "warning",
            f"this process may use {len(f.allowed)} of {f.threads} hardware threads",
            "ask the batch system for whole nodes, or start from an unbound shell "
            "(taskset -p $$ shows the binding)",
        )
    usable = min(f.cores, len(f.allowed) or f.cores)
    if ranks is not None and ranks > usable:
        yield Finding(
            "cpu",
            "warning",
            f"{ranks} ranks share {counted(usable, 'core')} here: waiting ranks take time from "
            "working ones",
            "use fewer ranks per node; where that cannot be, let them yield "
            "(Open MPI: --mca mpi_yield_when_idle 1)",
        )
    if f.governor not in (None, "performance"):
        yield Finding(
            "cpu",
            "warning",
            f"the clock is governed by {f.governor!r}, so that short collectives run slowly",
            "cpupower frequency-set -g performance (root)",
        )
    if f.clock not in (None, "tsc", "arch_sys_counter", "kvm-clock", "timebase"):
        yield Finding(
            "cpu",
            "warning",
            f"the time source is {f.clock!r}, which is slow to read: measurements get coarse",
            "boot with clocksource=tsc where the processor's counter is stable",
        )
    if f.numa_balancing and len(f.numa) > 1:
        yield Finding(
            "cpu",
            "note",
            "automatic NUMA balancing is on: it moves pages of bound ranks for nothing",
            "sysctl kernel.numa_balancing=0 (root), and bind the ranks",
        )
    if f.load > max(1, f.cores) * 0.5:
        yield Finding(
            "cpu",
            "warning",
            f"the machine is busy (load {f.load:.1f} on {counted(f.cores, 'core')}): figures "
            "measured now mean little",
            "measure when nothing else runs",
        )


def _limits(f: Facts, ranks: int | None) -> Iterator[Finding]:
    if f.cpu_quota is not None and f.cpu_quota < (ranks or f.cores):
        yield Finding(
            "cpu",
            "problem" if f.cpu_quota < 1 else "warning",
            f"the container or job may use {f.cpu_quota:g} CPUs' time; ranks beyond that are "
            "stopped for part of every period",
            "raise the CPU limit (docker --cpus, Kubernetes limits, Slurm --cpus-per-task)",
        )
    if f.memory_limit_bytes is not None and f.memory_limit_bytes < f.memory_bytes:
        yield Finding(
            "memory",
            "note",
            f"the container or job may use {_size(f.memory_limit_bytes)} of "
            f"{_size(f.memory_bytes)} memory; shared memory counts as well",
        )
    if f.pids_limit is not None and f.pids_limit < 4 * (ranks or f.cores) + 64:
        yield Finding(
            "cpu",
            "warning",
            f"at most {f.pids_limit} processes and threads may run here",
            "raise the limit (docker --pids-limit)",
        )
    if f.memlock_bytes is not None and f.memlock_bytes < 64 * MIB and f.fabrics:
        yield Finding(
            "network",
            "problem",
            f"only {_size(f.memlock_bytes)} may be locked, and the fabric needs to lock buffers",
            "set 'memlock unlimited' in /etc/security/limits.conf (root) and log in again",
        )


def _memory(f: Facts, ranks: int | None) -> Iterator[Finding]:
    if f.shm_bytes is None:
        yield Finding(
            "memory",
            "problem",
            "there is no /dev/shm: neither the MPI nor Stretto can share memory within the node",
            "mount it: mount -t tmpfs tmpfs /dev/shm (root)",
        )
    else:
        free = f.shm_free_bytes or 0
        need = 64 * MIB + 8 * MIB * (ranks or f.cores)
        total = f"/dev/shm has {_size(f.shm_bytes)}, {_size(free)} of it free"
        if free < need:
            yield Finding(
                "memory",
                "problem" if free < 32 * MIB else "warning",
                f"{total}; the ranks of a node need about {_size(need)}",
                "start the container with --shm-size=1g, remount it larger "
                "(mount -o remount,size=4g /dev/shm), or remove left-over files in it",
            )
        else:
            yield Finding("memory", "ok", total)
    if f.cma is False or (f.cma is None and (f.ptrace_scope or 0) > 0):
        reason = "seccomp forbids it" if f.seccomp else "the kernel refuses it"
        remedy = "docker --cap-add SYS_PTRACE, or a seccomp profile that allows process_vm_readv"
        if (f.ptrace_scope or 0) > 0:
            reason = f"kernel.yama.ptrace_scope is {f.ptrace_scope}"
            remedy = "sysctl kernel.yama.ptrace_scope=0 (root)"
        yield Finding(
            "memory",
            "warning",
            f"ranks cannot read each other's memory ({reason}): large messages within a node are "
            "copied twice",
            remedy,
        )
    elif f.cma:
        yield Finding("memory", "ok", "ranks can read each other's memory (single copies)")
    if f.thp == "never":
        yield Finding(
            "memory",
            "note",
            "transparent huge pages are off: large buffers cost more address translation",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (root)",
        )
    if f.thp_shmem in ("never", "deny"):
        yield Finding(
            "memory",
            "note",
            f"shared memory gets no huge pages (shmem_enabled is {f.thp_shmem!r})",
            "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled (root)",
        )


def _network(f: Facts) -> Iterator[Finding]:
    for fabric in f.fabrics:
        up = fabric.state in ("ACTIVE", "unknown")
        kind = "EFA" if fabric.name.startswith("efa") or fabric.driver == "efa" else "RDMA device"
        yield Finding(
            "network",
            "ok" if up else "problem",
            f"{kind} {fabric.name}: {fabric.state}, {fabric.rate}",
            None if up else "check the cable, the subnet manager and ibstat",
        )
    real = [i for i in f.interfaces if i.driver]
    for interface in real:
        speed = interface.speed_mbits
        words = f"{speed / 1000:g} Gb/s" if speed else "of a speed that its driver does not tell"
        yield Finding(
            "network",
            "ok",
            f"{interface.name}: {words}, MTU {interface.mtu} ({interface.driver})",
        )
        if speed is not None and speed >= 10000 and interface.mtu < 9000 and not f.fabrics:
            yield Finding(
                "network",
                "note",
                f"{interface.name} has an MTU of {interface.mtu}: more packets than needed for "
                "large messages",
                f"ip link set {interface.name} mtu 9001 (root), where every switch allows it",
            )
    fast = [i for i in real if (i.speed_mbits or 0) >= 10000]
    if len(fast) > 1:
        names = ",".join(i.name for i in fast)
        yield Finding(
            "network",
            "note",
            f"{len(fast)} rails: {names}; see that the MPI uses all of them",
            f"Open MPI over TCP: --mca btl_tcp_if_include {names}",
        )
    if not real and not f.fabrics:
        yield Finding(
            "network",
            "note",
            "no network hardware is seen here; jobs of one node do not need any",
        )


def _size(number: int) -> str:
    for unit, name in ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if number >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number} B"


def worst(findings: list[Finding]) -> Severity:
    """Return the gravest severity among findings."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default="ok")
