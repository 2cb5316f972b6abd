"""A host that dies in the midst of a campaign on the namespace cluster, and comes back later."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clusters
from clusters import CELL, campaign_status, stretto, testbed, until
from mpis import beside_others
from test_cluster_campaign import finished

pytestmark = [pytest.mark.root, pytest.mark.mpi, pytest.mark.long]

CAMPAIGN = """
collectives = ["allreduce"]
nodes = [1, 2]
ppn = [1, 2]
bytes = "8"
candidates = ["recursive_doubling", "native:linear"]
launches = 3
eliminate = false
shared_cores = true
mpis = ["{mpi}"]
hosts = {hosts}
stall = 60
"""
NAME = "openmpi4"


nodes = clusters.nodes_of(2)


def status(nodes: testbed.Cluster, out: Path) -> dict[str, Any]:
    found = campaign_status(nodes, NAME, out)
    (system,) = found["systems"]
    return {"complete": found["complete"]} | {x["layout"]: x for x in system["layouts"]}


def samples(out: Path) -> list[tuple[Any, ...]]:
    """Every sample in the results: layout, launch and cell."""
    rows = clusters.samples(out)
    return [(at, *(row[k] for k in CELL)) for at, row in rows if row["type"] == "sample"]


def test_a_host_dies_and_comes_back(nodes: testbed.Cluster) -> None:
    file = nodes.shared / "dies.toml"
    hosts = [node.name for node in nodes.nodes]
    mpi = clusters.launcher(nodes, NAME, 1, 1)[0]
    file.write_text(CAMPAIGN.format(mpi=mpi, hosts=json.dumps(hosts)))
    out = file.with_suffix(".campaign")
    words = [sys.executable, "-m", "stretto", "campaign", "run", str(file), "--yes"]
    with beside_others():
        process = subprocess.Popen(
            words, env=clusters.environment(nodes, NAME), cwd=nodes.shared,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        until(lambda: finished(out) >= 2 or process.poll() is not None)
        assert process.poll() is None
        nodes.kill(1)
        text = process.communicate(timeout=600)[0]
    assert "Traceback" not in text and process.returncode != 0, text
    assert f"{hosts[1]} is left out, because it cannot start programs" in text, text
    before = samples(out)
    assert len(before) == len(set(before)) > 0
    found = status(nodes, out)
    assert not found["complete"]
    alone = found["1x2"]
    assert alone["samples"] > 0 and not alone.get("left_out"), "one node is enough for it"
    assert any(hosts[1] in json.dumps(found[x].get("left_out")) for x in ("2x1", "2x2")), found
    nodes.revive(1)
    done = stretto(nodes, NAME, *words[3:])
    assert "table:" in done.stdout, done.stdout + done.stderr
    after = samples(out)
    assert set(before) <= set(after), "nothing is lost"
    found = status(nodes, out)
    assert found["complete"]
    for layout in ("1x2", "2x1", "2x2"):
        mine = [cell for cell in after if cell[0] == layout]
        assert found[layout]["samples"] == len(mine), layout
        assert len(mine) - len(set(mine)) <= 6, "what the death cut off, and no more"
