"""SIGTERM and SIGHUP as Ctrl-C: a batch system's end of time keeps what was done, and cleans up."""

from __future__ import annotations

from stretto.light import TYPE_CHECKING, module

if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    signal = module("_signal")  # what `signal` is made of, without enum


class Signalled(KeyboardInterrupt):
    """A signal that asks us to end, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def number_of(interrupt: KeyboardInterrupt) -> int:
    """Return the signal that an interrupt came by."""
    return interrupt.number if isinstance(interrupt, Signalled) else int(signal.SIGINT)


class interruptible:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt (in the main thread).

    One that is ignored stays so: `nohup` means it.
    """

    def __enter__(self) -> None:
        def interrupt(number: int, frame: FrameType | None) -> None:
            raise Signalled(number)

        both = (signal.SIGTERM, signal.SIGHUP)
        heard = [n for n in both if signal.getsignal(n) != signal.SIG_IGN]
        try:
            self.old = {n: signal.signal(n, interrupt) for n in heard}
        except ValueError:  # another thread: signals are for the main one
            self.old = {}

    def __exit__(self, *raised: object) -> None:
        for number, before in self.old.items():
            signal.signal(number, before)


def unignore() -> None:
    """Undo what Python does as it starts: a command that it becomes would ignore these, too."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


class Stopped(Exception):
    """Ctrl-C on its way through Typer, which makes the bare exit code 130 of a KeyboardInterrupt.

    A command may end with 130 by itself: a campaign that is not complete, of which nobody has
    interrupted anything.
    """
