"""What starting ``stretto run`` costs, which a gain on CMD has to be set against."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress

#: where it cannot be measured (s)
USUAL_S = 0.1


def start_s() -> float:
    """Return the CPU time of one ``stretto run`` of a command that does nothing, in seconds.

    CPU time, because a busy machine must not make a gain look smaller than the start.
    """
    before = _children_s()
    words = [sys.executable, "-m", "stretto", "run", "--", "true"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )
        if done.returncode == 0:
            return _children_s() - before
    return USUAL_S


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
