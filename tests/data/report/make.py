"""Make sample inputs for the report's tests: realistic in form and size, computed, never measured.

Every sample says so: the host is called ``simulated``, bench and table carry ``source: simulated``,
and the verdict's conclusion begins with it. By hand: ``python make.py DIR [CASE [measured]]``, with
CASE one of small, cluster, other, large.

The times follow a latency-bandwidth model with a spread between launches larger than within one, as
real ones do; the numbers mean nothing.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Call, Communicator, Matrix, Node, Profile, write_profile
from stretto.files.table import Row, Table, write_table
from stretto.files.verdict import GainInterval, Metric, Run, VerdictFile, write_verdict
from stretto.kinds import Source

CREATED = "2026-11-21T20:00:00Z"
OPENMPI = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4, package: Debian OpenMPI")
MPICH = MPIIdentity("mpich", "mpich", "5.0.0", "MPICH Version: 5.0.0")

# latency factor, bandwidth factor (both against native), per collective
CANDIDATES: dict[str, dict[str, tuple[float, float]]] = {
    "allreduce": {
        "native": (1.0, 1.0),
        "shm": (0.36, 1.25),
        "recursive_doubling": (0.95, 1.35),
        "ring": (2.4, 0.82),
        "rabenseifner": (1.5, 0.86),
        "bruck_k(4)": (0.8, 1.9),
        "native:coll_tuned_allreduce_algorithm=1": (1.9, 2.6),
        "native:coll_tuned_allreduce_algorithm=4": (2.1, 0.97),
    },
    "bcast": {
        "native": (1.0, 1.0),
        "shm": (0.55, 0.8),
        "knomial(2)": (1.05, 1.1),
        "knomial(4)": (0.9, 1.3),
        "scatter_allgather": (2.2, 0.9),
        "chain(64K)": (4.1, 0.95),
    },
    "reduce": {"native": (1.0, 1.0), "shm": (0.7, 0.85), "knomial(4)": (0.97, 1.4)},
    "barrier": {"native": (1.0, 1.0), "shm": (0.5, 1.0), "dissemination(2)": (1.02, 1.0)},
}
SIZES = (8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576)


@dataclass
class Case:
    """What to make; see `CASES`."""

    nodes: int
    ppn: int
    command: list[str]
    mpi: MPIIdentity
    layouts: list[tuple[int, int]]
    launches: int = 6
    batches: int = 12
    seed: int = 1
    speed: float = 1.0
    gain: float = 0.052
    source: Source = "simulated"


CASES = {
    "small": Case(1, 2, ["mpirun", "-n", "2", "icoFoam", "-parallel"], OPENMPI, [(1, 2)]),
    "cluster": Case(
        8, 8, ["srun", "-n", "64", "./cs_solver"], OPENMPI, [(1, 8), (2, 8), (4, 8), (8, 8)], seed=2
    ),
    "other": Case(
        8,
        8,
        ["srun", "-n", "64", "./cs_solver"],
        MPICH,
        [(4, 8), (8, 8)],
        seed=3,
        speed=0.7,
        gain=0.02,
    ),
    "large": Case(
        25, 40, ["srun", "./wrf.exe"], OPENMPI, [(25, 40)], launches=24, batches=110, seed=4
    ),
}


def _host(name: str = "simulated") -> Host:
    return Host(name, "AMD EPYC 7R13 Processor", 32, "6.1.0-25-amd64", 128 * 2**30)


def _model(collective: str, candidate: str, nodes: int, ppn: int, size: int, speed: float) -> float:
    """Return a time in microseconds."""
    a, b = CANDIDATES[collective][candidate]
    ranks = nodes * ppn
    latency = 0.11 * math.log2(ranks) + (9.0 * math.log2(nodes) if nodes > 1 else 0.0)
    if nodes > 1 and candidate == "shm":
        a *= 1.6
    per_byte = 8e-5 * (1 + 0.4 * math.log2(ranks)) * (3.0 if nodes > 1 else 1.0)
    return speed * (a * latency + b * per_byte * size)


def bench(case: Case, path: Path) -> None:
    """Write the bench results of a case."""
    rng = np.random.default_rng(case.seed)
    settings = {"confidence": 0.95, "threshold": 0.03, "window_us": 200, "sizes": list(SIZES)}
    header = Header("0.1.0", CREATED, _host(), case.mpi, ["stretto", "bench"], settings)
    number = 0
    with BenchWriter(path, header) as writer:
        for nodes, ppn in case.layouts:
            named = {c: list(v) for c, v in CANDIDATES.items()}
            if nodes > 1:
                named["allreduce"] = [*named["allreduce"], "lanes(2)+ring"]
            for _ in range(case.launches):
                writer.write(Launch(number, nodes, ppn, nodes * ppn, named, 0.08))
                for collective, names in CANDIDATES.items():
                    for size in (0,) if collective == "barrier" else SIZES:
                        for name in names:
                            _sample(case, writer, rng, number, collective, name, nodes, ppn, size)
                failed = nodes > 1 and number % case.launches == case.launches - 1
                status: Literal["ok", "timeout"] = "timeout" if failed and nodes == 2 else "ok"
                detail = "no answer for 120 s in allreduce ring" if status == "timeout" else ""
                writer.write(LaunchEnd(number, status, detail))
                number += 1


def _sample(
    case: Case,
    writer: BenchWriter,
    rng: np.random.Generator,
    launch: int,
    collective: str,
    name: str,
    nodes: int,
    ppn: int,
    size: int,
) -> None:
    middle = _model(collective, name, nodes, ppn, size, case.speed) * rng.lognormal(0, 0.05)
    times = middle * rng.lognormal(0, 0.02, case.batches)
    reduces = collective in ("allreduce", "reduce")
    writer.write(
        Sample(
            launch,
            collective,
            name,
            size,
            None if collective == "barrier" else "MPI_DOUBLE",
            "MPI_SUM" if reduces else None,
            0 if collective in ("bcast", "reduce") else None,
            "latency",
            100 if middle < 2 else 1,
            [round(float(t), 4) for t in times],
            True,
            case.source,
        )
    )


def table(case: Case, path: Path) -> Table:
    """Write the table that the model's times give, and return it."""
    rows = []
    for nodes, ppn in case.layouts:
        for collective, names in CANDIDATES.items():
            sizes = (0,) if collective == "barrier" else SIZES
            for i, size in enumerate(sizes):
                cost = {n: _model(collective, n, nodes, ppn, size, 1.0) for n in names}
                best = min(cost, key=lambda n: cost[n])
                ratio = cost[best] / cost["native"]
                if ratio > 0.97:
                    best, ratio = "native", 1.0
                evidence = {
                    "ratio": f"{ratio:.3g}",
                    "low": f"{ratio * 0.96:.3g}",
                    "high": f"{ratio * 1.05:.3g}",
                    "p": "0.0022" if best != "native" else "0.41",
                    "launches": str(case.launches),
                    "source": case.source,
                }
                low = 0 if i == 0 else size
                high = None if i == len(sizes) - 1 else sizes[i + 1] - 1
                rows.append(Row(collective, nodes, ppn, low, high, best, evidence))
    one = len(case.layouts) == 1
    out = Table(
        case.mpi.family,
        case.mpi.version,
        case.nodes if one else None,
        case.ppn if one else None,
        CREATED,
        "0.1.0",
        "simulated",
        _host().cpu,
        rows,
    )
    write_table(out, path)
    return out


