"""What a node of the namespace cluster is: core, clock, loopback, paths; how its programs end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import testbed
from mpis import missing

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[testbed.Cluster]:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    kept = tmp_path_factory.mktemp("kept")
    (kept / "mark").write_text("seen\n")
    made = testbed.up(2, share=[kept], owned=True)
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
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("how", ["command", "agent"])
def test_a_node_has_one_core_and_the_next_node_the_next(cluster: testbed.Cluster, how: str) -> None:
    cores = sorted(os.sched_getaffinity(0))
    for index in range(2):
        status = said(cluster, how, index, "cat", "/proc/self/status")
        found = re.search(r"Cpus_allowed_list:\s*(\S+)", status)
        assert found and found[1] == str(cores[index % len(cores)])


@pytest.mark.parametrize("how", ["command", "agent"])
def test_a_node_has_a_clock_of_its_own(cluster: testbed.Cluster, how: str) -> None:
    if not testbed.own_clocks():
        pytest.skip("this kernel has no time namespaces")
    for index in range(2):
        offsets = said(cluster, how, index, "cat", "/proc/self/timens_offsets")
        assert re.search(rf"monotonic\s+{1000 * (index + 1)}\s", offsets), offsets


def test_a_node_reaches_itself_by_localhost(cluster: testbed.Cluster) -> None:
    reach = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"]
    assert "refused" in cluster.run(0, reach, timeout=300).stderr, "it is up, and nobody listens"


def test_a_node_sees_the_shared_path_and_nothing_else_of_tmp(cluster: testbed.Cluster) -> None:
    (kept,) = cluster.kept or [None]
    if kept is None:
        pytest.skip("the temporary directory is not /tmp")
    assert said(cluster, "command", 1, "cat", f"{kept}/mark") == "seen\n"
    assert said(cluster, "command", 1, "ls", "/tmp").split() == [Path(kept).parts[2]]


@pytest.mark.parametrize("how", ["command", "agent"])
def test_a_program_on_a_node_ends_with_what_entered_the_node(
    cluster: testbed.Cluster, how: str
) -> None:
    seconds = {"command": "4001", "agent": "4002"}[how]
    # what stands for ssh has a shell read the words: it is that shell that ends
    argv = [*(["exec"] if how == "agent" else []), "sleep", seconds]
    each = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null"

    def running() -> bool:
        # all of its words: what will become it has more, and is not yet tied to what entered
        return f"sleep {seconds} " in cluster.run(0, ("sh", "-c", each)).stdout.splitlines()

    def wait_until(wanted: bool) -> bool:
        deadline = time.monotonic() + 300
        while running() != wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        return running() == wanted

    with subprocess.Popen(words(cluster, how, 0, *argv)) as entered:
        assert wait_until(True)
        entered.send_signal(signal.SIGKILL)
    assert wait_until(False)
