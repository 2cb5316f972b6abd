"""Facts of each node of a job, which its ranks print: nodes need no Python and no tool of Stretto.

The first rank of each node prints the files that `collect_facts` reads; they are laid out in a
temporary folder and read from there.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import re
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.check.facts import Facts, collect_facts

#: A line of shell for `stretto.launch.ask.ask`. Without a local rank from the launcher, all print.
#: Hydra may cut the output of ranks anywhere and mix it: the facts are one line with a check sum.
SURVEY = r"""
case ${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-${PALS_LOCAL_RANKID:-0}}}} in
0)
    node=$(uname -n)
    echo "stretto-clock $node $(date +%s.%N)"
    facts=$({
    files=
    while IFS=: read -r number controller path; do
        folder=/sys/fs/cgroup
        [ "$number" = 0 ] || folder=$folder/$controller
        while :; do
            files="$files $folder$path/cpu.max $folder$path/cpu.cfs_quota_us
                $folder$path/cpu.cfs_period_us $folder$path/memory.max
                $folder$path/memory.limit_in_bytes $folder$path/pids.max
                $folder$path/cpuset.cpus.effective $folder$path/cpuset.effective_cpus"
            [ -n "$path" ] || break
            case $path in */*) path=${path%/*} ;; *) path= ;; esac
        done
    done </proc/self/cgroup
    cpus=/sys/devices/system/cpu
    # grep reads whole files at once: those of /proc/sys end after one read of a shell
    grep -sH '' /proc/meminfo /proc/loadavg /proc/self/status /proc/self/limits /proc/self/cgroup \
        /proc/sys/kernel/osrelease /proc/sys/kernel/numa_balancing \
        /proc/sys/kernel/yama/ptrace_scope /proc/sys/net/ipv4/tcp_rmem \
        /proc/sys/net/ipv4/tcp_wmem $cpus/online $cpus/cpu0/cpufreq/scaling_governor \
        /sys/devices/system/clocksource/clocksource0/current_clocksource \
        $cpus/cpu[0-9]*/topology/physical_package_id $cpus/cpu[0-9]*/topology/core_id \
        $cpus/cpu[0-9]*/topology/thread_siblings_list $cpus/cpu[0-9]*/cache/index3/shared_cpu_list \
        /sys/devices/system/node/node[0-9]*/cpulist \
        /sys/kernel/mm/transparent_hugepage/*enabled /sys/class/dmi/id/sys_vendor \
        /sys/class/dmi/id/product_name /sys/class/net/*/operstate /sys/class/net/*/speed \
        /sys/class/net/*/mtu /sys/class/net/*/device/numa_node \
        /sys/class/net/*/bonding/slaves /sys/class/net/*/bonding_slave/state \
        /sys/class/infiniband/*/ports/1/state /sys/class/infiniband/*/ports/1/rate \
        /sys/class/infiniband/*/device/numa_node $files | sed "s|^|stretto-file $node |"
    sed -n '1,/^$/p' /proc/cpuinfo | sed "s|^|stretto-file $node /proc/cpuinfo:|"
    for link in /sys/class/net/*/device/driver /sys/class/infiniband/*/device/driver; do
        [ -e "$link" ] && echo "stretto-driver $node $link:$(basename "$(readlink -f "$link")")"
    done
    set -- $(df -Pk /dev/shm 2>/dev/null | tail -n 1)
    [ $# -ge 4 ] && echo "stretto-shm $node $2 $4"
    } | gzip -9 | base64 | tr -d '\n')
    echo "stretto-facts $node $facts"
    ;;
esac
"""
_FACTS = re.compile(r"stretto-facts (\S+) ([\w+/=]+)$", re.MULTILINE)
_FILE = re.compile(r"^stretto-(file|driver) (\S+) (/(?:proc|sys)/[^:\n]+):(.*)$", re.MULTILINE)
_CLOCK = re.compile(r"^stretto-clock (\S+) (\d+(?:\.\d+)?)$", re.MULTILINE)
_SHM = re.compile(r"^stretto-shm (\S+) (\d+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Survey:
    """What the nodes of a job printed.

    Facts of each node by its name; time of day on each in seconds, read while the survey ran.
    """

    nodes: Mapping[str, Facts]
    clocks: Mapping[str, float]


def read_survey(output: str) -> Survey:
    """Return what the ranks printed to `SURVEY`."""
    packed = {n: text for n, one in _FACTS.findall(output) if (text := _unpacked(one)) is not None}
    all_facts = "".join(packed.values())
    files: dict[str, dict[str, list[str]]] = {}
    drivers: dict[str, dict[str, str]] = {}
    for what, node, path, text in _FILE.findall(all_facts):
        if ".." in path.split("/"):
            continue
        if what == "driver":
            drivers.setdefault(node, {})[path] = text
        else:
            files.setdefault(node, {}).setdefault(path, []).append(text)
    shm = {
        node: (int(total) << 10, int(free) << 10) for node, total, free in _SHM.findall(all_facts)
    }
    out: dict[str, Facts] = {}
    for node, found in files.items():
        with tempfile.TemporaryDirectory(prefix="stretto-check-") as folder:
            root = Path(folder)
            for path, lines in found.items():
                _put(root / path[1:], "\n".join(lines) + "\n")
            for path, name in drivers.get(node, {}).items():
                _put(root / "drivers" / Path(name).name, "")
                with contextlib.suppress(OSError, ValueError):
                    (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
                    (root / path[1:]).symlink_to(root / "drivers" / Path(name).name)
            facts = collect_facts(root)
        total, free = shm.get(node, (None, None))
        # A rank's mask says where the launcher bound it, not what the job may use.
        every = facts.cpuset or tuple(sorted(cpu for core in facts.siblings for cpu in core))
        out[node] = replace(
            facts, name=node, allowed=every or facts.allowed, shm_bytes=total, shm_free_bytes=free
        )
    clocks = {node: float(seconds) for node, seconds in _CLOCK.findall(output)}
    return Survey(dict(sorted(out.items())), clocks)


def _unpacked(packed: str) -> str | None:
    """Return the facts of a node; None where the launcher has mixed up its line."""
    try:
        text = gzip.decompress(base64.b64decode(packed, validate=True))
    except (ValueError, EOFError, OSError, zlib.error):
        return None
    return text.decode("utf-8", "replace")


def _put(path: Path, text: str) -> None:
    # A name that cannot be a file here is left out.
    with contextlib.suppress(OSError, ValueError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
