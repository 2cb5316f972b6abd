"""Whether the nodes of a cluster reach each other and this machine, as ranks and launchers need it.

A firewall of the machine may drop what crosses a bridge or comes in from it. An MPI then waits
without a word: it is better to hear of it when the cluster is made.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from holder import TestbedError

if TYPE_CHECKING:
    from cluster import Cluster

#: seconds that one connection may take
PATIENCE = 10.0
_CLONE_NEWNET = 0x40000000


def check(cluster: Cluster) -> None:
    """Raise an error where a TCP connection fails: among nodes, by rail, or with this machine."""
    first, last = cluster.nodes[0], cluster.nodes[-1]
    if first is not last:
        for rail, network in enumerate(cluster.networks):
            address = f"{network}.11"
            failed = _connect(last.pid, first.pid, address)
            if failed:
                subnet = ".".join(network.split(".")[:2]) + ".0.0/16"
                raise TestbedError(
                    f"node {last.name} does not reach node {first.name} on eth{rail} ({address}: "
                    f"{failed}). Likely this machine's firewall drops what crosses a bridge"
                    f"{_bridge_filter()}. Let it pass: iptables -I FORWARD -s {subnet} -d {subnet} "
                    f"-j ACCEPT, or sysctl -w net.bridge.bridge-nf-call-iptables=0"
                )
    ways = [
        (first.pid, None, cluster.bridge_address, f"node {first.name} does not reach this machine"),
        (None, first.pid, first.address, f"this machine does not reach node {first.name}"),
    ]
    for source, target, address, problem in ways:
        failed = _connect(source, target, address)
        if failed:
            subnet = ".".join(cluster.network.split(".")[:2]) + ".0.0/16"
            rule = f"INPUT -s {subnet}" if target is None else f"OUTPUT -d {subnet}"
            raise TestbedError(
                f"{problem} ({address}: {failed}), where launchers run. Likely this machine's "
                f"firewall drops it. Let it pass: iptables -I {rule} -j ACCEPT"
            )


def _bridge_filter() -> str:
    """Say so where frames on bridges go through iptables (Docker and Kubernetes set it)."""
    try:
        on = Path("/proc/sys/net/bridge/bridge-nf-call-iptables").read_text().strip() == "1"
    except OSError:
        return ""
    return " (net.bridge.bridge-nf-call-iptables is 1, as Docker sets it)" if on else ""


def _connect(source: int | None, target: int | None, address: str) -> str | None:
    """Connect from a node, by its process id, to an address of another; None: this machine.

    Returns what failed.
    """
    with _socket(target) as server, _socket(source) as client:
        server.bind((address, 0))
        server.listen(1)
        client.settimeout(PATIENCE)
        try:
            client.connect(server.getsockname())
        except TimeoutError:
            return f"no answer within {PATIENCE:g} s"
        except OSError as error:
            return error.strerror or str(error)
    return None


def _socket(pid: int | None) -> socket.socket:
    """Make a TCP socket in a node's network: it stays there, whoever uses it.

    A thread enters the network for that moment, and ends: no program need be there on the node.
    """
    made: list[socket.socket | OSError] = []

    def make() -> None:
        try:
            if pid is not None:
                libc = ctypes.CDLL(None, use_errno=True)
                with Path(f"/proc/{pid}/ns/net").open() as network:
                    if libc.setns(network.fileno(), _CLONE_NEWNET):
                        number = ctypes.get_errno()
                        raise OSError(number, f"setns: {os.strerror(number)}")
            made.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise TestbedError(f"the network of the node of process {pid} cannot be entered: {made[0]}")
    return made[0]
