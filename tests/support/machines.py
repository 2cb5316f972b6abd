"""Machines as trees of /proc and /sys: two sockets, as described in public listings of the type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from stretto.check.facts import Facts, collect_facts, parse_list

GIB = 1 << 30


#: of all machines here: nothing is limited, busy or set badly
_BASE: dict[str, str | None] = {
    "proc/cpuinfo": "model name\t: AMD EPYC 9R14 96-Core Processor\n",
    "proc/meminfo": "MemTotal:       16777216 kB\n",
    "proc/loadavg": "0.10 0.20 0.30 1/200 999\n",
    "proc/sys/kernel/osrelease": "6.1.0-test\n",
    "proc/sys/kernel/yama/ptrace_scope": "0\n",
    "proc/sys/kernel/numa_balancing": "0\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
    "proc/self/limits": "Max locked memory         unlimited            unlimited    bytes\n",
    "proc/self/cgroup": "0::/job/step\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size [advise] never\n",
    "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
    "sys/fs/cgroup/job/memory.max": "max\n",
    "sys/class/net/lo/operstate": "unknown\n",
    "sys/class/net/eth0/operstate": "up\n",
    "sys/class/net/eth0/mtu": "9001\n",
    "sys/class/net/eth1/operstate": "down\n",
    "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
    "dev/shm/.keep": "",
}


def machine(root: Path, **changes: str | None) -> Path:
    """Lay out a node of 2 sockets x 4 cores x 2 threads with one network card, and change it."""
    files = _BASE | {
        "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-15\nSeccomp:\t0\n",
        "sys/devices/system/cpu/online": "0-15\n",
        "sys/devices/system/node/node0/cpulist": "0-3,8-11\n",
        "sys/devices/system/node/node1/cpulist": "4-7,12-15\n",
        "sys/class/net/eth0/speed": "25000\n",
        "sys/class/dmi/id/product_name": "hpc7a\n",
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
    files = _BASE | {
        "proc/self/status": f"Cpus_allowed_list:\t0-{cpus - 1}\nSeccomp:\t0\n",
        "sys/devices/system/cpu/online": f"0-{cpus - 1}\n",
        "sys/class/dmi/id/product_name": f"{name}\n",
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


def hwloc_xml(version: int = 2, cards: Mapping[str, int] = {}) -> str:
    """Return what ``lstopo --of xml`` writes of 2 sockets x 2 caches x 2 cores x 2 threads.

    There is a NUMA domain for each socket. The kernel's numbers go round the sockets, as firmware
    of servers with two sockets often has it: hwloc's own order is another. `cards`: InfiniBand
    devices, each at a socket. What the reader does not look at is left out.
    """

    def sets(cpus: Iterable[int], socket: int) -> str:
        return f'cpuset="0x{sum(1 << i for i in cpus):08x}" nodeset="0x{1 << socket:08x}"'

    device = 3 if version == 2 else 48
    out = [
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">',
        f'<topology version="{version}.0"><object type="Machine" os_index="0" '
        'cpuset="0x0000ffff" nodeset="0x00000003" allowed_cpuset="0x0000ffff">',
        '<info name="HostName" value="made"/>',
    ]
    for s in range(2):
        of = sets(range(s, 16, 2), s)
        out.append(f'<object type="Package" os_index="{s}" {of}>')
        out.append(f'<object type="NUMANode" os_index="{s}" {of} local_memory="{8 * GIB}"/>')
        for l3 in range(2):
            mine = [4 * l3 + s, 4 * l3 + 2 + s]  # first threads of the cores
            out.append(f'<object type="L3Cache" {sets([*mine, *(c + 8 for c in mine)], s)}>')
            for core, cpu in enumerate(mine):
                both = [cpu, cpu + 8]
                out.append(f'<object type="Core" os_index="{2 * l3 + core}" {sets(both, s)}>')
                out += [f'<object type="PU" os_index="{c}" {sets([c], s)}/>' for c in both]
                out.append("</object>")
            out.append("</object>")
        for name in (name for name, at in cards.items() if at == s):
            out.append(f'<object type="Bridge"><object type="PCIDev"><object type="OSDev" '
                       f'name="{name}" osdev_type="{device}"/></object></object>')  # fmt: skip
        out.append("</object>")
    return "\n".join([*out, "</object>", "</topology>"]) + "\n"
