"""The whole loop as a user runs it: the quickstart, and the scripted OpenFOAM example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, have, one_job_at_a_time

pytestmark = [pytest.mark.apps, pytest.mark.mpi, pytest.mark.timeout(1200)]

#: the environment's own programs first, as in an activated one
PATH = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"


def shell(argv: list[str], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    with one_job_at_a_time():
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=os.environ | {"PATH": PATH} | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


def expected_runs(table: Path) -> list[str]:
    """Return which runs one pair makes, by what the table chooses.

    On a machine that others use too, nothing may be faster with significance. That is a result, and
    then there is nothing to compare.
    """
    chosen = re.findall(r"^row +(?:\S+ +){4}(\S+)", table.read_text(), re.MULTILINE)
    assert chosen
    return ["native", "tuned"] if set(chosen) - {"native"} else []


def test_quickstart(tmp_path: Path) -> None:
    MPIS["openmpi5"].require()
    quickstart = str(REPOSITORY / "examples" / "quickstart.sh")
    settings = {"VENV": sys.prefix, "OUT": str(tmp_path / "out"), "BUDGET": "60s"}
    settings |= {"PAIRS": "1"}  # whether the gain is real is not this test's question
    done = shell(["bash", quickstart], tmp_path, HOME=str(tmp_path), **settings)
    last = done.stdout.strip().splitlines()[-1]
    report = Path(last)
    assert report == tmp_path / "out" / "report.html" and report.stat().st_size > 10_000
    words = done.stderr.strip().splitlines()[-1]  # the sentence that says what was gained
    assert re.search(r"gain|faster|help|slower", words), words
    verdict = json.loads((tmp_path / "out" / "tuned" / "inversion.verdict.json").read_text())
    kinds = sorted(run["kind"] for run in verdict["runs"])
    assert kinds == expected_runs(tmp_path / "out" / "tuned" / "inversion.table")
    assert all(run["exit"] == 0 for run in verdict["runs"])
    # The program's figure varies, its result does not.
    assert len(set(re.findall(r"emissions: (\S+)", done.stdout + done.stderr))) <= 1


def test_openfoam_example_tunes_and_runs(tmp_path: Path) -> None:
    have("icoFoam", "openfoam openfoam-examples")
    script = str(REPOSITORY / "examples" / "openfoam" / "run.sh")
    case = tmp_path / "cavity"
    common = [script, "-s", "60", "-d", str(case)]
    home = {"HOME": str(tmp_path)}

    def residuals() -> list[str]:
        log = (case / "log.icoFoam").read_text()
        assert "\nEnd\n" in log
        return [line for line in log.splitlines() if "residual" in line or "continuity" in line]

    shell([*common, "native"], tmp_path, **home)
    native = residuals()
    shell([*common, "tune", "--budget", "40s", "--pairs", "1"], tmp_path, **home)
    table = tmp_path / "cavity.tuned" / "icoFoam.table"
    verdict = json.loads(table.with_name("icoFoam.verdict.json").read_text())
    assert sorted(run["kind"] for run in verdict["runs"]) == expected_runs(table)
    assert verdict["conclusion"]
    assert table.read_text().startswith("stretto-table 1\n")
    profile = json.loads(table.with_name("icoFoam.profile.json").read_text())
    reductions = [c for c in profile["calls"] if c["function"] == "MPI_Allreduce"]
    assert sum(sum(c["calls"]) for c in reductions) > 10_000
    done = shell([*common, "run"], tmp_path, **home)
    assert "icoFoam.table" in done.stderr
    assert residuals() == native and len(native) > 200
