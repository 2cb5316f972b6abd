"""Real Slurm (Debian's slurm-wlm) on the namespace cluster: srun, sbatch, what is left after."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clusters
from clusters import SRUN, program, stretto, testbed
from mpis import REPOSITORY, beside_others
from processes import run_program

pytestmark = [pytest.mark.root, pytest.mark.mpi]


nodes = clusters.nodes_of(2, with_slurm=True)


def srun(nodes: testbed.Cluster, name: str, *argv: str) -> list[str]:
    words = ["srun", f"--mpi={SRUN[name]}", "-N", "2", "-n", "4", str(program(nodes, name))]
    return [*words, *argv]


def queue(nodes: testbed.Cluster) -> str:
    env = os.environ | clusters.slurm.variables(nodes)
    done = run_program(["squeue", "-h"], env=env, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SRUN)
def test_profile_and_run_under_srun(nodes: testbed.Cluster, name: str) -> None:
    path = nodes.shared / f"srun-{name}.profile.json"
    stretto(nodes, name, "profile", "-o", str(path), "--", *srun(nodes, name, "20"))
    profile = json.loads(path.read_text())
    assert profile["complete"] and [n["ranks"] for n in profile["nodes"]] == [[0, 1], [2, 3]]
    words = ["run", "-v", "--choice", "allreduce=shm+recursive_doubling", "--"]
    done = stretto(nodes, name, *words, *srun(nodes, name, "50"))
    assert "wrong: 0" in done.stdout
    assert re.search(r"allreduce.*shm\+recursive_doubling", done.stderr), done.stderr


def test_net_in_an_allocation_starts_by_srun(nodes: testbed.Cluster) -> None:
    argv = ["salloc", "-N", "2", sys.executable, "-m", "stretto", "net", "tcp"]
    argv += ["--json", "--runs", "1"]
    env = os.environ | clusters.slurm.variables(nodes)
    argv += ["--streams", "2", "--threads", "1", "--latency-bytes", "1", "--tool", "own"]
    found = json.loads(clusters.call(argv, nodes.shared, env).stdout)
    assert [host["node"] for host in found["hosts"]] == [node.name for node in nodes.nodes]
    assert len(found["streams"]) == len(found["latencies"]) == 2 and not found["failed"]


def test_check_under_srun_without_its_type_names_it(nodes: testbed.Cluster) -> None:
    name = "openmpi4"
    words = srun(nodes, name)
    words[1] = "--mpi=none"
    done = stretto(nodes, name, "check", "--json", "--", *words, status=1)
    found = {f["text"]: f["remedy"] for f in json.loads(done.stdout)["findings"]}
    remedies = [r for text, r in found.items() if "as a job of one rank" in text or "MPI_I" in text]
    assert len(remedies) == 1 and f"srun --mpi={SRUN[name]} " in remedies[0], done.stdout
    # nodes of this cluster have the same cores, which is a problem, too
    done = stretto(nodes, name, "check", "--json", "--", *srun(nodes, name), status=1)
    texts = [f["text"] for f in json.loads(done.stdout)["findings"]]
    assert any(t.startswith("started by the launcher: 4 ranks on 2 nodes") for t in texts), texts


def test_components_of_a_step(nodes: testbed.Cluster) -> None:
    first = srun(nodes, "mpich", "20")
    first[first.index("2")], first[first.index("4")] = "1", "2"
    second = ["-N", "1", "-n", "2", "--export=ALL,A=1", *first[-2:]]
    path = nodes.shared / "components.profile.json"
    words = ["profile", "--choice", "allreduce=shm+recursive_doubling", "-o", str(path), "--"]
    done = stretto(nodes, "mpich", *words, *first, ":", *second)
    assert "wrong: 0" in done.stdout
    profile = json.loads(path.read_text())
    assert profile["complete"] and [n["ranks"] for n in profile["nodes"]] == [[0, 1], [2, 3]]


def test_tune_under_srun(nodes: testbed.Cluster) -> None:
    out = nodes.shared / "tuned-srun"
    words = ["tune", "--budget", "75s", "--pairs", "1", "--launches", "1", "-o", str(out)]
    words += ["--candidates", "native,shm+recursive_doubling", "--"]
    home = {"XDG_DATA_HOME": str(nodes.shared)}
    stretto(nodes, "openmpi4", *words, *srun(nodes, "openmpi4", "1500"), **home)
    (table,) = out.glob("*.table")
    assert re.search(r"^row allreduce +2 +2 ", table.read_text(), re.MULTILINE)
    (bench,) = out.glob("*.bench.jsonl")
    records = [json.loads(line) for line in bench.read_text().splitlines()]
    assert {(r["nodes"], r["ppn"]) for r in records if r.get("type") == "launch"} == {(2, 2)}


@pytest.mark.parametrize("name", SRUN)
def test_mpirun_inside_a_batch_job(nodes: testbed.Cluster, name: str) -> None:
    home = nodes.shared / f"batch-{name}"
    home.mkdir()
    bin_ = clusters.launcher(nodes, name, 1, 1)[0]
    mine = [sys.executable, "-m", "stretto", "profile", "-o", str(home / "job.profile.json")]
    mine += ["--choice", "allreduce=shm+recursive_doubling", "--"]
    job = home / "job.sh"
    job.write_text(
        "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=2\n"
        f"{shlex.join([*mine, bin_, str(program(nodes, name)), '50'])}\n"
    )
    env = clusters.inside_a_job(nodes, name)
    log = home / "log"
    done = clusters.call(["sbatch", "--wait", "-o", str(log), str(job)], home, env)
    said = log.read_text()
    assert done.returncode == 0 and "wrong: 0" in said, said
    profile = json.loads((home / "job.profile.json").read_text())
    assert profile["complete"] and [n["ranks"] for n in profile["nodes"]] == [[0, 1], [2, 3]]


#: Stretto whose command has 40 s to end after a signal: srun needs some of them to end its job
PATIENT = """
import stretto.launch.execute as execute
from stretto.cli import main
execute.GRACE_S = 40.0
raise SystemExit(main())
"""


def test_an_interrupted_profile_leaves_no_step(nodes: testbed.Cluster) -> None:
    path = nodes.shared / "interrupted.profile.json"
    argv = [sys.executable, "-c", PATIENT, "profile", "-o", str(path), "--"]
    mark = nodes.shared / "interrupted.mark"
    argv += srun(nodes, "openmpi4", "100000000", "0", str(mark))
    with beside_others():
        process = subprocess.Popen(
            argv, env=clusters.environment(nodes, "openmpi4"), cwd=nodes.shared,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 300
        while not mark.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
    assert process.returncode == 130, said
    assert "Traceback" not in said and json.loads(path.read_text())["incomplete_ranks"]
    deadline = time.monotonic() + 600
    while queue(nodes) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert queue(nodes) == ""


def test_slurm_goes_with_a_killed_owner() -> None:
    script = (
        "import sys, os, signal; sys.path.insert(0, sys.argv[1]); import cluster, slurm\n"
        "c = cluster.up(2, owned=True); slurm.start(c); print(c.name, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    argv = [sys.executable, "-c", script, str(REPOSITORY / "tools" / "testbed")]
    name = run_program(argv, timeout=400).stdout.strip()
    assert name
    deadline = time.monotonic() + 300

    def left() -> str:
        listed = run_program(["ps", "-e", "-o", "args"])
        mine = f"/run/stretto-testbed/{name}/"
        return "\n".join(line for line in listed.stdout.splitlines() if mine in line)

    while left() and time.monotonic() < deadline:
        time.sleep(0.1)
    testbed.collect_garbage()
    assert left() == "" and not (testbed.RUN / name).exists()
    assert not any(Path("/sys/class/net").glob(f"{name}*"))


def test_slurm_missing_is_said(tmp_path: Path) -> None:
    done = run_program(
        [sys.executable, str(REPOSITORY / "tools" / "testbed"), "up", "--slurm", "--nodes", "1"],
        env=os.environ | {"PATH": str(tmp_path)},
        timeout=300,
    )
    assert done.returncode == 1 and "apt-get install slurm-wlm munge" in done.stderr
    assert "Traceback" not in done.stderr
