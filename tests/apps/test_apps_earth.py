"""The earth-data example at a small size: one month, on Slurm nodes of this machine."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others, have, missing
from processes import run_program


@pytest.mark.long
@pytest.mark.root
def test_earth_example_makes_results_maps_and_a_verdict(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("the testbed needs root")
    have("slurmctld", "slurm-wlm")
    have("munged", "munge")
    MPIS["openmpi5"].require()
    home = tmp_path / "home"
    home.mkdir()
    out = tmp_path / "earth"
    small = {"DEGREES": "5", "MONTHS": "1", "HOURS": "24", "WORKERS": "1,2", "BUDGET": "90s"}
    env = os.environ | small | {"HOME": str(home), "OUT": str(out), "VENV": sys.prefix}
    with beside_others():
        done = run_program(
            [str(REPOSITORY / "examples" / "earth" / "run.sh")], env=env, cwd=home, timeout=900
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    facts = json.loads((out / "facts.json").read_text())
    assert facts["sizes"]["time"] == 744 and set(facts["seconds"]) == {"1", "2"}
    page = (out / "map.html").read_text()
    assert "bk-" in page and not re.search(r'<(?:script|link)[^>]*(?:src|href)="http', page)
    assert (out / "map.png").stat().st_size > 20_000
    (verdict,) = (out / "reader").glob("*.verdict.json")
    assert json.loads(verdict.read_text())["outputs_equal"] is not False
    assert "MPI_Bcast" in (out / "reader.html").read_text()
