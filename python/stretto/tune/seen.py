"""What the ranks of a running job have in their environment, as /proc shows it meanwhile.

A native run carries nothing of Stretto's that tells on how many ranks it runs, and whether a
setting has come through. The ranks of this machine have a mark of the run in their environment;
those of other machines cannot be read, and nothing is concluded from seeing none.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

#: what launchers tell each rank: who it is, and how many there are
_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
#: read by the launcher, which need not hand them on, or tells its ranks what it made of them
_OF_LAUNCHER = re.compile(
    r"(PRTE|PMIX|HYDRA|SLURM)_|I_MPI_(PIN|PERHOST|HYDRA)|OMPI_MCA_(rmaps|hwloc|orte|plm|odls|ras)_"
)
_SHORTEST_S = 0.05
#: looks lie further apart the longer the run takes, so that they cost it nothing that is measured
_PART = 0.1


@dataclass
class RanksSeen:
    """Numbers of ranks that a run's ranks were told, and their environments at the last look."""

    sizes: set[int]
    ranks: Sequence[Mapping[str, str]]

    def missed(self, wanted: Mapping[str, str]) -> str | None:
        """Return which setting no rank has, in words; None: all came through, or none is seen."""
        for name, value in wanted.items():
            if _OF_LAUNCHER.match(name):
                continue
            have = [r.get(name) for r in self.ranks]
            if have and value not in have:
                is_there = f"is {have[0]} there" if have[0] is not None else "is not set there"
                return f"{name}={value} did not reach the ranks: it {is_there}"
        return None


def _environ(process: Path) -> dict[str, str]:
    words = (process / "environ").read_bytes().decode("utf-8", "replace").split("\0")
    return dict(w.split("=", 1) for w in words if "=" in w)


def _parent(process: Path) -> int:
    return int((process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])


def _numbers() -> set[str]:
    return {p.name for p in Path("/proc").iterdir() if p.name.isdecimal()}


def _look(
    mark: str, value: str, others: Collection[str], starters: set[tuple[int, bytes]]
) -> list[dict[str, str]]:
    """Return the environments of the ranks: of a rank's processes the last, not what started it.

    `starters`: processes, each with its words, that were seen to have started another.
    """
    found: dict[tuple[int, bytes], dict[str, str]] = {}
    parents: set[int] = set()
    for number in _numbers() - set(others):
        process = Path("/proc", number)
        with suppress(OSError, ValueError, IndexError):  # it has ended, or is another user's
            environ = _environ(process)
            if environ.get(mark) == value and any(n in environ for n in _RANK):
                parent, words = _parent(process), (process / "cmdline").read_bytes()
                parents.add(parent)
                found[int(number), words] = environ
    starters |= {p for p in found if p[0] in parents}
    return [environ for one, environ in found.items() if one not in starters]


@contextmanager
def watching(mark: str, value: str, enough: int | None = None) -> Iterator[RanksSeen]:
    """Look at the ranks of what is run meanwhile, until `enough` of them were told to be there.

    `mark`, `value`: a variable that all processes of the run have, and no others.
    """
    seen, stop, begin = RanksSeen(set(), ()), threading.Event(), time.monotonic()
    others = _numbers()
    starters: set[tuple[int, bytes]] = set()

    def watch() -> None:
        while not stop.wait(max(_SHORTEST_S, _PART * (time.monotonic() - begin))):
            ranks = _look(mark, value, others, starters)
            if ranks:
                seen.ranks = ranks
            for rank in ranks:
                size = next((rank[n] for n in _SIZE if n in rank), "")
                if size.isdecimal():
                    seen.sizes.add(int(size))
            if enough in seen.sizes:
                return

    thread = threading.Thread(target=watch, name="stretto-watch", daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
