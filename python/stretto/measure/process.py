"""One launch of the measuring program: started, watched, and always taken down as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stretto.errors import from_oserror
from stretto.launch.guarded import Guarded
from stretto.signals import interruptible

#: set when the main thread was interrupted and others measure: what they have started is ended
told = threading.Event()

POLL_S = 0.05
GRACE_S = 3.0
#: s: of the time between two looks at a launch no more counts
LOOK_S = 1.0


@dataclass(frozen=True)
class Ended:
    """How a process ended: exit status (negative: signal), whether we stopped it, and its words."""

    status: int
    stopped: bool
    output: str
    wall_s: float


class Looked:
    """Seconds for which a launch was looked at.

    Of the time between two looks `LOOK_S` counts at most: where this process stood still (stopped
    by Slurm, say, or with its machine), or the file system did, the ranks may have stood still,
    too, and nobody could have seen what they did.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._at = time.monotonic()

    def look(self) -> float:
        now = time.monotonic()
        self.seconds += min(max(0.0, now - self._at), LOOK_S)
        self._at = now
        return self.seconds


def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    log: Path,
    watch: Callable[[], bool],
    cwd: Path | None = None,
    scratch: Path | None = None,
) -> Ended:
    """Run a command in a process group of its own until it ends or `watch` says stop.

    Whatever ends this function, an interrupt included, nothing of the command is left. SIGTERM and
    SIGHUP count as interrupts: a batch system's end of time keeps what was measured.

    `watch`: called some twenty times a second; True stops the command.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(interruptible())
        try:
            stream: IO[bytes] = stack.enter_context(log.open("wb"))
        except OSError as error:
            raise from_oserror(error, "cannot write the launch's output", log) from error
        null = subprocess.DEVNULL
        stopped = False
        with Guarded(command, environ, cwd, null, stream, stream, GRACE_S, scratch) as process:
            while not process.wait(POLL_S):
                if told.is_set() and threading.current_thread() is not threading.main_thread():
                    raise KeyboardInterrupt  # signals are the main thread's
                if watch():
                    stopped = True
                    process.end(signal.SIGTERM)
                    break
        status = process.code if process.code is not None else -int(signal.SIGKILL)
    return Ended(status, stopped, tail(log), process.wall_s)


def tail(log: Path) -> str:
    """Return the end of a log file as text: long, for the reason of a failure stands first."""
    try:
        with log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 100_000))
            return stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
