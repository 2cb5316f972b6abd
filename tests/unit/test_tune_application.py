"""From a profile to a verdict: needs, prediction, runs of the command, and what is said."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from processes import run_program
from stretto.cli.tune import _following
from stretto.errors import CommandFailedError, StrettoError, UsageError
from stretto.files.bench import Bench, Header, Launch, Sample
from stretto.files.identity import Host, MPIIdentity
from stretto.files.outcome import Verdict
from stretto.files.profile import Call, Communicator, Node, Profile, write_profile
from stretto.files.table import Row, Table
from stretto.files.verdict import GainInterval, Metric, Run, read_verdict
from stretto.launch.execute import Result
from stretto.measure.compare import Cell, Comparison
from stretto.measure.ledger import require_layout
from stretto.measure.stats import Interval
from stretto.measure.verdict import judge
from stretto.profile import record
from stretto.report.findings import headline
from stretto.report.load import System
from stretto.tune import application
from stretto.tune.application import little, missing_words
from stretto.tune.limit import limit_of
from stretto.tune.needs import Shape, find_needs
from stretto.tune.outputs import stamps
from stretto.tune.place import COPIES, Place, check_copy, fresh
from stretto.tune.predict import predict
from stretto.tune.profiled import _check_metric, _file_with_metric, recorded_here
from stretto.tune.session import Options, Tuning
from stretto.tune.trials import find_value, gain, judged, make_metric, order
from stretto.tune.verify import TuneResult, _lacking, both_ways
from stretto.tune.words import conclude, needs_lines, no_help, rest_words, start_words

HOST = Host("h", "c", 2, "k", 1)
MPI = MPIIdentity("openmpi", "openmpi", "4.1.4")


def call(function: str = "MPI_Allreduce", **more: object) -> Call:
    values: dict[str, object] = {
        "function": function, "kind": "collective", "communicator": 0, "operation": "MPI_SUM",
        "datatype": "MPI_DOUBLE", "bytes_min": 8, "bytes_max": 15, "calls": [100, 100],
        "bytes": [800, 800], "time_s": [1.0, 3.0], "wait_s": [0.0, 2.0], "transfer_s": [1.0, 1.0],
        "sampled": 100,
    }  # fmt: skip
    return Call(**(values | more))  # type: ignore[arg-type]


def profile(*calls: Call, wall: float = 10.0) -> Profile:
    return Profile(
        "0", "t", HOST, MPI, ["x"], 2, [Node("a", [0, 1])], True, [], [wall, wall], [4.0, 4.0],
        [0.0, 0.0], [0.0, 0.0], [Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)], list(calls),
    )  # fmt: skip


def test_tune_of_a_long_job_ends_by_naming_learn(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path)
    options = Options(["mpirun", "./a"], tmp_path, make_metric(None, "lower", None), place)
    found = TuneResult(["it is faster"], True, table=tmp_path / "a.table")
    session: Any = SimpleNamespace(
        o=options, run_s=60.0, wants_budget=False, wanted_launches=None, wanted_pairs=None
    )
    short = _following(found, session)
    session.run_s = 700.0
    long = _following(found, session)
    assert [line.split()[1] for line in short] == ["run", "report"]
    assert long[:2] == short and long[2].startswith("stretto learn -- mpirun ./a ")
    session.run_s, session.wants_budget = 60.0, True
    assert _following(found, session) == ["the same command again    # continues", *short]
    session.wants_budget, session.wanted_launches = False, 9
    again = "the same command with --launches 9    # continues"
    assert _following(found, session) == [again, *short]
    # all pairs of --pairs were made: neither the budget ended, nor would more of it help
    untested = Verdict("inconclusive", "3 pairs are too few", "missing: 3 more pairs", False)
    session.wanted_launches, options.budget_s = None, 360.0
    for options.pairs, made, text in ((3, 6, "3 more pairs (--pairs 6)"), (6, 6, "of --budget")):
        session.whole_s, session.wants_budget, session.wanted_pairs = 9.0, False, None
        assert _lacking(session, untested, options.pairs, made).missing.endswith(text)
        assert session.wants_budget == ("budget" in text)
        if session.wanted_pairs:
            assert _following(found, session)[0] == again.replace("launches 9", "pairs 6")


def test_metric_that_only_a_written_file_has_names_the_file(tmp_path: Path) -> None:
    case = tmp_path / "case"
    case.mkdir()
    (case / "old.log").write_text("Timing for main: 1.5 elapsed")
    before = stamps(case, [case / "old.log"])
    (case / "wrfout").write_bytes(b"CDF\1\0")
    (case / "rsl.out.0000").write_text("Timing for main: 1.5 elapsed")
    session: Any = Tuning.__new__(Tuning)
    session.o = Options(
        ["mpirun", "./wrf.exe"], tmp_path / "out",
        make_metric(r"main: ([\d.]+)", "lower", None), Place(case, tmp_path / "out" / COPIES),
    )  # fmt: skip
    silent = Result(0, 1.0)
    found = _file_with_metric(session, silent, case, before)
    assert found == "rsl.out.0000"
    assert _file_with_metric(session, Result(0, 1.0, "main: 2.5"), case, before) is None
    with pytest.raises(StrettoError) as error:
        _check_metric(session, silent, found)
    whole = "print that file: sh -c 'mpirun ./wrf.exe && cat rsl.out.0000'"
    assert error.value.remedy and error.value.remedy.endswith(whole)
    # a failed run: its texts outlive the copy, those of the input and binary ones are not kept
    session.keep_failed(silent, case, before)
    assert session.logs_words() == ""
    session.keep_failed(Result(1, 1.0), case, before)
    kept = tmp_path / "out" / "outputs" / "failed"
    assert session.logs_words() == f"; the texts that it wrote are in {kept}"
    assert [p.name for p in kept.iterdir()] == [found]
    (case / found).unlink()
    assert _file_with_metric(session, silent, case, before) is None


def test_open_points_name_the_launches_or_the_budget_they_lack() -> None:
    ratio = Interval(0.5, 0.4, 1.2, 6)
    few, more = (
        dataclasses.replace(comparison([0.5]), baseline_launches=n, verdict=judge(ratio, q, n))
        for n, q in ((3, None), (6, 0.11))
    )
    assert missing_words([few], "") == ("missing: 3 more launches (--launches 6)", 6)
    assert missing_words([more], "") == ("missing: 4 more launches (--launches 10)", 10)
    assert missing_words([few], "9 s") == ("missing: 3 more launches, or 9 s", None)
    assert missing_words([], "9 s") == ("missing: 9 s", None)
    assert missing_words([], "") == ("", None)


def test_little_gain_by_a_profile_of_a_busy_machine_is_inconclusive() -> None:
    gain = GainInterval(1e-5, 2e-5, 3e-5)
    text, found = little(gain, None)
    assert text.startswith("little can be gained") and found is None
    text, found = little(gain, "the machine was busy")
    assert text.startswith("inconclusive: predicted") and "the machine was busy" in text
    assert found is not None and "idle machine" in found.missing and "any number" not in text


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ({"a": ("mine", 9)}, "recorded in {}/a.profile"),
        ({"a": ("other", 1), "a-2": ("mine", 9)}, "recorded in {}/a-2.profile"),
        ({"a": ("mine", 9), "a-2": ("mine", 2), "a-x": ("mine", 1)}, "recorded in {}/a-2.profile"),
        ({"a": ("other", 9), "a-2": ("other", 2)}, "a-2.profile.json, a.profile.json: of another"),
        ({}, ""),
    ],
)
def test_newest_profile_of_the_command_is_found_among_the_default_names(
    ages: dict[str, tuple[str, int]], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stem, (word, age) in ages.items():
        path = tmp_path / f"{stem}.profile.json"
        write_profile(dataclasses.replace(profile(call()), command=[word]), path)
        os.utime(path, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(record, "default_path", lambda _: tmp_path / "a.profile.json")
    lines: list[str] = []
    session = SimpleNamespace(
        o=SimpleNamespace(restart=False, words=["mine"]), say=lines.append,
        job=SimpleNamespace(mpi=MPI),
    )  # fmt: skip
    found = recorded_here(session)  # type: ignore[arg-type]
    assert (found is not None) == ("recorded" in said)
    assert said.format(tmp_path) in "".join(lines)


def test_needs_are_the_costly_classes() -> None:
    rows = [
        call(),
        call("MPI_Bcast", transfer_s=[0.5, 0.5], bytes_min=64, bytes_max=127, bytes=[10000, 10000]),
        call("MPI_Reduce", transfer_s=[0.001, 0.001]),
        call("MPI_Iallreduce", kind="nonblocking_collective", transfer_s=[5.0, 5.0]),
    ]
    needs = find_needs(profile(*rows))
    assert [(n.collective, n.bytes) for n in needs.chosen] == [("allreduce", 8), ("bcast", 100)]
    assert needs.tunable_s == pytest.approx(1.501)
    assert needs.bound == pytest.approx(0.15, rel=0.01)
    assert needs.chosen[1].span.low == 64 and needs.chosen[1].span.high == 127
    whole = profile(*rows)
    inter = dataclasses.replace(whole, communicators=[Communicator(0, "inter", 3, 0, 0)])
    assert find_needs(inter).chosen == () and find_needs(inter).tunable_s == 0


def test_needs_with_unequal_blocks_have_the_recorded_pattern() -> None:
    """Of ranks whose own sizes differ one kind of call; what tables tell apart stays apart."""
    pairs = call("MPI_Alltoallv", bytes_min=512, bytes_max=1023, bytes=[60000, 60000],
                 blocks=[(0, 30), (1200, 30)])  # fmt: skip
    (need,) = find_needs(profile(pairs)).chosen
    assert (need.collective, need.bytes, need.pattern) == ("alltoallv", 600, "0:50,2:50")
    (even,) = find_needs(profile(dataclasses.replace(pairs, blocks=[(600, 60)]))).chosen
    assert even.pattern == ""
    root = call("MPI_Gatherv", calls=[100, 0], bytes=[0, 0], bytes_min=0, bytes_max=0,
                time_s=[1.0, 0.0], wait_s=[0.0, 0.0], transfer_s=[1.0, 0.0])  # fmt: skip
    other = call("MPI_Gatherv", calls=[0, 100], bytes=[0, 90000], bytes_min=512, bytes_max=1023,
                 time_s=[0.0, 1.0], wait_s=[0.0, 0.0], transfer_s=[0.0, 1.0])  # fmt: skip
    (need,) = find_needs(profile(root, other)).chosen
    assert (need.bytes, need.pattern, need.transfer_s) == (450, "0:50,2:50", 1.0)
    two = [call("MPI_Allgatherv", bytes=[0, 80000]),
           call("MPI_Allgatherv", bytes=[10000, 90000], bytes_min=256, bytes_max=511)]  # fmt: skip
    assert [n.pattern for n in find_needs(profile(*two)).chosen] == ["0:50,2:50", "0.2:50,1.8:50"]


def test_unknown_types_are_measured_by_their_like() -> None:
    (need,) = find_needs(profile(call(datatype=None, operation=None))).chosen
    assert need.shapes == (Shape("MPI_DOUBLE", "MPI_SUM", "unknown/unknown"),)
    (need,) = find_needs(
        profile(call(datatype="MPI_INTEGER", bytes_min=4, bytes_max=7, bytes=[400, 400]))
    ).chosen
    assert (need.shapes[0].datatype, need.bytes) == ("MPI_INT", 4)
    w = call("MPI_Alltoallw", datatype=None, operation=None)
    (need,) = find_needs(profile(w)).chosen
    assert (need.collective, need.shapes) == ("alltoallv", (Shape(None, None, "MPI_Alltoallw"),))
    # on a duplicate of the communicator another type is measured as the same: once
    both = profile(call(), call(communicator=1, datatype=None, operation=None))
    again = dataclasses.replace(both.communicators[0], id=1)
    (need,) = find_needs(
        dataclasses.replace(both, communicators=[*both.communicators, again])
    ).chosen
    assert need.shapes == (Shape("MPI_DOUBLE", "MPI_SUM"),) and need.calls == 200


def test_without_joined_samples_there_is_only_a_bound() -> None:
    (need,) = find_needs(profile(call(wait_s=None, transfer_s=None))).chosen
    assert need.bound and need.transfer_s == 1.0


def test_waiting_is_no_ground_for_tuning() -> None:
    needs = find_needs(profile(call(transfer_s=[0.01, 0.01], wait_s=[0.0, 8.0])))
    reason = no_help(needs)
    assert reason is not None and "Ranks wait for other ranks" in reason[1]
    assert no_help(find_needs(profile(call()))) is None
    barrier = call("MPI_Barrier", datatype="", operation="", bytes_min=0, bytes_max=0)
    first, *rest = needs_lines(find_needs(profile(call(), barrier)))
    assert "s from MPI_Init to MPI_Finalize, collectives" in first
    assert any(" barrier on 2 ranks: " in x for x in rest), "it has no size"
    nothing = no_help(find_needs(profile()))
    assert nothing is not None and "at most" in nothing[1]
    large = call(bytes_min=2048, bytes_max=4095, bytes=[300000, 300000])
    (_, line) = needs_lines(find_needs(profile(large)))
    assert line.startswith("stretto:   allreduce of 2 KiB to <4 KiB on 2 ranks: 100 calls")


def test_a_busy_machine_hides_no_gain_of_a_job_without_collectives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for calls, outcome in (([], "same"), ([call(transfer_s=[0.01, 0.01])], "inconclusive")):
        found = dataclasses.replace(
            profile(*calls), cpu_s=[1.0, 1.0], core_wait_s=[9.0, 9.0], involuntary=[9000, 9000]
        )
        monkeypatch.setattr(application, "profile_of", lambda session, found=found: found)
        monkeypatch.setattr(application, "_nothing", lambda *words: words[1:])
        session: Any = SimpleNamespace(o=SimpleNamespace(only=None), say=lambda line: None)
        said, verdict = application._steps(session)  # type: ignore[misc]
        assert verdict.outcome == outcome
        assert ("By this profile, no algorithm can help" in " ".join(said)) == (outcome != "same")


def comparison(ratios: list[float]) -> Comparison:
    cell = Cell("allreduce", 8, "MPI_DOUBLE", "MPI_SUM", 0, "throughput")
    middle = float(np.median(ratios))
    return Comparison(
        cell, "shm", "native", Interval(middle, min(ratios), max(ratios), len(ratios)),
        tuple(ratios), 0.001, 0.001, Verdict("faster", ""),
    )  # fmt: skip


def table(*rows: Row) -> Table:
    return Table("openmpi", "4.1.4", 1, 2, "t", "0", "h", "c", list(rows))


def test_the_prediction_is_transfer_times_what_is_saved() -> None:
    needs = find_needs(profile(call()))
    found = predict(
        needs, table(Row("allreduce", 1, 2, 0, 15, "shm")), [comparison([0.38, 0.4, 0.4, 0.42] * 3)]
    )
    assert found is not None
    assert found.median == pytest.approx(0.1 * 0.6)
    assert 0.1 * 0.57 < found.low <= found.median <= found.high < 0.1 * 0.63
    assert predict(needs, table(Row("allreduce", 1, 2, 0, None, "native")), []) is None


def test_ranks_elsewhere_than_meant_make_no_table(tmp_path: Path) -> None:
    sample = Sample(
        1, "barrier", "native", 0, "MPI_BYTE", "MPI_SUM", 0, "throughput", 1, [1.0], True
    )
    failed, good = (Launch(n, n, 2, 4, {"barrier": ["native"]}) for n in (1, 2))
    good = dataclasses.replace(good, launch=1)
    bench = Bench(Header("0", "t", HOST, MPI, ["x"], {}), [failed, good, sample])
    require_layout(bench, 2, 2, tmp_path)
    with pytest.raises(StrettoError, match="not on 4 x 1"):
        require_layout(bench, 4, 1, tmp_path)


def runs(native: list[float], tuned: list[float]) -> list[Run]:
    out = []
    for i, (a, b) in enumerate(zip(native, tuned, strict=True)):
        out += [Run("native", 2 * i, a, a, 0), Run("tuned", 2 * i + 1, b, b, 0)]
    return out


def test_measured_gain_in_time_and_in_a_rate() -> None:
    slow, fast = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5], [8.0, 8.1, 8.2, 8.3, 8.4, 8.5]
    found = gain(runs(slow, fast), Metric())
    assert found is not None and found.p is not None and found.p < 0.05
    assert found.low <= found.median <= found.high
    assert found.median == pytest.approx(0.195, abs=0.01)
    rate = Metric("r", "1/s", "higher", "r")
    found = gain(runs(fast, slow), rate)
    assert found is not None and found.median == pytest.approx(0.24, abs=0.02)
    worse = gain(runs(fast, slow), Metric())
    assert worse is not None and worse.median < 0
    loss = judged(runs(fast, slow), Metric())
    assert loss.outcome == "slower" and "SLOWER" in conclude(Metric(), None, worse, loss)[0]
    assert judged(runs(fast, slow), rate).outcome == "faster"


def test_pairs_are_shuffled_and_go_on_where_they_stopped() -> None:
    whole = order(20, 3)
    assert all({whole[i], whole[i + 1]} == {"native", "tuned"} for i in range(0, 40, 2))
    assert len({tuple(whole[i : i + 2]) for i in range(0, 40, 2)}) == 2
    assert order(20, 3, [Run("native", 0, 1, 1, 0)] * 7) == whole[7:]


def test_the_metric_is_the_last_match() -> None:
    metric = make_metric(r"rate: ([\d.]+)", "higher", "1/s")
    assert find_value(metric, Result(0, 1.0, "rate: 1\nrate: 2.5\n")) == 2.5
    assert find_value(metric, Result(0, 1.0, "", "rate: 3\n")) == 3
    assert find_value(metric, Result(0, 1.0, "nothing")) is None
    assert find_value(make_metric(None, "lower", None), Result(0, 1.5)) == 1.5
    for bad in (("(", "lower"), ("x", "lower"), ("(a)(b)", "lower"), ("(a)", "faster")):
        with pytest.raises(UsageError):
            make_metric(*bad, None)
    assert make_metric(r"time per step: (\S+) s", None, "s").better == "lower"
    for rate, unit in ((r"(\S+) iterations per second", None), (r"(\S+)", "ns/day"),
                       (r"(\S+) GFLOPS", None)):  # fmt: skip
        assert make_metric(rate, "lower", unit).better == "lower"
        with pytest.raises(UsageError, match="seems to be a rate"):
            make_metric(rate, None, unit)


def test_links_to_the_original_by_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/home is a link itself on many clusters, and a shell's $PWD has its name in it."""
    (tmp_path / "lustre" / "case" / "results").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "lustre")
    case = tmp_path / "home" / "case"
    (case / "results" / "field").write_text("precious")
    (case / "out").symlink_to(case / "results")
    (case / "gone").symlink_to(case / "not-there-yet")
    (tmp_path / "lustre" / "mesh").write_text("m")
    (case / "mesh").symlink_to("../mesh")
    monkeypatch.chdir(case)
    base = Path.cwd()
    assert "lustre" in str(base)
    with fresh(Place(base, base / "stretto-app" / COPIES)) as cwd:
        assert (cwd / "mesh").read_text() == "m"
        (cwd / "out" / "field").write_text("changed")
        (cwd / "gone").write_text("new")
        assert (cwd / "results" / "field").read_text() == "changed"
        assert (cwd / "not-there-yet").read_text() == "new"
    assert (case / "results" / "field").read_text() == "precious"
    assert not (case / "not-there-yet").exists()


