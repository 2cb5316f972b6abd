"""How far the effect of a launch on its reference is its effect on a candidate.

Each launch without a baseline times a fixed exchange of messages beside its candidates
(src/bench/reference.c). A time is put beside those of other launches as ``us / reference**k``: a
control variate, with the coefficient of its logarithm estimated by regression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from stretto.files.table import TUNABLE
from stretto.mpi.algorithms.base import FILES
from stretto.mpi.algorithms.pairs import pairs_of

#: what the program says that it is at, while it times the messages
REFERENCE = "reference"
#: what is known of the exponent beforehand: it is 1, as far as one launch 14% off would tell
BELIEF = 0.02
#: settings that choose algorithms of collectives, and leave messages as they are
_ALGORITHMS = re.compile(
    r"(OMPI_MCA_)?coll_\w+|I_MPI_ADJUST_\w+"
    rf"|MPIR_CVAR_(DEVICE_COLLECTIVES|({'|'.join(TUNABLE)})_\w+)",
    re.IGNORECASE,
)
#: of a case's rounds, the first ones, each with the reference, and then one of so many
_FIRST, _THEN = 5, 3


class Timed(NamedTuple):
    """A candidate's time in a launch, and the reference's there, both in us and not 0."""

    us: float
    reference: float


def visits(rounds: float) -> float:
    """Return in how many of a case's rounds the reference is timed (src/bench/measure.c)."""
    return min(rounds, _FIRST) + max(rounds - _FIRST, 0.0) / _THEN


def leaves_messages(candidate: str) -> bool:
    """Return whether the reference has the same meaning beside a candidate as beside others.

    A setting of the network or of protocols changes messages, too: what it gains would be divided
    out.

    `candidate`: a candidate or a kind of launches: ``native:NAME=VALUE,...`` has settings.
    """
    kind, settings, text = candidate.partition(":")
    # an export chooses algorithms only, whatever its variables are called
    if candidate == FILES or not settings or kind not in ("native", "natives"):
        return True
    return all(_ALGORITHMS.fullmatch(name) for name, _ in pairs_of(text))


def exponent(candidates: Iterable[Sequence[Timed]]) -> float:
    """Return the exponent of the reference, from 0 to 1.

    Only how launches of the same candidate lie about their median counts, not which candidate is
    faster: what is compared does not choose its own scale.
    """
    both, alone = BELIEF, BELIEF
    for launches in candidates:
        if len(launches) > 1:
            mine, reference = np.log(np.array(launches)).T
            off = reference - np.median(reference)
            both += float(off @ (mine - np.median(mine)))
            alone += float(off @ off)
    return min(max(both / alone, 0.0), 1.0)
