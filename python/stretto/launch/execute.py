"""Running a command: signals passed on, a time limit, and nothing left running after it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Literal

from stretto.errors import EXIT_COMMAND, CommandFailedError, Interrupted, StrettoError

Capture = Literal["no", "yes", "tee"]
GRACE_S = 10.0
_DRAIN_S = 2.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Result:
    """How a command ended.

    Attributes
    ----------
    status
        Exit code; 128 + number when a signal ended it.
    wall_s
        Seconds from start to end.
    stdout, stderr
        What it printed, when captured.
    timed_out
        The time limit ended it.
    """

    status: int
    wall_s: float
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False

    def require(self, argv: Sequence[str]) -> Result:
        """Return itself when the command succeeded, else raise an error with its last words."""
        if self.status == 0 and not self.timed_out:
            return self
        how = "took too long and was stopped" if self.timed_out else f"ended with {self.status}"
        last = [x for x in self.stderr.strip().splitlines() if x.strip()][-3:]
        said = f"; it said: {' / '.join(last)}" if last else ""
        raise CommandFailedError(f"the command {how}{said}", " ".join(argv))


class _Stop(Exception):
    """A signal that asks us to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into `_Stop` for the time of a run (in the main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Stop(number)

    old = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _adopt_orphans(on: bool) -> None:
    """Make this process the parent of its descendants' orphans, so that it can find them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def _children() -> dict[int, list[int]]:
    """Return all processes by their parent."""
    out: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - /proc entries come and go
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stream:  # noqa: PTH123
                parent = int(stream.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        out.setdefault(parent, []).append(int(entry))
    return out


def _descendants(root: int) -> list[int]:
    children = _children()
    out: list[int] = []
    queue = [root]
    while queue:
        for pid in children.get(queue.pop(), []):
            out.append(pid)
            queue.append(pid)
    return out


def _signal_all(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end(process: subprocess.Popen[bytes], before: set[int], number: int) -> None:
    """End a command: `number` to its group, time to clean up, then everything that is left."""
    _signal_all(process, number)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        try:
            process.wait(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            continue
        except _Stop:  # a second Ctrl-C: no more waiting
            break
    _signal_all(process, signal.SIGKILL)
    for _ in range(20):
        left = [p for p in _descendants(os.getpid()) if p not in before]
        if process.poll() is not None and not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
        for pid in left:
            if pid != process.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


class _Reader(threading.Thread):
    """Collects what comes through a pipe, and shows it at the same time when asked."""

    def __init__(self, pipe: IO[bytes], show: IO[bytes] | None) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._show = show
        self.data = bytearray()
        self.last = time.monotonic()

    def run(self) -> None:
        """Read until nobody holds the other end."""
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
) -> Result:
    """Run a command to its end.

    It gets a process group of its own. Ctrl-C, SIGTERM and SIGHUP are passed on to it; after a
    time limit or a signal, whatever it started and left (ranks, Hydra's proxies, daemons) is ended.

    Parameters
    ----------
    argv, environ, cwd
        The command, its environment and directory.
    timeout
        Seconds after which it is stopped; None for no limit.
    capture
        ``yes`` collects its output, ``tee`` shows it as well.
    """
    before = set(_descendants(os.getpid()))
    process: subprocess.Popen[bytes] | None = None
    readers: list[_Reader] = []
    timed_out = False
    start = time.monotonic()
    _adopt_orphans(True)
    try:
        with _signals():
            try:
                process = _start(argv, environ, cwd, capture)
                readers = _readers(process, capture)
                process.wait(timeout=timeout)
            except subprocess.TimeoutExpired:
                timed_out = True
                if process is not None:
                    _end(process, before, signal.SIGTERM)
            except _Stop as stop:
                if process is not None:
                    _end(process, before, stop.number)
                name = signal.Signals(stop.number).name
                raise Interrupted(f"the command was stopped as well ({name})") from None
    finally:
        wall = time.monotonic() - start
        texts = [reader.finish() for reader in readers] or ["", ""]
        for stream in (process.stdout, process.stderr) if process is not None else ():
            if stream is not None:
                stream.close()
        _adopt_orphans(False)
    code = -signal.SIGKILL if process is None or process.returncode is None else process.returncode
    return Result(code if code >= 0 else 128 - code, wall, texts[0], texts[1], timed_out)


def _start(
    argv: Sequence[str], environ: Mapping[str, str], cwd: Path | None, capture: Capture
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE if capture != "no" else None
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(environ),
            cwd=cwd,
            # A group in the background that reads from the terminal would be stopped.
            stdin=subprocess.DEVNULL if os.isatty(0) or not _has_stdin() else None,
            stdout=pipe,
            stderr=pipe,
            preexec_fn=os.setpgrp,
        )
    except OSError as error:
        raise StrettoError(
            f"the command cannot be started: {error.strerror or error}",
            argv[0] if argv else None,
            "check its name, its permissions and PATH (`time` is a word of the shell)",
            exit_code=EXIT_COMMAND,
        ) from error


def _readers(process: subprocess.Popen[bytes], capture: Capture) -> list[_Reader]:
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
