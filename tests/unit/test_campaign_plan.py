"""What a campaign's plan says before anything is measured: cost, JSON, and input without hope."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stretto import cli
from stretto.campaign import plan, run
from stretto.campaign.hosts import Hosts, find_hosts
from stretto.campaign.outlook import hopeless, plan_json
from stretto.campaign.request import make_request
from stretto.errors import StrettoError
from stretto.measure import candidates
from test_measure_runner import FakeMPI, mpi

__all__ = ["mpi"]  # the stand-in of test_measure_runner, as a fixture

VALUES = {"nodes": [2], "ppn": [1], "candidates": ["ring"], "collectives": ["allreduce"]}


@pytest.fixture
def here(mpi: FakeMPI, monkeypatch: pytest.MonkeyPatch) -> FakeMPI:
    """A login node with one MPI, outside of Slurm."""
    monkeypatch.setattr(run, "find_installation", lambda name: mpi)
    monkeypatch.setattr(plan, "shared_launches", lambda *of: {})
    monkeypatch.setattr(candidates, "resolve", lambda names, *of: names)
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    return mpi


def system_of(values: dict[str, object], out: Path, away: bool = False):  # type: ignore[no-untyped-def]
    request = make_request(VALUES | values, out, "here")
    return request, run.system_of(request, None, lambda text: None, False, away)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"launches": 2, "hosts": ["a", "b"]}, "too few for a test: points with fewer than 6"),
        ({"launches": 6, "hosts": ["a", "b"]}, None),
        (
            {"nodes": [1, 4], "ppn": [2]},
            "4 x 2: left out: no hosts were named, and this is not a Slurm job",
        ),
        ({"nodes": [1], "ppn": [2]}, None),
        ({"nodes": [1, 4], "hosts": ["a", "b"]}, "4 x 1: left out: there are only 2 nodes"),
        ({"nodes": [1], "ppn": [1, 2]}, "1 x 1 is left out: one rank does not communicate"),
        ({"launcher": "srun"}, "srun starts ranks inside a Slurm job only"),
        (
            {"launcher": "srun", "nodes": [1, 4], "hosts": ["a", "b"]},
            "4 x 1: left out: there are only 2 nodes",
        ),
        ({"hosts": ["a", "b"], "interpolate": ["8x2"]}, "8 x 2 is outside the measured layouts"),
        ({"nodes": [1], "ppn": [2, 4], "interpolate": ["1x3"]}, None),
        (
            {"hosts": ["a", "b"], "bytes": "8,9,13", "collectives": ["allreduce", "bcast"]},
            "allreduce: not measured at 9, 13 B: not a multiple of the 4 bytes",
        ),
    ],
)
def test_what_nothing_can_come_of_is_said(
    here: FakeMPI, tmp_path: Path, values: dict[str, object], said: str | None
) -> None:
    request, system = system_of(values, tmp_path / "c")
    found = hopeless(request, system)
    assert (said is None and found == []) or any(str(said) in x for x in found), found
    lines = run.plan_lines(request, system)
    assert all(f"warning: {x}" in lines for x in found)


def test_where_there_is_nothing_to_compare_is_said(
    here: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(names: list[str], mpi: object, collective: str, nranks: int, nodes: int) -> list[str]:
        return names if collective == "allreduce" or (collective, nodes) == ("gather", 1) else []

    monkeypatch.setattr(candidates, "resolve", known)
    values = {"collectives": ["allreduce", "gather", "alltoall"], "hosts": ["a", "b"]}
    request, system = system_of(values | {"nodes": [1, 2], "ppn": [2]}, tmp_path / "c")
    why = "the only candidate is native (candidates)"
    assert hopeless(request, system) == [
        f"gather: not measured on 2 x 2: {why}",
        f"alltoall: not measured: {why}",
    ]


def test_a_plan_for_a_job_does_not_count_what_the_login_node_lacks(
    here: FakeMPI, tmp_path: Path
) -> None:
    for launcher in ("srun", "mpirun"):
        request, system = system_of({"nodes": [4], "launcher": launcher}, tmp_path / "c", True)
        assert hopeless(request, system) == []
        assert system.hosts == Hosts((), None)


def test_a_campaign_by_srun_can_be_planned_outside_of_slurm(here: FakeMPI, tmp_path: Path) -> None:
    request = make_request(VALUES | {"launcher": "srun"}, tmp_path / "c", "here")
    assert find_hosts(request, here, lambda text: None, False) == Hosts((), None)
    with pytest.raises(StrettoError, match="needs a Slurm allocation"):
        find_hosts(request, here, lambda text: None, True)


def test_the_plan_as_json(
    here: FakeMPI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["campaign", "plan", "--nodes", "2,4", "--ppn", "1", "--hosts", "a,b", "--launches"]
    words += ["2", "--candidates", "ring", "--collective", "allreduce,allgather", "--bytes"]
    words += ["8,64", "--out", str(tmp_path / "c"), "--json"]
    assert cli.main(words) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    (one,) = found["plan"]
    assert one["mpi"] == "Open MPI 4.1.4" and one["bytes"] == [8, 64]
    assert {x["layout"] for x in one["layouts"]} == {"2x1", "4x1"}
    assert found["expected_s"] == sum(x["expected_s"] for x in one["layouts"])
    assert all(x["candidates"] > 0 and x["starts"] > 0 for x in one["layouts"])
    assert one["nodes"] == 2, "those that are named, of four of the largest layout"
    assert len(one["warnings"]) == 2
    assert "dry run: nothing was measured" in err and not (tmp_path / "c").exists()


def test_a_job_is_submitted_with_its_cost(
    here: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / "c.toml"
    file.write_text('nodes = [2]\nppn = [1]\ncandidates = ["ring"]\ncollectives = ["allreduce"]\n')
    words = ["campaign", "submit", str(file), "--print"]
    assert cli.main(words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("#!/bin/bash") and "2 x 1" in err
    assert re.search(r"expected in all: about [\d.]+ s, [\d.e-]+ node-hours on 2 nodes", err)

    wrong = tmp_path / "wrong.toml"
    wrong.write_text(file.read_text().replace("ring", "bush"))
    assert cli.main(["campaign", "plan", str(wrong), "--hosts", "a,b"]) == 2
    assert f"at: candidates, {wrong}" in capsys.readouterr().err

    def none(name: str | None) -> None:
        raise StrettoError("no MPI was found")

    monkeypatch.setattr(run, "find_installation", none)
    assert cli.main(words) == 0
    assert "the cost is unknown here: no MPI was found" in capsys.readouterr().err


def test_the_plan_counts_sizes_of_each_collective(here: FakeMPI, tmp_path: Path) -> None:
    values = {"nodes": [1], "ppn": [2], "collectives": ["allreduce", "bcast"]}
    for sizes, words in (
        ("8,9,13", "allreduce at 1 size (8 B); bcast at 3 sizes (8 B to 13 B)"),
        ("8K", "allreduce, bcast at 1 size (8 KiB)"),
    ):
        request, system = system_of(values | {"bytes": sizes, "launches": 1}, tmp_path / "c")
        assert f": {words}; up to 1 launch of each" in run.plan_lines(request, system)[0]


def test_a_collective_that_loses_all_its_sizes_is_refused(
    here: FakeMPI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["campaign", "plan", "--nodes", "1", "--collective", "allreduce,bcast"]
    assert cli.main([*words, "--bytes", "9,13", "--out", str(tmp_path / "c")]) == 2
    said = capsys.readouterr().err
    assert "no size can be measured for allreduce" in said and "--bytes" in said
    make_request({"bytes": "9,13"}, tmp_path / "c", "here")  # nobody has named it


def test_shared_cores_are_in_the_plan(here: FakeMPI, tmp_path: Path) -> None:
    for shared in (False, True):
        request, system = system_of({"shared_cores": shared, "hosts": ["a", "b"]}, tmp_path / "c")
        (layout,) = plan_json(request, system)["layouts"]
        assert layout["shared_cores"] is shared
        told = any("only batches of calls are timed" in x for x in run.plan_lines(request, system))
        assert told is shared


def test_a_budget_is_in_the_plan(
    here: FakeMPI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["campaign", "plan", "--nodes", "1", "--ppn", "2", "--candidates", "shm"]
    words += ["--collective", "bcast", "--out", str(tmp_path / "c"), "--json"]
    for budget, short in (("1s", True), ("10h", False)):
        assert cli.main([*words, "--budget", budget]) == 0
        out, err = capsys.readouterr()
        found = json.loads(out)
        assert found["budget_s"] == (1 if short else 36000) and bool(found["warnings"]) is short
        assert "budget of this start: 1" in err and ("budget is shorter" in err) is short


@pytest.mark.parametrize("where", ["a file", "below a file", "/proc"])
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_directory_that_cannot_be_written_is_refused(
    here: FakeMPI, tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, verb: str
) -> None:
    (tmp_path / "f").write_text("")
    out = {"a file": tmp_path / "f", "below a file": tmp_path / "f" / "c"}.get(where, "/proc/c")
    words = ["campaign", verb, "--nodes", "1", "--collective", "bcast", "--out", str(out)]
    assert cli.main(words) == 1
    said = capsys.readouterr().err
    assert "directory cannot be written" in said and f"at: {out}" in said and "--out" in said
    assert "expected in all" not in said


def test_a_campaigns_file_is_no_command_and_no_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ok.toml"
    file.write_text("nodes = [1]\n")
    assert cli.main(["tune", "--", str(file)]) == 2
    assert f"did you mean: stretto campaign run {file}?" in capsys.readouterr().err
    assert cli.main(["campaign", "status", str(file)]) == 2
    assert f"stretto campaign status {tmp_path / 'ok.campaign'}" in capsys.readouterr().err
