"""The price of a call on a platform: ctypes over ``src/plan/price.h``.

Everything here is simulated; whoever writes it down says so (``source: simulated``).
"""

from __future__ import annotations

import ctypes
import functools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.errors import StrettoError
from stretto.model.platform import LEVELS, Platform
from stretto.plan import _bytes
from stretto.plan import _library as plan_library

#: ``stretto_part`` and ``stretto_span_kind`` (src/plan/price.h), in order
PARTS = (
    "skew",
    "overhead",
    "latency",
    "transfer",
    "queue",
    "rendezvous",
    "copy",
    "reduce",
    "node",
    "noise",
)
KINDS = ("send", "recv", "wait", "copy", "reduce", "node", "message")

_ERROR_SIZE = 2000


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


@functools.cache
def _library() -> ctypes.CDLL:
    lib = plan_library()
    error = [ctypes.c_char_p, ctypes.c_size_t]
    pricing = ctypes.POINTER(_Pricing)
    for name, result, arguments in (
        ("action_name", ctypes.c_char_p, [ctypes.c_int]),
        ("price", ctypes.c_int, [pricing, ctypes.POINTER(_Result), *error]),
        ("price_free", None, [ctypes.POINTER(_Result)]),
        (
            "bound",
            ctypes.c_int,
            [pricing, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_char_p), *error],
        ),
    ):
        function = getattr(lib, f"stretto_export_{name}")
        function.restype = result
        function.argtypes = arguments
    return lib


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
    lib = _library()
    given = _pricing(collective, choice, hosts, nbytes, platform, element, root)
    given.in_place = in_place
    given.commutative = commutative
    given.calls = calls
    given.seed = seed
    given.trace = trace
    if graph is not None:
        given.graph = _bytes(graph)
    if sizes is not None:
        wanted = len(hosts) ** (2 if collective == "alltoallv" else 1)
        if len(sizes) != wanted:
            raise ValueError(f"{len(sizes)} sizes, not {wanted}")
        given.sizes = (ctypes.c_size_t * len(sizes))(*sizes)
    if skew is not None:
        if len(skew) != len(hosts):
            raise ValueError(f"{len(skew)} entries in skew for {len(hosts)} ranks")
        given.skew = (ctypes.c_double * len(skew))(*skew)
    result = _Result()
    error = ctypes.create_string_buffer(_ERROR_SIZE)
    if _evaluate(given, result, error) != 0:
        raise StrettoError(
            error.value.decode(errors="replace"),
            f"{collective} {choice} with {len(hosts)} ranks on {platform.name}",
            "stretto plan list shows the algorithms and what they need",
        )
    try:
        return _read(result, given, platform)
    finally:
        lib.stretto_export_price_free(result)


#: fewer ranks are soon priced: no thread is made for them
_LONG = 512


def _evaluate(given: _Pricing, result: _Result, error: ctypes.Array[ctypes.c_char]) -> int:
    """Price in another thread, so that this one hears signals; an exception here ends it."""
    function = _library().stretto_export_price
    if given.nranks < _LONG:
        return int(function(given, result, error, _ERROR_SIZE))
    stop = ctypes.c_int(0)
    given.stop = ctypes.pointer(stop)
    status: list[int] = []
    work = threading.Thread(
        target=lambda: status.append(function(given, result, error, _ERROR_SIZE))
    )
    work.start()
    try:
        while work.is_alive():
            work.join(0.1)
    except BaseException:
        stop.value = 1
        work.join()
        if status == [0]:
            _library().stretto_export_price_free(result)
        raise
    return status[0]


def bound(
    collective: str, hosts: Sequence[int], nbytes: int, platform: Platform, root: int = 0
) -> tuple[float, str] | None:
    """Return the time that no algorithm can beat, and what it rests on; None: there is no bound."""
    return _bound(_pricing(collective, "", hosts, nbytes, platform, None, root))


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
        _bytes(collective),
        _bytes(choice),
        len(hosts),
        (ctypes.c_int * len(hosts))(*hosts),
        root,
        0,
        1,
        nbytes,
        element,
        None,
        None,
        1,
        1,
        0,
        (ctypes.c_double * len(numbers))(*numbers),
        len(numbers),
        None,
    )


def _bound(given: _Pricing) -> tuple[float, str] | None:
    seconds, why = ctypes.c_double(), ctypes.c_char_p()
    error = ctypes.create_string_buffer(_ERROR_SIZE)
    if _library().stretto_export_bound(given, seconds, why, error, _ERROR_SIZE) != 0:
        raise StrettoError(error.value.decode(errors="replace"))
    return None if seconds.value < 0 else (seconds.value, (why.value or b"").decode())


def _read(result: _Result, given: _Pricing, platform: Platform) -> Price:
    n, calls = result.nranks, result.calls
    found = _bound(given)
    name = _library().stretto_export_action_name
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
                KINDS[s.kind],
                s.rank,
                s.peer,
                s.round,
                LEVELS[s.level] if s.level >= 0 else "",
                name(s.detail).decode() if KINDS[s.kind] == "node" else "",
                s.bytes,
                s.begin,
                s.end,
            )
            for s in result.spans[: result.nspans]
        ],
    )
