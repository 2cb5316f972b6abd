"""Cores that something else has, or that ranks share: what that costs, and forbids to conclude.

A rank that is off its core is late for every message and collective, and looks like imbalance, a
late sender or a slow algorithm. What ranks waited for a core explains waiting for one another first
(one rank's delay may be waited for by all others); a verdict stands only where it rests on more.
"""

from __future__ import annotations

import re

from stretto.counted import counted
from stretto.files.profile import Profile
from stretto.files.usage import BUSY, busy_threads, busy_words, crowd_of, crowds, usage_of
from stretto.profile.show import tools_note

#: up to this part of a node's processors in use there are too few threads for it, whatever a
#: processor is (several may be one core)
IDLE = 0.25


def disturbed_s(profile: Profile, waited_s: float) -> float:
    """Return how much of ranks' waiting for one another (mean, seconds) a busy machine explains."""
    found = usage_of(profile)
    if found is None or not (found.busy or found.by_own >= BUSY):
        return 0.0
    return min(found.waited * found.wall_s * profile.nranks, waited_s)


def core_wait_s(profile: Profile) -> float:
    """Return how long ranks waited for cores of others (mean, seconds), 0 on a quiet machine."""
    found = usage_of(profile)
    return found.by_others * found.wall_s if found is not None and found.busy else 0.0


def own_wait_s(profile: Profile) -> float:
    """Return how long ranks waited for cores that other ranks of the job had (mean, seconds)."""
    found = usage_of(profile)
    return 0.0 if found is None or found.by_own < BUSY else found.by_own * found.wall_s


def note(profile: Profile) -> str | None:
    """Return what to say of a busy machine; None where it was quiet, or nothing was recorded."""
    words = busy_words(usage_of(profile))
    if words is None:
        return None
    return f"{words}. Ranks that wait for a core are late for every message and collective"


def idle_note(profile: Profile) -> str | None:
    """Return that most cores of the nodes had nothing to do; None where they had, or none knows."""
    used = usage_of(profile)
    if not any(busy_threads(profile)) or (used is not None and used.waited >= BUSY):
        return None
    idle = [c for c in crowds(profile) if c.threads <= IDLE * c.cores]
    if len(idle) < len(crowds(profile)) or not idle:
        return None
    most = max(idle, key=lambda c: c.cores)
    return (
        f"{counted(most.ranks, 'rank')} with {counted(most.threads, 'busy thread')} together are "
        f"on {most.cores} processors: more ranks, or more threads (OMP_NUM_THREADS), may be faster "
        "where memory bandwidth and the program allow it: stretto scale measures it"
    )


def withheld(profile: Profile, resting_on_s: float) -> str | None:
    """Return why no verdict is given; None where it rests on more than the busy machine took.

    `resting_on_s`: what the verdict speaks of, in seconds a rank: the gain, or the first other
    cause.
    """
    lost, own = core_wait_s(profile), own_wait_s(profile)
    if lost + own <= 0 or lost + own < resting_on_s:
        return None
    if own > lost:
        crowd = crowd_of(profile)
        noun = crowd.noun if crowd is not None else "ranks"
        return (
            f"inconclusive: there are more {noun} than cores, and ranks waited "
            f"{100 * own / max(profile.wall_s):.0f} % of the run for a core, which hides other "
            f"losses. Run again with at most one {noun[:-1]} per core"
        )
    return (
        "inconclusive: the machine was busy, and ranks waited "
        f"{100 * lost / max(profile.wall_s):.0f} % of the run for a core, which hides other "
        "losses. Run again on idle nodes"
    )


def with_fewer_ranks(profile: Profile, command: str) -> str:
    """Return the command with one rank per core, if its ranks share the cores of one node.

    Else, or where no ``-n`` is the number of its ranks, the command as it was typed. One rank alone
    shows nothing.
    """
    crowd = crowd_of(profile)
    if crowd is None or crowd.of_threads or crowd.bound or crowd.ranks != profile.nranks:
        return command
    if crowd.cores == 1 or core_wait_s(profile) >= own_wait_s(profile):
        return command
    option = rf"(?<=\s)(-n|-np|--np|--ntasks)([ =]){crowd.ranks}(?=\s)"
    return re.sub(option, rf"\1\g<2>{crowd.cores}", command, count=1)


def lacks_calls(profile: Profile) -> str | None:
    """Return why nothing is known about tuning, None where the profile shows the run."""
    why = tools_note(profile)
    if why is not None:
        why += "; run without it (LD_PRELOAD, -l)"
    elif not any(any(c.calls) for c in profile.calls):
        why = "no MPI call was recorded"
    elif len(profile.cut_short) == profile.nranks:
        why = "no rank was recorded until its MPI_Finalize"
    else:
        return None
    return f"it is unknown whether tuning can help, because {why}"
