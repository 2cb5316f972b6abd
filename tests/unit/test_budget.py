"""``--budget`` is kept, with a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stretto.campaign import worker
from stretto.campaign.layout import Layout
from stretto.files.bench import BUDGET_ENDED, Launch, LaunchEnd
from stretto.files.bench_writer import BenchWriter
from stretto.files.verdict import Metric, Run
from stretto.launch.execute import Result
from stretto.measure import process, reader, runner
from stretto.measure.runner import SLACK
from stretto.measure.settings import Settings, make_case
from stretto.tune import measured, session, verify
from stretto.tune.session import PAIRS, Tuning
from sweeps import Fake, request_of, worker_of
from test_measure_runner import FakeMPI, go, mpi, settings

__all__ = ["mpi"]  # the stand-in of test_measure_runner, as a fixture


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (process, reader, runner, session, worker):
        monkeypatch.setattr(module, "time", made)
    return made


def launched(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, start_s: float, longer: float = 1.0
) -> None:
    """Let a launch take `start_s` and its share of the budget, `longer` times as long."""

    def run(command: Any, environ: Any, log: Path, watch: Any, **more: Any) -> process.Ended:
        lines = [x.partition(" ") for x in Path(command[-1]).read_text().splitlines()]
        job = {key: value for key, _, value in lines}
        measuring, began = longer * float(job["budget"]), clock.now
        end = began + start_s + measuring
        while clock.now < end:
            clock.now = min(clock.now + 0.5, end)
            if watch():
                return process.Ended(-15, True, "", clock.now - began)
        launch = {"launch": int(job["launch"])}
        out: list[dict[str, object]] = [{"type": "launch", "nodes": 1, "ppn": 2, **launch}]
        for key, _, value in lines:
            if key == "case":
                case = dict(zip(("collective", "bytes"), value.split(), strict=False))
            elif key == "candidate":
                case |= {"candidate": value, "bytes": int(case["bytes"])}
                out.append(
                    {"type": "sample", **launch, **case, "datatype": "MPI_DOUBLE",
                     "operation": "MPI_SUM", "root": 0, "batch": 9, "mode": "throughput",
                     "times_us": [1.0, 1.1, 1.2], "correct": True}
                )  # fmt: skip
        usage = {"wall_s": measuring, "cpu_s": 1.0, "involuntary": 0, "cores": 2}
        out.append({"type": "usage", **launch, **usage})
        Path(job["output"]).write_text("".join(json.dumps(x) + "\n" for x in out))
        return process.Ended(0, False, "", clock.now - began)

    monkeypatch.setattr(process, "run", run)


def test_bench_with_slow_starts_keeps_the_budget_and_measures_in_all_launches(
    mpi: FakeMPI, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched(clock, monkeypatch, start_s=4.0)
    bench, notes = go(mpi, settings(budget_s=60.0), tmp_path / "r.bench.jsonl")
    assert clock.now - 1000 == pytest.approx(60, abs=1), "what a start takes is learnt"
    assert notes == [] and [e.status for e in bench.ends.values()] == ["ok"] * 6


def test_bench_whose_launch_outlasts_its_share_ends_it_within_the_budget(
    mpi: FakeMPI, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched(clock, monkeypatch, start_s=1.0, longer=20)
    bench, notes = go(mpi, settings(budget_s=60.0, stall_s=600.0), tmp_path / "r.bench.jsonl")
    assert clock.now - 1000 < 60 * (1 + SLACK) + 0.6
    assert [e.detail for e in bench.ends.values()] == [BUDGET_ENDED]
    assert any("the budget ended after 0 of 6 launches" in n for n in notes)


class Slow(Fake):
    """Launches that take `seconds` on a clock; what the budget cuts off brings nothing."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__()
        self.clock, self.seconds = clock, seconds

    def measure(
        self, settings: Settings, launch: int, writer: BenchWriter, stop_at: float | None = None
    ) -> bool:
        assert stop_at is not None
        if self.clock.now + self.seconds > stop_at:
            self.clock.now = stop_at
            self.launches.append(("cut", launch))
            writer.write(Launch(launch, 1, 2, 2, {}, 0.1, settings.variant_of(launch)))
            writer.write(LaunchEnd(launch, "timeout", BUDGET_ENDED))
            return False
        self.clock.now += self.seconds
        return super().measure(settings, launch, writer, stop_at)


@pytest.mark.parametrize(("seconds", "made"), [(10.0, 5), (70.0, 1)])
def test_campaign_keeps_the_budget_and_blames_nobody(
    tmp_path: Path, clock: Clock, seconds: float, made: int
) -> None:
    backend = Slow(clock, seconds)
    small = request_of(tmp_path, layouts=(Layout(1, 2),), collectives=("allreduce",), sizes=(8, 24))
    campaign = worker_of(small, backend, stop_at=clock.now + 59)
    assert not campaign.run()
    assert len(backend.launches) == made and clock.now - 1000 <= 59
    assert not any(s.given_up or s.fruitless for s in campaign.all())
    assert not any(campaign.failed(s) for s in campaign.all())
    assert worker_of(small, Fake()).run(), "another start goes on"


