"""A campaign on real Slurm on the namespace cluster: submitted, killed, resumed, one table."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clusters
import sweeps
from clusters import CELL, campaign_status, inside_a_job, state, stretto, submit, testbed, until
from mpis import beside_others
from processes import executable, run_program
from stretto.campaign.layout import Layout
from stretto.campaign.submit import SlurmJob, script
from stretto.files.table import read_table

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]

CAMPAIGN = """
collectives = ["allreduce", "bcast"]
nodes = [1, 2]
ppn = [1, 2]
bytes = "8,1000"
candidates = ["recursive_doubling", "knomial(2)", "native:linear"]
launches = 3
mpis = ["{mpi}"]
launcher = "{launcher}"
stall = 200
"""


nodes = clusters.nodes_of(2, with_slurm=True)


def campaign(nodes: testbed.Cluster, name: str, launcher: str) -> Path:
    mpi = clusters.launcher(nodes, name, 1, 1)[0]
    path = nodes.shared / f"{name}-{launcher}.toml"
    path.write_text(CAMPAIGN.format(mpi=mpi, launcher=launcher))
    return path


def finished(out: Path) -> int:
    return sum(row["type"] == "launch_end" for _, row in clusters.samples(out))


def check(nodes: testbed.Cluster, name: str, out: Path) -> None:
    found = campaign_status(nodes, name, out)
    assert found["complete"], found
    (system,) = found["systems"]
    assert {x["layout"] for x in system["layouts"]} == {"1x2", "2x1", "2x2"}
    for layout in system["layouts"]:
        assert layout["samples"] > 0 and not layout["given_up"], layout
    table = read_table(Path(system["table"]))
    assert {(r.nodes, r.ppn) for r in table.rows} == {(1, 2), (2, 1), (2, 2)}
    for path in Path(system["directory"]).glob("*.bench.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        cells = [tuple(r[k] for k in CELL) for r in lines if r["type"] == "sample"]
        assert len(cells) - len(set(cells)) <= 8, "what a kill cut off, and no more"
        ends = {r["launch"]: r["status"] for r in lines if r["type"] == "launch_end"}
        assert set(ends.values()) == {"ok"}, ends


def test_submitted_killed_and_requeued(nodes: testbed.Cluster) -> None:
    name, file = "openmpi4", campaign(nodes, "openmpi4", "mpirun")
    out = file.with_suffix(".campaign")
    shown = stretto(nodes, name, "campaign", "submit", str(file), "--print").stdout
    assert "#SBATCH --nodes=2" in shown and "--requeue" in shown and not out.exists()
    with beside_others():
        job = submit(nodes, name, file, "--sbatch", "--oversubscribe")
        env = os.environ | clusters.slurm.variables(nodes)
        log = out / f"slurm-{job}.log"
        until(lambda: finished(out) >= 2)
        # As before a preemption: the launch under way ends, and the job goes into the queue again.
        subprocess.run(["scancel", "--batch", "-s", "USR1", job], env=env, check=True)
        until(lambda: "the launch under way is the last" in log.read_text())
        until(lambda: "queue again" in log.read_text())
        before = finished(out)
        until(lambda: state(job, env) == "PENDING")
        time.sleep(3)  # a job begun in the second in which its credential was revoked is killed
        try:
            until(lambda: begun_at_once(job, env) and finished(out) > before)
        except AssertionError:
            pytest.fail(f"the job is {state(job, env) or 'gone'}; its log: {log.read_text()}")
        until(lambda: state(job, env) == "")
    text = log.read_text()
    assert "Traceback" not in text and re.search(r"table: .*openmpi-4", text), text
    check(nodes, name, out)


def test_a_job_that_is_cancelled_does_not_come_back(
    nodes: testbed.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(nodes.shared / "stand-in"))
    executable(
        Path(sys.executable),
        "#!/bin/bash\ntrap 'exit 130' USR1\necho begun\nwhile sleep 0.1; do :; done\n",
    )
    request = sweeps.request_of(nodes.shared / "cancelled", layouts=(Layout(1, 2),))
    request.out.mkdir()
    path = request.out / "submit.sh"
    path.write_text(script(request, Path("c.toml"), SlurmJob(600, 2, ("--oversubscribe",)), {}))
    env = os.environ | clusters.slurm.variables(nodes)
    words = ["sbatch", "--parsable", str(path)]
    job = run_program(words, env=env, check=True).stdout.strip()
    logs = [request.out / f"slurm-{job}_{i}.log" for i in (1, 2)]
    until(lambda: all(x.exists() and "begun" in x.read_text() for x in logs))
    # the latest one of an array has the array's own number
    subprocess.run(["scancel", "--batch", "-s", "USR1", f"{job}_2"], env=env, check=True)
    until(lambda: "queue again" in logs[1].read_text())
    until(lambda: state(f"{job}_2", env) == "PENDING")
    assert state(f"{job}_1", env) == "RUNNING"
    subprocess.run(["scancel", job], env=env, check=True)
    until(lambda: "was cancelled" in logs[0].read_text())
    until(lambda: state(job, env) == "")
    time.sleep(5)
    assert state(job, env) == ""


def begun_at_once(job: str, env: dict[str, str]) -> bool:
    """Slurm waits two minutes before it starts such a job again; the test asks it not to."""
    if state(job, env) != "PENDING":
        return True
    now = ["scontrol", "update", f"jobid={job}", "StartTime=now"]
    subprocess.run(now, env=env, check=False, capture_output=True, timeout=60)
    return False


@pytest.mark.parametrize("name", ["openmpi5"])
def test_srun_in_an_allocation_killed_for_good(nodes: testbed.Cluster, name: str) -> None:
    file = campaign(nodes, name, "srun")
    out = file.with_suffix(".campaign")
    here = nodes.shared / f"{name}.pid"
    core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]  # as many as a node has
    tune = [*core, sys.executable, "-m", "stretto", "campaign", "run", str(file), "--yes"]
    shell = ["bash", "-c", 'echo $$ > "$0"; exec "$@"', str(here), *tune]
    words = ["salloc", "-N", "2", "--ntasks-per-node=2", "--quiet", *shell]
    with beside_others():
        process = subprocess.Popen(
            words, env=inside_a_job(nodes, name), cwd=nodes.shared, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        until(lambda: finished(out) >= 2 or process.poll() is not None)
        assert process.poll() is None, process.communicate()[0]
        os.kill(int(here.read_text()), signal.SIGKILL)
        process.communicate(timeout=300)  # the allocation goes with its command
    done = clusters.call(words, nodes.shared, inside_a_job(nodes, name))
    assert "table:" in done.stdout, done.stdout + done.stderr
    check(nodes, name, out)
