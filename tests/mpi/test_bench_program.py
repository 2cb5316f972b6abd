"""stretto-bench itself under real MPIs: results checked, clocks of ranks that differ, bad jobs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mpis import ALL, library
from stretto.files.table import NEIGHBORHOODS, TUNABLE

pytestmark = pytest.mark.mpi

CASES = """case allreduce 64 MPI_FLOAT MPI_PROD 0
case reduce 8 MPI_INT MPI_MAX 1
case allreduce 16 MPI_UNSIGNED MPI_BAND 0
case allreduce 16 MPI_LONG_LONG MPI_LAND 0
case reduce 16 MPI_UNSIGNED_LONG MPI_BOR 0
case allreduce 8 MPI_INT MPI_LOR 0
case bcast 100 MPI_BYTE MPI_SUM 1
case allgather 24 MPI_LONG MPI_SUM 0
case alltoall 40 MPI_INT MPI_SUM 0
case gather 12 MPI_INT MPI_SUM 1
case scatter 300 MPI_CHAR MPI_SUM 1
case reduce_scatter_block 16 MPI_INT MPI_SUM 0
case allgatherv 24 MPI_LONG MPI_SUM 0
case alltoallv 40 MPI_INT MPI_SUM 0
case gatherv 12 MPI_INT MPI_SUM 1
case scatterv 300 MPI_CHAR MPI_SUM 1
case reduce_scatter 16 MPI_INT MPI_SUM 0
case scan 64 MPI_DOUBLE MPI_PROD 0
case exscan 8 MPI_LONG MPI_MAX 0
case barrier 0 MPI_BYTE MPI_SUM 0
""".replace("\n", "\ncandidate CANDIDATE\n")


def program(family: str) -> Path:
    return library(family).parent / f"stretto-bench-{family}"


def bench(name: str, tmp: Path, job: str, ranks: int = 2, **more: str):  # type: ignore[no-untyped-def]
    mpi = ALL[name].require()
    (tmp / "job").write_text(job)
    env = {"LD_LIBRARY_PATH": str(mpi.libmpi.parent)}
    return mpi.run(
        ranks, [str(program(mpi.family)), str(tmp / "job")], env=env, rank_env=env | more
    )


def job(tmp: Path, cases: str, *lines: str) -> str:
    head = ["stretto-job 1", f"output {tmp / 'out'}", f"status {tmp / 'status'}", "launch 0"]
    return "\n".join([*head, "batch 100", "batches 6 8", "budget 3", *lines, cases]) + "end\n"


def lines(tmp: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (tmp / "out").read_text().splitlines()]
    return [record for record in found if record["type"] != "usage"]


@pytest.mark.parametrize("name", ALL)
def test_every_mpi_gives_checked_times(name: str, tmp_path: Path) -> None:
    done = bench(name, tmp_path, job(tmp_path, CASES.replace("CANDIDATE", "bare")))
    assert done.returncode == 0, done.stderr
    head, *samples = lines(tmp_path)
    assert head["type"] == "launch" and head["nranks"] == 2 and head["nodes"] == 1
    assert {s["collective"] for s in samples} == {*TUNABLE}
    assert all(s["correct"] for s in samples)
    assert all(min(s["times_us"]) > 0 for s in samples if s["times_us"])


@pytest.mark.parametrize(("name", "ranks"), [("intel", 3), ("openmpi5", 4)])
def test_messages_are_timed_beside_every_case(name: str, ranks: int, tmp_path: Path) -> None:
    """The reference: no candidate, no line of its own. (`yield`: no batch is ever late.)"""
    cases = "".join(
        f"case {case} MPI_SUM 1\ncandidate bare\n"
        for case in ("allreduce 8 MPI_INT", "bcast 3000000 MPI_BYTE", "barrier 0 MPI_BYTE")
    )
    for asked in (0, 1):
        text = job(tmp_path, cases, f"reference {asked}", "yield 1")
        assert bench(name, tmp_path, text, ranks).returncode == 0
        head, *samples = lines(tmp_path)
        assert head["candidates"] == {c: ["bare"] for c in ("allreduce", "bcast", "barrier")}
        assert {s["candidate"] for s in samples} == {"bare"} and all(s["correct"] for s in samples)
        timed = [s for s in samples if s["times_us"]]
        assert len({s["collective"] for s in timed}) == 3
        assert all(("reference_us" in s) == bool(asked) for s in timed), timed
        assert all(s.get("reference_us", 1) > 0 for s in timed)
        (tmp_path / "out").unlink()


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_the_library_carries_out_what_is_chosen(name: str, tmp_path: Path) -> None:
    mpi = ALL[name].require()
    done = bench(
        name,
        tmp_path,
        job(tmp_path, CASES.replace("CANDIDATE", "native\ncandidate shm")),
        LD_PRELOAD=str(library(mpi.family)),
        STRETTO_API="1",
    )
    assert done.returncode == 0, done.stderr
    samples = lines(tmp_path)[1:]
    ours = [s for s in samples if s["candidate"] == "shm"]
    assert ours and all(s["correct"] and not s.get("refused") for s in ours)
    assert all(s["done_by"].startswith("shm") for s in ours)
    theirs = [s for s in samples if s["candidate"] == "native"]
    assert all(s["done_by"].startswith("native") for s in theirs if "done_by" in s)


@pytest.mark.parametrize("name", ALL)
def test_calls_that_do_not_block_are_checked_and_named(name: str, tmp_path: Path) -> None:
    """Stretto's and native, all in one launch for each form; what stays native is named."""
    mpi, intel = ALL[name].require(), name.startswith("intel")
    cases = CASES.replace("CANDIDATE", "native\ncandidate shm")
    cases += "case alltoallv 40 MPI_INT MPI_SUM 0 0:50,2:50\ncandidate native\ncandidate shm\n"
    cases += "".join(
        f"case {c} 40 MPI_INT MPI_SUM 0 near(-1,1,1)\ncandidate native\ncandidate direct\n"
        for c in NEIGHBORHOODS
    )
    preload = {
        "LD_PRELOAD": str(library("openmpi5" if name == "openmpi5" else mpi.family)),
        "STRETTO_API": "1",
        "STRETTO_NONBLOCKING": "calls",
    }
    for form in ("nonblocking", "persistent"):
        if intel and form == "persistent":  # others of 2021.18 are wrong (gather), or may crash
            cases = "".join(
                f"case {c} 64 MPI_INT MPI_SUM 0\ncandidate native\n"
                for c in ("allreduce", "alltoallv")
            )
        text = job(tmp_path, cases, f"calls {form}", "yield 1").replace("batches 6", "batches 2")
        done = bench(name, tmp_path, text, **preload)
        if (name, form) == ("openmpi4", "persistent"):
            assert done.returncode != 0
            assert "MPI_Allreduce_init was called, but the MPI" in done.stderr
            continue
        assert done.returncode == 0, done.stderr
        samples = lines(tmp_path)[1:]
        assert all(s["correct"] and not s.get("refused") for s in samples), samples
        timed = {s["collective"] for s in samples if s["times_us"]}
        assert timed == {line.split()[1] for line in cases.splitlines() if "case " in line}
        for s in samples:
            stretto = not intel and s["candidate"] != "native"
            by = s["candidate"] if stretto else f"native: {form} calls"
            assert s["done_by"].startswith(by), s
        (tmp_path / "out").unlink()


