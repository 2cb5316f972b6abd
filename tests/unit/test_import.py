"""Results that other benchmarks printed: what becomes a launch, and what is tuned from them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from imported import HEADING, IMB_BLOCK, IMB_HEAD, Import, log_of, table
from mpis import REPOSITORY
from stretto.cli import main
from stretto.export.rules import read_results
from stretto.files.bench import read_bench
from stretto.files.table import read_table
from stretto.imports import osu

#: measured on a real cluster of 8 x 36 ranks, every algorithm of Open MPI 4.0.1 (bench/c5n.py)
C5N = json.loads((REPOSITORY / "bench" / "results" / "c5n-predicted.json").read_text())["broadcast"]
LAYOUT = "{collective}/N{nodes}n{nranks}/run{launch}/{mpi}/{collective}_algo{algorithm}.log"
SETTING = "coll_tuned_{collective}_algorithm={algorithm},coll_tuned_use_dynamic_rules=1"
C5N_WORDS = ("--pattern", LAYOUT, "--setting", SETTING)
WHERE = ("--mpi", "openmpi@5.0.6", "--nodes", "1", "--ppn", "4")
TITLE = "\n# OSU MPI Allreduce Latency Test v7.4\n"
FULL = "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
BARRIER = """\
# Benchmarking Barrier
# #processes = 8
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.46         0.47         0.46
"""


@pytest.fixture
def imports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Import:
    return Import(capsys, tmp_path)


def printed(values: dict[int, float], title: str = "Broadcast Latency Test v5.6") -> str:
    lines = [f"# OSU MPI {title}", "# Size       Avg Latency(us)"]
    return "\n".join([*lines, *(f"{n:<12}{us:>16.2f}" for n, us in values.items()), ""])


def campaign(base: Path, runs: int, without: str = "") -> Path:
    """Write the real figures as OSU prints them, in directories; later runs are a little slower."""
    for run in range(1, runs + 1):
        for i, cell in enumerate(C5N[0]["cells"]):
            slower = 1 + 0.002 * (run - 1)
            number = cell["algorithm"].split(".")[0]
            name = f"bcast/N8n288/run{run}/openmpi4/bcast_algo{number}.log"
            if number not in without.split():
                put(base / name, printed({e["bytes"]: e["cells"][i]["measured_us"] * slower
                                          for e in C5N}))  # fmt: skip
    return base


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_import_of_a_real_campaign_is_tuned_from(tmp_path: Path, imports: Import) -> None:
    assert imports(campaign(tmp_path / "logs", 8), *C5N_WORDS, "--json").code == 0, imports.said
    assert "algorithm 0 of Open MPI is its native selection" in imports.said
    (made,) = json.loads(imports.printed)["files"]
    path = Path(made["file"])
    assert path.name == "openmpi-4-8x36.bench.jsonl"
    assert made["launches"] == 8 * 11 and made["samples"] == 8 * 11 * 6
    bench = read_bench(path)
    assert {(x.nodes, x.ppn, x.nranks) for x in bench.launches} == {(8, 36, 288)}
    assert bench.header.host.cpu == "unknown"
    told = bench.header.settings["imported"]
    assert "host.cpu" in told["unknown"] and told["tools"] == ["OSU 5.6"]
    assert len(told["files"]) == 88
    bare = [s for s in bench.samples if s.candidate == "bare" and s.bytes == 1]
    assert len(bare) == 2 * 8, "the default, and algorithm 0, which is the same"
    assert [s.times_us for s in bare[:2]] == [[96.06], [92.02]]
    assert bare[0].mode == "latency" and bare[0].source == "measured"
    assert main(["table", "decide", str(path)]) == 0
    said = imports.capsys.readouterr().out
    assert "coll_tuned_bcast_algorithm=7" in said and "faster" in said
    found = read_table(path.with_name("openmpi-4-8x36.table"))
    assert {r.choice for r in found.rows} == {"native"} and (found.nodes, found.ppn) == (8, 36)
    small = next(r for r in read_results([path]).rules().rules if r.low == 0)
    assert small.setting("coll_tuned_bcast_algorithm") == "7", "k-nomial was the fastest at 1 B"


def test_import_of_one_run_can_test_nothing(tmp_path: Path, imports: Import) -> None:
    logs = campaign(tmp_path / "logs", 1)
    assert imports(logs, *C5N_WORDS).code == 0 and "no test can be made" in imports.said
    assert imports(logs, *C5N_WORDS).code == 1 and "never overwritten" in imports.said
    assert main(["table", "decide", str(imports.out / imports.names[0])]) == 0
    assert "faster than what" not in imports.capsys.readouterr().out


def test_table_of_results_without_the_baseline_decides_nothing(
    tmp_path: Path, imports: Import
) -> None:
    """Forced algorithms only: there was a table of nothing, and `native` was called the best."""
    logs = campaign(tmp_path / "logs", 6, without="0 default")
    assert imports(logs, *C5N_WORDS).code == 0
    path = imports.out / imports.names[0]
    assert main(["table", "decide", str(path)]) == 1
    said = imports.capsys.readouterr()
    assert "lack the baseline" in said.err and str(path) in said.err and not said.out
    assert list(path.parent.iterdir()) == [path]
    for run in range(1, 7):  # all sizes but one
        name = f"bcast/N8n288/run{run}/openmpi4/bcast_algodefault.log"
        put(logs / name, printed({e["bytes"]: 1e6 + run for e in C5N[1:]}))
    assert imports(logs, *C5N_WORDS, "-o", str(tmp_path / "some")).code == 0
    (path,) = (tmp_path / "some").iterdir()
    assert main(["table", "decide", str(path)]) == 0
    said = imports.capsys.readouterr()
    assert "bcast of 1 B: the baseline (native or bare) is missing" in said.err
    assert re.search(r"^best +not known +tuned ", said.out, re.MULTILINE)


def test_import_follows_links_to_directories_once(tmp_path: Path, imports: Import) -> None:
    real, runs = tmp_path / "elsewhere", tmp_path / "runs"
    for run in range(1, 8):
        log_of((real if run > 5 else runs) / f"run{run}" / "x.log", run)
    for run in (6, 7):
        (runs / f"run{run}").symlink_to(real / f"run{run}")
    (runs / "run1" / "round").symlink_to(runs)  # and no end of them
    (runs / "latest").symlink_to("run5")  # whose own name says which it is
    assert imports(runs, *WHERE, "--pattern", "run{launch}/x.log").code == 0, imports.said
    assert len(read_bench(imports.out / imports.names[0]).launches) == 7


# copies


def test_import_of_copies_counts_each_measurement_once(tmp_path: Path, imports: Import) -> None:
    """Six copies of one file would be significant; the same file named twice as well."""
    for i in range(6):
        log_of(tmp_path / f"run{i}.log")
    other = log_of(tmp_path / "other.log", 1)
    words = (*WHERE, "--algorithm", "default")
    assert imports(tmp_path, other, *words).code == 0, imports.said
    assert "2 launches" in imports.printed
    assert imports.said.count(" used once") == 6


@pytest.mark.parametrize("whole", ["slurm-17.out", "all.log"])
def test_import_of_a_jobs_output_beside_its_logs_counts_once(
    tmp_path: Path, imports: Import, whole: str
) -> None:
    """Three runs were six launches, which were called significant; whatever is read first."""
    for kind, factor in (("default", 1.0), ("4", 0.8)):
        for run in range(3):
            log_of(tmp_path / "logs" / kind / f"run{run}.log", run, factor=factor)
        texts = [table(run, factor=factor) for run in range(3)]
        put(tmp_path / "logs" / kind / whole, "job starts\n" + "".join(texts) + "job ends\n")
    words = ["--pattern", "{algorithm}/*", "--setting", "coll_tuned_{collective}_algorithm=4"]
    assert imports(tmp_path / "logs", *WHERE, *words).code == 0
    path = imports.out / imports.names[0]
    assert len(read_bench(path).launches) == 6
    assert f"4/{whole}: 3 of its 3 tables repeat the measurements in" in imports.said
    assert "the fewest launches of a candidate are 3" in imports.said
    assert not any(r.settings for r in read_results([path]).rules().rules)


def test_import_of_short_tables_drops_copies_where_their_file_has_them(
    tmp_path: Path, imports: Import
) -> None:
    """Barriers are alike by chance in other launches, and are not in a copied output."""
    barrier = "\n# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n      {:.2f}\n"
    texts = [table(i) + barrier.format(us) for i, us in enumerate((165.7, 165.7, 164.9))]
    for run, text in enumerate(texts):
        put(tmp_path / "logs" / f"run{run}.log", text)
    put(tmp_path / "logs" / "slurm.out", "".join([*texts, table(3), barrier.format(166.1)]))
    assert imports(tmp_path / "logs", *WHERE).code == 0
    samples = read_bench(imports.out / imports.names[0]).samples
    found = sorted(s.times_us[0] for s in samples if s.collective == "barrier")
    assert found == [164.9, 165.7, 165.7, 166.1]
    assert sum(s.bytes == 8 for s in samples) == 4


# columns and buffers


def test_import_takes_one_kind_of_time_from_all_files(tmp_path: Path, imports: Import) -> None:
    for run in range(2):
        log_of(tmp_path / "logs" / f"run{run}.log", run)
    logs, longest = tmp_path / "logs", ("--value", "max")
    assert imports(logs, *WHERE, *longest).code == 1 and not imports.out.exists()
    assert "no file has a column for the largest over the ranks" in imports.said
    put(logs / "run2.log", TITLE + FULL + "8  1.0  0.5  1.5  9\n")
    assert imports(logs, *WHERE, *longest).code == 0
    bench = read_bench(imports.out / imports.names[0])
    assert [s.times_us for s in bench.samples] == [[1.5]] and len(bench.launches) == 1
    assert "run0.log: left out: no column of the largest over the ranks" in imports.said
    assert "24 lines of 2 files" in imports.said
    assert imports(logs, *WHERE, "-o", str(tmp_path / "means")).code == 0
    (path,) = (tmp_path / "means").iterdir()
    assert [s.times_us for s in read_bench(path).samples if s.bytes == 8][2] == [1.0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("kind", ["osu", "imb"])
def test_import_of_files_from_windows_reads_them(
    tmp_path: Path, imports: Import, kind: str, encoding: str
) -> None:
    """Byte order marks, line ends, and the UTF-16 of PowerShell's redirection."""
    one = TITLE.lstrip() + HEADING + "8   1.55\n"
    text = one if kind == "osu" else IMB_HEAD.format(words="") + IMB_BLOCK
    log = tmp_path / "a.log"
    log.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert imports(log, *WHERE, kind=kind).code == 0
    bench = read_bench(imports.out / imports.names[0])
    assert {(s.collective, s.mode) for s in bench.samples} == {("allreduce", "latency")}
    tool = "OSU 7.4" if kind == "osu" else "IMB 2021.11"
    assert bench.header.settings["imported"]["tools"] == [tool]
    assert len(osu.read(f"\ufeff{one}\ufeff{one}", "f").tables) == 2


