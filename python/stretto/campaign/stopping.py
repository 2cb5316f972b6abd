"""How a campaign ends early without losing anything: a signal lets the launch under way end."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

#: s: that a launch still has after SIGUSR1 in a Slurm job (warned so long before its end: submit)
GRACE_S = 80.0


@contextlib.contextmanager
def stops_gently(stopping: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """Let SIGUSR1 (a batch system's warning before the end) make the launch under way the last.

    In a Slurm job it is ended as by Ctrl-C when it takes too long: a job that runs into its limit
    is not put into the queue again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupt = signal.getsignal(signal.SIGINT)

    def warned(number: int, frame: FrameType | None) -> None:
        say("stretto: SIGUSR1: stopping after the current launch; all results are kept")
        if os.environ.get("SLURM_JOB_ID") and not stopping.is_set():
            signal.setitimer(signal.ITIMER_REAL, GRACE_S)
        stopping.set()

    def late(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)  # a second would cut short what ends the ranks
        if callable(interrupt):
            interrupt(number, frame)

    old = {signal.SIGALRM: signal.signal(signal.SIGALRM, late)}
    old[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, warned)
    if callable(interrupt):  # not where it is ignored: `&` in a script means it
        old[signal.SIGINT] = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in old.items():
            signal.signal(number, handler)