def test_every_run_reads_its_input_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("read already\nx")
    code = (
        "import os, pathlib; from stretto.tune.place import Place, fresh\n"
        "for _ in range(2):\n"
        "    with fresh(Place(pathlib.Path('.'), pathlib.Path('w'), None, True)):\n"
        "        print(os.read(0, 9))\n"
    )
    with (tmp_path / "input").open("rb", buffering=0) as stream:
        stream.seek(len("read already\n"))
        done = run_program([sys.executable, "-c", code], stdin=stream, check=True)
    assert done.stdout.split() == ["b'x'", "b'x'"]


def test_reset_command_and_in_place(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("dirty")
    with fresh(Place(tmp_path, tmp_path / "w", "echo clean > state")) as cwd:
        assert cwd == tmp_path and (cwd / "state").read_text() == "clean\n"
    with (
        pytest.raises(CommandFailedError, match="no such thing"),
        fresh(Place(tmp_path, tmp_path / "w", "echo no such thing >&2; false")),
    ):
        pass
    with fresh(Place(tmp_path, tmp_path / "w", None, True)) as cwd:
        assert cwd == tmp_path


def test_what_is_too_large_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "big").write_bytes(b"x" * 100)
    monkeypatch.setattr("stretto.tune.place.MOST_COPY_BYTES", 50)
    with pytest.raises(StrettoError, match="too large") as caught:
        check_copy(Place(tmp_path, tmp_path / "o" / COPIES))
    assert "--reset-command" in str(caught.value.remedy)
    assert "links to its input" in str(caught.value.remedy)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "big").symlink_to("../big")
    check_copy(Place(tmp_path / "new", tmp_path / "o" / COPIES))  # and links to it do not count
    with pytest.raises(StrettoError):
        check_copy(Place(Path("/"), tmp_path / "o" / COPIES))


