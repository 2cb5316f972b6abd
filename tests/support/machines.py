"""Machines as trees of /proc and /sys: two sockets, as described in public listings of the type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from stretto.check.facts import Facts, collect_facts, parse_list

GIB = 1 << 30


def machine(root: Path, **changes: str | None) -> Path:
    """Lay out a node of 2 sockets x 4 cores x 2 threads with one network card, and change it."""
    files: dict[str, str | None] = {
        "proc/cpuinfo": "model name\t: AMD EPYC 9R14 96-Core Processor\n",
        "proc/meminfo": "MemTotal:       16777216 kB\n",
        "proc/loadavg": "0.10 0.20 0.30 1/200 999\n",
        "proc/sys/kernel/osrelease": "6.1.0-test\n",
        "proc/sys/kernel/yama/ptrace_scope": "0\n",
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
        "proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
        "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-15\nSeccomp:\t0\n",
        "proc/self/limits": "Max locked memory         unlimited            unlimited    bytes\n",
        "proc/self/cgroup": "0::/job/step\n",
        "sys/devices/system/cpu/online": "0-15\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/node/node0/cpulist": "0-3,8-11\n",
        "sys/devices/system/node/node1/cpulist": "4-7,12-15\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size [advise] never\n",
        "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
        "sys/fs/cgroup/job/memory.max": "max\n",
        "sys/class/net/lo/operstate": "unknown\n",
        "sys/class/net/eth0/operstate": "up\n",
        "sys/class/net/eth0/speed": "25000\n",
        "sys/class/net/eth0/mtu": "9001\n",
        "sys/class/net/eth1/operstate": "down\n",
        "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
        "sys/class/dmi/id/product_name": "hpc7a\n",
        "dev/shm/.keep": "",
    }
    for cpu in range(16):
        base = f"sys/devices/system/cpu/cpu{cpu}/topology"
        core = cpu % 8
        files[f"{base}/physical_package_id"] = f"{core // 4}\n"
        files[f"{base}/core_id"] = f"{core % 4}\n"
        files[f"{base}/thread_siblings_list"] = f"{core},{core + 8}\n"
    _write(root, files | changes)
    return root


def instance(
    root: Path, name: str, cpus: int, sockets: int, cards: int, **changes: str | None
) -> Facts:
    """Return an EC2 instance without hardware threads, one NUMA node and EFA card a socket."""
    files: dict[str, str | None] = {
        "proc/cpuinfo": "model name\t: AMD EPYC 9R14\n",
        "proc/meminfo": "MemTotal:       805306368 kB\n",
        "proc/loadavg": "0.10 0.20 0.30 1/200 999\n",
        "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
        "proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
        "proc/self/status": f"Cpus_allowed_list:\t0-{cpus - 1}\nSeccomp:\t0\n",
        "sys/devices/system/cpu/online": f"0-{cpus - 1}\n",
        "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
        "sys/class/dmi/id/product_name": f"{name}\n",
        "sys/class/net/eth0/operstate": "up\n",
        "sys/class/net/eth0/mtu": "9001\n",
        "dev/shm/.keep": "",
    }
    share = cpus // sockets
    for cpu in range(cpus):
        base = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{base}/physical_package_id"] = f"{cpu // share}\n"
        files[f"{base}/thread_siblings_list"] = f"{cpu}\n"
    for socket in range(sockets):
        list_ = f"{socket * share}-{(socket + 1) * share - 1}\n"
        files[f"sys/devices/system/node/node{socket}/cpulist"] = list_
    for card in range(cards):
        base = f"sys/class/infiniband/rdmap{card}"
        files[f"{base}/ports/1/state"] = "4: ACTIVE\n"
        files[f"{base}/ports/1/rate"] = "150 Gb/sec\n"
        files[f"{base}/device/numa_node"] = f"{card}\n"
        files[f"{base}/device/driver"] = "efa"
    _write(root, files | changes)
    return _roomy(collect_facts(root, True))


def described(root: Path, name: str) -> Path:
    """Lay out the processors of a machine of ``tests/data/topology`` (README.md there)."""
    files: dict[str, str | None] = {}
    caches: dict[int, int] = {}
    nodes = []
    base = "sys/devices/system"
    data = Path(__file__).parents[1] / "data/topology" / f"{name}.machine"
    for line in data.read_text(encoding="utf-8").splitlines():
        kind, *words = line.split() or ["#"]
        lists = {"package": "package_cpus_list", "siblings": "core_siblings_list"}
        lists |= {"core": "core_cpus_list", "threads": "thread_siblings_list"}
        if kind == "online":
            files[f"{base}/cpu/online"] = words[0]
        elif kind == "node":
            nodes.append(words[0])
            files[f"{base}/node/node{words[0]}/cpulist"] = words[1].strip("-")
        elif kind in lists:
            for cpu in parse_list(words[0]):
                files[f"{base}/cpu/cpu{cpu}/topology/{lists[kind]}"] = words[0]
        elif kind == "cache":
            for cpu in parse_list(words[2]):
                cache = f"{base}/cpu/cpu{cpu}/cache/index{caches.get(cpu, 0)}"
                caches[cpu] = caches.get(cpu, 0) + 1
                files[f"{cache}/level"], files[f"{cache}/type"] = words[:2]
                files[f"{cache}/shared_cpu_list"] = words[2]
    if nodes:
        files[f"{base}/node/online"] = ",".join(nodes)
    _write(root, files)
    return root


def facts(root: Path, cma: bool | None = True, **changes: str | None) -> Facts:
    """Return the facts of `machine`, with 8 GiB of /dev/shm."""
    return _roomy(collect_facts(machine(root, **changes), cma))


def _roomy(found: Facts) -> Facts:
    return dataclasses.replace(found, shm_bytes=8 * GIB, shm_free_bytes=8 * GIB)


def _write(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        if text is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "driver":
            (root / "drivers" / text).mkdir(parents=True, exist_ok=True)
            path.symlink_to(root / "drivers" / text)
        else:
            path.write_text(text)
    for card in (root / "sys/class/net").glob("eth*"):
        if not (card / "device/driver").is_symlink():
            (root / "drivers/ena").mkdir(parents=True, exist_ok=True)
            (card / "device").mkdir(exist_ok=True)
            (card / "device/driver").symlink_to(root / "drivers/ena")


def hwloc_xml(
    sockets: int = 2,
    l3s: int = 2,
    cores: int = 2,
    threads: int = 2,
    version: int = 2,
    cards: Mapping[str, int] = {},
) -> str:
    """Return what ``lstopo --of xml`` writes of a node, a NUMA domain for each socket.

    The kernel's numbers go round the sockets, as firmware of servers with two sockets often has
    it: hwloc's own order is another. `cards`: InfiniBand devices, each at a socket.
    """
    per = l3s * cores
    everything = sockets * per * threads

    def number(socket: int, core: int, thread: int) -> int:
        return thread * sockets * per + core * sockets + socket

    def sets(cpus: Iterable[int], nodes: Iterable[int]) -> str:
        one, two = (f"0x{sum(1 << i for i in x):08x}" for x in (cpus, nodes))
        names = ("cpuset", "complete_cpuset", "nodeset", "complete_nodeset")
        return " ".join(f'{n}="{v}"' for n, v in zip(names, (one, one, two, two), strict=True))

    index = iter(range(2, 10000))
    out = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">']
    every = sets(range(everything), range(sockets))
    all_cpus, all_nodes = (every.split('"')[i] for i in (1, 5))
    out += [f'<topology version="{version}.0">', f'<object type="Machine" os_index="0" {every} '
            f'allowed_cpuset="{all_cpus}" allowed_nodeset="{all_nodes}" gp_index="1">',
            '<info name="HostName" value="made"/>']  # fmt: skip
    for s in range(sockets):
        of = [number(s, c, t) for c in range(per) for t in range(threads)]
        out.append(f'<object type="Package" os_index="{s}" {sets(of, [s])} '
                   f'gp_index="{next(index)}">')  # fmt: skip
        out.append(f'<object type="NUMANode" os_index="{s}" {sets(of, [s])} '
                   f'gp_index="{next(index)}" local_memory="{8 * GIB}"/>')  # fmt: skip
        for l3 in range(l3s):
            mine = range(l3 * cores, (l3 + 1) * cores)
            shared = [number(s, c, t) for c in mine for t in range(threads)]
            out.append(f'<object type="L3Cache" {sets(shared, [s])} gp_index="{next(index)}" '
                       'cache_size="33554432" depth="3" cache_linesize="64" '
                       'cache_associativity="16" cache_type="0">')  # fmt: skip
            for c in mine:
                own = [number(s, c, t) for t in range(threads)]
                out.append(
                    f'<object type="Core" os_index="{c}" {sets(own, [s])} gp_index="{next(index)}">'
                )
                out += [f'<object type="PU" os_index="{p}" {sets([p], [s])} '
                        f'gp_index="{next(index)}"/>' for p in own]  # fmt: skip
                out.append("</object>")
            out.append("</object>")
        for name in (name for name, at in cards.items() if at == s):
            bus = 16 * (s + 1)
            out.append(f'<object type="Bridge" gp_index="{next(index)}" bridge_type="0-1" depth="0"'
                       f' bridge_pci="0000:[{bus:02x}-{bus:02x}]">')  # fmt: skip
            out.append(f'<object type="PCIDev" gp_index="{next(index)}" '
                       f'pci_busid="0000:{bus:02x}:00.0" '
                       'pci_type="0207 [15b3:1017] [15b3:0007] 00" '
                       'pci_link_speed="15.75">')  # fmt: skip
            out.append(f'<object type="OSDev" gp_index="{next(index)}" name="{name}" '
                       f'osdev_type="{3 if version == 2 else 48}"/></object></object>')  # fmt: skip
        out.append("</object>")
    return "\n".join([*out, "</object>", "</topology>"]) + "\n"
