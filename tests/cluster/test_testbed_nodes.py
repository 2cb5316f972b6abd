"""What a node of the namespace cluster is, how its programs end, and how it comes back."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import testbed
from mpis import missing
from processes import run_program

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
HOWS = ["command", "agent"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[testbed.Cluster]:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    kept = tmp_path_factory.mktemp("kept")
    (kept / "mark").write_text("seen\n")
    share = [kept, Path(sys.prefix)]
    made = testbed.up(2, share=share, owned=True, rails=2, bandwidth="50mbit")
    try:
        yield made
    finally:
        made.down()


def words(cluster: testbed.Cluster, how: str, index: int, *argv: str) -> list[str]:
    """What runs a command on a node, by the testbed itself or by what stands for ssh."""
    node = cluster.nodes[index]
    return cluster.command(node, argv) if how == "command" else [testbed.AGENT, node.name, *argv]


def said(cluster: testbed.Cluster, how: str, index: int, *argv: str) -> str:
    argv = tuple(words(cluster, how, index, *argv))
    return run_program(argv, timeout=300, check=True).stdout


@pytest.mark.parametrize("how", HOWS)
def test_node_has_core_clock_loopback_and_shared_path(cluster: testbed.Cluster, how: str) -> None:
    cores = sorted(os.sched_getaffinity(0))
    for index in range(2):
        status = said(cluster, how, index, "cat", "/proc/self/status")
        found = re.search(r"Cpus_allowed_list:\s*(\S+)", status)
        assert found and found[1] == str(cores[index % len(cores)])
        if testbed.own_clocks():
            offsets = said(cluster, how, index, "cat", "/proc/self/timens_offsets")
            assert re.search(rf"monotonic\s+{1000 * (index + 1)}\s", offsets), offsets
    reach = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"]
    assert "refused" in cluster.run(0, reach, timeout=300).stderr, "it is up, and nobody listens"
    mark = f"mark.{cluster.name}"
    assert cluster.run(0, ["touch", f"/dev/shm/{mark}", f"/tmp/{mark}"]).returncode == 0
    assert mark not in cluster.run(1, ["ls", "/dev/shm", "/tmp"]).stdout
    assert not Path("/dev/shm", mark).exists() and not Path("/tmp", mark).exists()
    cluster.run(0, ["touch", str(cluster.shared / "mark")])
    assert cluster.run(1, ["ls", str(cluster.shared / "mark")]).returncode == 0
    for kept in (path for path in cluster.kept if "kept" in path):
        assert said(cluster, how, 1, "cat", f"{kept}/mark") == "seen\n"


@pytest.mark.parametrize("how", HOWS)
def test_program_ends_with_what_entered_the_node(cluster: testbed.Cluster, how: str) -> None:
    seconds = {"command": "4001", "agent": "4002"}[how]
    # what stands for ssh has a shell read the words: it is that shell that ends
    argv = [*(["exec"] if how == "agent" else []), "sleep", seconds]
    each = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null"

    def wait_until(wanted: bool) -> bool:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            # all of its words: what will become it has more, and is not yet tied to what entered
            listed = cluster.run(0, ("sh", "-c", each)).stdout.splitlines()
            if (f"sleep {seconds} " in listed) == wanted:
                return True
            time.sleep(0.02)
        return False

    with subprocess.Popen(words(cluster, how, 0, *argv)) as entered:
        assert wait_until(True)
        entered.send_signal(signal.SIGKILL)
    assert wait_until(False)


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


def test_node_that_died_comes_back_to_all_rails_with_their_cap(cluster: testbed.Cluster) -> None:
    waiting = subprocess.Popen(cluster.command(cluster.nodes[1], ["sleep", "1000"]))
    name = cluster.nodes[1].name
    agent = [str(testbed.AGENT), name, "true"]
    cluster.kill(1)
    assert waiting.wait(timeout=300) != 0
    done = run_program(agent, timeout=300)
    assert done.returncode == 255 and f"no node {name} is up" in done.stderr
    cluster.revive(1)
    assert subprocess.run(agent, timeout=300).returncode == 0
    assert cluster.run(1, ["hostname"]).stdout.strip() == name
    for rail in range(2):
        # a cap is an upper bound; 256 kB of burst pass uncapped
        assert 1 < megabits(cluster, rail) < 90
    assert testbed.find(cluster.name).nodes == cluster.nodes
