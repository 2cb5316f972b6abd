"""Communicators that come and go: what a freed one used is used again by the next ones."""

from __future__ import annotations

import re

import pytest

from programs import SHM, job, shim

LAYERED = "allreduce=shm+recursive_doubling;bcast=shm+knomial(2);barrier=shm+dissemination"
FLAT = "allreduce=recursive_doubling;bcast=knomial(2);allgather=ring;alltoall=pairwise"
CALLS = {"nonblocking": "calls"}
# not Intel MPI with threads, which crashes or hangs without Stretto, too (2021.18)
CASES = [
    ("openmpi4", 3, SHM, 0, "150", {}),
    ("openmpi4", 5, LAYERED, 1, "60", {"fake_ppn": 2}),
    ("openmpi4", 3, SHM, 0, "60 3", {}),
    ("openmpi4", 4, SHM, 0, "60", {"fake_domains": 2, "arena_mb": 8}),
    ("openmpi5", 2, SHM, 0, "100 0 pending", CALLS),
    ("openmpi5", 3, FLAT, 3, "100", {}),
    ("mpich", 3, SHM, 0, "100 0 pending", CALLS),
    ("mpich", 3, FLAT, 0, "60 2", {}),
    ("intel", 3, SHM, 3, "100", {}),
]


def run(name: str, words: str, ranks: int, choice: str, **more: object) -> str:
    done = job(name, f"short_lived {words}", ranks=ranks, choice=choice, verbose=1, **more)  # type: ignore[arg-type]
    assert "(forced)" in done.stderr and "it is ignored" not in done.stderr, done.stderr[:2000]
    return done.stdout


@pytest.mark.parametrize(("name", "ranks", "choice", "after", "words", "more"), CASES)
def test_communicators_that_come_and_go_give_right_results(
    name: str, ranks: int, choice: str, after: int, words: str, more: dict[str, object]
) -> None:
    """Freed late, early, by disconnect, with a call going on, and over other ranks next time."""
    assert "all right" in run(name, words, ranks, choice, after=after, **more)


@pytest.mark.parametrize("refuse", ["map", "reach"])
def test_a_rank_without_shared_memory_takes_all_to_the_mpi(refuse: str) -> None:
    """At MPI_Init, or now and then when a communicator needs more: never a hang."""
    more = {"in_front": shim("no_memory"), "env": {"REFUSE": refuse}}
    done = job("openmpi4", "short_lived 150", choice=SHM, after=0, verbose=1, **more)
    assert "all right" in done.stdout, done.stderr[:2000]
    assert (": shm (forced)" in done.stderr) == (refuse == "reach")
    assert ("no shared memory on this node" in done.stderr) == (refuse == "map")
    assert refuse != "map" or "or all: Cannot allocate memory" in done.stderr


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_short_messages_take_little_memory_and_no_new_pages(name: str) -> None:
    said = run(name, "memory 60", 2, "allreduce=shm", after=3)
    kib, faults = (float(x) for x in re.findall(r"(?:memory|faults): (-?[0-9.]+)", said))
    # MPICH alone takes up to 26 KiB; rings for long messages would be 128 or more
    assert kib < 64 and faults < 2, said
