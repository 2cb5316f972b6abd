"""Persistent collectives of ours: results, orders of starts, handles, growth; Fortran."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mpis import ALL, DEBIAN_MPICH, library
from programs import PROGRAMS, SHM, job, program, same, under
from test_nonblocking import FLAT

HIERARCHY = (
    "allreduce=shm+ring;bcast=shm+knomial(2);barrier=shm+dissemination(2);allgather=shm+ring;"
    "reduce=shm+binomial(64K);alltoall=pairwise;alltoallv=linear(32);scan=linear"
)


def started(
    name: str, command: str, mode: str, choices: str, ppn: int = 0, **more: object
) -> subprocess.CompletedProcess[str]:
    """Run a program with persistent collectives on."""
    settings = {"nonblocking": mode, "choice": choices, "fake_ppn": ppn, "verbose": 1}
    return job(name, command, **settings, **more)  # type: ignore[arg-type]


WAYS = pytest.mark.parametrize(
    ("name", "mode", "ranks", "ppn", "choices"),
    [
        ("openmpi5", "calls", 2, 0, SHM),
        ("openmpi5", "calls", 3, 1, FLAT),
        ("openmpi5", "thread", 5, 2, HIERARCHY),
        ("mpich", "calls", 3, 2, HIERARCHY),
        ("mpich", "thread", 3, 0, SHM),
        ("mpich-abi", "calls", 2, 1, FLAT),
    ],
    ids=lambda value: value.partition(";")[0] if isinstance(value, str) else None,
)


@WAYS
def test_results_and_requests(name: str, mode: str, ranks: int, ppn: int, choices: str) -> None:
    """Random shapes against the MPI's own blocking calls, two at a time in different orders."""
    done = started(name, "persistent 11 120 4000", mode, choices, ppn, ranks=ranks)
    found = re.search(r"(\d+) comparisons, 0 differences\n(\d+) calls", done.stdout)
    assert found and int(found[1]) == 120 * ranks
    assert int(found[2]) > 120 * ranks  # of six starts of two; some shapes are the MPI's
    ran = re.findall(r"stretto: (\w+) of .*: (\S+) \(forced\)", done.stderr)
    assert set(ran) <= {tuple(one.split("=")) for one in choices.split(";")}
    assert len(set(ran)) >= len(choices.split(";")) - 2  # as chance has it


@pytest.mark.parametrize("name", ["openmpi5", "mpich"])
def test_without_memory_they_are_the_mpis(name: str) -> None:
    """Half of the node's memory is never given to them; all ranks agree who carries out what."""
    done = started(name, "persistent 12 40 2000", "calls", SHM, arena_mb=3)
    assert same(done)
    assert re.search("a persistent allreduce on 3 ranks stays native", done.stderr)


@WAYS
def test_cases(name: str, mode: str, ranks: int, ppn: int, choices: str) -> None:
    """What programs may do with them; ten thousand starts in one memory."""
    starts = "10000" if (name, ranks) == ("openmpi5", 2) else "500"
    command = f"persistent_cases {starts} ours"
    done = started(name, command, mode, choices, ppn, ranks=ranks)
    assert len(re.findall(" done$", done.stdout, flags=re.M)) == 10
    # too many of them
    assert "a persistent allreduce on" in done.stderr


@pytest.mark.parametrize("mode", ["calls", "thread"])
def test_callbacks_while_a_request_is_freed(mode: str) -> None:
    """They may call anything: none of our locks is held then, or lost."""
    done = started("mpich", "type_callback", mode, SHM, after=1, ranks=2, timeout=300)
    assert "type_callback done, 1 within" in done.stdout
    assert "alltoallv of any size on 2 ranks (1 x 2): shm (forced)" in done.stderr


@pytest.mark.parametrize("mode", ["calls", "thread"])
@pytest.mark.parametrize("name", ["openmpi5", "mpich"])
def test_started_while_the_mpi_is_finalized(name: str, mode: str) -> None:
    """A callback of MPI_COMM_SELF's attributes may start what was made before: it crashed."""
    for ppn, choices in ((0, SHM), (2, HIERARCHY)):
        done = started(name, "at_the_end persistent", mode, choices, ppn, timeout=300)
        assert "at_the_end done" in done.stdout
        assert "stays native" not in done.stderr


