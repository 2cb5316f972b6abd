"""The MPI's own algorithms alternate inside one launch on several nodes, in a campaign on Slurm.

What runs is what is named: on the nodes, too, a setting made in a running process gives the
fingerprint of the same setting in the environment of a new one (test_inlaunch.py: one node).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import clusters
from clusters import inside_a_job, testbed
from mpis import MPIS, beside_others
from processes import run_program
from stretto.files.bench import read_bench
from stretto.measure.candidates import resolve
from stretto.measure.inlaunch import shared_launches, written_in
from stretto.measure.settings import make_case
from stretto.measure.variants import shared_settings
from stretto.mpi import from_launcher
from stretto.mpi.algorithms.pairs import settings_environment
from stretto.mpi.base import MPIInstallation
from test_bench_program import program
from test_inlaunch import ALGORITHMS, CASES, SWITCHING, alike, campaign, kinds

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]
NODES, PPN = 2, 2
RANKS = NODES * PPN

FILE = """
collectives = ["allreduce", "bcast"]
nodes = [2]
ppn = [2]
bytes = "8,4096"
candidates = {candidates}
launches = 1
mpis = ["{mpi}"]
stall = 200
"""


nodes = clusters.nodes_of(NODES, with_slurm=True)


def installation(name: str) -> MPIInstallation:
    mpi = MPIS[name].require()
    return from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)


def natives(here: MPIInstallation) -> dict[str, list[str]]:
    """Three of the MPI's algorithms for each of two collectives, as settings."""
    return {
        c: [resolve([f"native:{a}"], here, c, RANKS, NODES)[0] for a in names]
        for c, names in ALGORITHMS[here.family].items()
    }


@pytest.mark.parametrize("name", ["openmpi5"])
def test_a_campaign_alternates_them_in_one_start(nodes: testbed.Cluster, name: str) -> None:
    here = installation(name)
    wanted = natives(here)
    names = [f"native:{a}" for of in ALGORITHMS[here.family].values() for a in of]
    file, out = nodes.shared / f"{name}.toml", nodes.shared / f"{name}.campaign"
    mpi = clusters.launcher(nodes, name, 1, 1)[0]
    file.write_text(FILE.format(candidates=json.dumps(list(dict.fromkeys(names))), mpi=mpi))
    script, log = nodes.shared / f"{name}.sh", nodes.shared / f"{name}.log"
    script.write_text(
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2\n"
        f"exec {sys.executable} -m stretto campaign run {file} --yes\n"
    )
    with beside_others():
        subprocess.run(
            ["sbatch", "--wait", "-o", str(log), str(script)], env=inside_a_job(nodes, name),
            cwd=nodes.shared, check=True, capture_output=True, timeout=600,
        )  # fmt: skip
    said = log.read_text()
    assert "Traceback" not in said, said
    (path,) = out.glob("*/*/2x2.bench.jsonl")
    found = read_bench(path)
    assert not found.excluded and {x.status for x in found.ends.values()} == {"ok"}, said
    assert {(r.nranks, r.nodes, r.ppn) for r in found.launches} == {(RANKS, NODES, PPN)}
    assert len(found.launches) == (1 if here.family == "mpich" else 2), "a start for all of them"
    switched = [s for s in found.samples if s.candidate.startswith("native:")]
    assert all(s.correct and s.times_us for s in switched)
    assert len({s.launch for s in switched}) == 1
    for collective, mine in wanted.items():
        for size in (8, 4096):
            here_ = {s.candidate for s in switched if (s.collective, s.bytes) == (collective, size)}
            assert here_ >= set(mine), (collective, size, here_)


def prints(cluster: testbed.Cluster, name: str, text: str, env: Mapping[str, str]) -> list[Any]:
    """Take fingerprints on the nodes; what they are told of stands in `text`, as in a job."""
    mpi, folder = MPIS[name].require(), cluster.shared
    output = folder / "prints"
    output.unlink(missing_ok=True)
    head = f"stretto-job 1\noutput {output}\nstatus {folder / 'status'}\nlaunch 0\n"
    (folder / "job").write_text(head + text + "end\n")
    told = dict(env)
    variables = clusters.environment(cluster, name)
    if mpi.family == "openmpi":
        told |= {"OMPI_MCA_pml_monitoring_enable": "1", "OMPI_MCA_pml": "ob1,monitoring"}
        told |= {"OMPI_MCA_coll": "^monitoring"}
    words = [str(program(mpi.family)), "--fingerprint", str(folder / "job")]
    # settings reach the ranks of other nodes through the launcher
    given = [f"{k}={v}" for k, v in told.items()]
    given.append(f"LD_LIBRARY_PATH={mpi.libmpi.parent}")
    launcher = clusters.launcher(cluster, name, NODES, PPN)
    with beside_others():
        done = run_program(
            [*launcher, "env", *given, *words], env=variables | told, cwd=folder, timeout=600
        )
    # how it ends does not matter: Open MPI's monitoring may crash in MPI_Finalize
    seen = [json.loads(x) for x in output.read_text().splitlines()]
    assert len(seen) == text.count("candidate "), done.stderr
    return seen


@pytest.mark.parametrize("name", SWITCHING)
def test_what_is_set_in_the_launch_runs_on_all_nodes(nodes: testbed.Cluster, name: str) -> None:
    here = installation(name)
    wanted = natives(here)
    if here.family == "mpich":
        # only who waits for whom would tell its broadcasts apart, and that is a matter of time
        del wanted["bcast"]
    own = f"candidate {RANKS}\n"
    shared = shared_launches(here, [make_case(c, 8, mine) for c, mine in wanted.items()], 2)
    (launch,) = set(shared.values())
    text, calls = "", "".join(CASES[c] + own for c in wanted)
    for collective, mine in wanted.items():
        text += CASES[collective] + own
        settings = campaign(mine, shared)
        for pairs in written_in(settings, here, 0, settings.cases).values():
            text += own + "".join(f"set {n} {v}\n" for n, v in pairs)
        text += own
    given = ",".join(f"{n}={v}" for n, v in shared_settings(launch).items())
    begun = settings_environment(here.family, given) if given else {}
    together = prints(nodes, name, text, begun)
    alone = prints(nodes, name, calls, begun)  # Open MPI 5: HAN off, as with each of them
    apart = []
    for k in range(3):
        env: dict[str, str] = {}
        for mine in wanted.values():
            env |= settings_environment(here.family, mine[k].partition(":")[2])
        apart.append(prints(nodes, name, calls, env))
    for i, collective in enumerate(wanted):
        before, *told, after = together[5 * i : 5 * i + 5]
        assert {p["collective"] for p in (before, *told, after)} == {collective}
        assert all(alike(p, outside[i]) for p, outside in zip(told, apart, strict=True)), collective
        assert alike(before, alone[i]) and alike(after, alone[i]), "around it the native choice"
        different = {tuple(sorted(kinds(p).items())) for p in told}
        assert len(different) == 3, different
