"""From a campaign on several nodes to native files that are proven there, under Slurm; needs root.

    python bench/campaign_exports.py [--mpis openmpi4,openmpi5,mpich,intel] [--json FILE]
    python bench/campaign_exports.py --from DIR    # export and check again what --keep has kept

On the test cluster, 4 nodes x 1 and x 2 ranks, whose links are capped so low that they decide the
times, however busy this machine is: five collectives with the MPI's own algorithms as candidates;
``stretto export`` of what was found; ``stretto export --check`` on the nodes, and ``--time``: what
the files gain all together. Then they are damaged, a wrong algorithm in one and a shifted size in
another, and ``--check`` has to name the row. Each step is a job of Slurm's. The times say which of
the MPI's algorithms sends less over the links of this cluster, and nothing about any other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from spoil import another_algorithm, another_size

import clusters
from stretto.files.bench import read_bench
from stretto.files.identity import now

CAMPAIGN = """
collectives = {collectives}
nodes = [4]
ppn = [1, 2]
shared_cores = true
bytes = "{bytes}"
candidates = {candidates}
launches = {launches}
mpis = ["{mpi}"]
stall = 60
"""
COLLECTIVES = "allreduce,bcast,reduce,allgather,alltoall"
#: what each export is for, and where the campaign has its results
TARGETS = {
    "openmpi4": ("openmpi-4", "openmpi-4*"),
    "openmpi5": ("openmpi-5", "openmpi-5*"),
    "mpich": ("mpich", "mpich-*"),
    "intel": ("intel", "intel-*"),
}
#: the MPI's own algorithms, few enough that each needs no start of its own, or few starts do
CANDIDATES = {
    "openmpi4": ["all"],
    "openmpi5": [
        "recursive_doubling", "ring", "rabenseifner", "scatter_allgather_ring", "pipeline",
        "binomial", "neighbor", "bruck", "pairwise", "linear_sync", "han simple",
    ],
    "mpich": [
        "recursive_doubling", "ring", "reduce_scatter_allgather", "binomial", "tree", "recexch",
        "scatter_ring_allgather", "scatter_recursive_doubling_allgather", "pipelined_tree",
        "reduce_scatter_gather", "brucks", "pairwise", "scattered", "nm_only",
    ],
    "intel": ["preset 1", "preset 2", "preset 3"],
}  # fmt: skip
#: rows are exported for both layouts where they have different numbers of ranks: 4 and 8
LAYOUTS = ("4x1", "4x2")


def main() -> None:
    """Go through all steps with each MPI, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpis", default=",".join(TARGETS))
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--bytes", default="8,32K")
    parser.add_argument("--candidates", help="for all of them, with ; between (native:all)")
    parser.add_argument("--launches", type=int, default=6, help="a rank test needs six")
    parser.add_argument("--bandwidth", default="50mbit", help="of each node's link")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one job")
    parser.add_argument("--keep", type=Path, help="copy campaigns and exports there")
    parser.add_argument("--from", type=Path, dest="kept", help="what --keep has kept")
    parser.add_argument("--json", type=Path, help="write (or join) what was found there")
    arguments = parser.parse_args()
    with clusters.up(4, with_slurm=True, bandwidth=arguments.bandwidth) as cluster:
        for name in arguments.mpis.split(","):
            loop = Loop(cluster, name, arguments)
            try:
                found = loop.run()
            finally:
                if arguments.keep:
                    shutil.copytree(loop.folder, arguments.keep / name, dirs_exist_ok=True)
            print(json.dumps({name: found}, indent=1), flush=True)
            if arguments.json:
                join(arguments.json, name, found, arguments.bandwidth)


def join(path: Path, name: str, found: dict[str, Any], bandwidth: str) -> None:
    """Put an MPI's results beside those of the others."""
    before = json.loads(path.read_text()) if path.exists() else {"mpis": {}}
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "bandwidth": bandwidth}
    mpis = {**before["mpis"], name: {"when": now(), "machine": machine, **found}}
    path.write_text(json.dumps({"mpis": dict(sorted(mpis.items()))}, indent=1) + "\n")


