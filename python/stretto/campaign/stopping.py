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


class Stopping:
    """What all MPIs of a campaign share: that no further launch is to be begun."""

    def __init__(self) -> None:
        self.stopping = threading.Event()


class _Stop:
    """The handlers of SIGUSR1 and Ctrl-C while a campaign measures (in the main thread)."""

    def __init__(self, worker: Stoppable, say: Callable[[str], None]) -> None:
        self.worker, self.say = worker, say
        self.late = False  # the grace is over, and the main thread has not heard of it yet
        self.over = False  # nothing is left to be ended, or it is being ended
        self._sending = threading.Lock()
        self._timer: threading.Timer | None = None
        self._main = threading.get_ident()
        self._interrupt = signal.getsignal(signal.SIGINT)

    def install(self) -> Callable[[], None]:
        """Take the signals over; return what gives them back."""
        old = {signal.SIGUSR1: signal.signal(signal.SIGUSR1, self._signalled)}
        if callable(self._interrupt):  # not where it is ignored: `&` in a script means it
            old[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupted)

        def give_back() -> None:
            try:
                with self._sending:  # a signal to a process without a handler would kill it
                    self.over = True
            finally:
                if self._timer is not None:
                    self._timer.cancel()
                for number, handler in old.items():
                    signal.signal(number, handler)

        return give_back

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.late:
            self.late = False
            if not self.over:
                raise KeyboardInterrupt
            return
        self.worker.stopping.set()
        self.say("stretto: SIGUSR1: the launch under way is the last; nothing is lost")
        if os.environ.get("SLURM_JOB_ID") and self._timer is None:
            self._timer = threading.Timer(GRACE_S, self._end)
            self._timer.daemon = True
            self._timer.start()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self.over = True  # one is enough: a second would cut short what ends the ranks
        if callable(self._interrupt):
            self._interrupt(number, frame)

    def _end(self) -> None:
        """Interrupt the main thread, by the signal that surely has a handler.

        SIGINT has none where the campaign is a script's background job: it is ignored there.
        """
        with self._sending:
            if not self.over:
                self.late = True
                signal.pthread_kill(self._main, signal.SIGUSR1)


@contextlib.contextmanager
def stops_gently(worker: Stoppable, say: Callable[[str], None]) -> Iterator[None]:
    """Let SIGUSR1 (a batch system's warning before the end) make the launch under way the last.

    In a Slurm job it is ended as by Ctrl-C when it takes too long: a job that runs into its limit
    is not put into the queue again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    give_back = _Stop(worker, say).install()
    try:
        yield
    finally:
        give_back()
