"""Rows for native files, and results, that the tests of `stretto export` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stretto.export.rules import Rule
from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity
from stretto.files.layout import RankLayout
from stretto.kinds import Source

FOUR, FIVE = RankLayout(1, 4, 4), RankLayout(1, 5, 5)
#: s: for which it is looked again where a busy machine hid what shows an algorithm, all looks of a
#: test together
LOOKS_S = 1200


def tuned(collective: str, algorithm: int, **more: int) -> tuple[tuple[str, str], ...]:
    """Open MPI's coll/tuned, forced."""
    base = f"coll_tuned_{collective}_algorithm"
    return ((base, str(algorithm)), *((f"{base}_{n}", str(v)) for n, v in more.items()))


def preset(collective: str, n: int) -> tuple[tuple[str, str], ...]:
    """Intel MPI's."""
    return ((f"I_MPI_ADJUST_{collective.upper()}", str(n)),)


def mpir(collective: str, name: str, **more: int) -> tuple[tuple[str, str], ...]:
    """MPICH's, as discovery names it: forced over the whole communicator."""
    upper = f"MPIR_CVAR_{collective.upper()}"
    flat = (("MPIR_CVAR_DEVICE_COLLECTIVES", "percoll"), (f"{upper}_DEVICE_COLLECTIVE", "0"))
    return (
        (f"{upper}_INTRA_ALGORITHM", name),
        *flat,
        *((f"{upper}_{n}", str(v)) for n, v in more.items()),
    )


#: what every Open MPI from 4 to 6 takes: a reduction, and collectives that only messages tell apart
TUNED = [
    Rule("allreduce", FIVE, 0, 1000, ()),
    Rule("allreduce", FIVE, 1001, 100000, tuned("allreduce", 4)),
    Rule("allreduce", FIVE, 100001, None, ()),
    Rule("allreduce", FOUR, 0, None, tuned("allreduce", 1)),
    Rule("bcast", FIVE, 0, 9999, tuned("bcast", 2, chain_fanout=2, segmentsize=1024)),
    Rule("bcast", FIVE, 10000, None, ()),
    Rule("allgather", FIVE, 512, None, tuned("allgather", 4)),
    Rule("barrier", FOUR, 0, None, tuned("barrier", 2)),
    Rule("allgatherv", FIVE, 0, 511, ()),
    Rule("allgatherv", FIVE, 512, None, tuned("allgatherv", 3)),
    Rule("reduce_scatter", FIVE, 0, 511, ()),
    Rule("reduce_scatter", FIVE, 512, None, tuned("reduce_scatter", 3)),
]


def result_file(
    path: Path,
    times: Mapping[tuple[str, int], Mapping[str, float]],
    layout: RankLayout = FIVE,
    mpi: MPIIdentity | None = None,
    cpu: str = "one",
    source: Source = "measured",
    launches: int = 8,
) -> Path:
    """Write results of some launches; times in us by collective and size, then by candidate."""
    identity = mpi or MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11")
    head = Header("0", "2026-11-22T00:00:00Z", Host("h", cpu, 8, "6", 1 << 30), identity, [])
    candidates_of: dict[str, list[str]] = {}
    for (collective, _), names in times.items():
        candidates_of.setdefault(collective, list(names))
    with BenchWriter(path, head) as writer:
        for launch in range(launches):
            writer.write(
                Launch(launch, layout.nodes, layout.ppn, layout.nranks, candidates_of, None, "bare")
            )
            for (collective, size), candidates in times.items():
                for name, us in candidates.items():
                    values = [us * (1 + 0.001 * ((launch * 7 + i) % 5)) for i in range(9)]
                    writer.write(
                        Sample(
                            launch, collective, name, size, "MPI_BYTE", None, 0, "throughput", 10,
                            values, True, source,
                        )
                    )  # fmt: skip
            writer.write(LaunchEnd(launch, "ok"))
    return path