def test_the_programs_are_correct() -> None:
    """Without Stretto. MPICH 5.0.2 makes errors of its own of them (persistent.c tells which)."""
    mpi = ALL["openmpi5"].require()
    for command in ("persistent 11 60 20000", "persistent_cases 500", "at_the_end persistent"):
        source, *words = command.split()
        done = mpi.run(3, [program("openmpi5", source), *words])
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "nonblocking"), [("openmpi5", "off"), ("openmpi5", "calls"), ("mpich", "off")]
)
def test_off_by_default(name: str, nonblocking: str) -> None:
    """All are the MPI's unless asked for, and by the family's library of Open MPI in any case.

    It does not know them. (Of Intel MPI's own 2021.18 the sums are wrong in this program.)
    """
    mpi = ALL[name].require()
    env = {"LD_PRELOAD": str(library(mpi.family))} if nonblocking == "calls" else {}
    done = started(name, "persistent 13 30 2000", nonblocking, SHM, ranks=2, env=env)
    assert "0 differences" in done.stdout


@pytest.mark.parametrize("dialect", ["mpif.h", "mpi", "mpi_f08"])
def test_fortran(dialect: str, tmp_path: Path) -> None:
    mpi = DEBIAN_MPICH.require()
    text = (PROGRAMS / "persistent_fortran.f90").read_text()
    if dialect == "mpif.h":
        text = text.replace("  use mpi\n  implicit none\n", "  implicit none\n  include 'mpif.h'\n")
    if dialect == "mpi_f08":
        text = text.replace("use mpi\n", "use mpi_f08\n").replace(
            "integer :: requests", "type(MPI_Request) :: requests"
        )
        text = text.replace(
            "integer :: statuses(MPI_STATUS_SIZE, 3)", "type(MPI_Status) :: statuses(3)"
        ).replace("statuses(:, 1)", "statuses(1)")
    source = tmp_path / "persistent.f90"
    source.write_text(text)
    built = str(mpi.fortran(source, tmp_path / "persistent", dialect))
    for rank_env in ({}, under(mpi, nonblocking="calls", choice=SHM, verbose=1)):
        done = mpi.run(2, [built], rank_env=rank_env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "persistent_fortran done" in done.stdout
    assert "allreduce of 4000 bytes on 2 ranks (1 x 2): shm (forced)" in done.stderr


NEIGHBORS = ("allgather", "allgatherv", "alltoall", "alltoallv")


@pytest.mark.parametrize(
    ("name", "form", "mode", "ranks", "algorithm"),
    [
        ("openmpi4", "NONBLOCKING", "calls", 3, "direct"),
        ("openmpi4", "AT_ONCE", "calls", 3, "direct"),
        ("mpich", "AT_ONCE", "thread", 4, "node_aware"),
        ("openmpi5", "PERSISTENT", "calls", 3, "direct"),
        ("mpich", "NONBLOCKING", "thread", 4, "node_aware"),
        ("mpich", "PERSISTENT", "calls", 4, "node_aware"),
        ("mpich-abi", "PERSISTENT", "calls", 2, "direct"),
    ],
)
def test_neighbourhoods(name: str, form: str, mode: str, ranks: int, algorithm: str) -> None:
    """Random topologies and shapes against the MPI's own; each form beside another collective."""
    choices = ";".join(f"neighbor_{n}={algorithm}" for n in NEIGHBORS)
    choices += ";allreduce=recursive_doubling"
    more = {"ranks": ranks, "options": ("-w", f"-D{form}"), "after": int(form != "AT_ONCE")}
    done = started(name, "neighbors_started 7 9 12", mode, choices, 2, **more)
    assert f"neighbors: {9 * 12 * ranks} comparisons, 0 differences" in done.stdout
    for n in NEIGHBORS:
        assert re.search(rf"neighbor_{n} of .*: {algorithm}\S* \(forced\)", done.stderr), n
    assert re.search(r"allreduce of 4 bytes on .*: recursive_doubling \(forced\)", done.stderr)
    assert "stays native: no memory" not in done.stderr
