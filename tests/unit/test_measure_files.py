"""A campaign's directory is what compare, export and report read, not its files one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from exports import result_file
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export.rules import read_results
from stretto.files.identity import MPIIdentity
from stretto.files.results import results_in
from stretto.tune.table import decide_from

FOUR = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
FIVE = MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11")
MPICH = MPIIdentity("mpich", "mpich", "5.0.2", "MPICH 5.0.2")
RING = "native:coll_tuned_allreduce_algorithm=4,coll_tuned_use_dynamic_rules=1"


def campaign(base: Path, *mpis: MPIIdentity) -> Path:
    """Write what a campaign leaves: results below MPI and processor, tables."""
    for mpi in mpis:
        ring = RING if mpi.family == "openmpi" else "native:MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=x"
        place = base / f"{mpi.family}-{mpi.version}" / "one"
        place.mkdir(parents=True)
        times = {("allreduce", 8): {"native": 50.0, "bare": 50.0, ring: 30.0, "ring": 20.0}}
        path = result_file(place / "1x5.bench.jsonl", times, mpi=mpi)
        decide_from([path], base / f"{mpi.family}-{mpi.version}.table")
    return base


def test_results_are_found_below_a_campaigns_directory(tmp_path: Path) -> None:
    base = campaign(tmp_path / "c", FOUR, MPICH)
    names = ["mpich-5.0.2/one/1x5.bench.jsonl", "openmpi-4.1.4/one/1x5.bench.jsonl"]
    assert results_in([base]) == [base / n for n in names]
    assert results_in([base / "mpich-5.0.2", base / names[0]]) == [base / names[0]]
    (base / "none").mkdir()
    with pytest.raises(StrettoError, match="no bench results"):
        results_in([base / "none"])


def test_export_takes_the_results_of_its_mpi(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, out = campaign(tmp_path / "c", FOUR, FIVE, MPICH), tmp_path / "out"
    assert main(["export", "--to", "openmpi-5", "--out", str(out), str(base)]) == 0
    said = capsys.readouterr()
    assert "1 rule in" in said.out
    for other in ("openmpi 4.1.4", "mpich 5.0.2"):
        assert f"results of {other} in the directory are left out" in said.err
    assert main(["export", "--to", "intel", "--out", str(out), str(base)]) == 1
    assert "no results of intel" in capsys.readouterr().err

    place = base / "openmpi-5.0.11" / "two"  # nodes of another kind, and another build
    place.mkdir()
    times = {("bcast", 8): {"bare": 1.0}}
    result_file(place / "1x5.bench.jsonl", times, mpi=FIVE, cpu="two")
    assert main(["export", "--to", "openmpi-5", "--out", str(out), str(base)]) == 1
    assert "kinds of nodes cannot be mixed" in capsys.readouterr().err
    a = result_file(tmp_path / "a.bench.jsonl", times, mpi=FIVE)
    other = MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11, mine")
    b = result_file(tmp_path / "b.bench.jsonl", times, mpi=other)
    with pytest.raises(StrettoError, match="builds cannot be mixed"):
        read_results([a, b])
