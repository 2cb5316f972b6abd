"""What an MPI does by itself, expressed as plans: the baseline of simulations and forecasts.

Facts about the MPIs' built-in decisions (which algorithm at which size), restated; an MPI that does
more (a shared-memory hierarchy of its own) is described by another baseline of the same list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stretto.errors import EXIT_USAGE, StrettoError
from stretto.plan import choice_problem, choices


@dataclass(frozen=True)
class Baseline:
    """One MPI's built-in decisions.

    `name`, `help`: as on the command line, and where the facts are from.
    `decide`: from collective, ranks, nodes and bytes to the choice (flat plans of Open MPI), or
    None.
    """

    name: str
    help: str
    decide: Callable[[str, int, int, int], str | None]


def _openmpi_bcast(p: int, n: int) -> str:
    if n < 2048:
        return "binomial_doubling(64M)"
    if n < 370728:
        return "split_binary(1K)"
    if p < 1.6134e-6 * n + 2.1102:
        return "pipeline(128K)"
    if p < 13:
        return "split_binary(8K)"
    if p < 2.3679e-6 * n + 1.1787:
        return "pipeline(64K)"
    if p < 3.2118e-6 * n + 8.7936:
        return "pipeline(16K)"
    return "pipeline(8K)"


def _openmpi(collective: str, p: int, nodes: int, n: int) -> str | None:
    del nodes  # these decisions do not look at nodes
    if collective.startswith("neighbor_"):
        return "direct(1048576)"
    power = p & (p - 1) == 0
    if collective == "allreduce":
        return "recursive_doubling" if n < 10000 else "ring"
    if collective == "bcast":
        return _openmpi_bcast(p, n)
    if collective == "reduce":
        return "knomial(2)"
    if collective == "allgather":
        if n * p < 50000:
            return "recursive_doubling" if power else "bruck_k(2)"
        return "ring"
    if collective == "allgatherv":
        return "bruck_k(2)" if n * p < 50000 else "ring" if p % 2 else "neighbor_exchange"
    if collective == "barrier":
        return "recursive_doubling" if power else "dissemination(2)"
    if collective in ("reduce_scatter", "reduce_scatter_block"):
        return "recursive_halving" if n * p <= 12288 or (power and n * p <= 262144) else "ring"
    if collective in ("alltoall", "alltoallv"):
        if collective == "alltoall" and n < 200 and p > 12:
            return "bruck_k(2)"
        if collective == "alltoallv":
            return "pairwise"
        return "linear(1048576)" if n < 3000 else "pairwise"
    return {
        "gather": "knomial(2)",
        "gatherv": "linear",
        "scatter": "knomial(2)",
        "scatterv": "linear",
        "scan": "linear",
        "exscan": "linear",
    }.get(collective)


def _hierarchical(collective: str, p: int, nodes: int, n: int) -> str | None:
    if nodes == 1:
        return "shm" if collective in ("allreduce", "bcast", "reduce", "allgather") else (
            _openmpi(collective, p, nodes, n)
        )  # fmt: skip
    inner = _openmpi(collective, nodes, nodes, n)
    if inner is None or collective not in ("allreduce", "bcast", "reduce", "allgather", "barrier"):
        return _openmpi(collective, p, nodes, n)
    return f"shm+{inner}"


BASELINES: dict[str, Baseline] = {
    b.name: b
    for b in (
        Baseline(
            "openmpi",
            "Open MPI's coll/tuned up to 4.0: its fixed decisions for bcast, allreduce, alltoall, "
            "allgather; one common algorithm for the others",
            _openmpi,
        ),
        Baseline(
            "hierarchical",
            "as Intel MPI or HAN: within nodes by shared memory, then Open MPI's between leaders",
            _hierarchical,
        ),
    )
}

#: an equivalent for a choice that this Stretto's registry may lack, worst first to try
_STAND_INS = {
    ("bcast", "binomial_doubling"): "knomial(2)",
    ("bcast", "split_binary"): "knomial(2)",
    ("bcast", "pipeline"): "chain",
    ("allgather", "recursive_doubling"): "bruck_k(2)",
    ("alltoall", "bruck_k"): "linear(32)",
}


def native_choice(baseline: str, collective: str, nranks: int, nodes: int, nbytes: int) -> str:
    """Return the choice that stands for what the MPI does.

    `baseline`: ``openmpi`` or ``hierarchical``.
    """
    if baseline not in BASELINES:
        raise StrettoError(
            f"there is no baseline {baseline!r}", "--baseline", f"there are {', '.join(BASELINES)}",
            EXIT_USAGE,
        )  # fmt: skip
    choice = BASELINES[baseline].decide(collective, nranks, nodes, nbytes)
    if choice is None:
        raise StrettoError(f"the MPI's way of {collective} is not described", remedy="leave it out")
    if choice_problem(collective, choice) is None:
        return choice
    prefix = "shm+" if choice.startswith("shm+") else ""
    name, bracket, argument = choice.removeprefix(prefix).partition("(")
    for other in (f"{name}", _STAND_INS.get((collective, name), name) + bracket + argument,
                  _STAND_INS.get((collective, name), name)):  # fmt: skip
        if choice_problem(collective, prefix + other) is None:
            return prefix + other
    flat = [c for c in choices(collective, nranks, nodes) if "+" not in c and c != "shm"]
    if not flat:
        raise StrettoError(f"there is no plan for {collective} by {choice}", remedy="leave it out")
    return flat[0]
