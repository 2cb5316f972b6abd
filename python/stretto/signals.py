"""SIGTERM and SIGHUP as Ctrl-C: a batch system's end of time keeps what was done, and cleans up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

#: set when the main thread was interrupted and others measure: what they have started is ended
told = threading.Event()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt (in the main thread).

    One that is ignored stays so: `nohup` means it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    heard = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN]
    old = {n: signal.signal(n, interrupt) for n in heard}
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)


class Stopped(Exception):
    """Ctrl-C on its way through Typer, which makes the bare exit code 130 of a KeyboardInterrupt.

    A command may end with 130 by itself: a campaign that is not complete, of which nobody has
    interrupted anything.
    """
