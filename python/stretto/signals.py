"""SIGTERM and SIGHUP as Ctrl-C: a batch system's end of time keeps what was done, and cleans up."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from stretto.light import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Signalled(KeyboardInterrupt):
    """A signal that asks us to end, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def number_of(interrupt: KeyboardInterrupt) -> int:
    """Return the signal that an interrupt came by."""
    return interrupt.number if isinstance(interrupt, Signalled) else int(signal.SIGINT)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt (in the main thread).

    One that is ignored stays so: `nohup` means it.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Signalled(number)

    heard = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN]
    try:
        old = {n: signal.signal(n, interrupt) for n in heard}
    except ValueError:  # another thread: signals are for the main one
        old = {}
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
