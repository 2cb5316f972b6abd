"""What the report reads: good files, bad files, and files that do not belong together."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from report_samples import make
from results import write_results
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.bench import Sample
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.report.load import kind_of, load

FILES = ("app.profile.json", "app.bench.jsonl", "app.table", "app.verdict.json")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make.make(tmp_path_factory.mktemp("files") / "small")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make.make(tmp_path_factory.mktemp("files") / "cluster", "cluster")


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    target = tmp_path / "copy"
    target.mkdir()
    for name in FILES:
        (target / name).write_bytes((small / name).read_bytes())
    return target


@pytest.mark.parametrize(
    ("name", "make_it", "words", "place"),
    [
        ("second.bench.jsonl", lambda path: make.bench(make.CASES["other"], path),
         "different MPIs: openmpi 4.1.4 and mpich 5.0.0", "second.bench.jsonl"),
        ("app.profile.json", lambda path: make.profile(make.CASES["cluster"], path),
         "the profile is of 8 x 8 (nodes x ranks per node), but the measurements are for 1 x 2",
         "app.profile.json"),
        ("second.profile.json", lambda path: make.profile(make.CASES["small"], path),
         "two profile files", "second.profile.json"),
    ],
)  # fmt: skip
def test_files_that_do_not_belong_together_are_refused(
    copy: Path, name: str, make_it: Callable[[Path], object], words: str, place: str
) -> None:
    make_it(copy / name)
    with pytest.raises(StrettoError) as error:
        load([copy])
    assert words in error.value.message and place in str(error.value.place)


def test_a_directory_is_one_system(small: Path) -> None:
    (system,) = load([small])
    assert system.name == "small"
    assert system.layout == RankLayout(1, 2, 2)
    assert system.simulated
    collectives = [p.collective for p in system.panels]
    assert collectives == ["allreduce", "barrier", "bcast", "reduce"]
    allreduce = system.panels[0]
    assert allreduce.chosen[8] == "shm"
    gain = allreduce.gain(8)
    assert gain is not None and 2 < gain < 3.5
    assert allreduce.candidates[0] == "native"


def test_charts_over_processes_are_one_a_collective_with_three_sizes(
    small: Path, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    charts = tmp_path / "charts"
    assert main(["report", str(cluster), "--processes", str(charts), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (system,) = load([cluster])
    names = {p.stem for p in charts.iterdir()}
    assert {f"processes-{p.kind}" for p in system.panels} >= names == set(result["figures"])
    text = (charts / "processes-allreduce-latency-double-sum.svg").read_text()
    assert "source: simulated" in text and "Stretto" in text
    assert text.count("MPI_Allreduce of") >= 3
    assert main(["report", str(small), "--processes", str(charts)]) == 1
    assert "two numbers of ranks" in capsys.readouterr().err
    assert main(["report", str(small), "--processes", str(charts), "-o", "x.html"]) == 2


RING = "native:coll_tuned_bcast_algorithm=3"


def layouts(
    directory: Path, names: dict[str, float], host: str, version: str = "4.1.4",
    nodes: tuple[int, ...] = (2, 8), collective: str = "bcast",
) -> Path:  # fmt: skip
    """Results of two sizes on several numbers of nodes, with each candidate's us a node."""
    directory.mkdir()
    for n in nodes:
        samples = [
            Sample(0, collective, name, size, "MPI_BYTE", None, 0, "latency", 1, [n * us], True)
            for name, us in names.items()
            for size in (8, 1024)
        ]
        mpi = MPIIdentity("openmpi", "openmpi", version)
        path = directory / f"n{n}.bench.jsonl"
        write_results(path, samples, mpi, n, 1, host, node_cpu=f"CPU of {host}")
    return directory


