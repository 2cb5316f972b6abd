"""The links of a namespace cluster: down deletes no other, and up tries them."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import testbed
from mpis import missing
from test_testbed import a_run_of_its_own

pytestmark = pytest.mark.root


@pytest.fixture
def name() -> str:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    return f"z{secrets.token_hex(3)}"


@contextlib.contextmanager
def link(name: str) -> Iterator[Path]:
    """A bridge of somebody else."""
    subprocess.run(["ip", "link", "add", name, "type", "bridge"], check=True, timeout=60)
    path = Path("/sys/class/net", name)
    try:
        yield path
    finally:
        if path.exists():
            subprocess.run(["ip", "link", "del", name], check=True, timeout=60)


def traces(name: str) -> list[str]:
    """What is here of an instance."""
    found = [path.name for path in Path("/sys/class/net").glob(f"{name}*")]
    return found + [path.name for path in testbed.RUN.glob(name)]


@pytest.mark.parametrize("end", ["br", "b2", "brv1", "b2v2"])
def test_up_refuses_a_name_whose_links_are_there(name: str, end: str) -> None:
    with link(name + end) as foreign:
        with pytest.raises(testbed.TestbedError, match=f"{name}{end} already.*another name"):
            testbed.up(2, name=name, rails=2, owned=True)
        assert foreign.exists()
        assert traces(name) == [name + end]


def test_down_leaves_links_that_it_did_not_make(name: str) -> None:
    cluster = testbed.up(1, name=name, owned=True)
    try:
        with link(f"{name}b2") as bridge, link(f"{name}brv7") as other:
            cluster.down()
            assert bridge.exists() and other.exists()
            assert sorted(traces(name)) == [f"{name}b2", f"{name}brv7"]
    finally:
        cluster.down()
    assert traces(name) == []


def test_an_instance_with_lost_state_is_taken_down_with_its_links(name: str) -> None:
    cluster = testbed.up(2, name=name, rails=2, owned=True)
    try:
        (cluster.directory / "state.json").unlink()
        pids = [node.pid for node in cluster.nodes]
        testbed.collect_garbage()
        assert name in testbed.damaged() and all(node.up for node in cluster.nodes)
        testbed.take_down(name)
        assert traces(name) == [] and not any(Path(f"/proc/{pid}").exists() for pid in pids)
    finally:
        cluster.down()


@pytest.mark.parametrize("cleaner", ["down", "up"])
def test_links_go_where_state_is_lost_and_the_nodes_have_ended(name: str, cleaner: str) -> None:
    with a_run_of_its_own():
        cluster = testbed.up(1, name=name, owned=True)
        try:
            cluster.kill(0)
            (cluster.directory / "state.json").unlink()
            if cleaner == "down":
                testbed.take_down(name)
            else:
                assert name in testbed.collect_garbage()
            assert traces(name) == []
        finally:
            cluster.down()


def cut(monkeypatch: pytest.MonkeyPatch, rail: int, index: int) -> None:
    """Take a node's link out of its bridge, as a firewall that drops what it sends."""
    tie, connect, network = testbed._tie, testbed.reach._connect, testbed.FIRST_NETWORK + rail

    def tied(cluster: testbed.Cluster, r: int, i: int, pid: int) -> None:
        tie(cluster, r, i, pid)
        if (r, i) == (rail, index):
            testbed._ip("link", "set", f"{cluster.bridges[r]}v{i + 1}", "nomaster")

    def connected(source: int | None, target: int | None, address: str) -> str | None:
        with monkeypatch.context() as patch:
            if address.startswith(f"10.{network}."):  # others may take their time
                patch.setattr(testbed.reach, "PATIENCE", 0.5)
            return connect(source, target, address)

    monkeypatch.setattr(testbed, "_tie", tied)
    monkeypatch.setattr(testbed.reach, "_connect", connected)


@pytest.mark.parametrize(
    "nodes,rail,words",
    [
        (2, 0, "n2 does not reach node .*n1 on eth0.*no answer.*firewall.*iptables -I FORWARD"),
        (3, 1, r"n3 does not reach node .*n1 on eth1.*10\.78\.0\.0/16.*bridge-nf-call-iptables=0"),
        (1, 0, r"n1 does not reach this machine.*iptables -I INPUT -s 10\.77\.0\.0/16"),
    ],
)
def test_nodes_that_reach_nobody_are_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch, nodes: int, rail: int, words: str
) -> None:
    cut(monkeypatch, rail, nodes - 1)
    with pytest.raises(testbed.TestbedError, match=words):
        testbed.up(nodes, name=name, rails=2, owned=True)
    assert traces(name) == []


def test_a_machine_that_does_not_reach_its_nodes_is_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = testbed.reach._connect

    def one_way(source: int | None, target: int | None, address: str) -> str | None:
        return connect(source, target, address) or (None if source else "dropped")

    monkeypatch.setattr(testbed.reach, "_connect", one_way)
    with pytest.raises(testbed.TestbedError, match=r"does not reach node.*OUTPUT -d 10\.77"):
        testbed.up(1, name=name, owned=True)
    assert traces(name) == []


def test_the_agent_says_of_a_node_whose_holder_was_killed_that_it_is_down(
    name: str, tmp_path: Path
) -> None:
    cluster = testbed.up(1, name=name, owned=True)
    try:
        node = cluster.nodes[0]
        argv = [str(testbed.AGENT), node.name, "pwd;", "hostname"]
        (cluster.shared / "a b").mkdir()
        env = os.environ | {"STRETTO_TESTBED_CWD": str(cluster.shared / "a b")}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
        assert done.stdout.splitlines() == [str(cluster.shared / "a b"), node.name], done.stderr
        os.kill(node.pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while node.up and time.monotonic() < deadline:
            time.sleep(0.01)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 255 and f"node {node.name} is down" in done.stderr
    finally:
        cluster.down()
