"""How a campaign's launches are started: how long one may take, whose cores they have."""

from __future__ import annotations

from pathlib import Path

import pytest

import sweeps
from stretto.campaign import plan, run
from stretto.campaign.backend import BATCH_S, Launches
from stretto.campaign.hosts import Hosts
from stretto.campaign.request import make_request
from stretto.errors import StrettoError
from stretto.files.bench import Header
from stretto.files.bench_writer import BenchWriter
from stretto.measure import candidates, runner
from test_measure_runner import FakeMPI, mpi, settings

HEADER = Header("0", "", sweeps.HOST, sweeps.MPI, ["t"])
__all__ = ["mpi"]  # the stand-in of test_measure_runner, as a fixture


def test_a_launch_has_its_time_by_what_is_left_of_it(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[float] = []
    write = runner.format_job

    def spy(*of: object) -> str:
        budgets.append(float(of[5]))  # type: ignore[arg-type]
        return write(*of)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "format_job", spy)
    backend = Launches(mpi, (), lambda text: None)
    with BenchWriter(tmp_path / "r.bench.jsonl", HEADER) as writer:
        for batches in ((5, 9), (9, 40)):
            s = settings(batches=batches, ppn=2)
            writer.previous.records.clear()
            assert backend.measure(s, 0, writer)
    assert budgets == [4 * BATCH_S * 9, 4 * BATCH_S * 40]  # two candidates at two sizes


def test_who_is_excluded_is_named_once_with_what_a_campaign_can_do(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE", "ring=crash")
    backend = Launches(mpi, (), lambda text: None)
    with BenchWriter(tmp_path / "r.bench.jsonl", HEADER) as writer:
        backend.measure(settings(("native", "ring"), ppn=2), 0, writer)
    (said,) = (x for x in backend.notes if " is excluded" in x)
    assert said.startswith("ring is excluded for allreduce: at 8 B: ")
    assert "a new directory (--out) measures everything again" in said and "--restart" not in said


def test_where_cores_are_shared_only_batches_are_timed(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "find_installation", lambda name: mpi)
    monkeypatch.setattr(run, "find_hosts", lambda *of: Hosts(("a", "b"), "x", cores=1))
    monkeypatch.setattr(plan, "shared_launches", lambda *of: {})
    monkeypatch.setattr("stretto.measure.candidates.resolve", lambda names, *of: names)
    values = {"nodes": [2], "ppn": [1, 2], "candidates": ["ring"], "collectives": ["allreduce"]}
    for shared in (False, True):
        request = make_request(values | {"shared_cores": shared}, tmp_path / "c", "here")
        system = run.system_of(request, None, lambda text: None, False)
        plans = system.plans
        assert "2 x 2: more ranks than cores" in run.plan_lines(request, system)[-1]
        found = {p.layout.name: (p.settings.oversubscribed, p.settings.modes) for p in plans}
        both = ("throughput", "latency")
        assert found["2x1"] == ((True, both[:1]) if shared else (False, both))
        assert found["2x2"] == (True, both[:1])


def test_algorithms_are_not_measured_under_a_file_of_rules(
    mpi: FakeMPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "native:coll_tuned_bcast_algorithm=3,coll_tuned_use_dynamic_rules=1"
    for variable in candidates.RULES_FILES:
        monkeypatch.setenv(variable, "/site/tuning/stretto-openmpi.rules")
        with pytest.raises(StrettoError, match="the name of the wrong algorithm") as error:
            candidates.resolve(["bare", name], mpi, "bcast", 4, 1)
        assert variable in (error.value.remedy or "")
        assert candidates.resolve(["native", "ring"], mpi, "bcast", 4, 1) == ["native", "ring"]
        monkeypatch.delenv(variable)
    assert candidates.resolve(["bare", name], mpi, "bcast", 4, 1) == ["bare", name]
