"""Facts of a machine that matter to collectives, read from /proc and /sys."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from stretto.check.segments import left_behind
from stretto.files.identity import collect_host


@dataclass(frozen=True)
class Interface:
    """A network interface that is up.

    `speed_mbits` is None where the driver does not say (virtual ones, often); `driver` is empty for
    interfaces without a device behind them; `numa` is the NUMA node of the card, None if unknown.
    """

    name: str
    speed_mbits: int | None
    mtu: int
    driver: str
    numa: int | None = None


@dataclass(frozen=True)
class Fabric:
    """An RDMA device: InfiniBand, RoCE, EFA; `numa` is its NUMA node, None if unknown."""

    name: str
    driver: str
    state: str
    rate: str
    numa: int | None = None

    @property
    def up(self) -> bool:
        """Whether it can be used, as far as the driver says."""
        return self.state in ("ACTIVE", "unknown")

    @property
    def kind(self) -> str:
        return "EFA" if self.driver == "efa" or self.name.startswith("efa") else "RDMA device"


@dataclass(frozen=True)
class Facts:
    """The machine, as this process sees it.

    `threads` and `cores` are online, `allowed` are those this process may use; `siblings`: hardware
    threads of each core; `packages`: socket of each hardware thread; `l3`: hardware threads of each
    level-3 cache. Limits of the cgroup: `cpu_quota` (CPUs' worth of time), `memory_limit_bytes`,
    `pids_limit`, `cpuset`; None or empty: no limit. Other fields are None where the kernel does not
    say. `cma`: whether a rank can read another one's memory; None when not tried. `tcp_bytes`: the
    most that the kernel gives a TCP socket for receiving, and for sending. `segments`: names and
    bytes of this user's shared-memory segments that no process uses any more.
    """

    name: str
    cpu: str
    kernel: str
    memory_bytes: int
    cores: int
    threads: int
    sockets: int
    allowed: tuple[int, ...]
    numa: dict[int, tuple[int, ...]]
    governor: str | None = None
    clock: str | None = None
    cpu_quota: float | None = None
    memory_limit_bytes: int | None = None
    pids_limit: int | None = None
    shm_bytes: int | None = None
    shm_free_bytes: int | None = None
    ptrace_scope: int | None = None
    seccomp: bool = False
    cma: bool | None = None
    thp: str | None = None
    thp_shmem: str | None = None
    numa_balancing: bool | None = None
    memlock_bytes: int | None = None
    load: float = 0.0
    product: str = ""
    interfaces: tuple[Interface, ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    siblings: tuple[tuple[int, ...], ...] = ()
    packages: dict[int, int] = field(default_factory=dict)
    tcp_bytes: tuple[int, int] | None = None
    cpuset: tuple[int, ...] = ()
    l3: tuple[tuple[int, ...], ...] = ()
    segments: tuple[tuple[str, int], ...] = ()


def parse_list(text: str) -> tuple[int, ...]:
    """Return the numbers of a kernel list such as ``0-3,8``."""
    out: list[int] = []
    for part in text.strip().split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if found:
            out += range(int(found[1]), int(found[2] or found[1]) + 1)
    return tuple(out)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def _chosen(text: str | None) -> str | None:
    """Return the word in brackets of ``always [madvise] never``."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found.group(1) if found else None


def collect_facts(root: Path = Path("/"), cma: bool | None = None) -> Facts:
    """Read a machine's facts.

    `root`: where `proc`, `sys` and `dev` are found (a fabricated tree in tests). `cma`: whether
    cross-memory attach was tried, and worked.
    """
    host = collect_host(root)
    system = root / "sys/devices/system"
    status = _read(root / "proc/self/status") or ""
    online = parse_list(_read(system / "cpu/online") or "")
    allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.MULTILINE)
    packages = {
        int(p.name[3:]): number
        for p in (system / "cpu").glob("cpu[0-9]*")
        if (number := _number(_read(p / "topology/physical_package_id"))) is not None
    }
    shm = _filesystem(root / "dev/shm")
    quota, memory, pids = _cgroup(root)
    dmi = root / "sys/class/dmi/id"
    product = " ".join(filter(None, (_read(dmi / "sys_vendor"), _read(dmi / "product_name"))))
    return Facts(
        name=host.name,
        cpu=host.cpu,
        kernel=host.kernel,
        memory_bytes=host.memory_bytes,
        cores=host.cores,
        threads=len(online) or host.cores,
        sockets=len(set(packages.values())) or 1,
        allowed=parse_list(allowed[1]) if allowed else online,
        numa={
            int(p.name[4:]): parse_list(_read(p / "cpulist") or "")
            for p in sorted((system / "node").glob("node[0-9]*"))
        },
        governor=_read(system / "cpu/cpu0/cpufreq/scaling_governor"),
        clock=_read(system / "clocksource/clocksource0/current_clocksource"),
        cpu_quota=quota,
        memory_limit_bytes=memory,
        pids_limit=pids,
        shm_bytes=shm[0] if shm else None,
        shm_free_bytes=shm[1] if shm else None,
        ptrace_scope=_number(_read(root / "proc/sys/kernel/yama/ptrace_scope")),
        seccomp=bool(re.search(r"^Seccomp:\s*[12]", status, re.MULTILINE)),
        cma=cma,
        thp=_chosen(_read(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        thp_shmem=_chosen(_read(root / "sys/kernel/mm/transparent_hugepage/shmem_enabled")),
        numa_balancing=_flag(_read(root / "proc/sys/kernel/numa_balancing")),
        memlock_bytes=_memlock(_read(root / "proc/self/limits") or ""),
        load=_load(_read(root / "proc/loadavg")),
        product=product,
        interfaces=_interfaces(root / "sys/class/net"),
        fabrics=_fabrics(root / "sys/class/infiniband"),
        siblings=_groups(system / "cpu", "topology/thread_siblings_list"),
        packages=packages,
        tcp_bytes=_tcp_bytes(root / "proc/sys/net/ipv4"),
        cpuset=_cpuset(root),
        l3=_groups(system / "cpu", "cache/index3/shared_cpu_list"),
        segments=left_behind(root),
    )


def _groups(base: Path, name: str) -> tuple[tuple[int, ...], ...]:
    lists = {_read(p) or "" for p in base.glob(f"cpu[0-9]*/{name}")}
    return tuple(sorted(parse_list(x) for x in lists if x))


def _tcp_bytes(base: Path) -> tuple[int, int] | None:
    received, sent = (
        _number(re.sub(r".*\s", "", _read(base / name) or "")) for name in ("tcp_rmem", "tcp_wmem")
    )
    return None if received is None or sent is None else (received, sent)


def _numa_of(entry: Path) -> int | None:
    node = _number(_read(entry / "device/numa_node"))
    return node if node is not None and node >= 0 else None


def _flag(text: str | None) -> bool | None:
    return None if text is None else text != "0"


def _load(text: str | None) -> float:
    found = re.match(r"[\d.]+", text or "")
    return float(found.group(0)) if found else 0.0


def _memlock(limits: str) -> int | None:
    found = re.search(r"^Max locked memory\s+(\S+)", limits, re.MULTILINE)
    return _number(found[1]) if found else None


def _filesystem(path: Path) -> tuple[int, int] | None:
    try:
        facts = os.statvfs(path)
    except OSError:
        return None
    return facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize


def _cgroup(root: Path) -> tuple[float | None, int | None, int | None]:
    """Return the tightest limits along this process's cgroups: CPUs, bytes, processes."""
    cpus: list[float] = []
    memory: list[int] = []
    pids: list[int] = []
    for directory in _directories(root):
        quota = (_read(directory / "cpu.max") or "").split()
        if len(quota) == 2 and quota[0] != "max":
            cpus.append(int(quota[0]) / int(quota[1]))
        old = _number(_read(directory / "cpu.cfs_quota_us"))
        period = _number(_read(directory / "cpu.cfs_period_us"))
        if old is not None and old > 0 and period:
            cpus.append(old / period)
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _number(_read(directory / name))
            if limit is not None and limit < 1 << 60:
                memory.append(limit)
        limit = _number(_read(directory / "pids.max"))
        if limit is not None:
            pids.append(limit)
    return min(cpus, default=None), min(memory, default=None), min(pids, default=None)


def _cpuset(root: Path) -> tuple[int, ...]:
    """Return the smallest set of hardware threads along this process's cgroups."""
    found = [
        cpus
        for directory in _directories(root)
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus")
        if (cpus := parse_list(_read(directory / name) or ""))
    ]
    return min(found, key=len, default=())


def _directories(root: Path) -> list[Path]:
    """Return the directories of this process's cgroups, and those above them."""
    out: list[Path] = []
    for line in (_read(root / "proc/self/cgroup") or "0::/").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        out += _up(root / "sys/fs/cgroup", controllers if number != "0" else "", path)
    return out


def _up(base: Path, controllers: str, path: str) -> list[Path]:
    """Return a cgroup's directory and those above it (version 1: below its controller's)."""
    top = base / controllers if controllers else base
    parts = [p for p in path.split("/") if p and p != ".."]
    return [top.joinpath(*parts[:n]) for n in range(len(parts), -1, -1)]


def _interfaces(base: Path) -> tuple[Interface, ...]:
    out: list[Interface] = []
    for entry in sorted(base.glob("*")):
        if entry.name == "lo" or _read(entry / "operstate") not in ("up", "unknown"):
            continue
        if (entry / "bonding_slave").exists():
            continue  # has no address: its bond is what programs can name
        speed = _number(_read(entry / "speed"))
        out.append(
            Interface(
                entry.name,
                speed if speed is not None and speed > 0 else None,
                _number(_read(entry / "mtu")) or 0,
                _driver(entry),
                _numa_of(entry),
            )
        )
    return tuple(out)


def _fabrics(base: Path) -> tuple[Fabric, ...]:
    out: list[Fabric] = []
    for entry in sorted(base.glob("*")):
        port = entry / "ports/1"
        state = (_read(port / "state") or "unknown").partition(":")[2].strip() or "unknown"
        rate = _read(port / "rate") or "unknown"
        out.append(Fabric(entry.name, _driver(entry), state, rate, _numa_of(entry)))
    return tuple(out)


def _driver(entry: Path) -> str:
    if (entry / "bonding").exists():
        return "bonding"
    driver = entry / "device/driver"
    return driver.resolve().name if driver.exists() else ""