def test_import_of_cold_buffers_marks_them_and_mixes_none(tmp_path: Path, imports: Import) -> None:
    """`-off_cache` gives each call other buffers: another measurement."""
    logs = tmp_path / "logs"
    put(logs / "a.log", IMB_HEAD.format(words="-off_cache -1 Allreduce") + IMB_BLOCK)
    assert imports(logs, *WHERE, kind="imb").code == 0 and "-off_cache" in imports.said
    assert read_bench(imports.out / imports.names[0]).header.cold
    put(logs / "b.log", IMB_HEAD.format(words="Allreduce") + IMB_BLOCK)
    assert imports(logs, *WHERE, "-o", str(tmp_path / "both"), kind="imb").code == 0
    (path,) = (tmp_path / "both").iterdir()
    bench = read_bench(path)
    assert len(bench.launches) == 1 and not bench.header.cold
    assert "a.log" in imports.said and "cannot be mixed" in imports.said


# IMB: layouts and sizes


def test_import_of_imb_tells_communicators_of_several_sizes_apart(
    tmp_path: Path, imports: Import
) -> None:
    waiting = "# #processes = 2\n# ( 6 additional processes waiting in MPI_Barrier)\n"
    small = IMB_BLOCK.replace("# #processes = 4\n", waiting)
    text = (
        IMB_HEAD.format(words="")
        + small
        + IMB_BLOCK.replace("= 4", "= 8").replace("12.69", "13.69")
    )
    log = put(tmp_path / "a.log", text + BARRIER + "# All processes entering MPI_Finalize\n")
    assert imports(log, "--mpi", "intel@2021.18", "--ppn", "4", kind="imb").code == 0
    assert "largest over the ranks" in imports.printed
    small_bench, large = (read_bench(imports.out / f"intel-2021.18-{layout}.bench.jsonl")
                          for layout in ("1x2", "2x4"))  # fmt: skip
    assert [(s.bytes, s.times_us, s.mode) for s in small_bench.samples] == [
        (4, [18.59], "latency"), (8, [19.59], "latency"),
    ]  # fmt: skip
    assert {(s.collective, s.datatype) for s in large.samples} == {
        ("allreduce", "MPI_FLOAT"), ("barrier", "MPI_BYTE"),
    }  # fmt: skip
    assert small_bench.header.host.kernel == "5.14.0-503"