def tuning(clock: Clock, monkeypatch: pytest.MonkeyPatch, budget_s: float) -> Tuning:
    """A session whose command lies in a directory that takes five seconds to copy."""

    @contextmanager
    def fresh(place: object) -> Iterator[Path]:
        clock.now += 5
        yield Path()

    made = Tuning.__new__(Tuning)
    made.o = SimpleNamespace(  # type: ignore[assignment]
        budget_s=budget_s, timeout_s=None, out=Path(), place=None, mpi=None, metric=Metric(),
        pairs=None, seed=1,
    )  # fmt: skip
    made.begin, made.run_s, made.beside_s, made.name = clock.now, 2.0, 0.0, "app"
    monkeypatch.setattr(session, "fresh", fresh)
    monkeypatch.setattr(session, "stamps", lambda *of: {})
    monkeypatch.setattr(session, "case_files", lambda *of: [])
    for name in ("require_unchanged", "run_words", "run_environ", "say", "path"):
        monkeypatch.setattr(Tuning, name, lambda *of, **more: None)
    return made


def test_tune_counts_the_copy_and_ends_a_run_that_outlasts_the_budget(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(words: Any, cwd: Any, *of: Any, **more: Any) -> SimpleNamespace:
        (limit,) = [x for x in of if isinstance(x, float)]
        took = min(limit, takes)
        clock.now += took
        return SimpleNamespace(result=Result(0, took, timed_out=took < takes))

    monkeypatch.setattr(session, "once", once)
    takes, mine = 2.0, tuning(clock, monkeypatch, 12.0)
    assert mine.attempt(Run("native", 0, None, 0.0, 0), None) is not None
    assert mine.whole_s == 7.0, "the copy is a part of the run"
    takes = 90.0
    assert mine.attempt(Run("native", 1, None, 0.0, 0), None) is None
    assert clock.now - 1000 == pytest.approx(12.1), "at least 0.1 s are left to a run"


@pytest.mark.parametrize(("budget_s", "share"), [(360.0, 257.1), (100.0, 35.0), (1.0, 1.0)])
def test_tune_leaves_time_for_six_pairs_of_runs_up_to_a_part_of_the_budget(
    budget_s: float, share: float, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tuning(clock, monkeypatch, budget_s)
    mine.beside_s = 4.345
    found = measured._bench_budget(mine)
    assert found == pytest.approx(share, abs=0.1)
    if budget_s > 300:
        clock.now += found * (1 + SLACK)
        assert verify._affordable(mine) >= PAIRS


@pytest.mark.parametrize(
    ("budget_s", "measuring", "lacks"), [(8.0, 7.2, True), (360.0, 14.8, False)]
)
def test_cost_stays_within_the_budget_and_names_what_is_missing_with_the_runs(
    budget_s: float, measuring: float, lacks: bool, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tuning(clock, monkeypatch, budget_s)
    mine.o.launches, mine.o.restart = None, False
    case = make_case("allreduce", 8, ["native", "shm"])
    settings = Settings(2, (case,), ("own", "bare"), budget_s=measured._bench_budget(mine))
    plan = SimpleNamespace(settings=settings, path=Path("none"))
    monkeypatch.setattr(measured, "planned", lambda *of: [plan])
    seconds, runs = measured.cost_of(mine, SimpleNamespace())  # type: ignore[arg-type]
    assert seconds == pytest.approx(measuring, abs=0.5) and seconds + runs <= budget_s
    text = measured.lacking(mine, SimpleNamespace())  # type: ignore[arg-type]
    assert bool(text) == lacks
    assert not lacks or ("31 s more of --budget (measuring takes about" in text), text
    assert not lacks or ("12 runs of CMD 24 s)" in text), text


@pytest.mark.parametrize("cut", [True, False])
def test_tune_notices_that_the_budget_ended_its_measurements(
    cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = SimpleNamespace(layout=SimpleNamespace(nranks=0), mpi=SimpleNamespace(identity=None))
    asked = SimpleNamespace(restart=False, words=[])
    mine = SimpleNamespace(cut=False, say=lambda _: None, o=asked, job=job)
    settings = SimpleNamespace(budget_s=None)
    plan = SimpleNamespace(layout=(2, 1, 2), settings=settings, path=None, words="", members=())
    notes = [f"{BUDGET_ENDED} after 5 of 6 launches"] if cut else ["shm is excluded"]
    for name, value in {
        "planned": [plan], "time_left": 0.0, "collect": None, "measure": (None, notes),
        "require_layout": None, "timings": {}, "fair": {}, "decisive": [], "calls_of": [],
    }.items():  # fmt: skip
        monkeypatch.setattr(measured, name, lambda *of, value=value, **more: value)
    measured.measure_needs(mine, SimpleNamespace())  # type: ignore[arg-type]
    assert mine.cut == cut


def test_tune_learns_from_runs_that_take_longer_than_the_recorded_one(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tuning(clock, monkeypatch, 60.0)
    monkeypatch.setattr(verify, "_clear_outputs", lambda *of: None)

    def one(kind: Any, number: int) -> Run:
        clock.now += 8
        return Run(kind, number, 8.0, 8.0, 0)

    runs: list[Run] = []
    found, planned = verify._take_turns(mine, runs, one, lambda *of: None)
    assert planned == 20
    assert len(runs) == 7 and clock.now - 1000 <= 60
    assert "the budget ended" in found.why and "more of --budget" in found.missing
