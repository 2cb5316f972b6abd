"""Short forms of the long proofs (docs/explanation/evidence.md), and rare call shapes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpis import MPIS, REPOSITORY, have, missing
from processes import run_program
from programs import SHM, job, same

TOOLS = REPOSITORY / "tools" / "conformance"


#: the last one of a job may finalize
CASES = (
    "attributes",
    "errors",
    "kinds",
    "freed",
    "inter",
    "self",
    "nothing",
    "predefined",
    "pairs",
)
CASES += ("finalize",)


def shapes(name: str, cases: Sequence[str], **settings: object) -> None:
    """Run rare call shapes in one job, but for one that the MPI does not survive by itself.

    PyPI's MPICH checks no arguments: a negative count kills it.
    """
    mine = [case for case in cases if (name, case) != ("mpich", "errors")]
    done = job(name, f"call_shapes {' '.join(mine)}", **settings)  # type: ignore[arg-type]
    assert re.findall(r"^call_shapes (\w+): done$", done.stdout, flags=re.M) == mine, done.stderr
    assert "finalize" not in mine or "collectives in MPI_Finalize" in done.stdout


@pytest.mark.parametrize("name", MPIS)
def test_rare_call_shapes(name: str) -> None:
    """Set up when a communicator is made, or at the second call and with threads.

    Each MPI and each case has both over the matrix.
    """
    at = list(MPIS).index(name)
    shapes(name, CASES[at % 2 :: 2], choice=SHM, after=0)
    shapes(name, ["threads", *CASES[(at + 1) % 2 :: 2]], choice=SHM, after=1)


@pytest.mark.parametrize("name", MPIS)
def test_reproducible_reductions_of_rare_shapes(name: str) -> None:
    """What has no kernel is evaluated by the MPI, and what the MPI has not is its own to report."""
    after = list(MPIS).index(name) % 2
    cases = ("errors", "predefined", "pairs")
    shapes(name, cases, reproducible=1, nonblocking="calls", after=after)


@pytest.mark.parametrize("name", MPIS)
def test_the_class_of_an_error_in_a_message(name: str) -> None:
    shapes(name, ["truncated"], choice="bcast=linear", after=0)


#: kB that must be free for the next test: what it takes, and some for others
ROOM_KB = 7_500_000


def _memory(name: str) -> int:
    """A line of /proc/meminfo, in kB."""
    found = re.search(rf"{name}: +(\d+) kB", Path("/proc/meminfo").read_text())
    assert found
    return int(found[1])


@pytest.mark.long
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_an_element_that_is_beyond_the_mpis_pack(name: str) -> None:
    """2^31 bytes with a gap, there and back: it was refused, and the job ended."""
    until = time.monotonic() + 600
    while _memory("MemTotal") >= ROOM_KB > _memory("MemAvailable") and time.monotonic() < until:
        time.sleep(1)  # other tests have it
    if _memory("MemAvailable") < ROOM_KB:
        missing("6.5 GB of memory are not free")
    done = job(name, "call_shapes elements", ranks=2, choice="alltoallv=linear", after=1)
    assert "call_shapes elements: done" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", MPIS)
def test_nothing_grows(name: str) -> None:
    done = job(name, "soak 6000 300", ranks=2, choice=SHM, after=1)
    assert "soak: done" in done.stdout


def _tool(name: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_program([sys.executable, str(TOOLS / name), *words], cwd=cwd)


@pytest.mark.long
def test_kills_at_random_moments(tmp_path: Path) -> None:
    for mpi in MPIS.values():
        mpi.require()
    done = _tool("kills.py", "--kills", "10", "--native", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 kills of one rank of 4, 0 wrong endings" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", MPIS)
def test_a_part_of_the_matrix(name: str, tmp_path: Path) -> None:
    MPIS[name].require()
    words = ["--mpi", name, "--ranks", "5", "--every", "9", "--rounds", "8", "--largest", "3000"]
    done = _tool("matrix.py", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"4 jobs, \d+ sets of choices, (\d+) comparisons, (\d+) calls", done.stdout)
    assert found and int(found[2]) > int(found[1]) / 2 > 100, done.stdout


CHOICES = [
    (0, SHM),
    (0, "allreduce=rabenseifner;alltoall=bruck_k(3);scan=linear;reduce=knomial(3);bcast=chain(1K)"),
    (2, "allreduce=shm+ring;allgatherv=shm+ring;gather=shm+knomial;reduce_scatter=shm+pairwise"),
    (1, "allreduce=recursive_multiplying(3);alltoallv=pairwise;bcast=scatter_allgather"),
]


@pytest.mark.long
@settings(max_examples=6, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    shapes=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40),
    ranks=st.integers(2, 5),
    largest=st.sampled_from([10, 5000, 200000]),
    choice=st.sampled_from(CHOICES),
)
def test_any_sequence_of_call_shapes(shapes, ranks: int, largest: int, choice) -> None:
    """Each number is a call shape; a failing sequence shrinks to the calls that are needed."""
    with tempfile.NamedTemporaryFile("w", suffix=".shapes") as stream:
        stream.write("".join(f"{shape}\n" for shape in shapes))
        stream.flush()
        done = job(
            "openmpi4", "conformance 1 1", str(largest), ranks=ranks, timeout=300,
            env={"CONFORMANCE_SHAPES": stream.name}, choice=choice[1], fake_ppn=choice[0], after=0,
        )  # fmt: skip
    assert same(done) == len(shapes) * ranks


PEEK = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf(" No Errors%s\n", argc > 1 && getenv("STRETTO_CHOICE") ? " but one" : "");
    MPI_Finalize();
    return 0;
}
"""


def test_the_suite_runner_finds_a_difference(tmp_path: Path) -> None:
    """A program that looks whether Stretto is there differs, the same one without looking not."""
    mpi = MPIS["openmpi4"].require()
    (tmp_path / "peek.c").write_text(PEEK)
    mpi.compile(tmp_path / "peek.c", tmp_path / "peek")
    (tmp_path / "testlist").write_text(
        "# comment\npeek 4\npeek 2 arg=look timeLimit=300\n@spawn@ x 2\n"
    )
    words = [str(tmp_path), "--testlist", str(tmp_path / "testlist"), "--mpi", "openmpi4"]
    done = _tool("suite.py", *words, "--sets", "1", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 lines, 3 runs with Stretto, 50 calls carried out" in done.stdout, done.stdout
    assert "differences: 1; left behind: []" in done.stdout
    assert done.stdout.count('"line": "peek 2 look"') == 1


@pytest.mark.long
def test_valgrind_finds_nothing_of_stretto(tmp_path: Path) -> None:
    """Errors of the MPI are not looked at: one counts when Stretto's code is in its stack."""
    valgrind = [have("valgrind", "valgrind"), "--error-exitcode=0", "--num-callers=40"]
    done = job(
        "openmpi4", "conformance 3 30 3000", ranks=2, timeout=300, choice=SHM, after=1,
        before=[*valgrind, f"--log-file={tmp_path}/log.%p"], verbose=1,
    )  # fmt: skip
    assert same(done) == 60 and "shm (forced)" in done.stderr
    logs = [path.read_text() for path in tmp_path.glob("log.*")]
    assert sum("ERROR SUMMARY" in text for text in logs) >= 2
    for text in logs:
        blocks = re.split(r"^==\d+== *\n", text, flags=re.M)
        ours = [b for b in blocks if " at 0x" in b and "libstretto" in b]
        assert not ours, ours[0]
