"""Ctrl-C, SIGTERM or SIGKILL at any moment of tune and bench: nothing of them is left."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others
from shm import own_shm

pytestmark = pytest.mark.mpi


def marked(mark: str) -> list[int]:
    """Return the processes whose environment holds the mark, and that still run."""
    out = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            found = mark.encode() in (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if found and state != "Z":
            out.append(int(entry.name))
    return out


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mpi = MPIS["openmpi4"].require()
    out = tmp_path_factory.mktemp("app") / "heat"
    return mpi.compile(REPOSITORY / "examples" / "c" / "heat.c", out, "-O2")


def until_it_listens(process: subprocess.Popen[str]) -> None:
    """Wait until Stretto handles signals: before that it is Python's start that they end."""
    status, bit = Path(f"/proc/{process.pid}/status"), 1 << (signal.SIGTERM - 1)
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        caught = re.search(r"^SigCgt:\s*(\w+)", status.read_text(), re.MULTILINE)
        if caught and int(caught.group(1), 16) & bit:
            return
        time.sleep(0.01)
    pytest.fail("Stretto has not come to listen to signals")


def command(kind: str, program: Path) -> list[str]:
    if kind == "bench":
        return ["bench", "-n", "2", "--mpi", "/usr", "--collective", "allreduce", "--bytes", "8"]
    launcher = MPIS["openmpi4"].launcher(2)
    words = ["--", *launcher, str(program), "64"]
    if kind == "tune":
        return ["tune", "--budget", "8s", "--pairs", "1", *words]
    return [kind, *words]


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("tune", signal.SIGTERM),
        ("tune", signal.SIGKILL),
        ("bench", signal.SIGINT),
        ("profile", signal.SIGINT),
        pytest.param("tune", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("diagnose", signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_nothing_is_left(kind: str, number: signal.Signals, program: Path, tmp_path: Path) -> None:
    # the same moments in every run of the tests: tools/conformance/kills.py has random ones
    after = random.Random(f"{kind} {number}").uniform(0.0, 6.0 if kind == "tune" else 3.0)
    mark = f"STRETTO_TEST_MARK={os.getpid()}.{kind}.{int(number)}"
    name, _, value = mark.partition("=")
    temporary = tmp_path / "t"
    temporary.mkdir()
    with beside_others(), own_shm() as (within, shared):
        process = subprocess.Popen(
            [*within, sys.executable, "-m", "stretto", *command(kind, program)],
            cwd=tmp_path,
            env=os.environ | {name: value, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # under nohup too
        )
        until_it_listens(process)
        time.sleep(after)
        process.send_signal(number)
        _, said = process.communicate(timeout=300)
        left, segments = marked(mark), list(shared.iterdir())
        end = time.monotonic() + 600
        while (left or segments) and time.monotonic() < end:
            time.sleep(0.1)
            left, segments = marked(mark), list(shared.iterdir())
    told = f"{kind} after {after:.3f} s: {said[-1500:]}"
    assert not left, told
    assert not segments, (segments, told)
    assert process.returncode in (130, -number, 0), told
    if number != signal.SIGKILL:
        assert not list(tmp_path.rglob("stretto-copies")), told
        assert not list(tmp_path.rglob(".*launch*")), told
        assert not list(temporary.iterdir()), (list(temporary.iterdir()), told)
