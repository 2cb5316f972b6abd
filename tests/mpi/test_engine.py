"""The engine in real jobs: results equal the MPI's own, nothing hangs, nothing stays behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mpis import ALL, MPIS, beside_others, library, missing
from programs import job, program, same, shim, under
from shm import own_shm

COLLECTIVES = ("allreduce", "bcast", "reduce", "allgather", "barrier")
SHM = ";".join(f"{c}=shm" for c in COLLECTIVES)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_threads_that_make_communicators_at_once(name: str) -> None:
    """Open MPI does not get through when another one is made of each while they do."""
    rounds = "200" if name == "openmpi5" else "40"  # Open MPI 4 takes 0.1 s for each by itself
    choice = "allreduce=recursive_doubling;barrier=dissemination(2)"
    done = job(name, "threads_make", rounds, ranks=4, choice=choice)
    assert "every sum is right" in done.stdout


@pytest.mark.parametrize("way", ["", "start", "startall"])
@pytest.mark.parametrize("name", ALL)
def test_buffered_sends_find_the_room_of_those_that_arrived(name: str, way: str) -> None:
    """Open MPI gives it back when it makes progress, which a barrier of ours need not bring."""
    # Open MPI 4 hangs where it finds none
    done = job(name, "buffered 50", *way.split(), ranks=2, choice="barrier=shm", after=1)
    assert "buffered: done" in done.stdout


#: with several vectors side by side
WIDE = (
    "allreduce={};reduce=knomial(3);scan=recursive_doubling;exscan=recursive_doubling;"
    "reduce_scatter_block=pairwise"
)


@pytest.mark.parametrize("choice", ["knomial(3)", "recursive_multiplying(3)", "linear(3)"])
@pytest.mark.parametrize("name", MPIS)
def test_elements_that_lie_between_one_another(name: str, choice: str) -> None:
    """Columns of a matrix in a reduction: the MPI's, since vectors side by side would overlap."""
    # by itself, too, Intel MPI's shared-memory reductions write beyond such vectors
    env = {"I_MPI_COLL_INTRANODE": "pt2pt"}
    done = job(name, "interleaved", env=env, choice=WIDE.format(choice), verbose=1)
    assert same(done)
    said = "allreduce of 16 bytes on 3 ranks (1 x 3): native (forced; but the elements of this"
    assert said in done.stderr, done.stderr


REDUCTIONS = ("allreduce", "reduce", "scan", "exscan", "reduce_scatter_block", "reduce_scatter")


@pytest.mark.parametrize(
    "choices",
    [
        ";".join(f"{c}=shm" for c in REDUCTIONS),
        WIDE.format("rabenseifner") + ";reduce_scatter=butterfly",
        WIDE.format("segmented_ring(1K)") + ";reduce_scatter=ring",
    ],
    ids=["shm", "plans", "segments"],
)
@pytest.mark.parametrize("name", MPIS)
def test_gaps_of_pairs_are_the_programs(name: str, choices: str) -> None:
    """Our reductions of pairs with a gap: members as the MPI's, the gaps as they were."""
    done = job(name, "gaps", choice=choices, after=1, nonblocking="calls")
    found = re.search(r"(\d+) comparisons, 0 differences, (\d+) calls left", done.stdout)
    assert found and int(found[1]) > 500, done.stdout
    assert int(found[2]) == 0, done.stdout


#: one job for those with a thread, one for the others
CASES = (
    "threads",
    "barrier allreduce reduce bcast allgather large_allreduce large_bcast rma nonblocking chain",
)


def ended(name: str, cases: str, ranks: int = 3) -> None:
    """Run programs that are correct; each must come to its end."""
    done = job(name, f"progress {cases}", ranks=ranks, choice=SHM)
    assert re.findall(r"^progress (\w+): done$", done.stdout, flags=re.M) == cases.split()


@pytest.mark.parametrize("name", MPIS)
def test_correct_programs_do_not_hang(name: str) -> None:
    for cases in CASES:
        ended(name, cases)


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_communicators_by_the_thousand(name: str) -> None:
    ended(name, "communicators many", 2)


TABLE = """stretto-table 1
mpi openmpi 4.1.4
layout nodes=1 ppn=2
created 2026-11-21T20:00:00Z stretto 0.1.0 host test cpu "test"
row allreduce 1 2 0-2047 shm ratio=0.41
row allreduce * * 2048-inf native ratio=1.0
end 2
"""


