"""The public API in real jobs: from C (looked up, and linked) and from Python through mpi4py."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, Mpi, library
from programs import under

EXAMPLE = REPOSITORY / "examples" / "c" / "planned_exchange.c"
INCLUDE = f"-I{REPOSITORY / 'include'}"


def ran(mpi: Mpi, ranks: int, *command: str, **settings: object) -> str:
    """Return what a command prints under the library, with its API on; none: without it."""
    env = under(mpi, api=1, after=1, **settings) if settings else {}
    done = mpi.run(ranks, command, rank_env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", MPIS)
def test_planned_exchange_in_c(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = str(mpi.compile(EXAMPLE, tmp_path / "planned", "-O1", INCLUDE, "-ldl"))
    bare = ran(mpi, 2, program)
    assert "not planned: Stretto is not in this process" in bare
    assert "50 steps by MPI_Alltoallv: 0 wrong" in bare
    choices = ("aggregated", "linear(32)", "native")
    said = ran(mpi, 3, program, *choices, "rring", fake_ppn=2)
    for choice in choices:
        counted = "0 exchanges by Stretto, 50" if choice == "native" else "50 exchanges by Stretto"
        assert f"50 steps by {choice}: 0 wrong entries; {counted}" in said
    assert "not planned: choice 'rring'" in said and "50 steps by MPI_Alltoallv: 0 wrong" in said


def test_linked(tmp_path: Path) -> None:
    """A program that needs the API is linked to the library of its MPI's family."""
    mpi = MPIS["openmpi4"].require()
    where = library(mpi.family)
    link = ("-Wl,--no-as-needed", INCLUDE, str(where), f"-Wl,-rpath,{where.parent}")
    program = mpi.compile(EXAMPLE, tmp_path / "planned", "-DSTRETTO_LINKED", *link)
    said = ran(mpi, 2, str(program), "bruck_v(2)", fake_ppn=0)
    assert "50 steps by bruck_v(2): 0 wrong" in said


SCRIPT = """
import sys
from array import array
sys.path.insert(0, sys.argv[1])
import stretto
from stretto.errors import StrettoError
from mpi4py import MPI
comm = MPI.COMM_WORLD
me, n = comm.rank, comm.size
if sys.argv[2] == "bare":
    assert not stretto.loaded()
    try:
        stretto.choose(comm, "allreduce", "ring")
    except StrettoError as error:
        assert "not loaded" in str(error) and "stretto run" in error.remedy
        print("said so")
    sys.exit()
stretto.choose(comm, "allreduce", "recursive_doubling")
total = array("d", [0.0])
if sys.argv[2] == "reproducible":  # taken and not used, by reductions only
    stretto.choose(comm, "bcast", "knomial(4)")
    comm.Allreduce(array("d", [me + 1.0]), total)
    comm.Bcast(total)
    assert stretto.last(comm, "allreduce") == "knomial(2): STRETTO_REPRODUCIBLE"
    assert stretto.last(comm, "bcast") == "knomial(4): forced"
    stretto.choose(comm, "allreduce", "native")
    comm.Allreduce(array("d", [me + 1.0]), total)
    assert stretto.counters(comm, "allreduce") == stretto.Counters(2, 0)
    print("done", me)
    sys.exit()
comm.Allreduce(array("d", [me + 1.0]), total)
assert total[0] == n * (n + 1) / 2
assert stretto.last(comm, "allreduce") == "recursive_doubling: forced"
assert stretto.counters(comm, "allreduce") == stretto.Counters(1, 0)
try:
    stretto.choose(comm, "allreduce", "rring")
    raise SystemExit("taken")
except StrettoError as error:
    assert "rring" in str(error)
assert stretto.last(comm, "scan") is None
send = stretto.Blocks([r + 1 for r in range(n)], MPI.INT)
receive = stretto.Blocks([me + 1] * n, MPI.INT, [(me + 2) * r for r in range(n)])
mine = array("i", [me * 100 + r for r in range(n) for _ in range(r + 1)])
theirs = array("i", [-1] * ((me + 2) * n))
for choice in ("aggregated", "bruck_v(3)", "native"):
    with stretto.AlltoallvPlan(comm, send, receive, choice) as plan:
        assert plan.choice == choice
        for _ in range(3):
            theirs[:] = array("i", [-1] * len(theirs))
            plan.run(mine, theirs)
            for r in range(n):
                assert list(theirs[(me + 2) * r : (me + 2) * (r + 1)]) == [
                    *[r * 100 + me] * (me + 1), -1]
        try:
            plan.run(mine, theirs[:1])
            raise SystemExit("too small")
        except ValueError:
            pass
    try:
        plan.run(mine, theirs)
        raise SystemExit("freed")
    except StrettoError:
        pass
comm.Set_errhandler(MPI.ERRORS_RETURN)
stretto.choose(comm, "alltoallv", "linear")
before = stretto.counters(comm, "alltoallv")
try:
    comm.Alltoallv([mine, ([-1] * n, [0] * n), MPI.INT], [theirs, ([1] * n, [0] * n), MPI.INT])
    raise SystemExit("negative counts")
except MPI.Exception:
    pass  # the MPI's own words: it was passed, and is counted so
after = stretto.counters(comm, "alltoallv")
assert (after.ours, after.native) == (before.ours, before.native + 1), (before, after)
print("done", me)
"""


@pytest.mark.parametrize("name", MPIS)
def test_python(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [*mpi.python(), str(script), str(REPOSITORY / "python")]
    assert "said so" in ran(mpi, 2, *command, "bare")
    assert ran(mpi, 3, *command, "ours", fake_ppn=2).count("done") == 3
    assert ran(mpi, 3, *command, "reproducible", fake_ppn=2, reproducible=1).count("done") == 3
