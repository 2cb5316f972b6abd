"""Gains that neighbours have proven and a point's own launches bear out."""

from __future__ import annotations

import math
import random

import pytest

from stretto.campaign.verdict import THRESHOLD
from stretto.files.bench import Bench, Header, Launch, Sample
from stretto.files.identity import Host, MPIIdentity
from stretto.sweep.borne_out import Expected, Gain, Gains, borne_out, expected
from stretto.sweep.decide import Decided, decide_all
from stretto.sweep.layout import Layout

HERE, LEAST = Layout(4, 4), -math.log(1 - THRESHOLD)
PROVEN = Gain(0.25, 0.02, "faster")


def same(mean: float, sd: float) -> Gain:
    """What no test tells from none."""
    return Gain(mean, sd, "same", ((mean, sd),))


RESTLESS = same(0.2, 0.15)


def gains(**more: dict[int, Gain]) -> dict[Layout, Gains]:
    """Of candidate `a` at 8 to 512 bytes on layouts around 4x4: proven everywhere but here."""
    layouts = [HERE, Layout(2, 4), Layout(8, 4), Layout(4, 1), Layout(4, 16)]
    out = {x: {s: {"a": PROVEN} for s in (8, 64, 512)} for x in layouts}
    out[HERE][64]["a"] = RESTLESS
    for name, found in more.items():
        where = Layout(*map(int, name[1:].split("x")))
        for size, gain in found.items():
            out.setdefault(where, {}).setdefault(size, {})["a"] = gain
    return {x: {"allreduce": sizes} for x, sizes in out.items()}


def ratio_of(all_of_them: dict[Layout, Gains]) -> float | None:
    told = expected(HERE, all_of_them)
    return borne_out(all_of_them[HERE], told)["allreduce"][64].get("a")


def test_what_is_proven_all_around_is_borne_out_by_restless_launches() -> None:
    ratio = ratio_of(gains())
    assert ratio is not None and math.exp(-0.27) < ratio < math.exp(-0.19)


@pytest.mark.parametrize(
    "own",
    [
        same(-0.01, 0.15),  # half of the launches are slower
        Gain(-0.3, 0.05, "slower"),
        same(0.01, 0.01),  # sure, and no gain: the MPI does something else here
        same(0.02, 0.005),
        Gain(0.02, 0.2, "same", ((0.02, 0.2), (0.015, 0.01))),  # one root is sure of it
        Gain(0.25, 0.02, "slower", ()),  # in another mode
    ],
)
def test_launches_that_say_otherwise_stand(own: Gain) -> None:
    assert ratio_of(gains(_4x4={64: own})) is None


def test_neighbours_without_a_gain_count_against_those_that_have_proven_one() -> None:
    nothing = same(0.0, 0.02)
    alone = {"_4x4": {8: nothing, 512: nothing}, "_2x4": {64: nothing}, "_8x4": {64: nothing}}
    assert ratio_of(gains(**alone, _4x1={64: nothing})) is None, "one is proven"
    assert ratio_of(gains(**alone)) is None, "two are, and four have no gain"
    assert ratio_of(gains(_8x4={64: nothing})) is not None, "one of six has none"


def test_one_proof_near_is_needed_and_is_enough() -> None:
    likely = same(0.25, 0.1)  # too restless for a proof, as the point itself
    layouts = [HERE, Layout(2, 4), Layout(8, 4), Layout(4, 1), Layout(4, 16)]
    none = {f"_{x.name}": {size: likely for size in (8, 64, 512)} for x in layouts}
    none["_4x4"][64] = RESTLESS
    assert expected(HERE, gains(**none))["allreduce"][64] == {}
    for where, size in ((Layout(4, 16), 64), (Layout(8, 4), 512), (Layout(16, 1), 8)):
        one = gains(**none)  # at a neighbour, at a neighbour's neighbour, and at one of the next
        one.setdefault(where, {"allreduce": {}})["allreduce"][size] = {"a": PROVEN}
        assert ratio_of(one) is not None, (where, size)
    for where, size in ((Layout(32, 4), 64), (HERE, 2048), (Layout(4, 64), 64)):
        far = gains(**none)
        far.setdefault(where, {"allreduce": {}})["allreduce"][size] = {"a": PROVEN}
        assert ratio_of(far) is None, (where, size)


