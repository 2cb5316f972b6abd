"""Order statistics, rank tests and the control of false discoveries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from stretto.campaign.stats import (
    benjamini_hochberg,
    median_interval,
    order_rank,
    rank_sum_test,
    signed_rank_test,
)


def test_interval_needs_six_values() -> None:
    assert median_interval([1, 2, 3, 4, 5]).low is None
    six = median_interval([6, 1, 2, 5, 3, 4])
    assert (six.low, six.median, six.high) == (1, 3.5, 6)


@pytest.mark.parametrize("n", range(1, 200))
def test_order_rank_covers_and_is_tight(n: int) -> None:
    k = order_rank(n)
    if k is None:
        assert 2 * 0.5**n > 0.05
        return
    assert 1 - 2 * scipy_stats.binom.cdf(k - 1, n, 0.5) >= 0.95
    assert 1 - 2 * scipy_stats.binom.cdf(k, n, 0.5) < 0.95


def test_interval_covers_the_median_of_skewed_data() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        found = median_interval(list(random.exponential(size=15)))
        assert found.low is not None and found.high is not None
        hits += found.low <= np.log(2) <= found.high
    assert hits / 400 > 0.93


def test_rank_sum_equals_scipy_without_ties() -> None:
    random = np.random.default_rng(2)
    for shift in (0.0, 0.5, 2.0):
        a, b = random.normal(size=7), random.normal(shift, size=9)
        expected = scipy_stats.mannwhitneyu(a, b, method="exact").pvalue
        assert rank_sum_test(list(a), list(b)) == pytest.approx(expected)


def test_rank_sum_of_six_that_do_not_overlap() -> None:
    assert rank_sum_test([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]) == pytest.approx(2 / 924)


def test_rank_sum_with_ties_equals_all_divisions() -> None:
    a, b = [1, 1, 2, 2, 3, 3], [1, 2, 2, 3, 3, 3]
    expected = scipy_stats.permutation_test(
        (a, b),
        lambda x, y: scipy_stats.rankdata(np.concatenate([x, y]))[: len(x)].sum(),
        n_resamples=np.inf,
        alternative="two-sided",
    ).pvalue
    assert rank_sum_test(a, b) == pytest.approx(expected, abs=0.02)
    assert rank_sum_test([5.0] * 6, [5.0] * 6) == 1


def test_tests_are_not_made_with_too_few() -> None:
    assert rank_sum_test([1] * 5, [2] * 6) is None
    assert signed_rank_test([1, 2, 3, 4, 5]) is None


def test_signed_rank_equals_scipy() -> None:
    random = np.random.default_rng(3)
    for shift in (0.0, 0.3, 1.0):
        d = random.normal(shift, size=12)
        expected = scipy_stats.wilcoxon(d, method="exact").pvalue
        assert signed_rank_test(list(d)) == pytest.approx(expected)
    assert signed_rank_test([0.0] * 8) == 1
    assert signed_rank_test([1.0] * 6) == pytest.approx(2 / 64)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30))
@settings(max_examples=200, deadline=None)
def test_benjamini_hochberg_properties(ps: list[float | None]) -> None:
    qs = benjamini_hochberg(ps)
    assert [q is None for q in qs] == [p is None for p in ps]
    pairs = sorted((p, q) for p, q in zip(ps, qs, strict=True) if p is not None and q is not None)
    assert all(p <= q <= 1 for p, q in pairs)
    assert all(x[1] <= y[1] for x, y in itertools.pairwise(pairs))
    given_ps = [p for p in ps if p is not None]
    if given_ps:
        expected = scipy_stats.false_discovery_control(given_ps)
        assert [q for q in qs if q is not None] == pytest.approx(list(expected))


def test_false_claims_stay_rare() -> None:
    """Twenty comparisons of equal candidates: a claim in hardly any campaign."""
    random = np.random.default_rng(4)
    campaigns = 200
    claims = 0
    for _ in range(campaigns):
        ps = [
            rank_sum_test(list(random.normal(size=6)), list(random.normal(size=6)))
            for _ in range(20)
        ]
        claims += any(q is not None and q < 0.05 for q in benjamini_hochberg(ps))
    assert claims / campaigns <= 0.07
