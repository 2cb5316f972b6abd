"""Results files of given times, without a measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity

OPENMPI_4 = MPIIdentity("openmpi", "openmpi", "4.1.4")


def write_results(
    path: Path,
    samples: Iterable[Sample],
    mpi: MPIIdentity = OPENMPI_4,
    nodes: int = 2,
    ppn: int = 4,
    host: str = "h",
    hosts: Sequence[str] | None = None,
    node_cpu: str | None = None,
) -> Path:
    """Write samples, launch by launch; those of a launch name its candidates."""
    settings = {"node_cpu": node_cpu} if node_cpu else {}
    head = Header("0", "2026-11-22T00:00:00Z", Host(host, "cpu", 8, "6", 1), mpi, [], settings)
    launches: dict[int, list[Sample]] = {}
    for sample in samples:
        launches.setdefault(sample.launch, []).append(sample)
    with BenchWriter(path, head) as writer:
        for number, mine in sorted(launches.items()):
            names: dict[str, list[str]] = {}
            for s in mine:
                known = names.setdefault(s.collective, [])
                known += [s.candidate] * (s.candidate not in known)
            where = list(hosts) if hosts else None
            writer.write(Launch(number, nodes, ppn, nodes * ppn, names, hosts=where))
            for s in mine:
                writer.write(s)
            writer.write(LaunchEnd(number, "ok"))
    return path
