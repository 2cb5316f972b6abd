"""Excluded candidates are named, and labels short: what `compare` and `table decide` say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results import write_results
from stretto.cli import main
from stretto.files.bench import Sample

RING = "native:coll_tuned_allgather_algorithm=4,coll_tuned_use_dynamic_rules=1"


def half_wrong(path: Path, wrong: dict[str, int]) -> Path:
    """Write results of which some candidates were wrong at one size each."""
    samples = [
        Sample(launch, "allgather", name, size, "MPI_BYTE", None, 0, "latency", 10,
               [(20 - 5 * i) * (1 + 0.001 * ((launch * 3 + i) % 5))], wrong.get(name) != size)
        for launch in range(8)
        for i, name in enumerate(("bare", RING))
        for size in (4, 8)
    ]  # fmt: skip
    return write_results(path, samples)


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
    assert "leave out --collective" in said and "wrong results at 4 B" in said


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
    table = printed.partition("+ faster, - slower")[0]
    assert "tuned " in table and "native:" not in table
    assert f"next: stretto export --to openmpi-4 --out tuning {path}\n" in printed


def test_deciding_natives_alone_says_that_none_of_stretto_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that none was significantly faster."""
    path = half_wrong(tmp_path / "a.bench.jsonl", {})
    assert main(["table", "decide", str(path)]) == 0
    said = capsys.readouterr().out
    assert "no algorithm of Stretto was measured: the table has no row" in said
    assert "significantly faster" not in said and "inconclusive at" not in said
