"""Running a command: signals passed on, a time limit, and nothing left running after it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from stretto.errors import CommandFailedError, Interrupted
from stretto.launch.guarded import Guarded
from stretto.launch.said import ending
from stretto.signals import interruptible, number_of

Capture = Literal["no", "yes", "tee"]
GRACE_S = 10.0
_DRAIN_S = 2.0


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    status: int
    wall_s: float
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False

    def require(self, argv: Sequence[str], remedy: str | None = None) -> Result:
        """Return itself when the command succeeded, else raise an error with the reason."""
        if self.status == 0 and not self.timed_out:
            return self
        how = "took too long and was stopped" if self.timed_out else f"ended with {self.status}"
        last = ending(self.stdout, self.stderr)
        said = f"; last output: {last}" if last else ""
        raise CommandFailedError(f"the command {how}{said}", " ".join(argv), remedy)


class _Reader(threading.Thread):
    """Collects what comes through a pipe, and shows it at the same time when asked."""

    def __init__(self, pipe: IO[bytes], show: IO[bytes] | None) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._show = show
        self.data = bytearray()
        self.last = time.monotonic()

    def run(self) -> None:
        descriptor = self._pipe.fileno()
        while True:
            try:
                piece = os.read(descriptor, 1 << 16)
            except OSError:
                return
            if not piece:
                return
            self.data += piece
            self.last = time.monotonic()
            if self._show is not None:
                try:
                    self._show.write(piece)
                    self._show.flush()
                except (OSError, ValueError):
                    self._show = None  # our own reader has gone; the collecting goes on

    def finish(self) -> str:
        """Return all of it; a daemon that keeps the pipe open is not waited for."""
        self.last = max(self.last, time.monotonic())
        while self.is_alive() and time.monotonic() - self.last < _DRAIN_S:
            self.join(0.02)
        return self.data.decode("utf-8", "replace")


def run(
    argv: Sequence[str],
    environ: Mapping[str, str],
    cwd: Path | None = None,
    timeout: float | None = None,
    capture: Capture = "no",
    scratch: Path | None = None,
) -> Result:
    """Run a command to its end.

    It gets a process group of its own. Ctrl-C, SIGTERM and SIGHUP are passed on to it; after a
    time limit or a signal, whatever it started and left (ranks, Hydra's proxies, daemons) is ended,
    and so it is when we are killed ourselves.

    `timeout`: seconds after which it is stopped; None for no limit. `capture`: ``yes`` collects its
    output, ``tee`` shows it as well. `scratch`: a directory of ours for this run: it goes when we
    are killed, too.
    """
    pipe = subprocess.PIPE if capture != "no" else None
    # A group in the background that reads from the terminal would be stopped.
    stdin = subprocess.DEVNULL if os.isatty(0) or not _has_stdin() else None
    texts = ["", ""]
    try:
        with (
            interruptible(),
            Guarded(argv, environ, cwd, stdin, pipe, pipe, GRACE_S, scratch) as process,
        ):
            readers = _readers(process, capture)
            try:
                timed_out = not process.wait(timeout)
                if timed_out:
                    process.end(signal.SIGTERM)
            except KeyboardInterrupt as interrupt:
                with contextlib.suppress(KeyboardInterrupt):
                    process.end(number_of(interrupt))
                raise
            finally:
                texts = [reader.finish() for reader in readers] or texts
    except KeyboardInterrupt as interrupt:  # while it ran, or what had ended was put away
        name = signal.Signals(number_of(interrupt)).name
        raise Interrupted(f"the command was stopped as well ({name})") from None
    code = process.code if process.code is not None else -int(signal.SIGKILL)
    status, (out, err) = code if code >= 0 else 128 - code, texts
    return Result(status, process.wall_s, out, err, timed_out)


def _readers(process: Guarded, capture: Capture) -> list[_Reader]:
    if process.stdout is None or process.stderr is None:
        return []
    out, err = (sys.stdout.buffer, sys.stderr.buffer) if capture == "tee" else (None, None)
    readers = [_Reader(process.stdout, out), _Reader(process.stderr, err)]
    for reader in readers:
        reader.start()
    return readers


def _has_stdin() -> bool:
    try:
        os.fstat(0)
    except OSError:
        return False
    return True
