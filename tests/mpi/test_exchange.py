"""Irregular exchanges: blocks that pass through other ranks, repetition, wrong counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from mpis import MPIS
from programs import job


def run(name: str, cases: Sequence[str], ppn: int, ranks: int = 3) -> None:
    """Carry out choices and what is exchanged, each on a communicator of its own."""
    done = job(name, "exchange", *cases, ranks=ranks, api=1, after=1, fake_ppn=ppn, verbose=1)
    for case in cases:
        assert f"exchange {case}: 0 faults\n" in done.stdout
        choice = re.escape(case.split()[0])
        assert re.search(rf"alltoallv of .*: {choice}\S* \(forced\)", done.stderr), done.stderr


REPEAT = ("bruck_v(2) repeat 11 250", "aggregated repeat 11 250")
#: by ranks a node. Everybody gets what was sent in this call, whoever's counts change. Too
#: little room is reported where it is, nothing is written behind it, and nobody hangs.
CASES = {
    0: ("shm truncate all", "shm alias"),
    1: ("linear truncate", "pairwise truncate", "bruck_v(2) retry", "aggregated retry"),
    2: (*REPEAT, "bruck_v(2) truncate all", "aggregated truncate all", "aggregated known"),
}


@pytest.mark.parametrize("ppn", CASES)
@pytest.mark.parametrize("name", MPIS)
def test_counts_that_repeat_change_or_do_not_fit(name: str, ppn: int) -> None:
    run(name, CASES[ppn], ppn)


@pytest.mark.parametrize(("ranks", "ppn"), [(5, 2), (7, 3)])
def test_more_ranks(ranks: int, ppn: int) -> None:
    run("openmpi4", ("bruck_v(3) repeat 5 120", "aggregated repeat 5 120"), ppn, ranks)


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
