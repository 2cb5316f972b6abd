"""Irregular exchanges: blocks that pass through other ranks, repetition, wrong counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, Mpi, library

SOURCE = REPOSITORY / "tests" / "programs" / "exchange.c"
TREES = SOURCE.with_name("trees.c")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"folder": tmp_path_factory.mktemp("exchange")}


def run(
    programs: dict[str, Path], name: str, ranks: int, choice: str, words: list[str], **more: object
) -> None:
    mpi: Mpi = MPIS[name].require()
    if name not in programs:
        programs[name] = mpi.compile(SOURCE, programs["folder"] / name, "-O1", "-ldl")
    env = {
        "LD_PRELOAD": str(library(mpi.family)),
        "STRETTO_CHOICE": f"alltoallv={choice}",
        "STRETTO_AFTER": "0" if choice == "aggregated" else "1",
        "STRETTO_VERBOSE": "1",
    }
    env |= {k: str(v) for k, v in more.items()}
    done = mpi.run(ranks, [str(programs[name]), *words], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 faults" in done.stdout
    assert "(forced)" in done.stderr, done.stderr


@pytest.mark.parametrize("choice", ["bruck_v(2)", "aggregated"])
@pytest.mark.parametrize("name", MPIS)
def test_counts_that_repeat_and_change(programs, name: str, choice: str) -> None:
    """Whoever's counts change, and whenever: everybody gets what was sent in this call."""
    run(programs, name, 3, choice, ["repeat", "11", "250"], STRETTO_FAKE_PPN=2)


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_repeated_sizes_are_not_told_again(programs, name: str) -> None:
    run(programs, name, 3, "aggregated", ["known"], STRETTO_FAKE_PPN=2)


@pytest.mark.parametrize("choice", ["bruck_v(3)", "aggregated"])
@pytest.mark.parametrize(("ranks", "ppn"), [(5, 2), (7, 3)])
def test_more_ranks(programs, ranks: int, ppn: int, choice: str) -> None:
    run(programs, "openmpi4", ranks, choice, ["repeat", "5", "120"], STRETTO_FAKE_PPN=ppn)


@pytest.mark.parametrize(
    ("choice", "ppn", "words"),
    [
        ("shm", 0, ["all"]),
        ("bruck_v(2)", 2, ["all"]),
        ("aggregated", 2, ["all"]),
        ("linear", 1, []),
        ("pairwise", 1, []),
    ],
)
@pytest.mark.parametrize("name", MPIS)
def test_too_little_room(programs, name: str, choice: str, ppn: int, words: list[str]) -> None:
    """It is reported where it happens; nothing is written behind the room, and nobody hangs."""
    run(programs, name, 3, choice, ["truncate", *words], STRETTO_FAKE_PPN=ppn)


@pytest.mark.parametrize("choice", ["bruck_v(2)", "aggregated"])
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_room_made_after_an_error(programs, name: str, choice: str) -> None:
    run(programs, name, 3, choice, ["retry"], STRETTO_FAKE_PPN=1)


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_one_buffer_for_both(programs, name: str) -> None:
    choices = "shm;alltoall=shm"
    run(programs, name, 3, choices, ["alias"])


@pytest.mark.parametrize(
    ("choice", "ranks", "ppn"),
    [
        ("shm", 3, 0),
        ("linear", 3, 1),
        ("knomial(2)", 3, 1),
        ("knomial(2)", 7, 1),
        ("knomial(3)", 5, 2),
        ("shm+knomial(2)", 3, 2),
        ("shm+linear", 5, 2),
        ("shm+knomial(2)", 7, 3),
    ],
)
@pytest.mark.parametrize("name", MPIS)
def test_gatherv_scatterv_with_too_little_room(
    programs, name: str, choice: str, ranks: int, ppn: int
) -> None:
    """Who has too little room says so; the others' data arrives, and nobody hangs."""
    mpi: Mpi = MPIS[name].require()
    if f"trees {name}" not in programs:
        programs[f"trees {name}"] = mpi.compile(TREES, programs["folder"] / f"trees-{name}", "-O1")
    env = {
        "LD_PRELOAD": str(library(mpi.family)),
        "STRETTO_CHOICE": f"gatherv={choice};scatterv={choice}",
        "STRETTO_FAKE_PPN": str(ppn),
        "STRETTO_AFTER": "1",
        "STRETTO_VERBOSE": "1",
    }
    words = ["120"] if choice == "linear" else ["120", "all"]
    done = mpi.run(ranks, [str(programs[f"trees {name}"]), *words], rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"trees: (\d+) calls with too little room, 0 faults", done.stdout)
    assert found and int(found[1]) > 20, done.stdout
    assert done.stderr.count("(forced)") == 2, done.stderr
