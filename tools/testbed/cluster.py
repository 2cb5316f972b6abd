"""A cluster of network namespaces on one machine: real processes, real TCP, several nodes.

Each node is one process (the *holder*) in namespaces of its own (network, host name, IPC, mounts,
processes, clock) with its own /dev/shm and /tmp, tied to the others by a bridge, or by several (its
rails). Everything that runs on a node dies with its holder, and the node's network goes with it, so
that cleaning up is: end the holders, delete the bridges, delete the instance's directory. Nothing
else is touched: a link is deleted only where it has the hardware address that the instance gave it.

It answers whether something is *right* on several nodes. It says nothing on latency: all nodes
share this machine's cores.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import ipaddress
import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import holder
import reach
from holder import TestbedError, own_clocks

__all__ = ["AGENT", "RUN", "Cluster", "Node", "TestbedError", "collect_garbage", "damaged", "find",
           "instances", "need_root", "own_clocks", "take_down", "up"]  # fmt: skip

RUN = Path("/run/stretto-testbed")
LINKS = Path("/sys/class/net")
#: one /24 for each rail of an instance: 10.77.K.0, 10.78.K.0, ...; .1 is the bridge, .11 the first
#: node
FIRST_NETWORK = 77
#: routes that say nothing against a network, by the length of their prefix: a default route in two
#: halves, as of a VPN; and where nothing else is left, the whole 10.0.0.0/8 of a company or cloud,
#: of which hardly anybody needs this very /24
WIDEST = (8, 13)
MOST_RAILS = 8
MOST_NODES = 99
AGENT = Path(__file__).resolve().parent / "agent"


@dataclass
class Node:
    """One node: its host name, address and core, and the process that holds its namespaces.

    A node has one core, which it may share with other nodes: its processes then know that they are
    more than the cores, and give way while they wait.
    """

    name: str
    address: str
    pid: int
    started: str
    core: int = 0

    @property
    def up(self) -> bool:
        """Whether the process that holds its namespaces is there."""
        return holder.start_time(self.pid) == self.started


@dataclass
class Cluster:
    """A running instance.

    ``owner`` is the process it belongs to (0: it stays until ``down``). While it is being built
    that is whoever builds it, so that what a killed ``up`` leaves is known to be nobody's.
    """

    name: str
    bridge: str
    bridge_address: str
    network: str
    nodes: list[Node]
    owner: int
    owner_started: str
    bandwidth: str | None = None
    rails: int = 1
    #: how its nodes were started, for one that is brought back
    owned: bool = False
    kept: list[str] = field(default_factory=list)

    @property
    def networks(self) -> list[str]:
        """The first three numbers of each rail's addresses."""
        last = self.network.rpartition(".")[2]
        return [f"10.{FIRST_NETWORK + rail}.{last}" for rail in range(self.rails)]

    @property
    def bridges(self) -> list[str]:
        """The bridge of each rail."""
        return [_bridge(self.name, rail) for rail in range(self.rails)]

    @property
    def directory(self) -> Path:
        """The instance's state."""
        return RUN / self.name

    @property
    def shared(self) -> Path:
        """A directory that all nodes see, as on a cluster's shared file system."""
        return self.directory / "shared"

    def command(self, node: Node, argv: Sequence[str], cwd: Path | None = None) -> list[str]:
        """Return what runs ``argv`` on a node; it ends when the process that started it ends."""
        if not node.up:
            raise TestbedError(
                f"node {node.name} is down: nothing runs there any more; take the instance "
                f"{self.name} down, and up again"
            )
        enter = ["nsenter", "-t", str(node.pid), "-n", "-u", "-i", "-m", "-p"]
        enter += ["-T", "--"] if own_clocks() else ["--"]
        enter += ["taskset", "-c", str(node.core)]
        enter += ["setpriv", "--pdeathsig", "TERM", "sh", "-c", 'cd "$0" && exec "$@"']
        if cwd is None:  # a home in /tmp is hidden by the node's own /tmp
            home = Path.home()
            cwd = home if home.is_dir() and not home.is_relative_to("/tmp") else Path("/")
        return [*enter, str(cwd), *argv]

    def run(
        self, index: int, argv: Sequence[str], timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on node ``index`` (from 0) and return what it printed."""
        argv = self.command(self.nodes[index], argv)
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)

    def kill(self, index: int) -> None:
        """End a node as a power cut does: all that runs there is gone, and so is its network.

        Who wants to start something there hears at once that it is not up. `revive` brings it
        back under its name and address, with an empty /tmp and /dev/shm.
        """
        node = self.nodes[index]
        (self.directory / f"pid.{node.name}").unlink(missing_ok=True)
        holder.end_node(node.pid, node.started)

    def revive(self, index: int) -> None:
        """Bring back a node that was killed."""
        stale = {f"{bridge}v{index + 1}" for bridge in self.bridges}
        _delete(self.name, stale)  # what the kernel has not taken away yet
        node = self.nodes[index]
        _begin(self, index, Node(node.name, node.address, 0, "", node.core))

    def down(self) -> None:
        """End all that runs on the nodes and delete every trace of this instance. Safe twice."""
        _clear(self.name, [(node.pid, node.started) for node in self.nodes])

    def _save(self) -> None:
        text = json.dumps(asdict(self), indent=1)
        partial = self.directory / "state.partial"
        partial.write_text(text)
        partial.replace(self.directory / "state.json")


def up(
    nodes: int,
    *,
    name: str | None = None,
    bandwidth: str | None = None,
    share: Sequence[Path] = (),
    owned: bool = False,
    rails: int = 1,
    then: Callable[[Cluster], None] | None = None,
) -> Cluster:
    """Start a cluster.

    `name`: at most 8 characters; by default one that is free. `bandwidth`: cap of each of a node's
    links, each way, as tc writes it ("1gbit"). `share`: paths under /tmp that the nodes must see
    (each node has a /tmp of its own). `owned`: the instance goes when this process ends, however it
    ends. `rails`: networks that tie the nodes, eth0 the first, each with links and a bridge of its
    own. `then`: does more to it before it is taken to be up (``slurm.start``).
    """
    need_root()
    if not 1 <= nodes <= MOST_NODES:
        raise TestbedError(f"{nodes} nodes: give 1 to {MOST_NODES}")
    if not 1 <= rails <= MOST_RAILS:
        raise TestbedError(f"{rails} rails: give 1 to {MOST_RAILS}")
    if bandwidth:
        _bucket(bandwidth)
    _need_tools("ip", "nsenter", "unshare", "setpriv", "taskset", *(["tc"] if bandwidth else []))
    collect_garbage()
    with _lock():
        name = name or _free_name(rails, nodes)
        if len(name) > 8 or not name.isalnum():
            raise TestbedError(f"name {name!r}: give at most 8 letters and digits")
        directory = RUN / name
        if directory.exists():
            raise TestbedError(f"an instance {name!r} is up: choose another name, or take it down")
        taken = sorted(_links(name, rails, nodes).keys() & _here())
        if taken:
            raise TestbedError(
                f"this machine has an interface {taken[0]} already, which the testbed did not make "
                f"for an instance that is up: choose another name, or delete it (ip link del "
                f"{taken[0]})"
            )
        network = _free_network(rails)
        cluster = Cluster(
            name=name,
            bridge=f"{name}br",
            bridge_address=f"{network}.1",
            network=network,
            nodes=[],
            owner=os.getpid(),
            owner_started=holder.start_time(os.getpid()) or "",
            bandwidth=bandwidth,
            rails=rails,
        )
        cluster.shared.mkdir(parents=True)
        cluster._save()
    try:
        _build(cluster, nodes, [path.resolve() for path in share], owned)
        reach.check(cluster)
        if then is not None:
            then(cluster)
        if not owned:
            cluster.owner, cluster.owner_started = 0, ""
            cluster._save()
    except BaseException:
        cluster.down()
        raise
    return cluster


def _build(cluster: Cluster, nodes: int, share: Sequence[Path], owned: bool) -> None:
    addresses = {f"{cluster.name}n{i + 1}": f"{cluster.network}.{11 + i}" for i in range(nodes)}
    hosts = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
    (cluster.directory / "hosts").write_text("\n".join(hosts) + "\n")
    for rail, (bridge, network) in enumerate(zip(cluster.bridges, cluster.networks, strict=True)):
        # its own address, not that of some port, which would change for all when a node goes
        hardware = _hardware(cluster.name, rail, 0)
        _ip("link", "add", bridge, "address", hardware, "type", "bridge")
        _ip("addr", "add", f"{network}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
    cores = sorted(os.sched_getaffinity(0))
    cluster.owned = owned
    cluster.kept = [str(path) for path in share if path.is_relative_to("/tmp")]
    for index, (name, address) in enumerate(addresses.items()):
        _begin(cluster, index, Node(name, address, 0, "", cores[index % len(cores)]))


def _begin(cluster: Cluster, index: int, node: Node) -> None:
    """Start a node's holder, and tie it to all networks."""
    node.pid = holder.start(cluster.directory, index, node.name, cluster.kept, cluster.owned)
    node.started = holder.start_time(node.pid) or ""
    cluster.nodes[index:] = [node, *cluster.nodes[index + 1 :]]
    cluster._save()
    # for the agent
    pid_file = cluster.directory / f"pid.{node.name}"
    pid_file.write_text(f"{node.pid} {node.core}\n{node.started}\n")
    _call("nsenter", "-t", str(node.pid), "-n", "ip", "link", "set", "lo", "up")
    for rail in range(cluster.rails):
        _tie(cluster, rail, index, node.pid)


def _tie(cluster: Cluster, rail: int, index: int, pid: int) -> None:
    """Give a node its link of one rail: ethR there, bridgevN here."""
    bridge, network, inner = cluster.bridges[rail], cluster.networks[rail], f"eth{rail}"
    outside = f"{bridge}v{index + 1}"
    hardware = _hardware(cluster.name, rail, index + 1)
    _ip("link", "add", outside, "address", hardware,
        "type", "veth", "peer", "name", inner, "netns", str(pid))  # fmt: skip
    _ip("link", "set", outside, "master", bridge, "up")
    inside = ("nsenter", "-t", str(pid), "-n")
    _call(*inside, "ip", "addr", "add", f"{network}.{11 + index}/24", "dev", inner)
    _call(*inside, "ip", "link", "set", inner, "up")
    if cluster.bandwidth:
        cap = ("root", "tbf", *_bucket(cluster.bandwidth))
        _call(*inside, "tc", "qdisc", "add", "dev", inner, *cap)
        _call("tc", "qdisc", "add", "dev", outside, *cap)


def _bucket(bandwidth: str) -> tuple[str, ...]:
    """Return tc's words for a cap: a small bucket, so that short messages are held to it, too.

    The queue holds a second: a network whose switches lose nothing. Retransmissions would be of
    this machine's timers, and take longer than what is sent.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg])bit", bandwidth)
    if not found or float(found.group(1)) == 0:
        raise TestbedError(f"bandwidth {bandwidth!r}: write it as 50mbit or 1gbit")
    bytes_s = float(found.group(1)) * {"k": 1e3, "m": 1e6, "g": 1e9}[found.group(2)] / 8
    burst = min(max(int(bytes_s * 2e-3), 8 << 10), 256 << 10)
    return "rate", bandwidth, "burst", str(burst), "latency", "1s"


def instances() -> list[Cluster]:
    """All instances whose state is on this machine and can be read (see `damaged`)."""
    return [found for found in _states().values() if isinstance(found, Cluster)]


def damaged() -> dict[str, str]:
    """Name the instances whose state cannot be read, each with the reason; `take_down` ends them.

    Their state was spoiled, or written by another version of the testbed.
    """
    return {name: found for name, found in _states().items() if isinstance(found, str)}


def _states() -> dict[str, Cluster | str]:
    """Return every instance by its name, or why its state cannot be read."""
    found: dict[str, Cluster | str] = {}
    for directory in sorted(path for path in RUN.glob("*") if path.is_dir()):
        try:
            found[directory.name] = _read(directory)
        except FileNotFoundError:  # without holders it is not one yet, or no longer
            if holder.running(directory):
                found[directory.name] = "state.json is missing"
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            found[directory.name] = f"state.json: {type(error).__name__}: {error}"
    return found


def _read(directory: Path) -> Cluster:
    """Read an instance's state; any error says that it is damaged."""
    fields = json.loads((directory / "state.json").read_text())
    fields["nodes"] = [Node(**node) for node in fields["nodes"]]
    cluster = Cluster(**fields)
    numbers = [cluster.owner, cluster.rails, *(node.pid for node in cluster.nodes)]
    words = [cluster.network, *(node.started for node in cluster.nodes)]
    if not all(type(n) is int for n in numbers) or not all(isinstance(w, str) for w in words):
        raise TypeError("a number or a word is of another kind")
    if cluster.name != directory.name:
        raise ValueError(f"it is that of an instance {cluster.name!r}")
    return cluster


def find(name: str) -> Cluster:
    """Return the instance with that name."""
    states = _states()
    found = states.get(name)
    if isinstance(found, str):
        raise TestbedError(
            f"the instance {name!r} is damaged, or of another version of the testbed ({found}): "
            f"take it down (down {name}), and up again"
        )
    if found is None:
        raise TestbedError(f"no instance {name!r} is up (up: {', '.join(states) or 'none'})")
    return found


def take_down(name: str) -> None:
    """Take down the instance with that name, also one whose state cannot be read."""
    found = _states().get(name)
    if isinstance(found, Cluster):
        found.down()
    elif name in {path.name for path in RUN.glob("*") if path.is_dir()}:
        _clear(name, [])
    else:
        find(name)  # says what is up


def _clear(name: str, nodes: Sequence[tuple[int, str]]) -> None:
    """End an instance's holders, delete the links it made, and then its directory.

    Holders and links are known without the instance's state; ``nodes`` are the first processes of
    nodes (id and start) that it knows besides.
    """
    need_root()
    _need_tools("ip")
    holder.end(RUN / name, nodes)
    # Those of the nodes go with their namespaces, but only when the kernel gets round to it.
    _delete(name, _links(name).keys())
    shutil.rmtree(RUN / name, ignore_errors=True)


def _bridge(name: str, rail: int) -> str:
    return f"{name}b{rail + 1}" if rail else f"{name}br"


def _hardware(name: str, rail: int, node: int) -> str:
    """Return the hardware address of a node's link of a rail at this end; node 0: of the bridge.

    A link has it from the moment it is there, so that it is known for the instance's even where
    the instance was killed just then. Another's link of that name has another address.
    """
    mark = hashlib.sha256(f"stretto-testbed:{name}".encode()).digest()[:3]
    return ":".join(f"{byte:02x}" for byte in (2, *mark, rail, node))


def _links(name: str, rails: int = MOST_RAILS, nodes: int = MOST_NODES) -> dict[str, str]:
    """Return the links that an instance makes here, bridges first, and their hardware addresses."""
    made = {}
    for node in range(nodes + 1):
        for rail in range(rails):
            link = f"{_bridge(name, rail)}v{node}" if node else _bridge(name, rail)
            made[link] = _hardware(name, rail, node)
    return made


def _here() -> set[str]:
    """Return the names of this machine's links."""
    return {path.name for path in LINKS.iterdir()}


def _delete(name: str, links: Collection[str]) -> None:
    """Delete those of the links that are here and that the instance made."""
    made, here = _links(name), _here()
    for link in [link for link in made if link in links and link in here]:
        try:
            if (LINKS / link / "address").read_text().strip() == made[link]:
                _ip("link", "del", link)
        except (OSError, TestbedError):
            if (LINKS / link / "bridge").exists():  # a node's link may be going by itself
                raise


def _free_name(rails: int, nodes: int) -> str:
    """Return a name that no instance has, and none of whose links is here."""
    while True:
        name = "s" + secrets.token_hex(2)
        if not (RUN / name).exists() and not _links(name, rails, nodes).keys() & _here():
            return name


def _free_network(rails: int) -> str:
    """Return the first three numbers of a network that neither an instance nor this machine has.

    Any that is free, not the first: of two testbeds that do not see each other's state both would
    take the first.
    """
    used = {cluster.network for cluster in instances()}
    routes = json.loads(_call("ip", "-j", "-4", "route", "show", "table", "all") or "[]")
    routed = [ipaddress.ip_network(x["dst"], strict=False) for x in routes if x["dst"] != "default"]
    for widest in WIDEST:
        free = _unrouted([x for x in routed if x.prefixlen >= widest], used, rails)
        if free:
            return secrets.choice(free)
    raise TestbedError(
        f"no network 10.{FIRST_NETWORK}.K.0/24 is free (256 instances are up, or this machine "
        f"has routes to these addresses: ip -4 route show table all): take instances down, or "
        f"work in a network namespace of its own (sudo unshare --net bash; ip link set lo up)"
    )


def _unrouted(
    routed: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network], used: set[str], rails: int
) -> list[str]:
    """Return the first three numbers of networks that are not used, and to which no route leads."""
    spans = [(int(x[0]), int(x[-1])) for x in routed]

    def overlapped(network: str) -> bool:
        first = int(ipaddress.ip_address(f"{network}.0"))
        return any(low <= first + 255 and first <= high for low, high in spans)

    every = (
        [f"10.{FIRST_NETWORK + rail}.{third}" for rail in range(rails)] for third in range(256)
    )
    return [x[0] for x in every if x[0] not in used and not any(map(overlapped, x))]


def collect_garbage() -> list[str]:
    """Take down the instances whose owner has ended without doing so; returns their names."""
    gone = []
    with _lock():  # of two that start at once, one finds nothing left
        states = _states()
        for name, cluster in states.items():
            if isinstance(cluster, str):  # whose it is, nobody knows
                continue
            if cluster.owner and holder.start_time(cluster.owner) != cluster.owner_started:
                cluster.down()
                gone.append(name)
        for directory in RUN.iterdir():
            # made under this lock, and whoever made it ended before its state was there; or its
            # state is lost, and its holders have ended
            if directory.is_dir() and directory.name not in states:
                _clear(directory.name, [])
                gone.append(directory.name)
    return gone


def need_root() -> None:
    """Raise an error where this process may not enter or end namespaces."""
    if os.geteuid() != 0:
        raise TestbedError("the testbed needs root (network namespaces): run it with sudo")


def _need_tools(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            raise TestbedError(f"{tool} is missing: apt-get install iproute2 util-linux")


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    RUN.mkdir(parents=True, exist_ok=True)
    with (RUN / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _ip(*argv: str) -> None:
    _call("ip", *argv)


def _call(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TestbedError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
