"""Rows for layouts that nobody measured: of what can run there, and is nowhere near it slower."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

import sweeps
from stretto.campaign.decide import Decided, decide_all
from stretto.campaign.layout import Layout
from stretto.campaign.unmeasured import MOST_BUILT, can_run, interpolated
from stretto.files.bench import Bench
from stretto.files.rows import Row

TWO, THREE, FOUR = Layout(2, 2), Layout(3, 2), Layout(4, 2)
#: by size and candidate, what a call takes, as multiple of native's
Factors = Mapping[int, Mapping[str, float]]


def bench(layout: Layout, collective: str, factors: Factors) -> Bench:
    """Twelve launches in which candidates take what the factors say."""
    luck = random.Random(3)
    launches = {
        k: {
            (size, name): 20 * factor * luck.lognormvariate(0, 0.01)
            for size, found in factors.items()
            for name, factor in {"native": 1.0, **found}.items()
        }
        for k in range(12)
    }
    return sweeps.bench_of(collective, launches, layout)


def decided(collective: str, factors: Mapping[Layout, Factors]) -> dict[Layout, Decided]:
    benches = {x: bench(x, collective, found) for x, found in factors.items()}
    return decide_all(benches, dict.fromkeys(benches, 1))


def shown(rows: list[Row]) -> list[tuple[int, int | None, str]]:
    return [(r.low, r.high, r.choice) for r in rows]


def test_between_layouts_too_one_row_holds_where_no_rank_knows_all_sizes() -> None:
    def of(nodes: int, sizes: tuple[int, ...]) -> Decided:
        ratios = {"alltoallv": {size: {"pairwise": 0.5} for size in sizes}}
        return Decided(
            Layout(nodes, 2), [], {"alltoallv": dict.fromkeys(sizes, "pairwise")}, ratios
        )

    for other in ((8, 4096), (8,)):  # what holds at one size does so at all
        found = {d.layout: d for d in (of(2, (8, 4096)), of(4, other))}
        (row,) = interpolated(THREE, found)
        assert (row.low, row.high, row.choice) == (0, None, "pairwise")
        assert row.evidence["sizes"] == "8,4096" and row.evidence["ratio"] == "0.500"


@pytest.mark.parametrize(
    "layout, choice, runs",
    [
        (THREE, "recursive_doubling", False), (THREE, "shm+recursive_doubling", False),
        (THREE, "lanes+recursive_doubling", False), (THREE, "lanes(2)+ring", True),
        (THREE, "shm", False), (THREE, "neighbor_exchange", True), (THREE, "bruck_k(6)", True),
        (Layout(1, 6), "shm+ring", True), (Layout(3, 3), "neighbor_exchange", False),
        (Layout(10, 3), "linear(32)", True), (Layout(10, 3), "no_such_thing", False),
        (Layout(MOST_BUILT, 2), "linear(32)", False), (Layout(MOST_BUILT, 2), "ring", True),
        (THREE, "native:coll_A=1", True),
    ],
)  # fmt: skip
def test_whether_a_choice_can_run(layout: Layout, choice: str, runs: bool) -> None:
    assert can_run("allgather", choice, layout) is runs


def test_what_cannot_run_between_two_layouts_is_not_interpolated() -> None:
    best = {size: {"recursive_doubling": 0.7, "ring": 0.8} for size in (8, 64, 512)}
    found = decided("allgather", {TWO: best, FOUR: best})
    assert shown(found[TWO].rows)[0] == (0, 512, "recursive_doubling")
    assert shown(interpolated(THREE, found)) == [(0, 512, "ring"), (513, None, "native")]


def test_a_size_that_one_neighbour_lacks_is_not_bridged() -> None:
    fast = {"recursive_doubling": 0.7}
    sizes = {8: fast, 64: {"recursive_doubling": 2.0}, 128: fast}
    found = decided("allreduce", {TWO: sizes, FOUR: {8: fast, 128: fast}})
    rows = interpolated(THREE, found)
    assert shown(rows)[:3] == [
        (0, 8, "recursive_doubling"), (9, 127, "native"), (128, 128, "recursive_doubling"),
    ]  # fmt: skip
    assert shown(interpolated(THREE, dict(reversed(found.items())))) == shown(rows)


def test_what_is_slower_next_to_a_layout_is_not_interpolated_there() -> None:
    fast = {size: {"ring": 0.7} for size in (8, 64, 512)}
    slow = {**fast, 64: {"ring": 1.5}}
    here = [(0, 512, "ring"), (513, None, "native")]
    around: dict[Layout, Factors] = {TWO: fast, FOUR: fast}
    behind = decided("allgather", {**around, Layout(1, 2): slow, Layout(8, 4): slow})
    assert shown(interpolated(THREE, behind)) == here
    beside = decided("allgather", {**around, Layout(3, 1): slow, Layout(3, 4): fast})
    assert shown(interpolated(THREE, beside)) == [
        (0, 8, "ring"), (9, 511, "native"), (512, 512, "ring"), (513, None, "native"),
    ]  # fmt: skip
    more = {**fast, 32: {"ring": 1.5}}  # at a size that nobody else measured
    beside = decided("allgather", {**around, Layout(3, 1): more})
    assert (9, 63, "native") in shown(interpolated(THREE, beside))


def test_where_one_row_has_to_do_what_is_slower_next_to_it_at_a_size_is_out() -> None:
    fast = {size: {"linear": 0.7} for size in (8, 64)}
    around: dict[Layout, Factors] = {TWO: fast, FOUR: fast}
    found = decided("alltoallv", {**around, Layout(3, 1): fast})
    assert shown(interpolated(THREE, found)) == [(0, None, "linear")]
    found = decided("alltoallv", {**around, Layout(3, 1): {**fast, 64: {"linear": 1.5}}})
    assert shown(interpolated(THREE, found)) == [(0, None, "native")]


def test_what_is_out_on_a_layout_or_next_to_it_is_not_interpolated() -> None:
    fast = {size: {"ring": 0.7, "bruck_k(2)": 0.8} for size in (8, 64, 512)}
    found = decided("allgather", {TWO: fast, FOUR: fast})
    assert shown(interpolated(THREE, found))[0][2] == "ring"
    for where, choice in (
        (THREE, "bruck_k(2)"), (Layout(3, 1), "bruck_k(2)"), (TWO, "bruck_k(2)"),
        (Layout(1, 2), "ring"), (Layout(16, 2), "ring"),
    ):  # fmt: skip
        (row, _) = interpolated(THREE, found, {where: {("allgather", "ring")}})
        assert row.choice == choice, where
    (row, _) = interpolated(THREE, found, {THREE: {("allgatherv", "ring")}})
    assert row.choice == "ring"


def test_the_nearer_layout_counts_more_between_two() -> None:
    def decided(nodes: int, ratio: float, choice: str) -> Decided:
        ratios = {"bcast": {8: {choice: ratio}}}
        return Decided(Layout(nodes, 2), [], {"bcast": {8: choice}}, ratios)

    both = {d.layout: d for d in (decided(2, 0.25, "native:A=1"), decided(16, 0.5, "native:A=1"))}
    for nodes, ratio in (
        (4, 0.25 ** (2 / 3) * 0.5 ** (1 / 3)),
        (8, 0.25 ** (1 / 3) * 0.5 ** (2 / 3)),
    ):
        row = next(r for r in interpolated(Layout(nodes, 2), both) if r.choice != "native")
        assert (row.choice, row.evidence["ratio"]) == ("native:A=1", f"{ratio:.3f}")
        assert row.evidence["source"] == "interpolated"
