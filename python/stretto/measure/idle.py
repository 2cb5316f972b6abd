"""Whether the machine is idle enough to time microseconds."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from stretto.counted import counted
from stretto.files.bench import Bench
from stretto.files.usage import Usage, usage_words

#: share of the processors' time that others may use before we warn
MOST_BUSY = 0.05
#: and before runs of CMD (the median of short looks)
MOST_BUSY_RUNS = 0.1


def busy_share(seconds: float = 0.3, stat: Path = Path("/proc/stat")) -> float | None:
    """Return the share of all processors' time that is in use, watched for a moment."""
    before = _counts(stat)
    time.sleep(seconds)
    after = _counts(stat)
    if before is None or after is None or after[1] <= before[1]:
        return None
    return 1 - (after[0] - before[0]) / (after[1] - before[1])


def _counts(stat: Path) -> tuple[int, int] | None:
    try:
        words = stat.read_text().splitlines()[0].split()
        numbers = [int(w) for w in words[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return (numbers[3] + numbers[4], sum(numbers)) if len(numbers) == 8 else None


_USED = "% of the processor time of this machine is used by other processes"


def says_busy(note: str) -> bool:
    """Return whether a note of a result is that of `idle_warning`."""
    return _USED in note


def idle_warning(share: float | None = None) -> str | None:
    found = busy_share() if share is None else share
    if found is None or found <= MOST_BUSY:
        return None
    return (
        f"{100 * found:.0f} {_USED}; "
        "times will be too high and intervals wide: end these processes (top lists them), or use "
        "an exclusive node"
    )


def busy_before(shares: Sequence[float | None]) -> str | None:
    """Return that the machine was busy before most of several runs; None where it was not.

    `shares`: of the processors' time that others used, by run; None: not known.
    """
    known = [s for s in shares if s is not None]
    share = statistics.median(known) if known else 0.0
    if share <= MOST_BUSY_RUNS:
        return None
    return f"other processes used {100 * share:.0f} % of its processors before the runs"


def disturbed(bench: Bench) -> dict[int, Usage]:
    """Return what the ranks of launches on a busy machine had, by launch.

    Where ranks outnumber processors they wait for one another's: that is no other work.
    """
    ppn = {r.launch: r.ppn for r in bench.launches}
    ends = bench.ends.items()
    found = {k: end.usage for k, end in ends if end.usage is not None and end.usage.busy}
    return {k: used for k, used in found.items() if ppn.get(k, 1) <= used.cores}


def busy_note(*benches: Bench) -> str | None:
    """Return the note for every page on results of a busy machine; None where it was quiet."""
    found = [used for bench in benches for used in disturbed(bench).values()]
    if not found:
        return None
    worst = max(found, key=lambda used: used.waited)
    of = counted(sum(len(bench.ends) for bench in benches), "launch")
    return f"the machine was busy in {len(found)} of {of}: {usage_words(worst)}, at the worst"


def cores(root: Path = Path("/"), allowed: Iterable[int] | None = None) -> int:
    """Return the physical cores that this process may use: hardware threads of one count once."""
    mine = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    found = set()
    for cpu in mine:
        path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        try:
            # the same words for each of a core's threads
            found.add(path.read_text().strip() or str(cpu))
        except OSError:
            found.add(str(cpu))
    return len(found)


def threads() -> int:
    return len(os.sched_getaffinity(0))


#: warnings before anything is measured
MORE_RANKS = (
    "more ranks than cores: only throughput is measured, and it depends strongly on the scheduler"
)
HYPERTHREADS = "ppn uses hyperthreads: ranks share cores; only throughput is measured"


def crowd_words(ranks: int, threads: int | None) -> str:
    """Return what to say of more ranks on a node than it has cores.

    `threads`: its hardware threads; None: not known.
    """
    return HYPERTHREADS if threads is not None and ranks <= threads else MORE_RANKS
