"""The testbed's own state: damaged instances, missing tools, free networks, processes, its agent.

Nothing here needs root: no cluster is made.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from clusters import launchers, testbed
from mpis import REPOSITORY

holder = testbed.holder

GOOD: dict[str, object] = {
    "name": "good", "bridge": "goodbr", "bridge_address": "10.77.5.1", "network": "10.77.5",
    "nodes": [], "owner": 0, "owner_started": "",
}  # fmt: skip
NODE = {"name": "badn1", "address": "10.77.6.11", "pid": 2**30, "started": "1"}
DAMAGED = {
    "no JSON": "{",
    "no text": b"\xff",
    "empty": "",
    "no object": "[]",
    "a null": "null",
    "no nodes": json.dumps({"name": "bad"}),
    "nodes that are none": json.dumps(GOOD | {"name": "bad", "nodes": [1]}),
    "another's name": json.dumps(GOOD | {"name": "../bad"}),
    "a later version": json.dumps(GOOD | {"name": "bad", "colour": 3}),
    "an id that is no number": json.dumps(GOOD | {"name": "bad", "nodes": [NODE | {"pid": "x"}]}),
    "rails that are no number": json.dumps(GOOD | {"name": "bad", "rails": "x"}),
    "an owner that is no number": json.dumps(GOOD | {"name": "bad", "owner": "x"}),
    "a start that is no word": json.dumps(GOOD | {"name": "bad", "nodes": [NODE | {"started": 1}]}),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own for the instances' state, and root's rights as far as Python asks."""
    monkeypatch.setattr(testbed, "RUN", tmp_path / "run")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def cli(run: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command, on the instances of that directory."""
    path = REPOSITORY / "tools" / "testbed" / "__main__.py"
    spec = importlib.util.spec_from_file_location("testbed_command", path)
    assert spec and spec.loader
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def call(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["testbed", *words])
        return int(module.main())

    return call


def instance(run: Path, name: str, state: str | bytes | None) -> Path:
    directory = run / name
    (directory / "shared").mkdir(parents=True)
    if state is not None:
        data = state if isinstance(state, bytes) else state.encode()
        (directory / "state.json").write_bytes(data)
    return directory


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        yield sleeper
        sleeper.kill()


def note(directory: Path, process: subprocess.Popen[bytes]) -> None:
    (directory / "holder.n1").write_text(f"{process.pid} {holder.start_time(process.pid)}\n")


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_instance_is_listed_and_taken_down(
    run: Path,
    cli: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    process: subprocess.Popen[bytes],
    how: str,
) -> None:
    bad, good = instance(run, "bad", DAMAGED[how]), instance(run, "good", json.dumps(GOOD))
    note(bad, process)
    assert cli("list") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "good 10.77.5.1" and second.startswith("bad (damaged") and "down bad" in second
    assert testbed.collect_garbage() == []
    with pytest.raises(testbed.TestbedError, match=r"'bad' is damaged.*state\.json"):
        testbed.find("bad")
    assert cli("down", "bad") == 0
    assert not bad.exists() and good.exists()
    assert holder.start_time(process.pid) is None


def test_state_that_is_no_file_damages_one_instance_only(run: Path) -> None:
    (instance(run, "bad", None) / "state.json").mkdir()
    instance(run, "good", json.dumps(GOOD))
    assert [cluster.name for cluster in testbed.instances()] == ["good"]
    assert list(testbed.damaged()) == ["bad"]


def test_without_state_holders_tell_an_instance_from_garbage(
    run: Path, process: subprocess.Popen[bytes]
) -> None:
    lost, garbage = instance(run, "lost", None), instance(run, "garbage", None)
    note(lost, process)
    (garbage / "holder.n1").write_text(f"{process.pid} 1\n")  # its id is another's now
    (garbage / "holder.n2").write_text("")
    (garbage / "holder.n3").write_text("x y\n")
    assert testbed.damaged() == {"lost": "state.json is missing"}
    assert testbed.collect_garbage() == ["garbage"]
    assert process.poll() is None and lost.exists() and not garbage.exists()
    testbed.take_down("lost")
    assert holder.start_time(process.pid) is None and not lost.exists()


def test_an_instance_whose_owner_has_ended_is_garbage(run: Path) -> None:
    ended = GOOD | {"name": "ended", "owner": os.getpid(), "owner_started": "1"}
    mine = GOOD | {
        "name": "mine", "owner": os.getpid(), "owner_started": holder.start_time(os.getpid()),
    }  # fmt: skip
    for state in (ended, mine, GOOD):
        instance(run, str(state["name"]), json.dumps(state))
    assert testbed.collect_garbage() == ["ended"]
    assert sorted(path.name for path in run.iterdir() if path.is_dir()) == ["good", "mine"]


def test_down_all_takes_the_damaged_ones_and_goes_on_after_an_error(
    run: Path, cli: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bad", "worse"):
        instance(run, name, "{}")
    instance(run, "good", json.dumps(GOOD))
    clear = testbed._clear

    def fails(name: str, nodes: list[tuple[int, str]]) -> None:
        if name == "bad":
            raise testbed.TestbedError("bad does not go")
        clear(name, nodes)

    monkeypatch.setattr(testbed, "_clear", fails)
    with pytest.raises(testbed.TestbedError, match="bad does not go"):
        cli("down", "--all")
    assert [path.name for path in run.iterdir()] == ["bad"]


def test_down_takes_no_path_for_a_name(run: Path, cli: Callable[..., int]) -> None:
    other = instance(run.parent, "other", "{}")
    for name in ("../other", ".", str(other)):
        with pytest.raises(testbed.TestbedError, match="no instance"):
            cli("down", name)
    assert other.exists()


@pytest.mark.parametrize("words", [["down", "good"], ["down", "--all"], ["up"]])
def test_without_root_it_says_so(
    run: Path, cli: Callable[..., int], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    directory = instance(run, "good", json.dumps(GOOD))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(testbed.TestbedError, match=r"needs root.*sudo"):
        cli(*words)
    assert directory.exists()


def lacking(monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == tool else which(name))


def test_down_without_ip_says_so_and_ends_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, process: subprocess.Popen[bytes]
) -> None:
    directory = instance(run, "good", json.dumps(GOOD))
    note(directory, process)
    lacking(monkeypatch, "ip")
    with pytest.raises(testbed.TestbedError, match=r"ip is missing: apt-get install iproute2"):
        testbed.find("good").down()
    assert process.poll() is None and directory.exists()


def test_a_cap_needs_tc_and_is_looked_at_before_anything_is_made(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(rails: int) -> str:
        raise testbed.TestbedError("so far")

    monkeypatch.setattr(shutil, "which", lambda name: None if name == "tc" else name)
    monkeypatch.setattr(testbed, "_free_network", stop)
    with pytest.raises(testbed.TestbedError, match="tc is missing"):
        testbed.up(1, name="zznone", bandwidth="50mbit")
    with pytest.raises(testbed.TestbedError, match="bandwidth 'fast'"):
        testbed.up(1, name="zznone", bandwidth="fast")
    with pytest.raises(testbed.TestbedError, match="so far"):
        testbed.up(1, name="zznone")
    assert not (run / "zznone").exists()


def test_every_link_of_every_instance_has_an_address_of_its_own() -> None:
    links = testbed._links("one") | testbed._links("two")
    assert len(links) == len(set(links.values())) == 2 * 8 * 100
    assert all(address.startswith("02:") and len(address) == 17 for address in links.values())
    assert max(map(len, testbed._links("eightlet"))) <= 15, "Linux takes no longer names"


def routes(monkeypatch: pytest.MonkeyPatch, *destinations: str) -> None:
    found = json.dumps([{"dst": destination} for destination in destinations])
    monkeypatch.setattr(testbed, "_call", lambda *argv: found)


def test_the_network_is_one_that_the_machine_does_not_use(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance(run, "good", json.dumps(GOOD | {"network": "10.77.255"}))
    used = ["default", "0.0.0.0/1", "10.77.0.0/17", "10.78.128.0/18", "10.77.250.7", "192.0.2.0/24"]
    routes(monkeypatch, *used, *(f"10.78.{third}.128/25" for third in range(192, 249)))
    assert {testbed._free_network(2) for _ in range(200)} == {
        f"10.77.{third}" for third in (249, 251, 252, 253, 254)
    }
    assert int(testbed._free_network(1).rpartition(".")[2]) >= 128


def test_a_route_to_all_of_a_company_keeps_nobody_from_testing(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine in a cloud may reach 10.0.0.0/8: what is more special there still counts."""
    assert not run.exists() or not list(run.iterdir())
    routes(monkeypatch, "10.0.0.0/8", "10.77.0.0/17")
    assert int(testbed._free_network(1).rpartition(".")[2]) >= 128


def test_no_free_network_is_an_error_in_words(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    routes(monkeypatch, "10.72.0.0/13")
    with pytest.raises(testbed.TestbedError, match=r"no network 10\.77\.K.*unshare --net"):
        testbed._free_network(1)


@pytest.mark.parametrize("kernel", ["with pidfd", "without"])
def test_a_signal_reaches_only_the_process_that_is_meant(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    if kernel == "without":
        monkeypatch.delattr(os, "pidfd_open")
    started = holder.start_time(process.pid)
    holder._send(process.pid, started + "1", signal.SIGKILL)
    assert process.poll() is None
    holder._send(process.pid, started, signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    holder._send(process.pid, started, signal.SIGKILL)  # gone: no error


def test_a_process_that_ends_after_the_look_at_its_start_is_not_signalled_by_id(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    kill, by_id = os.kill, list[int]()

    def look(pid: int) -> str:
        kill(pid, signal.SIGKILL)
        process.wait()  # its id is free for another now
        return "7"

    monkeypatch.setattr(holder, "start_time", look)
    monkeypatch.setattr(os, "kill", lambda pid, number: by_id.append(pid))
    holder._send(process.pid, "7", signal.SIGKILL)
    assert by_id == []


@pytest.mark.parametrize(
    "script,words",
    [
        (
            "echo 'mount: /tmp: already mounted'; exit 1",
            "zzn1 does not start: mount: /tmp:",
        ),
        ("echo 'already mounted'; sleep 0.2; exit 1", "does not start: already mounted"),
        ("echo ready; exec sleep 1000", "ended as soon as it was up"),
    ],
)
def test_a_holder_that_is_not_ready_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    fake(tmp_path, monkeypatch, "unshare", script)
    with pytest.raises(testbed.TestbedError, match=words):
        holder.start(tmp_path, 0, "zzn1", [], owned=False)
    assert not holder.running(tmp_path)


def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, script: str) -> None:
    """Put a script in a tool's place."""
    (tmp_path / "bin").mkdir()
    path = tmp_path / "bin" / tool
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


@pytest.mark.parametrize("prefix", ["/opt/some mpi", "/opt/a$(touch broken)'b"])
def test_env_keeps_the_path_of_the_shell_that_reads_it(tmp_path: Path, prefix: str) -> None:
    cluster = testbed.Cluster(**GOOD)
    lines = launchers.exports(
        launchers.environment(cluster, "mpich", prefix=Path(prefix)), Path(prefix)
    )
    script = 'eval "$1"; echo "$PATH"; echo "$LD_LIBRARY_PATH"; echo "$HYDRA_IFACE"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", "\n".join(lines)],
        env={"PATH": "/home/me/my bin:/usr/bin"}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        f"{prefix}/bin:/home/me/my bin:/usr/bin", f"{prefix}/lib", "goodbr",
    ]  # fmt: skip
    assert not (tmp_path / "broken").exists() and not done.stderr


def test_env_prints_what_a_shell_reads(
    run: Path, cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    instance(run, "good", json.dumps(GOOD))
    assert cli("env", "good", "--mpi", "mpich", "--prefix", "/opt/mpich") == 0
    assert 'export PATH=/opt/mpich/bin:"$PATH"' in capsys.readouterr().out.splitlines()


class Agent:
    """The agent on a state of its own, with an nsenter that enters nothing."""

    def __init__(self, tmp_path: Path) -> None:
        self.directory = tmp_path / "run" / "zz"
        self.directory.mkdir(parents=True)
        self.script = tmp_path / "agent"
        text = testbed.AGENT.read_text()
        assert text.count("/run/stretto-testbed/") == 1
        self.script.write_text(text.replace("/run/stretto-testbed", str(tmp_path / "run")))

    def node(self, name: str, pid: int, *started: str) -> None:
        core = min(os.sched_getaffinity(0))
        words = "\n".join([f"{pid} {core}", *started])
        (self.directory / f"pid.{name}").write_text(f"{words}\n")

    def __call__(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = dict(os.environ) | ({"STRETTO_TESTBED_CWD": str(cwd)} if cwd else {})
        return subprocess.run(
            ["/bin/sh", str(self.script), *words],
            env=env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    enters = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
    fake(tmp_path, monkeypatch, "nsenter", enters)
    return Agent(tmp_path)


@pytest.mark.parametrize("name", ["two words", "$(touch broken)", "a;touch broken", "a'b\"c"])
def test_the_agent_goes_to_any_directory(tmp_path: Path, agent: Agent, name: str) -> None:
    (tmp_path / name).mkdir()
    agent.node("zzn1", os.getpid(), holder.start_time(os.getpid()))
    done = agent("-x", "-l", "root", "zzn1", "pwd;", "echo", "'a  b'", "$#", cwd=tmp_path / name)
    assert done.stdout.splitlines() == [str(tmp_path / name), "a  b 0"], done.stderr
    assert not list(tmp_path.rglob("broken*"))
    done = agent("zzn1", "touch", str(tmp_path / "came"), cwd=tmp_path / "nosuch")
    assert done.returncode != 0 and not (tmp_path / "came").exists()


def test_the_agent_enters_no_other_process_of_that_id(agent: Agent) -> None:
    agent.node("zzn1", os.getpid(), holder.start_time(os.getpid()) + "1")
    agent.node("zzn2", 2**30, "5")  # gone
    agent.node("zzn3", os.getpid())
    for name, words in (
        ("zzn1", "node zzn1 is down"),
        ("zzn2", "node zzn2 is down"),
        ("zzn3", "node zzn3 is of another version"),
        ("zzn4", "no node zzn4 is up"),
    ):
        done = agent(name, "echo", "entered")
        assert (done.returncode, done.stdout) == (255, ""), name
        assert words in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_agent_enters_no_process_that_waits_to_be_reaped(
    agent: Agent, process: subprocess.Popen[bytes]
) -> None:
    started = holder.start_time(process.pid)
    agent.node("zzn1", process.pid, started)
    assert agent("zzn1", "echo", "entered").stdout == "entered\n"
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    done = agent("zzn1", "echo", "entered")
    assert done.returncode == 255 and "node zzn1 is down" in done.stderr


def test_blanks_and_parentheses_in_a_process_name_do_not_mislead(
    tmp_path: Path, agent: Agent
) -> None:
    odd = tmp_path / "a) S 1 (b"
    odd.symlink_to(shutil.which("sleep") or "")
    with subprocess.Popen([odd, "1000"]) as sleeper:
        try:
            stat = Path(f"/proc/{sleeper.pid}/stat").read_text()
            assert "(a) S 1 (b)" in stat
            agent.node("zzn1", sleeper.pid, holder.start_time(sleeper.pid))
            assert agent("zzn1", "echo", "entered").stdout == "entered\n"
        finally:
            sleeper.kill()