def test_import_of_sizes_in_any_order_gives_all_times(tmp_path: Path, imports: Import) -> None:
    """`-msgsize 64,8,8`: one launch has both times of a size."""
    head = IMB_HEAD.format(words="-msgsize 64,8,8").replace(
        "Minimum message length in bytes:   0", "Message lengths were user defined"
    )
    heading = IMB_BLOCK[: IMB_BLOCK.index("            4")]
    rows = "".join(f"{n} 1000 1.00 {us} {us}\n" for n, us in ((64, 3.5), (8, 1.5), (8, 1.25)))
    assert imports(put(tmp_path / "a.log", head + heading + rows), *WHERE, kind="imb").code == 0
    samples = read_bench(imports.out / imports.names[0]).samples
    assert [(s.bytes, s.times_us) for s in samples] == [(64, [3.5]), (8, [1.5, 1.25])]
    nothing = put(tmp_path / "b.log", head + heading + "0 1000 1.00 1.00 1.00\n")
    assert imports(nothing, *WHERE, "-o", str(tmp_path / "none"), kind="imb").code == 1
    assert "all sizes are 0 bytes" in imports.said and not (tmp_path / "none").exists()


WAITING = "# #processes = 4\n# ( 4 additional processes waiting in MPI_Barrier)\n"
TWO_JOBS = IMB_BLOCK + IMB_BLOCK.replace("= 4", "= 8").replace("12.69", "13.69")
PLACED = ("--pattern", "N{nodes}n{nranks}.log")


