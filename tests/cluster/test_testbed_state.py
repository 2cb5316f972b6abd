"""The testbed's state on disk, its networks and its agent; no cluster is made, nobody is root."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import testbed
from processes import executable, run_program

holder = testbed.holder

GOOD: dict[str, object] = {
    "name": "good", "bridge": "goodbr", "bridge_address": "10.77.5.1", "network": "10.77.5",
    "nodes": [], "owner": 0, "owner_started": "",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own for the instances' state, and root's rights as far as Python asks."""
    monkeypatch.setattr(testbed, "RUN", tmp_path / "run")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        yield sleeper
        sleeper.kill()


def instance(run: Path, name: str, state: bytes) -> Path:
    directory = run / name
    (directory / "shared").mkdir(parents=True)
    (directory / "state.json").write_bytes(state)
    return directory


@pytest.mark.parametrize("state", [b"{", b"\xff", json.dumps(GOOD | {"colour": 3}).encode()])
def test_damaged_instance_is_named_and_taken_down(
    run: Path, process: subprocess.Popen[bytes], state: bytes
) -> None:
    bad, good = instance(run, "bad", state), instance(run, "good", json.dumps(GOOD).encode())
    (bad / "holder.n1").write_text(f"{process.pid} {holder.start_time(process.pid)}\n")
    assert [one.name for one in testbed.instances()] == ["good"]
    assert list(testbed.damaged()) == ["bad"] and testbed.collect_garbage() == []
    with pytest.raises(testbed.TestbedError, match=r"'bad' is damaged.*state\.json"):
        testbed.find("bad")
    for name in ("../bad", ".", str(good)):
        with pytest.raises(testbed.TestbedError, match="no instance"):
            testbed.take_down(name)
    testbed.take_down("bad")
    assert not bad.exists() and good.exists()
    assert holder.start_time(process.pid) is None


def test_instance_whose_owner_has_ended_is_garbage(run: Path) -> None:
    started = holder.start_time(os.getpid())
    for name, owner, began in (("ended", os.getpid(), "1"), ("mine", os.getpid(), started)):
        state = GOOD | {"name": name, "owner": owner, "owner_started": began}
        instance(run, name, json.dumps(state).encode())
    assert testbed.collect_garbage() == ["ended"]
    assert [path.name for path in run.iterdir() if path.is_dir()] == ["mine"]


def test_network_is_one_that_the_machine_does_not_use(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def routes(*destinations: str) -> None:
        found = json.dumps([{"dst": destination} for destination in destinations])
        monkeypatch.setattr(testbed, "_call", lambda *argv: found)

    instance(run, "good", json.dumps(GOOD | {"network": "10.77.255"}).encode())
    used = ["default", "0.0.0.0/1", "10.77.0.0/17", "10.78.128.0/18", "10.77.250.7", "192.0.2.0/24"]
    routes(*used, *(f"10.78.{third}.128/25" for third in range(192, 249)))
    assert {testbed._free_network(2) for _ in range(200)} == {
        f"10.77.{third}" for third in (249, 251, 252, 253, 254)
    }
    routes("10.72.0.0/13")
    with pytest.raises(testbed.TestbedError, match=r"no network 10\.77\.K.*unshare --net"):
        testbed._free_network(1)


def test_agent_goes_to_any_directory_and_enters_no_process_but_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an nsenter that enters nothing."""
    state, script, name = tmp_path / "run" / "zz", tmp_path / "agent", "a;$(touch broken)'b\"c"
    for folder in (state, tmp_path / "bin", tmp_path / name):
        folder.mkdir(parents=True)
    nsenter = executable(
        tmp_path / "bin" / "nsenter",
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n',
    )
    monkeypatch.setenv("PATH", f"{nsenter.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("STRETTO_TESTBED_CWD", str(tmp_path / name))
    script.write_text(
        testbed.AGENT.read_text().replace("/run/stretto-testbed", str(tmp_path / "run"))
    )

    def agent(*words: str) -> subprocess.CompletedProcess[str]:
        argv = ["/bin/sh", str(script), *words]
        return run_program(argv, timeout=300)

    core, me = min(os.sched_getaffinity(0)), holder.start_time(os.getpid())
    noted = {"n1": (os.getpid(), me), "n2": (os.getpid(), f"{me}1"), "n3": (2**30, "5")}
    for node, (pid, started) in noted.items():
        (state / f"pid.{node}").write_text(f"{pid} {core}\n{started}\n")
    done = agent("-x", "-l", "root", "n1", "pwd;", "echo", "'a  b'", "$#")
    assert done.stdout.splitlines() == [str(tmp_path / name), "a  b 0"], done.stderr
    assert not list(tmp_path.rglob("broken*"))
    for node, said in (("n2", "is down"), ("n3", "is down"), ("n4", "no node n4 is up")):
        done = agent(node, "echo", "entered")
        assert (done.returncode, done.stdout) == (255, "") and said in done.stderr, node
