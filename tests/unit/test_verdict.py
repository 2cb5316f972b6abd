"""The verdict on a comparison, one case for each outcome; and what pages make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stretto.files.bench import Bench, Header, Launch, LaunchEnd, Record, Sample
from stretto.files.identity import Host, MPIIdentity
from stretto.files.usage import Usage, busy_words
from stretto.files.verdict import Metric, metric_name
from stretto.measure.compare import (
    best_words,
    compare,
    open_words,
    timings,
)
from stretto.measure.idle import busy_before, busy_note, disturbed
from stretto.measure.show import table_lines
from stretto.measure.stats import Interval
from stretto.measure.verdict import judge, launches_missing

HEADER = Header("0", "t", Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", "4.1.4"), [])
#: what ranks had on a quiet machine, and on LAMMPS' at load 18
QUIET = Usage(1.0, 0.99, 0.005, 20, 0.4, 2)
BUSY = Usage(1.0, 0.095, 0.9, 300, 18.0, 2)
#: where the kernel does not count waiting for a core: switches tell it from sleep
UNCOUNTED, ASLEEP = replace(BUSY, core_wait_s=None), Usage(1.0, 0.1, None, 3, 0.1, 2)


@pytest.mark.parametrize(
    ("ratio", "p", "q", "number", "busy", "outcome", "words"),
    [
        (0.5, 0.002, 0.01, 6, None, "faster", "50 % faster (p=0.01)"),
        (0.5, 0.002, 0.01, 6, "busy in all", "faster", "50 % faster (p=0.01)"),
        (1.5, 0.002, 0.01, 6, None, "slower", "50 % slower (p=0.01)"),
        (0.99, 0.002, 0.01, 6, None, "same", "the difference of 1.0 % is not above 3 %"),
        (0.99, 0.7, 0.9, 6, None, "same", "no significant difference (p=0.9)"),
        (
            0.99,
            0.7,
            0.9,
            6,
            "it was busy",
            "inconclusive",
            "missing: a quiet machine (it was busy)",
        ),
        (0.8, 0.1, 0.2, 6, None, "inconclusive", "is not significant (p=0.2); missing: "),
        (
            0.8,
            0.01,
            0.2,
            6,
            None,
            "inconclusive",
            "after correction for the number of comparisons (p=0.01",
        ),
        (0.8, 0.9, 0.9, 6, None, "inconclusive", "missing: less variation between launches"),
        (0.2, None, None, 2, None, "inconclusive", "too few for a test (at least 6); missing: 4 m"),
        (0.2, None, None, 5, "it was busy", "inconclusive", "quiet machine (it was busy), or 1 mo"),
    ],
)
def test_judge_of_each_case_gives_outcome_and_reason(
    ratio: float, p: float | None, q: float | None, number: int, busy: str | None,
    outcome: str, words: str,
) -> None:  # fmt: skip
    found = judge(Interval(ratio, None, None, number), q, number, p=p, busy=busy)
    assert found.outcome == outcome and words in found.words
    assert found.tested is (q is not None)
    assert bool(found.missing) is (outcome == "inconclusive")


def test_launches_missing_grow_with_the_distance_from_significance() -> None:
    near, far = launches_missing(0.06, 0.06, 6), launches_missing(0.2, 0.2, 6)
    assert near is not None and far is not None and 0 < near < far
    family = launches_missing(0.01, 0.2, 6)
    assert family is not None and 0 < family < 20
    assert launches_missing(0.9, 0.9, 6) is None


def results(
    launches: int, times: dict[str, list[float]], used: Usage | None = None, ppn: int = 2
) -> Bench:
    """Return a results file: a time of each candidate in each launch."""
    records: list[Record] = []
    for k in range(launches):
        records.append(Launch(k, 1, ppn, ppn, {"bcast": list(times)}))
        for name, us in times.items():
            records.append(
                Sample(k, "bcast", name, 8, "MPI_BYTE", None, 0, "latency", 1, [us[k]], True)
            )
        records.append(LaunchEnd(k, "ok", usage=used))
    return Bench(HEADER, records)


NATIVE = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5]


@pytest.mark.parametrize(
    ("launches", "shm", "used", "best", "told"),
    [
        (6, [t / 2 for t in NATIVE], QUIET, "shm x0.50", None),
        (6, [t / 2 for t in NATIVE], BUSY, "shm x0.50", None),
        (6, [2 * t for t in NATIVE], QUIET, "native", None),
        (6, NATIVE[::-1], QUIET, "native", None),
        (6, NATIVE[::-1], BUSY, "inconclusive", "a quiet machine (it was busy in 6 of 6"),
        (2, [5.0, 5.0], QUIET, "inconclusive", "2 launches are too few for a test (at least 6)"),
        (2, [20.0, 20.0], QUIET, "inconclusive", "missing: 4 more launches"),
        (6, [2.0, 30.0, 2.0, 30.0, 2.0, 2.0], QUIET, "inconclusive", "missing: "),
    ],
)  # fmt: skip
def test_best_of_results_is_native_only_where_tested(
    launches: int, shm: list[float], used: Usage, best: str, told: str | None
) -> None:
    times = timings(results(launches, {"native": NATIVE, "shm": shm}, used))
    comparisons = compare(times)
    assert best_words(comparisons, str) == best
    words = open_words(comparisons)
    assert (words is None) if told is None else (words is not None and told in words)
    printed = "\n".join(table_lines(times, comparisons))
    assert best in printed
    assert ("inconclusive: " in printed) == (told is not None)


def test_inconclusive_among_several_calls_names_the_call_of_the_reason() -> None:
    (one,) = compare(timings(results(2, {"native": NATIVE, "shm": NATIVE})))
    other = replace(one, cell=replace(one.cell, bytes=4096), layout=(8, 4, 2))
    found = [replace(one, verdict=replace(one.verdict, missing="")), other]
    words = open_words(found)
    assert words is not None
    assert words.startswith("inconclusive at 2 of 2 calls, e.g. bcast of 4 KiB on 4 x 2: 2 l")


def test_few_launches_given_up_beside_a_measured_baseline_are_settled() -> None:
    """A campaign drops what loses: there the MPI's own is the best, without more launches."""
    bench = results(6, {"native": NATIVE, "shm": [20.0] * 6})
    bench.records = [
        r for r in bench.records
        if not (isinstance(r, Sample) and r.candidate == "shm" and r.launch > 2)
    ]  # fmt: skip
    comparisons = compare(timings(bench))
    assert comparisons[0].outcome == "inconclusive"
    assert best_words(comparisons, str) == "native" and open_words(comparisons) is None


