#!/usr/bin/env python3
"""Kills one rank of a job at a random moment, many times, and looks what is left.

    python tools/conformance/kills.py [--kills 200] [--seed 20261122] [--mpi mpich]

The job is tests/programs/soak.c with shared memory or composed choices forced, on one node or on
pretended ones; the moment falls into MPI_Init, into collectives, or into the making and freeing of
communicators. Before, each MPI is killed a few times without Stretto, to compare. With it, the job
has to end with a failure in good time (which one is up to the launcher, and varies), no process of
it may be left, and nothing that bears Stretto's name in /dev/shm and /tmp. The exit status is 1
otherwise; hangs after a death in MPI_Init are let pass under the MPIs of HANGS_AT_START.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from choices import sets
from jobs import (
    REPOSITORY,
    Job,
    alone,
    end,
    files_of_stretto,
    marked,
    preload,
    words_and_environment,
)

from mpis import MPIS, Mpi

RANKS = 4
#: that hang for ever, without Stretto, too, when a rank dies in MPI_Init: mpirun of Open MPI 4.1.4
#: (9 of 60 kills), the other ranks of Intel MPI
HANGS_AT_START = ("openmpi4", "intel")
#: what soak says when MPI_Init is over everywhere
BEGUN = "soak: begun"
#: soak's arguments (so many collectives, so many communicators), and seconds after that, or for
#: "start" after the processes are there
PHASES = {
    "start": (["2000000000", "0"], (0.0, 0.25)),
    "collectives": (["2000000000", "0"], (0.3, 1.5)),
    "communicators": (["0", "2000000000"], (0.3, 1.5)),
}


@dataclass(frozen=True)
class Ending:
    """What became of a job after one of its ranks was killed."""

    status: int | None
    seconds: float
    left: tuple[str, ...]  #: programs
    files: frozenset[str]

    def bad(self, name: str, phase: str) -> bool:
        """Whether more went wrong than what the MPI does by itself."""
        hung = self.status is None and phase == "start" and name in HANGS_AT_START
        return bool(self.files or (not hung and (self.status in (None, 0) or self.left)))


def ranks_of(job: Job, program: Path) -> list[int]:
    """Return the job's processes that run the program."""
    found = []
    for pid in marked(job.mark):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/exe").resolve() == program.resolve():
                found.append(pid)
    return found


def name_of(pid: int) -> str:
    """Return the program that a process runs."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"


def kill_one(
    mpi: Mpi, program: Path, phase: str, env: dict[str, str], chance: random.Random, limit: float
) -> Ending:
    """Start a job, kill one of its ranks by SIGKILL in that phase, and wait for the end."""
    arguments, moments = PHASES[phase]
    delay, victim = chance.uniform(*moments), chance.random()
    if phase == "start" and mpi.name in HANGS_AT_START:
        limit = min(limit, 10)
    words, environment = words_and_environment(mpi, RANKS, [str(program), *arguments], env)
    with alone(RANKS):
        before = files_of_stretto()
        with Job(words, environment) as job:
            deadline = time.monotonic() + 300
            ranks: list[int] = []
            while len(ranks) < RANKS and job.process.poll() is None:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
                ranks = ranks_of(job, program)
            assert len(ranks) == RANKS, f"the ranks did not start under {mpi.name}"
            while phase != "start" and BEGUN not in job.output():
                assert time.monotonic() < deadline, f"no end of MPI_Init under {mpi.name}"
                time.sleep(0.01)
            time.sleep(delay)
            with contextlib.suppress(ProcessLookupError):
                os.kill(ranks[int(victim * RANKS)], signal.SIGKILL)
            begin = time.monotonic()
            status = job.wait(limit).status
            seconds = time.monotonic() - begin
            deadline = time.monotonic() + 120
            while (left := marked(job.mark)) and time.monotonic() < deadline:
                time.sleep(0.1)
            names = tuple(name_of(pid) for pid in left)
            end(job.mark)
            files = frozenset(files_of_stretto() - before)
            return Ending(status, seconds, names, files)


def settings(mpi: Mpi, chance: random.Random) -> dict[str, str]:
    """Return the ranks' environment: everything by shared memory, or any composed choices."""
    if chance.random() < 0.5:
        return preload(mpi, STRETTO_AFTER=0, STRETTO_CHOICE=sets(RANKS)[0])
    composed = chance.choice(sets(RANKS, 2))
    return preload(mpi, STRETTO_AFTER=1, STRETTO_CHOICE=composed, STRETTO_FAKE_PPN=2)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of all MPIs together")
    parser.add_argument("--native", type=int, default=3, help="without Stretto, of each MPI")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--mpi", action="append", choices=sorted(MPIS), help="default: all four")
    parser.add_argument("--limit", type=float, default=60, help="seconds to the end of a job")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    names = options.mpi or list(MPIS)
    wrong = kills = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        for at, name in enumerate(names):
            mpi = MPIS[name]
            program = Path(folder) / f"soak-{name}"
            mpi.compile(REPOSITORY / "tests" / "programs" / "soak.c", program, "-O1")
            native = [
                kill_one(mpi, program, phase, {}, chance, options.limit)
                for phase in list(PHASES) * ((options.native + 2) // 3)
            ]
            known = {ending.status for ending in native}
            slowest = max((ending.seconds for ending in native), default=0)
            mine = options.kills * (at + 1) // len(names) - options.kills * at // len(names)
            seconds: list[float] = []
            seen: set[int | None] = set()
            for i in range(mine):
                phase = list(PHASES)[i % len(PHASES)]
                env = settings(mpi, chance)
                ending = kill_one(mpi, program, phase, env, chance, options.limit)
                kills += 1
                seconds.append(ending.seconds)
                seen.add(ending.status)
                if ending.bad(name, phase):
                    wrong += 1
                    print(f"WRONG: {name}, {phase}, kill {i}: {ending}; without: {known}\n{env}")
            print(
                f"{name}: {mine} kills; without Stretto exit status {sorted(map(str, known))} "
                f"after at most {slowest:.1f} s, with it {sorted(map(str, seen))} after at most "
                f"{max(seconds, default=0):.1f} s",
                flush=True,
            )
    print(f"{kills} kills of one rank of {RANKS}, {wrong} wrong endings, seed {options.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
