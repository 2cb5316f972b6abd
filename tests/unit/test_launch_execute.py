"""Running a command: its status and output, the time limit, signals, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from processes import alive, run_program
from stretto.errors import CommandFailedError, StrettoError
from stretto.launch.execute import run
from stretto.launch.guard import descendants as _descendants


def test_status_and_output() -> None:
    result = run(["sh", "-c", "echo out; echo err >&2; exit 3"], os.environ, capture="yes")
    assert (result.status, result.stdout, result.stderr) == (3, "out\n", "err\n")
    assert not result.timed_out and result.wall_s > 0
    with pytest.raises(CommandFailedError, match="ended with 3; last output: err"):
        result.require(["sh"])


def test_signal_gives_the_shells_status() -> None:
    assert run(["sh", "-c", "kill -TERM $$"], os.environ).status == 128 + signal.SIGTERM


def test_no_output_is_lost() -> None:
    script = "import sys; sys.stdout.write('x' * 5000000); sys.stderr.write('y' * 3000000)"
    result = run([sys.executable, "-c", script], os.environ, capture="yes")
    assert len(result.stdout) == 5000000 and len(result.stderr) == 3000000


def test_output_that_is_not_text() -> None:
    result = run(["printf", "a\\377b"], os.environ, capture="yes")
    assert result.stdout == "a\ufffdb"


def test_environment_and_directory(tmp_path: Path) -> None:
    result = run(
        ["sh", "-c", "pwd; echo $A"], {"A": "1", "PATH": os.defpath}, tmp_path, None, "yes"
    )
    assert result.stdout == f"{tmp_path}\n1\n"


def test_cannot_start() -> None:
    with pytest.raises(StrettoError, match="cannot be started") as caught:
        run(["/nonexistent/app"], os.environ)
    assert caught.value.exit_code == 3


def test_tee(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    script = (
        "import os; from stretto.launch.execute import run;"
        "r = run(['sh', '-c', 'echo a; echo b >&2'], os.environ, capture='tee');"
        "assert (r.stdout, r.stderr) == ('a\\n', 'b\\n')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    found = capfdbinary.readouterr()
    assert (found.out, found.err) == (b"a\n", b"b\n")


# Like the ranks of Open MPI: in a group of their own, deaf to SIGTERM, one of them an orphan.
CHILD = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""
MIDDLE = f"""
import subprocess, sys
p = subprocess.Popen([sys.executable, "-c", {CHILD!r}], start_new_session=True)
print(p.pid, flush=True)
"""
STUBBORN = f"""
import os, subprocess, sys, time
direct = subprocess.Popen([sys.executable, "-c", {CHILD!r}], preexec_fn=os.setpgrp)
print(direct.pid, flush=True)
subprocess.run([sys.executable, "-c", {MIDDLE!r}])
print("ready", flush=True)
time.sleep(600)
"""


def test_time_limit_ends_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.launch.execute.GRACE_S", 1.0)
    before = set(_descendants(os.getpid()))
    for limit in (6, 60):  # on a busy machine Python alone may take longer to start three times
        start = time.monotonic()
        result = run([sys.executable, "-c", STUBBORN], os.environ, timeout=limit, capture="yes")
        assert result.timed_out and result.status != 0
        assert time.monotonic() - start < limit + 200, "it does not wait for the sleepers"
        if "ready" in result.stdout:
            break
    pids = [int(line) for line in result.stdout.split() if line.isdigit()]
    assert len(pids) == 2 and "ready" in result.stdout
    assert not any(alive(p) for p in pids)
    assert not {p for p in _descendants(os.getpid()) if alive(p)} - before
    with pytest.raises(CommandFailedError, match="took too long"):
        result.require(["x"])


DRIVER = """
import os, sys
import stretto.launch.execute as execute
from stretto.errors import Interrupted
execute.GRACE_S = 1.0
try:
    execute.run([sys.executable, "-c", sys.argv[1]], os.environ)
except Interrupted as error:
    print("kept:", error.kept, flush=True)
    sys.exit(130)
"""


def stubborn() -> tuple[subprocess.Popen[str], list[int]]:
    """Start what does not end by itself; return Stretto's process and those of the command."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, STUBBORN], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pids = [
        int(line) for line in iter(process.stdout.readline, "ready\n") if line.strip().isdigit()
    ]
    assert len(pids) == 2
    return process, pids


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    process, pids = stubborn()
    process.send_signal(number)
    assert process.stdout is not None
    rest = process.stdout.read()
    assert process.wait(timeout=300) == 130
    assert number.name in rest
    assert not any(alive(p) for p in pids)