def test_a_disturbed_profile_does_not_promise_its_disturbance() -> None:
    """10 ms a call in the profile, 1 us in the measurement: the gain lies anywhere between."""
    needs = find_needs(profile(call()))
    quick = dataclasses.replace(comparison([0.5] * 8), baseline_us=1.0)
    found = predict(needs, table(Row("allreduce", 1, 2, 0, 15, "shm")), [quick])
    assert found is not None
    assert found.low < 1e-4 < found.median < 0.01 < found.high <= 0.05


def test_the_median_call_counts_where_it_is_known() -> None:
    needs = find_needs(profile(call(typical_s=1e-5)))
    (need,) = needs.chosen
    assert need.transfer_s == 1.0 and need.typical_s == pytest.approx(1e-3)
    found = predict(needs, table(Row("allreduce", 1, 2, 0, 15, "shm")), [comparison([0.5] * 8)])
    assert found is not None and found.high == pytest.approx(5e-5)


@pytest.mark.parametrize(
    ("native", "tuned", "busy", "outcome", "words"),
    [
        ([10.0] * 6, [9.8] * 6, 0.0, "faster", "2.0 % faster"),  # of any size
        ([10.0] * 6, [10.5] * 6, 0.0, "slower", "5 % slower"),
        ([9, 10, 11] * 2, [10, 10, 10] * 2, 0.0, "same", "no significant difference"),
        (
            [9, 10, 11] * 2,
            [10, 10, 10] * 2,
            0.5,
            "inconclusive",
            "missing: a quiet machine (other processes",
        ),
        ([8, 10, 12] * 2, [7, 9.4, 13] * 2, 0.0, "inconclusive", "is not significant"),
        ([10.0] * 6, [9.0] * 6, 0.5, "faster", "10 % faster"),  # interleaved runs prove it
        ([10.0] * 4, [5.0] * 4, 0.0, "inconclusive", "missing: 2 more pairs"),
        ([], [], 0.0, "inconclusive", "missing: 6 pairs of runs"),
    ],
)
def test_judged_runs_of_each_outcome_are_told_apart(
    native: list[float], tuned: list[float], busy: float, outcome: str, words: str
) -> None:
    made = [dataclasses.replace(r, others=busy) for r in runs(native, tuned)]
    found = judged(made, Metric())
    assert found.outcome == outcome and words in found.words


