"""That nothing was faster is said of points where a test could be made, and of no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exports import FIVE, FOUR, result_file, tuned
from stretto.cli import main
from stretto.export.rules import read_results
from stretto.files.layout import RankLayout

Out = pytest.CaptureFixture[str]
RING = "native:" + ",".join(f"{n}={v}" for n, v in tuned("allreduce", 4))
NOTHING = "significantly faster than native"
SLOW, FAST = ({("allreduce", 8): {"bare": 50.0, RING: us}} for us in (50.0, 20.0))


def export(*paths: Path, out: Path) -> int:
    return main(["export", "--to", "openmpi-5", "--out", str(out), *map(str, paths)])


def test_of_some_points_a_test_is_made_and_of_others_not(tmp_path: Path, capsys: Out) -> None:
    paths = [
        result_file(tmp_path / "5.bench.jsonl", SLOW, FIVE),
        result_file(tmp_path / "4.bench.jsonl", FAST, FOUR, launches=3),
        result_file(tmp_path / "3.bench.jsonl", FAST, RankLayout(1, 3, 3), launches=5),
    ]
    assert export(*paths, out=tmp_path / "out") == 0
    said = capsys.readouterr().err
    few = "at most 5 launches, too few for a test (at least 6) at 2 of 3 points: no algorithm can"
    assert f"{few} count as faster there" in said
    assert f"nothing was {NOTHING} at the 1 point where a test can be made" in said
    more = result_file(tmp_path / "2.bench.jsonl", FAST, RankLayout(1, 2, 2))
    assert export(*paths, more, out=tmp_path / "out") == 0
    said = capsys.readouterr()
    assert "at 2 of 4 points" in said.err and NOTHING not in said.err and "1 rule in" in said.out


def test_imported_results_do_not_go_on(tmp_path: Path, capsys: Out) -> None:
    path = result_file(tmp_path / "r.bench.jsonl", SLOW, launches=3)
    head, _, rest = path.read_text().partition("\n")
    value = json.loads(head)
    value["settings"] = {"imported": {}}
    path.write_text(f"{json.dumps(value)}\n{rest}")
    assert export(path, out=tmp_path / "out") == 0
    assert "; measure 6 or more, and import all of them together" in capsys.readouterr().err


def test_what_a_campaign_gave_up_early_was_tested(tmp_path: Path) -> None:
    """It lost; the MPI by itself has the launches."""
    path = result_file(tmp_path / "r.bench.jsonl", SLOW)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["settings"] = {"node_cpu": None, "variants": ["bare"]}
    kept = [x for x in lines if x.get("candidate") != RING or x["launch"] < 2]
    for settings, tested in (({"node_cpu": None}, True), ({}, False)):
        lines[0]["settings"] = {"variants": ["bare"], **settings}
        path.write_text("".join(json.dumps(x) + "\n" for x in kept))
        (point,) = read_results([path]).rules().points
        assert (point.tested, point.launches) == (tested, 2)