def test_report_of_imported_results_marks_the_default_of_the_mpi(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = layouts(tmp_path / "in", {"bare": 20.0, RING: 10.0}, "unknown")
    charts, page = tmp_path / "charts", tmp_path / "r.html"
    assert main(["report", str(given), "--processes", str(charts), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == ["processes-bcast-latency-byte"]
    text = (charts / "processes-bcast-latency-byte.svg").read_text()
    assert "MPI_Bcast of 8 B" in text and "default of the MPI" in text and "native" not in text
    assert "Open MPI 4.1.4" in text and "unknown" not in text
    assert main(["report", str(given), "-o", str(page), "--svg", str(charts)]) == 0
    names = {p.name for p in charts.iterdir()}
    assert {f"{kind}-bcast-8x1-latency-byte.svg" for kind in ("latency", "relative")} < names
    for path in charts.iterdir():
        text = path.read_text()
        assert "bare" not in text and "default of the MPI" in text, path
        assert "#d0500a" in text, "the colour of native"
        fastest = "#0067a8" in text
        assert fastest == path.name.startswith(("latency", "relative", "bars")), path
    assert "default of the MPI (squares)" in page.read_text()
    capsys.readouterr()
    assert main(["table", "decide", str(given), "-o", str(tmp_path / "x.table")]) == 0
    printed = capsys.readouterr().out
    assert "bare" not in printed and "slower than default: significant" in printed


def test_charts_over_processes_of_two_directories_name_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = layouts(tmp_path / "a", {"native": 20.0, "shm": 10.0}, "vm")
    b = layouts(tmp_path / "b", {"bare": 30.0, "shm": 9.0}, "other", "5.0.11", (2, 4))
    c = layouts(tmp_path / "c", {"native": 30.0}, "vm", collective="reduce")
    charts = tmp_path / "charts"
    assert main(["report", str(a), str(b), "--processes", str(charts)]) == 0
    text = (charts / "processes-bcast-latency-byte.svg").read_text()
    for label in ("a, native", "a, Stretto, fastest", "b, default of the MPI", "b, Stretto"):
        assert f">{label}" in text
    for words in ("a: Open MPI 4.1.4 on vm, CPU of vm", "b: Open MPI 5.0.11 on other, CPU of oth"):
        assert words in text
    heads = re.findall(r'translate\(0,(-[0-9.]+)\)"[^>]*>MPI_Bcast of (?:8 B|1 KiB)<', text)
    assert len(heads) == 2 and len(set(heads)) == 1, "titles of all panels are at one height"
    assert main(["report", str(a), str(c), "--processes", str(charts)]) == 0
    text = (charts / "processes-bcast-latency-byte.svg").read_text()
    assert "c: Open MPI 4.1.4 on vm (not measured)" in text
    assert "c: Open MPI" in (charts / "processes-reduce-latency-byte.svg").read_text()
    capsys.readouterr()
    (tmp_path / "d").mkdir()
    third = layouts(tmp_path / "d" / "a", {"native": 25.0, "shm": 20.0}, "third", "5.0.11")
    assert main(["report", str(a), str(b), str(third), "--processes", str(charts)]) == 0
    assert "differences between them were not tested" in capsys.readouterr().err
    text = (charts / "processes-bcast-latency-byte.svg").read_text()
    assert all(hue in text for hue in ("#0067a8", "#96407f")), "each machine has a colour"
    assert f"{third}: Open MPI 5.0.11 on third, CPU of third" in text
    assert main(["report", str(a), str(b), str(third), "-o", str(tmp_path / "x.html")]) == 2
    assert "with --processes up to 4" in capsys.readouterr().err
    (tmp_path / "all").mkdir()
    for name, us in (("x", 10.0), ("y", 11.0), ("z", 12.0)):
        layouts(tmp_path / "all" / name, {"native": 20.0, "shm": us}, name)
    assert main(["report", str(tmp_path / "all"), "--processes", str(charts)]) == 0
    assert "1 chart of x, y, z" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "all"), "-o", str(tmp_path / "x.html")]) == 1


def test_the_medians_are_those_of_the_samples(small: Path) -> None:
    (system,) = load([small])
    medians = []
    for line in (small / "app.bench.jsonl").read_text().splitlines()[1:]:
        r = json.loads(line)
        if r["type"] == "sample" and (r["collective"], r["candidate"], r["bytes"]) == (
            "bcast",
            "knomial(4)",
            4096,
        ):
            times = sorted(r["times_us"])
            medians.append((times[5] + times[6]) / 2)
    medians.sort()
    assert len(medians) == 6
    bcast = next(p for p in system.panels if p.collective == "bcast")
    point = bcast.point("knomial(4)", 4096)
    assert point is not None
    assert point.estimate.median == pytest.approx((medians[2] + medians[3]) / 2)
    assert (point.estimate.low, point.estimate.high) == (medians[0], medians[-1])


def test_ratios_are_taken_launch_by_launch(copy: Path) -> None:
    path = copy / "app.bench.jsonl"
    lines = path.read_text().splitlines()
    for i, line in enumerate(lines[1:], start=1):
        record = json.loads(line)
        if record["type"] == "sample" and record["collective"] == "bcast":
            factor = 1.0 + record["launch"]
            steady = {"native": 10.0, "shm": 5.0}.get(record["candidate"], 20.0)
            record["times_us"] = [steady * factor] * 3
            lines[i] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n")
    (system,) = load([copy])
    point = next(p for p in system.panels if p.collective == "bcast").point("shm", 4096)
    assert point is not None and point.relative is not None
    assert (point.relative.low, point.relative.median, point.relative.high) == (0.5, 0.5, 0.5)
    assert point.estimate.high > 5 * point.estimate.low


def test_single_files_of_any_name(small: Path, tmp_path: Path) -> None:
    for name in FILES:
        renamed = tmp_path / f"x-{name.split('.')[1]}"
        renamed.write_bytes((small / name).read_bytes())
        assert kind_of(renamed) == name.split(".")[1]
        (system,) = load([renamed])
        assert [f.kind for f in system.files] == [name.split(".")[1]]


def test_failures_and_layouts_of_a_cluster(cluster: Path) -> None:
    (system,) = load([cluster])
    assert system.layout == RankLayout(8, 8, 64)
    assert {p.layout.nranks for p in system.panels} == {8, 16, 32, 64}
    failed = {p.layout: p.failed for p in system.panels if p.collective == "allreduce"}
    assert failed[RankLayout(8, 8, 64)] == {"lanes(2)+ring": "gave no time"}
    assert failed[RankLayout(1, 8, 8)] == {}
    assert any("ran out of time" in n for n in system.notes)


