"""The plan core from Python: algorithms, choices, and the plans of all ranks of one call.

A thin layer over ``libstretto-plan.so`` (``src/coll/export.h``). The list of algorithms is asked
from the library and stands nowhere in Python.
"""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.built import library
from stretto.counted import counted
from stretto.errors import EXIT_FAULT, EXIT_USAGE, StrettoError, UsageError

#: as a table's layouts
MOST_RANKS = 1 << 24
_ERROR_SIZE = 2000


@dataclass(frozen=True)
class Algorithm:
    """One row of the registry (``src/coll/algorithms.def``).

    `parameter`: what the number in brackets means: ``radix``, ``segment`` (bytes), ``window``;
    None: there is none. `needs`: preconditions: ``commutative``, ``power_of_two``.
    """

    collective: str
    name: str
    parameter: str | None
    minimum: int
    default: int
    maximum: int
    needs: tuple[str, ...]
    help: str


@functools.cache
def plan_library() -> ctypes.CDLL:
    """Load the library; its functions take their arguments as ctypes has them."""
    path: Path = library("plan", "openmpi")
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise StrettoError(
            f"the plan library cannot be loaded: {error}",
            path,
            "it must be built for this machine: pip install . builds it",
        ) from error
    # texts come as void pointers, because they must be given back
    for name in ("algorithms", "parameters", "choices", "choice", "build", "text", "actions"):
        getattr(lib, f"stretto_export_{name}").restype = ctypes.c_void_p
    lib.stretto_export_action_name.restype = ctypes.c_char_p
    return lib


class ErrorText:
    """Room for what the library says of a refused call: the last two arguments of its functions."""

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(_ERROR_SIZE)
        self.arguments = (self._text, ctypes.c_size_t(_ERROR_SIZE))

    def __str__(self) -> str:
        return self._text.value.decode(errors="replace")

    def refusal(self, place: str | None = None, exit_code: int = EXIT_FAULT) -> StrettoError:
        remedy = "stretto plan list shows the algorithms and what they need"
        return StrettoError(str(self), place, remedy, exit_code)


def c_text(text: str) -> bytes:
    """Return a text as the library takes it; what cannot stand in a C string becomes a "?"."""
    return text.replace("\0", "?").encode(errors="replace")


def _take(pointer: int | None) -> str | None:
    """Copy a text that the library made, and give it back."""
    if not pointer:
        return None
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        plan_library().stretto_export_free(ctypes.c_void_p(pointer))


def taken(pointer: int | None) -> str:
    """Return a text that the library must have made."""
    text = _take(pointer)
    if text is None:
        raise StrettoError("out of memory in the plan library")
    return text


def refuse_many(nranks: int, place: str) -> None:
    """Refuse more ranks than the library's whole numbers are sure to hold: they would wrap round.

    `place`: an option.
    """
    if nranks > MOST_RANKS:
        raise UsageError(f"{nranks} ranks are too many", place, f"at most {MOST_RANKS}")


@functools.cache
def algorithms() -> tuple[Algorithm, ...]:
    """Return every algorithm that this Stretto has, in the order of the registry."""
    return tuple(
        Algorithm(
            row["collective"], row["name"], row["parameter"], row["min"], row["default"],
            row["max"], tuple(row["needs"]), row["help"],
        )
        for row in json.loads(taken(plan_library().stretto_export_algorithms()))
    )  # fmt: skip


def collectives() -> list[str]:
    """Return the collectives that have algorithms."""
    return list(dict.fromkeys(a.collective for a in algorithms()))


def neighborly(collective: str) -> bool:
    """Tell whether it is a neighbourhood collective: its calls have a graph."""
    return collective.startswith("neighbor_")


def choices(collective: str, nranks: int, nodes: int = 1) -> list[str]:
    """Return the choices worth trying, the most promising kinds first; native is not among them."""
    text = _take(plan_library().stretto_export_choices(c_text(collective), nranks, nodes))
    if text is None:
        raise StrettoError(
            f"there is no collective {collective!r} with {nranks} ranks on {nodes} nodes",
            remedy=f"collectives are {', '.join(collectives())}",
        )
    found: list[str] = json.loads(text)
    return found


