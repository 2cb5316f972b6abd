"""How a campaign ends early without losing anything: a signal lets the launch under way end."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

#: s: that a launch still has after SIGUSR1 in a Slurm job (warned so long before its end: submit)
GRACE_S = 80.0


class Stoppable(Protocol):
    """Ends after the launch under way when `stopping` is set."""

    stopping: threading.Event


@contextlib.contextmanager
def stops_gently(worker: Stoppable, say: Callable[[str], None]) -> Iterator[None]:
    """Let SIGUSR1 (a batch system's warning before the end) make the launch under way the last.

    In a Slurm job it is ended as by Ctrl-C when it takes too long: a job that runs into its limit
    is not put into the queue again.
    """
    main = threading.main_thread().ident
    timers: list[threading.Timer] = []

    def end() -> None:
        if main is not None:
            signal.pthread_kill(main, signal.SIGINT)

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        worker.stopping.set()
        say("stretto: told to stop (SIGUSR1): the launch under way is the last; nothing is lost")
        if os.environ.get("SLURM_JOB_ID") and not timers:
            timers.append(threading.Timer(GRACE_S, end))
            timers[0].daemon = True
            timers[0].start()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGUSR1, stop)
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        signal.signal(signal.SIGUSR1, old)
