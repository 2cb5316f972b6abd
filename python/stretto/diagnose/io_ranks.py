"""Ranks that only write or read files for the others: WRF's quilting, servers of XIOS.

They wait for most of the run, as they should: without them a diagnosis is of those that compute.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stretto.files.profile import Profile
from stretto.profile.join import rank_words
from stretto.profile.show import compute_s

#: of the median computing time: an I/O rank computes less
IDLE = 0.25
#: of the run: an I/O rank waits for more of it in collectives and messages
WAITS = 0.5
#: of the waiting in collectives that an even share would end with it: an I/O rank ends less
AWAITED = 0.5
#: of the ranks of a job, at most
MOST = 1 / 3


def io_ranks(p: Profile) -> list[int]:
    """Return the ranks of a profile that wait, do most of the file work, and are not waited for."""
    if p.last_share is None:
        return []
    compute, files, mpi, wall = (np.array(v) for v in (compute_s(p), p.io_s, p.mpi_s, p.wall_s))
    chosen = (
        (compute < IDLE * np.median(compute))
        & (mpi > WAITS * wall)
        & (np.array(p.last_share) < AWAITED / p.nranks)
        & (files > np.mean(files))
    )
    most = files[chosen].sum() > files.sum() / 2
    return np.flatnonzero(chosen).tolist() if most and chosen.sum() <= MOST * p.nranks else []


def without(p: Profile, left_out: list[int]) -> Profile:
    """Return the profile of the other ranks alone."""
    numbers = [*(p.unrecorded_ranks or []), *left_out]
    return replace(p, unrecorded_ranks=numbers).recorded_part() if left_out else p.recorded_part()


def words(left_out: list[int]) -> str:
    verb = "s {} are I/O ranks" if len(left_out) > 1 else " {} is an I/O rank"
    some = verb.format(rank_words(left_out))
    return (
        f"rank{some} (most of the file access, little computing, seldom the last to arrive), as in "
        "WRF with quilting or XIOS: the diagnosis is that of the other ranks"
    )
