"""What is not as it should be in imported files, and MVAPICH: each is named, once."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.bench import read_bench
from stretto.imports import walk

OSU = """\
# OSU MPI Allgather Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)        Validation
4                      11.69              Fail
8                      12.10              Pass
16                     12.53              Pass
"""
IMB = """\
# Benchmarking Allreduce
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
            8         1000         5.50        19.59        12.69
           16         1000         5.51        19.61        12.71
"""
MINE = ["--mpi", "openmpi@4.1.4", "--nodes", "2", "--ppn", "4"]


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    code = main(["import", *map(str, words)])
    return code, " ".join(capsys.readouterr().err.split())


def test_results_that_the_benchmark_found_wrong_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They vanished without a word."""
    log = tmp_path / "a.log"
    log.write_text(OSU)
    code, said = run(capsys, "osu", log, "-o", tmp_path / "out", *MINE)
    assert code == 0
    assert f"allgather, 4 B: the benchmark found wrong results ({log}:4); that candidate" in said
    assert "(bare) decides nothing for allgather" in said
    assert main(["import", "osu", str(log), "-o", str(tmp_path / "new"), *MINE, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["found_wrong"]) == 1


def test_sizes_of_0_bytes_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text(IMB + IMB.replace("Allreduce", "Bcast").replace("12.", "13."))
    code, said = run(capsys, "imb", log, "-o", tmp_path / "out", "--mpi", "intel@2021", "--ppn", 8)
    assert code == 0 and said.count("0 bytes") == 1, said
    assert "1 line of 0 bytes, at which nothing is sent, was left out (allreduce)" in said


def test_another_benchmarks_output_is_called_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There were 90 warnings of broken lines."""
    (tmp_path / "logs").mkdir()
    for i in range(3):
        (tmp_path / "logs" / f"imb{i}.log").write_text(IMB.replace("12.", f"1{i}."))
    out = tmp_path / "out"
    code, said = run(capsys, "osu", tmp_path / "logs", "-o", out, *MINE)
    assert code == 1 and "broken" not in said and said.count("Intel MPI Benchmarks") == 1, said
    assert "this is the output of Intel MPI Benchmarks (and 2 files more)" in said
    assert "try: stretto import imb" in said
    log = tmp_path / "logs" / "osu.log"
    log.write_text(OSU.replace("Fail", "Pass"))
    code, said = run(capsys, "osu", tmp_path / "logs", "-o", out, *MINE)
    assert code == 0 and said.count("Intel MPI Benchmarks") == 1, said
    assert "imb0.log and 2 more: this is the output of Intel MPI Benchmarks: stretto import" in said
    code, said = run(capsys, "imb", log, "-o", tmp_path / "o", *MINE)
    assert code == 1 and "output of the OSU micro-benchmarks" in said and "import osu" in said


def test_what_gzip_has_packed_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(OSU.encode())
    log = tmp_path / "a.log.gz"
    log.write_bytes(packed)
    assert run(capsys, "osu", log, "-o", tmp_path / "out", *MINE)[0] == 0
    (made,) = (tmp_path / "out").iterdir()
    assert [s.bytes for s in read_bench(made).samples] == [4, 8, 16]
    log.write_bytes(packed[:-20])
    code, said = run(capsys, "osu", log, "-o", tmp_path / "new", *MINE)
    assert code == 1 and "is cut off" in said and str(log) in said
    log.write_bytes(packed[:30] + b"nothing of it" + packed[43:])
    code, said = run(capsys, "osu", log, "-o", tmp_path / "new", *MINE)
    assert code == 1 and "the compressed file is" in said
    log.write_bytes(packed)
    monkeypatch.setattr(walk, "MOST_BYTES", len(OSU) - 1)
    code, said = run(capsys, "osu", log, "-o", tmp_path / "new", *MINE)
    assert code == 1 and "too large" in said


def test_other_packed_files_are_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for i in range(3):
        (logs / f"a{i}.log.xz").write_bytes(lzma.compress(OSU.encode()))
    code, said = run(capsys, "osu", logs, "-o", tmp_path / "out", *MINE)
    assert code == 1 and "compressed by xz" in said and "(and 2 files more)" in said, said
    assert "try: unxz it first" in said and "no table" not in said
    (logs / "osu.log").write_text(OSU)
    (logs / "b.log.bz2").write_bytes(bz2.compress(OSU.encode()))
    (logs / "c.log.zst").write_bytes(b"\x28\xb5\x2f\xfd and what follows")
    code, said = run(capsys, "osu", logs, "-o", tmp_path / "out", *MINE)
    assert code == 0 and said.count("compressed by") == 3
    assert "a0.log.xz and 2 more: compressed by xz" in said and "unzstd it first" in said


@pytest.mark.parametrize("given", ["mvapich@3.0", "mvapich2@2.3.7", "MVAPICH-3.0"])
def test_mvapich_is_of_mpichs_family_and_told_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    """OSU's benchmarks are MVAPICH's own, and it was no MPI that was known."""
    log = tmp_path / "a.log"
    log.write_text(OSU.replace("Fail", "Pass"))
    words = ["--nodes", "2", "--ppn", "2", "-o", tmp_path / "out"]
    version = given[-5:].lstrip("@-h")
    version = version if version.count(".") == 2 else "3.0"
    assert run(capsys, "osu", log, "--mpi", given, *words)[0] == 0
    path = tmp_path / "out" / f"mvapich-{version}-2x2.bench.jsonl"
    mpi = read_bench(path).header.mpi
    assert (mpi.family, mpi.abi, mpi.version) == ("mpich", "mpich", version)
    assert mpi.library == f"MVAPICH Version : {version} (imported)"
    assert run(capsys, "osu", log, "--mpi", f"mpich@{version}", *words)[0] == 0, "no such file yet"
    assert main(["compare", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert f"MVAPICH {version}: default" in printed and f"MPICH {version}: default" in printed


def test_mvapich_by_its_name_in_the_files_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i, name in enumerate(("mvapich3", "mpich3", "mvapich2-2.3.7")):
        log = tmp_path / "logs" / name / "a.log"
        log.parent.mkdir(parents=True)
        log.write_text(OSU.replace("Fail", "Pass").replace("12.", f"1{i}."))
    out = tmp_path / "out"
    words = ["--pattern", "{mpi}/a.log", "--nodes", "2", "--ppn", "2", "-o", out]
    code, said = run(capsys, "osu", tmp_path / "logs", *words)
    assert code == 0, said
    assert sorted(p.name.removesuffix("-2x2.bench.jsonl") for p in out.iterdir()) == [
        "mpich-3", "mvapich-2.3.7", "mvapich-3",
    ]  # fmt: skip


def test_the_remedy_for_an_unknown_mpi_is_what_can_be_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a form for names in the files' places, which none has without {mpi} in --pattern."""
    log = tmp_path / "a.log"
    log.write_text(OSU)
    code, said = run(capsys, "osu", log, "--mpi", "spectrum@10.4", "--nodes", 2, "--ppn", 2)
    assert code == 2 and "--mpi openmpi@4.0.1 (or mpich@..., mvapich@..." in said
