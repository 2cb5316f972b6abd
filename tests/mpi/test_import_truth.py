"""What is printed beside, behind or otherwise than plain results must not become results."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import MPIS
from stretto.cli import main
from stretto.export.rules import read_results
from stretto.files.bench import Bench, read_bench
from stretto.imports import imb, osu

WHERE = ["--mpi", "openmpi@5.0.6", "--nodes", "1", "--ppn", "4"]
TITLE = "\n# OSU MPI Allreduce Latency Test v7.4\n"
HEADING = "# Size       Avg Latency(us)\n"
SIZES = (8, 64, 512, 4096, 65536, 262144)

IMB = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Date                  : Sun Nov 22 07:22:34 2026
# Calling sequence was:

# IMB-MPI1 {words}

# Minimum message length in bytes:   0
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_FLOAT
"""
BLOCK = """\
# Benchmarking Allreduce
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         4.50        18.59        11.69
            8         1000         4.60        19.59        12.69
"""


def import_one(kind: str, path: Path, out: Path, *more: str) -> Bench:
    """Import and return the one file that came of it."""
    assert main(["import", kind, str(path), *WHERE, "-o", str(out), *more]) == 0
    (written,) = out.glob("*.bench.jsonl")
    return read_bench(written)


def allreduce(run: int, factor: float = 1.0) -> str:
    lines = (f"{n}   {factor * (20 + n / 100) + run * 0.013:.2f}\n" for n in SIZES)
    return TITLE + "# Datatype: MPI_CHAR.\n" + HEADING + "".join(lines)


def barrier(us: float) -> str:
    return f"\n# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n      {us:.2f}\n"


@pytest.mark.parametrize("whole", ["slurm-17.out", "all.log"])
def test_a_jobs_output_beside_its_logs_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: str
) -> None:
    """Three runs were six launches, which were called significant; whatever is read first."""
    for kind, factor in (("default", 1.0), ("4", 0.8)):
        logs = tmp_path / "logs" / kind
        logs.mkdir(parents=True)
        for run in range(3):
            (logs / f"run{run}.log").write_text(allreduce(run, factor))
        texts = [allreduce(run, factor) for run in range(3)]
        (logs / whole).write_text("job starts\n" + "".join(texts) + "job ends\n")
    words = ["--pattern", "{algorithm}/*", "--setting", "coll_tuned_{collective}_algorithm=4"]
    bench = import_one("osu", tmp_path / "logs", tmp_path / "out", *words)
    said = capsys.readouterr().err
    assert len(bench.launches) == 6
    assert f"4/{whole}: all its tables are the same measurements as those of" in said
    assert "only 3 launches" in said
    (written,) = (tmp_path / "out").iterdir()
    assert not any(r.settings for r in read_results([written]).rules().rules)


def test_short_tables_are_copies_where_their_file_is(tmp_path: Path) -> None:
    """Barriers are alike by chance in other launches, and are not in a copied output."""
    logs = tmp_path / "logs"
    logs.mkdir()
    texts = [allreduce(0) + barrier(165.7), allreduce(1) + barrier(165.7)]
    texts += [allreduce(2) + barrier(164.9)]
    for run, text in enumerate(texts):
        (logs / f"run{run}.log").write_text(text)
    (logs / "slurm.out").write_text("".join([*texts, allreduce(3), barrier(166.1)]))
    bench = import_one("osu", logs, tmp_path / "out")
    found = sorted(s.times_us[0] for s in bench.samples if s.collective == "barrier")
    assert found == [164.9, 165.7, 165.7, 166.1]
    assert sum(s.bytes == 8 for s in bench.samples) == 4


def test_types_of_one_run_are_not_counted_as_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    kinds = ("CHAR", "INT", "FLOAT")
    log.write_text(TITLE + "".join(f"# Datatype: MPI_{k}.\n{HEADING}8  1.00\n" for k in kinds))
    import_one("osu", log, tmp_path / "out")
    assert "there is only 1 launch of a candidate" in capsys.readouterr().err


