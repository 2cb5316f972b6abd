"""Results of ``stretto scale`` drawn again: one, several side by side, layouts at equal cores."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.identity import Host, MPIIdentity
from stretto.files.scale import ScaleHeader, ScaleRun, ScaleWriter
from stretto.files.verdict import Metric
from stretto.launch.resize import RunPoint
from stretto.report.figures import scaling as draw
from stretto.scaling.analyse import Findings, analyse
from stretto.scaling.show import answer, metric_words, number, sentences, table_lines

Points = Mapping[tuple[int, int, int | None], float]
RATE = Metric(r"(\S+) steps", "steps/s", "higher", r"(\S+) steps")
PAIRS: Points = {(1, 6, 1): 52.0, (1, 3, 2): 48.0, (1, 2, 3): 50.5, (1, 1, 6): 71.0}


def runs_of(points: Points, rounds: int = 6, joules: bool = False) -> list[ScaleRun]:
    return [
        ScaleRun(*p, "native", i, v * (1 + 0.002 * i), 1.0, 0, threads_seen=True,
                 energy_j=100.0 * p[1] if joules else None)
        for i in range(rounds) for p, v in points.items()
    ]  # fmt: skip


def write(
    path: Path, runs: list[ScaleRun], version: str = "4.1.4", energy: str = "RAPL", **more: Metric
) -> Path:
    host, mpi = Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", version)
    metric = more.get("metric", Metric())
    header = ScaleHeader("0", "2026-11-28T00:00:00Z", host, mpi, ["mpirun", "./app"], metric)
    header.energy = energy
    path.parent.mkdir(exist_ok=True)
    with ScaleWriter(path, header) as writer:
        for run in runs:
            writer.write(run)
    return path


def found_in(
    runs: list[ScaleRun], metric: Metric | None = None, price: float | None = None
) -> Findings:
    found = analyse(runs, metric or Metric(), price)
    assert found is not None
    return found


def test_systems_are_compared_at_each_common_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    curve: Points = {(1, 128, None): 300.0, (2, 128, None): 160.0, (4, 128, None): 90.0}
    old, few = write(Path("a/w.scale.jsonl"), runs_of(curve)), runs_of(curve, 3)
    scaled = {p: v * 1.18 if p[0] < 4 else v * 1.001 for p, v in curve.items()}
    new = write(Path("b/w.scale.jsonl"), runs_of(scaled | {(8, 128, None): 1.0}), "5.0.5")
    write(Path("c/w.scale.jsonl"), few)
    assert main(["compare", str(old), str(new), "-o", "x.html", "--svg", "s"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("On 512 cores, Open MPI 5.0.5 is as fast as Open MPI 4.1.4.")
    assert re.search(r"2 x 128 +256 +160\.8 +189\.7 \(\+18 %\)", out) and "8 x 128" not in out
    assert "90.54 (same)" in out
    svg = Path("s/scaling-elapsed.svg").read_text()
    assert "Open MPI 4.1.4" in svg and "Open MPI 5.0.5" in svg and "1024" in svg

    # the same MPI: named after the directories; too few runs for a test
    assert main(["report", "a", "c", str(new), "-o", "y.html", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "Open MPI 4.1.4 (c) against Open MPI 4.1.4 (a) is not tested: 3 runs" in told["verdict"]
    page = Path("y.html").read_text()
    assert "(-0.3 %?)" in page and "(+18 %)" in page
    assert main(["report", str(old), "-o", "z.html", "--json"]) == 0
    assert "app is fastest on 4 x 128" in json.loads(capsys.readouterr().out)["verdict"]
    assert Path("z.html").read_text().count("<svg") == 2

    rates = {p: 1 / v for p, v in curve.items()}
    one = write(Path("one.scale.jsonl"), runs_of(rates), metric=RATE)
    two = runs_of({p: v * 0.8 for p, v in rates.items()})
    write(Path("two.scale.jsonl"), two, metric=RATE)
    assert main(["compare", "one.scale.jsonl", "two.scale.jsonl", "--json"]) == 0
    rate = json.loads(capsys.readouterr().out)
    assert rate["answer"] == "On 512 cores, the rate of two is 20 % lower than that of one."
    assert rate["rows"][0]["outcomes"] == ["slower"]
    assert rate["rows"][0]["percent"] == pytest.approx([-20])
    assert main(["compare", str(old), str(one)]) == 1
    assert "different metrics: wall time (no --metric), and --metric" in capsys.readouterr().err


def test_energy_against_cores_has_a_line_for_each_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    curve: Points = {(1, 2, None): 30.0, (1, 4, None): 16.0, (1, 8, None): 9.0}
    old = write(Path("old.scale.jsonl"), runs_of(curve, joules=True))
    new = write(Path("new.scale.jsonl"), runs_of(curve, joules=True), "5.0.5")
    none = write(Path("none.scale.jsonl"), runs_of(curve))
    assert main(["report", str(old), "-o", "o.html", "--svg", "one"]) == 0
    assert main(["report", str(none), "-o", "n.html", "--svg", "none"]) == 0
    assert not Path("none/scaling-energy.svg").exists()
    assert "Energy (J)" in Path("one/scaling-energy.svg").read_text()
    capsys.readouterr()
    assert main(["compare", str(old), str(new), "-o", "x.html", "--svg", "two"]) == 0
    assert "Open MPI 5.0.5: least energy: 1 x 2, native, 200 J a run" in capsys.readouterr().out
    assert "Energy: RAPL." in Path("o.html").read_text()
    assert "cannot be compared" not in Path("x.html").read_text()
    other = write(Path("other.scale.jsonl"), runs_of(curve, joules=True), energy="as printed")
    assert main(["compare", str(old), str(other)]) == 0
    assert "the energies cannot be compared" in capsys.readouterr().out
    svg = Path("two/scaling-energy.svg").read_text()
    assert "Energy of a run against cores" in svg
    assert all(f"{name}, 1 x 8 | 800 J" in svg for name in ("Open MPI 4.1.4", "Open MPI 5.0.5"))
    assert "5.0.5: least energy" in Path("x.html").read_text()


def test_points_with_equal_cores_stand_in_for_common_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write(tmp_path / "one.scale.jsonl", runs_of({(1, 4, None): 9.0, (2, 4, None): 5.0}))
    two = write(tmp_path / "two.scale.jsonl", runs_of({(2, 2, None): 6.0}))
    assert main(["compare", str(one), str(two)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("On 4 cores, two takes 33 % less time than one.")
    assert "1 x 4 / 2 x 2" in out and "the layouts differ" in out


def test_files_of_another_kind_are_named_with_the_command_that_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scale = write(Path("a.scale.jsonl"), runs_of({(1, 2, None): 1.0}))
    Path("b.jsonl").write_text(scale.read_text())
    Path("io").mkdir()
    Path("io/c.io.json").write_text('{"schema": "stretto-io", "version": 1}')
    Path("d.bench.jsonl").write_text("")
    for words, code, told in (
        (["report", "b.jsonl"], 1, "this is a result of stretto scale"),
        (["compare", "b.jsonl"], 1, "this is a result of stretto scale; bench results"),
        (["report", "io"], 1, "stretto report io/c.io.json"),
        (["compare", "a.scale.jsonl"], 2, "stretto report NAME.scale.jsonl"),
        (["compare", "a.scale.jsonl", "d.bench.jsonl"], 2, "stretto scale and others cannot be"),
        (["compare", "a.scale.jsonl", "b.scale.jsonl", "--ppn", "2"], 2, "leave out --collective"),
        (["report", "a.scale.jsonl", "d.bench.jsonl"], 2, "have a page of their own"),
    ):
        assert main(words) == code
        assert told in capsys.readouterr().err
    write(Path("x/a.scale.jsonl"), []), write(Path("x/b.scale.jsonl"), [])
    assert main(["report", "x"]) == 2
    assert (
        "this directory has several results: a.scale.jsonl, b.scale.jsonl"
        in capsys.readouterr().err
    )
    assert main(["report", "x/a.scale.jsonl"]) == 1
    assert "no run in this result succeeded" in capsys.readouterr().err


def test_layouts_at_equal_cores_name_the_best_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = found_in(runs_of(PAIRS, joules=True))
    assert found.layouts == [(6, 1), (3, 2), (2, 3), (1, 6)]
    text = answer(found, "app")
    assert text.startswith("app on 6 cores: the fastest layout is 3 x 2 (ranks x threads); 1 x 6")
    assert "1 x 6 takes 1.48 times as long, 48 % slower (p=" in text
    assert text.endswith("1 x 6 uses the least energy.")
    assert found.reference == RunPoint(1, 3, 2), "the fastest of those with the fewest cores"
    assert "1 x 2 x 3 threads: 5 % slower (p=" in "\n".join(sentences(found, None))
    near = {**PAIRS, (1, 2, 3): 48.1}
    assert "3 x 2 (ranks x threads); 2 x 3 is as fast; 1 x 6 takes" in answer(
        found_in(runs_of(near)), "app"
    )
    few = answer(found_in(runs_of(PAIRS, 3)), "app")
    assert "3 x 2 (ranks x threads) has the best median; 3 runs are too few" in few

    path = write(tmp_path / "p.scale.jsonl", runs_of(PAIRS, joules=True))
    assert main(["report", str(path), "-o", str(tmp_path / "p.html"), "--svg", str(tmp_path)]) == 0
    assert {p.name for p in tmp_path.glob("*.svg")} == {
        "scaling-layouts.svg", "scaling-layouts-energy.svg"
    }  # fmt: skip
    svg = (tmp_path / "scaling-layouts.svg").read_text()
    assert [svg.index(f">{p}<") for p in ("6 x 1", "3 x 2", "2 x 3", "1 x 6")] == sorted(
        svg.index(f">{p}<") for p in ("6 x 1", "3 x 2", "2 x 3", "1 x 6")
    )
    assert ">71.36<" in svg and "71.36" in "\n".join(table_lines(found))


def test_each_number_of_threads_is_a_line() -> None:
    grid = {(1, p, t): 100.0 / p / t for p in (1, 2) for t in (1, 2, 3)}
    found = found_in(runs_of(grid))
    assert not found.layouts
    lines = {s.name: [m.point.cores for m in s.points] for s in draw.series_of(found)}
    assert lines == {
        "1 thread per rank": [1, 2], "2 threads per rank": [2, 4], "3 threads per rank": [3, 6]
    }  # fmt: skip
    pairs = {(n, p, t): v / n for n in (1, 2) for (_, p, t), v in PAIRS.items()}
    found = found_in(runs_of(pairs))
    assert len(found.layouts) == 4 and len(draw.series_of(found)) == 4
    assert [s.name for s in draw.series_of(found, by_nodes=True)] == ["1 node", "2 nodes"]


def test_a_rate_has_one_ratio_everywhere() -> None:
    # of an even number of runs, the median of 1/x is not 1 / the median of x
    values = {1: [160000.0, 150000.0, 170000.0, 162000.0], 2: [5000.0, 30000.0, 10000.0, 20000.0]}
    runs = [
        ScaleRun(1, ppn, None, "native", i, v[i % 4], 1.0, 0)
        for i in range(12) for ppn, v in values.items()
    ]  # fmt: skip
    found = found_in(runs, RATE)
    assert found.points[1].speedup == pytest.approx(15000 / 161000)
    text = "\n".join(sentences(found, None))
    assert "more cores make it slower: the rate of 1 x 2 is 91 % lower (p=" in text
    assert "times as long" not in text
    table = table_lines(found)
    assert "rate (steps/s, higher is better)" in table[0] and r"\S" not in table[0]
    assert "161000" in table[1] and " 15000 " in table[2] and "0.09" in table[2]
    assert [number(v) for v in (0.1234567, 9999.6, 53284.2, 162756)] == [
        "0.1235", "10000", "53284", "162756"
    ]  # fmt: skip
    named = Metric(r"steps/s: (\S+)", "steps/s", "higher", r"steps/s: (\S+)")
    found = found_in(runs, named)
    assert metric_words(named) == "steps/s (higher is better)"
    (base, _) = found.points
    figure = draw.elapsed(draw.series_of(found), named, base)
    assert figure is not None and "Steps/s (steps/s)" not in str(figure.chart.to_dict())
