"""The links of a namespace cluster: down deletes no other, and up tries them."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import testbed
from mpis import missing

pytestmark = pytest.mark.root


@pytest.fixture
def name() -> str:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    return f"z{secrets.token_hex(3)}"


@contextlib.contextmanager
def link(name: str) -> Iterator[Path]:
    """A bridge of somebody else."""
    subprocess.run(["ip", "link", "add", name, "type", "bridge"], check=True, timeout=300)
    path = Path("/sys/class/net", name)
    try:
        yield path
    finally:
        if path.exists():
            subprocess.run(["ip", "link", "del", name], check=True, timeout=300)


def traces(name: str) -> list[str]:
    """What is here of an instance."""
    found = [path.name for path in Path("/sys/class/net").glob(f"{name}*")]
    return found + [path.name for path in testbed.RUN.glob(name)]


@pytest.mark.parametrize("end", ["b2", "brv1"])
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
