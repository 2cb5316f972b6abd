"""Large messages through attached memory, with a stand-in for XPMEM that shares real pages.

The kernel module is on no machine of ours, so what is shown here is that the engine keeps to the
library's interface, compares right, and gives way where something is refused; not its speed.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mpis import MPIS
from programs import PROGRAMS, SHM, job
from stretto.net.cores import chosen, measure_cores, read_cores

WORKS = "XPMEM works among the ranks of this node"


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the stand-in under the real library's name."""
    made = tmp_path_factory.mktemp("xpmem") / "libxpmem.so.0"
    argv = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]
    argv += ["-Wno-builtin-declaration-mismatch", "-Wl,-soname,libxpmem.so.0"]
    subprocess.run([*argv, str(PROGRAMS / "xpmem_stand_in.c"), "-o", str(made)], check=True)
    return made


def compared(
    stand_in: Path | None, log: Path, name: str = "openmpi4", ranks: int = 3, **faults: str
) -> tuple[str, list[dict[str, int]]]:
    """Compare large calls with the MPI's own answers; return stderr and the ranks' counts."""
    env = {"XPMEM_LOG": str(log)} | faults
    settings = {"choice": SHM, "verbose": 1}
    done = job(name, "xpmem_messages 12", ranks=ranks, in_front=stand_in, env=env, **settings)
    assert "12 rounds, 0 differences" in done.stdout
    assert "shm (forced)" in done.stderr
    lines = log.read_text().splitlines() if log.exists() else []
    counts = [{k: int(v) for k, v in re.findall(r"(\w+) (\d+)", line)} for line in lines]
    return done.stderr, counts


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", MPIS)
def test_memory_is_attached_and_given_back(
    stand_in: Path, tmp_path: Path, name: str, ranks: int
) -> None:
    said, counts = compared(stand_in, tmp_path / "log", name, ranks)
    assert WORKS in said
    assert len(counts) == ranks
    for count in counts:
        assert count["attached"] > ranks - 1  # more than the words looked at in MPI_Init
        assert count["attached"] == count["detached"]
        assert count["got"] == count["released"] == ranks
        assert count["made"] == count["removed"] == 1


@pytest.mark.long
@pytest.mark.parametrize("refuse", ["version", "foreign", "make", "get", "attach", "hole"])
@pytest.mark.parametrize("rank", ["1", ""], ids=["one-rank", "all-ranks"])
def test_what_is_refused_at_the_start_is_not_used(
    stand_in: Path, tmp_path: Path, refuse: str, rank: str
) -> None:
    """On one rank or on all: all ranks do without, and what the others had is given back."""
    settings = {"XPMEM_FAULT": refuse} | ({"XPMEM_FAULT_RANK": rank} if rank else {})
    said, counts = compared(stand_in, tmp_path / "log", **settings)
    assert WORKS not in said
    for count in counts:
        assert count["attached"] == count["detached"] <= 2
        assert count["got"] == count["released"]
        assert count["made"] == count["removed"]


@pytest.mark.parametrize("rank", ["2", ""], ids=["one-rank", "all-ranks"])
def test_a_refusal_in_mid_job_changes_no_result(stand_in: Path, tmp_path: Path, rank: str) -> None:
    settings = {"XPMEM_FAULT": "late"} | ({"XPMEM_FAULT_RANK": rank} if rank else {})
    said, counts = compared(stand_in, tmp_path / "log", **settings)
    assert WORKS in said
    assert sum(count["late"] for count in counts) >= 1  # one more was asked for, and refused
    assert all(count["attached"] == 3 for count in counts if count["late"])
    assert all(count["attached"] == count["detached"] for count in counts)


def test_it_can_be_switched_off(stand_in: Path, tmp_path: Path) -> None:
    said, counts = compared(stand_in, tmp_path / "log", STRETTO_XPMEM="0")
    assert WORKS not in said and not counts


def test_without_the_library_nothing_is_said(tmp_path: Path) -> None:
    assert WORKS not in compared(None, tmp_path / "log")[0]


def test_a_programs_file_under_a_number_that_was_ours(stand_in: Path, tmp_path: Path) -> None:
    """What is touched is written to a file of ours, never to one that has its number now."""
    file = str(tmp_path / "file")
    done = job("openmpi4", "descriptors", file, in_front=stand_in, choice=SHM)
    assert len(re.findall(r"rank \d: 2 closed, file as it was", done.stdout)) == 3, done.stdout


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_cores_copy_from_attached_memory(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program compares what arrives with what was written."""
    monkeypatch.setenv("LD_PRELOAD", str(stand_in))
    cores = read_cores()
    (pair,), _ = measure_cores(chosen(cores, 1)[:1], [65536], 1)
    assert [copy.way for copy in pair.copies if copy.way != "cma"] == ["shared", "xpmem"]
    assert all(len(copy.both_bytes_s) == 1 for copy in pair.copies)