def test_a_table_decides_and_the_row_is_named(tmp_path: Path) -> None:
    table = tmp_path / "t.table"
    table.write_text(TABLE)
    done = job("openmpi4", "conformance 1 300", ranks=2, table=table, verbose=1)
    assert re.search(
        rf"allreduce of \d+ bytes on 2 ranks \(1 x 2\): shm \({table}:5\)", done.stderr
    )
    assert re.search(
        rf"allreduce of \d+ bytes on 2 ranks \(1 x 2\): native \({table}:6\)", done.stderr
    )
    assert not re.search(r"bcast of .*: shm", done.stderr)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[: len(t) - 6], "truncated"),
        (lambda t: t.replace("shm", "sham"), ":5: "),
        (lambda t: t.replace("stretto-table 1", "stretto-table 9"), "version 9"),
        (lambda t: t.replace("end 2", "end 3"), "cut or edited"),
        (lambda t: "\x7fELF" + t, "not a Stretto table"),
        (lambda t: t.replace("0-2047", "2047-0"), ":5: bytes"),
        (lambda _: "", "truncated"),
        (lambda t: t.replace("mpi openmpi", "mpi mpich"), "made for the MPI 'mpich'"),
        (lambda t: t.replace(" 1 2 ", " 4 2 ").replace("* *", "4 *"), "no row for 1 node x 2"),
    ],
)
def test_a_bad_table_is_named_and_the_job_goes_on(tmp_path: Path, change, message) -> None:
    table = tmp_path / "t.table"
    table.write_text(change(TABLE))
    done = job("openmpi4", "conformance 1 50", ranks=2, table=table, verbose=1)
    said = [line for line in done.stderr.splitlines() if line.startswith("stretto:")]
    assert message in said[0] and str(table) in said[0]
    assert all(": native" in line for line in said[1:])


def test_a_table_without_an_end_is_refused_in_init(tmp_path: Path) -> None:
    """MPI_Init waited for the pipe's writer, and took all memory for the other two."""
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(1 << 40)
    for table, message in (
        (tmp_path / "fifo", "not a regular file"), (tmp_path / "sparse", "too large"),
        (Path("/dev/zero"), "not a regular file"),
    ):  # fmt: skip
        done = job("openmpi4", "conformance 1 5", ranks=2, table=table)
        said = [line for line in done.stderr.splitlines() if line.startswith("stretto:")]
        assert len(said) == 1 and message in said[0] and str(table) in said[0]


def test_without_a_table_nothing_is_done_and_off_is_off(tmp_path: Path) -> None:
    table = tmp_path / "t.table"
    table.write_text(TABLE)
    off: dict[str, object] = {"table": table, "disable": 1}
    words = ["stretto: STRETTO_DISABLE=1: every call goes to the MPI"]
    for settings, verbose, said in (({}, 1, []), (off, 1, words), (off, 0, [])):
        done = job("openmpi4", "conformance 1 100", ranks=2, verbose=verbose, **settings)
        assert [line for line in done.stderr.splitlines() if "stretto" in line] == said


def test_a_killed_rank_leaves_nothing_behind() -> None:
    """After kill -9 inside a collective the job ends as the MPI ends it, without a trace of us."""
    mpi, built = MPIS["openmpi4"].require(), program("openmpi4", "conformance")
    env = mpi.environment | {"STRETTO_CHOICE": SHM}
    with beside_others(), own_shm() as (within, folder):
        for attempt in range(3):
            preload = ["-x", f"LD_PRELOAD={library(mpi.family)}"]
            null = subprocess.DEVNULL
            started = subprocess.Popen(
                [*within, *mpi.launcher(3), *preload, built, str(attempt), "100000000", "3000"],
                env=env, stdout=null, stderr=null, stdin=null,
            )  # fmt: skip
            try:
                ranks: list[int] = []
                deadline = time.monotonic() + 300
                while len(ranks) < 3 and time.monotonic() < deadline:
                    time.sleep(0.1)
                    ranks = _running(built)
                assert len(ranks) == 3
                time.sleep(0.5 + 0.3 * attempt)
                os.kill(ranks[attempt], signal.SIGKILL)
                assert started.wait(timeout=300) != 0
            finally:
                with contextlib.suppress(ProcessLookupError):
                    started.kill()
            deadline = time.monotonic() + 300
            while (_running(built) or _segments(folder)) and time.monotonic() < deadline:
                time.sleep(0.1)
            assert not _running(built)
            assert not _segments(folder)


def _segments(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if "stretto" in p.name]


