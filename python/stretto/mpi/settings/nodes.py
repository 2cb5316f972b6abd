"""What a job's nodes have in common that a setting can name: interfaces, RDMA ports, sockets.

Every rank says it in one line of shell: nodes need no Python, no iproute2 and no tool of an MPI.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

#: interfaces of containers, virtual machines and tunnels: the same subnet on every node, which does
#: not reach from one to the other
INTERNAL = re.compile(
    r"lo\d*|docker|br-|virbr|veth|vnet|cni|cali|flannel|cilium|kube|podman|lxc|lxd|tun|tap|wg"
    r"|tailscale|usb"
)
#: so many single ones are tried at most: the first, as the kernel names them
MOST = 4

#: The kernel's table of routes names interfaces with an address and their subnets (those without a
#: gateway); `a` to `c` are columns that are not wanted.
ASK = """
out=
while read -r name to via flags a b c mask rest; do
    if [ "$via" = 00000000 ] && [ "$mask" != 00000000 ]; then
        out="$out $name/$to/$mask/$(cat "/sys/class/net/$name/operstate" 2>/dev/null)"
    fi
done </proc/net/route
for port in /sys/class/infiniband/*/ports/*; do
    case $(cat "$port/state" 2>/dev/null) in
    *ACTIVE*) device=${port%/ports/*}; out="$out ${device##*/}:${port##*/}" ;;
    esac
done
sockets=$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id 2>/dev/null |
    sort -u | grep -c .)
domains=$(ls -d /sys/devices/system/node/node[0-9]* 2>/dev/null | grep -c .)
echo "stretto-node $(uname -n) $sockets $domains$out stretto-end"
"""
#: `unknown`: drivers that do not tell (tunnels, some virtual ones)
_UP = ("up", "unknown")
_LINE = re.compile(r"stretto-node (\S+) (\d+) (\d+)((?: \S+)*?) stretto-end")


@dataclass(frozen=True)
class Nodes:
    """What was found on all nodes of a job.

    `interfaces`: name and subnets of each interface that is up and in the same subnet on all of
    them. `others`: an interface that is up on some node and not among these, which an MPI may take
    by itself. `ports`: RDMA ports (``mlx5_0:1``) that are active on all of them. `down`: interfaces
    that are up on some nodes and down on others, with these.
    """

    hosts: int
    interfaces: Mapping[str, tuple[str, ...]]
    others: bool
    ports: tuple[str, ...]
    sockets: int
    domains: int
    down: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read(said: str) -> Nodes | None:
    """Return what ranks said to `ASK`; None where none did."""
    hosts = {m[1]: (int(m[2]), int(m[3]), m[4].split()) for m in _LINE.finditer(said)}
    if not hosts:
        return None
    every = [_interfaces(words) for _, _, words in hosts.values()]
    shared: dict[str, tuple[str, ...]] = {}
    for name in every[0]:
        common = set.intersection(*(set(e.get(name, ())) for e in every))
        if common and not INTERNAL.match(name):
            shared[name] = tuple(sorted(common))
    ports = [{w for w in words if "/" not in w} for _, _, words in hosts.values()]
    return Nodes(
        len(hosts),
        dict(sorted(shared.items())),
        any(set(e) - set(shared) - {"lo"} for e in every),
        tuple(sorted(set.intersection(*ports))),
        max(s for s, _, _ in hosts.values()),
        max(d for _, d, _ in hosts.values()),
        _down({host: words for host, (_, _, words) in hosts.items()}),
    )


def _down(words: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the interfaces that are down on some hosts only, with these hosts."""
    up: dict[str, set[str]] = defaultdict(set)
    down: dict[str, set[str]] = defaultdict(set)
    for host, here in words.items():
        for word in here:
            name, _, rest = word.partition("/")
            state = rest.rpartition("/")[2]
            if state and not INTERNAL.match(name):
                (up if state in _UP else down)[name].add(host)
    return {n: tuple(sorted(down[n] - up[n])) for n in sorted(down) if up[n] and down[n] - up[n]}


def _interfaces(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the interfaces of a node that are up, with their subnets."""
    out: dict[str, tuple[str, ...]] = {}
    for word in words:
        parts = word.split("/")
        if len(parts) != 4 or parts[3] not in _UP:
            continue
        to, mask = (_address(p) for p in parts[1:3])
        if mask == "255.255.255.255" or to.startswith(("127.", "169.254.")):
            continue
        network = str(ipaddress.ip_network(f"{to}/{mask}", strict=False))
        out[parts[0]] = (*out.get(parts[0], ()), network)
    return out


def _address(text: str) -> str:
    """Return an address of /proc/net/route: a number as the processor has it in memory."""
    return str(ipaddress.ip_address(bytes.fromhex(text)[::-1]))


def chosen(text: str, nodes: Nodes) -> set[str] | None:
    """Return the shared interfaces in a list of names and subnets; None: some are unknown."""
    found: set[str] = set()
    for word in filter(None, text.split(",")):
        if "/" in word:
            try:
                wide = ipaddress.ip_network(word, strict=False)
            except ValueError:
                return None
            mine = {
                n
                for n, subnets in nodes.interfaces.items()
                for s in subnets
                if wide.overlaps(ipaddress.ip_network(s))
            }
        else:
            mine = {word} & set(nodes.interfaces)
        if not mine:
            return None
        found |= mine
    return found