@dataclass
class Loop:
    """Campaign, export and check of one MPI."""

    cluster: clusters.testbed.Cluster
    name: str
    arguments: argparse.Namespace

    @property
    def candidates(self) -> list[str]:
        """What is measured."""
        if self.arguments.candidates:
            return str(self.arguments.candidates).split(";")
        return [f"native:{word}" for word in CANDIDATES[self.name]]

    @property
    def folder(self) -> Path:
        """Everything of this MPI's; all nodes see it."""
        return Path(self.cluster.shared, self.name)

    def run(self) -> dict[str, Any]:
        """Return what was found."""
        self.folder.mkdir()
        took = self.folder / "campaign_s"
        if self.arguments.kept:
            shutil.copytree(self.arguments.kept / self.name, self.folder, dirs_exist_ok=True)
        else:
            began = time.monotonic()
            self.measure()
            took.write_text(f"{time.monotonic() - began:.0f}")
        (target, pattern), out = TARGETS[self.name], self.folder / "tuning"
        shutil.rmtree(out, ignore_errors=True)
        results = sorted((self.folder / "campaign").glob(f"{pattern}/*/4x?.bench.jsonl"))
        assert [p.name.split(".")[0] for p in results] == list(LAYOUTS), results
        mpi = clusters.launcher(self.cluster, self.name, 1, 1)[0]
        words = ["export", "--to", target, "--out", str(out), "--mpi", mpi, "--json"]
        words.append("--beyond-measured")  # sizes here end where links decide, not where jobs' do
        words += ["--nodes", "4", "--ppn", "2"]  # Intel MPI's variables hold on all communicators
        answer = json.loads(self.job("export", [*words, *map(str, results)]))
        manifest = json.loads((out / "stretto-native.json").read_text())
        verdicts, took_s = self.check(out, 0)
        status = [v["status"] for v in verdicts if v["row"] is not None]
        bench = [read_bench(p) for p in results]
        found: dict[str, Any] = {
            "version": bench[0].header.mpi.version,
            "launches": sum(len(b.ends) for b in bench),
            "measurements": sum(len(b.samples) for b in bench),
            "candidates": len({(s.collective, s.candidate) for b in bench for s in b.samples}),
            "excluded": sorted(
                {f"{x.collective} {x.candidate}: {x.reason}" for b in bench for x in b.excluded}
            ),
            "rows": len(manifest["rows"]),
            **{s: status.count(s) for s in ("proven", "unproven", "wrong")},
            "verdicts": [f"{v['status']}: {v['words']}: {v['why']}" for v in verdicts],
            "lost": answer["lost"],
        }
        found["campaign_s"] = int(took.read_text())
        found["check_s"] = round(took_s)
        found["gains"] = self.gains(out)
        print(json.dumps(found, indent=1), flush=True)
        found["damaged"] = self.damaged(out, verdicts)
        return found

    def measure(self) -> None:
        """Run the campaign to its end."""
        file = self.folder / "campaign.toml"
        file.write_text(
            CAMPAIGN.format(
                collectives=json.dumps(self.arguments.collectives.split(",")),
                candidates=json.dumps(self.candidates),
                bytes=self.arguments.bytes,
                launches=self.arguments.launches,
                mpi=clusters.launcher(self.cluster, self.name, 1, 1)[0],
            )
        )
        out = self.folder / "campaign"
        print(self.job("tune", ["campaign", "run", str(file), "-o", str(out), "--yes"]))

    def check(self, out: Path, status: int) -> tuple[list[dict[str, Any]], float]:
        """Check an export on the nodes; return its verdicts, and how long it took in seconds."""
        mpi = clusters.launcher(self.cluster, self.name, 1, 1)[0]
        hosts = ",".join(n.name for n in self.cluster.nodes)
        words = ["export", "--check", "--out", str(out), "--mpi", mpi, "--hosts", hosts, "--json"]
        began = time.monotonic()
        verdicts: list[dict[str, Any]] = json.loads(self.job("check", words, status))["check"]
        return verdicts, time.monotonic() - began

    def gains(self, out: Path) -> dict[str, Any]:
        """Time the MPI with an export's files and without, on the nodes."""
        mpi = clusters.launcher(self.cluster, self.name, 1, 1)[0]
        hosts = ",".join(n.name for n in self.cluster.nodes)
        words = ["export", "--time", "--out", str(out), "--mpi", mpi, "--hosts", hosts]
        words += ["--launches", str(self.arguments.launches), "--restart", "--yes", "--json"]
        began = time.monotonic()
        said: dict[str, Any] = json.loads(self.job("time", words, (0, 1)))["time"]
        return {**said, "time_s": round(time.monotonic() - began)}

    def damaged(self, out: Path, verdicts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Spoil the files in two ways; return which rows ``--check`` found wrong, and how."""
        found: list[dict[str, Any]] = []
        rows = [v["row"] for v in verdicts if v["status"] == "proven"]
        proven = [row for row in rows if row is not None]
        for how, spoil in DAMAGES.items():
            spoilt = self.folder / f"spoilt-{how.split()[-1]}"
            shutil.rmtree(spoilt, ignore_errors=True)
            shutil.copytree(out, spoilt)
            for path in spoilt.iterdir():  # which name their own directory
                path.write_text(path.read_text().replace(str(out), str(spoilt)))
            row = spoil(spoilt, proven)
            if row is None:
                found.append({"damage": how, "row": None, "why": "no row can be spoilt so"})
                continue
            words = verdict_of(verdicts, row)["words"]
            wrong = [v for v in self.check(spoilt, 1)[0] if v["status"] == "wrong"]
            # where rows of a collective meet, it is the other one that no longer holds
            mine = [v for v in wrong if v["words"].split()[0] == words.split()[0]]
            assert mine, f"{how}: {words} was not found: {wrong}"
            found.append(
                {
                    "damage": how,
                    "row": words,
                    "named": sorted({v["words"] for v in mine}),
                    "by_reading": any(v["place"] for v in mine),
                    "by_running": any(not v["place"] for v in mine),
                    "why": [v["why"] for v in mine],
                    "others_wrong": len({v["row"] for v in wrong} - {v["row"] for v in mine}),
                }
            )
            print(json.dumps(found[-1], indent=1), flush=True)
        return found

    def environment(self) -> dict[str, str]:
        """Return a shell's with the MPI's module loaded; Slurm starts the ranks, not ssh."""
        return clusters.inside_a_job(self.cluster, self.name)

    def job(self, what: str, words: list[str], status: int | tuple[int, ...] = 0) -> str:
        """Run a command of Stretto's as a job of Slurm's; return what it printed."""
        allowed = status if isinstance(status, tuple) else (status,)
        script, log = self.folder / f"{what}.sh", self.folder / f"{what}.log"
        output = self.folder / f"{what}.out"
        command = shlex.join([sys.executable, "-m", "stretto", *words])
        script.write_text(
            "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=2\n"
            f"{command} > {output} 2> {log}; echo $? > {output}.status\n"
        )
        words = ["sbatch", "--wait", "-o", "/dev/null", str(script)]
        limit, env = self.arguments.limit, self.environment()
        subprocess.run(words, env=env, timeout=limit, check=True, capture_output=True)
        ended = Path(f"{output}.status").read_text().strip()
        said = log.read_text()
        assert ended in map(str, allowed), f"{what}: exit status {ended}\n{said[-5000:]}"
        assert "Traceback" not in said and "defect of Stretto" not in said, said
        return output.read_text()


def verdict_of(verdicts: list[dict[str, Any]], row: int) -> dict[str, Any]:
    """Return the verdict of a row."""
    return next(v for v in verdicts if v["row"] == row)


DAMAGES = {"another algorithm": another_algorithm, "another size": another_size}


if __name__ == "__main__":
    main()
