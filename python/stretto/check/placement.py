"""Judging where the ranks of a job are: cores, hardware threads, NUMA domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stretto.check.cluster import Placed
from stretto.check.facts import Facts
from stretto.check.finding import Finding
from stretto.counted import counted


def judge_placement(
    placed: Sequence[Placed], nodes: Mapping[str, Facts], here: Facts
) -> Iterator[Finding]:
    """Judge where the ranks are: bound to cores, two on one core, spread over NUMA domains.

    Parameters
    ----------
    placed
        Where each rank is.
    nodes
        Facts of the nodes that are known.
    here
        This machine: the others are taken to be like it.
    """
    by_node: dict[str, list[tuple[int, ...]]] = {}
    for rank in placed:
        by_node.setdefault(rank.node, []).append(rank.cpus)
    most = max(len(v) for v in by_node.values())
    unequal = len({len(v) for v in by_node.values()}) > 1
    words = (
        f"{counted(len(placed), 'rank')} on {counted(len(by_node), 'node')}, at most {most} on one"
    )
    yield Finding(
        "launch",
        "note" if unequal else "ok",
        f"started by the launcher: {words}",
        kind="unequal-nodes" if unequal else "",
    )
    yield from _binding(by_node, nodes, here)
    several = len(by_node) > 1
    for node, cpus in by_node.items():
        for finding in _on_node(cpus, nodes.get(node, here)):
            yield replace(finding, nodes=(node,) if several else ())


def _binding(
    by_node: Mapping[str, Sequence[tuple[int, ...]]], nodes: Mapping[str, Facts], here: Facts
) -> Iterator[Finding]:
    """Judge whether ranks are bound to one core each; one a node has the node to itself."""
    ranks = sum(map(len, by_node.values()))
    loose = free = 0
    crowded = False
    for node, masks in by_node.items():
        facts = nodes.get(node, here)
        crowded |= len(masks) > facts.cores
        for cpus in masks:
            loose += len(_cores_of(cpus, facts)) > 1
            free += set(cpus) >= set(facts.allowed)
    if not loose:
        yield Finding("launch", "ok", "every rank is bound to one core")
    elif loose == free == ranks:
        yield Finding(
            "launch",
            "note" if crowded or ranks == len(by_node) else "warning",
            "ranks are not bound: the system moves them between cores and away from their memory",
            "Open MPI: --bind-to core; MPICH: -bind-to core; Slurm: --cpu-bind=cores; Intel MPI "
            "binds later, in MPI_Init (I_MPI_PIN=1)",
            "unbound",
        )
    else:
        yield Finding(
            "launch",
            "note",
            f"{loose} of {counted(ranks, 'rank')} {'is' if loose == 1 else 'are'} bound to more "
            "than one core",
            "pure MPI programs: bind to cores; with threads, as many cores as threads",
            "wide-binding",
        )


def _on_node(cpus: Sequence[tuple[int, ...]], facts: Facts) -> Iterator[Finding]:
    """Judge the ranks of one node: cores taken twice, domains left out."""
    single = [c for c in cpus if len(_cores_of(c, facts)) == 1]
    if len(set(single)) < len(single):
        yield Finding(
            "launch",
            "problem",
            "several ranks are bound to the same core",
            "two launchers at once on one node, or nested jobs: bind to none, or give each its own "
            "cores",
            "same-core",
        )
    cores = [core for c in set(single) for core in _cores_of(c, facts)]
    if len(set(cores)) < len(cores):
        yield Finding(
            "launch",
            "warning",
            f"{len(cores)} ranks are bound to threads of {counted(len(set(cores)), 'core')}: two"
            " ranks share the units of one core",
            "one rank a core: Open MPI --map-by core --bind-to core (without --use-hwthread-cpus); "
            "MPICH -bind-to core; Intel MPI I_MPI_PIN_CELL=core; Slurm --hint=nomultithread",
            "hyperthreads",
        )
    numa = {n: set(threads) for n, threads in facts.numa.items() if threads}  # some: memory only
    used = {n for n, threads in numa.items() for c in cpus if set(c) & threads}
    if len(numa) > 1 and len(used) == 1 and len(cpus) > 1:
        yield Finding(
            "launch",
            "warning",
            f"all ranks are on one of {len(numa)} NUMA nodes: at least half of the memory "
            "bandwidth is not used",
            "spread them: Open MPI --map-by numa; MPICH -bind-to core -map-by numa; Slurm -m "
            "block:cyclic",
            "one-domain",
        )


def _cores_of(cpus: Sequence[int], facts: Facts) -> set[int]:
    """Return the cores, by their first hardware thread, of which a mask has one thread or more."""
    core = {cpu: group[0] for group in facts.siblings for cpu in group}
    return {core.get(cpu, cpu) for cpu in cpus}