def test_conclusion_on_gain_beyond_prediction_or_below_start_says_so() -> None:
    faster, good = Verdict("faster", ""), GainInterval(0.09, 0.1, 0.11, 0.002)
    first, *_, last = conclude(Metric(), GainInterval(0.01, 0.02, 0.03), good, faster)
    assert "far above the prediction" in last

    def words(metric: Metric, *of: Any) -> str:
        return " ".join(conclude(metric, *of))

    assert "far above" not in words(Metric(), GainInterval(0.05, 0.08, 0.1), good, faster)
    half, more = GainInterval(0.4, 0.45, 0.5), GainInterval(0.9, 1.0, 1.1, 0.002)
    assert "far above" not in words(Metric("r", "1/s", "higher", "r"), half, more, faster)
    assert "far above" in words(Metric("r", "s", "lower", "r"), half, more, faster)
    assert first.endswith("is significant")
    assert first.startswith("measured gain in wall time: 10.0 % (9.0 % to 11.0 %)")
    less, instead = start_words(0.0195, 0.1)
    assert less.startswith("The gain of 19.5 ms per run is less than the start-up time")
    assert less.endswith("on this machine (100 ms)") and "stretto env -- CMD" in instead
    assert not start_words(0.2, 0.1)
    none = Verdict("inconclusive", "the budget ended", "missing: 9 s more of --budget")
    (text,) = conclude(Metric(), None, None, none)
    assert text.endswith("not measured on CMD (the budget ended; missing: 9 s more of --budget)")


