"""The batch script of a campaign: when its job goes into the queue again, and when not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stretto.sweep.layout import Layout
from stretto.sweep.submit import Job, script
from sweeps import request_of

CAMPAIGN = """#!/bin/bash
trap 'exit 130' USR1
touch "$(dirname "$0")/begun"
while :; do sleep 0.02; done
"""
RUNNING = "RUNNING                       N/A                           None"


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("told", "state", "again"),
    [
        (signal.SIGUSR1, RUNNING, True),
        (signal.SIGTERM, RUNNING, True),  # before a preemption
        (signal.SIGTERM, "COMPLETING      2026-11-24T08:39:38      None", True),  # as part of one
        (signal.SIGTERM, "COMPLETING      N/A      TimeLimit", True),
        (signal.SIGTERM, "COMPLETING      N/A      None", False),  # scancel
        (signal.SIGUSR1, "CANCELLED       N/A      None", False),
        (signal.SIGUSR1, "", True),  # squeue does not answer
    ],
)
@pytest.mark.parametrize("array", [False, True])
def test_only_what_was_not_cancelled_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told: signal.Signals,
    state: str,
    again: bool,
    array: bool,
) -> None:
    """What squeue says was seen with Slurm 22.05."""
    program(tmp_path / "campaign", CAMPAIGN)
    program(tmp_path / "squeue", f'#!/bin/sh\necho "$3" >> "{tmp_path}/asked"\necho "{state}"\n')
    program(tmp_path / "scontrol", f'#!/bin/sh\necho "$@" >> "{tmp_path}/requeued"\n')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "campaign"))
    request = request_of(tmp_path / "out", layouts=(Layout(1, 2),))
    text = script(request, tmp_path / "c.toml", Job(jobs=2 if array else 1), {})
    job = {"SLURM_JOB_ID": "7"}
    if array:
        job |= {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"} | job
    process = subprocess.Popen(["bash", "-c", text], env=env, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(told)
    out, _ = process.communicate(timeout=60)
    name = "7_2" if array else "7"
    assert process.returncode == 130 and (tmp_path / "asked").read_text() == f"{name}\n"
    asked = tmp_path / "requeued"
    assert (asked.read_text() if asked.exists() else "") == (f"requeue {name}\n" if again else "")
    assert ("goes into the queue again" in out, "was cancelled" in out) == (again, not again)
