"""Whether the machine is idle enough to time microseconds."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: share of the processors' time that others may use before we warn
MOST_BUSY = 0.05


def busy_share(seconds: float = 0.3, stat: Path = Path("/proc/stat")) -> float | None:
    """Return the share of all processors' time that is in use, watched for a moment.

    Parameters
    ----------
    seconds
        How long to watch.
    stat
        Where the kernel counts.
    """
    before = _counts(stat)
    time.sleep(seconds)
    after = _counts(stat)
    if before is None or after is None or after[1] <= before[1]:
        return None
    return 1 - (after[0] - before[0]) / (after[1] - before[1])


def _counts(stat: Path) -> tuple[int, int] | None:
    """Return idle and total ticks."""
    try:
        words = stat.read_text().splitlines()[0].split()
        numbers = [int(w) for w in words[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return (numbers[3] + numbers[4], sum(numbers)) if len(numbers) == 8 else None


def idle_warning(share: float | None = None) -> str | None:
    """Return a warning with its remedy when the machine is busy, else None.

    Parameters
    ----------
    share
        From `busy_share`; watched now when not given.
    """
    found = busy_share() if share is None else share
    if found is None or found <= MOST_BUSY:
        return None
    return (
        f"{100 * found:.0f}% of this machine's processor time is in use by others; figures will be "
        "too high and intervals wide: end other work (top shows it), or take a node of your own"
    )


def cores() -> int:
    """Return the processors that this process may use."""
    return len(os.sched_getaffinity(0))