#: the signal comes once, where what has ended is put away
PUT_AWAY = """
import os, signal, sys
import stretto.launch.execute as execute
from stretto.errors import Interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
number = getattr(signal, sys.argv[2])
name = sys.argv[1]
owner = {"close": execute.Guarded, "finish": execute._Reader}[name]
real = getattr(owner, name)
def interrupted(*words):
    setattr(owner, name, real)
    signal.raise_signal(number)
    return real(*words)
numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
before = [signal.getsignal(n) for n in numbers]
setattr(owner, name, interrupted)
try:
    print("not told", execute.run(["true"], os.environ, capture="yes"))
except Interrupted as error:
    print(error.kept, [signal.getsignal(n) for n in numbers] == before)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["close", "finish"])
def test_a_signal_while_it_is_put_away_is_told(place: str, number: signal.Signals) -> None:
    """It was "a defect of Stretto: _Stop: 2", or nothing at all."""
    argv = [sys.executable, "-c", PUT_AWAY, place, number.name]
    done = run_program(argv)
    said = f"the command was stopped as well ({number.name}) True\n"
    assert (done.stdout, done.returncode) == (said, 0), done.stderr


def test_a_daemon_that_keeps_the_pipe_is_not_waited_for() -> None:
    start = time.monotonic()
    result = run(["sh", "-c", "sleep 1000 & echo $!"], os.environ, capture="yes")
    assert time.monotonic() - start < 500
    pid = int(result.stdout)
    assert alive(pid)  # the command ended by itself: what it left on purpose stays
    os.kill(pid, signal.SIGKILL)


def gone(pids: list[int], within_s: float = 300.0) -> bool:
    end = time.monotonic() + within_s
    while any(alive(p) for p in pids) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(alive(p) for p in pids)


def test_what_runs_ends_when_stretto_is_killed() -> None:
    """No handler can run on SIGKILL: the guard sees the pipe close."""
    process, pids = stubborn()
    own = _descendants(process.pid)
    assert set(pids) <= set(own)
    process.kill()
    process.communicate()
    assert gone(own)


def test_the_guard_brings_nothing_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor, no blocked or ignored signal of ours reaches the command."""
    script = "ls -l /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status"
    # what whoever started the tests blocks or ignores is not ours
    plain = run_program(["sh", "-c", script], check=True)
    result = run(["sh", "-c", script], os.environ, capture="yes")
    count, *signals = result.stdout.split("\n")[:3]
    assert int(count) == 5  # the total, 0, 1, 2, and the directory itself
    assert signals == plain.stdout.split("\n")[1:3]
    monkeypatch.setenv("LD_PRELOAD", "/nonexistent/lib.so")
    result = run(["sh", "-c", "true"], {"PATH": os.defpath}, capture="yes")
    assert result.status == 0


def test_what_nohup_ignores_stays_ignored() -> None:
    code = (
        "import os, signal, sys; from stretto.launch.execute import run;"
        "from stretto.signals import interruptible\n"
        "with interruptible():\n"
        "    print(run(['sh', '-c', 'kill -HUP $0; echo on', str(os.getpid())], os.environ,"
        " capture='yes').stdout)\n"
    )
    argv = ["nohup", sys.executable, "-c", code]
    done = run_program(argv)
    assert done.returncode == 0 and done.stdout == "on\n\n", done.stderr


def test_what_nohup_ignores_the_command_ignores_too() -> None:
    code = (
        "import os; from stretto.launch.execute import run;"
        "print(run(['grep', 'SigIgn', '/proc/self/status'], os.environ, capture='yes').stdout)"
    )
    for command, ignored in (([], 0), (["nohup"], 1)):
        done = run_program(
            [*command, sys.executable, "-c", code],
            check=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        assert int(done.stdout.split()[1], 16) & 1 == ignored, done.stdout


@pytest.mark.parametrize("way", ["run", "Guarded"])
def test_no_fork_hook_of_python_runs(way: str) -> None:
    """Python prints and forgets what an interrupt raises in one (logging has one)."""
    code = (
        "import os; from stretto.launch.execute import run;"
        "from stretto.launch.guarded import Guarded\n"
        "os.register_at_fork(before=lambda: print('a hook'))\n"
        f"command = {way}(['true'], os.environ)\n"
        "print(getattr(command, 'status', 0))\n"
    )
    argv = [sys.executable, "-c", code]
    done = run_program(argv)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("way", ["run", "Guarded"])
def test_an_interrupt_while_a_process_starts_leaves_nothing(name: str, way: str) -> None:
    seconds = f"1{os.getpid()}"  # nobody else sleeps for so long
    code = (
        "import os, signal, subprocess, sys; from stretto.launch.execute import run;"
        "from stretto.launch.guarded import Guarded; from stretto.signals import interruptible\n"
        "begin = subprocess.Popen._execute_child\n"
        "def interrupted(*a, **k):\n"
        "    begin(*a, **k)\n"
        "    os.kill(os.getpid(), getattr(signal, sys.argv[1]))\n"
        "subprocess.Popen._execute_child = interrupted\n"
        f"with interruptible():\n    {way}(['sleep', '{seconds}'], os.environ)\n"
    )
    argv = [sys.executable, "-c", code, name]
    done = run_program(argv)
    last = done.stderr.strip().splitlines()[-1]
    names = ("KeyboardInterrupt", "stretto.errors.Interrupted", "stretto.signals.Signalled")
    assert last.startswith(names), done.stderr
    assert done.returncode != 0
    deadline = time.monotonic() + 300
    looking = ["pgrep", "-f", f"^sleep {seconds}$"]
    while subprocess.run(looking, stdout=subprocess.DEVNULL).returncode == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)
