"""A cluster of network namespaces on one machine: real processes, real TCP, several nodes.

Each node is one process (the *holder*) in namespaces of its own (network, host name, IPC, mounts,
processes, clock) with its own /dev/shm and /tmp, tied to the others by a bridge, or by several (its
rails). Everything that runs on a node dies with its holder, and the node's network goes with it, so
that cleaning up is: end the holders, delete the bridges, delete the instance's directory. Nothing
else is touched.

It answers whether something is *right* on several nodes. It says nothing on latency: all nodes
share this machine's cores.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import holder
from holder import TestbedError, own_clocks

__all__ = ["AGENT", "RUN", "Cluster", "Node", "TestbedError", "collect_garbage", "find",
           "instances", "own_clocks", "up"]  # fmt: skip

RUN = Path("/run/stretto-testbed")
#: one /24 for each rail of an instance: 10.77.K.0, 10.78.K.0, ...; .1 is the bridge, .11 the first
#: node
FIRST_NETWORK = 77
MOST_RAILS = 8
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
        return [self.bridge, *(f"{self.name}b{rail + 1}" for rail in range(1, self.rails))]

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
        for bridge in self.bridges:  # what the kernel has not taken away yet
            with contextlib.suppress(TestbedError):
                _ip("link", "del", f"{bridge}v{index + 1}")
        node = self.nodes[index]
        _begin(self, index, Node(node.name, node.address, 0, "", node.core))

    def down(self) -> None:
        """End all that runs on the nodes and delete every trace of this instance. Safe twice."""
        holder.end(self.directory, [(node.pid, node.started) for node in self.nodes])
        for bridge in self.bridges:
            if Path("/sys/class/net", bridge).exists():
                _ip("link", "del", bridge)
        # These go with the node's namespace, but only when the kernel gets round to it.
        ours = re.compile("|".join(rf"{bridge}v\d+" for bridge in self.bridges))
        for link in Path("/sys/class/net").iterdir():
            if ours.fullmatch(link.name):
                with contextlib.suppress(TestbedError):
                    _ip("link", "del", link.name)
        shutil.rmtree(self.directory, ignore_errors=True)

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

    Parameters
    ----------
    nodes : int
        Number of nodes, 1 to 99.
    name : str, optional
        Name of the instance, at most 8 characters; by default one that is free.
    bandwidth : str, optional
        Cap of each of a node's links, each way, as tc writes it ("1gbit").
    share : sequence of Path
        Paths under /tmp that the nodes must see (each node has a /tmp of its own).
    owned : bool
        The instance belongs to this process: it goes when the process ends, however it ends.
    rails : int
        Networks that tie the nodes, eth0 the first, each with links and a bridge of its own.
    then : callable, optional
        Does more to it before it is taken to be up (``slurm.start``).
    """
    if os.geteuid() != 0:
        raise TestbedError("the testbed needs root (network namespaces): run it with sudo")
    if not 1 <= nodes <= 99:
        raise TestbedError(f"{nodes} nodes: give 1 to 99")
    if not 1 <= rails <= MOST_RAILS:
        raise TestbedError(f"{rails} rails: give 1 to {MOST_RAILS}")
    for tool in ("ip", "nsenter", "unshare", "setpriv", "taskset"):
        if shutil.which(tool) is None:
            raise TestbedError(f"{tool} is missing: apt-get install iproute2 util-linux")
    collect_garbage()
    with _lock():
        name = name or "s" + secrets.token_hex(2)
        if len(name) > 8 or not name.isalnum():
            raise TestbedError(f"name {name!r}: give at most 8 letters and digits")
        directory = RUN / name
        if directory.exists():
            raise TestbedError(f"an instance {name!r} is up: choose another name, or take it down")
        used = {cluster.network for cluster in instances()}
        # Any that is free, not the first: a testbed of another version, whose state this one cannot
        # read, would take the first as well.
        free = sorted({f"10.{FIRST_NETWORK}.{k}" for k in range(256)} - used)
        if not free:
            raise TestbedError("256 instances are up: take some down (list names them)")
        network = secrets.choice(free)
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
    for bridge, network in zip(cluster.bridges, cluster.networks, strict=True):
        # its own, not that of some port, which would change for all when a node goes
        hardware = ":".join(["02", *(f"{byte:02x}" for byte in secrets.token_bytes(5))])
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
    (cluster.directory / f"pid.{node.name}").write_text(f"{node.pid} {node.core}\n")
    _call("nsenter", "-t", str(node.pid), "-n", "ip", "link", "set", "lo", "up")
    for rail in range(cluster.rails):
        _tie(cluster, rail, index, node.pid)


def _tie(cluster: Cluster, rail: int, index: int, pid: int) -> None:
    """Give a node its link of one rail: ethR there, bridgevN here."""
    bridge, network, inner = cluster.bridges[rail], cluster.networks[rail], f"eth{rail}"
    outside = f"{bridge}v{index + 1}"
    _ip("link", "add", outside, "type", "veth", "peer", "name", inner, "netns", str(pid))
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
    """All instances whose state is on this machine."""
    found = []
    for path in sorted(RUN.glob("*/state.json")):
        with contextlib.suppress(ValueError, TypeError, FileNotFoundError):
            fields = json.loads(path.read_text())
            fields["nodes"] = [Node(**node) for node in fields["nodes"]]
            found.append(Cluster(**fields))
    return found


def find(name: str) -> Cluster:
    """Return the instance with that name."""
    for cluster in instances():
        if cluster.name == name:
            return cluster
    up_now = ", ".join(cluster.name for cluster in instances()) or "none"
    raise TestbedError(f"no instance {name!r} is up (up: {up_now})")


def collect_garbage() -> list[str]:
    """Take down the instances whose owner has ended without doing so; returns their names."""
    gone = []
    with _lock():  # of two that start at once, one finds nothing left
        for cluster in instances():
            if cluster.owner and holder.start_time(cluster.owner) != cluster.owner_started:
                cluster.down()
                gone.append(cluster.name)
        for directory in RUN.iterdir():
            # made under this lock, and whoever made it ended before its state was there
            if directory.is_dir() and not (directory / "state.json").exists():
                shutil.rmtree(directory, ignore_errors=True)
                gone.append(directory.name)
    return gone


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    RUN.mkdir(parents=True, exist_ok=True)
    with (RUN / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _ip(*argv: str) -> None:
    _call("ip", *argv)


def _call(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TestbedError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
