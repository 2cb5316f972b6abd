"""The price of a call on a platform, and closed formulas: ctypes over ``src/plan/price.h``.

Everything here is simulated; whoever writes it down says so (``source: simulated``).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.errors import EXIT_USAGE
from stretto.model.platform import LEVELS, Platform
from stretto.plan import ErrorText, c_text, plan_library, refuse_many

#: ``stretto_part`` and ``stretto_span_kind`` (src/plan/price.h), in order
PARTS = (
    "skew", "overhead", "latency", "transfer", "queue", "rendezvous", "copy", "reduce", "node",
    "noise",
)  # fmt: skip
KINDS = ("send", "recv", "wait", "copy", "reduce", "node", "message")


class _Span(ctypes.Structure):
    _fields_ = (
        *((n, ctypes.c_int) for n in ("kind", "rank", "peer", "round", "level", "detail")),
        *((n, ctypes.c_double) for n in ("bytes", "begin", "end")),
    )


class _Result(ctypes.Structure):
    _fields_ = (
        ("nranks", ctypes.c_int),
        ("calls", ctypes.c_int),
        *((n, ctypes.POINTER(ctypes.c_double)) for n in ("finish", "enter", "took")),
        ("last", ctypes.c_double),
        ("last_rank", ctypes.c_int),
        ("median", ctypes.c_double),
        ("parts", ctypes.c_double * len(PARTS)),
        ("messages", ctypes.c_double * len(LEVELS)),
        ("bytes", ctypes.c_double * len(LEVELS)),
        ("events", ctypes.c_double),
        ("nspans", ctypes.c_int),
        ("spans", ctypes.POINTER(_Span)),
    )


class _Pricing(ctypes.Structure):
    _fields_ = (
        ("collective", ctypes.c_char_p),
        ("choice", ctypes.c_char_p),
        ("nranks", ctypes.c_int),
        ("host", ctypes.POINTER(ctypes.c_int)),
        ("root", ctypes.c_int),
        ("in_place", ctypes.c_int),
        ("commutative", ctypes.c_int),
        ("bytes", ctypes.c_size_t),
        ("element", ctypes.c_size_t),
        ("sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("skew", ctypes.POINTER(ctypes.c_double)),
        ("calls", ctypes.c_int),
        ("seed", ctypes.c_ulonglong),
        ("trace", ctypes.c_int),
        ("platform", ctypes.POINTER(ctypes.c_double)),
        ("nplatform", ctypes.c_int),
        ("graph", ctypes.c_char_p),
        ("stop", ctypes.POINTER(ctypes.c_int)),
    )


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

    `seconds`: median time of a call in the second half of the calls (of the only one, when there is
    one).
    `last`: when the last rank is done with the last call.
    `last_rank`: which one.
    `finish`, `enter`: per rank, end and start of the last call.
    `took`: per call, from one call's last end to the next's.
    `parts`: where `last` went, along the chain of causes: ``overhead``, ``latency``, ...
    `messages`, `nbytes`: of one call, by level.
    `bound`: no algorithm can be faster than this; None: not known for this collective.
    `bound_why`: what the bound rests on.
    `events`: events carried out.
    `spans`: what happened in the last call (only with ``trace``).
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

    def tail(self, share: float) -> float:
        """Return the time that this share of the calls of the second half do not exceed.

        `share`: above 0, up to 1: 0.5 is about the median, 1 the longest call.
        """
        times = sorted(self.took[len(self.took) // 2 :])
        return times[max(0, math.ceil(share * len(times)) - 1)]


def price(
    collective: str,
    choice: str,
    hosts: Sequence[int],
    nbytes: int,
    platform: Platform,
    *,
    element: int | None = None,
    root: int = 0,
    in_place: bool = False,
    commutative: bool = True,
    sizes: Sequence[int] | None = None,
    skew: Sequence[float] | None = None,
    calls: int = 1,
    seed: int = 1,
    trace: bool = False,
    graph: str | None = None,
) -> Price:
    """Price one choice.

    `collective`, `choice`: ``allreduce``, ``shm+bruck_k(8)``.
    `hosts`: which node each rank is on, by number (`stretto.plan.parse_layout`).
    `element`: bytes of an element: a vector is cut between elements; None: 8, or what divides
    ``nbytes``.
    `sizes`: v-collectives: bytes of block r (alltoallv: all pairs, by sender); None: all
    ``nbytes``.
    `skew`: per rank, seconds from 0 on: when it enters the first call.
    `calls`: so many in a row; ``seconds`` is then the steady state.
    """
    given = _pricing(collective, choice, hosts, nbytes, platform, element, root)
    given.in_place = in_place
    given.commutative = commutative
    given.calls = calls
    given.seed = seed
    given.trace = trace
    given.graph = None if graph is None else c_text(graph)
    if sizes is not None:
        wanted = len(hosts) ** (2 if collective == "alltoallv" else 1)
        if len(sizes) != wanted:
            raise ValueError(f"{len(sizes)} sizes, not {wanted}")
        given.sizes = (ctypes.c_size_t * len(sizes))(*sizes)
    if skew is not None:
        if len(skew) != len(hosts):
            raise ValueError(f"{len(skew)} entries in skew for {len(hosts)} ranks")
        given.skew = (ctypes.c_double * len(skew))(*skew)
    result, error = _Result(), ErrorText()
    if _evaluate(given, result, error) != 0:
        raise error.refusal(f"{collective} {choice} with {len(hosts)} ranks on {platform.name}")
    try:
        return _read(result, given, platform)
    finally:
        plan_library().stretto_export_price_free(ctypes.byref(result))


#: fewer ranks are soon priced: no thread is made for them
_LONG = 512


def _evaluate(given: _Pricing, result: _Result, error: ErrorText) -> int:
    """Price in another thread, so that this one hears signals; an exception here ends it."""
    function = plan_library().stretto_export_price
    arguments = (ctypes.byref(given), ctypes.byref(result), *error.arguments)
    if given.nranks < _LONG:
        return int(function(*arguments))
    stop = ctypes.c_int(0)
    given.stop = ctypes.pointer(stop)
    status: list[int] = []
    work = threading.Thread(target=lambda: status.append(function(*arguments)))
    work.start()
    try:
        while work.is_alive():
            work.join(0.1)
    except BaseException:
        stop.value = 1
        work.join()
        if status == [0]:
            plan_library().stretto_export_price_free(ctypes.byref(result))
        raise
    return status[0]


def bound(
    collective: str, hosts: Sequence[int], nbytes: int, platform: Platform
) -> tuple[float, str] | None:
    """Return the time that no algorithm can beat, and what it rests on; None: there is no bound."""
    return _bound(_pricing(collective, "", hosts, nbytes, platform, None, 0))


def _pricing(
    collective: str,
    choice: str,
    hosts: Sequence[int],
    nbytes: int,
    platform: Platform,
    element: int | None,
    root: int,
) -> _Pricing:
    numbers = platform.numbers()
    if element is None:
        element = math.gcd(8, nbytes) if nbytes else 1
    return _Pricing(
        collective=c_text(collective), choice=c_text(choice), nranks=len(hosts),
        host=(ctypes.c_int * len(hosts))(*hosts), root=root, commutative=1, bytes=nbytes,
        element=element, calls=1, seed=1, platform=(ctypes.c_double * len(numbers))(*numbers),
        nplatform=len(numbers),
    )  # fmt: skip


def _bound(given: _Pricing) -> tuple[float, str] | None:
    seconds, why, error = ctypes.c_double(), ctypes.c_char_p(), ErrorText()
    found = (ctypes.byref(given), ctypes.byref(seconds), ctypes.byref(why))
    if plan_library().stretto_export_bound(*found, *error.arguments) != 0:
        raise error.refusal()
    return None if seconds.value < 0 else (seconds.value, (why.value or b"").decode())


def _read(result: _Result, given: _Pricing, platform: Platform) -> Price:
    n, calls = result.nranks, result.calls
    found = _bound(given)
    name = plan_library().stretto_export_action_name
    return Price(
        collective=given.collective.decode(),
        choice=given.choice.decode(),
        nranks=n,
        nnodes=len(set(given.host[:n])),
        platform=platform.name,
        seconds=result.median,
        last=result.last,
        last_rank=result.last_rank,
        finish=result.finish[:n],
        enter=result.enter[:n],
        took=result.took[:calls],
        parts=dict(zip(PARTS, result.parts, strict=True)),
        messages=dict(zip(LEVELS, result.messages, strict=True)),
        nbytes=dict(zip(LEVELS, result.bytes, strict=True)),
        bound=found[0] if found else None,
        bound_why=found[1] if found else "",
        events=int(result.events),
        spans=[
            Span(
                KINDS[s.kind], s.rank, s.peer, s.round, LEVELS[s.level] if s.level >= 0 else "",
                name(s.detail).decode() if KINDS[s.kind] == "node" else "", s.bytes, s.begin, s.end,
            )
            for s in result.spans[: result.nspans]
        ],
    )  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A closed formula (``src/coll/formulas.def``), T = A alpha + B beta + C gamma, for one call.

    `text`, `where`: the formula, and where it is exact. `exact`: whether it is for this call.
    `alpha`, `beta`, `gamma`: latencies, bytes sent, bytes reduced on the critical path.
    """

    text: str
    where: str
    exact: bool
    alpha: float
    beta: float
    gamma: float


def formula(collective: str, choice: str, nranks: int, nbytes: int) -> Formula:
    """Return the closed formula of a flat choice."""
    refuse_many(nranks, "--ranks")
    cost, exact = (ctypes.c_double * 3)(), ctypes.c_int()
    text, where = ctypes.c_char_p(), ctypes.c_char_p()
    error = ErrorText()
    status = plan_library().stretto_export_formula(
        c_text(collective), c_text(choice), nranks, ctypes.c_size_t(nbytes), cost,
        ctypes.byref(exact), ctypes.byref(text), ctypes.byref(where), *error.arguments,
    )  # fmt: skip
    if status != 0:
        raise error.refusal(exit_code=EXIT_USAGE)
    return Formula(
        (text.value or b"").decode(), (where.value or b"").decode(), bool(exact.value), *cost
    )
