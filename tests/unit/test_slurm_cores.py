"""Cores of a Slurm job that has part of a node: its hardware threads are none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import sweeps
from processes import executable
from stretto.campaign.hosts import Hosts, find_hosts
from stretto.campaign.layout import Layout
from stretto.campaign.placement import RankPlace
from stretto.campaign.slurm import cores_of_job, per_core
from stretto.measure.idle import HYPERTHREADS, MORE_RANKS, crowd_words
from test_campaign_kills import small

#: what Slurm 22.05 says of a node (shortened): the processors in all are threads, then cores
THREADS = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=32 CPUAlloc=8 CPUEfctv=128 CPUTot=128 CPULoad=1.72 "
    "Gres=(null) RealMemory=1000 Sockets=2 Boards=1 State=MIXED ThreadsPerCore=2 TmpDisk=0 "
    "CfgTRES=cpu=128,mem=1000M,billing=128 Weight=1"
)
CORES = THREADS.replace("CPUTot=128", "CPUTot=64")
ONE = THREADS.replace("ThreadsPerCore=2", "ThreadsPerCore=1").replace("CPUTot=128", "CPUTot=64")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job on n1, of whose Slurm nothing answers but a stand-in that tells the file's text."""
    for name in [n for n in os.environ if n.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    said = tmp_path / "said"
    executable(
        tmp_path / "scontrol",
        f'#!/bin/sh\n[ "$2" = node ] || exec echo n1\n[ "$3$4" = "-on1" ] && exec cat "{said}"\n',
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n1")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "8")
    return said


@pytest.mark.parametrize(
    ("said", "asked", "wanted"),
    [
        (THREADS, None, 4),
        (CORES, None, 8),  # a site that gives its nodes one CPU for each core
        (ONE, None, 8),
        (THREADS, "1", 8),  # --hint=nomultithread: Slurm then counts cores
        (THREADS, "2", 4),
        (f"{ONE}\n{THREADS}", None, 4),
        ("", None, 8),
        ("nonsense", None, 8),
        (None, None, 8),  # scontrol fails
    ],
)
def test_threads_that_slurm_counts_are_no_cores(
    job: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str | None,
    asked: str | None,
    wanted: int,
) -> None:
    if said is not None:
        job.write_text(f"{said}\n")
    if asked is not None:
        monkeypatch.setenv("SLURM_THREADS_PER_CORE", asked)
    assert cores_of_job(os.environ) == wanted
    place = RankPlace(0, "n1", "A CPU", 64, 128)
    monkeypatch.setattr("stretto.campaign.hosts.probe", lambda *of: [place])
    mpi = sweeps.NoMPI()
    mpi.launcher = "mpirun"  # type: ignore[attr-defined]
    request = replace(small(tmp_path), hosts=("n1",))
    for ask in (False, True):
        found = find_hosts(request, mpi, lambda text: None, ask)  # type: ignore[arg-type]
        assert found.cores == wanted
        assert found.shared_by(Layout(1, 8)) == (wanted == 4)
        assert found == Hosts(("n1",), "A CPU" if ask else None, None, wanted, 8)
    assert [crowd_words(n, found.threads) for n in (8, 9)] == [HYPERTHREADS, MORE_RANKS]


def test_a_core_of_which_one_thread_is_in_the_job_is_a_core(job: Path) -> None:
    job.write_text(THREADS)
    assert per_core(os.environ) == 2
    assert cores_of_job(os.environ | {"SLURM_JOB_CPUS_PER_NODE": "3(x2),8"}) == 2
    assert cores_of_job(os.environ | {"SLURM_JOB_CPUS_PER_NODE": "1"}) == 1


def test_without_slurm_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert per_core({}) == per_core({"SLURM_JOB_NODELIST": "n1"}) == 1
    assert per_core({"SLURM_THREADS_PER_CORE": "0", "SLURM_JOB_NODELIST": "n1"}) == 1
