"""The small examples in C, Fortran and Python: the same result with Stretto, under every MPI."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, Mpi, library, rarely

pytestmark = pytest.mark.mpi

SHM = ";".join(f"{c}=shm" for c in ("allreduce", "bcast", "reduce", "allgather", "barrier"))
EXAMPLES = REPOSITORY / "examples"
MATHS = ("-Wl,--no-as-needed", "-lm")


def result(mpi: Mpi, ranks: int, command: list[str], *, stretto: bool) -> str:
    """Run an example; returns what it printed but its speed."""
    variables = {}
    if stretto:
        variables = {"STRETTO_CHOICE": SHM, "STRETTO_VERBOSE": "1"}
        variables["LD_PRELOAD"] = str(library(mpi.family))
    done = mpi.run(ranks, command, rank_env=variables)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    if stretto:
        assert re.search(r"stretto.*allreduce.*shm", done.stderr), done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if "per second" not in line]
    assert len(lines) == 1 and ":" in lines[0]
    return lines[0]


@pytest.mark.parametrize("name", rarely(MPIS, ["openmpi4"]))
def test_heat(tmp_path: Path, name: str) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(EXAMPLES / "c" / "heat.c", tmp_path / "heat", "-O2")
    for ranks in (2, 3):
        command = [str(program), "24"]
        native = result(mpi, ranks, command, stretto=False)
        tuned = result(mpi, ranks, command, stretto=True)
        # Its convergence is by maxima, exact in any order; only the last sum depends on one.
        assert tuned == native if ranks == 2 else tuned.split()[1] == native.split()[1]


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich", "intel"])
def test_inversion(name: str) -> None:
    mpi = MPIS[name].require()
    script = str(EXAMPLES / "inversion.py")
    command = [sys.executable, script, "--days", "20", "--cells", "2048"]
    assert result(mpi, 2, command, stretto=True) == result(mpi, 2, command, stretto=False)


def test_fortran_cg(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.fortran(EXAMPLES / "fortran" / "cg.f90", tmp_path / "cg", "mpi_f08")
    command = [str(program), "400"]
    assert result(mpi, 2, command, stretto=True) == result(mpi, 2, command, stretto=False)


@pytest.mark.long
def test_ft(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(EXAMPLES / "c" / "ft.c", tmp_path / "ft", "-O2", *MATHS)
    command = [str(program), "64", "3"]
    native = result(mpi, 2, command, stretto=False)
    assert result(mpi, 2, command, stretto=True) == native
    done = mpi.run(2, [str(program), "100"])
    assert done.returncode != 0 and "SIDE must be a power of two" in done.stderr


def test_heat_says_what_is_wrong_with_its_argument(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(EXAMPLES / "c" / "heat.c", tmp_path / "heat", "-O2")
    done = mpi.run(2, [str(program), "nonsense"])
    assert done.returncode != 0 and "SIZE must be a number" in done.stderr
