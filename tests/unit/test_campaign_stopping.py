"""Stopping a campaign by signals, and one process per node."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from processes import executable
from stretto.campaign.alone import alone_on, in_turn, node_of, refuse_held, short
from stretto.campaign.layout import Layout
from stretto.campaign.stopping import GRACE_S, stops_gently
from stretto.campaign.submit import WARNING_S, SlurmJob, script
from stretto.campaign.worker import Worker
from stretto.errors import StrettoError
from sweeps import Fake, request_of, worker_of


def one_layout(out: Path) -> tuple[Worker, Fake]:
    backend = Fake()
    request = request_of(
        out, layouts=(Layout(1, 2),), collectives=("allreduce",), sizes=(8, 24, 36000)
    )
    return worker_of(request, backend), backend


@pytest.mark.parametrize("interrupt", [signal.default_int_handler, signal.SIG_IGN])
def test_launch_that_outlasts_the_warning_is_ended_in_a_slurm_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: object
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr("stretto.campaign.stopping.GRACE_S", 0.1)
    old = signal.signal(signal.SIGINT, interrupt)  # type: ignore[arg-type]
    numbers = (signal.SIGINT, signal.SIGUSR1, signal.SIGALRM)
    try:
        worker, backend = one_layout(tmp_path)
        before = [signal.getsignal(n) for n in numbers]

        def between() -> None:
            if backend.cells == 3:
                signal.raise_signal(signal.SIGUSR1)
                time.sleep(60)

        backend.between = between
        with pytest.raises(KeyboardInterrupt), stops_gently(worker.stopping, lambda text: None):
            worker.run()
        assert [signal.getsignal(n) for n in numbers] == before
    finally:
        signal.signal(signal.SIGINT, old)
    assert worker.stopping.is_set()
    again, _ = one_layout(tmp_path)
    assert again.run(), "another start goes on"


def test_interrupt_is_not_followed_by_another_when_the_grace_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr("stretto.campaign.stopping.GRACE_S", 3600.0)
    with pytest.raises(KeyboardInterrupt), stops_gently(threading.Event(), lambda text: None):
        signal.raise_signal(signal.SIGUSR1)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 3000
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_batch_script_lets_the_campaign_hear_interrupts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WARNING_S - GRACE_S >= 30, "what outlasts the warning is ended well before Slurm does it"
    program = executable(
        tmp_path / "campaign", f"#!/bin/sh\ngrep SigIgn /proc/$$/status > {tmp_path}/ignored\n"
    )
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


def test_node_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    own = os.uname().nodename
    for other in ("localhost", "LOCALHOST.localdomain", "127.0.0.1", "::1", f"{own}.example.org"):
        with (
            alone_on(tmp_path, [own]),
            pytest.raises(
                StrettoError, match=f"measures on (.* .host name )?{short(own)}"
            ) as error,
            alone_on(tmp_path, ["n1", other]),
        ):
            pass
        assert "two campaigns on one node" in (error.value.remedy or "")
    with alone_on(tmp_path, [own, "localhost"]):
        pass
    assert {p.stem for p in (tmp_path / "nodes").iterdir()} == {short(own), "n1"}
    assert node_of("N7.cluster.org") == node_of("n7") == "n7"
    with (
        alone_on(tmp_path, ["10.0.0.1", "login"], ["n1", "n2.cluster"]),
        pytest.raises(StrettoError, match=r"measures on 10\.0\.0\.2 \(host name n2\)"),
        alone_on(tmp_path, ["10.0.0.2"], ["n2"]),
    ):
        pass


def test_who_has_a_node_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    refuse_held(tmp_path, ["n1"])
    assert not list(tmp_path.iterdir()), "a look holds nothing"
    who = f"process {os.getpid()} on {os.uname().nodename} (Slurm job 77), since 20"
    lock = tmp_path / "nodes" / "n1.lock"
    with alone_on(tmp_path, ["n1"]):
        pass
    lock.write_text("process 1 on a name that is longer than the next one's\n" * 5)
    with alone_on(tmp_path, ["n1", "n2"]):
        assert lock.read_text().startswith(who) and lock.read_text().count("\n") == 1
        refused = pytest.raises(StrettoError, match="measures on n1")
        with refused as error, alone_on(tmp_path, ["n1", "n3"]):
            pass
        assert who in str(error.value)
        with pytest.raises(StrettoError, match="measures on n2: process"):
            refuse_held(tmp_path, ["n3", "n2"])
        with alone_on(tmp_path, ["n3"]):
            pass
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
