"""Judging a machine: processor, limits, memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from stretto.check.facts import Facts
from stretto.check.finding import Finding, size_words
from stretto.check.network import judge_network
from stretto.counted import counted

MIB = 1 << 20


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
        *judge_network(facts),
    ]


def judge_nodes(nodes: Mapping[str, Facts], ranks: Mapping[str, int]) -> list[Finding]:
    """Judge each node of a job; what holds of several is said once.

    Parameters
    ----------
    nodes
        Facts of each node by its name.
    ranks
        Ranks on each of them.
    """
    at: dict[tuple[str, ...], tuple[Finding, list[str]]] = {}
    for node, facts in nodes.items():
        for finding in judge(facts, ranks.get(node)):
            # figures such as the load differ from node to node; names such as mlx5_0 stay
            text = re.sub(r"(?<![\w.])[\d.]+", "#", finding.text) if finding.kind else finding.text
            same = (finding.severity, finding.kind, text)
            where = at.setdefault(same, (finding, []))[1]
            if node not in where:
                where.append(node)
    every = len(nodes)
    return [
        replace(finding, nodes=() if len(where) == every else tuple(where))
        for finding, where in at.values()
    ]


def _cpu(f: Facts, ranks: int | None) -> Iterator[Finding]:
    smt = f" ({counted(f.threads, 'hardware thread')})" if f.threads != f.cores else ""
    where = f" on {f.product}" if f.product else ""
    yield Finding(
        "cpu",
        "ok",
        f"{f.cpu}, {counted(f.cores, 'core')}{smt}, {counted(f.sockets, 'socket')}, "
        f"{counted(max(1, len(f.numa)), 'NUMA node')}, kernel {f.kernel}{where}",
    )
    if len(f.allowed) < f.threads:
        yield Finding(
            "cpu",
            "warning",
            f"this process may use {len(f.allowed)} of {f.threads} hardware threads",
            "ask the batch system for whole nodes, or start from an unbound shell "
            "(taskset -p $$ shows the binding)",
            kind="part-of-node",
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
            kind="too-many-ranks",
        )
    if f.governor not in (None, "performance"):
        yield Finding(
            "cpu",
            "warning",
            f"the clock is governed by {f.governor!r}, so that short collectives run slowly",
            "cpupower frequency-set -g performance (root)",
            kind="governor",
        )
    if f.clock not in (None, "tsc", "arch_sys_counter", "kvm-clock", "timebase"):
        yield Finding(
            "cpu",
            "warning",
            f"the time source is {f.clock!r}, which is slow to read: measurements get coarse",
            "boot with clocksource=tsc where the processor's counter is stable",
            kind="clock-source",
        )
    if f.numa_balancing and len(f.numa) > 1:
        yield Finding(
            "cpu",
            "note",
            "automatic NUMA balancing is on: it moves pages of bound ranks for nothing",
            "sysctl kernel.numa_balancing=0 (root), and bind the ranks",
            kind="numa-balancing",
        )
    if f.load > max(1, f.cores) * 0.5:
        yield Finding(
            "cpu",
            "warning",
            f"the machine is busy (load {f.load:.1f} on {counted(f.cores, 'core')}): figures "
            "measured now mean little",
            "measure when nothing else runs",
            kind="busy",
        )


def _limits(f: Facts, ranks: int | None) -> Iterator[Finding]:
    if f.cpu_quota is not None and f.cpu_quota < (ranks or f.cores):
        yield Finding(
            "cpu",
            "problem" if f.cpu_quota < 1 else "warning",
            f"the container or job may use {f.cpu_quota:g} CPUs' time; ranks beyond that are "
            "stopped for part of every period",
            "raise the CPU limit (docker --cpus, Kubernetes limits)",
            kind="cpu-quota",
        )
    if f.memory_limit_bytes is not None and f.memory_limit_bytes < f.memory_bytes:
        yield Finding(
            "memory",
            "note",
            f"the container or job may use {size_words(f.memory_limit_bytes)} of "
            f"{size_words(f.memory_bytes)} memory; shared memory counts as well",
            kind="memory-limit",
        )
    if f.pids_limit is not None and f.pids_limit < 4 * (ranks or f.cores) + 64:
        yield Finding(
            "cpu",
            "warning",
            f"at most {f.pids_limit} processes and threads may run here",
            "raise the limit (docker --pids-limit)",
            kind="process-limit",
        )
    if f.memlock_bytes is not None and f.memlock_bytes < 64 * MIB and f.fabrics:
        yield Finding(
            "network",
            "problem",
            f"only {size_words(f.memlock_bytes)} may be locked, and the fabric locks its buffers",
            "set 'memlock unlimited' in /etc/security/limits.conf (root) and log in again",
            kind="locked-memory",
        )


def cma_refusal(f: Facts) -> tuple[str, str]:
    """Return why a process cannot read the memory of another one here, and the remedy.

    Parameters
    ----------
    f
        The machine: a read was refused there.
    """
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
        yield Finding(
            "memory",
            "problem",
            "there is no /dev/shm: neither the MPI nor Stretto can share memory within the node",
            "mount it: mount -t tmpfs tmpfs /dev/shm (root)",
            kind="no-shm",
        )
    else:
        free = f.shm_free_bytes or 0
        need = 64 * MIB + 8 * MIB * (ranks or f.cores)
        total = f"/dev/shm has {size_words(f.shm_bytes)}, {size_words(free)} of it free"
        if free < need:
            yield Finding(
                "memory",
                "problem" if free < 32 * MIB else "warning",
                f"{total}; the ranks of a node need about {size_words(need)}",
                "start the container with --shm-size=1g, remount it larger "
                "(mount -o remount,size=4g /dev/shm), or remove left-over files in it",
                kind="shm-full",
            )
        else:
            yield Finding("memory", "ok", total)
    if f.cma is False or (f.cma is None and (f.ptrace_scope or 0) > 1):
        reason, remedy = cma_refusal(f)
        yield Finding(
            "memory",
            "warning",
            f"ranks cannot read each other's memory ({reason}): large messages within a node are "
            "copied twice",
            remedy,
            kind="two-copies",
        )
    elif f.cma:
        only = "; the MPI has to permit it (MPICH does not)" if f.ptrace_scope == 1 else ""
        yield Finding("memory", "ok", f"ranks can read each other's memory (single copies){only}")
    if f.thp == "never":
        yield Finding(
            "memory",
            "note",
            "transparent huge pages are off: large buffers cost more address translation",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (root)",
            kind="huge-pages",
        )
    if f.thp_shmem in ("never", "deny"):
        yield Finding(
            "memory",
            "note",
            f"shared memory gets no huge pages (shmem_enabled is {f.thp_shmem!r})",
            "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled (root)",
            kind="huge-pages",
        )
