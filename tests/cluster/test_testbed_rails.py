"""Rails of the namespace cluster: each has the cap, and a node that died comes back to all."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import testbed
from mpis import missing

pytestmark = pytest.mark.root

RECEIVE = """
    import socket, sys, time
    server = socket.create_server((sys.argv[1], 5001)); print("listening", flush=True)
    peer, _ = server.accept()
    total, start = 0, time.perf_counter()
    while data := peer.recv(1 << 16): total += len(data)
    print(8 * total / (time.perf_counter() - start) / 1e6)
"""
SEND = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], 5001)); "
    "s.sendall(bytes(3 << 20))"
)


@pytest.fixture(scope="module")
def capped() -> Iterator[testbed.Cluster]:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    cluster = testbed.up(2, bandwidth="50mbit", rails=2, share=[Path(sys.prefix)], owned=True)
    try:
        yield cluster
    finally:
        cluster.down()


def megabits(cluster: testbed.Cluster, rail: int) -> float:
    """How fast 3 MiB go from the second node to the first one's address on a rail."""
    address = f"{cluster.networks[rail]}.11"
    argv = [sys.executable, "-c", textwrap.dedent(RECEIVE), address]
    server = subprocess.Popen(
        cluster.command(cluster.nodes[0], argv), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None and "listening" in server.stdout.readline()
        assert cluster.run(1, [sys.executable, "-c", SEND, address]).returncode == 0
        return float(server.communicate(timeout=200)[0])
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("rail", [0, 1])
def test_every_rail_has_the_cap(capped: testbed.Cluster, rail: int) -> None:
    # a cap is an upper bound; 256 kB of burst pass uncapped
    assert 1 < megabits(capped, rail) < 90
    for node in range(2):  # both ways, at both ends of the link
        inside = capped.run(node, ["tc", "qdisc", "show", "dev", f"eth{rail}"]).stdout
        assert "tbf" in inside and "rate 50Mbit" in inside
        outside = f"{capped.bridges[rail]}v{node + 1}"
        shown = subprocess.run(
            ["tc", "qdisc", "show", "dev", outside], capture_output=True, text=True, check=True
        ).stdout
        assert "tbf" in shown and "rate 50Mbit" in shown


def test_a_node_that_died_comes_back_to_all_rails(capped: testbed.Cluster) -> None:
    waiting = subprocess.Popen(capped.command(capped.nodes[1], ["sleep", "1000"]))
    name = capped.nodes[1].name
    reach = ["bash", "-c", f"exec 3<>/dev/tcp/{capped.networks[0]}.12/9"]
    agent = [str(Path(testbed.__file__).parent / "agent"), name, "true"]
    assert "refused" in capped.run(0, reach).stderr, "it is up, and nobody listens there"
    capped.kill(1)
    assert waiting.wait(timeout=100) != 0
    done = subprocess.run(agent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 255 and f"no node {name} is up" in done.stderr
    for _ in range(60):  # the kernel takes the network down after the node's last process
        if "refused" not in (said := capped.run(0, ["timeout", "2", *reach]).stderr):
            break
        time.sleep(1)
    assert "refused" not in said
    capped.revive(1)
    assert subprocess.run(agent, timeout=60).returncode == 0
    assert capped.run(1, ["hostname"]).stdout.strip() == name
    for rail in range(2):
        assert 1 < megabits(capped, rail) < 90
    assert testbed.find(capped.name).nodes == capped.nodes
