"""Who measures what, among jobs that share a directory and nothing else.

A claim is a file made by linking a finished one into place, which is atomic also where the
directory is on NFS and locks are not to be had. Nothing is ever removed or renamed: a claim is
taken over by making the next generation of it, which only one taker can.

    00012.1        launch 12, first holder; touched while it works (JSON: who)
    00012.1.end    it let go: "done", or "free" for others to try
    00012.2        the next holder
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from stretto.campaign.slurm import job_ended
from stretto.errors import from_oserror
from stretto.files.once import write_once
from stretto.files.parse import json_value

#: a holder touches its claim so often (s)
BEAT_S = 10.0
#: on another machine a claim that is not touched while one looks for so long is stale (s)
STALE_S = 150.0
#: and for so long, where by the file system it was not touched for `STALE_S` before (s); its time
#: alone is no proof: a file server's clock may step, and some take the clock of who writes
WATCH_S = 3 * BEAT_S
State = Literal["open", "held", "done"]
_NAME = re.compile(r"(\d+)\.(\d+)(\.end)?\Z")


@dataclass(frozen=True)
class Holder:
    """A process, distinct from every other one that ever was.

    `place`: host, boot and process namespace: where its number means something.
    `pid`, `started`: its number, and when it began in the kernel's ticks.
    `job`: slurm's job that it runs in, as NUMBER.RESTART@CLUSTER (without RESTART where a step does
    not know it); empty: none.
    """

    place: str
    pid: int
    started: str
    job: str = ""

    @property
    def host(self) -> str:
        return self.place.split(" ")[0].split(".")[0]


def me() -> Holder:
    boot = _read("/proc/sys/kernel/random/boot_id")
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    job = os.environ.get("SLURM_JOB_ID", "")
    if job:
        # a batch script hears of it from its first restart on, a step attached to the job never
        none = "" if "SLURM_STEP_ID" in os.environ else "0"
        job += "." + os.environ.get("SLURM_RESTART_COUNT", none)
        cluster = os.environ.get("SLURM_CLUSTER_NAME", "")
        job += f"@{cluster}" if cluster else ""
    place = f"{os.uname().nodename} {boot} {namespace}".strip()
    return Holder(place, os.getpid(), _started(os.getpid()) or "", job)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _parsed(text: str) -> Holder | None:
    try:
        holder = Holder(**json_value(text))
    except (ValueError, TypeError):
        return None
    words = (holder.place, holder.started, holder.job)
    good = isinstance(holder.pid, int) and all(isinstance(w, str) for w in words)
    return holder if good else None


def _look(path: Path) -> tuple[Holder | None, os.stat_result]:
    """Return the holder that a claim names, as far as it can be asked for, and the file's status.

    None where the claim was cut off, by a kill or a full disk, where links are not to be had.
    Another user's job cannot be asked for: Slurm may hide it as if there were none (PrivateData).
    """
    with path.open(encoding="utf-8", errors="replace") as stream:  # which asks an NFS server anew
        text = stream.read()
        status = os.fstat(stream.fileno())
    holder = _parsed(text)
    if holder is not None and status.st_uid != os.geteuid():
        holder = replace(holder, job="")
    return holder, status


def _started(pid: int) -> str | None:
    """Return when a process began, None when there is none (or only its corpse)."""
    text = _read(f"/proc/{pid}/stat")
    fields = text.rpartition(")")[2].split()
    return None if len(fields) < 20 or fields[0] in "ZX" else fields[19]


def gone(holder: Holder, mine: Holder, ask_slurm: Callable[[str], bool] | None = None) -> bool:
    """Return whether a holder is known to have ended, without waiting for its claim to age.

    `ask_slurm`: tells whether a job has ended; by default asked of Slurm.
    """
    if holder.place == mine.place:
        return _started(holder.pid) != holder.started
    run, _, cluster = holder.job.partition("@")
    number, _, restart = run.partition(".")
    if not number:
        return False
    own_run, _, own_cluster = mine.job.partition("@")
    own, _, own_restart = own_run.partition(".")
    if number == own and cluster == own_cluster:
        # put into the queue again: what ran before is dead
        known = restart.isdecimal() and own_restart.isdecimal()
        return known and int(restart) < int(own_restart)
    return (ask_slurm or job_ended)(number if not cluster else f"{number}@{cluster}")


@dataclass(frozen=True)
class _Watch:
    """What was seen of a claim: its last touch, when that was looked at, and how long it stands."""

    touched: int
    at: float
    still_s: float


class Claims:
    """The claims of one layout.

    `holder`: this process, by default.
    `clock`: tells durations.
    """

    def __init__(
        self,
        directory: Path,
        holder: Holder | None = None,
        stale_s: float = STALE_S,
        glance: bool = False,
    ) -> None:
        self.directory = directory
        self.holder = holder or me()
        self.stale_s = stale_s
        self.clock: Callable[[], float] = time.monotonic
        self.glance = glance
        self._watched: dict[str, _Watch] = {}
        self._asked: dict[str, tuple[float, bool]] = {}
        self._done: dict[int, int] = {}  # the generation that was, which need not be read again
        if glance:
            return
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_oserror(error, "cannot make the directory of claims", directory) from error

    def listing(self) -> dict[int, dict[int, bool]]:
        """Return launch -> generation -> whether it has ended."""
        out: dict[int, dict[int, bool]] = {}
        try:
            if self.glance and not self.directory.is_dir():
                return out  # nobody has made it yet
            with os.scandir(self.directory) as entries:
                names = [entry.name for entry in entries]
        except OSError as error:
            raise from_oserror(error, "cannot look at the claims", self.directory) from error
        for found in filter(None, map(_NAME.match, names)):
            launch, generation = int(found.group(1)), int(found.group(2))
            known = out.setdefault(launch, {})
            known[generation] = known.get(generation, False) or bool(found.group(3))
        return out

    def state(self, launch: int, listing: dict[int, dict[int, bool]]) -> tuple[State, int]:
        """Return whether a launch may be claimed, and its latest generation (0: none)."""
        known = listing.get(launch)
        if not known:
            return "open", 0
        latest = max(known)
        if self._done.get(launch) == latest:
            return "done", latest
        if known[latest]:
            if _read(str(self._path(launch, latest, ".end"))) != "done":
                return "open", latest
            self._done[launch] = latest
            return "done", latest
        return ("open" if self._stale(self._path(launch, latest)) else "held"), latest

    def take(self, launch: int, generation: int) -> Claim | None:
        """Claim a launch after the given generation; None when another was faster.

        `launch`: its number.
        """
        path = self._path(launch, generation + 1)
        if not write_once(path, json.dumps(asdict(self.holder)) + "\n", "a claim"):
            return None
        return Claim(path)

    def _path(self, launch: int, generation: int, end: str = "") -> Path:
        return self.directory / f"{launch:05d}.{generation}{end}"

    def holder_of(self, launch: int, generation: int) -> Holder | None:
        """Return who made a claim, None where that cannot be read."""
        try:
            return _look(self._path(launch, generation))[0]
        except OSError:
            return None

    def gone(self, holder: Holder) -> bool:
        return gone(holder, self.holder, self._job_ended)

    def _stale(self, path: Path) -> bool:
        """Return whether the holder of a claim has ended, or does not touch it any more.

        Only durations by this process's own clock count: a holder that lives touches its claim in
        them, whatever time that is by the file server, and one from the future comes of age, too.
        """
        try:
            holder, status = _look(path)
        except OSError:
            return False
        if holder is not None:
            if self.gone(holder):
                return True
            if holder.place == self.holder.place:
                return False
        still = self._still_s(path.name, status.st_mtime_ns)
        if still >= self.stale_s:
            return True
        if still < min(WATCH_S, self.stale_s) and not self.glance:
            return False
        return self._file_system_time() - status.st_mtime > self.stale_s

    def _still_s(self, name: str, touched: int) -> float:
        """Return for how long this process has seen a claim untouched.

        Of the time between two looks a beat counts at most: where this process stood still, or the
        file server, nobody could have seen a touch.
        """
        now, last = self.clock(), self._watched.get(name)
        still = 0.0
        if last is not None and last.touched == touched:
            still = last.still_s + min(max(0.0, now - last.at), BEAT_S)
        self._watched[name] = _Watch(touched, now, still)
        return still

    def _job_ended(self, job: str) -> bool:
        at, answer = self._asked.get(job, (-1e9, False))
        if time.monotonic() - at > 30:
            answer = job_ended(job)
            self._asked[job] = (time.monotonic(), answer)
        return answer

    def _file_system_time(self) -> float:
        """Return the time by the clock that also stamps the claims: no other clock matters.

        At a glance nothing is written, and this host's clock has to do.
        """
        if self.glance:
            return time.time()
        probe = self.directory / f".now.{os.uname().nodename}.{os.getpid()}"
        try:
            probe.touch()
            os.utime(probe)
            return probe.stat().st_mtime
        except OSError:
            return 0.0
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()


class Claim:
    """A launch that this process may measure; touched in the background until it is let go."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            with contextlib.suppress(OSError):
                os.utime(self.path)

    def end(self, done: bool) -> None:
        """Let go of it: for good, or for others (or a later start) to try again."""
        self._over.set()
        self._thread.join()
        end = self.path.with_name(self.path.name + ".end")
        write_once(end, "done\n" if done else "free\n", "a claim")
