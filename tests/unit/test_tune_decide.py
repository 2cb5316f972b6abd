"""Decisions: short tables in which no row is slower than native."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.files.outcome import Outcome, Verdict
from stretto.measure.compare import Cell, Comparison
from stretto.measure.stats import Interval
from stretto.tune.decide import SizeRange, choose, decide, segments

RATIOS = st.dictionaries(
    st.integers(0, 2**24),
    st.dictionaries(st.sampled_from(["shm", "ring", "bruck_k(4)"]), st.floats(0.05, 0.969)),
    min_size=1,
    max_size=12,
)


def comparison(
    size: int,
    candidate: str,
    ratio: float,
    outcome: Outcome = "faster",
    root: int = 0,
    collective: str = "allreduce",
) -> Comparison:
    cell = Cell(collective, size, "MPI_DOUBLE", "MPI_SUM", root, "throughput")
    interval = Interval(ratio, ratio * 0.98, ratio * 1.02, 6)
    return Comparison(
        cell,
        candidate,
        "native",
        interval,
        (ratio,) * 6,
        0.002,
        0.004,
        Verdict(outcome, "because", tested=outcome != "inconclusive"),
    )


def find(rows, size):  # type: ignore[no-untyped-def]
    (row,) = [r for r in rows if r.low <= size and (r.high is None or size <= r.high)]
    return row


def test_merging_loses_no_more_than_two_percent() -> None:
    """It lost up to two changes of choice (6%) at a size between two others."""
    assert choose({8: {}, 64: {"b": 0.945}, 512: {}}) == {8: "native", 64: "b", 512: "native"}
    one = {8: {"a": 0.5}, 64: {"a": 0.5, "b": 0.4712}, 512: {"a": 0.5}}
    assert choose(one)[64] == "b"
    one[64]["b"] = 0.475
    assert choose(one)[64] == "b"
    assert choose(one, {64: {"a", "b"}}) == dict.fromkeys(one, "a"), "no test tells them apart"
    one[64]["b"] = 0.46
    assert choose(one, {64: {"a", "b"}})[64] == "b", "nor more than 6% where none does"


def test_what_no_test_tells_apart_does_not_split_a_row() -> None:
    luck = (0.47, 0.52, 0.49, 0.55, 0.44, 0.51, 0.48, 0.5, 0.46)
    shm = [replace(comparison(s, "shm", 0.5), ratios=luck) for s in (8, 64, 512)]
    ring = [comparison(s, "ring", 0.48 if s == 64 else 0.6) for s in (8, 64, 512)]
    ring[1] = replace(ring[1], ratios=luck[::-1])
    assert {r.choice for r in decide([*shm, *ring], 1, 2)} == {"shm", "native"}
    ring[1] = replace(ring[1], ratios=tuple(0.96 * x for x in luck))
    assert find(decide([*shm, *ring], 1, 2), 64).choice == "ring", "each launch is faster"
    few = replace(ring[1], ratios=luck[:5])
    assert find(decide([*shm, ring[0], few, ring[2]], 1, 2), 64).choice == "ring", "no test made"


def test_never_a_choice_where_it_was_not_faster() -> None:
    found = [
        comparison(8, "shm", 0.3),
        comparison(64, "shm", 1.0, "same"),
        comparison(512, "shm", 0.3),
    ]
    rows = decide(found, 1, 2)
    assert find(rows, 8).choice == "shm"
    assert find(rows, 64).choice == "native"
    assert find(rows, 512).choice == "shm"
    assert find(rows, 9).choice == "native"  # nobody measured it beside native


def test_the_worst_root_counts() -> None:
    found = [comparison(8, "shm", 0.5), comparison(8, "shm", 1.2, "slower", root=1)]
    assert decide(found, 1, 2)[0].choice == "native"


def test_an_applications_size_class_is_covered() -> None:
    spans = {"allreduce": {40: SizeRange(32, 63)}}
    rows = decide([comparison(40, "shm", 0.5)], 1, 2, spans)
    assert find(rows, 32).choice == find(rows, 63).choice == "shm"
    assert find(rows, 31).choice == find(rows, 64).choice == "native"


@given(RATIOS)
@settings(max_examples=300, deadline=None)
def test_tables_cover_all_sizes_and_only_allow_what_was_faster(
    options: dict[int, dict[str, float]],
) -> None:
    chosen = choose(options)
    assert chosen.keys() == options.keys()
    assert all(c == "native" or c in options[s] for s, c in chosen.items())
    parts = segments(chosen, {})
    assert parts[0].low == 0 and parts[-1].high is None
    for a, b in itertools.pairwise(parts):
        assert a.high is not None and b.low == a.high + 1 and a.choice != b.choice
    for size, choice in chosen.items():
        (part,) = [p for p in parts if p.low <= size and (p.high is None or size <= p.high)]
        assert part.choice == choice
        assert size in part.measured


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_choice_loses_more_than_is_allowed(data: st.DataObject) -> None:
    options = data.draw(RATIOS)
    equal = {s: data.draw(st.sets(st.sampled_from(sorted(o)))) if o else set()
             for s, o in options.items()}  # fmt: skip
    for size, choice in choose(options, equal).items():
        best = min(options[size].values(), default=1.0)
        lost = options[size].get(choice, 1.0) / best - 1
        assert lost <= (0.06 if choice in equal[size] else 0.02) + 1e-12


@given(RATIOS, st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_spans_never_break_the_tiling(options: dict[int, dict[str, float]], width: int) -> None:
    spans = {s: SizeRange(s >> width, s << width) for s in options}
    parts = segments(choose(options), spans)
    assert parts[0].low == 0 and parts[-1].high is None
    assert all(b.low == (a.high or 0) + 1 for a, b in itertools.pairwise(parts))
    assert all(p.high is None or p.low <= p.high for p in parts)


def one_row(*found: tuple[int, str, float, Outcome]):  # type: ignore[no-untyped-def]
    """The one row for alltoallv, whose choice cannot depend on the size."""
    rows = decide([comparison(*c, collective="alltoallv") for c in found], 1, 2)
    assert len(rows) == 1 and (rows[0].low, rows[0].high) == (0, None)
    return rows[0]


def test_one_row_for_all_sizes_may_gain_nothing_somewhere_but_lose_nowhere() -> None:
    assert one_row((8, "shm", 0.5, "faster"), (4096, "shm", 1.01, "same")).choice == "shm"
    assert one_row((8, "shm", 0.5, "faster"), (4096, "shm", 1.025, "same")).choice == "native"
    assert one_row((8, "shm", 0.1, "faster"), (4096, "shm", 1.2, "slower")).choice == "native"
    assert one_row((8, "shm", 0.1, "faster"), (4096, "shm", 0.9, "inconclusive")).choice == "native"
    assert one_row((8, "shm", 0.99, "same"), (4096, "shm", 0.98, "same")).choice == "native"


def test_one_row_for_all_sizes_is_of_what_gains_most_in_the_mean() -> None:
    row = one_row(
        (8, "shm", 0.5, "faster"),
        (8, "pairwise", 0.2, "faster"),
        (4096, "shm", 0.5, "faster"),
        (4096, "pairwise", 0.9, "faster"),
    )
    assert row.choice == "pairwise"


def test_a_candidate_that_was_not_measured_at_all_sizes_is_none_for_all() -> None:
    found = ((8, "shm", 0.5, "faster"), (8, "ring", 0.1, "faster"), (4096, "shm", 0.5, "faster"))
    assert one_row(*found).choice == "shm"


def test_a_row_of_native_names_no_best_that_no_test_knows() -> None:
    """What was dropped after a launch was called `best=linear(32) best_ratio=0.003 launches=1`."""
    known = comparison(1024, "ring", 0.99, "same")
    lucky = replace(comparison(1024, "linear(32)", 0.003, "inconclusive"), ratios=(0.003,))
    row = find(decide([known, lucky], 1, 4), 1024)
    assert row.choice == "native" and row.evidence["best"] == "ring"
    assert row.evidence["launches"] == str(known.launches)
    alone = find(decide([lucky], 1, 4), 1024)
    assert alone.choice == "native" and not {"best", "best_ratio"} & set(alone.evidence)


def test_a_choice_holds_between_sizes_up_to_sixteen_times_apart() -> None:
    """As the sizes of `stretto bench --bytes` may be; further apart nobody knows."""
    near, far = ({64: "a", n: "a"} for n in (16 * 64, 16 * 64 + 1))
    spans = [[(s.low, s.high, s.choice) for s in segments(x, {})] for x in (near, far)]
    assert spans[0] == [(0, 63, "native"), (64, 1024, "a"), (1025, None, "native")]
    assert spans[1] == [
        (0, 63, "native"), (64, 64, "a"), (65, 1024, "native"), (1025, 1025, "a"),
        (1026, None, "native"),
    ]  # fmt: skip
