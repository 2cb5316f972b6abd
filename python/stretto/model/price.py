"""The price of a call on a platform: ctypes over ``src/plan/price.h``.

Everything here is simulated; whoever writes it down says so (``source: simulated``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.model.platform import Platform


@dataclass(frozen=True)
class Span:
    """What a core did, or a message in flight (``stretto_price_span``); times in seconds."""

    kind: str
    rank: int
    peer: int
    round: int
    level: str
    detail: str
    nbytes: float
    begin: float
    end: float


@dataclass(frozen=True)
class Price:
    """What a call costs; seconds.

    Attributes
    ----------
    seconds
        Median time of a call in the second half of the calls (of the only one, when there is one).
    last
        When the last rank is done with the last call.
    last_rank
        Which one.
    finish, enter
        Per rank, end and start of the last call.
    took
        Per call, from one call's last end to the next's.
    parts
        Where `last` went, along the chain of causes: ``overhead``, ``latency``, ...
    messages, nbytes
        Of one call, by level.
    bound
        No algorithm can be faster than this; None: not known for this collective.
    bound_why
        What the bound rests on.
    events
        Events carried out.
    spans
        What happened in the last call (only with ``trace``).
    """

    collective: str
    choice: str
    nranks: int
    nnodes: int
    platform: str
    seconds: float
    last: float
    last_rank: int
    finish: list[float]
    enter: list[float]
    took: list[float]
    parts: dict[str, float]
    messages: dict[str, float]
    nbytes: dict[str, float]
    bound: float | None
    bound_why: str
    events: int
    spans: list[Span] = field(default_factory=list)


def price(
    collective: str,
    choice: str,
    hosts: Sequence[int],
    nbytes: int,
    platform: Platform,
    *,
    element: int = 8,
    root: int = 0,
    in_place: bool = False,
    commutative: bool = True,
    sizes: Sequence[int] | None = None,
    skew: Sequence[float] | None = None,
    calls: int = 1,
    seed: int = 1,
    trace: bool = False,
) -> Price:
    """Price one choice.

    Parameters
    ----------
    collective, choice
        ``allreduce``, ``shm+bruck_k(8)``.
    hosts
        Which node each rank is on, by number (`stretto.plan.parse_layout`).
    nbytes
        Of the vector or block.
    platform
        Where.
    element
        Bytes of an element: a vector is cut between elements.
    root, in_place, commutative
        As in the call.
    sizes
        v-collectives: bytes of block r (alltoallv: all pairs, by sender); None: all ``nbytes``.
    skew
        Per rank, seconds from 0 on: when it enters the first call.
    calls
        So many in a row; ``seconds`` is then the steady state.
    seed
        Of the noise.
    trace
        Also return what happened, for pictures.
    """
    raise NotImplementedError("on its way: see src/plan/price.h")


def bound(
    collective: str, hosts: Sequence[int], nbytes: int, platform: Platform, root: int = 0
) -> tuple[float, str]:
    """Return the time that no algorithm can beat, and what it rests on.

    Parameters
    ----------
    collective, hosts, nbytes, platform, root
        As in `price`.
    """
    raise NotImplementedError("on its way: see src/plan/price.h")
