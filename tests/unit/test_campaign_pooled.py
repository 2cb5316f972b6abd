"""The fit over sizes and layouts, and the elimination and the choice that rest on it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

import sweeps
from stretto.campaign.decide import decide_all
from stretto.campaign.elimination import remaining, shape_of
from stretto.campaign.kriged import FitPoint, location
from stretto.campaign.layout import Layout, ordered, teachers
from stretto.campaign.pooled import estimates
from stretto.campaign.times import Medians
from stretto.files.bench import Bench
from stretto.measure.settings import Case, Settings, make_case, variants_of

SIZES = (8, 24, 128, 1000, 4096, 36000, 131072)
LAYOUTS = tuple(Layout(n, p) for n in (2, 4, 8) for p in (1, 3, 8))


def time_us(point: FitPoint, latency: float, bandwidth: float) -> float:
    rounds = math.log2(point.nodes) + 0.5 * math.log2(point.ppn) ** 1.3
    return 1 + latency * rounds + point.bytes / bandwidth * (1 + 0.2 * rounds)


def points(layouts: tuple[Layout, ...] = LAYOUTS) -> list[FitPoint]:
    return [FitPoint(x.nodes, x.ppn, size) for x in layouts for size in SIZES]


def test_a_smooth_surface_is_recovered_under_noise() -> None:
    chance = random.Random(3)
    seen: dict[FitPoint, tuple[float, ...]] = {}
    for p in points():
        noise = chance.expovariate(1 / 0.1) if chance.random() < 0.5 else -0.01 * chance.random()
        seen[p] = (time_us(p, 5, 4000) * math.exp(noise),)
    worst = max(abs(math.log(t[0] / time_us(p, 5, 4000))) for p, t in seen.items())
    assert worst > 0.25, "the noise is worth its name"
    found = estimates({"a": seen}, points())["a"]
    errors = [abs(e.mean - math.log(time_us(p, 5, 4000))) for p, e in found.items()]
    assert sorted(errors)[len(errors) // 2] < 0.06 and max(errors) < 0.2 < worst
    inside = [e < 3 * found[p].sd for e, p in zip(errors, found, strict=True)]
    assert sum(inside) >= 0.9 * len(inside)
    between = FitPoint(4, 2, 10000)
    guess = estimates({"a": seen}, [between])["a"][between]
    assert abs(guess.mean - math.log(time_us(between, 5, 4000))) < max(3 * guess.sd, 0.1)
    far = FitPoint(512, 64, 1 << 26)
    assert estimates({"a": seen}, [far])["a"][far].sd > 2 * guess.sd, "beyond, it knows less"


def test_launches_lie_where_the_calm_ones_are() -> None:
    calm, wild = location((10.0,) * 6), location((10.0, 10.1, 10.0, 17.0, 10.1, 25.0))
    assert abs(calm[0] - math.log(10)) < 1e-9 and abs(wild[0] - math.log(10)) < 0.02
    assert location((10.0,))[1] > location((10.0, 10.0))[1] > calm[1] > 0
    assert wild[1] > calm[1]


def test_launches_of_two_kinds_are_as_uncertain_as_they_are() -> None:
    chance = random.Random(5)
    found, told = [], []
    for _ in range(300):
        at, sd = location(tuple(chance.choice((7.5, 13.5)) for _ in range(16)))
        found.append(at)
        told.append(sd)
    spread = (sum((x - math.log(10)) ** 2 for x in found) / len(found)) ** 0.5
    assert sum(told) / len(told) > 0.5 * spread
    one_off = location((*[10.0 + 0.01 * k for k in range(15)], 25.0))
    assert one_off[1] < 0.05, "one launch far away does not make it so"


@pytest.mark.parametrize(
    "seen",
    [
        {},
        {FitPoint(2, 1, 8): (5.0,)},
        {FitPoint(2, 1, s): (0.0,) for s in SIZES},
        {FitPoint(2, 1, s): () for s in SIZES},
        {FitPoint(2, 1, s): (5.0,) for s in SIZES[:3]},
    ],
)
def test_too_little_is_not_fitted(seen: dict[FitPoint, tuple[float, ...]]) -> None:
    assert estimates({"a": seen}, [FitPoint(2, 1, 8)]) == {}
    assert estimates({"a": seen}, []) == {}


@pytest.mark.parametrize(
    "seen",
    [
        {FitPoint(2, 1, s): (5.0,) * 6 for s in SIZES},
        {FitPoint(3, 7, s): (1e-3,) for s in (0, 1, 3, 5, 7)},
        {FitPoint(1, 1, s): (1e9, 1e-3) for s in SIZES},
        {FitPoint(n, 1, 8): (float(n),) for n in (1, 2, 3, 5, 6, 7)},
        {FitPoint(n, p, s): (4.0,) for n in (1, 3) for p in (1, 5) for s in (1 << 33, 1 << 34)},
    ],
)
def test_odd_measurements_are_fitted_without_a_fault(
    seen: dict[FitPoint, tuple[float, ...]],
) -> None:
    for e in estimates({"a": seen}, sorted(seen))["a"].values():
        assert math.isfinite(e.mean) and math.isfinite(e.sd) and e.sd > 0


NAMES = {"a": (4.0, 3000), "b": (6.0, 9000), "c": (30.0, 500), "d": (4.2, 1000), "e": (9.0, 8000)}
CASES = tuple(make_case("allreduce", s, ("native", *NAMES)) for s in SIZES)
Noise = Callable[[Layout, int, str, int], float]


def settings_of(layout: Layout, rounds: int = 12) -> Settings:
    return Settings(layout.nranks, CASES, variants_of(CASES), ppn=layout.ppn, launches=rounds)


def true_us(layout: Layout, size: int, name: str) -> float:
    latency, bandwidth = NAMES.get(name, (12.0, 1500))
    return time_us(FitPoint(layout.nodes, layout.ppn, size), latency, bandwidth)


def rounds_of(
    layout: Layout,
    others: dict[Layout, Medians],
    noise: Noise,
    cases: tuple[Case, ...] = CASES,
    rounds: int = 24,
) -> tuple[Medians, list[dict[int, set[str]]]]:
    """Measure a layout as a campaign would; return its times, and who was in each round."""
    settings = Settings(layout.nranks, cases, variants_of(cases), ppn=layout.ppn, launches=rounds)
    times: dict[tuple[str, int, str, str, int], dict[str, dict[int, float]]] = {}
    measured = []
    for turn in range(rounds):
        found = remaining(settings, layout, times, others)
        measured.append({c.bytes: set(c.candidates) for c in found.cases})
        for case in found.cases:
            assert "native" in case.candidates, "the native choice is never dropped"
            for name in case.candidates:
                us = true_us(layout, case.bytes, name) * noise(layout, case.bytes, name, turn)
                times.setdefault(shape_of(case), {}).setdefault(name, {})[turn] = us
    return times, measured


def campaign(
    noise: Noise, layouts: tuple[Layout, ...] = LAYOUTS
) -> tuple[dict[Layout, Medians], int]:
    """Measure layouts as a campaign would; return the times and how many cells that took."""
    order = ordered(layouts)
    done: dict[Layout, Medians] = {}
    cells = 0
    for layout in order:
        others = {x: done[x] for x in teachers(layout, order)}
        done[layout], measured = rounds_of(layout, others, noise)
        cells += sum(len(names) for sizes in measured for names in sizes.values())
    return done, cells


def lost(done: dict[Layout, Medians]) -> list[float]:
    """By how much the best that was measured to the end is slower than the best of all."""
    out = []
    for layout, times in done.items():
        for shape, seen in times.items():
            kept = [n for n, t in seen.items() if len(t) >= 6 and n != "native"]
            best = min(true_us(layout, shape[1], n) for n in NAMES)
            least = min((true_us(layout, shape[1], n) for n in kept), default=math.inf)
            if best < 0.9 * true_us(layout, shape[1], "native"):
                out.append(least / best - 1)
    return out


def test_the_best_is_never_dropped_without_noise() -> None:
    done, cells = campaign(lambda layout, size, name, turn: 1.0, LAYOUTS[:4])
    found = lost(done)
    assert len(found) > 15 and max(found) < 0.03, "but for ties"
    assert cells < 0.7 * len(done) * len(CASES) * 6 * 6, "and much is spared"


@pytest.mark.long
def test_the_best_is_kept_under_noise() -> None:
    def noise(layout: Layout, size: int, name: str, turn: int) -> float:
        chance = random.Random(f"{layout} {size} {name} {turn}")
        return math.exp(chance.expovariate(12) if chance.random() < 0.5 else 0.0)

    found = lost(campaign(noise)[0])
    assert len(found) > 40 and max(found) < 0.1


def test_elimination_who_is_excluded_is_no_yardstick() -> None:
    layout = Layout(4, 3)
    others = {
        x: {shape_of(c): {n: dict.fromkeys(range(6), true_us(x, c.bytes, n)) for n in NAMES}
            for c in CASES}
        for x in (Layout(2, 1), Layout(8, 8), Layout(2, 8))
    }  # fmt: skip
    times: Medians = {
        shape_of(c): {n: {0: true_us(layout, c.bytes, n)} for n in ("native", "b", "d", "e")}
        for c in CASES
    }
    gone = {("allreduce", "a")}
    found = remaining(settings_of(layout), layout, times, others, None, gone)
    first = next(c for c in found.cases if c.bytes == 8)
    assert "d" in first.candidates, "second to the one that fails"


def test_elimination_obeys_prices_and_judges_a_single_size_by_its_launches() -> None:
    layout = Layout(2, 1)
    why = {shape_of(c): {"a": "priced", "native": "never"} for c in CASES}
    found = remaining(settings_of(layout), layout, {}, {}, why)
    assert all("a" not in c.candidates and "native" in c.candidates for c in found.cases)
    assert {d.why for d in found.dropped if d.candidate == "a"} == {"priced"}
    _, measured = rounds_of(layout, {}, lambda *of: 1.0, CASES[:1])
    assert measured[0][8] == {"native", *NAMES}
    assert "a" in measured[3][8] and "c" not in measured[3][8]
    assert not measured[-1], "and it ends"


def bench_of(layout: Layout, us: Callable[[int, str, int], float]) -> Bench:
    launches = {
        k: {(size, name): us(size, name, k) for size in SIZES for name in ("native", "a", "b")}
        for k in range(8)
    }
    return sweeps.bench_of("allreduce", launches, layout)


WHERE, ODD = Layout(4, 3), 4096


def chosen_at(odd: dict[str, list[float]]) -> dict[int, str]:
    """The choices on a layout where one size's launches of a candidate are odd, by a factor."""
    base = {"native": 100.0, "a": 50.0, "b": 54.0}

    def us(layout: Layout, size: int, name: str, launch: int) -> float:
        steady = base[name] * (1 + size / 5000) * layout.nodes * (1 + 0.004 * (launch % 3))
        return steady * (odd[name][launch] if (layout, size) == (WHERE, ODD) else 1.0)

    benches = {
        x: bench_of(x, lambda size, name, launch, x=x: us(x, size, name, launch))  # type: ignore[misc]
        for x in LAYOUTS
    }
    found = decide_all(benches, dict.fromkeys(benches, 1))
    return found[WHERE].chosen["allreduce"]