def _running(program: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cmdline").read_bytes().split(b"\0")[0].decode() == program:
                    found.append(int(entry.name))
    return sorted(found)


@pytest.mark.parametrize(
    ("refuse", "ours", "said"),
    [
        ("memfd", True, None),
        ("cma", True, None),
        ("shm", False, "no shared memory on this node"),
        ("pages", False, "no shared memory available"),
    ],
)
def test_a_machine_that_refuses_something(refuse: str, ours: bool, said: str | None) -> None:
    """What the node phases need is missing: another way, or the MPI, and never a wrong answer."""
    with own_shm() as (within, folder):
        done = job(
            "openmpi4", "conformance 9 200 300000", in_front=shim("no_memory"),
            env={"REFUSE": refuse}, choice=SHM, verbose=1, within=within,
        )  # fmt: skip
        assert not _segments(folder)
    assert (": shm (forced)" in done.stderr) == ours
    assert said is None or said in done.stderr


@pytest.mark.parametrize("name", ["intel", "mpich"])
def test_imb_runs_unmodified(name: str) -> None:
    """Intel's benchmark, a binary that we did not build, with its own check of the data."""
    mpi = MPIS[name].require()
    imb = MPIS["intel"].require().prefix / "bin" / "IMB-MPI1"
    names = ["Allreduce", "Bcast", "Reduce", "Allgather", "Barrier"]
    words = [str(imb), "-npmin", "2", "-msglog", "3:12", "-iter", "50", "-time", "5", *names]
    done = mpi.run(2, words, rank_env=under(mpi, choice=SHM, verbose=1))
    assert done.returncode == 0, done.stdout + done.stderr
    for collective in names:
        assert f"# Benchmarking {collective}" in done.stdout
        assert f"{collective.lower()} of" in done.stderr and "shm (forced)" in done.stderr


def test_a_job_with_devices_stays_with_the_mpi(tmp_path: Path) -> None:
    """Where one rank of three has a device runtime loaded (a stand-in), all three pass through."""
    runtime = tmp_path / "libcudart.so.12"
    (tmp_path / "empty.c").write_text("int stand_in_for_cuda;\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", str(tmp_path / "empty.c"), "-o", str(runtime)], check=True
    )
    loads = f'[ "$OMPI_COMM_WORLD_RANK" = 1 ] && export LD_PRELOAD="$LD_PRELOAD:{runtime}"'

    def run(**settings: object) -> subprocess.CompletedProcess[str]:
        before = ["sh", "-c", f'{loads}; exec "$0" "$@"']
        more = {"choice": SHM, "verbose": 1, **settings}
        return job("openmpi4", "conformance 4 100 1000", before=before, **more)

    done = run()
    assert "stays with the MPI: a rank has a device" in done.stderr
    assert not re.search(r"on 3 ranks.*forced", done.stderr)
    assert re.search(r"on 3 ranks.*forced", run(devices=0).stderr)


def test_a_limit_on_file_sizes_does_not_end_the_job(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 100000; exec "$0" "$@"']
    settings = {"choice": SHM, "verbose": 1}
    done = job("openmpi4", "conformance 4 50 1000", ranks=2, before=limited, **settings)
    assert "no shared memory on this node" in done.stderr


@pytest.mark.parametrize("name", MPIS)
def test_buffers_at_absolute_addresses(name: str) -> None:
    """MPI_BOTTOM is NULL: not to be taken for a missing buffer."""
    done = job(
        name,
        "conformance 2 60 1000 bottom",
        choice="allreduce=recursive_doubling;bcast=shm",
    )
    assert f"{60 * 3 + 9} comparisons, 0 differences" in done.stdout


@pytest.mark.parametrize("name", MPIS)
def test_collectives_while_the_mpi_is_finalized(name: str) -> None:
    """Callbacks of MPI_COMM_SELF's attributes find the MPI whole, and may free communicators."""
    done = job(name, "at_the_end", choice=SHM)
    assert "at_the_end done" in done.stdout


@pytest.mark.parametrize("name", MPIS)
def test_a_programs_file_under_a_number_that_was_ours(name: str, tmp_path: Path) -> None:
    """Who closes a number twice may have closed ours; the next file is not to pay for it.

    Its pages were given back with a communicator's memory, which left zeros.
    """
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    done = job(name, "descriptors", str(tmp_path / "file"), choice=SHM, evidence=evidence)
    assert len(re.findall(r"rank \d: 2 closed, file as it was", done.stdout)) == 3, done.stdout


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_a_program_that_locks_its_memory(name: str, when: str) -> None:
    """What is kept in reserve (1 GiB of the node's, 256 MiB of each rank) stays address space."""
    plain = MPIS[name].require().run(2, [program(name, "locked"), when])
    assert plain.returncode == 0, plain.stdout + plain.stderr
    done = job(name, "locked", when, ranks=2, choice=SHM, nonblocking="calls", verbose=1)
    if "not allowed" in plain.stdout:
        missing("this user may not lock memory")
    assert re.search(r"allreduce of .*: shm \(forced\)", done.stderr)
    own, ours = (int(run.stdout.partition(" kB")[0]) for run in (plain, done))
    assert ours - own < 64 << 10, (own, ours)