@pytest.mark.parametrize(
    ("name", "text", "options", "expected"),
    [
        ("N1n2.log", table(), (*PLACED, "--ppn", "4"), ["openmpi-5-1x2"]),
        # 9 ranks on 4 nodes were 3 x 3
        ("N4n9.log", table(), PLACED, ["openmpi-5-4x3.9"]),
        ("N2n8.log", table(), PLACED, ["openmpi-5-2x4"]),
        ("N2n4.log", table(), (*PLACED, "--ppn", "4"),
         "4 ranks are too few for 2 nodes, 4 ranks on one of them"),
        # the job has 8 ranks on 2 nodes, though only communicators of 4 were printed
        ("a.log", IMB_BLOCK.replace("# #processes = 4\n", WAITING), ("--nodes", "2"),
         ["openmpi-5-1x4"]),
        # each filled both nodes: the smaller was taken for a communicator of the larger's
        ("a.log", TWO_JOBS, ("--nodes", "2"), ["openmpi-5-2x2", "openmpi-5-2x4"]),
        ("n2.log", IMB_BLOCK, ("--ppn", "2", "--pattern", "n{nranks}.log"),
         "the job has 4 ranks, but the file's name gives 2"),
    ],
)  # fmt: skip
def test_import_of_layouts_never_guesses(
    tmp_path: Path, imports: Import, name: str, text: str, options: tuple[str, ...],
    expected: list[str] | str,
) -> None:  # fmt: skip
    kind = "imb" if "Benchmarking" in text else "osu"
    imports(put(tmp_path / name, text), "--mpi", "openmpi@5", *options, kind=kind)
    if isinstance(expected, str):
        assert imports.code == 1 and expected in imports.said and not imports.names
    else:
        assert imports.names == [f"{layout}.bench.jsonl" for layout in expected], imports.said


@pytest.mark.parametrize("given", ["openmpi", "openmpi@4", "x=openmpi"])
def test_import_of_versions_in_names_tells_them_apart(
    tmp_path: Path, imports: Import, given: str
) -> None:
    """They were launches of one MPI."""
    for version in ("4.1.4", "4.0.1"):
        log_of(tmp_path / "logs" / f"x-{version}.log", int(version[2]))
    pattern = "{mpi}-{version}.log" if "=" in given else "x-{version}.log"
    words = ["--mpi", given, "--nodes", "1", "--ppn", "4", "--pattern", pattern]
    assert imports(tmp_path / "logs", *words).code == 0, imports.said
    assert imports.names == [f"openmpi-{v}-1x4.bench.jsonl" for v in ("4.0.1", "4.1.4")]


def test_table_of_results_of_several_machines_is_refused(tmp_path: Path, imports: Import) -> None:
    log, made = log_of(tmp_path / "a.log"), []
    for mpi, nodes, cpu in (
        ("openmpi@5", "2", "CPU A"), ("openmpi@5", "4", "CPU B"), ("openmpi@5", "8", "unknown"),
        ("mpich@5", "2", "CPU A"),
    ):  # fmt: skip
        assert imports(log, "--mpi", mpi, "--nodes", nodes, "--ppn", "2", "--cpu", cpu).code == 0
        made.append(str(imports.out / f"{mpi.replace('@', '-')}-{nodes}x2.bench.jsonl"))
    for other, words in ((1, "a table is for one kind of node"), (3, "a table is for one MPI")):
        assert main(["table", "decide", made[0], made[other]]) == 1
        assert words in imports.capsys.readouterr().err
    assert main(["table", "decide", made[0], made[2]]) == 0
