"""What an MPI does by itself, expressed as plans: the baseline of simulations and forecasts.

Facts about the MPIs' built-in decisions (which algorithm at which size), restated; an MPI that does
more (a shared-memory hierarchy of its own) is described by another baseline of the same list.
"""

from __future__ import annotations

from collections.abc import Callable

from stretto.errors import StrettoError, UsageError


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
    if collective in ("gather", "scatter"):
        return "knomial(2)"
    return "linear" if collective in ("gatherv", "scatterv", "scan", "exscan") else None


def _hierarchical(collective: str, p: int, nodes: int, n: int) -> str | None:
    if nodes == 1:
        return "shm" if collective in ("allreduce", "bcast", "reduce", "allgather") else (
            _openmpi(collective, p, nodes, n)
        )  # fmt: skip
    inner = _openmpi(collective, nodes, nodes, n)
    if inner is None or collective not in ("allreduce", "bcast", "reduce", "allgather", "barrier"):
        return _openmpi(collective, p, nodes, n)
    return f"shm+{inner}"


#: what decides, from collective, ranks, nodes and bytes: Open MPI's coll/tuned up to 4.0 (its fixed
#: decisions for bcast, allreduce, alltoall, allgather; one common algorithm for the others); as
#: Intel MPI or HAN, within nodes by shared memory, then Open MPI's between leaders
BASELINES: dict[str, Callable[[str, int, int, int], str | None]] = {
    "openmpi": _openmpi,
    "hierarchical": _hierarchical,
}


def native_choice(baseline: str, collective: str, nranks: int, nodes: int, nbytes: int) -> str:
    """Return the choice that stands for what the MPI does."""
    if baseline not in BASELINES:
        raise UsageError(
            f"there is no baseline {baseline!r}",
            "--baseline",
            f"choose from {', '.join(BASELINES)}",
        )
    choice = BASELINES[baseline](collective, nranks, nodes, nbytes)
    if choice is None:
        raise StrettoError(
            f"the model has no native algorithm for {collective}", remedy=f"leave out {collective}"
        )
    return choice
