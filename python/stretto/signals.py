"""SIGTERM and SIGHUP as Ctrl-C: a batch system's end of time keeps what was done, and cleans up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType


@dataclass
class _Held:
    """What signals raise in the main thread and has to wait: in how many blocks, and the first."""

    depth: int = 0
    first: BaseException | None = None


_held = _Held()
#: set when the main thread was interrupted and others measure: what they have started is ended
told = threading.Event()


def raising(make: Callable[[int], BaseException]) -> Callable[[int, FrameType | None], None]:
    """Return a signal handler that raises an exception, or lets it wait in `held`.

    Parameters
    ----------
    make
        Makes it of the signal's number.
    """

    def handler(number: int, frame: FrameType | None) -> None:
        del frame
        if not _held.depth:
            raise make(number)
        _held.first = _held.first or make(number)

    return handler


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt (in the main thread).

    One that is ignored stays so: `nohup` means it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        heard.append(signal.SIGINT)  # the same, but that it can be held
    handler = raising(lambda number: KeyboardInterrupt())
    old = {n: signal.signal(n, handler) for n in heard}
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Let what signals raise (those of `interruptible` and `raising`) wait for the block's end.

    Where a process forks, Python prints and forgets what its hooks raise: a campaign that is told
    to end just then would go on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held.depth += 1
    try:
        yield
    finally:
        _held.depth -= 1
        if _held.first is not None and not _held.depth:
            first, _held.first = _held.first, None
            raise first
