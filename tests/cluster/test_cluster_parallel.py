"""Layouts side by side on a namespace cluster: which node runs what, seen from outside.

Ranks live for a fraction of a second, so that two launches which run side by side may never be
seen so. The first one that is seen is stopped until one of the other layout is seen beside it:
that one begins only where layouts do not wait for one another.
"""

from __future__ import annotations

import contextlib
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
from clusters import campaign_status, inside_a_job, state, submit, testbed
from mpis import beside_others

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]

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
BOTH = frozenset({"2x1", "2x2"})
#: how long a launch is stopped at most, in seconds; less than the campaign's `stall`
HELD = 90
#: of a rank's command line: the layout and the launch
JOB = re.compile(r"/\.(\d+x\d+)\.bench\.jsonl\.launch(\d+)\.[^/]*/job\Z")


nodes = clusters.nodes_of(4, with_slurm=True)


def test_two_layouts_at_once_and_no_node_in_both(nodes: testbed.Cluster) -> None:
    name, file = "openmpi4", nodes.shared / "parallel.toml"
    hosts = [node.name for node in nodes.nodes]
    mpi = clusters.launcher(nodes, name, 1, 1)[0]
    file.write_text(CAMPAIGN.format(mpi=mpi) + f"hosts = {json.dumps(hosts)}\n")
    argv = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    argv += [sys.executable, "-m", "stretto", "campaign", "run", str(file), "--yes"]
    watch = Watch(nodes)
    with beside_others():
        process = subprocess.Popen(
            argv, cwd=nodes.shared, env=clusters.environment(nodes, name),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        while process.poll() is None:
            watch.look()
        text = process.communicate()[0]
    assert process.returncode == 0 and "Traceback" not in text, text
    check(nodes, name, file, text, watch)


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_one_allocation_is_cut(nodes: testbed.Cluster, launcher: str) -> None:
    name, file = "openmpi4", nodes.shared / f"{launcher}.toml"
    mpi = clusters.launcher(nodes, name, 1, 1)[0]
    file.write_text(CAMPAIGN.format(mpi=mpi) + f'launcher = "{launcher}"\n')
    out, env = file.with_suffix(".campaign"), inside_a_job(nodes, name)
    watch = Watch(nodes)
    with beside_others():
        job = submit(nodes, name, file, "--sbatch", "--oversubscribe", "--sbatch", "--nodes=4")
        deadline = time.monotonic() + 900
        while state(job, env):
            assert time.monotonic() < deadline
            for _ in range(20):
                watch.look()
    text = (out / f"slurm-{job}.log").read_text()
    assert "Traceback" not in text and "table: " in text, text
    check(nodes, name, file, text, watch)


def check(nodes: testbed.Cluster, name: str, file: Path, text: str, watch: Watch) -> None:
    """Both layouts were measured, and at the same time for a while."""
    hosts = [node.name for node in nodes.nodes]
    assert f"side by side: {', '.join(hosts[:2])} | {', '.join(hosts[2:])}" in text, text
    assert BOTH in watch.seen, (watch.seen, text)
    status = campaign_status(nodes, name, file.with_suffix(".campaign"))
    assert status["complete"], status
    (system,) = status["systems"]
    for layout in system["layouts"]:
        assert layout["samples"] > 0 and not layout["under_way"], layout


class Watch:
    """Which layouts were seen at work at the same time; `look` as often as possible."""

    def __init__(self, nodes: testbed.Cluster) -> None:
        self.of_namespace = {namespace(node.pid): node.name for node in nodes.nodes}
        self.seen: set[frozenset[str]] = set()
        self.stopped: set[int] = set()
        self.until = 0.0

    def look(self) -> None:
        """See who is at work, with no node in two launches; stop who is alone, until it is not."""
        time.sleep(0.02)  # the cores are the campaign's
        found = self.at_work()
        jobs = {node: {job for _, job in ranks} for node, ranks in found.items()}
        assert all(len(of_node) == 1 for of_node in jobs.values()), found
        layouts = frozenset(layout for of_node in jobs.values() for layout, _ in of_node)
        self.seen.add(layouts)
        if self.stopped and (BOTH in self.seen or time.monotonic() > self.until):
            self.signal(self.stopped, signal.SIGCONT)
            self.stopped = set()
        elif layouts and not self.stopped and BOTH not in self.seen:
            self.stopped = {pid for ranks in found.values() for pid, _ in ranks}
            self.until = time.monotonic() + HELD
            self.signal(self.stopped, signal.SIGSTOP)

    @staticmethod
    def signal(pids: set[int], number: signal.Signals) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def at_work(self) -> dict[str, set[tuple[int, tuple[str, int]]]]:
        """The ranks on each node that has some: process, and its layout and launch."""
        out: dict[str, set[tuple[int, tuple[str, int]]]] = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                node = self.of_namespace.get(namespace(process.name))
                if node is None:
                    continue
                words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            except OSError:
                continue  # it has ended
            job = JOB.search(words[-1].decode("utf-8", "replace"))
            if job and b"stretto-bench" in words[0]:
                rank = int(process.name), (job.group(1), int(job.group(2)))
                out.setdefault(node, set()).add(rank)
        return out


def namespace(pid: int | str) -> Path:
    """The UTS namespace of a process, by which nodes of the testbed differ."""
    return (Path("/proc") / str(pid) / "ns/uts").readlink()
