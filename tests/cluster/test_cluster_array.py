"""A real job array on the namespace cluster: two tasks of Slurm's at work on one campaign.

One task may be done with all layouts before the other has begun. So the ranks of the first are
stopped until the other measures, too.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest

import clusters
from clusters import CELL, campaign_status, samples, state, submit, testbed
from mpis import beside_others
from test_cluster_parallel import HELD, Watch

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]

CAMPAIGN = """
collectives = ["allreduce"]
nodes = [1]
ppn = [2, 4]
shared_cores = true
bytes = "8,1000"
candidates = ["recursive_doubling", "native:linear"]
launches = 6
eliminate = false
mpis = ["{mpi}"]
launcher = "mpirun"
stall = 200
"""
NAME = "openmpi4"


nodes = clusters.nodes_of(2, with_slurm=True, cpus=4)


def test_two_tasks_of_an_array_share_a_campaign(nodes: testbed.Cluster) -> None:
    file = nodes.shared / "array.toml"
    file.write_text(CAMPAIGN.format(mpi=clusters.launcher(nodes, NAME, 1, 1)[0]))
    out = file.with_suffix(".campaign")
    with beside_others():
        job = submit(nodes, NAME, file, "--jobs", "2")
        watch, deadline = Share(nodes), time.monotonic() + 900
        while state(job, os.environ | clusters.slurm.variables(nodes)):
            assert time.monotonic() < deadline
            for _ in range(20):
                watch.look()
    logs = [(out / f"slurm-{job}_{task}.log").read_text() for task in (1, 2)]
    assert all("Traceback" not in log and "table: " in log for log in logs), logs
    ends: Counter[tuple[str, int]] = Counter()
    cells: Counter[tuple[object, ...]] = Counter()
    for at, row in samples(out):
        if row["type"] == "launch_end":
            ends[at, row["launch"]] += 1
        if row["type"] == "sample":
            cells[(at, *(row[k] for k in CELL))] += 1
    assert set(ends.values()) == {1} and set(cells.values()) == {1}, "nothing was measured twice"
    assert len(ends) >= 12
    status = campaign_status(nodes, NAME, out)
    assert status["complete"], status
    (system,) = status["systems"]
    assert sum(x["samples"] for x in system["layouts"]) == sum(cells.values())
    assert watch.hosts == {node.name for node in nodes.nodes}, "both had a share"


class Share(Watch):
    """Sees to it that both hosts measure; `look` as often as possible."""

    def __init__(self, nodes: testbed.Cluster) -> None:
        super().__init__(nodes)
        self.hosts: set[str] = set()

    def look(self) -> None:
        """Stop the ranks that are there, until both hosts were seen to measure."""
        time.sleep(0.02)  # the cores are the campaign's
        found = self.at_work()
        self.hosts |= set(found)
        both = len(self.hosts) > 1
        if self.stopped and (both or time.monotonic() > self.until):
            self.signal(self.stopped, signal.SIGCONT)
            self.stopped = set()
        elif not both and not self.stopped:
            self.stopped = {pid for ranks in found.values() for pid, _ in ranks}
            self.until = time.monotonic() + HELD
            self.signal(self.stopped, signal.SIGSTOP)
