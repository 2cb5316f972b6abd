"""`stretto place`: the options that it prints, typed: each rank tells which cores it may use."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from mpis import MPIS, beside_others
from processes import run_program
from stretto.check.facts import collect_facts
from stretto.place.order import placement
from stretto.place.output import launch, options, write_order
from stretto.place.site import JobNodes, Seat, seats

pytestmark = pytest.mark.mpi

RANK = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
SHELL = f'echo "rank {RANK} $(grep Cpus_allowed_list: /proc/self/status)"'


def masks(name: str, words: list[str]) -> list[str]:
    mpi = MPIS[name].require()
    words[0] = str(mpi.prefix / "bin" / words[0])
    env = mpi.environment | {"I_MPI_PIN": "1"}
    with beside_others():
        done = run_program([*words, "sh", "-c", SHELL], env=env, timeout=300)
    found = dict(re.findall(r"rank (\d+) \S+\s+(\S+)", done.stdout))
    assert done.returncode == 0 and sorted(found) == ["0", "1"], done.stdout + done.stderr
    return [found["0"], found["1"]]


def two(backwards: bool) -> list[Seat]:
    facts = collect_facts()
    if len(os.sched_getaffinity(0)) < 2 or facts.cores < 2:
        pytest.skip("one core: no order of ranks can be seen")
    found = seats(facts, 2)
    return found[::-1] if backwards else found


@pytest.mark.parametrize("name", MPIS)
def test_options_typed_bind_each_rank_to_its_seat(name: str) -> None:
    chosen = two(backwards=name != "openmpi4")  # whose list is sorted
    words = shlex.split(options(name, chosen))
    assert masks(name, [*words, "-n", "2"]) == [str(s.cpus[0]) for s in chosen]


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_rankfile_typed_binds_each_rank_to_its_seat(name: str, tmp_path: Path) -> None:
    chosen = two(backwards=True)
    site = JobNodes((os.uname().nodename,), (tuple(chosen),))
    placed = placement("best", np.zeros(2, np.int64))
    write_order(tmp_path, site, placed)
    given = launch("openmpi", int(name[-1]), tmp_path, site, placed)
    words = ["mpirun", *given.words, "-n", "2"]
    assert masks(name, words) == [str(s.cpus[0]) for s in chosen]