@pytest.mark.parametrize(("name", "ranks"), [("openmpi4", 3), ("intel", 2)])
def test_a_wrong_algorithm_is_wrong_and_no_more(name: str, ranks: int, tmp_path: Path) -> None:
    """Where it is the MPI's for the whole process, nothing else of the launch may rest on it."""
    source = "#include <mpi.h>\n#include <string.h>\n" + "".join(
        f"int MPI_{name}({declared}) {{ int rc = PMPI_{name}({passed}), z = 0; "
        "PMPI_Type_size(d, &z); memset(r, 0, (size_t)n * z); return rc; }\n"
        for name, declared, passed in (
            ("Allreduce", "const void *s, void *r, int n, MPI_Datatype d, MPI_Op o, MPI_Comm c",
             "s, r, n, d, o, c"),
            ("Bcast", "void *r, int n, MPI_Datatype d, int root, MPI_Comm c", "r, n, d, root, c"),
        )
    )  # fmt: skip
    (tmp_path / "wrong.c").write_text(source)
    mpi = ALL[name].require()
    shim = mpi.compile(tmp_path / "wrong.c", tmp_path / "wrong.so", "-shared", "-fPIC")
    cases = "".join(
        f"case {case} MPI_SUM 0\ncandidate bare\n"
        for case in ("allreduce 64 MPI_DOUBLE", "bcast 64 MPI_BYTE", "allgather 64 MPI_BYTE",
                     "barrier 0 MPI_BYTE")
    )  # fmt: skip
    done = bench(name, tmp_path, job(tmp_path, cases), ranks, LD_PRELOAD=str(shim))
    assert done.returncode == 0, done.stderr
    launch, *samples = lines(tmp_path)
    assert (launch["nodes"], launch["ppn"], launch["nranks"]) == (1, ranks, ranks)
    found = {(s["collective"], s["correct"]) for s in samples}
    assert found == {("allreduce", False), ("bcast", False), ("allgather", True),
                     ("barrier", True)}  # fmt: skip
    assert all("is not" in s["detail"] for s in samples if not s["correct"]), samples
    for s in samples:  # of two ranks on two cores a flag is timed beside every batch
        if s["mode"] == "throughput" and s["times_us"]:
            assert len(s.get("flag_ns", [])) == (len(s["times_us"]) if ranks == 2 else 0), s


