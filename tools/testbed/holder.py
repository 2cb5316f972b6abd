"""The process that holds a testbed node's namespaces: started, known from its first moment, ended.

A holder writes its own id into the instance's directory before it makes anything, so that whoever
started it may be killed at any moment: ``down`` and the next ``up`` find all holders there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

#: Writes its id and start (field 22 of stat; the name there, sh, has no blank), then becomes the
#: holder: both stay the same. Where the directory is gone, it was taken down in between.
_KNOWN = r"""
note() { echo "$$ ${22}" >"$file"; }
file=$1; shift
# shellcheck disable=SC2046 # its words are wanted
note $(cat /proc/$$/stat) || exit 1
exec "$@"
"""

# Runs as the holder: makes the mounts private, brings the shared paths back over the new /tmp,
# says that it is ready, and waits to be ended. $1 = host name, $2 = state directory, rest = paths.
_HOLDER = r"""
set -e
hostname "$1"; state=$2; shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs /dev/shm
mount --bind "$state/hosts" /etc/hosts
# /sys still lists the machine's interfaces; a new one lists the node's
own=$state/keep/$$.sys; mkdir -p "$own"; mount -t sysfs sysfs "$own"
for path in class/net devices/virtual/net; do mount --bind "$own/$path" "/sys/$path"; done
i=0
for path in "$@"; do
    i=$((i + 1)); mkdir -p "$state/keep/$$.$i"; mount --bind "$path" "$state/keep/$$.$i"
done
mount -t tmpfs tmpfs /tmp; chmod 1777 /tmp
i=0
for path in "$@"; do
    i=$((i + 1)); mkdir -p "$path"; mount --move "$state/keep/$$.$i" "$path"
done
echo ready
sleep infinity &
wait # and takes in whoever is orphaned on the node, as its first process has to
"""


class TestbedError(Exception):
    """The testbed could not be set up or used; the message says why and what to do."""

    __test__ = False  # the name begins with Test: not for pytest to collect


def start(directory: Path, index: int, name: str, kept: Sequence[str], owned: bool) -> int:
    """Start a node's holder; returns the process id, seen from here, of its first process.

    `index`: the node's number from 0. `kept`: paths under /tmp that it sees. `owned`: it ends with
    this process.
    """
    argv = ["unshare", "--net", "--uts", "--ipc", "--mount", "--mount-proc", "--pid"]
    if own_clocks():
        # Machines have been up for different times: their CLOCK_MONOTONIC have nothing in common.
        argv += ["--time", "--monotonic", str(1000 * (index + 1))]
    argv += ["--fork", "--kill-child", "sh", "-c", _HOLDER, "holder", name, str(directory), *kept]
    if owned:
        argv = ["setpriv", "--pdeathsig", "KILL", *argv]
    argv = ["sh", "-c", _KNOWN, "known", str(directory / f"holder.{name}"), *argv]
    log = directory / f"{name}.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
        )
    deadline = time.monotonic() + 120
    # the whole line: an error says "already mounted"
    while "ready" not in log.read_text().splitlines():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise TestbedError(f"node {name} does not start: {log.read_text().strip()}")
        time.sleep(0.005)
    children = _children(process.pid)
    if not children:
        process.kill()
        process.wait()
        raise TestbedError(f"node {name} ended as soon as it was up: start the cluster again")
    return children[0]


def running(directory: Path) -> bool:
    """Tell whether a holder of the instance with that directory is there."""
    return bool(_noted(directory))


def end(directory: Path, nodes: Sequence[tuple[int, str]]) -> None:
    """End an instance's holders and, with them, all that runs on its nodes.

    `nodes`: id and start of the first process of each node that is known to be up.
    """
    firsts, above = dict(nodes), {}
    for pid, started in _noted(directory).items():
        above[pid] = started
        # stopped, it cannot fork between the look at its children and its end
        _send(pid, started, signal.SIGSTOP)
        children = _children(pid)
        firsts |= {child: start_time(child) or "" for child in children}
        if not children:
            _send(pid, started, signal.SIGKILL)
    for pid, started in firsts.items():
        _send(pid, started, signal.SIGKILL)
    for pid, started in above.items():  # takes in its child, and ends with it
        _send(pid, started, signal.SIGCONT)
    deadline = time.monotonic() + 120
    for pid, started in {**firsts, **above}.items():
        while start_time(pid) == started and time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.01)


def end_node(pid: int, started: str) -> None:
    """End the first process of a node and with it all others there; waits until it is gone."""
    _send(pid, started, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while start_time(pid) == started and time.monotonic() < deadline:
        time.sleep(0.01)


def _noted(directory: Path) -> dict[int, str]:
    """Return id and start of the holders that noted themselves in a directory and are there."""
    found = {}
    for path in directory.glob("holder.*"):
        with contextlib.suppress(OSError, ValueError):  # empty or spoiled: it names nobody
            pid, started = path.read_text().split()
            if start_time(int(pid)) == started:
                found[int(pid)] = started
    return found


def _send(pid: int, started: str, number: int) -> None:
    """Send a signal to the process with that id and start, and to no later one with that id."""
    with contextlib.suppress(ProcessLookupError):
        try:
            process = os.pidfd_open(pid)
        except (AttributeError, OSError):  # a kernel or a sandbox without: a tiny window stays
            if start_time(pid) == started:
                os.kill(pid, number)
            return
        try:
            if start_time(pid) == started:  # the one held open: its id is not given away
                signal.pidfd_send_signal(process, number)
        finally:
            os.close(process)


def _children(pid: int) -> list[int]:
    try:
        return [int(w) for w in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def own_clocks() -> bool:
    """Tell whether this kernel lets each node have a CLOCK_MONOTONIC of its own."""
    return Path("/proc/self/ns/time").exists()


def start_time(pid: int) -> str | None:
    """Tell when a process began: with its id, this names it for good. None: it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]