CALM = [1.0] * 8


def test_decide_disturbed_launches_and_slow_ones_are_told_apart() -> None:
    odd = {"native": CALM, "b": CALM, "a": [1.0, 1.0, 1.0, 1.13, 1.12, 1.14, 1.12, 1.13]}
    assert set(chosen_at(odd).values()) == {"a"}
    odd = {"native": CALM, "b": CALM, "a": [1.3, 1.31, 1.32, 1.3, 1.31, 1.33, 1.3, 1.31]}
    assert chosen_at(odd)[ODD] == "b", "slower there in every launch, whatever other points say"
    slow = {"native": CALM, "b": [4.0, 1.0] * 4, "a": [1.0, 4.2] * 4}
    assert chosen_at(slow)[ODD] == "native", "half of the launches take twice what native takes"


def test_candidates_of_a_point_are_fitted_with_one_another_in_mind() -> None:
    chance = random.Random(11)
    odd, seen = FitPoint(4, 3, 1000), {}
    for name, latency in (("a", 5.0), ("b", 5.2), ("c", 5.6), ("d", 6.0)):
        seen[name] = {
            p: tuple(
                time_us(p, latency, 4000) * (1.4 if p == odd else 1.0) * math.exp(noise)
                for noise in [chance.gauss(0, 0.02) for _ in range(6)]
            )
            for p in points()
            if (name, p) != ("d", odd)
        }
    together, without = estimates(seen, [odd]), estimates({"d": seen["d"]}, [odd])
    for name, latency in (("a", 5.0), ("d", 6.0)):
        true = math.log(1.4 * time_us(odd, latency, 4000))
        assert abs(together[name][odd].mean - true) < 0.05, name
    assert abs(without["d"][odd].mean - true) > 0.2, "others alone tell it"
    assert estimates(seen, []) == {} and estimates({}, [odd]) == {}