@pytest.mark.parametrize(("name", "ranks"), [("openmpi4", 4), ("mpich", 3)])
def test_blocks_of_different_sizes_are_right_too(name: str, ranks: int, tmp_path: Path) -> None:
    """Each check has one call with ragged blocks, of which some are empty at the least size.

    And blocks as a pattern has them are timed.
    """
    choices = {
        "allgatherv": ("MPI_INT", "ring"),
        "alltoallv": ("MPI_INT", "bruck_v(2)"),
        "gatherv": ("MPI_BYTE", "linear"),
        "scatterv": ("MPI_BYTE", "linear"),
        "reduce_scatter": ("MPI_INT", "pairwise"),
    }
    graphs = ("near(-1,1,1)", f"torus({ranks}x1o)")
    cases = "".join(
        f"case {collective} {size} {datatype} MPI_SUM 0 {pattern}\n"
        f"candidate native\ncandidate shm\ncandidate {own}\n"
        for collective, (datatype, own) in choices.items()
        for size, pattern in ((4, ""), (4000, ""), (4000, "0:60,2.4:38,4.4:2"))
    )
    cases += "".join(
        f"case {collective} {size} MPI_INT MPI_SUM 0 {graph}{blocks}\n"
        "candidate native\ncandidate direct\ncandidate node_aware\n"
        for collective in NEIGHBORHOODS
        for graph in graphs
        for size, blocks in ((4, ""), (400, "/0:50,2:50" if collective.endswith("v") else ""))
    )
    mpi = ALL[name].require()
    text = job(tmp_path, cases, "yield 1").replace("batches 6 8", "batches 1 1")
    preload = {"LD_PRELOAD": str(library(mpi.family)), "STRETTO_API": "1"}
    done = bench(name, tmp_path, text, ranks, **preload)
    assert done.returncode == 0, done.stderr
    samples = lines(tmp_path)[1:]
    assert all(s["correct"] and not s.get("refused") for s in samples), samples
    counted = Counter((s["collective"], s.get("pattern")) for s in samples)
    assert len(counted) == 10 + 6 * len(graphs), counted
    done_by = {(s["collective"], s["candidate"]): s["done_by"] for s in samples}
    for collective, (_, own) in choices.items():
        assert done_by[collective, own].startswith(own), done_by


