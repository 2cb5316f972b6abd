"""Results that other benchmarks printed: read whole, never guessed at, and tuned from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports import result_file
from mpis import MPIS, REPOSITORY
from stretto.cli import main
from stretto.errors import StrettoError, UsageError
from stretto.export.rules import read_results
from stretto.files.bench import read_bench
from stretto.files.table import read_table
from stretto.imports import imb, osu
from stretto.imports.mpis import identity_of
from stretto.imports.natives import Naming
from stretto.imports.pattern import compile_pattern, match
from stretto.imports.printed import TableLine
from stretto.imports.templates import templates

#: measured on a real cluster of 8 x 36 ranks, every algorithm of Open MPI 4.0.1 (bench/c5n.py)
C5N = json.loads((REPOSITORY / "bench" / "results" / "c5n-predicted.json").read_text())["broadcast"]
LAYOUT = "{collective}/N{nodes}n{nranks}/run{launch}/{mpi}/{collective}_algo{algorithm}.log"
SETTING = "coll_tuned_{collective}_algorithm={algorithm},coll_tuned_use_dynamic_rules=1"

FULL = """\
[node1:123] a warning of the launcher 7 times
# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      11.69              4.50             18.59        1000
8                      12.10
16                     nan                5.39             17.63        1000
32                     13.21             10.11             13.30        1000

# OSU MPI Barrier Latency Test v7.5
# Avg Latency(us)
             165.70
# OSU MPI-CUDA Broadcast Latency Test v7.5
# Size       Avg Latency(us)
4                       1.00
# OSU MPI Iallreduce Latency Test v7.5
# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       1.00              1.00              1.00              0.00
"""

IMB = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Date                  : Sun Nov 22 07:22:34 2026
# Release               : 5.14.0-503
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_FLOAT
# Benchmarking Allreduce
# #processes = 2
# ( 6 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
            8         1000         4.50        18.59        11.69
# Benchmarking Allreduce
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         5.50        19.59        12.69
# Benchmarking Barrier
# #processes = 8
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.46         0.47         0.46
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            8         1000         0.46        17.39
# All processes entering MPI_Finalize
"""


def printed(values: dict[int, float], title: str = "Broadcast Latency Test v5.6") -> str:
    lines = [f"# OSU MPI {title}", "# Size       Avg Latency(us)"]
    return "\n".join([*lines, *(f"{n:<12}{us:>16.2f}" for n, us in values.items()), ""])


def campaign(base: Path, runs: int) -> Path:
    """Write the real figures as OSU prints them, in directories; later runs are a little slower."""
    names = [cell["algorithm"] for cell in C5N[0]["cells"]]
    for run in range(1, runs + 1):
        for i, name in enumerate(names):
            values = {
                e["bytes"]: e["cells"][i]["measured_us"] * (1 + 0.002 * (run - 1)) for e in C5N
            }
            number = name.split(".")[0]
            path = base / "bcast" / "N8n288" / f"run{run}" / "openmpi4" / f"bcast_algo{number}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(printed(values))
    return base


