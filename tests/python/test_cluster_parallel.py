"""Layouts side by side on a namespace cluster: which node runs what, seen from outside."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import clusters
from clusters import inside_a_job, stretto, testbed
from mpis import one_job_at_a_time

pytestmark = [pytest.mark.root, pytest.mark.mpi]

CAMPAIGN = """
collectives = ["allreduce"]
nodes = [2]
ppn = [1, 2]
bytes = "8,1000"
candidates = ["recursive_doubling", "knomial(2)"]
launches = 3
eliminate = false
parallel = true
mpis = ["{mpi}"]
stall = 200
"""
#: of a rank's command line: the layout and the launch
JOB = re.compile(r"/(\d+x\d+)/\.[^/]*\.launch(\d+)\.[^/]*/job\Z")


@pytest.fixture(scope="module")
def nodes() -> Iterator[testbed.Cluster]:
    with clusters.up(4, with_slurm=True) as cluster:
        yield cluster


def test_two_layouts_at_once_and_no_node_in_both(nodes: testbed.Cluster) -> None:
    name, file = "openmpi4", nodes.shared / "parallel.toml"
    hosts = [node.name for node in nodes.nodes]
    mpi = clusters.launcher(nodes, name, 1, 1)[0]
    file.write_text(CAMPAIGN.format(mpi=mpi) + f"hosts = {json.dumps(hosts)}\n")
    argv = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    argv += [sys.executable, "-m", "stretto", "tune", "--campaign", str(file), "--yes"]
    together: set[frozenset[str]] = set()
    with one_job_at_a_time():
        process = subprocess.Popen(
            argv, cwd=nodes.shared, env=clusters.environment(nodes, name),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        while process.poll() is None:
            together.add(layouts_at_work(nodes))
        text = process.communicate()[0]
    assert process.returncode == 0 and "Traceback" not in text, text
    check(nodes, name, file, text, together)


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_one_allocation_is_cut(nodes: testbed.Cluster, launcher: str) -> None:
    """A job of Slurm's has four nodes, and uses two and two of them at once."""
    name, file = "openmpi4", nodes.shared / f"{launcher}.toml"
    mpi = clusters.launcher(nodes, name, 1, 1)[0]
    file.write_text(CAMPAIGN.format(mpi=mpi) + f'launcher = "{launcher}"\n')
    out, env = file.with_suffix(".campaign"), inside_a_job(nodes, name)
    words = [sys.executable, "-m", "stretto", "campaign", "submit", str(file), "--json"]
    words += ["--time", "10", "--sbatch", "--oversubscribe --nodes=4"]
    together: set[frozenset[str]] = set()
    with one_job_at_a_time():
        done = subprocess.run(
            words, env=env, cwd=nodes.shared, capture_output=True, text=True, timeout=600,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        job = json.loads(done.stdout)["job"]
        queue, deadline = ["squeue", "-h", "-j", job, "-o", "%T"], time.monotonic() + 900
        while subprocess.run(queue, env=env, capture_output=True, text=True).stdout.strip():
            assert time.monotonic() < deadline
            for _ in range(20):
                together.add(layouts_at_work(nodes))
    text = (out / f"slurm-{job}.log").read_text()
    assert "Traceback" not in text and "table: " in text, text
    check(nodes, name, file, text, together)


def check(
    nodes: testbed.Cluster, name: str, file: Path, text: str, together: set[frozenset[str]]
) -> None:
    """Both layouts were measured, and at the same time for a while."""
    hosts = [node.name for node in nodes.nodes]
    assert f"side by side: {', '.join(hosts[:2])} | {', '.join(hosts[2:])}" in text, text
    assert frozenset({"2x1", "2x2"}) in together, together
    done = stretto(nodes, name, "campaign", "status", str(file.with_suffix(".campaign")), "--json")
    status = json.loads(done.stdout)
    assert status["complete"], status
    (system,) = status["systems"]
    for layout in system["layouts"]:
        assert layout["samples"] > 0 and not layout["samples_dropped"], layout


def layouts_at_work(nodes: testbed.Cluster) -> frozenset[str]:
    """The layouts that are measured now; no node may be in two launches."""
    found = at_work(nodes)
    assert all(len(jobs) == 1 for jobs in found.values()), found
    return frozenset(layout for jobs in found.values() for layout, _ in jobs)


def at_work(nodes: testbed.Cluster) -> dict[str, set[tuple[str, int]]]:
    """The layouts and launches whose ranks are on each node that has some."""
    of_namespace = {(Path("/proc") / str(n.pid) / "ns/uts").readlink(): n.name for n in nodes.nodes}
    out: dict[str, set[tuple[str, int]]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            node = of_namespace.get((process / "ns/uts").readlink())
        except OSError:
            continue  # it has ended
        job = JOB.search(words[-1].decode("utf-8", "replace"))
        if node is not None and job and b"stretto-bench" in words[0]:
            out.setdefault(node, set()).add((job.group(1), int(job.group(2))))
    return out