def canonical(collective: str, choice: str) -> str:
    """Return a choice in its canonical form (``chain(65536)`` is ``chain(64K)``)."""
    error = ErrorText()
    text = _take(
        plan_library().stretto_export_choice(c_text(collective), c_text(choice), *error.arguments)
    )
    if text is None:
        raise error.refusal(exit_code=EXIT_USAGE)
    return text


def choice_problem(collective: str, choice: str) -> str | None:
    """Return what is wrong with a choice, or None."""
    try:
        canonical(collective, choice)
    except StrettoError as error:
        if error.exit_code != EXIT_USAGE:
            raise
        return error.message
    return None


class CallPlans:
    """The plans of all ranks of one call; use it in a ``with`` statement.

    `hosts`: which node each rank is on, by number; None: not known, as for flat choices.
    `nbytes`: size of the vector or block, from which the number of segments follows.
    `graph`: of a neighbourhood collective, by name (``src/plan/graph.h``): ``grid(4x2)``,
    ``torus(4x2)``, ``grid2``, ``torus3``, ``star``, ``cycle``, ``all``, ``none``, ``random(7)``;
    None: ``torus2``.
    """

    def __init__(
        self,
        collective: str,
        choice: str,
        nranks: int,
        hosts: Sequence[int] | None = None,
        root: int = 0,
        in_place: bool = False,
        commutative: bool = True,
        nbytes: int = 8,
        graph: str | None = None,
    ) -> None:
        if hosts is not None and len(hosts) != nranks:
            raise ValueError(f"{len(hosts)} hosts for {nranks} ranks")
        refuse_many(nranks, "--ranks")
        self.nranks = nranks
        self.collective, self.choice, self.root = collective, choice, root
        self.in_place, self.commutative = in_place, commutative
        self.hosts = None if hosts is None else list(hosts)
        self.graph = graph
        error = ErrorText()
        self._handle: int | None = plan_library().stretto_export_build(
            c_text(collective), c_text(choice), nranks,
            None if hosts is None else (ctypes.c_int * nranks)(*hosts),
            root, int(in_place), int(commutative), ctypes.c_size_t(nbytes),
            None if graph is None else c_text(graph), *error.arguments,
        )  # fmt: skip
        if not self._handle:
            raise error.refusal(f"{collective} {choice} with {counted(nranks, 'rank')}")

    def __enter__(self) -> CallPlans:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the plans; safe to call again."""
        handle, self._handle = self._handle, None
        if handle:
            plan_library().stretto_export_close(ctypes.c_void_p(handle))

    def _open(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the plans were closed")
        return ctypes.c_void_p(self._handle)

    def text(self, rank: int) -> str:
        """Return the plan of a rank as text, one action a line."""
        if not 0 <= rank < self.nranks:
            raise StrettoError(
                f"there is no rank {rank}", remedy=f"ranks are 0 to {self.nranks - 1}"
            )
        return taken(plan_library().stretto_export_text(self._open(), rank))

    def actions(self) -> dict[str, Any]:
        """Return all actions of all ranks (the layout is described in ``src/coll/export.h``)."""
        found: dict[str, Any] = json.loads(
            taken(plan_library().stretto_export_actions(self._open()))
        )
        return found

    def verify(self) -> str | None:
        """Prove the plans; what is wrong, or None when they are proven."""
        error = ErrorText()
        if plan_library().stretto_export_verify(self._open(), *error.arguments) == 0:
            return None
        return str(error)


def parse_layout(text: str, round_robin: bool = False) -> list[int]:
    """Return each rank's node from a layout such as ``4x2`` (nodes x ppn) or ``3,2,2``.

    `round_robin`: ranks go round the nodes; otherwise each node holds consecutive ones.
    """
    try:
        if "x" in text:
            nodes, ppn = (int(word) for word in text.split("x"))
            refuse_many(nodes * ppn, "--layout")
            sizes = [ppn] * nodes
        else:
            sizes = [int(word) for word in text.split(",")]
            refuse_many(sum(sizes), "--layout")
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise StrettoError(
            f"{text!r} is not a layout",
            "--layout",
            "write NODESxPPN as in 4x2, or the ranks of each node as in 3,2,2",
            EXIT_USAGE,
        )
    if not round_robin:
        return [node for node, size in enumerate(sizes) for _ in range(size)]
    return [node for turn in range(max(sizes)) for node, size in enumerate(sizes) if turn < size]