@pytest.mark.parametrize(
    ("used", "busy"), [(QUIET, False), (BUSY, True), (UNCOUNTED, True), (ASLEEP, False)]
)
def test_usage_of_busy_or_sleeping_ranks_is_told_apart(used: Usage, busy: bool) -> None:
    assert used.busy is busy
    words = busy_words(used)
    assert (words is not None) is busy
    if words is not None:
        assert "waited 9" in words and "CPU time 10 %" in words.replace("9 %", "10 %")
        assert "300 involuntary switches a second" in words and "load 18.0 on 2" in words


def test_busy_launches_of_more_ranks_than_processors_are_not_others_work() -> None:
    bench = results(6, {"native": NATIVE}, BUSY)
    assert disturbed(bench).keys() == set(range(6))
    note = busy_note(bench)
    assert note is not None and note.startswith("the machine was busy in 6 of 6 launches: ranks")
    assert busy_note(results(6, {"native": NATIVE}, BUSY, ppn=8)) is None
    assert busy_note(results(6, {"native": NATIVE}, QUIET)) is None
    assert busy_note(results(6, {"native": NATIVE})) is None


def test_busy_before_runs_is_the_median_of_looks() -> None:
    assert busy_before([0.9, 0.0, 0.01]) is None and busy_before([None]) is None
    busy = "other processes used 50 % of its processors before the runs"
    assert busy_before([0.9, 0.5, 0.01]) == busy


def test_name_of_a_metric_has_no_punctuation_of_its_pattern() -> None:
    for pattern, name in (
        (r"speed: ([0-9.]+)", "speed"),
        (r"Average time per iteration: *([\d.]+)", "Average time per iteration"),
        (r"rating\s*= *(\d+)", "rating"),
    ):
        assert metric_name(Metric(pattern, "s", "lower", pattern)) == name
