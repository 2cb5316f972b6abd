"""The recorder under every MPI: counts that are exact, and files that survive what ends a job."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpis import ALL, MPIS, REPOSITORY, Mpi, library, missing, rarely
from processes import executable, run_program
from stretto.errors import StrettoError
from stretto.files.profile import Call, Profile
from stretto.profile.join import join_run, load_runs
from stretto.profile.raw import ABORTED, EXITED, FINALIZED, RUNNING, RawFile, read_raw, thinned

APPS = REPOSITORY / "tests" / "programs"
pytestmark = pytest.mark.mpi


def recorder(mpi: Mpi) -> Path:
    """Return the recorder that fits: Open MPI 4 has one of its own."""
    return library("openmpi4" if mpi.name == "openmpi4" else mpi.family, "record")


def run_recorded(
    mpi: Mpi, ranks: int, command: list[str], raw: Path, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run with the recorder, raw files to `raw`."""
    raw.mkdir(exist_ok=True)
    return mpi.run(
        ranks,
        command,
        rank_env={"LD_PRELOAD": str(recorder(mpi)), "STRETTO_PROFILE_DIR": str(raw), **env},
    )


def join(raw: Path) -> Profile:
    """Join the only run of a directory."""
    (run,) = load_runs(raw)
    return join_run(run, ["command"]).profile


def calls(profile: Profile, function: str, **wanted: object) -> Call:
    """Return the one row of a function with the attributes wanted."""
    rows = [
        c
        for c in profile.calls
        if c.function == function and all(getattr(c, k) == v for k, v in wanted.items())
    ]
    assert len(rows) == 1, (function, wanted, rows)
    return rows[0]


def world(profile: Profile) -> int:
    """Return the number of MPI_COMM_WORLD's shape."""
    return next(c.id for c in profile.communicators if c.name == "MPI_COMM_WORLD")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("ranks", rarely([2, 4], [2]))
