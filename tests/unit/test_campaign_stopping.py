"""A campaign that is told to stop, what kills leave behind, and how it is known who is at work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from stretto.campaign.alone import alone_on, in_turn, node_of, refuse_held, short
from stretto.campaign.claims import BEAT_S, STALE_S, WATCH_S, Claims, Holder
from stretto.campaign.layout import Layout
from stretto.campaign.sbatch import WARNING_S
from stretto.campaign.site import Site
from stretto.campaign.stopping import GRACE_S, stops_gently
from stretto.campaign.submit import SlurmJob, script
from stretto.campaign.worker import Worker
from stretto.errors import StrettoError
from sweeps import Fake, request_of, worker_of

AWAY = Holder("elsewhere.cluster boot ns", 41, "1")
DEAD = 2**22 + 1  # the number of no process: beyond what the kernel gives


def one_layout(out: Path) -> tuple[Worker, Fake]:
    backend = Fake()
    request = request_of(
        out, layouts=(Layout(1, 2),), collectives=("allreduce",), sizes=(8, 24, 36000)
    )
    return worker_of(request, backend), backend


def in_a_slurm_job(monkeypatch: pytest.MonkeyPatch, grace_s: float) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr("stretto.campaign.stopping.GRACE_S", grace_s)


@pytest.mark.parametrize("interrupt", [signal.default_int_handler, signal.SIG_IGN])
def test_a_launch_that_outlasts_the_warning_is_ended_in_a_slurm_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: object
) -> None:
    in_a_slurm_job(monkeypatch, 0.1)
    old = signal.signal(signal.SIGINT, interrupt)  # type: ignore[arg-type]
    try:
        worker, backend = one_layout(tmp_path)
        before = signal.getsignal(signal.SIGUSR1)

        def between() -> None:
            if backend.cells == 3:
                signal.raise_signal(signal.SIGUSR1)
                time.sleep(60)

        backend.between = between
        with pytest.raises(KeyboardInterrupt), stops_gently(worker, lambda text: None):
            worker.run()
        assert signal.getsignal(signal.SIGINT) == interrupt, "as it was"
        assert signal.getsignal(signal.SIGUSR1) == before
    finally:
        signal.signal(signal.SIGINT, old)
    assert worker.stopping.is_set()
    (end,) = worker.base.glob("*/claims/*.end")
    assert end.read_text() == "free\n"
    again, _ = one_layout(tmp_path)
    assert again.run(), "another start goes on"


def test_who_is_interrupted_is_not_interrupted_again_when_the_grace_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_slurm_job(monkeypatch, 1.0)
    graces: list[Callable[[], None]] = []

    class Timer:
        """Its time is over when the test says so."""

        def __init__(self, seconds: float, end: Callable[[], None]) -> None:
            assert seconds == 1.0
            self.end = end

        def start(self) -> None:
            graces.append(self.end)

        def cancel(self) -> None:
            pass

    monkeypatch.setattr(threading, "Timer", Timer)
    worker, _ = one_layout(tmp_path)
    before = [signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGINT)]
    ended = False
    with pytest.raises(KeyboardInterrupt), stops_gently(worker, lambda text: None):
        signal.raise_signal(signal.SIGUSR1)
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            (over,) = graces
            over()
            ended = True
    assert ended
    assert [signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGINT)] == before


def test_nothing_is_ended_behind_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import os, signal, sys, threading, time
import stretto.campaign.stopping as stopping
os.environ["SLURM_JOB_ID"] = "7"
class Worker: stopping = threading.Event()
for turn in range(200):
    stopping.GRACE_S = turn * 1e-5
    try:
        with stopping.stops_gently(Worker(), lambda text: None):
            signal.raise_signal(signal.SIGUSR1)
            time.sleep(1e-3)
    except KeyboardInterrupt:
        pass
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
print("whole")
"""
    env = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.stdout == "whole\n", done.stderr


