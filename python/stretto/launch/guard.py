"""A process between Stretto and a command: whatever becomes of Stretto, the command ends with it.

Run as a script by `stretto.launch.guarded`, under ``python -I -S``, so it needs nothing but the
standard library. It adopts the command's orphans, passes signals on, measures the command's time,
and takes down all that the command started when it is told to, or when the pipe to Stretto closes:
that is what a SIGKILL of Stretto looks like from here.

Arguments: file descriptors of the request (argv and environment), of the control pipe and of the
status pipe, the seconds that a command gets to end by itself, and directories that are of no use
to anybody when Stretto was killed: these are removed then.

Control: a byte n < 64 sends signal n to the command's group, 128 + n ends it beginning with that
signal, 255 ends it at once. Status: lines ``errno N``, or ``started PID`` and
``ended CODE SECONDS`` (CODE as of `subprocess`: negative for a signal).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END = 128
NOW = 255
_POLL_S = 0.05
#: rounds of killing what is left: each may uncover processes that were being born
_ROUNDS = 40


def descendants(root: int) -> list[int]:
    """Return all processes below `root`, however they are grouped."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - /proc entries come and go
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stream:  # noqa: PTH123
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(int(entry))
    out: list[int] = []
    queue = [root]
    while queue:
        for pid in children.get(queue.pop(), []):
            out.append(pid)
            queue.append(pid)
    return out


class Guard:
    """The command, its status once it has ended, and the ways to end it.

    `grace_s`: seconds between asking the command to end and making it.
    """

    def __init__(self, control: int, status: int, grace_s: float) -> None:
        self.control = control
        self.status = status
        self.grace_s = grace_s
        self.pid = 0
        self.code: int | None = None
        self.begin = self.wall = 0.0
        self.alone = False  #: Stretto was killed
        #: what whoever started Stretto ignores (`nohup`): the command shall ignore it, too
        self.ignored: set[signal.Signals] = set()

    def tell(self, text: str) -> None:
        """Write a line of status; nobody may be there to read it."""
        with contextlib.suppress(OSError):
            os.write(self.status, text.encode() + b"\n")

    def start(self, argv: list[bytes], environ: dict[bytes, bytes], prctl: object) -> bool:
        """Start the command in a process group of its own; False when that cannot be done."""
        reader, writer = os.pipe()
        own = os.getpid()
        self.begin = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setpgid(0, 0)
                if callable(prctl):
                    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
                if os.getppid() != own:
                    os._exit(1)
                for number in (*_STOPS, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
                    ignored = number in self.ignored
                    signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
                os.execvpe(argv[0], argv, environ)
            except OSError as error:
                os.write(writer, str(error.errno).encode())
            finally:
                os._exit(127)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            problem = stream.read()
        if problem:
            os.waitpid(self.pid, 0)
            self.tell(f"errno {problem.decode()}")
            return False
        self.tell(f"started {self.pid}")
        return True

    def reap(self) -> bool:
        """Take in whoever has ended; return whether the command itself has."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.pid and self.code is None:
                self.wall = time.monotonic() - self.begin
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def end(self, number: int) -> None:
        """End the command: ask it, give it time to clean up, then kill whatever is left."""
        grace_s = self.grace_s if number != signal.SIGKILL else 0.0
        deadline = time.monotonic() + grace_s
        # One SIGINT only asks srun for its state; killed, it would leave its job running.
        insist: float | None = deadline - grace_s / 2 if number != signal.SIGTERM else None
        if not self.reap():
            self.group(number)
        while not self.reap() and time.monotonic() < deadline:
            if insist is not None and time.monotonic() > insist:
                self.group(signal.SIGTERM)
                insist = None
            ready, _, _ = select.select([self.control], [], [], _POLL_S)
            if ready:
                request = os.read(self.control, 1)
                if request and request[0] == NOW:
                    break
                if not request:
                    time.sleep(_POLL_S)  # Stretto has gone meanwhile; the command keeps its time
        self.group(signal.SIGKILL)
        for _ in range(_ROUNDS):
            self.reap()
            left = descendants(os.getpid())
            if not left:
                break
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def watch(self, wakeup: int) -> None:
        """Wait for the command, doing what the control pipe says."""
        while not self.reap():
            ready, _, _ = select.select([self.control, wakeup], [], [])
            if wakeup in ready:
                os.read(wakeup, 512)
            if self.control not in ready:
                continue
            request = os.read(self.control, 1)
            if not request:
                self.alone = True
                self.end(signal.SIGTERM)
                return
            if request[0] == NOW:
                self.end(signal.SIGKILL)
                return
            if request[0] > END:
                self.end(request[0] - END)
                return
            self.group(request[0])


def read_request(descriptor: int) -> tuple[list[bytes], dict[bytes, bytes]]:
    """Return argv and environment: how many words, the words, then ``NAME=VALUE``, by NULs."""
    with os.fdopen(descriptor, "rb") as stream:
        count, *parts = stream.read().split(b"\0")
    words = parts[: int(count)]
    environ = {}
    for part in parts[int(count) :]:
        name, _, value = part.partition(b"=")
        environ[name] = value
    return words, environ


def main() -> int:
    """Start the command and see it to its end."""
    request, control, status = (int(a) for a in sys.argv[1:4])
    for descriptor in (request, control, status):
        os.set_inheritable(descriptor, False)
    before = {n: signal.signal(n, signal.SIG_IGN) for n in _STOPS}
    os.setpgid(0, 0)  # what the terminal sends is for Stretto to pass on
    wakeup, tickle = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(tickle, warn_on_full_buffer=False)
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    guard = Guard(control, status, float(sys.argv[4]))
    guard.ignored = {n for n, handler in before.items() if handler == signal.SIG_IGN}
    argv, environ = read_request(request)
    if guard.start(argv, environ, prctl):
        # Only the command itself holds its input and output: who reads them sees their end.
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        guard.watch(wakeup)
        guard.tell(f"ended {guard.code if guard.code is not None else -9} {guard.wall:.6f}")
        for directory in sys.argv[5:] if guard.alone else []:
            # loaded here: it takes as long as all else, before each command
            __import__("shutil").rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