def test_without_the_library_its_choices_are_refused(tmp_path: Path) -> None:
    cases = "case allreduce 8 MPI_DOUBLE MPI_SUM 0\ncandidate shm\n"
    assert bench("openmpi4", tmp_path, job(tmp_path, cases)).returncode == 0
    (sample,) = lines(tmp_path)[1:]
    assert sample["refused"] and "not preloaded" in sample["detail"]


def test_clocks_that_differ_are_corrected(tmp_path: Path) -> None:
    """Rank 1's clock is half a second off and runs 10 % fast: times must not show it.

    The error is what the program says itself, some us where an exchange of messages was calm. With
    the drift left in it would be about 20000 more.
    """
    cases = "case barrier 0 MPI_BYTE MPI_SUM 0\ncandidate bare\n"
    text = job(tmp_path, cases, "fake_clock 500000 100000")
    assert bench("openmpi4", tmp_path, text).returncode == 0
    head, *samples = lines(tmp_path)
    assert 0 < head["clock_true_error_us"] < 1000 + 10 * head["clock_error_us"], head
    (latency,) = (s for s in samples if s["mode"] == "latency")
    assert latency["correct"] and latency["missed"] + len(latency["times_us"]) > 0
    for us in latency["times_us"]:  # no half second
        assert abs(us) < 400000 + 10 * latency["clock_error_us"], latency


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stretto-job 2\nend\n", "not a stretto job of version 1"),
        ("stretto-job 1\noutput x\ncase allreduce 8 MPI_DOUBLE MPI_SUM 0\n", "truncated"),
        ("stretto-job 1\ncase allreduce 9 MPI_DOUBLE MPI_SUM 0\nend\n", "multiple"),
        ("stretto-job 1\ncase allreduce 8 MPI_BYTE MPI_SUM 0\nend\n", "does not define"),
        ("stretto-job 1\ncase bcast 8 MPI_BYTE MPI_SUM 7\nend\n", "ROOT is not a rank"),
        ("stretto-job 1\ncase alltoallv 8 MPI_INT MPI_SUM 0 1:50\nend\n", "100 percent in all"),
        ("stretto-job 1\ncase neighbor_alltoall 8 MPI_INT MPI_SUM 0\nend\n", "wants a PATTERN"),
        (
            "stretto-job 1\ncase neighbor_alltoall 8 MPI_INT MPI_SUM 0 torus(5)\nend\n",
            "of another number",
        ),
        ("stretto-job 1\ncandidate x\nend\n", "candidate before any case"),
        ("stretto-job 1\nnonsense 1\nend\n", "unknown key"),
    ],
)
def test_a_bad_job_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    mpi = ALL["openmpi4"].require()
    (tmp_path / "job").write_text(text)
    done = mpi.alone([str(program(mpi.family)), str(tmp_path / "job")])
    assert done.returncode != 0
    assert words in done.stderr and str(tmp_path / "job") in done.stderr


def test_results_that_cannot_be_written_end_the_run(tmp_path: Path) -> None:
    cases = "case barrier 0 MPI_BYTE MPI_SUM 0\ncandidate bare\n"
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "link").symlink_to(precious)
    for place, words in (("/dev/full", "not a regular file"), (tmp_path / "link", "symbolic link")):
        text = job(tmp_path, cases).replace(str(tmp_path / "out"), str(place))
        done = bench("openmpi4", tmp_path, text)
        assert done.returncode != 0 and words in done.stderr, done.stderr
    assert precious.read_text() == "precious"