def test_two_directories_of_one_name_are_told_apart(small: Path, tmp_path: Path) -> None:
    other = make.make(tmp_path / "small")
    assert len({s.name for s in load([small, other])}) == 2


def test_two_directories_below_are_compared_with_all_their_files(
    small: Path, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "both"
    for one in (small, cluster):
        shutil.copytree(one, both / one.name)
    ft, heat = load([both])
    assert [s.name for s in (ft, heat)] == ["cluster", "small"]
    assert all(s.profile and s.tables and s.verdict for s in (ft, heat))
    unlike = tmp_path / "unlike"
    unlike.mkdir()
    layouts(unlike / "a", {"native": 1.0}, "vm")
    layouts(unlike / "b", {"native": 1.0}, "vm", collective="reduce")
    page = tmp_path / "r.html"
    assert main(["report", str(unlike), "-o", str(page), "--json"]) == 0
    where = "on 2 nodes × 1 rank, 8 nodes × 1 rank (Open MPI 4.1.4 on vm)"
    assert json.loads(capsys.readouterr().out)["verdict"] == (
        f"a and b have no measured point in common. a: bcast {where}; b: reduce {where}."
    )
    assert f"stretto report {os.path.relpath(unlike / 'b')}<" in page.read_text()
    layouts(unlike / "c", {"native": 1.0}, "vm")
    assert main(["report", str(unlike), "-o", str(page)]) == 1
    assert "results in 3 directories below" in capsys.readouterr().err


@pytest.mark.parametrize("name", FILES)
def test_truncated_files_are_refused_with_their_name(copy: Path, name: str) -> None:
    path = copy / name
    data = path.read_bytes()
    for cut in (0, 1, 30, len(data) // 2):
        path.write_bytes(data[:cut])
        if name.endswith("bench.jsonl") and cut == len(data) // 2:
            (system,) = load([path])  # a half-written last line is the trace of a kill
            assert any("cut off" in n for n in system.notes)
            continue
        with pytest.raises(StrettoError) as error:
            load([copy])
        assert name in str(error.value.place)


def test_foreign_files(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"\x7fELF\x02\x01", b"{}", b"[1, 2]"):
        path = tmp_path / "foreign.dat"
        path.write_bytes(content)
        with pytest.raises(StrettoError, match="not a file of Stretto"):
            load([path])
    foreign = tmp_path / "foreign.profile.json"
    foreign.write_text('{"schema": "other-tool", "version": 1}')
    with pytest.raises(StrettoError, match="other-tool"):
        load([foreign])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["report"], 2, "PATH"),
        (["report", "/no/such/place"], 1, "no such file or directory"),
        (["report", "{empty}"], 1, "no files of Stretto"),
        (["report", "{small}", "{small}", "{small}"], 2, "3 directories"),
        (["report", "{small}", "{small}/app.table"], 2, "cannot be mixed"),
        (["report", "{small}", "-o", "/proc/report.html"], 1, "cannot write"),
        (["report", "{small}", "--picture", "{empty}/x.gif"], 1, "a picture is written as .svg"),
        (["report", "{small}", "--picture", "{empty}/x.svg", "-o", "y.html"], 2, "--picture"),
        (
            ["report", "{small}", "{cluster}", "--picture", "{empty}/x.svg"],
            2,
            "shows only one system",
        ),
    ],
)
def test_the_command_line_explains_itself(
    arguments: list[str],
    code: int,
    words: str,
    small: Path,
    cluster: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words_given = [a.format(small=small, cluster=cluster, empty=tmp_path) for a in arguments]
    assert main(words_given) == code
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_failed_report_keeps_the_old_page(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    (copy / "app.table").write_text("stretto-table 1\n")
    assert main(["report", str(copy), "-o", str(page)]) == 1
    assert page.read_text() == "old"
    assert "app.table" in capsys.readouterr().err


def test_results_count_once_however_often_they_are_named(copy: Path) -> None:
    bench = copy / "app.bench.jsonl"
    (once,) = load([bench])
    (copy / "app (copy).bench.jsonl").write_bytes(bench.read_bytes())
    for given in ([bench, bench.parent / ".." / copy.name / bench.name], [bench, bench], [copy]):
        (again,) = load(given)
        assert [p.points for p in again.panels] == [p.points for p in once.panels]
    assert any("is a copy of" in note for note in again.notes)
    (profile,) = load([copy / "app.profile.json"] * 2)
    assert profile.profile is not None


def test_table_with_a_choice_that_run_refuses_is_refused(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = copy.glob("*.table")
    text = path.read_text()
    path.write_text(text.replace(" shm ", " no_such ", 1))
    assert path.read_text() != text
    for words in (["report", str(path)], ["run", "--table", str(path), "--", "mpirun", "true"]):
        assert main(words) == 1
        err = capsys.readouterr().err
        assert "no_such" in err and f"at: {path}:" in err, (words, err)