def test_the_batch_script_lets_the_campaign_hear_interrupts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "campaign"
    program.write_text(f"#!/bin/sh\ngrep SigIgn /proc/$$/status > {tmp_path}/ignored\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    request = request_of(tmp_path / "out", layouts=(Layout(1, 2),))
    text = script(request, tmp_path / "c.toml", SlurmJob(), {})
    old = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest may have it ignored
    try:
        subprocess.run(["bash", "-c", text], check=True, timeout=600)
    finally:
        signal.signal(signal.SIGINT, old)
    mask = int((tmp_path / "ignored").read_text().split()[1], 16)
    assert not mask & 1 << (signal.SIGINT - 1)


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


def watched(tmp_path: Path, ago_s: float) -> tuple[Claims, Clock, Path]:
    """A claim of another host, last touched so long ago by the file system."""
    claims, clock = Claims(tmp_path), Clock()
    claims.clock = clock
    path = tmp_path / "00003.1"
    path.write_text(json.dumps(asdict(AWAY)))
    touch(path, ago_s)
    return claims, clock, path


def touch(path: Path, ago_s: float) -> None:
    at = time.time() - ago_s
    os.utime(path, (at, at))


def watch(claims: Claims, clock: Clock, seconds: float, beat: Callable[[], None]) -> str:
    """Look at the claim for so long, as a process does that waits; return what it is then."""
    state = claims.state(3, claims.listing())[0]
    until = clock.now + seconds
    while clock.now < until:
        clock.now += 2.0
        if clock.now % BEAT_S == 0:
            beat()
        state = claims.state(3, claims.listing())[0]
    return state


@pytest.mark.parametrize("ago_s", [0.0, 180.0, -3600.0, 1e6])
def test_a_holder_that_beats_keeps_its_claim_whatever_the_time(
    tmp_path: Path, ago_s: float
) -> None:
    claims, clock, path = watched(tmp_path, ago_s)
    assert claims.state(3, claims.listing()) == ("held", 1)
    steps = iter(range(10**6))
    assert watch(claims, clock, 3 * STALE_S, lambda: touch(path, ago_s + next(steps))) == "held"


def test_a_claim_is_touched_while_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.campaign.claims.BEAT_S", 0.01)
    claim = Claims(tmp_path).take(1, 0)
    assert claim is not None and STALE_S >= WATCH_S >= 3 * BEAT_S
    os.utime(claim.path, (1, 1))
    deadline = time.monotonic() + 300
    while claim.path.stat().st_mtime == 1 and time.monotonic() < deadline:
        time.sleep(0.005)
    claim.end(True)
    assert claim.path.stat().st_mtime > 1


def test_a_claim_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def noted(name: str, real: Callable[..., None]) -> Callable[..., None]:
        def call(*words: object) -> None:
            done.append(name)
            real(*words)

        return call

    for name in ("fsync", "link"):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))
    claim = Claims(tmp_path).take(1, 0)
    assert claim is not None and done == ["fsync", "link"]
    claim.end(True)
    assert done == 2 * ["fsync", "link"]


def test_what_outlasts_the_warning_is_ended_well_before_slurm_does_it() -> None:
    assert WARNING_S - GRACE_S >= 30


@pytest.mark.parametrize("ago_s", [0.0, -3600.0, -1e8])
def test_a_claim_that_nobody_touches_is_stale_and_one_of_the_future_too(
    tmp_path: Path, ago_s: float
) -> None:
    claims, clock, _ = watched(tmp_path, ago_s)
    assert watch(claims, clock, STALE_S - 2, lambda: None) == "held"
    assert watch(claims, clock, 2, lambda: None) == "open"


def test_a_claim_that_is_old_is_watched_for_three_beats(tmp_path: Path) -> None:
    claims, clock, path = watched(tmp_path, STALE_S + 30)
    assert watch(claims, clock, WATCH_S - 2, lambda: None) == "held"
    touch(path, STALE_S + 29)
    assert watch(claims, clock, WATCH_S - 2, lambda: None) == "held", "the holder lives"
    assert watch(claims, clock, 2, lambda: None) == "open"


def test_while_nobody_looked_nobody_was_seen_to_be_silent(tmp_path: Path) -> None:
    claims, clock, _ = watched(tmp_path, STALE_S + 30)
    assert claims.state(3, claims.listing())[0] == "held"
    clock.now += 3600
    assert claims.state(3, claims.listing())[0] == "held"


def test_who_only_looks_goes_by_the_file_systems_time(tmp_path: Path) -> None:
    for ago_s, state in ((STALE_S + 30, "open"), (0.0, "held"), (-3600.0, "held")):
        claims, _, path = watched(tmp_path, ago_s)
        claims.glance = True
        assert claims.state(3, claims.listing())[0] == state
        path.unlink()


def leave(site: Site, name: str, launch: int) -> Path:
    """What a start that was killed leaves of a launch."""
    path = site.folder.directory / f".{name}.bench.jsonl.launch{launch}.abcdefgh"
    path.mkdir()
    (path / "job").write_text("")
    return path


def claim(site: Site, launch: int, generation: int, holder: Holder) -> Path:
    path = site.claims.directory / f"{launch:05d}.{generation}"
    path.write_text(json.dumps(asdict(holder)))
    return path


def test_what_a_killed_start_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    worker, _ = one_layout(tmp_path)
    (site,) = worker.all()
    dead = replace(site.claims.holder, pid=DEAD)
    claim(site, 0, 1, dead)
    left = leave(site, f"20261101T000000Z.{dead.host}.{DEAD}.1", 0)
    assert worker.run()
    assert not left.exists()
    assert not list(site.folder.directory.glob(".*"))


