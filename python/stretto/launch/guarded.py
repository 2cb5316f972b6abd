"""A command under a guard: it can be watched and ended, and it never outlives Stretto.

with Guarded(argv, environ) as command:
    while not command.wait(0.05):
        ...
    command.code, command.wall_s
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from stretto.errors import EXIT_COMMAND, StrettoError
from stretto.launch import guard

#: beyond the grace period, for the guard to find and kill what is left
_AFTER_S = 15.0


class Guarded:
    """A running command, in a process group of its own, below a guard (`stretto.launch.guard`).

    Leaving the ``with`` block ends the command and all that it has started, unless it has ended
    by itself: then what it left on purpose (a daemon) stays.

    `grace_s`: seconds that it gets to end by itself. `scratch`: a directory that is to go when
    Stretto is killed while the command runs. `code`: its exit code, negative for a signal; None
    until it has ended. `wall_s`: seconds from its start to its end, without the guard's own.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        cwd: Path | None = None,
        stdin: int | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        grace_s: float = 10.0,
        scratch: Path | None = None,
    ) -> None:
        self.pid = 0
        self.code: int | None = None
        self.wall_s = 0.0
        self._grace_s = grace_s
        self._text = b""
        self._closed = False
        request = _request(argv, environ)
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        try:
            # The guard takes a process group by itself: a preexec_fn is not safe where threads
            # are, and brings Python's fork hooks, in which an interrupt is printed and forgotten.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, str(request), str(control),
                 str(status), str(grace_s), *([str(scratch.absolute())] if scratch else [])],
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(request, control, status),
            )  # fmt: skip
        except BaseException as error:
            # An interrupt in here may leave a guard: the closed pipe tells it.
            for descriptor in (self._control, self._status):
                os.close(descriptor)
            if not isinstance(error, OSError):
                raise
            raise _cannot_start(argv, error.strerror or str(error)) from error
        finally:
            for descriptor in (request, control, status):
                os.close(descriptor)
        try:
            self._await_start(argv)
        except BaseException:
            self.end(signal.SIGTERM)
            self.close()
            raise

    @property
    def stdout(self) -> IO[bytes] | None:
        return self._process.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        return self._process.stderr

    def _await_start(self, argv: Sequence[str]) -> None:
        while b"\n" not in self._text:
            piece = os.read(self._status, 256)
            if not piece:
                raise _cannot_start(argv, "its guard process ended at once")
            self._text += piece
        line, _, self._text = self._text.partition(b"\n")
        word, _, number = line.partition(b" ")
        if word == b"errno":
            raise _cannot_start(argv, os.strerror(int(number)))
        self.pid = int(number)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether the command has ended.

        `timeout`: seconds; None: as long as it takes.
        """
        while self.code is None:
            ready, _, _ = select.select([self._status], [], [], timeout)
            if not ready:
                return False
            piece = os.read(self._status, 256)
            self._text += piece
            if b"\n" in self._text:
                words = self._text.split()
                self.code, self.wall_s = int(words[1]), float(words[2])
            elif not piece:
                self.code = -int(signal.SIGKILL)  # the guard itself was killed
        return True

    def end(self, number: int) -> None:
        """End the command, beginning with a signal, and see that nothing of it is left."""
        with contextlib.suppress(OSError):
            os.write(self._control, bytes([guard.END + number]))
        try:
            self._process.wait(self._grace_s + _AFTER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        except BaseException:  # a second Ctrl-C: no more waiting
            with contextlib.suppress(OSError):
                os.write(self._control, bytes([guard.NOW]))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_AFTER_S)
            raise
        finally:
            with contextlib.suppress(BaseException):
                self.wait(0.0)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        os.close(self._control)
        os.close(self._status)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_AFTER_S)

    def __enter__(self) -> Guarded:
        return self

    def __exit__(self, *raised: object) -> None:
        try:
            if self.code is None:
                self.end(signal.SIGTERM)
        finally:
            self.close()


def _request(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Return a file descriptor from which the guard reads what to run.

    Not by its own arguments and environment: it is a Python that must not be given the job's
    LD_PRELOAD and LD_LIBRARY_PATH.
    """
    parts = [str(len(argv)).encode(), *(os.fsencode(w) for w in argv)]
    parts += [os.fsencode(f"{name}={value}") for name, value in environ.items()]
    descriptor = os.memfd_create("stretto-request")
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(b"\0".join(parts))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _cannot_start(argv: Sequence[str], why: str) -> StrettoError:
    return StrettoError(
        f"the command cannot be started: {why}",
        argv[0] if argv else None,
        "check its name, its permissions and PATH (`time` is a word of the shell)",
        exit_code=EXIT_COMMAND,
    )
