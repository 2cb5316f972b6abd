"""Strong scaling: the command resized, runs interleaved and kept, and what follows from them."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import answering
from stretto.cli import main
from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.program import take
from stretto.files.scale import (
    ScaleFile,
    ScaleHeader,
    ScaleRun,
    ScaleWriter,
    parse_scale,
    read_scale,
)
from stretto.files.verdict import Metric
from stretto.launch.command import parse_command
from stretto.launch.execute import Result
from stretto.launch.layout import find_layout
from stretto.launch.resize import RunPoint, resize
from stretto.measure.settings import parse_counts
from stretto.report import scaling_page
from stretto.report.page import PageFiles
from stretto.scaling.measure import Measuring, Step, Tuned, Wanted, of_table, steps
from stretto.scaling.points import _fitting, points_of
from stretto.scaling.show import as_json, sentences
from stretto.tune.place import Place
from stretto.tune.trials import find_value, make_metric
from test_scaling_compare import found_in

machine = pytest.fixture(answering.machine)


@pytest.mark.parametrize(
    ("kind", "line", "point", "expected"),
    [
        ("openmpi4", "mpirun -n 8 ./app -n 9", RunPoint(1, 2), "mpirun -n 2 ./app -n 9"),
        ("openmpi4", "mpirun ./app", RunPoint(1, 2), "mpirun -n 2 ./app"),
        (
            "openmpi4", "mpirun --np=8 --bind-to none ./app", RunPoint(1, 2),
            "mpirun --np=2 --bind-to none ./app",
        ),
        (
            "openmpi4", "mpirun -H a:4,b:4 -n 8 ./app", RunPoint(2, 2),
            "mpirun --map-by ppr:2:node -H a:4,b:4 -n 4 ./app",
        ),
        (
            "openmpi4", "mpirun -H a:4,b:4 -n 8 ./app", RunPoint(1, 2),
            "mpirun --map-by ppr:2:node -H a:4,b:4 -n 2 ./app",
        ),
        (
            "openmpi4", "mpirun --map-by ppr:4:node:OVERSUBSCRIBE -n 8 ./app", RunPoint(2, 2),
            "mpirun --map-by ppr:2:node:OVERSUBSCRIBE -n 4 ./app",
        ),
        ("openmpi4", "mpirun -N 4 -n 8 ./app", RunPoint(2, 2), "mpirun -N 2 -n 4 ./app"),
        (
            "openmpi4", "mpirun -n 8 ./app", RunPoint(1, 2, 4),
            "mpirun --map-by ppr:2:node:pe=4 -n 2 ./app",
        ),
        ("openmpi4", "mpirun -n 8 ./app", RunPoint(1, 8, 4), "mpirun --bind-to none -n 8 ./app"),
        (
            "openmpi4", "mpirun --bind-to core -n 8 ./app", RunPoint(1, 2, 4),
            "mpirun --bind-to core -n 2 ./app",
        ),
        (
            "openmpi4", "env A=B mpirun --map-by socket:PE=2 -n 8 ./app", RunPoint(1, 2, 4),
            "env A=B mpirun --map-by ppr:2:node:pe=4 -n 2 ./app",
        ),
        (
            "mpich", "mpiexec.hydra -hosts a,b -ppn 4 -n 8 ./app", RunPoint(2, 2),
            "mpiexec.hydra -hosts a,b -ppn 2 -n 4 ./app",
        ),
        ("mpich", "mpiexec.hydra -n 8 ./app", RunPoint(1, 2), "mpiexec.hydra -n 2 ./app"),
        (
            "mpich", "mpiexec.hydra -f h -n 8 ./app", RunPoint(2, 2),
            "mpiexec.hydra -ppn 2 -f h -n 4 ./app",
        ),
        (
            "slurm", "srun -n8 -N 2 --ntasks-per-node=4 ./app", RunPoint(4, 1, 2),
            "srun -c 2 -n4 -N 4 --ntasks-per-node=1 ./app",
        ),
        (
            "slurm", "srun --ntasks 8 ./app", RunPoint(1, 2),
            "srun -N 1 --ntasks-per-node 2 --ntasks 2 ./app",
        ),
        (
            "slurm", "srun -ln 8 -uN4 ./app", RunPoint(2, 1),
            "srun --ntasks-per-node 1 -ln 2 -uN2 ./app",
        ),
        ("openmpi4",
         "./job.sh {n} {nodes}x{ppn} -t{threads}", RunPoint(2, 3, 4), "./job.sh 6 2x3 -t4"),
    ],
)  # fmt: skip
def test_commands_are_resized(
    machine: Path, kind: str, line: str, point: RunPoint, expected: str
) -> None:
    env = {"PATH": f"{machine / kind}:{machine}:/usr/bin:/bin"}
    assert shlex.join(resize(line.split(), point, env, machine, 16)) == shlex.join(expected.split())


@pytest.mark.parametrize(
    "line", ["./app", "mpirun -n 2 ./app : -n 2 ./app", "mpirun --map-by a=b:c -n 2 -H a,b ./app"]
)
def test_what_cannot_be_resized_is_refused(machine: Path, line: str) -> None:
    env = {"PATH": f"{machine / 'openmpi4'}:{machine}:/usr/bin:/bin"}
    with pytest.raises(UsageError) as caught:
        resize(line.split(), RunPoint(2, 2), env, machine)
    assert "{n}" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("kind", "line", "point", "nodes"),
    [
        ("mpich", "mpiexec.hydra -n 4 ./app", RunPoint(2, 2), 1),
        ("mpich", "mpiexec.hydra -hosts a,b -n 4 ./app", RunPoint(4, 2), 2),
        ("mpich", "mpiexec.hydra -hosts a,b -n {n} -ppn {ppn} ./app", RunPoint(4, 2), 2),
        ("openmpi4", "mpirun -H a:8,b:8 ./app", RunPoint(4, 8), 2),
        ("mpich", "mpiexec.hydra -hosts a,b -n 4 ./app", RunPoint(2, 2), None),
        ("mpich", "mpiexec.hydra -hosts a,b -n 4 ./app", RunPoint(1, 2), None),
        ("openmpi4", "mpirun -H a:8,b:8 ./app", RunPoint(1, 4), None),
        ("slurm", "srun ./app", RunPoint(4, 2), None),
    ],
)
def test_a_point_runs_on_its_own_number_of_nodes(
    machine: Path, kind: str, line: str, point: RunPoint, nodes: int | None
) -> None:
    env = {"PATH": f"{machine / kind}:/usr/bin:/bin"}
    command = parse_command(resize(line.split(), point, env, machine), env, machine)
    job: Any = SimpleNamespace(command=command, layout=find_layout(command, env, machine))
    if nodes is None:
        assert _fitting(job, point) == point
        return
    here = counted(nodes, "node")
    with pytest.raises(StrettoError, match=f"on {here}, not on {point.nodes}") as caught:
        _fitting(job, point)
    assert f"hosts of {point.nodes} nodes" in str(caught.value.remedy)


def test_points() -> None:
    job = ["./job.sh", "{n}"]
    assert parse_counts("1,2:16,3", "-n") == [1, 2, 4, 8, 16, 3]
    assert points_of(job, "1,2", None, None, None) == [RunPoint(1, 1), RunPoint(1, 2)]
    assert points_of(job, None, "1,2", "4", None) == [RunPoint(1, 4), RunPoint(2, 4)]
    pairs = points_of(job, None, None, "1,2,4", "4,2,1")
    assert sorted((p.ppn, p.threads) for p in pairs) == [(1, 4), (2, 2), (4, 1)]
    every = points_of(job, None, None, "1,2", "1,2,4")
    assert len(every) == 6 and {p.cores for p in every} == {1, 2, 4, 8}
    for bad in (("1", "2", None), (None, "2", None), (None, None, None)):
        with pytest.raises(UsageError):
            points_of(job, *bad, None)
    with pytest.raises(UsageError, match="'x' is not a positive whole number"):
        parse_counts("1,x", "-n")
    assert points_of(job, "2,2,1", None, None, "1,1") == [RunPoint(1, 1, 1), RunPoint(1, 2, 1)]


def test_numbers_that_are_typed_twice_are_in_pairs_twice() -> None:
    pairs = points_of(["./job.sh", "{n}"], None, "1", "18,18,36", "1,2,1")
    assert pairs == [RunPoint(1, 18, 1), RunPoint(1, 18, 2), RunPoint(1, 36, 1)]


@pytest.mark.parametrize("option", ["--ranks", "--ppn", "--nodes", "--threads"])
def test_an_empty_value_is_told(option: str) -> None:
    given = dict.fromkeys(("--ranks", "--nodes", "--ppn", "--threads")) | {option: ""}
    with pytest.raises(UsageError, match=f"{option} is empty") as caught:
        points_of(["./job.sh", "{n}"], *given.values())
    assert "shell variable" in str(caught.value.remedy)


def runs_of(
    times: dict[RunPoint, tuple[float, float | None]], rounds: int = 6, wall: float = 1.0
) -> list[ScaleRun]:
    """Runs with times (native, tuned) and 0.2% of noise between rounds."""
    out = []
    for i in range(rounds):
        for p, both in times.items():
            for kind, value in zip(("native", "tuned"), both, strict=True):
                if value is not None:
                    t = value * (1 + 0.002 * i)
                    out.append(ScaleRun(p.nodes, p.ppn, p.threads, kind, i, t, wall * t, 0))  # type: ignore[arg-type]
    return out


CURVE = {
    RunPoint(1, 1): (100.0, None), RunPoint(1, 2): (55.0, 50.0), RunPoint(1, 4): (40.0, 30.0),
    RunPoint(2, 4): (60.0, 29.9),
}  # fmt: skip


def test_the_turning_point_needs_significance() -> None:
    found = found_in(runs_of(CURVE), price=3.6)
    assert found.reference == RunPoint(1, 1)
    native, tuned = found.turns
    assert native.best.point == RunPoint(1, 4) and native.certain
    assert native.best.speedup == pytest.approx(2.5)
    assert native.best.efficiency == pytest.approx(2.5 / 4)
    assert [(m.point, v.outcome) for m, v in native.slower] == [(RunPoint(2, 4), "slower")]
    assert tuned.best.point == RunPoint(2, 4) and not tuned.slower
    assert {g.point: g.verdict.outcome for g in found.gains} == {
        RunPoint(1, 2): "faster", RunPoint(1, 4): "faster", RunPoint(2, 4): "faster",
    }  # fmt: skip
    assert found.cheapest is not None and found.cheapest.point == RunPoint(1, 4)
    assert found.cheapest.kind == "tuned"
    costs = {(m.point, m.kind): m.cost for m in found.points}
    assert costs[RunPoint(2, 4), "native"] == pytest.approx(2 * 3.6 * 60.3 / 3600)
    text = "\n".join(sentences(found, 3.6))
    assert "more cores make it slower: 2 x 4 takes 1.50 times as long" in text
    assert "1 x 4 is as fast with 4 instead of 8 cores: no significant difference" in text

    few = found_in(runs_of(CURVE, rounds=5))
    assert not any(t.certain for t in few.turns)
    assert all(g.verdict.outcome == "inconclusive" for g in few.gains)
    text = "\n".join(sentences(few, None))
    assert "whether more cores make it slower is inconclusive: 5 runs are too few" in text
    assert "tuned against native is inconclusive: 5 runs are too few" in text
    assert "missing: 1 more round" in text and "% less time" not in text


def test_page_of_few_runs_marks_what_is_not_tested(tmp_path: Path) -> None:
    runs = runs_of({p: (native, None) for p, (native, _) in CURVE.items()}, rounds=3)
    host, mpi = Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", "4.1.4")
    line = ["mpirun", "-n", "{n}", "./app"]
    header = ScaleHeader("0", "2026-11-28T00:00:00Z", host, mpi, line, Metric())
    found = found_in(runs, header.metric)
    page = tmp_path / "x.html"
    scaling_page.write(ScaleFile(header, runs), found, None, tmp_path / "x", PageFiles(page))
    text = page.read_text()
    assert "<b>2.50?</b>" in text and "62 %?" in text
    # only `scale` fills in {n}
    assert "stretto tune -- mpirun -n 8 ./app" in re.sub("<[^>]*>", "", text)
    assert ">threads<" not in text and ">wall time<" not in text


def test_cores_that_change_nothing_are_no_turning_point() -> None:
    flat = {
        RunPoint(1, 1): (100.0, None),
        RunPoint(1, 2): (50.0, None),
        RunPoint(1, 4): (50.0, None),
    }
    found = found_in(runs_of(flat))
    (native,) = found.turns
    assert native.best.point == RunPoint(1, 2) and not native.slower and not native.certain


def test_fewer_cores_that_are_as_fast_are_named() -> None:
    times = {
        RunPoint(1, 2): (20.0, None), RunPoint(1, 4): (10.0, None), RunPoint(1, 6): (10.05, None),
        RunPoint(1, 8): (9.92, None),
    }  # fmt: skip
    found = found_in(runs_of(times))
    (native,) = found.turns
    assert native.best.point == RunPoint(1, 8) and native.enough is not None
    assert (native.enough[0].point, native.enough[1].outcome) == (RunPoint(1, 4), "same")
    text = "\n".join(sentences(found, None))
    assert "; 1 x 4 is as fast with 4 instead of 8 cores: " in text
    assert "scaling has not stopped" not in text
    (fastest,) = as_json(found, None)["fastest"]
    assert (fastest["enough"]["ppn"], fastest["enough"]["outcome"]) == (4, "same")

    few = found_in(runs_of(times, rounds=1))
    text = "\n".join(sentences(few, None))
    assert "whether 1 x 4 is as fast with 4 instead of 8 cores is inconclusive: 1 run is" in text
    scales = {RunPoint(1, 4): (10.0, None), RunPoint(1, 8): (5.0, None)}
    for rounds in (1, 6):
        good = found_in(runs_of(scales, rounds))
        assert good.turns[0].enough is None
        assert "scaling has not stopped" in "\n".join(sentences(good, None))
        assert as_json(good, None)["fastest"][0]["enough"] is None


def test_a_rate_is_better_when_higher() -> None:
    rates = {p: (1000 / a, None) for p, (a, _) in CURVE.items()}
    found = found_in(runs_of(rates), Metric("m", "", "higher", "x"))
    (native,) = found.turns
    assert native.best.point == RunPoint(1, 4) and native.certain


def test_every_round_visits_everything_in_an_order_of_its_own() -> None:
    points = [RunPoint(1, n) for n in (1, 2, 4)]
    table = Tuned((), {}, "t")
    plan = steps(points, {points[2]: table}, 3, 1)
    assert [s.round for s in plan] == [0] * 4 + [1] * 4 + [2] * 4
    assert len({tuple((s.point, s.kind) for s in plan[i : i + 4]) for i in (0, 4, 8)}) > 1
    done = [
        ScaleRun(s.point.nodes, s.point.ppn, None, s.kind, s.round, 1.0, 1.0, 0,
                 detail="t" if s.kind == "tuned" else "")
        for s in plan
    ]  # fmt: skip
    assert steps(points, {points[2]: table}, 3, 1, done[:7]) == plan[7:]
    failed = ScaleRun(1, 1, None, "native", 0, None, 1.0, 1)
    assert len(steps(points, {}, 1, 1, [failed])) == 3, "a failed run is made again"


def test_runs_with_another_table_do_not_count() -> None:
    here = RunPoint(1, 2)
    old = [ScaleRun(1, 2, None, "tuned", i, 5.0, 5.0, 0, detail="a (1)") for i in range(6)]
    native = [ScaleRun(1, 2, None, "native", i, 10.0, 10.0, 0) for i in range(6)]
    now = {here: Tuned((), {}, "a (2)")}
    assert [s.kind for s in steps([here], now, 6, 1, [*native, *old])] == ["tuned"] * 6
    assert of_table([*native, *old], now, [here]) == native
    assert of_table([*native, *old], {}, [here]) == native, "the table is gone"
    assert of_table([*native, *old], {}, [RunPoint(1, 4)]) == [*native, *old], "asked for earlier"
    assert of_table([*native, *old], {}, None) == native, "--native-only"
    new = ScaleRun(1, 2, None, "tuned", 0, 20.0, 20.0, 0, detail="a (2)")
    found = found_in([*native, *old, new])
    (tuned,) = found.of("tuned")
    assert (tuned.value.median, tuned.value.n) == (20.0, 1)


def test_where_no_native_run_succeeded_the_reference_is_tuned() -> None:
    runs = [r for r in runs_of(CURVE) if r.kind == "tuned"]
    runs += [ScaleRun(1, 2, None, "native", i, None, 1.0, 1, detail="it crashed") for i in range(6)]
    found = found_in(runs)
    assert (found.reference, found.reference_kind) == (
        RunPoint(1, 2),
        "tuned",
    )
    assert sentences(found, None)[0] == "speed-up and efficiency against 1 x 2 (tuned)"
    assert as_json(found, None)["reference"]["kind"] == "tuned"
    both = found_in(runs_of(CURVE))
    assert both.reference_kind == "native"


def test_a_point_that_failed_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    path, point = tmp_path / "a.scale.jsonl", RunPoint(1, 2)
    with ScaleWriter(path, header(["x"])) as writer:
        for number in range(2):
            writer.write(ScaleRun(1, 2, None, "native", number, None, 1.0, 1, detail="node down"))
    place = Place(tmp_path, tmp_path / "copies", None, True)
    wanted = Wanted({point: ["x"]}, 3, Metric(), place, path, {}, yes=True)
    measuring, said = Measuring(wanted, lambda text: None), []

    def one(step: Step) -> ScaleRun:
        said.append(step.round)
        return ScaleRun(1, 2, None, "native", step.round, 1.0, 1.0, 0)

    measuring._one = one  # type: ignore[method-assign]
    measuring.run(header(["x"]))
    assert sorted(said) == [0, 1, 2]


def test_tuned_runs_of_another_call_are_told_with_their_table(tmp_path: Path) -> None:
    path, said = tmp_path / "a.scale.jsonl", list[str]()
    place = Place(tmp_path, tmp_path / "copies", None, True)
    wanted = Wanted({RunPoint(1, 2): ["x"]}, 1, Metric(), place, path, {}, yes=True)

    def runs() -> list[tuple[int, str]]:
        said.clear()
        found = Measuring(wanted, said.append).run(header(["x"]))
        return sorted((r.ppn, r.kind) for r in found.runs)

    with ScaleWriter(path, header(["x"])) as writer:
        for ppn in (2, 4):
            writer.write(ScaleRun(1, ppn, None, "native", 0, 10.0, 1.0, 0))
            writer.write(ScaleRun(1, ppn, None, "tuned", 0, 8.0, 1.0, 0, detail="a (1)"))
    assert runs() == [(2, "native"), (4, "native"), (4, "tuned")]
    assert "1 tuned run left out" in said[0]
    assert "tuned runs on 1 x 4 are of an earlier call, with a (1)" in said[1]
    wanted.native_only = True
    assert runs() == [(2, "native"), (4, "native")] and "2 tuned runs left out" in said[0]


def test_a_point_that_fails_twice_is_given_up(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "copies", None, True)
    points = {RunPoint(1, 2): ["x"], RunPoint(1, 4): ["x"]}
    wanted = Wanted(points, 4, Metric(), place, tmp_path / "a.scale.jsonl", {}, yes=True)
    measuring = Measuring(wanted, lambda text: None)

    def one(step: Step) -> ScaleRun:
        fails = step.point.ppn == 4
        value = None if fails else 1.0
        return ScaleRun(1, step.point.ppn, None, "native", step.round, value, 1.0, int(fails))

    measuring._one = one  # type: ignore[method-assign]
    found = measuring.run(header(["x"]))
    assert [sum(r.ppn == ppn for r in found.runs) for ppn in (2, 4)] == [4, 2]


def test_the_longest_run_of_a_point_tells_what_the_next_one_takes(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "copies", None, True)
    measuring = Measuring(Wanted({}, 1, Metric(), place, tmp_path / "a", {}), lambda text: None)
    walls = {0: 1.0, 1: 3.0, 2: 2.0}
    measuring.runs = [ScaleRun(1, 2, None, "native", i, 1.0, w, 0) for i, w in walls.items()]
    measuring.runs += [ScaleRun(1, 2, None, "native", 3, None, 9.0, 1, detail="it crashed")]
    expected = {ppn: measuring.expected_s(RunPoint(1, ppn)) for ppn in (1, 2, 4)}
    assert expected == {1: 2.0, 2: 3.0, 4: 1.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "4:2"], "'4:2' is not a range"),
        (["--ranks", "2", "--metric", "("], "not a regular expression"),
        (["--ranks", "2", "--price", "nan"], "is not a valid number"),
        (["--ranks", "2", "--budget", "soon"], "not a time"),
    ],
)
def test_mistyped_options_are_told_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["scale", *words, "--", "mpirun", "-n", "2", "true"]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_figure_that_is_no_number_is_none() -> None:
    metric = make_metric(r"residual: (\S+)", "lower", None)
    assert find_value(metric, Result(0, 1.0, "residual: nan\n")) is None
    assert find_value(metric, Result(0, 1.0, "residual: 1D3\n")) == 1000


def header(words: list[str]) -> ScaleHeader:
    host, mpi = Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", "4.1.4")
    return ScaleHeader("0", "t", host, mpi, words, Metric())


def test_the_file_survives_a_kill_and_refuses_strangers(tmp_path: Path) -> None:
    path = tmp_path / "a.scale.jsonl"
    all_runs = runs_of(CURVE, 2)
    with ScaleWriter(path, header(["x"])) as writer:
        for run in all_runs[:3]:
            writer.write(run)
        with pytest.raises(StrettoError, match="another stretto scale"):
            ScaleWriter(path, header(["x"]))
    whole = path.read_bytes()
    for cut in range(len(whole) - 1, len(whole) - 40, -7):
        path.write_bytes(whole[:cut])
        with ScaleWriter(path, header(["x"])) as writer:
            assert writer.previous.runs == all_runs[:2] and writer.previous.truncated
            writer.write(all_runs[2])
        assert path.read_bytes() == whole
    assert read_scale(path).runs == all_runs[:3]
    with pytest.raises(StrettoError, match="another command"):
        ScaleWriter(path, header(["y"]))
    path.write_bytes(whole.replace(b'"ppn": 2', b'"ppn": "2"', 1))
    with pytest.raises(StrettoError, match="whole number"):
        read_scale(path)
    with pytest.raises(StrettoError):
        parse_scale("", "f")


def test_runs_of_another_program_are_not_added_to(tmp_path: Path) -> None:
    path, program = tmp_path / "a.scale.jsonl", tmp_path / "app"

    def now() -> ScaleHeader:
        return dataclasses.replace(header(["x"]), programs=[take(program)])

    program.write_text("1")
    with ScaleWriter(path, now()):
        pass
    os.utime(program, ns=(1, 1))  # built again, and the same
    for later in (now(), header(["x"])):
        with ScaleWriter(path, later) as writer:
            assert writer.previous.header.programs
    program.write_text("2")
    with pytest.raises(StrettoError, match="app has changed since t") as caught:
        ScaleWriter(path, now())
    assert "--restart" in str(caught.value.remedy)
    path.unlink()
    with ScaleWriter(path, header(["x"])):
        pass
    with ScaleWriter(path, now()) as writer:  # of an earlier version: not known
        assert writer.previous.header.programs is None