def test_nothing_of_who_may_live_is_removed(tmp_path: Path) -> None:
    worker, _ = one_layout(tmp_path)
    (site,) = worker.all()
    mine = site.claims.holder
    dead = replace(mine, pid=DEAD)
    keep = []
    claim(site, 0, 1, mine)  # this very process
    keep.append(leave(site, f"20261101T000000Z.{mine.host}.{mine.pid}", 0))
    claim(site, 1, 1, AWAY)  # on another host, and nobody has taken it over
    keep.append(leave(site, "20261101T000000Z.elsewhere.41", 1))
    claim(site, 2, 1, replace(mine, started="0"))  # before this process had the number
    claim(site, 2, 2, mine)
    keep.append(leave(site, f"20261101T000000Z.{mine.host}.{mine.pid}", 2))
    claim(site, 3, 1, dead)  # of another host with the same number
    keep.append(leave(site, f"20261101T000000Z.elsewhere.{DEAD}", 3))
    keep.append(leave(site, f"20261101T000000Z.{mine.host}.{DEAD}", 4))  # nobody has claimed it
    site.clear()
    assert all(path.is_dir() for path in keep)
    gone = leave(site, f"20261101T000000Z.{dead.host}.{DEAD}", 3)
    site.clear()
    assert not gone.exists() and all(path.is_dir() for path in keep)


def test_of_a_start_elsewhere_what_was_taken_over_is_removed(tmp_path: Path) -> None:
    worker, _ = one_layout(tmp_path)
    (site,) = worker.all()
    claim(site, 5, 1, AWAY)
    left = leave(site, "20261101T000000Z.elsewhere.41", 5)
    claim(site, 5, 2, site.claims.holder)
    writer = worker_of(request_of(tmp_path / "other"), Fake()).sites[Layout(2, 1)].opened(
        worker.identity, [], None, AWAY
    )  # fmt: skip
    results = site.folder.directory / "20261101T000000Z.elsewhere.41.bench.jsonl"
    os.link(writer.path, results)
    site.clear()
    assert left.is_dir(), "it is locked"
    writer.close()
    site.clear()
    assert not left.exists()


def test_a_node_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    own = os.uname().nodename
    for other in ("localhost", "LOCALHOST.localdomain", "127.0.0.1", "::1", f"{own}.example.org"):
        with (
            alone_on(tmp_path, [own]),
            pytest.raises(
                StrettoError, match=f"measures on (.*, which calls itself )?{short(own)}"
            ) as error,
            alone_on(tmp_path, ["n1", other]),
        ):
            pass
        assert "two at once" in (error.value.remedy or "")
    with alone_on(tmp_path, [own, "localhost"]):
        pass
    assert {p.stem for p in (tmp_path / "nodes").iterdir()} == {short(own), "n1"}


def test_who_has_a_node_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    refused = pytest.raises(StrettoError, match="measures on n1")
    with alone_on(tmp_path, ["n1"]), refused as error, alone_on(tmp_path, ["n1"]):
        pass
    who = f"process {os.getpid()} on {os.uname().nodename} (Slurm job 77), since 20"
    assert who in str(error.value)
    lock = tmp_path / "nodes" / "n1.lock"
    lock.write_text("process 1 on a name that is longer than the next one's\n" * 5)
    with alone_on(tmp_path, ["n1"]):
        assert lock.read_text().startswith(who) and lock.read_text().count("\n") == 1

    def full(*words: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "pwrite", full)
    with alone_on(tmp_path, ["n1"]), refused as error, alone_on(tmp_path, ["n1"]):
        pass
    assert error.value.message == "another process of this campaign measures on n1"


def test_a_look_at_who_has_nodes_holds_none(tmp_path: Path) -> None:
    refuse_held(tmp_path, ["n1"])
    assert not list(tmp_path.iterdir())
    refused = pytest.raises(StrettoError, match="measures on n2: process")
    with alone_on(tmp_path, ["n1", "n2"]), refused as error:
        refuse_held(tmp_path, ["n3", "n2"])
    assert "two at once" in (error.value.remedy or "")
    refuse_held(tmp_path, ["n1", "n2"])
    with alone_on(tmp_path, ["n1", "n2"]):
        pass


def test_tables_are_made_in_turn(tmp_path: Path) -> None:
    order: list[str] = []

    def other() -> None:
        with in_turn(tmp_path):
            order.append("second")

    thread = threading.Thread(target=other)
    with in_turn(tmp_path):
        thread.start()
        thread.join(0.5)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    with in_turn(tmp_path), in_turn(tmp_path, wait_s=0):
        pass  # who stands still does not stop the others


def test_node_of_names_with_and_without_domain_are_one_node() -> None:
    assert node_of("localhost") == short(os.uname().nodename)
    assert node_of("N7.cluster.org") == node_of("n7") == "n7"


def test_namespaces_with_names_of_their_own_are_nodes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uname = os.uname()
    held = []
    for name in ("n1", "n2"):
        fields = [uname.sysname, name, *uname[2:]]
        monkeypatch.setattr(os, "uname", lambda fields=fields: os.uname_result(fields))
        held.append(alone_on(tmp_path, ["localhost"]))
        held[-1].__enter__()
    for one in held:
        one.__exit__(None, None, None)
    assert {p.stem for p in (tmp_path / "nodes").iterdir()} == {"n1", "n2"}


def test_what_nodes_say_of_themselves_counts(tmp_path: Path) -> None:
    with (
        alone_on(tmp_path, ["10.0.0.1", "login"], ["n1", "n2.cluster"]),
        pytest.raises(StrettoError, match=r"measures on 10\.0\.0\.2, which calls itself n2"),
        alone_on(tmp_path, ["10.0.0.2"], ["n2"]),
    ):
        pass
