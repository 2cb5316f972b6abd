"""One launch as a process group: started, watched, and always taken down as a whole."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from stretto.errors import StrettoError, from_oserror

POLL_S = 0.05
GRACE_S = 3.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ended:
    """How a process ended: exit status (negative: signal), whether we stopped it, and its words."""

    status: int
    stopped: bool
    output: str
    wall_s: float


def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    log: Path,
    watch: Callable[[], bool],
    cwd: Path | None = None,
) -> Ended:
    """Run a command in a process group of its own until it ends or `watch` says stop.

    Whatever ends this function, an interrupt included, nothing of the group is left. SIGTERM and
    SIGHUP count as interrupts: a batch system's end of time keeps what was measured.

    Parameters
    ----------
    command, environ, cwd
        What to run.
    log
        File that gets stdout and stderr.
    watch
        Called some twenty times a second; True stops the command.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_interruptible())
        try:
            stream: IO[bytes] = stack.enter_context(log.open("wb"))
        except OSError as error:
            raise from_oserror(error, "cannot write the launch's output", log) from error
        start = time.monotonic()
        try:
            process = subprocess.Popen(
                list(command),
                env=dict(environ),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            raise StrettoError(
                f"cannot start the launcher: {error.strerror}", command[0], "check its path"
            ) from error
        stopped = False
        try:
            while process.poll() is None:
                if watch():
                    stopped = True
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_S)
        finally:
            if process.poll() is None:
                stop(process)
        wall = time.monotonic() - start
    return Ended(process.returncode, stopped, tail(log), wall)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt (in the main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = {n: signal.signal(n, interrupt) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _die_with_parent() -> None:
    """Make the launcher end when we are killed ourselves; it takes its ranks down."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process group: politely, so that the launcher cleans up other nodes; then for sure."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
            break
    # The launcher is gone; ranks that ignored it must not be left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tail(log: Path, most: int = 4000) -> str:
    """Return the end of a log file as text."""
    try:
        with log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - most))
            return stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def short(output: str, lines: int = 3) -> str:
    """Return the last telling lines of an output as one line."""
    kept = [x.strip() for x in output.splitlines() if x.strip() and set(x.strip()) != {"-"}]
    kept = [x for x in kept if "running as root" not in x]
    # Our own words tell more than the launcher's about how it took the others down.
    kept = [x for x in kept if x.startswith("stretto-bench:")] or kept
    return " / ".join(kept[-lines:])[:500]
