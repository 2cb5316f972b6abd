"""The regret that is told with a campaign's table, against the true one."""

from __future__ import annotations

import numpy as np

import sweeps
from stretto.campaign.decide import Decided
from stretto.campaign.layout import Layout
from stretto.campaign.regret import regret_words, regrets_of
from stretto.files.bench import Bench


def bench_of(times: dict[str, list[float]]) -> Bench:
    """A launch of all candidates a round; shorter lists: dropped since."""
    launches = {
        k: {(64, name): us[k] for name, us in times.items() if k < len(us)}
        for k in range(max(map(len, times.values())))
    }
    return sweeps.bench_of("allgather", launches, Layout(2, 2))


def told_and_true(spread: tuple[float, float], candidates: int, seeds: int) -> tuple[float, float]:
    """Mean regrets where the candidate with the least median of twelve launches is chosen."""
    told, true = [], []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        factors = random.uniform(*spread, candidates)
        luck = random.lognormal(0.0, 0.1, (candidates + 1, 12))
        times = {f"a{i}": list(20 * f * luck[i]) for i, f in enumerate(factors)}
        times["native"] = list(20 * luck[-1])
        best = int(np.argmin(np.median(luck[:-1] * factors[:, None], axis=1)))
        found = regrets_of(bench_of(times), 1, {"allgather": {64: f"a{best}"}})
        told.append(found["allgather"][64])
        true.append(factors[best] / min(factors) - 1)
    return float(np.mean(told)), float(np.mean(true))


def test_regret_estimated_is_not_less_than_the_true_one() -> None:
    for spread, candidates in (((0.7, 0.78), 10), ((0.7, 0.78), 3), ((0.5, 0.9), 6)):
        told, true = told_and_true(spread, candidates, 100)
        assert true <= told <= 3.5 * true, (spread, candidates, told, true)
    told, true = told_and_true((0.7, 0.7001), 10, 40)
    assert true < 0.001 and told < 0.05, "nothing but luck"


def test_what_was_dropped_early_is_no_best() -> None:
    calm, lucky = [10.0, 10.1] * 6, [1.0] * 5
    assert not regrets_of(bench_of({"a": calm, "b": lucky}), 1, {"allgather": {64: "a"}})
    found = regrets_of(bench_of({"a": calm, "b": [5.0] * 6}), 1, {"allgather": {64: "a"}})
    assert 1.0 < found["allgather"][64] < 1.03
    found = regrets_of(bench_of({"a": calm, "b": [20.0] * 6}), 1, {"allgather": {64: "a"}})
    assert found["allgather"][64] == 0.0


def test_regret_words_name_the_winners_curse() -> None:
    regrets = {"allgather": {8: 0.0, 64: 0.01, 512: 0.05}}
    assert regret_words([Decided(Layout(2, 2), [], {}, {}, regrets)]) == (
        "slower than the best of those still measured: median 1.0 %, at 95 % of 3 points at most "
        "5.0 %; this overestimates regret (winner's curse)"
    )
    regrets["allgather"] = {8 * i: 0.01 * i for i in range(1, 22)}
    many = regret_words([Decided(Layout(2, 2), [], {}, {}, regrets)])
    assert many is not None and "at 95 % of 21 points at most 20.0 %" in many
    assert regret_words([Decided(Layout(2, 2), [], {}, {})]) is None