def test_one_neighbour_that_is_another_case_does_not_unsettle_the_others() -> None:
    """The MPI changes its algorithm at 8 nodes, say: five of six still agree."""
    told = expected(HERE, gains(_8x4={64: Gain(1.2, 0.02, "faster")}))["allreduce"][64]["a"]
    assert abs(told.mean - PROVEN.mean) < 0.08 and math.sqrt(told.variance) < 0.15
    halves = gains(
        _8x4={64: Gain(1.2, 0.02, "faster")}, _2x4={64: Gain(1.2, 0.02, "faster")},
        _4x16={64: Gain(1.2, 0.02, "faster")},
    )  # fmt: skip
    assert math.sqrt(expected(HERE, halves)["allreduce"][64]["a"].variance) > 0.15, "it may be any"


def test_neighbours_are_the_nearest_and_not_far() -> None:
    far = {Layout(4, 4): gains()[HERE], Layout(64, 4): gains()[Layout(2, 4)]}
    far[HERE] = {"allreduce": {1: {"a": PROVEN}, 64: {"a": RESTLESS}, 4096: {"a": PROVEN}}}
    assert expected(HERE, far)["allreduce"][64] == {}, "16 times in bytes, 4 times in nodes"
    assert expected(HERE, {HERE: gains()[HERE]})["allreduce"][64] != {}, "sizes alone do"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_borne_out_is_hardly_ever_wrong(seed: int) -> None:
    """Of a thousand points, one in ten of which has nothing to do with its neighbours."""
    chance = random.Random(seed)
    right = wrong = 0
    for _ in range(1000):
        around = Expected(0.2, 0.01)
        true = chance.gauss(0.2, 0.1) if chance.random() > 0.1 else chance.gauss(0, 0.4)
        sd = chance.choice([0.03, 0.1, 0.2, 0.4])
        gain = around.bears(chance.gauss(true, sd), sd)
        if gain is not None:
            assert gain > LEAST
            right, wrong = right + (true > 0), wrong + (true <= 0)
    assert right > 300 and wrong <= 0.05 * (right + wrong), (right, wrong)


def test_launches_needed_are_more_the_less_they_say() -> None:
    around = Expected(0.2, 0.01)
    needed = [around.launches(mean, 0.1, 6, 100) for mean in (0.15, 0.05, 0.0, -0.05)]
    assert needed[0] == 7 and needed == sorted(needed) and 7 < needed[-1] < 100, needed
    assert around.launches(-0.5, 0.02, 6, 20) == 21, "not within so many"
    assert around.with_own(1e9, 1e-9) == (1.0, 0.0), "nothing can be said, and nothing fails"


SIZES = (8, 64, 512, 4096)


def decided(odd: list[float]) -> dict[Layout, Decided]:
    """Three layouts where `a` takes 0.8 of native's time; at one point by launches' factors."""
    benches = {}
    for layout in (Layout(2, 4), HERE, Layout(8, 4)):
        bench = Bench(Header("0", "", Host("s", "s", 1, "", 0), MPIIdentity("m", "m", "0", ""), []))
        for k in range(len(odd)):
            names = {"allreduce": ["native", "a"]}
            bench.records.append(
                Launch(k, layout.nodes, layout.ppn, layout.nranks, names, 0.1, "stretto")
            )
            for size in SIZES:
                steady = layout.nodes * (10 + size / 100) * (1 + 0.003 * (k % 4))
                by = odd[k] if (layout, size) == (HERE, 64) else 1.0
                for name, us in (("native", steady), ("a", 0.8 * by * steady)):
                    bench.records.append(
                        Sample(k, "allreduce", name, size, "MPI_FLOAT", "MPI_SUM", 0, "latency", 1,
                               [us], True)
                    )  # fmt: skip
        benches[layout] = bench
    return decide_all(benches, dict.fromkeys(benches, 1))


def test_the_table_says_where_neighbours_prove_it() -> None:
    """Launches of 1.0 and 1.4 times: no test tells them from native's, which take 1.25."""
    restless = [1.0, 1.4, 1.02, 1.38, 0.7, 1.36, 1.05, 1.3, 0.9]
    found = decided(restless)[HERE]
    (faster,) = [r for r in found.rows if r.choice == "a"]
    assert (faster.low, faster.high) == (0, 4096), "one row, as on the other layouts"
    assert faster.evidence["borne_out"] == "64" and float(faster.evidence["p"]) < 0.05
    assert "a" not in found.ratios["allreduce"][64] and "a" in found.borne["allreduce"][64]
    others = decided(restless)[Layout(2, 4)].rows
    assert all("borne_out" not in r.evidence for r in others)


