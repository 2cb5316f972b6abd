"""Nonblocking and persistent calls: options, header, and never in one table or line with others."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from exports import FIVE, FOUR, result_file
from stretto.cli import main
from stretto.errors import StrettoError, UsageError
from stretto.files.bench import BLOCKING, read_bench
from stretto.files.layout import RankLayout
from stretto.kinds import Family
from stretto.measure.baseline import fair
from stretto.measure.calls import beside_bare, check_calls
from stretto.measure.commandline import command_line
from stretto.measure.compare import timings
from stretto.measure.job import format_job
from stretto.measure.ledger import check_same
from stretto.measure.settings import Settings, make_case, variants_of
from stretto.measure.show import osu_lines, table_lines
from stretto.mpi.openmpi import OpenMPI

TIMES = {"native": 60.0, "bare": 50.0, "shm": 55.0}


def results(path: Path, calls: str, layout: RankLayout = FIVE) -> Path:
    """As `stretto bench --calls` writes them; `native` is slowed by its thread level."""
    path.parent.mkdir(exist_ok=True)
    cells = {(c, size): TIMES for c in ("alltoallv", "bcast") for size in (64, 1024)}
    result_file(path, cells, layout)
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    head = json.loads(first)
    head["settings"] = {**head["settings"], "calls": calls}
    path.write_text(json.dumps(head) + "\n" + rest, encoding="utf-8")
    assert read_bench(path).header.calls == calls
    return path


def settings(**more: object) -> Settings:
    cases = tuple(beside_bare([make_case("alltoallv", 64, ["native", "shm"])]))
    values = {"nranks": 2, "cases": cases, "variants": variants_of(cases)}
    return Settings(**(values | more))  # type: ignore[arg-type]


@pytest.mark.parametrize("calls", ["nonblocking", "persistent"])
def test_settings_reach_job_ranks_and_header(
    calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stretto-bench-openmpi", "libstretto-openmpi.so", "libstretto-openmpi5.so"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    mine, mpi = (
        settings(calls=calls),
        OpenMPI("openmpi", "openmpi", "5.0.1", "", tmp_path, None, None),
    )
    assert mine.variants == ("stretto", "bare")
    text = format_job(mine, 0, mine.cases, Path("o"), Path("s"), 0)
    assert f"\ncalls {calls}\n" in text and "\ncandidate bare\n" in text
    given: dict[str, str] = {}

    def start(program: list[str], variables: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        given.clear()
        given.update(variables)
        return program, {}

    for launch, variant in enumerate(mine.variants):
        command_line(mine, mpi, launch, tmp_path / "job", start)
        asked = {"STRETTO_NONBLOCKING": "calls"} if variant == "stretto" else {}
        assert {n: v for n, v in given.items() if "NONBLOCKING" in n} == asked
        assert given.get("LD_PRELOAD", "openmpi5").count("openmpi5") == 1
    assert mine.record()["calls"] == calls and settings().record()["calls"] == BLOCKING
    old = read_bench(results(tmp_path / "old.bench.jsonl", BLOCKING))
    with pytest.raises(StrettoError, match=f"calls blocking, and now it is {calls}"):
        check_same(mine, old, tmp_path)


def test_what_cannot_be_measured_is_refused_by_its_option(tmp_path: Path) -> None:
    def mpi(family: Family, version: str, exported: bytes) -> OpenMPI:
        library = tmp_path / "libmpi.so"
        library.write_bytes(b"\0" + exported + b"\0")
        return OpenMPI(family, "openmpi", version, "", tmp_path, library, None)

    four, five = b"MPIX_Allreduce_init", b"MPI_Allreduce_init"
    check_calls("blocking", mpi("intel", "2021.18", five), None, True)
    check_calls("nonblocking", mpi("openmpi", "4.1.4", four), None, True)
    check_calls("persistent", mpi("openmpi", "5.0.1", five), ["shm"], False)
    check_calls("persistent", mpi("intel", "2021.18", five), ["bare", "native:A=1"], False)
    for calls, family, exported, candidates, cold, at, words in (
        ("eager", "openmpi", five, None, False, "--calls", "use blocking, nonblocking, persistent"),
        ("persistent", "openmpi", four, None, False, "--calls", "Open MPI 5, MPICH 4 or later"),
        ("persistent", "openmpi", five, None, True, "--cold", "leave out --cold"),
        ("nonblocking", "intel", five, None, False, "--candidates", "--candidates bare"),
        ("persistent", "intel", five, ["bare", "shm"], False, "--candidates", "bare"),
    ):
        with pytest.raises(UsageError) as caught:
            check_calls(calls, mpi(family, "1", exported), candidates, cold)  # type: ignore[arg-type]
        assert (caught.value.place, words in str(caught.value.remedy)) == (at, True)


def test_the_mpi_alone_is_the_baseline(tmp_path: Path) -> None:
    """Native runs with the thread level that Stretto needs: to beat it is no gain."""
    bench = read_bench(results(tmp_path / "a.bench.jsonl", "persistent"))
    found = fair(timings(bench), bare=True)
    assert {c.candidate for c in found} == {"shm"}
    assert {(c.baseline, c.outcome) for c in found} == {("bare", "slower")}
    assert {c.baseline for c in fair(timings(bench))} == {"native"}
    text = "\n".join(table_lines(timings(bench), found))
    assert "slower than bare" in text and "time of bare" in text and "native" in text
    assert ": shm, persistent calls, 5 ranks" in "\n".join(osu_lines(bench))


def test_no_table_export_or_model_is_made_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = str(results(tmp_path / "a.bench.jsonl", "persistent")), tmp_path / "out"
    for words in (
        ["table", "decide", path, "-o", str(out)],
        ["export", "--to", "openmpi-5", "--out", str(out), path],
        ["platform", "fit", "mine", f"node_bcast={path}:shm", "-o", str(out)],
    ):
        assert main(words) == 1, words
        err = capsys.readouterr().err
        assert "these results are of persistent calls; blocking calls are needed" in err
        assert not out.exists()


def test_pages_name_the_calls_and_never_mix_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        str(results(tmp_path / calls / f"{layout.nranks}.bench.jsonl", calls, layout))
        for calls in (BLOCKING, "persistent")
        for layout in (FOUR, FIVE)
    ]
    assert main(["report", "-o", str(tmp_path / "a.html"), *files]) == 1
    assert "of persistent calls, those of" in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists()
    charts = {}
    for name, words in {
        "one": ["report", str(tmp_path / "persistent")],
        "two": ["report", str(tmp_path / BLOCKING), str(tmp_path / "persistent")],
        "compare": ["compare", *files],
    }.items():
        page, svg = tmp_path / f"{name}.html", tmp_path / name
        assert main([*words, "-o", str(page), "--svg", str(svg)]) == 0
        assert re.search(r"Open MPI 5\.0\.11, persistent\s+calls", page.read_text(encoding="utf-8"))
        charts[name] = {p.name: p.read_text(encoding="utf-8") for p in svg.iterdir()}
        assert charts[name], name
    assert all("persistent calls" in text for text in charts["one"].values())
    assert any(": persistent calls" in text for text in charts["two"].values())
    over_ranks = [text for n, text in charts["compare"].items() if n.startswith("ranks-")]
    assert over_ranks
    # the default of the MPI, once for each kind: two lines over ranks
    assert all(text.count("persistent calls") > 0 for text in over_ranks)
    directories = [str(tmp_path / d) for d in (BLOCKING, "persistent")]
    assert main(["report", *directories, "--processes", str(tmp_path / "p")]) == 0
    for chart in (tmp_path / "p").iterdir():
        text = chart.read_text(encoding="utf-8")
        assert "persistent: Open MPI 5.0.11, persistent calls" in text
        assert "persistent, default of the MPI" in text and "blocking, native" in text


def test_native_of_such_results_is_not_drawn(tmp_path: Path) -> None:
    from stretto.report.points import panels_of

    bench = read_bench(results(tmp_path / "a.bench.jsonl", "nonblocking"))
    (panel, _) = panels_of([bench])
    assert panel.failed == {} and panel.setting.endswith(", nonblocking calls")
    (found,) = (p for p in panel.at(64) if p.candidate == "native")
    assert found.shown == "default of the MPI" and found.estimate.median < 55
    blocking = dataclasses.replace(
        bench, header=dataclasses.replace(bench.header, settings={"calls": BLOCKING})
    )
    (panel, _) = panels_of([blocking])
    assert {p.name for p in panel.at(64)} == {"native", "bare", "shm"} and not panel.calls