def test_a_campaign_of_a_real_cluster_is_tuned_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(campaign(tmp_path / "logs", 8)), "--pattern", LAYOUT, "--setting", SETTING]
    out = tmp_path / "imported"
    assert main(["import", "osu", *words, "-o", str(out), "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["files"]
    path = Path(made["file"])
    assert path.name == "openmpi-4-8x36.bench.jsonl"
    assert made["launches"] == 8 * 11 and made["samples"] == 8 * 11 * 6
    bench = read_bench(path)
    assert {(x.nodes, x.ppn, x.nranks) for x in bench.launches} == {(8, 36, 288)}
    assert bench.header.host.cpu == "unknown"
    told = bench.header.settings["imported"]
    assert (
        "host.cpu" in told["unknown"] and told["tools"] == ["OSU 5.6"] and len(told["files"]) == 88
    )
    bare = [s for s in bench.samples if s.candidate == "bare" and s.bytes == 1]
    assert len(bare) == 2 * 8, "the default, and algorithm 0, which is the same"
    assert [s.times_us for s in bare[:2]] == [[96.06], [92.02]]
    assert bare[0].mode == "latency" and bare[0].source == "measured"

    assert main(["table", "decide", str(path)]) == 0
    said = capsys.readouterr().out
    assert "coll_tuned_bcast_algorithm=7" in said and "faster" in said
    table = read_table(path.with_name("openmpi-4-8x36.table"))
    assert {r.choice for r in table.rows} == {"native"} and (table.nodes, table.ppn) == (8, 36)
    small = next(r for r in read_results([path]).rules().rules if r.low == 0)
    assert small.setting("coll_tuned_bcast_algorithm") == "7", "k-nomial was the fastest at 1 B"


def test_one_run_says_that_nothing_can_be_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(campaign(tmp_path / "logs", 1)), "--pattern", LAYOUT, "--setting", SETTING]
    assert main(["import", "osu", *words, "-o", str(tmp_path / "out")]) == 0
    assert "no test can be made" in capsys.readouterr().err
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert main(["table", "decide", str(path)]) == 0
    assert "faster than what" not in capsys.readouterr().out
    assert main(["import", "osu", *words, "-o", str(tmp_path / "out")]) == 1, "not overwritten"


def test_results_without_the_mpi_by_itself_decide_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forced algorithms only: there was a table of nothing, and `native` was called the best."""
    logs = campaign(tmp_path / "logs", 6)
    kept = {p: p.read_text() for p in logs.rglob("bcast_algo[d0]*.log")}
    assert kept
    for path in kept:
        path.unlink()
    words = [str(logs), "--pattern", LAYOUT, "--setting", SETTING, "-o"]
    assert main(["import", "osu", *words, str(tmp_path / "none")]) == 0
    (none,) = (tmp_path / "none").iterdir()
    capsys.readouterr()
    assert main(["table", "decide", str(none)]) == 1
    said = capsys.readouterr()
    assert "lack the baseline" in said.err and str(none) in said.err and not said.out
    assert list(none.parent.iterdir()) == [none]

    for path, text in kept.items():  # all sizes but one
        path.write_text("".join(x for x in text.splitlines(True) if not x.startswith("1 ")))
    assert main(["import", "osu", *words, str(tmp_path / "some")]) == 0
    (some,) = (tmp_path / "some").iterdir()
    assert main(["table", "decide", str(some)]) == 0
    said = capsys.readouterr()
    assert "bcast of 1 B: the baseline is missing" in said.err
    assert re.search(r"^best +not known +tuned ", said.out, re.MULTILINE)


def test_open_mpis_algorithm_0_is_what_it_does_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a forced choice, so that the baseline was missing, and export said: nothing faster."""
    logs = campaign(tmp_path / "logs", 8)
    for path in logs.rglob("bcast_algodefault.log"):
        path.unlink()
    words = [str(logs), "--pattern", LAYOUT, "--setting", SETTING, "-o"]
    assert main(["import", "osu", *words, str(tmp_path / "out")]) == 0
    assert "algorithm 0 is its own decision" in capsys.readouterr().err
    (path,) = (tmp_path / "out").iterdir()
    assert "bare" in {s.candidate for s in read_bench(path).samples}
    assert any(r.settings for r in read_results([path]).rules().rules)

    # a preset of Intel MPI's, and a number that is none of coll/tuned's, mean themselves
    intel = Naming(templates(["I_MPI_ADJUST_{COLLECTIVE}={algorithm}"], ()), print)
    assert intel.candidate(identity_of("intel"), "bcast", "0") == "native:I_MPI_ADJUST_BCAST=0"
    segment = "coll_tuned_{collective}_algorithm=2,coll_tuned_{collective}_algorithm_segmentsize="
    assert (
        Naming(templates([f"{segment}{{algorithm}}"], ()), print)
        .candidate(identity_of("openmpi"), "bcast", "0")
        .endswith("segmentsize=0")
    )


def test_an_export_needs_the_mpi_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was never measured is not "nothing was significantly faster", with exit code 0."""
    a, b = ("native:coll_tuned_bcast_algorithm=" + n for n in "16")
    to = ["--to", "openmpi-5", "--out", str(tmp_path / "o")]
    none = result_file(tmp_path / "none.bench.jsonl", {("bcast", 8): {a: 1.0, b: 2.0}})
    assert main(["export", *to, str(none)]) == 1
    said = capsys.readouterr().err
    assert "lack the baseline" in said and str(none) in said and not (tmp_path / "o").exists()

    times = {("bcast", 8): {a: 1.0, b: 2.0}, ("reduce", 8): {"bare": 1.0}}
    some = result_file(tmp_path / "some.bench.jsonl", times)
    assert main(["export", *to, str(some)]) == 0
    assert (
        "bcast of 8 bytes on 5 ranks on 1 x 5: the baseline is missing" in capsys.readouterr().err
    )


def test_the_installed_mpi_tells_what_numbers_mean(tmp_path: Path) -> None:
    MPIS["openmpi4"].require()
    notes: list[str] = []
    naming = Naming((), notes.append)
    mpi = identity_of("openmpi4")
    assert "coll_tuned_bcast_algorithm=7" in naming.candidate(mpi, "bcast", "7")
    assert naming.candidate(mpi, "bcast", "7") == naming.candidate(mpi, "bcast", "knomial")
    assert naming.candidate(mpi, "bcast", "0") == "bare"
    assert (
        naming.candidate(mpi, "bcast", None) == naming.candidate(mpi, "bcast", "default") == "bare"
    )
    assert notes and "Open MPI 4" in notes[0]
    with pytest.raises(StrettoError, match="no algorithm '99'"):
        naming.candidate(mpi, "bcast", "99")
    with pytest.raises(StrettoError, match="not installed here"):
        naming.candidate(identity_of("openmpi@77.0"), "bcast", "7")


def test_one_mpi_by_two_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two builds would be mixed; nothing is written before the user has said what they are."""
    runs, out = tmp_path / "runs", tmp_path / "out"
    for k, name in enumerate(("impi", "ompi", "openmpi")):
        (runs / name).mkdir(parents=True)
        (runs / name / "x.log").write_text(printed({8: 1.0 + k}))
    words = ["import", "osu", str(runs), "-o", str(out), "--nodes", "1", "--ppn", "4"]
    words += ["--pattern", "{mpi}/x.log"]
    assert main(words) == 1 and not list(out.glob("**/*.jsonl"))
    said = " ".join(capsys.readouterr().err.split())
    assert "ompi and openmpi would both be openmpi-unknown-1x4.bench.jsonl" in said
    assert "--mpi ompi=openmpi --mpi openmpi=openmpi" in said
    words += ["--mpi", "ompi=openmpi", "--mpi", "openmpi=openmpi"]
    assert main(words) == 0, capsys.readouterr().err
    written = {p.name: len(read_bench(p).launches) for p in out.glob("**/*.jsonl")}
    assert written == {"intel-unknown-1x4.bench.jsonl": 1, "openmpi-unknown-1x4.bench.jsonl": 2}


def test_directories_behind_symbolic_links_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, runs = tmp_path / "elsewhere", tmp_path / "runs"
    for run in range(1, 8):
        folder = (real if run > 5 else runs) / f"run{run}"
        folder.mkdir(parents=True)
        (folder / "x.log").write_text(printed({8: 1.0 + run / 100}))
    for run in (6, 7):
        (runs / f"run{run}").symlink_to(real / f"run{run}")
    (runs / "run1" / "round").symlink_to(runs)  # and no end of them
    (runs / "latest").symlink_to("run5")  # whose own name says which it is
    words = [
        "--mpi",
        "openmpi@5.0.6",
        "--nodes",
        "1",
        "--ppn",
        "4",
        "--pattern",
        "run{launch}/x.log",
    ]
    out = tmp_path / "out"
    assert main(["import", "osu", str(runs), "-o", str(out), *words]) == 0, capsys.readouterr().err
    (written,) = out.glob("**/*.bench.jsonl")
    assert len(read_bench(written).launches) == 7


def test_imb_has_communicators_of_several_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "imb.log"
    log.write_text(IMB)
    reading = imb.read(IMB, "f")
    assert [(t.collective, t.nranks) for t in reading.tables] == [
        ("allreduce", 2), ("allreduce", 8), ("barrier", 8),
    ]  # fmt: skip
    assert reading.tables[0].lines[1] == TableLine(8, 11.69, 18.59, 1000)
    assert not reading.problems and [t.collective for t in reading.messages] == ["pingpong"]
    words = ["--mpi", "intel@2021.18", "--ppn", "4", "-o", str(tmp_path / "out")]
    assert main(["import", "imb", str(log), *words]) == 0
    assert "largest over the ranks" in capsys.readouterr().out
    small = read_bench(tmp_path / "out" / "intel-2021.18-1x2.bench.jsonl")
    large = read_bench(tmp_path / "out" / "intel-2021.18-2x4.bench.jsonl")
    assert [(s.bytes, s.times_us, s.mode) for s in small.samples] == [(8, [18.59], "latency")]
    assert [(s.collective, s.datatype) for s in large.samples] == [
        ("allreduce", "MPI_FLOAT"), ("barrier", "MPI_BYTE"),
    ]  # fmt: skip
    assert small.header.host.kernel == "5.14.0-503"


def test_what_intel_mpi_brings_along_prints_what_is_read(tmp_path: Path) -> None:
    mpi = MPIS["intel"].require()
    program = mpi.prefix / "bin" / "IMB-MPI1"
    words = [str(program), "-time", "100", "-iter", "5", "-msglog", "3:5"]
    done = mpi.run(2, [*words, "allreduce", "gather", "barrier"])
    reading = imb.read(done.stdout, "f")
    assert not reading.problems
    found = {t.collective: [x.bytes for x in t.lines] for t in reading.tables if t.nranks == 2}
    assert found == {"allreduce": [0, 8, 16, 32], "gather": [0, 8, 16, 32], "barrier": [0]}
    assert [t.mode for t in reading.tables] == ["latency", "latency", "throughput"]
    done = mpi.run(2, [str(program), "-iter", "5", "-msglog", "3:5", "-root_shift", "on", "gather"])
    reading = imb.read(done.stdout, "f")
    assert not reading.tables and "root moves" in reading.problems[0]


@given(st.dictionaries(st.integers(1, 1 << 30), st.floats(0.01, 1e6), min_size=1), st.data())
def test_a_cut_file_gives_whole_lines_only(values: dict[int, float], data: st.DataObject) -> None:
    text = printed(dict(sorted(values.items())))
    whole = osu.read(text, "f").tables[0].lines
    assert len(whole) == len(values)
    at = data.draw(st.integers(0, len(text)))
    reading = osu.read(text[:at], "f")
    found = [x for t in reading.tables for x in t.lines]
    assert found == whole[: len(found)]
    assert len(found) == max(0, text[:at].count("\n") - 2)


@given(st.text(alphabet="# OSUMPIAllreduce LatencyTestv7.\n\r0123456789.-xnan\x00[]_():\u00e9"))
def test_no_text_breaks_the_readers(text: str) -> None:
    for reader in (osu.read, imb.read):
        for head in (
            "",
            "# OSU MPI Bcast Latency Test\n",
            "# Benchmarking Bcast\n#bytes t_max[usec]\n",
        ):
            for table in reader(head + text, "f").tables:
                assert all((x.average or x.largest or 0) >= 0 for x in table.lines)


def test_patterns() -> None:
    pattern = compile_pattern(LAYOUT)
    facts = match([pattern], Path("/x/bcast/N8n288/run3/openmpi4/bcast_algo7.log"))
    assert (
        facts is not None
        and facts.launch == 3
        and facts.algorithm == "7"
        and facts.mpi == "openmpi4"
    )
    assert match([pattern], Path("bcast/N8n288/run3/openmpi4/reduce_algo7.log")) is None
    assert match([compile_pattern("*.{algorithm}.log")], Path("a/job.7.log")) is not None
    with pytest.raises(UsageError, match="not a field"):
        compile_pattern("{collectve}/x")


def test_means_and_maxima_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file with -f and one without: the means of both are taken."""
    (tmp_path / "a.log").write_text(FULL)
    (tmp_path / "b.log").write_text(printed({4: 20.0}, "Allreduce Latency Test v5.6"))
    words = ["--mpi", "openmpi@5.0.6", "--ppn", "4", "--nodes", "2", "-o", str(tmp_path / "out")]
    assert main(["import", "osu", str(tmp_path), *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == "avg"
    bench = read_bench(tmp_path / "out" / "openmpi-5.0.6-2x4.bench.jsonl")
    assert [s.times_us for s in bench.samples if s.bytes == 4] == [[11.69], [20.0]]


def test_nothing_to_import_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.log").write_text("segmentation fault\n")
    assert main(["import", "osu", str(tmp_path), "--mpi", "openmpi", "--ppn", "1"]) == 1
    assert "nothing to import" in capsys.readouterr().err


def test_a_copy_of_a_measurement_is_no_second_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six copies of one file would be significant; the same file named twice as well."""
    for i in range(6):
        (tmp_path / f"run{i}.log").write_text(printed({8 << k: 3.21 + k for k in range(12)}))
    (tmp_path / "other.log").write_text(printed({8 << k: 3.22 + k for k in range(12)}))
    words = ["--mpi", "openmpi@5.0.6", "--nodes", "2", "--ppn", "2", "-o", str(tmp_path / "out")]
    again = str(tmp_path / "other.log")
    assert main(["import", "osu", str(tmp_path), again, *words]) == 0
    said = capsys.readouterr()
    assert "2 launches" in said.out
    assert said.err.count(" once\n") == 6


def test_several_patterns_are_tried_in_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one replaced the first, and results of a second import are refused."""
    times = {8: 1.25, 64: 1.5, 512: 2.75, 4096: 9.0, 32768: 33.0, 262144: 210.5}
    names = ["run1/bcast_2x4_default.log", "run2-bcast-2x4-algo6.log", "notes.txt"]
    for i, name in enumerate(names):
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed({n: us + i for n, us in times.items()}))
    words = ["--pattern", "run{launch}/{collective}_{nodes}x{ppn}_{algorithm}.log",
             "--pattern", "run{launch}-{collective}-{nodes}x{ppn}-algo{algorithm}.log",
             "--mpi", "openmpi@4.1.4", "--setting", SETTING]  # fmt: skip
    assert main(["import", "osu", str(tmp_path / "logs"), *words, "-o", str(tmp_path / "o")]) == 0
    said = capsys.readouterr().err
    assert "notes.txt: its name has not the form of any --pattern" in said and "run" not in said
    (path,) = (tmp_path / "o").iterdir()
    assert len({s.candidate for s in read_bench(path).samples}) == 2

    both = [compile_pattern("{algorithm}.log"), compile_pattern("{mpi}.log")]
    facts = match(both, Path("a/x.log"))
    assert facts is not None and (facts.algorithm, facts.mpi) == ("x", None), "the first that fits"


@pytest.mark.parametrize(
    ("version", "words", "mode", "root_stays"),
    [
        ("(R) MPI Benchmarks 2021.11", "IMB-MPI1", "latency", True),
        ("(R) MPI Benchmarks 2019 Update 3", "IMB-MPI1", "latency", True),
        ("(R) MPI Benchmarks 2021.11", "IMB-MPI1 -sync off", "throughput", True),
        ("(R) MPI Benchmarks 2021.11", "IMB-MPI1 -a 2 \n\n# -sync 0", "throughput", True),
        (" (R) MPI Benchmarks 2017", "IMB-MPI1 Allreduce", "throughput", False),
        (" (R) MPI Benchmarks 2018", "IMB-MPI1 -sync on", "latency", False),
        ("(R) MPI Benchmarks 2021.11", "IMB-MPI1 -root_shift off", "latency", True),
        ("(R) MPI Benchmarks 2021.11", "IMB-MPI1 -root_shift on", "latency", False),
    ],
)
def test_imb_reader_takes_synchronization_and_root_from_version_and_options(
    version: str, words: str, mode: str, root_stays: bool
) -> None:
    head = f"# Calling sequence was: \n\n# {words} \n\n# Minimum message length in bytes:   0\n"
    text = IMB.replace("(R) MPI Benchmarks 2021.11", version).replace("Allreduce", "Bcast", 1)
    reading = imb.read(text.replace("# MPI_Datatype    ", head + "# MPI_Datatype    ", 1), "f")
    assert [t.collective for t in reading.tables] == ["bcast"] * root_stays + [
        "allreduce", "barrier",
    ]  # fmt: skip
    assert sum("root moves" in problem for problem in reading.problems) == (not root_stays)
    assert [t.mode for t in reading.tables if t.nranks == 8] == [mode, "throughput"]
    assert all(t.tool == f"IMB {version.split('Benchmarks ')[1]}" for t in reading.tables)


def test_readers_keep_results_that_the_benchmark_found_wrong() -> None:
    """IMB by its own tolerance, a hundredth."""
    text = "# OSU MPI Reduce Latency Test v7.5\n# Size       Avg Latency(us)        Validation\n"
    (table,) = osu.read(text + "4        1.0      Pass\n8        1.1      Fail\n", "f").tables
    assert [x.correct for x in table.lines] == [True, False]
    text = IMB.replace("t_avg[usec]", "t_avg[usec]      defects").replace("0.03\n", "0.03 0\n")
    text = text.replace("11.69", "11.69         1.00").replace("12.69", "12.69         0.01")
    assert [x.correct for t in imb.read(text, "f").tables for x in t.lines][:3] == [
        True, False, True,
    ]  # fmt: skip


def test_tune_from_results_of_several_machines_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text(printed({8: 3.0}))
    made = []
    for mpi, nodes, cpu in (
        ("openmpi@5.0.6", "2", "CPU A"),
        ("openmpi@5.0.6", "4", "CPU B"),
        ("openmpi@5.0.6", "8", "unknown"),
        ("mpich@5.0.2", "2", "CPU A"),
    ):
        words = ["--mpi", mpi, "--nodes", nodes, "--ppn", "2", "--cpu", cpu, "-o", str(tmp_path)]
        assert main(["import", "osu", str(log), *words]) == 0
        made.append(str(tmp_path / f"{mpi.replace('@', '-')}-{nodes}x2.bench.jsonl"))
    for other, words_ in ((1, "kinds of nodes are never mixed"), (3, "a table is for one MPI")):
        assert main(["table", "decide", made[0], made[other]]) == 1
        assert words_ in capsys.readouterr().err
    assert main(["table", "decide", made[0], made[2]]) == 0