def test_a_column_that_no_file_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There were `6 launches, 0 values`, and a file without results."""
    for run in range(2):
        (tmp_path / f"run{run}.log").write_text(allreduce(run))
    out = tmp_path / "out"
    words = ["import", "osu", str(tmp_path), *WHERE, "-o", str(out), "--value", "max"]
    assert main(words) == 1
    assert "no file has a column of the largest over the ranks" in capsys.readouterr().err
    assert not out.exists()

    full = "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
    (tmp_path / "run2.log").write_text(TITLE + full + "8  1.0  0.5  1.5  9\n")
    bench = import_one("osu", tmp_path, out, "--value", "max")
    assert len(bench.launches) == len(bench.samples) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "run0.log and 1 more: 12 lines without a column of the largest" in said


def test_only_sizes_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        IMB.format(words="Allreduce") + BLOCK[: BLOCK.index("    8  ")].replace(" 4 ", " 0 ")
    )
    out = tmp_path / "out"
    assert main(["import", "imb", str(log), *WHERE, "-o", str(out)]) == 1
    assert "all sizes are 0 bytes" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("kind", ["osu", "imb"])
def test_files_from_windows(tmp_path: Path, kind: str, encoding: str) -> None:
    """Byte order marks, line ends, and the UTF-16 of PowerShell's redirection."""
    text = (
        TITLE.lstrip() + HEADING + "8   1.55\n" if kind == "osu" else IMB.format(words="") + BLOCK
    )
    log = tmp_path / "a.log"
    log.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    bench = import_one(kind, log, tmp_path / "out")
    assert {(s.collective, s.mode) for s in bench.samples} == {("allreduce", "latency")}
    assert bench.header.settings["imported"]["tools"] == [
        "OSU 7.4" if kind == "osu" else "IMB 2021.11"
    ]
    joined = ("\ufeff" + TITLE.lstrip() + HEADING + "8   1.55\n") * 2
    assert len(osu.read(joined, "f").tables) == 2


