"""A cluster of network namespaces on one machine: real processes, real TCP, several nodes.

Each node is one process (the *holder*) in namespaces of its own (network, host name, IPC, mounts,
processes, clock) with its own /dev/shm and /tmp, tied to the others by a bridge. Everything that
runs on a node dies with its holder, and the node's network goes with it, so that cleaning up is:
end the holders, delete the bridge, delete the instance's directory. Nothing else is touched.

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
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RUN = Path("/run/stretto-testbed")
NETWORK = "10.77"  # one /24 an instance: 10.77.K.0; .1 is the bridge, .11 the first node
AGENT = Path(__file__).resolve().parent / "agent"

# Runs as the holder: makes the mounts private, brings the shared paths back over the new /tmp,
# says that it is ready, and waits to be ended. $1 = host name, $2 = state directory, rest = paths.
_HOLDER = r"""
set -e
hostname "$1"; state=$2; shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs /dev/shm
mount --bind "$state/hosts" /etc/hosts
i=0
for path in "$@"; do
    i=$((i + 1)); mkdir -p "$state/keep/$$.$i"; mount --bind "$path" "$state/keep/$$.$i"
done
mount -t tmpfs tmpfs /tmp; chmod 1777 /tmp
i=0
for path in "$@"; do
    i=$((i + 1)); mkdir -p "$path"; mount --move "$state/keep/$$.$i" "$path"
done
echo ready
sleep infinity &
wait # and takes in whoever is orphaned on the node, as its first process has to
"""


class TestbedError(Exception):
    """The testbed could not be set up or used; the message says why and what to do."""

    __test__ = False  # the name begins with Test: not for pytest to collect


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


@dataclass
class Cluster:
    """A running instance. ``owner`` is the process it belongs to (0: it stays until ``down``)."""

    name: str
    bridge: str
    bridge_address: str
    network: str
    nodes: list[Node]
    owner: int
    owner_started: str
    bandwidth: str | None = None

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

    def down(self) -> None:
        """End all that runs on the nodes and delete every trace of this instance. Safe twice."""
        for node in self.nodes:
            if _start_time(node.pid) == node.started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(node.pid, signal.SIGKILL)
        deadline = time.monotonic() + 120
        for node in self.nodes:
            while _start_time(node.pid) == node.started and time.monotonic() < deadline:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(node.pid, os.WNOHANG)
                time.sleep(0.01)
        if _link_exists(self.bridge):
            _ip("link", "del", self.bridge)
        for index in range(len(self.nodes)):
            # Goes with the node's namespace, but only when the kernel gets round to it.
            if _link_exists(link := f"{self.bridge}v{index + 1}"):
                with contextlib.suppress(TestbedError):
                    _ip("link", "del", link)
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
) -> Cluster:
    """Start a cluster.

    Parameters
    ----------
    nodes : int
        Number of nodes, 1 to 99.
    name : str, optional
        Name of the instance, at most 8 characters; by default one that is free.
    bandwidth : str, optional
        Cap of each node's link, each way, as tc writes it ("1gbit").
    share : sequence of Path
        Paths under /tmp that the nodes must see (each node has a /tmp of its own).
    owned : bool
        The instance belongs to this process: it goes when the process ends, however it ends.
    """
    if os.geteuid() != 0:
        raise TestbedError("the testbed needs root (network namespaces): run it with sudo")
    if not 1 <= nodes <= 99:
        raise TestbedError(f"{nodes} nodes: give 1 to 99")
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
        network = next(n for n in (f"{NETWORK}.{k}" for k in range(256)) if n not in used)
        cluster = Cluster(
            name=name,
            bridge=f"{name}br",
            bridge_address=f"{network}.1",
            network=network,
            nodes=[],
            owner=os.getpid() if owned else 0,
            owner_started=_start_time(os.getpid()) or "" if owned else "",
            bandwidth=bandwidth,
        )
        cluster.shared.mkdir(parents=True)
        cluster._save()
    try:
        _build(cluster, nodes, [path.resolve() for path in share])
    except BaseException:
        cluster.down()
        raise
    return cluster


def _build(cluster: Cluster, nodes: int, share: Sequence[Path]) -> None:
    addresses = {f"{cluster.name}n{i + 1}": f"{cluster.network}.{11 + i}" for i in range(nodes)}
    hosts = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
    (cluster.directory / "hosts").write_text("\n".join(hosts) + "\n")
    _ip("link", "add", cluster.bridge, "type", "bridge")
    _ip("addr", "add", f"{cluster.bridge_address}/24", "dev", cluster.bridge)
    _ip("link", "set", cluster.bridge, "up")
    cores = sorted(os.sched_getaffinity(0))
    kept = [str(path) for path in share if path.is_relative_to("/tmp")]
    for index, (name, address) in enumerate(addresses.items()):
        pid = _holder(cluster, index, name, kept)
        core = cores[index % len(cores)]
        cluster.nodes.append(Node(name, address, pid, _start_time(pid) or "", core))
        cluster._save()
        (cluster.directory / f"pid.{name}").write_text(f"{pid} {core}\n")  # for the agent
        outside = f"{cluster.bridge}v{index + 1}"
        _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        _ip("link", "set", outside, "master", cluster.bridge, "up")
        inside = ("nsenter", "-t", str(pid), "-n")
        _call(*inside, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        _call(*inside, "ip", "link", "set", "eth0", "up")
        _call(*inside, "ip", "link", "set", "lo", "up")
        if cluster.bandwidth:
            cap = ("root", "tbf", *_bucket(cluster.bandwidth))
            _call(*inside, "tc", "qdisc", "add", "dev", "eth0", *cap)
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


def _holder(cluster: Cluster, index: int, name: str, kept: Sequence[str]) -> int:
    """Start a node's holder; returns the process id, seen from here, of its first process."""
    argv = ["unshare", "--net", "--uts", "--ipc", "--mount", "--mount-proc", "--pid"]
    if own_clocks():
        # Machines have been up for different times: their CLOCK_MONOTONIC have nothing in common.
        argv += ["--time", "--monotonic", str(1000 * (index + 1))]
    argv += ["--fork", "--kill-child", "sh", "-c", _HOLDER, "holder", name]
    argv += [str(cluster.directory), *kept]
    if cluster.owner:
        argv = ["setpriv", "--pdeathsig", "KILL", *argv]
    log = cluster.directory / f"{name}.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
        )
    deadline = time.monotonic() + 120
    while "ready" not in log.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise TestbedError(f"node {name} does not start: {log.read_text().strip()}")
        time.sleep(0.005)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


def own_clocks() -> bool:
    """Tell whether this kernel lets each node have a CLOCK_MONOTONIC of its own."""
    return Path("/proc/self/ns/time").exists()


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
            if cluster.owner and _start_time(cluster.owner) != cluster.owner_started:
                cluster.down()
                gone.append(cluster.name)
    return gone


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    RUN.mkdir(parents=True, exist_ok=True)
    with (RUN / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _start_time(pid: int) -> str | None:
    """Tell when a process began: with its id, this names it for good. None: it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def _link_exists(link: str) -> bool:
    return Path("/sys/class/net", link).exists()


def _ip(*argv: str) -> None:
    _call("ip", *argv)


def _call(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TestbedError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