def test_what_a_layout_has_in_common_is_no_candidates_own() -> None:
    chance = random.Random(12)
    seen: dict[str, dict[FitPoint, tuple[float, ...]]] = {}
    names = {f"c{i}": 5.0 * 1.04**i for i in range(8)}
    for i, (name, latency) in enumerate(names.items()):
        seen[name] = {}
        for p in points():
            here = (p.nodes, p.ppn) == (2, 1)
            times = [time_us(p, latency, 4000) * math.exp(chance.gauss(0, 0.03)) for _ in range(6)]
            seen[name][p] = tuple(t * (0.6 if here else 1) for t in times[: 1 if i % 2 else 6])
    found = estimates(seen, [p for p in points() if (p.nodes, p.ppn) == (2, 1)])
    for p in found["c0"]:
        told = [found[n][p].mean - math.log(time_us(p, x, 4000)) for n, x in names.items()]
        assert max(told) - min(told) < 0.07, p
        assert abs(sum(told) / len(told) - math.log(0.6)) < 0.15, "and it is put back on all"


def test_elimination_what_some_sizes_rule_out_is_not_measured_at_the_others() -> None:
    layout = Layout(4, 3)
    sizes = (8, 24, 128, 512, 1000, 4096, 16384, 36000, 131072)
    slow = [f"slow{i}" for i in range(20)]
    names = ("native", *NAMES, *slow)
    cases = tuple(make_case("allreduce", s, names) for s in sizes)
    times, measured = rounds_of(
        layout, {}, lambda layout, size, name, turn: 5.0 if name in slow else 1.0, cases
    )
    assert set(measured[0]) == {8, 128, 1000, 16384}, "every other one, the largest not among them"
    assert all(n == set(names) for n in measured[0].values())
    assert set(measured[1]) == set(sizes) == set(measured[5])
    for size in set(sizes) - set(measured[0]):
        assert not measured[1][size] & set(slow), size
        best = min(NAMES, key=lambda n: true_us(layout, size, n))
        assert best in measured[1][size] and best in measured[5][size], size
    assert not measured[8], "all is proven"
    _, elsewhere = rounds_of(Layout(4, 2), {layout: times}, lambda *of: 1.0, cases, 1)
    assert set(elsewhere[0]) == set(sizes), "where another layout tells, all begin"


def test_elimination_of_one_choice_for_all_sizes_judges_them_together() -> None:
    cases = tuple(make_case("alltoallv", s, ("native", *NAMES)) for s in SIZES)
    for some in (cases, cases[:2]):  # fitted, and as where nothing can be
        for found in rounds_of(Layout(4, 3), {}, lambda *of: 1.0, some)[1]:
            assert len({tuple(sorted(c)) for c in found.values()}) <= 1
            assert len(found) in (0, (len(some) - 1) // 2 + 1, len(some)), "none is done before"
