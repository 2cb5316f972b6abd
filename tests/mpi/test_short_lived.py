"""Communicators that come and go: what a freed one used is used again by the next ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, library

SOURCE = REPOSITORY / "tests" / "programs" / "short_lived.c"
SHM = ";".join(
    f"{collective}=shm"
    for collective in (
        "allreduce",
        "bcast",
        "reduce",
        "allgather",
        "gather",
        "scatter",
        "alltoall",
        "scan",
        "barrier",
        "reduce_scatter",
    )
)
LAYERED = "allreduce=shm+recursive_doubling;bcast=shm+knomial(2);barrier=shm+dissemination"
FLAT = "allreduce=recursive_doubling;bcast=knomial(2);allgather=ring;alltoall=pairwise"
CALLS = {"STRETTO_NONBLOCKING": "calls"}
# not Intel MPI with threads, which crashes or hangs without Stretto, too (2021.18)
CASES = [
    ("openmpi4", 3, SHM, 0, ["150"], {}),
    ("openmpi4", 5, LAYERED, 1, ["60"], {"STRETTO_FAKE_PPN": "2"}),
    ("openmpi4", 3, SHM, 0, ["60", "3"], {}),
    ("openmpi4", 4, SHM, 0, ["60"], {"STRETTO_FAKE_DOMAINS": "2", "STRETTO_ARENA_MB": "8"}),
    ("openmpi5", 2, SHM, 0, ["100", "0", "pending"], CALLS),
    ("openmpi5", 3, FLAT, 3, ["100"], {}),
    ("mpich", 3, SHM, 0, ["100", "0", "pending"], CALLS),
    ("mpich", 3, FLAT, 0, ["60", "2"], {}),
    ("intel", 3, SHM, 3, ["100"], {}),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("short_lived")
    return {
        name: mpi.compile(SOURCE, folder / name, "-O1", "-lpthread")
        for name, mpi in MPIS.items()
        if mpi.libmpi.exists()
    }


def run(
    programs: dict[str, Path],
    name: str,
    ranks: int,
    choice: str,
    words: list[str],
    more: dict[str, str],
) -> str:
    mpi = MPIS[name].require()
    env = {
        "LD_PRELOAD": str(library(mpi.family)),
        "STRETTO_CHOICE": choice,
        "STRETTO_VERBOSE": "1",
    }
    done = mpi.run(ranks, [str(programs[name]), *words], rank_env=env | more)
    code, out, said = done.returncode, done.stdout, done.stderr[:2000]
    assert code == 0, out + said
    assert re.search(r"\(forced\)", done.stderr), said
    assert "it is ignored" not in said, said
    return out


@pytest.mark.parametrize(("name", "ranks", "choice", "after", "words", "more"), CASES)
def test_communicators_that_come_and_go_give_right_results(
    programs, name: str, ranks: int, choice: str, after: int, words: list[str], more: dict[str, str]
) -> None:
    """Freed late, early, by disconnect, with a call going on, and over other ranks next time."""
    said = run(programs, name, ranks, choice, words, {"STRETTO_AFTER": str(after)} | more)
    assert "all right" in said


@pytest.mark.parametrize("refuse", ["map", "reach"])
def test_a_rank_without_shared_memory_takes_all_to_the_mpi(
    programs, tmp_path: Path, refuse: str
) -> None:
    """At MPI_Init, or now and then when a communicator needs more: never a hang."""
    shim, mpi = tmp_path / "no_memory.so", MPIS["openmpi4"].require()
    mpi.compile(SOURCE.with_name("no_memory.c"), shim, "-shared", "-fPIC", "-ldl")
    env = {
        "LD_PRELOAD": f"{shim}:{library('openmpi')}",
        "REFUSE": refuse,
        "STRETTO_CHOICE": SHM,
        "STRETTO_AFTER": "0",
        "STRETTO_VERBOSE": "1",
    }
    done = mpi.run(3, [str(programs["openmpi4"]), "150"], rank_env=env)
    assert done.returncode == 0 and "all right" in done.stdout, done.stderr[:2000]
    assert (": shm (forced)" in done.stderr) == (refuse == "reach")
    assert ("no shared memory on this node" in done.stderr) == (refuse == "map")
    assert refuse != "map" or "or all: Cannot allocate memory" in done.stderr


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_short_messages_take_little_memory_and_no_new_pages(programs, name: str) -> None:
    said = run(programs, name, 2, "allreduce=shm", ["memory", "60"], {"STRETTO_AFTER": "3"})
    kib, faults = (float(x) for x in re.findall(r"(?:memory|faults): (-?[0-9.]+)", said))
    assert kib < 64, (
        said
    )  # MPICH alone takes up to 26; rings for long messages would be 128 or more
    assert faults < 2, said