def profile(case: Case, path: Path, complete: bool = True) -> None:
    """Write the profile of a run."""
    rng = np.random.default_rng(case.seed + 100)
    n = case.nodes * case.ppn
    wall = np.full(n, 41.7) + rng.normal(0, 0.02, n)
    load = rng.normal(1.0, 0.05, n).clip(0.8, 1.15)
    load[n // 3] = 1.18
    late = load.max() - load
    calls: list[Call] = []

    def add(
        function: str,
        kind: str,
        size: int,
        seconds: np.ndarray,
        count: int,
        wait: np.ndarray | None = None,
        operation: str | None = None,
        communicator: int | None = 0,
    ) -> None:
        has = None if wait is None else [float(v) for v in wait]
        total = seconds if wait is None else seconds + wait
        calls.append(
            Call(
                function,
                kind,  # type: ignore[arg-type]
                communicator,
                operation,
                None if function in ("MPI_Barrier", "MPI_Waitall") else "MPI_DOUBLE",
                size,
                max(size, 2 * size - 1) if size else 0,
                [count] * n,
                [count * size] * n,
                [float(v) for v in total],
                has,
                None if wait is None else [float(v) for v in seconds],
                0 if wait is None else count // 10,
            )
        )

    one = np.ones(n)
    add("MPI_Allreduce", "collective", 8, one * 2.9, 61000, late * 14, "MPI_SUM")
    add("MPI_Allreduce", "collective", 64, one * 0.71, 9200, late * 2, "MPI_SUM")
    add("MPI_Bcast", "collective", 4096, one * 0.21, 1200, late * 0.5)
    add("MPI_Barrier", "collective", 0, one * 0.06, 300, late * 1.2)
    add("MPI_Iallreduce", "nonblocking_collective", 8, one * 0.05, 400, None, "MPI_SUM")
    add("MPI_Isend", "p2p", 16384, one * 0.64 * load, 122000)
    add("MPI_Irecv", "p2p", 16384, one * 0.21, 122000)
    add("MPI_Waitall", "wait", 0, one * 1.6 + late * 3, 61000, communicator=None)
    add("MPI_File_write_at_all", "io", 1048576, one * 0.4, 12)
    add("MPI_Comm_split", "comm", 0, one * 0.03, 4)
    per_call = np.sum([c.time_s for c in calls], axis=0)
    side = round(n**0.5)
    neighbours = [
        (r, q)
        for r in range(n)
        for q in (r - 1, r + 1, r - side, r + side)
        if 0 <= q < n and q != r
    ]
    pairs = sorted(set(neighbours))
    sent = [(a, b, 61000, int(61000 * 16384 * rng.uniform(0.3, 1.6))) for a, b in pairs]
    by_node: dict[tuple[int, int], tuple[int, int]] = {}
    for a, b, messages, volume in sent:
        key = (a // case.ppn, b // case.ppn)
        m, v = by_node.get(key, (0, 0))
        by_node[key] = (m + messages, v + volume)
    write_profile(
        Profile(
            "0.1.0",
            CREATED,
            _host(),
            case.mpi,
            case.command,
            n,
            [
                Node(f"node{i + 1:02d}", list(range(i * case.ppn, (i + 1) * case.ppn)))
                for i in range(case.nodes)
            ],
            complete,
            [] if complete else [n - 1],
            [float(v) for v in wall],
            [float(v) for v in per_call],
            [0.9 if r == 0 else 0.4 for r in range(n)],
            [2e-7] * n,
            [Communicator(0, "MPI_COMM_WORLD", n, case.nodes, case.ppn)],
            calls,
            Matrix(sent),
            Matrix([(a, b, *mv) for (a, b), mv in sorted(by_node.items())]),
        ),
        path,
    )


def verdict(case: Case, path: Path, significant: bool = True) -> None:
    """Write a verdict over alternating runs."""
    rng = np.random.default_rng(case.seed + 200)
    gain = case.gain if significant else 0.002
    runs = []
    for i in range(16):
        kind: Literal["native", "tuned"] = "native" if i % 2 == 0 else "tuned"
        value = 41.7 * (1 - gain if kind == "tuned" else 1) * rng.lognormal(0, 0.006)
        runs.append(Run(kind, i, round(float(value), 3), round(float(value) + 0.4, 3), 0))
    runs.append(Run("native", 16, None, 3.1, 1))
    p = 0.00016 if significant else 0.44
    measured = GainInterval(gain - 0.009, gain, gain + 0.008, p)
    text = (
        f"(simulated) Stretto made this command {100 * gain:.1f} % faster "
        f"({100 * measured.low:.1f} % to {100 * measured.high:.1f} %)."
        if significant
        else "(simulated) No gain that could be told from chance: 1 % of the time can be tuned."
    )
    write_verdict(
        VerdictFile(
            "0.1.0",
            CREATED,
            _host(),
            case.mpi,
            case.command,
            Metric(),
            runs,
            GainInterval(gain * 0.8, gain * 1.1, gain * 1.5),
            measured,
            True,
            [text],
            "app.table",
            "app.profile.json",
            "app.bench.jsonl",
            outcome="faster" if significant else "inconclusive",
        ),
        path,
    )


def make(directory: Path, name: str = "small", source: Source = "simulated") -> Path:
    """Write a whole system into `directory` (made when missing) and return it.

    Parameters
    ----------
    directory
        Where to.
    name
        A key of `CASES`.
    source
        ``"measured"`` only to test how the report looks without its marks.
    """
    case = replace(CASES[name], source=source)
    directory.mkdir(parents=True, exist_ok=True)
    profile(case, directory / "app.profile.json", complete=name != "other")
    bench(case, directory / "app.bench.jsonl")
    table(case, directory / "app.table")
    verdict(case, directory / "app.verdict.json", significant=name != "other")
    return directory


if __name__ == "__main__":
    make(Path(sys.argv[1]), *sys.argv[2:4])  # type: ignore[arg-type]