def test_cold_caches_are_marked_and_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-off_cache` gives each call other buffers: another measurement."""
    logs = tmp_path / "logs"
    logs.mkdir()
    cold = IMB.format(words="-off_cache -1 Allreduce") + BLOCK
    (logs / "a.log").write_text(cold)
    bench = import_one("imb", logs, tmp_path / "cold")
    assert bench.header.settings["cold"] is True
    assert "-off_cache" in capsys.readouterr().err
    (logs / "b.log").write_text(IMB.format(words="Allreduce") + BLOCK)
    bench = import_one("imb", logs, tmp_path / "both")
    assert len(bench.launches) == 1
    assert bench.header.settings["cold"] is False
    assert "a.log" in (said := capsys.readouterr().err) and "never mixed" in said


def test_sizes_of_the_users_choice_stand_in_any_order(tmp_path: Path) -> None:
    """`-msgsize 64,8,8`: one launch has both times of a size."""
    head = IMB.format(words="-msgsize 64,8,8").replace(
        "Minimum message length in bytes:   0", "Message lengths were user defined"
    )
    rows = "".join(f"{n} 1000 1.00 {us} {us}\n" for n, us in ((64, 3.5), (8, 1.5), (8, 1.25)))
    log = tmp_path / "a.log"
    log.write_text(head + BLOCK[: BLOCK.index("            4")] + rows)
    bench = import_one("imb", log, tmp_path / "out")
    assert [(s.bytes, s.times_us) for s in bench.samples] == [(64, [3.5]), (8, [1.5, 1.25])]


def test_a_truncated_file_does_not_change_the_layout(tmp_path: Path) -> None:
    """The job has 8 ranks on 2 nodes, though only communicators of 4 were printed."""
    log = tmp_path / "a.log"
    waiting = "# #processes = 4\n# ( 4 additional processes waiting in MPI_Barrier)\n"
    log.write_text(IMB.format(words="") + BLOCK.replace("# #processes = 4\n", waiting))
    words = ["import", "imb", str(log), "--mpi", "openmpi@5.0.6", "--nodes", "2"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["openmpi-5.0.6-1x4.bench.jsonl"]


def test_jobs_of_several_sizes_in_one_file(tmp_path: Path) -> None:
    """Each filled both nodes: the smaller was taken for a communicator of the larger's."""
    log = tmp_path / "a.log"
    log.write_text(BLOCK + BLOCK.replace("= 4", "= 8").replace("12.69", "13.69"))
    words = ["import", "imb", str(log), "--mpi", "openmpi@5.0.6", "--nodes", "2"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    names = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert names == [f"openmpi-5.0.6-2x{n}.bench.jsonl" for n in (2, 4)]


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("N1n2.log", ["--ppn", "4"], "openmpi-5.0.6-1x2.bench.jsonl"),
        ("N4n9.log", [], "openmpi-5.0.6-4x3.9.bench.jsonl"),
        ("N2n8.log", [], "openmpi-5.0.6-2x4.bench.jsonl"),
        ("N2n4.log", ["--ppn", "4"], "4 ranks are too few for 2 nodes, 4 ranks on one of them"),
    ],
)
def test_nodes_that_are_not_full(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    options: list[str],
    expected: str,
) -> None:
    """9 ranks on 4 nodes were 3 x 3."""
    (tmp_path / name).write_text(allreduce(0))
    words = ["import", "osu", str(tmp_path / name), "--mpi", "openmpi@5.0.6", *options]
    done = main([*words, "--pattern", "N{nodes}n{nranks}.log", "-o", str(tmp_path / "out")])
    written = [p.name for p in tmp_path.glob("out/*")]
    assert written == ([expected] if done == 0 else [])
    assert done == 0 or expected in capsys.readouterr().err


def test_names_that_have_fewer_ranks_than_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "n2.log").write_text(IMB.format(words="") + BLOCK)
    words = ["import", "imb", str(tmp_path / "n2.log"), "--mpi", "openmpi@5.0.6", "--ppn", "2"]
    assert main([*words, "--pattern", "n{nranks}.log", "-o", str(tmp_path / "out")]) == 1
    assert "the job has 4 ranks, but the file's name says 2" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["openmpi", "openmpi@4", "x=openmpi"])
def test_versions_in_names_are_told_apart(tmp_path: Path, given: str) -> None:
    """They were launches of one MPI."""
    for version in ("4.1.4", "4.0.1"):
        (tmp_path / f"x-{version}.log").write_text(allreduce(int(version[2])))
    named = "=" in given
    pattern = "{mpi}-{version}.log" if named else "x-{version}.log"
    words = ["import", "osu", str(tmp_path), "--mpi", given, "--nodes", "1", "--ppn", "4"]
    assert main([*words, "--pattern", pattern, "-o", str(tmp_path / "out")]) == 0
    written = {p.name: len(read_bench(p).launches) for p in tmp_path.glob("out/*")}
    assert written == {f"openmpi-{v}-1x4.bench.jsonl": 1 for v in ("4.1.4", "4.0.1")}


def test_what_intel_mpi_brings_along_with_its_options(tmp_path: Path) -> None:
    mpi = MPIS["intel"].require()
    program = str(mpi.prefix / "bin" / "IMB-MPI1")

    def printed(*words: str) -> str:
        done = mpi.run(4, [program, "-iter", "5", "-npmin", "4", *words, "allreduce", "barrier"])
        return str(done.stdout)

    reading = imb.read(printed("-msglog", "3:3", "-map", "2x2"), "f")
    assert not reading.tables and len(reading.problems) == 2
    reading = imb.read(printed("-msglog", "3:4", "-multi", "1"), "f")  # empty lines between sizes
    assert [[x.bytes for x in t.lines] for t in reading.tables] == [[0, 8, 16], [0]]
    reading = imb.read(printed("-msgsize", "64,8,8", "-off_cache", "-1"), "f")
    assert [[x.bytes for x in t.lines] for t in reading.tables] == [[64, 8, 8], [0]]
    assert all(t.cold for t in reading.tables) and not reading.problems
