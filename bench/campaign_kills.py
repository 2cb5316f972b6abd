"""A full campaign on the test cluster under Slurm, killed at random and resumed; needs root.

    python bench/campaign_kills.py [--kills 5] [--mpis openmpi4,openmpi5,mpich] [--json FILE]
    python bench/campaign_kills.py --check DIR    # the last step alone, of what --keep has kept

Four nodes x 1 and x 2 ranks, five collectives, three MPIs. Each kill is SIGKILL to all of the job
after a random number of measurements. In the end: no measurement is lost and none counts twice;
what a kill cut off was measured again, and nothing else was; and an undisturbed campaign that is
given the very same measurements asks for all of them and no others, and makes the same table.
The nodes share this machine's cores: their links are capped so low that these decide the times, and
rows choose something, however busy it is. The times say nothing about any other cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import clusters
from stretto.campaign.begun import read_about
from stretto.campaign.conclude import conclude
from stretto.campaign.layout import Layout
from stretto.campaign.plan import plan_of
from stretto.campaign.request import Request
from stretto.campaign.status import read_status
from stretto.campaign.worker import Worker
from stretto.files.bench import Bench, LaunchEnd, Sample, read_bench
from stretto.files.bench_writer import BenchWriter
from stretto.files.table import read_table
from stretto.measure.ledger import Ledger
from stretto.measure.settings import Settings

CAMPAIGN = """
collectives = ["allreduce", "bcast", "reduce", "allgather", "alltoall"]
nodes = [4]
ppn = [1, 2]
shared_cores = true
bytes = "{bytes}"
candidates = ["recursive_doubling", "knomial(2)", "ring", "pairwise"]
launches = {launches}
mpis = {mpis}
stall = 120
"""
#: of an MPI's results: the directory's name
DIRECTORIES = {
    "openmpi4": "openmpi-4*",
    "openmpi5": "openmpi-5*",
    "mpich": "mpich-*",
    "intel": "intel-*",
}
CellKey = tuple[int, str, int]  # launch, collective, bytes: its candidates ran in one process
Key = tuple[int, str, int, str, str]  # and candidate, mode


def environment(cluster: clusters.testbed.Cluster) -> dict[str, str]:
    """Return a shell's environment inside the allocation: no MPI's module loaded."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "PRTE", "PMIX"))}
    env |= clusters.slurm.variables(cluster)
    for owner in ("OMPI", "PRTE"):
        env |= dict.fromkeys(
            (f"{owner}_ALLOW_RUN_AS_ROOT", f"{owner}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1"
        )
    env |= {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    env |= {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": f"{cluster.network}.0/24"}
    env |= {"OMPI_MCA_oob_tcp_if_include": f"{cluster.network}.0/24"}
    env |= {"PRTE_MCA_hwloc_default_binding_policy": "none"}
    env |= {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "I_MPI_PIN": "0"}
    return env


@dataclass(frozen=True)
class Kill:
    """The job is killed once so many measurements of an MPI are in the files."""

    mpi: str
    after: int


def kills_of(names: Sequence[str], number: int, most: int, chance: random.Random) -> list[Kill]:
    """Return the kills in the order in which they come: as many of each MPI as can be."""
    shares = [number // len(names)] * len(names)
    for at in chance.sample(range(len(names)), number % len(names)):
        shares[at] += 1
    return [
        Kill(name, after)
        for name, share in zip(names, shares, strict=True)
        for after in sorted(chance.sample(range(1, most), share))
    ]


def main() -> None:
    """Run the campaign, kill it, and check what is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--launches", type=int, default=6, help="a rank test needs six")
    parser.add_argument("--mpis", default="openmpi4,openmpi5,mpich")
    parser.add_argument("--bytes", default="8,36000")
    parser.add_argument("--bandwidth", default="50mbit", help="of each node's link")
    parser.add_argument("--most", type=int, default=300, help="measurements before an MPI's kill")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one start")
    parser.add_argument("--keep", type=Path, help="copy the campaign there, done or not")
    parser.add_argument("--check", type=Path, help="check this campaign; nothing is run")
    parser.add_argument("--json", type=Path, help="write (or join) the figures there")
    arguments = parser.parse_args()
    if arguments.check is not None:
        figures = check(arguments.check, json.loads((arguments.check / "kills.json").read_text()))
    else:
        figures = run(arguments)
    print(json.dumps(figures, indent=1))
    if arguments.json:
        if arguments.json.exists():
            figures = joined(json.loads(arguments.json.read_text()), figures)
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def joined(before: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of several runs as one: of an MPI, those of the last."""
    mpis = {**before["mpis"], **figures["mpis"]}
    mine = {kill["mpi"] for kill in figures["kills"]}
    kills = [kill for kill in before["kills"] if kill["mpi"] not in mine] + figures["kills"]
    return {"kills": kills, "mpis": mpis}


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the campaign with its kills; return what was found."""
    names, chance = arguments.mpis.split(","), random.Random(arguments.seed)
    with clusters.up(4, with_slurm=True, bandwidth=arguments.bandwidth) as cluster:
        file = cluster.shared / "full.toml"
        mpis = [clusters.launcher(cluster, name, 1, 1)[0] for name in names]
        file.write_text(
            CAMPAIGN.format(
                mpis=json.dumps(mpis), launches=arguments.launches, bytes=arguments.bytes
            )
        )
        out = file.with_suffix(".campaign")
        job = Job(cluster, file, out, arguments.limit)
        done: list[dict[str, object]] = []
        try:
            for kill in kills_of(names, arguments.kills, arguments.most, chance):
                done.append(job.killed(kill, chance))
                (out / "kills.json").write_text(json.dumps(done, indent=1) + "\n")
            job.to_its_end()
            return check(out, done)
        finally:
            if arguments.keep and out.exists():
                shutil.copytree(out, arguments.keep, dirs_exist_ok=True)


@dataclass
class Job:
    """The job that works on the campaign: submitted as often as it is killed."""

    cluster: clusters.testbed.Cluster
    file: Path
    out: Path
    limit_s: float
    env: dict[str, str] = field(init=False)
    starts: int = 0

    def __post_init__(self) -> None:
        """Write the job's script."""
        self.env = environment(self.cluster)
        self.script = self.cluster.shared / "job.sh"
        core = min(os.sched_getaffinity(0))
        tune = f"{sys.executable} -m stretto campaign run {self.file} --yes"
        self.script.write_text(
            f"#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=2\nexec taskset -c {core} {tune}\n"
        )

    def killed(self, kill: Kill, chance: random.Random) -> dict[str, object]:
        """Submit it and kill it; return what was under way."""
        number = self._submit()
        until = time.monotonic() + self.limit_s
        while measured(self.out, kill.mpi) < kill.after:
            assert self._there(number), f"it ended by itself: {self.log.read_text()}"
            assert time.monotonic() < until, "it takes too long"
            time.sleep(0.1)
        time.sleep(chance.random())
        there = measured(self.out, kill.mpi)
        under_way, ended = launches(self.out)
        assert self._there(number), f"it ended before the kill: {self.log.read_text()}"
        self._slurm("scancel", "--signal=KILL", "--full", number)
        while self._there(number):
            time.sleep(0.1)
        self._no_fault()
        found: dict[str, object] = {"mpi": kill.mpi, "after_measurements": there}
        found |= {"launches_done": ended, "in_a_launch": under_way > 0}
        print(f"start {self.starts}: killed: {found}", flush=True)
        return found

    def to_its_end(self) -> None:
        """Submit it and let it come to its end."""
        number, until = self._submit(), time.monotonic() + self.limit_s
        while self._there(number):
            assert time.monotonic() < until, "it takes too long"
            time.sleep(0.3)
        self._no_fault()
        print(self.log.read_text()[-1500:], flush=True)

    @property
    def log(self) -> Path:
        """What the present start prints."""
        return self.cluster.shared / f"log{self.starts}"

    def _submit(self) -> str:
        self.starts += 1
        return self._slurm("sbatch", "--parsable", "-o", str(self.log), str(self.script))

    def _there(self, number: str) -> bool:
        return bool(self._slurm("squeue", "-h", "-j", number))

    def _no_fault(self) -> None:
        text = self.log.read_text()
        assert "Traceback" not in text and "defect of Stretto" not in text, text

    def _slurm(self, *words: str) -> str:
        done = subprocess.run(
            words, env=self.env, capture_output=True, text=True, timeout=120, check=False
        )
        gone = words[0] == "squeue" and "Invalid job id" in done.stderr
        assert done.returncode == 0 or gone, done.stderr
        return done.stdout.strip()


def measured(out: Path, mpi: str) -> int:
    """Return how many measurements of an MPI are in the files, by their lines."""
    paths = out.glob(f"{DIRECTORIES[mpi]}/*/*.bench.jsonl")
    return sum(p.read_bytes().count(b'{"type": "sample"') for p in paths)


def launches(out: Path) -> tuple[int, int]:
    """Return how many launches are under way, and how many have ended."""
    begun = ended = 0
    for path in out.glob("*/*/*.bench.jsonl"):
        bench = read_bench(path)
        begun += len({x.launch for x in bench.launches})
        ended += len(bench.ends)
    return begun - ended, ended


class Replay:
    """Gives an undisturbed campaign the measurements of another one, and nothing else."""

    def __init__(self, benches: dict[Layout, Bench], cpu: str) -> None:
        self.benches, self.cpu = benches, cpu
        self.given: set[tuple[Layout, Key]] = set()
        self.samples = {(x, key(s)): s for x, b in benches.items() for s in b.samples}

    def fits(self, layout: Layout) -> str | None:
        """Everything that was measured can be."""
        return None if layout in self.benches else "not measured"

    def prepare(self, layout: Layout, oversubscribed: bool) -> str:
        """Return the nodes' processor."""
        del layout, oversubscribed
        return self.cpu

    def measure(self, settings: Settings, launch: int, writer: BenchWriter) -> bool:
        """Write what was measured of a launch; what is missing was lost."""
        layout = Layout(settings.nranks // (settings.ppn or 1), settings.ppn or 1)
        bench = self.benches[layout]
        *_, begun = (x for x in bench.launches if x.launch == launch)
        writer.write(begun)
        excluded = {
            (x.collective, x.candidate): x for x in bench.excluded if x.launch == launch
        }  # of a launch's candidates, those that crashed or gave wrong results
        for x in excluded.values():
            writer.write(x)
        for case in Ledger(settings, writer.previous.records).pending(launch):
            for candidate in case.candidates:
                for mode in settings.modes:
                    k = (launch, case.collective, case.bytes, candidate, mode)
                    if (layout, k) in self.samples:
                        writer.write(self.samples[layout, k])
                        self.given.add((layout, k))
                    else:
                        assert (case.collective, candidate) in excluded, f"lost: {layout} {k}"
        writer.write(LaunchEnd(launch, "ok"))
        return True


def key(s: Sample) -> Key:
    """Return which measurement it is."""
    return (s.launch, s.collective, s.bytes, s.candidate, s.mode)


def check(out: Path, kills: list[dict[str, object]]) -> dict[str, Any]:
    """Raise an error unless everything was measured once, and the table is that of the whole."""
    status = read_status(out)
    assert status["complete"], status
    figures: dict[str, Any] = {"kills": kills, "mpis": {}}
    cut = 0
    for system in status["systems"]:
        base = Path(system["directory"])
        found, more = check_system(out, base, Path(system["table"]))
        cut += more
        figures["mpis"][system["mpi"]] = found
    assert cut <= len(kills), "more was measured again than the kills cut off"
    return figures


def check_system(out: Path, base: Path, table: Path) -> tuple[dict[str, object], int]:
    """Check one MPI's measurements; return the figures, and the cells that were cut off."""
    about = read_about(out)
    plans, benches, again = [], {}, 0
    cut: set[tuple[Layout, CellKey]] = set()
    for name, asked in about.systems[f"{base.parent.name}/{base.name}"].items():
        path = base / f"{name}.bench.jsonl"
        bench = read_bench(path)
        plans.append(plan_of(bench.header, asked.launches, path))
        benches[plans[-1].layout] = bench
        written = Counter(key(s) for s in bench.samples)
        twice = [k for k, n in written.items() if n > 1]
        again += sum(written[k] - 1 for k in twice)
        cut |= {(plans[-1].layout, k[:3]) for k in twice}
    identity = bench.header.identity
    backend = Replay(benches, identity.host.cpu)
    with tempfile.TemporaryDirectory() as kept:
        request = Request(
            out=Path(kept), layouts=tuple(p.layout for p in plans), launches=asked.launches
        )
        worker = Worker(
            plans, Path(kept) / base.parent.name / base.name, backend, identity, ["replay"],
            lambda text: None, quiet=True,
        )  # fmt: skip
        assert worker.run(), "the undisturbed campaign does not come to its end"
        outcome = conclude(request, worker, lambda text: None, True)
        assert backend.given == set(backend.samples), "measured, but not asked for when undisturbed"
        assert outcome.table is not None
        rows, undisturbed = read_table(table).rows, read_table(outcome.table).rows
        assert rows == undisturbed, "another table"
    return {
        "layouts": [p.layout.name for p in plans],
        "launches": sum(len(b.ends) for b in benches.values()),
        "measurements": sum(len(b.samples) for b in benches.values()),
        "cut_off_and_measured_again": again,
        "rows": len(rows),
        "rows_that_choose": sum(r.choice != "native" for r in rows),
        "excluded": sum(len(b.excluded) for b in benches.values()),
    }, len(cut)


if __name__ == "__main__":
    main()
