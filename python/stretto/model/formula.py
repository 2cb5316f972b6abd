"""Closed formulas of the algorithms (``src/coll/formulas.def``): T = A alpha + B beta + C gamma."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from stretto.errors import EXIT_USAGE, StrettoError
from stretto.plan import _bytes, _library, refuse_many

_ERROR_SIZE = 2000


@dataclass(frozen=True)
class Formula:
    """A formula and its value for one call.

    `text`, `where`: the formula, and where it is exact.
    `exact`: whether it is for this call.
    `alpha`, `beta`, `gamma`: latencies, bytes sent, bytes reduced on the critical path.
    """

    text: str
    where: str
    exact: bool
    alpha: float
    beta: float
    gamma: float


def formula(collective: str, choice: str, nranks: int, nbytes: int) -> Formula:
    """Return the closed formula of a flat choice.

    `collective`, `choice`: ``allreduce``, ``bruck_k(8)``.
    """
    refuse_many(nranks, "--ranks")

    lib = _library()
    cost = (ctypes.c_double * 3)()
    exact = ctypes.c_int()
    text, where = ctypes.c_char_p(), ctypes.c_char_p()
    error = ctypes.create_string_buffer(_ERROR_SIZE)
    status = lib.stretto_export_formula(
        _bytes(collective), _bytes(choice), nranks, ctypes.c_size_t(nbytes), cost,
        ctypes.byref(exact), ctypes.byref(text), ctypes.byref(where), error,
        ctypes.c_size_t(_ERROR_SIZE),
    )  # fmt: skip
    if status != 0:
        raise StrettoError(
            error.value.decode(errors="replace"),
            remedy="stretto plan list shows the algorithms",
            exit_code=EXIT_USAGE,
        )
    return Formula(
        (text.value or b"").decode(), (where.value or b"").decode(), bool(exact.value), *cost
    )