@pytest.mark.parametrize(
    ("metric", "wall", "tuned", "warned"),
    [
        ("", 0.75, 0.75, "above what tuning alone can gain (at most 20.0 %): something else"),
        ("", 0.85, 0.85, ""),  # more than the transfer, but waiting may be shorter, too
        ("rate", 0.75, 1.3, "above what tuning alone can gain (at most 25.0 %): something else c"),
        ("rate", 0.95, 1.3, "the metric covers only a part of the run, or something else"),
        ("rate", 0.85, 1.105, ""),
    ],
)
def test_verdict_names_limit_busy_machine_medians_and_missing_runs(
    tmp_path: Path, metric: str, wall: float, tuned: float, warned: str
) -> None:
    made = profile(call())
    measure = Metric(metric, "it/s", "higher", metric) if metric else Metric()
    options = Options(["./a"], tmp_path, measure, Place(tmp_path, tmp_path), budget_s=100.0)
    said: list[str] = []
    left = iter([82.0, *[9.0] * 13, *[0.0] * 9])
    session = SimpleNamespace(
        o=options, name="a", say=said.append, named=str, left_s=lambda: next(left), whole_s=4.0,
        written=None, path=lambda kind: tmp_path / f"a.{kind}", run_s=1.0, wants_budget=False,
        wanted_launches=None, wanted_pairs=None,
        job=SimpleNamespace(mpi=SimpleNamespace(identity=MPI)),
    )  # fmt: skip

    def one(kind: str, number: int) -> Run:
        noise = 1 + number / 1e4
        value, took = (100.0, 10.0) if kind == "native" else (100 * tuned, 10 * wall)
        return Run(kind, number, value * noise, took, 0, others=0.5)  # type: ignore[arg-type]

    limit = limit_of(find_needs(made), measure, 10.0)
    found = both_ways(session, "", one, lambda text, *_: text, limit=limit)  # type: ignore[arg-type]
    text = ". ".join(found.conclusion)
    assert ("above what tuning" in text) == bool(warned) and warned in text
    assert ("Repeat with --restart on an idle machine" in text) == bool(warned)
    assert ("this is significant" in text) != bool(warned)
    assert ("Tuning can gain at most" in text) != bool(warned)
    assert warned or re.search(r"gain at most [\d.]+ % in (wall time|rate): ", text)
    assert "Median: 100" in text and " in 6 native runs, " in text and " in 7 tuned runs" in text
    assert "13 of 18 runs were made before the budget ended" in text
    assert any("warning: the machine was busy: other processes used 50 %" in s for s in said)
    verdict = read_verdict(tmp_path / "a.verdict.json")
    assert ("--restart" in _following(found, session)[0]) == bool(warned)
    assert found.conclusion == verdict.conclusion
    assert found.warning == verdict.warning and found.limit == verdict.limit
    assert bool(verdict.warning) == bool(warned) and verdict.limit == limit.gain  # type: ignore[union-attr]
    sentence, kind = headline(System("s", verdict=verdict))
    assert ("above what tuning" in sentence, kind) == (
        (True, "none") if warned else (False, "gain")
    )


@pytest.mark.parametrize(
    ("budget_s", "left_s", "end", "expected"),
    [
        (None, 1e9, "tested", ""),
        (60.0, 29.0, "cut", ""),
        (60.0, 31.0, "cut", "31 s of the budget of 60 s were not used: the rest was reserved for"),
        (60.0, 31.0, "open", "--launches makes more"),
        (60.0, 55.0, "nothing", "no call of CMD can become faster, so nothing was measured"),
        (60.0, 40.0, "decided", "nothing is left to measure"),
        (60.0, 40.0, "little", "--pairs 6 runs CMD anyway"),
        (60.0, 40.0, "tested", "--pairs makes more"),
    ],
)
def test_unused_budget_has_its_reason(
    budget_s: float | None, left_s: float, end: str, expected: str
) -> None:
    found = rest_words(budget_s, left_s, end)
    assert expected in found and bool(found) == bool(expected)