def test_counts_are_exact(name: str, ranks: int, tmp_path: Path) -> None:
    """Every number equals that of tests/programs/record_counts.c."""
    mpi = ALL[name].require()
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    done = run_recorded(mpi, ranks, [str(program), str(tmp_path / "file")], tmp_path / "raw")
    assert done.returncode == 0, done.stderr
    p = join(tmp_path / "raw")
    assert p.complete
    assert p.nranks == ranks
    n, w = ranks, world(p)
    all_ranks = [1] * n

    def every(value: int) -> list[int]:
        return [value] * n

    small = calls(p, "MPI_Allreduce", communicator=w, operation="MPI_SUM", datatype="MPI_DOUBLE")
    assert (small.calls, small.bytes) == (every(1000), every(8000))
    assert (small.bytes_min, small.bytes_max, small.sampled) == (8, 15, 1000)
    large = calls(p, "MPI_Allreduce", communicator=w, operation="MPI_MAX")
    assert (large.calls, large.bytes) == (every(7), every(7 * 8192))
    bcast = calls(p, "MPI_Bcast", datatype="MPI_INT")
    assert (bcast.calls, bcast.bytes) == (every(11), every(4400))
    derived = calls(p, "MPI_Bcast", datatype="derived")
    assert (derived.calls, derived.bytes) == (every(1), every(48))
    assert calls(p, "MPI_Barrier", detail=None).calls == every(5)
    assert calls(p, "MPI_Barrier", detail="after one-sided").calls == all_ranks
    reduce = calls(p, "MPI_Reduce")
    assert (reduce.calls, reduce.bytes, reduce.operation) == (every(3), every(48), "MPI_MIN")
    assert calls(p, "MPI_Alltoall").bytes == every(6 * 64)
    assert calls(p, "MPI_Allgather").bytes == every(4 * 8)
    assert calls(p, "MPI_Gather").bytes == every(2 * 16)
    # a rank's own block is counted, in the class of the mean that tables know; by pair: 9 calls, of
    # which the 1st, 2nd, 4th and 8th are looked at
    mean = 100 * (n - 1) // 2
    for function in ("MPI_Allgatherv", "MPI_Reduce_scatter"):
        uneven = calls(p, function)
        assert uneven.bytes == [3 * 100 * r for r in range(n)]
        assert uneven.bytes_min <= mean <= uneven.bytes_max and uneven.blocks is None
    pairs = calls(p, "MPI_Alltoallv")
    assert pairs.calls == every(9)
    assert pairs.blocks == [(0, 4 * n * (n - 1)), (1000, 4 * n)]
    gets = calls(p, "MPI_Alltoallw", detail="receives only")
    assert (gets.calls, gets.bytes) == ([2] + [0] * (n - 1), [0] * n)
    others = [c for c in p.calls if c.function == "MPI_Alltoallw" and c.detail is None]
    sends = [0] + [2] * (n - 1)
    assert {c.bytes_max > 0: c.calls for c in others} == {True: sends, False: every(3)}
    assert (calls(p, "MPI_Gather").roots, bcast.roots, derived.roots) == ([1], [n - 1], [0])
    assert p.last_share is not None and abs(sum(p.last_share) - 1) < 1e-9
    assert p.busy_threads is not None and p.allowed_cores is not None
    assert all(b == 0 or c > 0 for b, c in zip(p.busy_threads, p.allowed_cores, strict=True))
    nonblocking = calls(p, "MPI_Iallreduce")
    assert (nonblocking.calls, nonblocking.kind) == (every(10), "nonblocking_collective")
    assert calls(p, "MPI_Wait", detail="MPI_Iallreduce").calls == every(9)
    assert calls(p, "MPI_Waitall", detail="MPI_Ibarrier").calls == every(1)
    assert calls(p, "MPI_Waitall", detail=None).calls == every(50)
    started = calls(p, "MPI_Send_init", kind="p2p")
    assert (started.calls, started.bytes) == (every(8), every(8 * 80))
    assert calls(p, "MPI_Send_init", kind="other").calls == every(1)
    received = [c for c in p.calls if c.function == "MPI_Recv" and c.communicator == w]
    assert sum(c.calls[1] for c in received) == 10
    assert sum(c.bytes[1] for c in received) == 400
    assert calls(p, "MPI_Mrecv").bytes == [12] + [0] * (n - 1)
    ring, chain = calls(p, "MPI_Neighbor_alltoall"), calls(p, "MPI_Neighbor_alltoallv")
    assert (ring.kind, ring.graph, ring.blocks) == ("neighborhood", f"torus({n})", None)
    assert (chain.graph, chain.blocks) == ("near(1)", [(8, n)])
    assert calls(p, "MPI_Put").bytes == every(96)
    written = calls(p, "MPI_File_write_at_all")
    assert (written.kind, written.bytes) == ("io", every(5000))
    assert min(p.io_s) >= max(written.time_s) * 0  # a number for each rank
    assert len(p.io_s) == n
    assert p.cpu_s is not None and p.involuntary is not None and p.core_wait_s is not None
    for cpu, wall in zip(p.cpu_s, p.wall_s, strict=True):  # what a rank and its MPI's threads used
        assert 0 < cpu < 4 * wall
    assert len(p.core_wait_s) == len(p.involuntary) == n and min(p.core_wait_s) >= 0
    assert p.repeated_faults is not None and min(p.repeated_faults) > 16 * 512 / 2
    assert p.fault_s is not None and 0 < min(p.fault_s) < 1e-3
    assert p.nodes[0].load is not None and p.nodes[0].cores == os.cpu_count()

    # the ring, what rank 0 and 1 say to each other, and one message on a communicator whose ranks
    # are those of the world in reverse order
    expected: dict[tuple[int, int], list[int]] = {}

    def sent(source: int, target: int, messages: int, volume: int) -> None:
        cell = expected.setdefault((source, target), [0, 0])
        cell[0] += messages
        cell[1] += volume

    for r in range(n):
        sent(r, (r + 1) % n, 50 + 4 + 8, 50 * 400 + 4 * 20 + 8 * 80)
    sent(0, 1, 10 + 1, 10 * 40 + 4)
    sent(1, 0, 1, 12)
    assert {(s, t): [m, b] for s, t, m, b in p.matrix.messages} == expected
    total = [sum(c[0] for c in expected.values()), sum(c[1] for c in expected.values())]
    assert p.node_matrix.messages == [(0, 0, *total)]

    # 200 rounds of split and dup, at the end of which nothing is left of them
    assert sum(calls(p, "MPI_Comm_split").calls) == 201 * n
    shapes = {c.name: c for c in p.communicators}
    assert (shapes["split"].size, shapes["split"].count) == (n // 2, 400)
    assert (shapes["dup"].size, shapes["dup"].count) == (n // 2, 400)
    assert (shapes["reversed"].size, shapes["reversed"].count) == (n, 1)
    assert sum(sum(c.calls) for c in p.calls if c.function == "MPI_Comm_free") == 403 * n
    if n == 4:  # calls on communicators of the same members, made anew each time, are told apart
        for shape in ("split", "dup"):
            row = calls(p, "MPI_Allreduce", communicator=shapes[shape].id)
            assert (row.calls, row.sampled) == (every(200), 400)


_OF_NEIGHBORS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
_REST = ("allreduce", "barrier", "bcast", "exscan", "gather", "gatherv", "reduce")
_REST += ("reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv")
COLLECTIVES = [c.capitalize() for c in (*_OF_NEIGHBORS, *_REST)]
NEIGHBOR = [f"Neighbor_{c}" for c in _OF_NEIGHBORS]


@pytest.mark.parametrize("name", ALL)
def test_every_collective_in_every_form(name: str, tmp_path: Path) -> None:
    """Blocking, nonblocking, persistent: 2, 3 and 4 calls of each (record_every.c)."""
    mpi = ALL[name].require()
    old = name == "openmpi4"  # has the persistent ones as MPIX only
    program = mpi.compile(
        APPS / "record_every.c", tmp_path / "every", *(["-DNO_PERSISTENT"] if old else [])
    )
    done = run_recorded(mpi, 2, [str(program)], tmp_path / "raw")
    assert "every collective was called" in done.stdout, done.stderr
    p = join(tmp_path / "raw")
    for collective in [*COLLECTIVES, *NEIGHBOR]:
        near = collective.startswith("Neighbor")
        forms = {
            f"MPI_{collective}": (2, "neighborhood" if near else "collective"),
            f"MPI_I{collective.lower()}": (3, "neighborhood" if near else "nonblocking_collective"),
        }
        if not old:
            forms[f"MPI_{collective}_init"] = (4, "persistent_collective")
        sizes = set()
        for function, (number, kind) in forms.items():
            found = [c for c in p.calls if c.function == function and c.detail != "set-up"]
            assert len(found) == 1, (function, found)
            assert (found[0].calls, found[0].kind) == ([number] * 2, kind), function
            sizes.add(found[0].bytes[0] // number)
        # as bench counts them, in every form alike: 2 doubles of a vector or a block
        expected = 0 if collective == "Barrier" else 16
        assert sizes == {expected}, (collective, sizes)


@pytest.mark.parametrize("name", ALL)
def test_exports_nothing_that_the_mpi_lacks(name: str) -> None:
    """A symbol that the MPI does not have must not appear: programs probe for them."""
    mpi = ALL[name].require()

    def exported(path: Path) -> set[str]:
        text = run_program(["nm", "-D", "--defined-only", str(path)], check=True).stdout
        names = {line.split()[-1].split("@")[0] for line in text.splitlines()}
        return {s for s in names if s.startswith(("MPI_", "PMPI_"))}

    ours = exported(recorder(mpi))
    assert len(ours) > 150
    assert ours - exported(mpi.libmpi) == set()


def recorded(
    name: str, ranks: int, source: str, words: list[str], tmp_path: Path, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of tests/programs with the recorder."""
    mpi = ALL[name].require()
    program = mpi.compile(APPS / f"{source}.c", tmp_path / source, "-pthread")
    return run_recorded(mpi, ranks, [str(program), *words], tmp_path / "raw", **env)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("how", ["kill", "abort", "exit"])
def test_a_job_that_ends_half_way_leaves_its_counts(name: str, how: str, tmp_path: Path) -> None:
    """SIGKILL, MPI_Abort, exit without MPI_Finalize: what was recorded is there."""
    done = recorded(name, 2, "record_ends", [how, "5000"], tmp_path)
    assert how == "exit" or done.returncode != 0
    (run,) = load_runs(tmp_path / "raw")
    states = {raw.rank: raw.state for raw in run}
    assert states[1] == {"kill": RUNNING, "abort": ABORTED, "exit": EXITED}[how]
    assert FINALIZED not in states.values()
    p = join_run(run, ["x"]).profile
    assert not p.complete and p.incomplete_ranks == [0, 1]
    row = calls(p, "MPI_Allreduce")
    assert row.calls == [5000, 5000] and row.sampled == 5000 and row.wait_s is not None
    assert all(w > 0 for w in p.wall_s)
    if how == "abort":
        assert {int(raw.header["exit_code"]) for raw in run if raw.rank == 1} == {7}


@pytest.mark.parametrize("name", ["openmpi4", "mpich", "intel"])
def test_threads(name: str, tmp_path: Path) -> None:
    """Threads that call MPI at the same time, and later ones, are all counted."""
    done = recorded(name, 2, "record_ends", ["threads", "6"], tmp_path)
    assert done.returncode == 0, done.stderr
    p = join(tmp_path / "raw")
    assert calls(p, "MPI_Sendrecv").calls == [3 * 6 * 500] * 2
    assert p.matrix.messages == [(0, 1, 9000, 36000), (1, 0, 9000, 36000)]


@pytest.mark.parametrize("name", ["openmpi4", "intel"])
def test_fortran(name: str, tmp_path: Path) -> None:
    """Fortran programs are counted like C programs."""
    mpi = MPIS[name].require()
    program = mpi.fortran(APPS / "record_fortran.f90", tmp_path / "fortran", "mpi")
    done = run_recorded(mpi, 2, [str(program)], tmp_path / "raw")
    assert done.returncode == 0, done.stderr
    p = join(tmp_path / "raw")
    assert calls(p, "MPI_Allreduce", operation="MPI_SUM").bytes == [6400, 6400]
    assert calls(p, "MPI_Allreduce", operation="MPI_MAX").calls == [1, 1]
    assert calls(p, "MPI_Bcast").bytes == [240, 240]
    assert calls(p, "MPI_Barrier").calls == [5, 5]
    assert calls(p, "MPI_Recv").bytes == [0, 16]
    assert calls(p, "MPI_Wait", detail="MPI_Iallreduce").calls == [1, 1]
    assert p.matrix.messages == [(0, 1, 1, 16)]
    assert next(c for c in p.communicators if c.name == "split").count == 2


@pytest.mark.parametrize("name", ["openmpi5", "mpich"])
def test_mpi4py(name: str, tmp_path: Path) -> None:
    """Python programs, whose MPI is opened by dlopen and which call the large-count functions."""
    pytest.importorskip("mpi4py")
    mpi = MPIS[name].require()
    code = (
        "from mpi4py import MPI; import array; c = MPI.COMM_WORLD\n"
        "a = array.array('d', [1.0]); b = array.array('d', [0.0])\n"
        "for i in range(50): c.Allreduce(a, b)\n"
        "c.bcast({'x': 1})\n"
    )
    words, abi = [sys.executable, "-c", code], "mpich" if mpi.family == "mpich" else "openmpi"
    done = run_recorded(mpi, 2, words, tmp_path / "raw", MPI4PY_MPIABI=abi)
    if done.returncode and "mpi4py" in done.stderr and "ABI" in done.stderr:
        pytest.skip("this mpi4py is not built for it")
    assert done.returncode == 0, done.stderr
    assert calls(join(tmp_path / "raw"), "MPI_Allreduce").calls == [50, 50]


def test_events_are_thinned_out_alike_and_damaged_files_are_named(tmp_path: Path) -> None:
    """With room for 64 events the same calls are kept on both ranks, and waiting is still told."""
    recorded("openmpi4", 2, "record_ends", ["exit", "5000"], tmp_path, STRETTO_PROFILE_EVENTS="64")
    (run,) = load_runs(tmp_path / "raw")
    kept = [set(raw.events["sequence"] & np.uint64(2**63 - 1)) for raw in run]
    assert kept[0] == kept[1] and 16 <= len(kept[0]) <= 64
    path = run[0].path
    assert path.stat().st_size < 1 << 20
    row = calls(join_run(run, ["x"]).profile, "MPI_Allreduce")
    assert row.calls == [5000, 5000] and row.sampled == len(kept[0])
    # Python thins out by the same rule: what the recorder kept stays, and half of it at most twice
    stride = int(run[0].header["stride_log2"])
    assert len(thinned(run[0].events, stride)) == len(run[0].events)
    assert len(thinned(run[0].events, stride + 1)) < len(run[0].events)
    whole = path.read_bytes()
    for damaged, words in (
        (whole[:4], "not a file of"), (whole[:100], "truncated"), (whole[:30000], "truncated"),
        (b"ELF" + whole[3:], "not a file of"), (whole[:8] + b"\x0a" + whole[9:], "version 10"),
    ):  # fmt: skip
        path.write_bytes(damaged)
        with pytest.raises(StrettoError, match=words) as caught:
            read_raw(path)
        assert caught.value.place == str(path) and caught.value.remedy


def apart(tmp_path: Path, ranks: int, unshare: list[str], script: str) -> list[RawFile]:
    """Run record_counts.c with ranks in namespaces of their own."""
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        missing("namespaces need root and Linux 5.6")
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    path = executable(tmp_path / "rank.sh", f"#!/bin/sh\n{script}")
    words = [str(path), str(program), str(tmp_path / "file")]
    done = run_recorded(mpi, ranks, words, tmp_path / "raw")
    assert done.returncode == 0, done.stderr
    (run,) = load_runs(tmp_path / "raw")
    return run


def test_two_clocks(tmp_path: Path) -> None:
    """Ranks whose clocks are 1000 s apart (time namespaces) are put on one time line."""
    unshare = ["unshare", "--time", "--monotonic", "1000", "--fork"]
    script = f'[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec "$@"\nexec {" ".join(unshare)} "$@"\n'
    run = apart(tmp_path, 2, unshare, script)
    offsets = [o for raw in run if raw.rank == 1 for o in raw.header["offsets"]]
    assert len(offsets) == 2
    for offset in offsets:
        # as near as it says itself: half of a round trip, which is long on a busy machine
        assert abs(int(offset["offset_ns"]) - 1000e9) <= int(offset["error_ns"]) < 1e9
    p = join_run(run, ["x"]).profile
    assert p.clock_error_s[0] == 0 < p.clock_error_s[1] < 1
    row = calls(p, "MPI_Allreduce", datatype="MPI_DOUBLE", operation="MPI_SUM")
    assert row.wait_s is not None and row.transfer_s is not None
    assert sum(row.wait_s) < sum(row.time_s)  # and not all of it, as with clocks taken as they are


def test_two_nodes(tmp_path: Path) -> None:
    """Ranks with different host names are on different nodes, in shapes and in the matrix."""
    script = "exec unshare --uts sh -c "
    script += '\'hostname node$((OMPI_COMM_WORLD_RANK % 2)); exec "$@"\' sh "$@"\n'
    p = join_run(apart(tmp_path, 4, ["unshare", "--uts"], script), ["x"]).profile
    assert [(n.name, n.ranks) for n in p.nodes] == [("node0", [0, 2]), ("node1", [1, 3])]
    shapes = {c.name: (c.size, c.nodes, c.ppn) for c in p.communicators}
    assert shapes["MPI_COMM_WORLD"] == (4, 2, 2)
    assert shapes["split"] == (2, 1, 2)  # even ranks, odd ranks
    assert {(s, t) for s, t, _, _ in p.node_matrix.messages} == {(0, 1), (1, 0)}
    assert sum(m[2] for m in p.node_matrix.messages) == sum(m[2] for m in p.matrix.messages)


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_a_directory_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    """One message for the whole job, and the program goes on."""
    nowhere = str(tmp_path / "missing")
    words = [str(tmp_path / "file")]
    done = recorded(name, 2, "record_counts", words, tmp_path, STRETTO_PROFILE_DIR=nowhere)
    assert done.returncode == 0 and "rank 0 done" in done.stdout, done.stderr
    assert done.stderr.count("stretto: cannot record into") == 1
    assert "No such file" in done.stderr and "2 of 2 ranks" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_disk_full(tmp_path: Path) -> None:
    """A full disk costs the recording, not the job."""
    small = tmp_path / "raw"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this container may not mount")
    try:
        done = recorded("openmpi4", 2, "record_counts", [str(tmp_path / "file")], tmp_path)
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert done.returncode == 0 and "rank 0 done" in done.stdout, done.stderr
    assert "No space left on device" in done.stderr and "continues" in done.stderr


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "intel"])
def test_a_limit_on_file_sizes_does_not_end_the_job(name: str, tmp_path: Path) -> None:
    """Past it a signal ends a process. One rank: the MPI's own files would be too long as well."""
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "record_ends.c", tmp_path / "ends", "-pthread")
    script = tmp_path / "job.sh"
    script.write_text(f"ulimit -f 1000\nexec {program} threads 0\n")
    done = run_recorded(mpi, 1, ["sh", str(script)], tmp_path / "raw")
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stderr and "continues" in done.stderr
    assert not list((tmp_path / "raw").iterdir())


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_a_limit_that_comes_later_costs_later_threads(name: str, tmp_path: Path) -> None:
    done = recorded(name, 2, "record_ends", ["limit", "2"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stderr
    assert join(tmp_path / "raw").nranks == 2


@pytest.mark.parametrize("preloaded", ["record", "interposer"])
@pytest.mark.parametrize("name", ["mpich", "mpich-abi"])
def test_types_of_large_count_constructors(name: str, preloaded: str, tmp_path: Path) -> None:
    """MPICH ends a job that asks in the old way how such a type was made."""
    env = {}
    if preloaded == "interposer":
        env = {"LD_PRELOAD": str(library(ALL[name].require().family)), "STRETTO_AFTER": "1"}
        env["STRETTO_CHOICE"] = "bcast=shm"
    done = recorded(name, 2, "large_types", [], tmp_path, **env)
    assert done.returncode == 0, done.stderr
    assert "large types: 0 faults" in done.stdout


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich"])
def test_packing_zeros_and_persistent_collectives(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "record_data.c", tmp_path / "data")
    done = run_recorded(mpi, 2, [str(program)], tmp_path / "raw")
    assert done.returncode == 0, done.stdout + done.stderr
    profile = join(tmp_path / "raw")
    send, recv = calls(profile, "MPI_Send"), calls(profile, "MPI_Recv")
    assert send.pack_s is not None and send.pack_s[0] > 0 == send.pack_s[1]
    assert recv.pack_s is None and recv.datatype == send.datatype
    assert calls(profile, "MPI_Sendrecv").pack_s is not None
    assert calls(profile, "MPI_Reduce", operation="MPI_SUM").zero_ranks == [1]
    assert calls(profile, "MPI_Reduce", operation="MPI_MAX").zero_ranks == []
    if name == "openmpi4":
        return
    waits = {c.detail: c for c in profile.calls if c.kind == "wait" and c.communicator is not None}
    assert set(waits) == {"MPI_Allreduce_init", "MPI_Bcast_init"}
    for call in waits.values():
        assert call.sampled == 40 and call.wait_s is not None and call.blocking_wait_s is not None
        assert call.under_way_s is not None and min(call.under_way_s) > 0
    assert waits["MPI_Bcast_init"].roots == [0] and waits["MPI_Bcast_init"].bytes_max == 255
