"""Excluded candidates are named, and labels short: what `compare` and `table decide` say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity
from stretto.report.ranking import rank
from stretto.report.ranking_page import figures
from stretto.report.sources import sources
from test_compare import MPICH, OPENMPI, read_bench, results, two

RING = "native:coll_tuned_allgather_algorithm=4,coll_tuned_use_dynamic_rules=1"


def half_wrong(path: Path, wrong: dict[str, int]) -> Path:
    """Write results of which some candidates were wrong at one size each."""
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4")
    head = Header("0", "2026-11-22T00:00:00Z", Host("h", "cpu", 8, "6", 1), mpi, [])
    names = ["bare", RING]
    with BenchWriter(path, head) as writer:
        for launch in range(8):
            writer.write(Launch(launch, 2, 4, 8, {"allgather": list(names)}))
            for i, name in enumerate(names):
                for size in (4, 8):
                    us = (20 - 5 * i) * (1 + 0.001 * ((launch * 3 + i) % 5))
                    writer.write(
                        Sample(
                            launch, "allgather", name, size, "MPI_BYTE", None, 0, "latency", 10,
                            [us], wrong.get(name) != size, "measured",
                        )
                    )  # fmt: skip
            writer.write(LaunchEnd(launch, "ok"))
    return path


def test_where_all_is_excluded_this_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It asked to leave out filters that nobody had given."""
    path = half_wrong(tmp_path / "a.bench.jsonl", {"bare": 4, RING: 8})
    assert main(["compare", str(path)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "bare is excluded for allgather: wrong results at 4 B" in said
    assert "tuned neighbor is excluded" in said or "tuned ring is excluded" in said
    assert "--collective" not in said and "Open MPI 4.1.4" in said
    assert main(["compare", str(path), "--collective", "bcast"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "leave --collective" in said and "wrong results at 4 B" in said


def test_one_that_is_excluded_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = half_wrong(tmp_path / "a.bench.jsonl", {RING: 8})
    assert main(["compare", str(path)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "is excluded for allgather: wrong results at 8 B" in said and "bare is" not in said
    assert main(["compare", str(half_wrong(tmp_path / "b.bench.jsonl", {}))]) == 0
    assert "excluded" not in capsys.readouterr().err


def test_results_that_hold_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = results(tmp_path / "a.bench.jsonl", OPENMPI, {}, launches=1)
    assert main(["compare", str(path)]) == 1
    assert "these files hold no times" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("wrong", [{"bare": 4, RING: 8}, {RING: 8}])
def test_deciding_names_what_is_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: dict[str, int]
) -> None:
    """There was an empty line, and that nothing was faster."""
    path = half_wrong(tmp_path / "a.bench.jsonl", wrong)
    assert main(["table", "decide", str(path)]) == 0
    said = capsys.readouterr()
    assert "is excluded for allgather: wrong results at 8 B" in said.err
    assert ("bare is excluded" in said.err) == ("bare" in wrong)
    assert "nothing was compared" in said.out and "was faster" not in said.out
    assert not said.out.startswith("\n") or len(wrong) == 1
    assert main(["table", "decide", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["excluded"]) == len(wrong)


def test_decisions_are_printed_in_short_and_followed_by_what_can_be_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns were as wide as settings, and the export was to FAMILY."""
    path = half_wrong(tmp_path / "a.bench.jsonl", {})
    assert main(["table", "decide", str(path)]) == 0
    printed = capsys.readouterr().out
    table = printed.partition("faster and - slower")[0]
    assert "tuned " in table and "native:" not in table
    assert f"next: stretto export --to openmpi-4 --out tuning {path}\n" in printed


def test_a_directory_of_results_is_decided_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was to be a file, though export and compare take directories."""
    path = half_wrong(tmp_path / "in" / "a.bench.jsonl", {})
    assert main(["table", "decide", str(path.parent)]) == 0
    assert str(path.with_name("a.table")) in capsys.readouterr().out
    (tmp_path / "none").mkdir()
    assert main(["table", "decide", str(tmp_path / "none")]) == 1
    assert "no bench results in this directory" in capsys.readouterr().err


def test_a_charts_legend_names_what_it_shows(tmp_path: Path) -> None:
    """An MPI that was measured in another collective only stood there, too."""
    own = {("reduce", n): {"bare": 9.0, "shm": 7.0} for n in (8, 16)}
    third = results(tmp_path / "c.bench.jsonl", ("mpich", "mpich", "4.0"), own)
    paths = [*two(tmp_path), third]
    found = rank(sources([(p, read_bench(p)) for p in paths]), {})
    over, dots = figures(found)
    assert MPICH[2] == "5.0.2"
    for figure in [*over, *dots]:
        text = json.dumps(figure.chart.to_dict())
        shown = "MPICH 4.0" in text, "MPICH 5.0.2" in text
        assert shown == (("Reduce" in figure.title), ("Bcast" in figure.title)), figure.title
