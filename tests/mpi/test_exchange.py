"""Irregular exchanges: blocks that pass through other ranks, repetition, wrong counts."""

from __future__ import annotations

import re

import pytest

from mpis import MPIS
from programs import job


def run(name: str, words: str, choice: str, ranks: int = 3, **more: object) -> None:
    settings = {"choice": f"alltoallv={choice}", "after": int(choice != "aggregated"), **more}
    done = job(name, f"exchange {words}", ranks=ranks, verbose=1, **settings)  # type: ignore[arg-type]
    assert "0 faults" in done.stdout
    assert "(forced)" in done.stderr, done.stderr


@pytest.mark.parametrize("choice", ["bruck_v(2)", "aggregated"])
@pytest.mark.parametrize("name", MPIS)
def test_counts_that_repeat_and_change(name: str, choice: str) -> None:
    """Whoever's counts change, and whenever: everybody gets what was sent in this call."""
    run(name, "repeat 11 250", choice, fake_ppn=2)


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_repeated_sizes_are_not_told_again(name: str) -> None:
    run(name, "known", "aggregated", fake_ppn=2)


@pytest.mark.parametrize("choice", ["bruck_v(3)", "aggregated"])
@pytest.mark.parametrize(("ranks", "ppn"), [(5, 2), (7, 3)])
def test_more_ranks(ranks: int, ppn: int, choice: str) -> None:
    run("openmpi4", "repeat 5 120", choice, ranks, fake_ppn=ppn)


@pytest.mark.parametrize(
    ("choice", "ppn", "words"),
    [
        ("shm", 0, "all"), ("bruck_v(2)", 2, "all"), ("aggregated", 2, "all"), ("linear", 1, ""),
        ("pairwise", 1, ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", MPIS)
def test_too_little_room(name: str, choice: str, ppn: int, words: str) -> None:
    """It is reported where it happens; nothing is written behind the room, and nobody hangs."""
    run(name, f"truncate {words}", choice, fake_ppn=ppn)


@pytest.mark.parametrize("choice", ["bruck_v(2)", "aggregated"])
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_room_made_after_an_error(name: str, choice: str) -> None:
    run(name, "retry", choice, fake_ppn=1)


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_one_buffer_for_both(name: str) -> None:
    run(name, "alias", "shm;alltoall=shm")


@pytest.mark.parametrize(
    ("choice", "ranks", "ppn"),
    [
        ("shm", 3, 0), ("linear", 3, 1), ("knomial(2)", 3, 1), ("knomial(2)", 7, 1),
        ("knomial(3)", 5, 2), ("shm+knomial(2)", 3, 2), ("shm+linear", 5, 2),
        ("shm+knomial(2)", 7, 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", MPIS)
def test_gatherv_scatterv_with_too_little_room(
    name: str, choice: str, ranks: int, ppn: int
) -> None:
    """Who has too little room says so; the others' data arrives, and nobody hangs."""
    choices = f"gatherv={choice};scatterv={choice}"
    command = "trees 120" if choice == "linear" else "trees 120 all"
    done = job(name, command, ranks=ranks, choice=choices, fake_ppn=ppn, after=1, verbose=1)
    found = re.search(r"trees: (\d+) calls with too little room, 0 faults", done.stdout)
    assert found and int(found[1]) > 20, done.stdout
    assert done.stderr.count("(forced)") == 2, done.stderr
