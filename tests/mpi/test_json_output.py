"""--json where nothing is measured: one document on stdout, and nothing else there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mpis import MPIS, beside_others
from processes import run_program

pytestmark = pytest.mark.mpi


def printed(tmp_path: Path, *words: str) -> Any:
    mpi = MPIS["openmpi4"].require()
    env = {**os.environ, **mpi.environment, "XDG_DATA_HOME": str(tmp_path)}
    if "STRETTO_TEST_LIB" in os.environ:
        env["STRETTO_LIB_DIR"] = os.environ["STRETTO_TEST_LIB"]
    with beside_others():
        done = run_program(
            [sys.executable, "-m", "stretto", *words], env=env, cwd=tmp_path, timeout=300
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MEASURE = ["-n", "2", "--mpi", "/usr/bin/mpirun", "--collective", "bcast,barrier", "--json"]


def test_the_list_of_algorithms(tmp_path: Path) -> None:
    found = printed(tmp_path, "bench", "--list", *MEASURE)
    assert found["mpi"].startswith("Open MPI 4")
    names = {a["algorithm"]: a for a in found["algorithms"] if a["collective"] == "bcast"}
    assert names["tuned binomial"]["candidate"].startswith("native:coll_tuned_bcast")
    assert "barrier" in {a["collective"] for a in found["algorithms"]}


def test_dry_runs(tmp_path: Path) -> None:
    found = printed(tmp_path, "bench", "--dry-run", "--bytes", "8,1K", *MEASURE)
    assert found["dry_run"] and found["cost_s"] > 0 and found["bytes"] == [0, 8, 1024]
    assert found["collectives"] == ["bcast", "barrier"] and found["launches"] == 6
    found = printed(tmp_path, "table", "make", "--dry-run", *MEASURE)
    assert found["dry_run"] and found["cost_s"] > 0
    job = ["--", "/usr/bin/mpirun", "-n", "2", "true"]
    found = printed(tmp_path, "scale", "--ranks", "1,2", "--dry-run", "--json", *job)
    assert found["runs"] == 6 and [p["ppn"] for p in found["points"]] == [1, 2]
    assert found["points"][0]["command"] == ["/usr/bin/mpirun", "-n", "1", "true"]
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
