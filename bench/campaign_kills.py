"""A full campaign on the test cluster under Slurm, killed at random and resumed; needs root.

    python bench/campaign_kills.py [--kills 5] [--mpis openmpi4,openmpi5,mpich] [--json FILE]

Four nodes x 1 and x 2 ranks, five collectives, three MPIs. In the end: no measurement is lost
(every launch of every round is done), none is repeated, and the table is the one that an
undisturbed campaign would make of the same measurements. Nothing here is a timing: the nodes share
this machine's cores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))
import clusters
from stretto.files.bench import Sample, read_bench
from stretto.files.table import read_table
from stretto.sweep.decide import decide_all
from stretto.sweep.layout import parse_layout
from stretto.sweep.status import read_status

CAMPAIGN = """
collectives = ["allreduce", "bcast", "reduce", "allgather", "alltoall"]
nodes = [4]
ppn = [1, 2]
bytes = "8,1000,36000"
candidates = ["recursive_doubling", "knomial(2)", "ring", "pairwise"]
launches = {launches}
mpis = {mpis}
stall = 120
"""


def environment(cluster: clusters.testbed.Cluster, names: list[str]) -> dict[str, str]:
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


def main() -> None:
    """Run the campaign, kill it, and check what is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--mpis", default="openmpi4,openmpi5,mpich")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1200, help="seconds for one start")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    names, chance = arguments.mpis.split(","), random.Random(arguments.seed)
    began = time.monotonic()
    with clusters.up(4, with_slurm=True) as cluster:
        file = cluster.shared / "full.toml"
        mpis = [clusters.launcher(cluster, name, 1, 1)[0] for name in names]
        file.write_text(CAMPAIGN.format(mpis=json.dumps(mpis), launches=arguments.launches))
        out = file.with_suffix(".campaign")
        env = environment(cluster, names)
        script = cluster.shared / "job.sh"
        core = min(os.sched_getaffinity(0))
        script.write_text(
            "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=2\n"
            f"exec taskset -c {core} {sys.executable} -m stretto tune --campaign {file} --yes\n"
        )
        for number in range(arguments.kills + 1):
            done, log = ended(out), cluster.shared / f"log{number}"
            job = slurm(env, "sbatch", "--parsable", "-o", str(log), str(script))
            more = chance.randrange(1, 5)
            until = time.monotonic() + arguments.limit
            while slurm(env, "squeue", "-h") and time.monotonic() < until:
                time.sleep(0.3)
                if number < arguments.kills and ended(out) >= done + more:
                    time.sleep(2 * chance.random())
                    slurm(env, "scancel", "--signal=KILL", "--full", job)
                    until = 0.0
            while slurm(env, "squeue", "-h"):
                time.sleep(0.3)
            print(f"start {number + 1}: {ended(out) - done} launches", flush=True)
            text = log.read_text()
            assert "Traceback" not in text, text
            if number == arguments.kills:
                print(text[-1500:])
        figures = check(out, arguments.kills)
    figures["wall_s"] = round(time.monotonic() - began)
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def slurm(env: dict[str, str], *words: str) -> str:
    """Run a command of Slurm's and return what it prints."""
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def ended(out: Path) -> int:
    """Return how many launches are over."""
    return len(list(out.glob("*/*/*/claims/*.end")))


def check(out: Path, kills: int) -> dict[str, object]:
    """Raise an error unless everything was measured once, and the table is that of the whole."""
    status = read_status(out)
    assert status["complete"], status
    figures: dict[str, object] = {"kills": kills, "mpis": {}}
    for system in status["systems"]:
        base = Path(system["directory"])
        benches, written, counted = {}, Counter(), 0
        for path in sorted(base.glob("*.bench.jsonl")):
            bench = read_bench(path)
            layout = parse_layout(path.name.split(".")[0])
            benches[layout] = bench
            cells = [(s.launch, s.collective, s.bytes, s.candidate, s.mode) for s in bench.samples]
            assert len(cells) == len(set(cells)), "a measurement counts twice"
            counted += len(cells)
            for session in (base / layout.name).glob("*.bench.jsonl"):
                for r in read_bench(session).records:
                    if isinstance(r, Sample):
                        written[layout, r.launch, r.collective, r.bytes, r.candidate, r.mode] += 1
        assert len(written) >= counted, "a measurement was lost"
        again = sum(n - 1 for n in written.values())
        plans = {x["layout"]: x["total"] // x["rounds"] for x in system["layouts"]}
        decided = decide_all(benches, {x: plans[x.name] for x in benches})
        rows = [r for d in decided.values() for r in d.rows]
        table = read_table(Path(system["table"])).rows
        assert [(r.choice, r.low, r.high, r.nodes, r.ppn) for r in rows] == [
            (r.choice, r.low, r.high, r.nodes, r.ppn) for r in table
        ], "another table"
        figures["mpis"][system["mpi"]] = {  # type: ignore[index]
            "layouts": [x["layout"] for x in system["layouts"]],
            "measurements": counted,
            "cut_off_and_measured_again": again,
            "rows": len(table),
            "starts": len({p.name for p in base.glob("*/*.bench.jsonl")}),
        }
    return figures


if __name__ == "__main__":
    main()