def test_no_row_where_most_launches_are_slower() -> None:
    found = decided([1.0, 1.6, 1.5, 1.55, 1.3, 0.9, 1.4, 1.35, 1.3])[HERE]
    assert found.chosen["allreduce"] == {8: "a", 64: "native", 512: "a", 4096: "a"}


def of_modes(throughput: float, latency: list[float]) -> Decided:
    """A layout between two where `a` is proven; at one size it is slower in a loop of calls."""
    benches = {}
    for layout in (Layout(2, 4), HERE, Layout(8, 4)):
        bench = Bench(Header("0", "", Host("s", "s", 1, "", 0), MPIIdentity("m", "m", "0", ""), []))
        for k, by in enumerate(latency):
            bench.records.append(
                Launch(k, layout.nodes, layout.ppn, layout.nranks, {}, 0.1, "stretto")
            )
            for size in SIZES:
                steady = 10.0 * (1 + 0.003 * (k % 4))
                odd = (layout, size) == (HERE, 64)
                for mode, factor in (("latency", by if odd else 0.8), ("throughput", throughput)):
                    own = factor if odd or mode == "latency" else 0.8
                    for name, us in (("native", steady), ("a", own * steady)):
                        bench.records.append(
                            Sample(k, "allreduce", name, size, "MPI_FLOAT", "MPI_SUM", 0, mode, 1,
                                   [us], True)
                        )  # fmt: skip
        benches[layout] = bench
    return decide_all(benches, dict.fromkeys(benches, 1))[HERE]


RESTLESS_TIMES = [0.8, 1.12, 0.82, 1.1, 0.56, 1.09, 0.84, 1.04, 0.72]


def test_what_another_mode_finds_slower_is_not_borne_out() -> None:
    """A broadcast whose root merely waits no longer: faster or the same for those who wait."""
    for latency in ([0.8] * 9, RESTLESS_TIMES):
        found = of_modes(2.0, latency)
        assert found.chosen["allreduce"][64] == "native"
        assert found.gains["allreduce"][64]["a"].outcome == "slower"
    assert of_modes(0.8, RESTLESS_TIMES).chosen["allreduce"][64] == "a"


def test_a_proven_candidate_is_not_displaced_by_one_that_is_slower_than_it() -> None:
    """Launches of two kinds; the neighbours' gain is expected of it, and b has one of its own."""
    chance = random.Random(159)
    n, spread = chance.choice([8, 10, 14, 20]), chance.choice([0.15, 0.2, 0.25, 0.3])
    of_a = [
        math.exp(-0.03 - chance.choice([-spread, spread]) - chance.gauss(0, 0.03)) for _ in range(n)
    ]
    of_b = [math.exp(-0.22 - chance.gauss(0, 0.02)) for _ in range(n)]
    benches = {}
    for layout in (Layout(2, 4), HERE, Layout(8, 4)):
        bench = Bench(Header("0", "", Host("s", "s", 1, "", 0), MPIIdentity("m", "m", "0", ""), []))
        for k in range(n):
            for size in SIZES:
                steady = layout.nodes * (10 + size / 100) * (1 + 0.003 * (k % 4))
                odd = (layout, size) == (HERE, 64)
                by = {"native": 1.0, "a": of_a[k] if odd else 0.74}
                by["b"] = of_b[k] if odd else 1 + 0.002 * ((k * 7) % 3 - 1)
                for name, factor in by.items():
                    bench.records.append(
                        Sample(k, "allreduce", name, size, "MPI_FLOAT", "MPI_SUM", 0, "latency", 1,
                               [factor * steady], True)
                    )  # fmt: skip
        benches[layout] = bench
    found = decide_all(benches, dict.fromkeys(benches, 1))[HERE]
    assert "a" in found.borne["allreduce"][64] and "b" in found.ratios["allreduce"][64]
    assert found.chosen["allreduce"][64] == "b"


def test_what_is_never_borne_out_is_not_asked_for() -> None:
    around = Expected(0.2, 0.01)
    for seen in (6, 99, 100, 101, 150):
        assert around.launches(-0.3, 0.03, seen, 100) > 100
