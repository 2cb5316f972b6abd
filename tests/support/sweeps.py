"""A campaign without an MPI: what measures is a formula, and everything else is real.

Run as a program it works on a campaign like one job among several: sweeps.py DIR [SLEEP_S]
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from stretto.campaign.conclude import conclude
from stretto.campaign.layout import Layout, ordered
from stretto.campaign.plan import LayoutPlan, make_plan
from stretto.campaign.request import Request
from stretto.campaign.worker import Worker
from stretto.files.bench import Bench, Excluded, Header, Launch, LaunchEnd, Sample, read_bench
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, Identity, MPIIdentity, now
from stretto.measure.ledger import Ledger
from stretto.measure.settings import Settings

HOST = Host("login", "A CPU", 2, "6.1", 1 << 30)
MPI = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
CANDIDATES = [
    "native",
    "ring",
    "shm",
    "recursive_doubling",
    "bare",
    "native:coll_A=1",
    "native:coll_A=2",
]
LAYOUTS = tuple(Layout(n, p) for n in (1, 2, 4) for p in (1, 2) if n * p > 1)


def random_of(*words: object) -> float:
    """A number in (0, 1) that is the same in every process."""
    digest = hashlib.sha256(repr(words).encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 1) / (2**48 + 2)


def time_us(layout: Layout, collective: str, size: int, candidate: str) -> float:
    """What a candidate takes, without noise: each has latency and bandwidth of its own."""
    a, b = {
        "native": (10, 1.0), "bare": (10, 1.0), "ring": (30, 0.3), "shm": (6, 2.0),
        "recursive_doubling": (60, 6.0), "native:coll_A=1": (8, 0.9), "native:coll_A=2": (200, 9.0),
    }[candidate]  # fmt: skip
    return a * math.log2(2 * layout.nranks) + b * size / 100 * (1 + 0.1 * layout.nodes)


class Fake:
    """Writes what a launch would measure; `between` is called before every record.

    Of candidates that are `wild`, every other launch or so takes up to three times as long. With
    `luck` all candidates of a launch take longer or shorter together, by up to half of it (of the
    logarithm), and the reference with them, unless it is not timed. Launches are said to have taken
    `slow` times what they are estimated to take.
    """

    def __init__(
        self,
        between: Callable[[], None] = lambda: None,
        crash: Callable[[int, str], bool] = lambda launch, candidate: False,
        fails: Callable[[Layout, int], bool] = lambda layout, launch: False,
        cpu: str = "A CPU",
        wild: Collection[str] = (),
        luck: float = 0.0,
        reference: bool = True,
        slow: float | None = None,
    ) -> None:
        self.luck, self.reference, self.slow = luck, reference, slow
        self.between, self.crash, self.fails, self.cpu = between, crash, fails, cpu
        self.wild = wild
        self.cells = 0
        self.launches: list[tuple[str, int]] = []

    def fits(self, layout: Layout) -> str | None:
        return "no such nodes" if layout.nodes > 8 else None

    def prepare(self, layout: Layout, oversubscribed: bool) -> str:
        return self.cpu

    def measure(
        self, settings: Settings, launch: int, writer: BenchWriter, stop_at: float | None = None
    ) -> bool:
        layout = Layout(settings.nranks // (settings.ppn or 1), settings.ppn or 1)
        self.launches.append((layout.name, launch))
        ledger = Ledger(settings, writer.previous.records)
        cases = ledger.pending(launch)
        names: dict[str, list[str]] = {}
        for case in cases:
            known = names.setdefault(case.collective, [])
            known += [c for c in case.candidates if c not in known]
        self.between()
        writer.write(
            Launch(launch, layout.nodes, layout.ppn, layout.nranks, names, 0.1,
                   settings.variant_of(launch))
        )  # fmt: skip
        if self.fails(layout, launch):
            writer.write(LaunchEnd(launch, "failed", "exit code 1"))
            return False
        luck = math.exp(self.luck * (random_of("luck", layout, launch) - 0.5))
        beside = 20 * luck if settings.reference and self.reference else None
        for case in cases:
            for candidate in case.candidates:
                if self.crash(launch, candidate):
                    writer.write(
                        Excluded(launch, case.collective, candidate, case.bytes, "failed", "11")
                    )
                    writer.write(LaunchEnd(launch, "failed", "signal 11"))
                    return False
                self.cells += 1
                true = luck * time_us(layout, case.collective, case.bytes, candidate)
                noise = 0.05 * (random_of(layout, launch, case.bytes, candidate) - 0.5)
                if candidate in self.wild:
                    often = random_of("wild", layout, launch, case.bytes, candidate)
                    noise += 4 * max(0.0, often - 0.5)
                for mode in settings.modes:
                    self.between()
                    us = true * (1 + noise) * (1.1 if mode == "throughput" else 1)
                    writer.write(
                        Sample(launch, case.collective, candidate, case.bytes, case.datatype,
                               case.operation, case.root, mode, 10, [us, us * 1.001], True,
                               reference_us=beside)
                    )  # fmt: skip
        self.between()
        seconds = None
        if self.slow is not None:
            variant = settings.variant_of(launch)
            mine = tuple(settings.cases_of(variant))
            one = replace(settings, launches=1, variants=(variant,), cases=mine)
            seconds = self.slow * one.estimate_s()
        writer.write(LaunchEnd(launch, "ok", seconds=seconds))
        return True


def bench_of(
    collective: str, launches: Mapping[int, Mapping[tuple[int, str], float]], layout: Layout
) -> Bench:
    """Results with launches that have a time in us at sizes and of candidates."""
    bench = Bench(Header("0", "", HOST, MPI, [], {"variants": ["stretto"]}))
    for k, times in launches.items():
        names = {collective: list(dict.fromkeys(name for _, name in times))}
        bench.records.append(Launch(k, layout.nodes, layout.ppn, layout.nranks, names, 0.1))
        bench.records += [
            Sample(k, collective, name, size, "MPI_FLOAT", "MPI_SUM", 0, "latency", 1, [us], True)
            for (size, name), us in times.items()
        ]
        bench.records.append(LaunchEnd(k, "ok"))
    return bench


class NoMPI:
    """Stands for an installation where candidates are given by hand, each with launches apart."""

    name, family, version = "an MPI", "intel", "1"


def plans(request: Request) -> list[LayoutPlan]:
    """The plans of a request, with the candidates above."""
    return [
        make_plan(request, NoMPI(), layout, request.shared_cores, lambda c, n: list(CANDIDATES))  # type: ignore[arg-type]
        for layout in ordered(request.layouts)
    ]


def request_of(out: Path, **more: object) -> Request:
    """A small campaign: two collectives, five layouts, six sizes."""
    values = {
        "out": out, "collectives": ("allreduce", "allgather"), "layouts": LAYOUTS,
        "sizes": (8, 24, 1000, 4096, 36000, 262144), "launches": 6,
    }  # fmt: skip
    return Request(**(values | more))  # type: ignore[arg-type]


def worker_of(
    request: Request, backend: Fake, mpi: MPIIdentity = MPI, cpu: str = HOST.cpu, **more: object
) -> Worker:
    """A process's view of the campaign."""
    values: dict[str, object] = {"quiet": True, "poll_s": 0.02}
    base = more.pop("base", request.out / "mpi")
    identity = Identity("0.1.0", now(), replace(HOST, cpu=cpu), mpi)
    said: list[str] = []
    worker = Worker(
        plans(request), base, backend, identity, ["t"], said.append,
        **(values | more),  # type: ignore[arg-type]
    )  # fmt: skip
    worker.said = said  # type: ignore[attr-defined]
    return worker


if __name__ == "__main__":
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    done = worker_of(request_of(Path(sys.argv[1])), Fake(lambda: time.sleep(pause))).run()
    sys.exit(0 if done else 3)


def table(request: Request, worker: Worker) -> str:
    """The table that comes of it, without the line that says when."""
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.table is not None
    lines = outcome.table.read_text().splitlines()
    return "\n".join(x for x in lines if not x.startswith("created"))


def written(worker: Worker) -> Counter[tuple[object, ...]]:
    """How often each measurement stands in the files."""
    return Counter(
        (path.name, r.launch, r.collective, r.bytes, r.candidate, r.mode)
        for path in worker.base.glob("*.bench.jsonl")
        for r in read_bench(path).records
        if isinstance(r, Sample)
    )
