"""Proving the registry: which calls to try, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from stretto.counted import counted
from stretto.errors import StrettoError, meant
from stretto.measure.settings import REDUCTIONS, ROOTED
from stretto.plan import Algorithm, CallPlans, algorithms, canonical, collectives, neighborly

#: what neighbourhood collectives are tried on (src/plan/graph.h)
GRAPHS = (
    "torus1", "torus2", "torus3", "grid1", "grid2", "grid3", "star", "cycle", "all", "none",
    "random(1)", "random(2)", "random(3)",
)  # fmt: skip
_WITHOUT_IN_PLACE = ("bcast", "barrier", "reduce_scatter", "reduce_scatter_block")


@dataclass(frozen=True)
class ProofCase:
    """One call: the arguments of `stretto.plan.CallPlans`, and the algorithm."""

    algorithm: Algorithm
    choice: str
    nranks: int
    hosts: tuple[int, ...] | None
    root: int
    in_place: bool
    commutative: bool
    nbytes: int
    graph: str | None = None


@dataclass(frozen=True)
class Unproven:
    """A call that is not proven: refused (it cannot be done), or with plans that are wrong."""

    case: ProofCase
    refused: bool
    reason: str

    @property
    def algorithm(self) -> Algorithm:
        return self.case.algorithm

    def words(self) -> str:
        c = self.case
        flags = f"{', in place' if c.in_place else ''}{'' if c.commutative else ', ordered'}"
        where = f"root {c.root}" if c.graph is None else c.graph
        return f"{c.algorithm.collective} {c.choice}, {counted(c.nranks, 'rank')}, {where}{flags}"

    def as_json(self) -> dict[str, object]:
        case = {k: v for k, v in asdict(self.case).items() if k != "algorithm"}
        return {"collective": self.algorithm.collective, **case, "reason": self.reason}


def values(algorithm: Algorithm) -> list[tuple[str, int]]:
    """Return the choices that are tried of an algorithm, with the bytes of the call."""
    name = algorithm.name
    if algorithm.parameter == "radix":
        top = min(algorithm.maximum, 16)
        return [(f"{name}({k})", 8) for k in range(algorithm.minimum, top + 1)]
    if algorithm.parameter == "segment":
        size = algorithm.minimum
        return [(f"{name}({size})", size * n - 1) for n in (1, 2, 3, 5, 9)]
    if algorithm.parameter == "segment,fanout":
        size = algorithm.minimum
        found = [(f"{name}({size},{n})", size * (2 * n - 1) - 1) for n in (1, 2, 3, 7)]
        return [*found, (f"{name}({size})", size * 5 - 1)]
    if algorithm.parameter == "window":
        return [(f"{name}({k})", 8) for k in (1, 2, 3, 7) if k >= algorithm.minimum]
    return [(name, 8)]


def selected(collective: str | None, choice: str | None) -> list[tuple[Algorithm, list[str]]]:
    """Return the algorithms to prove and the choices to try of each.

    `collective`: only this one; None: all.
    `choice`: only this flat choice, with or without its parameter; None: all.
    """
    if collective is not None and collective not in collectives():
        raise StrettoError(
            f"there is no collective {collective!r}", remedy=meant(collective, collectives())
        )
    found = [a for a in algorithms() if collective in (None, a.collective)]
    if choice is None:
        return [(a, [c for c, _ in values(a)]) for a in found]
    name = choice.partition("(")[0]
    found = [a for a in found if a.name == name]
    if not found:
        assert collective is not None
        canonical(collective, choice)  # says what there is
        raise StrettoError(
            f"{choice!r} is not an algorithm of Stretto, so there is nothing to verify",
            remedy="choose one from stretto plan list",
        )
    if "(" not in choice:
        return [(a, [c for c, _ in values(a)]) for a in found]
    return [(a, [canonical(a.collective, choice)]) for a in found]


def cases(
    algorithm: Algorithm, choice: str, nranks: int, hosts: list[int] | None = None
) -> Iterator[ProofCase]:
    """Yield all calls of one rank count: every root, in place or not, commutative or not.

    Of neighbourhood collectives: every sample graph.
    """
    collective = algorithm.collective
    nbytes = dict(values(algorithm)).get(choice, 8)
    orders = (True,) if collective not in REDUCTIONS else (True, False)
    on = None if hosts is None else tuple(hosts)
    if neighborly(collective):
        for graph in GRAPHS:
            yield ProofCase(algorithm, choice, nranks, on, 0, False, True, nbytes, graph)
        return
    for root in range(nranks if collective in ROOTED else 1):
        for in_place in (False,) if collective in _WITHOUT_IN_PLACE else (False, True):
            for commutative in orders:
                yield ProofCase(
                    algorithm, choice if hosts is None else f"shm+{choice}", nranks, on, root,
                    in_place, commutative, nbytes,
                )  # fmt: skip


def prove(case: ProofCase) -> Unproven | None:
    """Build and prove one call; what stands against it, or None."""
    try:
        call = CallPlans(
            case.algorithm.collective, case.choice, case.nranks, case.hosts, case.root,
            case.in_place, case.commutative, case.nbytes, case.graph,
        )  # fmt: skip
    except StrettoError as error:
        return Unproven(case, True, error.message)
    with call:
        reason = call.verify()
    return None if reason is None else Unproven(case, False, reason)
