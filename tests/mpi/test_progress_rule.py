"""The progress rule: programs that block elsewhere while nonblocking collectives are under way.

Every case of tests/programs/progress_cases.c is run plainly under each MPI (it is correct), behind
the wrappers of src/interpose with a stand-in for which something is always under way (each wrapper
does what the MPI's function does), and with Stretto's own nonblocking collectives.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from functions import FAMILY_MACRO, SOURCE, functions
from mpis import MPIS, REPOSITORY, Mpi, library
from processes import run_program
from test_loading_library import exported

APPS = REPOSITORY / "tests" / "programs"
PARTS = ("messages", "collectives", "windows", "files")
#: Cases that the MPI itself does not survive, Stretto or not. MPICH 5.0.2 lets nonblocking
#: collectives rest while it waits in these one-sided calls.
HANGS_ITSELF = {
    "mpich": {"win_lock", "win_lock_shared", "win_post_wait", "win_start_complete"},
}
CLASSES = ("LOCAL", "BUFFERED", "TEST", "TEST_4", "P2P", "OPAQUE", "OPAQUE_4", "OPAQUE_5")
CLASSES += ("MAKES", "ELSEWHERE", "BUFFERED_LATER")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory):
    """Compile the cases for an MPI, once; macro: in another form."""
    folder = tmp_path_factory.mktemp("progress")

    def compiled(mpi: Mpi, macro: str = "NONBLOCKING") -> str:
        path = folder / f"cases-{mpi.name}-{macro}"
        if not path.exists():
            parts = [str(APPS / f"progress_{part}.c") for part in PARTS]
            options = [*parts, "-O1", "-pthread", f"-D{macro}"]
            mpi.compile(APPS / "progress_cases.c", path, *options)
        return str(path)

    return compiled


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory):
    """The wrappers of blocking calls with a stand-in for what is under way, once a family."""
    folder = tmp_path_factory.mktemp("guard")

    @cache
    def built(family: str) -> Path:
        path = folder / f"libguard-{family}.so"
        flags = ["-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
        flags += ["-D_GNU_SOURCE", FAMILY_MACRO[family], f"-I{SOURCE}"]
        flags += ["-Wl,-Bsymbolic-functions", "-Wl,--no-undefined"]
        sources = [APPS / "outstanding_stand_in.c", SOURCE / "interpose" / "guard.c"]
        sources += [SOURCE / "interpose" / "messages.c", *sorted((SOURCE / "abi").glob("*.c"))]
        argv = ["gcc", *flags, *map(str, sources), "-o", str(path), "-ldl", "-lpthread"]
        subprocess.run(argv, check=True)
        return path

    return built


def cases(mpi: Mpi, command: str, ranks: int) -> list[str]:
    """Return what can be run: not what ends the job, nor what the MPI itself does not survive."""
    done = run_program([command, "list"], env=mpi.environment, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    names = [name for name, least in words if int(least) <= ranks and name != "abort"]
    assert len(names) > 45
    return [n for n in names if n not in HANGS_ITSELF.get(mpi.name, set())]


def run(mpi: Mpi, command: str, names: list[str], ranks: int, cwd: Path, **rank_env: str) -> str:
    """Run the cases in one job; one that does not end is named. Return what was said."""
    try:
        done = mpi.run(ranks, [command, *names], rank_env=rank_env, cwd=cwd, timeout=600)
    except subprocess.TimeoutExpired as error:
        said = error.stdout.decode(errors="replace") if error.stdout else ""
        last = re.findall(r"^case (\w+)$", said, flags=re.M)
        pytest.fail(f"{mpi.name}, {ranks} ranks: {last[-1] if last else 'the start'} hangs")
    ended = set(re.findall(r"^(\w+) done$", done.stdout, flags=re.M))
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
    assert ended == set(names)
    return done.stderr


@pytest.mark.parametrize("name", MPIS)
def test_the_programs_are_correct(name: str, program, tmp_path: Path) -> None:
    """Without Stretto every case ends, with results that are right."""
    mpi = MPIS[name].require()
    command = program(mpi)
    run(mpi, command, cases(mpi, command, 2), 2, tmp_path)


@pytest.mark.parametrize("name", MPIS)
def test_the_wrappers_do_what_the_mpi_does(name: str, program, stand_in, tmp_path: Path) -> None:
    """Statuses, errors and MPI_PROC_NULL too; and each lends what it takes back."""
    mpi = MPIS[name].require()
    command = program(mpi)
    preload = str(stand_in(mpi.family))
    said = run(mpi, command, cases(mpi, command, 3), 3, tmp_path, LD_PRELOAD=preload)
    told = re.findall(r"guard: (\d+) progressed, (\d+) lent, depth (-?\d+)", said)
    assert len(told) == 3, said
    for progressed, lent, depth in told:
        assert int(progressed) > 50  # each wait for a message at least once: the stand-in is late
        assert int(lent) > 80
        assert int(depth) == 0


def classes() -> dict[str, str]:
    """Return how each function is treated, as src/abi/functions.def has it."""
    return {name: function.treated for name, function in functions().items()}


def test_every_function_has_one_class() -> None:
    assert set(classes().values()) <= set(CLASSES)


def test_what_may_block_is_not_taken_for_local() -> None:
    """By the names that the standard gives to what waits, read without looking at the table."""
    waiting = re.compile(
        r"(S|R)?send(recv(_replace)?)?|M?recv|Mrecv|Probe|Mprobe|Sendrecv(_replace)?|Wait.*|"
        r"Win_(create|allocate|free|fence|lock|unlock|flush|start|complete|wait)(?!_keyval|_err).*|"
        r"File_(open|close|sync|set_(size|view|atomicity|info)|preallocate|i?(read|write).*)|"
        r"Comm_(create|dup|split|free|spawn|accept|connect|join|disconnect)(?!_keyval|_err).*|"
        r"(Cart|Graph|Dist_graph)_(create|sub).*|Intercomm_.*|(Comm_|Session_)?(detach|flush)_buffer|"
        r"Buffer_(detach|flush)|(Neighbor_)?(All|Scan|Exscan|Bcast|Barrier|Gather|Scatter|Reduce_s).*|"
        r"(Send|Recv|Ssend|Rsend|Bcast|Reduce)|Finalize|Session_finalize"
    )
    local = {n for n, kind in classes().items() if kind == "LOCAL"}
    forgotten = {n for n in local if waiting.fullmatch(n.removesuffix("_c"))}
    assert forgotten <= {"Alloc_mem", "Win_create_keyval", "Win_create_errhandler"}, forgotten


@pytest.mark.parametrize("family", ["openmpi", "openmpi5", "mpich", "mpi5"])
def test_what_has_a_class_is_exported(family: str) -> None:
    """All that may wait, of what every MPI of the family has."""
    names = {n.removeprefix("MPI_") for n in exported(library(family)) if n.startswith("MPI_")}
    rows = functions()
    for name, kind in classes().items():
        if kind in ("LOCAL", "ELSEWHERE"):
            continue
        lacking = family.startswith("openmpi") and (
            kind.endswith("_5")
            or rows[name].kind == "L"
            or (family == "openmpi" and kind.endswith("_4"))
        )
        lacking = lacking or (kind.startswith("BUFFERED") and not family.startswith("openmpi"))
        assert (name in names) != lacking, f"{name} ({kind}) under {family}"


@pytest.mark.parametrize("dialect", ["mpi", "mpif.h"])
@pytest.mark.parametrize("name", ["openmpi4", "intel"])
def test_fortran(name: str, dialect: str, stand_in, tmp_path: Path) -> None:
    """Plainly, and behind the wrappers, which the MPI's Fortran library reaches as PMPI."""
    mpi = MPIS[name].require()
    text = (APPS / "progress_fortran.f90").read_text()
    if dialect == "mpif.h":
        changed = text.replace(
            "  use mpi\n  implicit none\n", "  implicit none\n  include 'mpif.h'\n"
        )
        assert changed != text
        text = changed
    source = tmp_path / "progress.f90"
    source.write_text(text)
    program = mpi.fortran(source, tmp_path / "progress", dialect)
    for env in ({}, {"LD_PRELOAD": str(stand_in(mpi.family))}):
        done = mpi.run(2, [str(program)], rank_env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "progress_fortran done" in done.stdout
        told = re.findall(r"guard: (\d+) progressed, (\d+) lent, depth 0", done.stderr)
        assert len(told) == (2 if env else 0)
        assert all(int(lent) >= 9 for _, lent in told)


NODE = "allreduce=shm;bcast=shm;barrier=shm;alltoall=shm;reduce=shm"
NETWORK = (
    "allreduce=recursive_doubling;bcast=knomial(2);barrier=dissemination(2);alltoall=pairwise;"
    "reduce=knomial(2)"
)


def ours_under_way(
    mpi: Mpi, command: str, names: list[str], ranks: int, mode: str, ppn: int, cwd: Path
) -> str:
    """Run the cases with collectives of Stretto's under way; return what was said."""
    names = sorted(HANGS_ITSELF.get(mpi.name, set())) + names  # the last case finalizes
    settings = {
        "LD_PRELOAD": str(library(mpi.interposer)),
        "STRETTO_NONBLOCKING": mode,
        "STRETTO_CHOICE": NETWORK if ppn else NODE,
        "STRETTO_FAKE_PPN": str(ppn),
        "STRETTO_VERBOSE": "1",
    }
    said = run(mpi, command, names, ranks, cwd, **settings)
    # no program of these calls a blocking allreduce of that size: it was the nonblocking one
    assert re.search(r"allreduce of 1048576 bytes on \d+ ranks .*\(forced\)", said), said
    return said


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "mode", "ranks", "ppn"),
    [
        ("openmpi4", "calls", 3, 0),
        ("openmpi5", "thread", 3, 0),
        ("mpich", "thread", 2, 0),
        ("openmpi4", "thread", 5, 2),
        ("openmpi5", "calls", 2, 1),
        ("mpich", "calls", 3, 1),
    ],
)
def test_no_case_hangs(name: str, mode: str, ranks: int, ppn: int, program, tmp_path: Path) -> None:
    """With collectives of Stretto's under way; some others (alltoallv, ..) stay the MPI's.

    What MPICH lets hang must end here: its own nonblocking collectives are not in it.
    """
    mpi = MPIS[name].require()
    command = program(mpi)
    ours_under_way(mpi, command, cases(mpi, command, ranks), ranks, mode, ppn, tmp_path)


@pytest.mark.parametrize(
    ("name", "mode", "ranks", "ppn"),
    [("openmpi5", "calls", 2, 0), ("mpich", "thread", 3, 1)],
)
def test_no_persistent_case_hangs(
    name: str, mode: str, ranks: int, ppn: int, program, tmp_path: Path
) -> None:
    """The same with persistent ones that were started.

    Left out are cases that are not correct programs then: they begin on several communicators in
    orders in which initialisations, which are not local, wait for each other in a circle.
    """
    mpi = MPIS[name].require()
    command = program(mpi, "PERSISTENT")
    names = [n for n in cases(mpi, command, ranks) if n not in ("ring", "orders")]
    said = ours_under_way(mpi, command, names, ranks, mode, ppn, tmp_path)
    assert "stays native: no memory" not in said


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_abort_ends_the_job(name: str, program, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    env = {"LD_PRELOAD": str(library(mpi.family)), "STRETTO_NONBLOCKING": "thread"}
    env["STRETTO_CHOICE"] = NODE
    done = mpi.run(2, [program(mpi), "abort"], rank_env=env, cwd=tmp_path, timeout=300)
    assert done.returncode != 0
    assert "abort done" not in done.stdout
