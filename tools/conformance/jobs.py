"""MPI jobs of the long proofs: started, watched, ended, and what they left behind.

Every process of a job carries a mark in its environment, so that those that outlive it are found
(and only those), whatever became of their parents.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "support"))
sys.path.append(str(REPOSITORY / "python"))  # where Stretto is not installed

from mpis import Mpi, alone_here, library  # noqa: E402

MARK = "STRETTO_PROOF_JOB"

# a tool that is ended takes its job along
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its exit status (None: out of time, ended by us), and what it printed."""

    status: int | None
    stdout: str
    stderr: str
    seconds: float


def words_and_environment(
    mpi: Mpi, ranks: int, command: Sequence[str], rank_env: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return what starts `command` on so many ranks of this machine."""
    words = mpi.launcher(ranks)
    for name, value in rank_env.items():
        words += ["-x", f"{name}={value}"] if mpi.family == "openmpi" else ["-genv", name, value]
    return [*words, *command], dict(mpi.environment)


def preload(mpi: Mpi, **settings: object) -> dict[str, str]:
    """Return what the ranks' environment needs for Stretto with these settings."""
    return {"LD_PRELOAD": str(library(mpi.interposer))} | {k: str(v) for k, v in settings.items()}


def learning(mpi: Mpi, folder: Path, ppn: int) -> dict[str, str]:
    """Return what ranks need to try another candidate in every call; `ppn` 0: on one node."""
    return preload(
        mpi, STRETTO_LEARN=1, STRETTO_LEARN_AFTER=1, STRETTO_LEARN_BLOCK=1, STRETTO_AFTER=1,
        STRETTO_LEARN_TABLE=folder / "learned.table", STRETTO_FAKE_PPN=ppn,
    )  # fmt: skip


def marked(mark: str) -> list[int]:
    """Return the processes that carry the mark of a job (zombies are none)."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return sorted(found)


def end(mark: str) -> list[int]:
    """End what is left of a job; the processes that had to be killed."""
    left = marked(mark)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


class Job:
    """A job under way; `with` ends whatever is left of it."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | None = None,
        given: str = "",
    ):
        self.mark = uuid.uuid4().hex
        self._files = contextlib.ExitStack()
        folder = Path(self._files.enter_context(tempfile.TemporaryDirectory(prefix="proof-")))
        self._out = self._files.enter_context((folder / "out").open("w+", errors="replace"))
        self._err = self._files.enter_context((folder / "err").open("w+", errors="replace"))
        (folder / "in").write_text(given)
        stdin = self._files.enter_context((folder / "in").open())
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            list(words),
            env=dict(environment) | {MARK: self.mark},
            cwd=cwd,
            stdin=stdin,
            stdout=self._out,
            stderr=self._err,
        )

    def __enter__(self) -> Job:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the launcher and all processes of the job."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        end(self.mark)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._files.close()

    def output(self) -> str:
        """Return what it has printed so far."""
        return Path(self._out.name).read_text(errors="replace")

    def wait(self, timeout: float) -> Outcome:
        """Wait for the launcher's end; a status of None when the time is up."""
        status: int | None
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        texts = []
        for stream in (self._out, self._err):
            stream.seek(0)
            texts.append(stream.read())
        return Outcome(status, texts[0], texts[1], time.monotonic() - self.begin)


def run(
    mpi: Mpi,
    ranks: int,
    command: Sequence[str],
    rank_env: Mapping[str, str],
    timeout: float,
    cwd: Path | None = None,
    given: str = "",
) -> Outcome:
    """Run a job to its end, at most so many seconds, one at a time on this machine.

    `given` is what rank 0 reads on its standard input.
    """
    words, environment = words_and_environment(mpi, ranks, command, rank_env)
    with alone(ranks), Job(words, environment, cwd, given) as job:
        return job.wait(timeout)


#: how long the machine's lock is kept over several jobs before others get their turn
LEASE_S = 20.0
_lease = contextlib.ExitStack()
_since: float | None = None


@contextlib.contextmanager
def alone(ranks: int) -> Iterator[None]:
    """Hold the machine's lock for MPI jobs of several ranks; it is kept for a while after."""
    global _since
    if ranks > 1 and _since is None:
        _lease.enter_context(alone_here())
        _since = time.monotonic()
    try:
        yield
    finally:
        if _since is not None and time.monotonic() - _since > LEASE_S:
            give_way()
            time.sleep(0.5)  # or those who wait would wake up too late


def give_way() -> None:
    """Let go of the machine's lock."""
    global _since
    _lease.close()
    _since = None


def files_of_stretto() -> set[str]:
    """Return the segments and files (no folders: tests') in /dev/shm and /tmp with our name."""
    found = set()
    for folder in (Path("/dev/shm"), Path("/tmp")):
        for path in folder.iterdir():
            if path.name.startswith("stretto") and not path.is_dir():
                found.add(str(path))
    return found
