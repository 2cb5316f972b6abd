"""Order statistics, rank tests and the control of false discoveries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.optimize import nnls

from stretto.campaign.kriged import non_negative
from stretto.measure import stats
from stretto.measure.stats import (
    benjamini_hochberg,
    median_interval,
    order_rank,
    paired_test,
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


def test_sign_test_and_midranks_equal_scipy() -> None:
    for wins in range(8):
        for losses in range(1, 8):
            expected = scipy_stats.binomtest(wins, wins + losses).pvalue
            assert stats.sign_test(wins, losses) == pytest.approx(expected)
    assert stats.sign_test(0, 0) == 1.0
    for values in ([3.0, 1.0, 3.0, 2.0], [1.0], [2.0, 2.0]):
        assert stats._midranks(values) == [int(2 * r) for r in scipy_stats.rankdata(values)]


def test_non_negative_squares_equal_scipy() -> None:
    random = np.random.default_rng(1)
    for _ in range(100):
        rows, columns = random.integers(1, 12, 2)
        matrix = random.random((rows, columns)) * 10.0 ** random.integers(-3, 3, columns)
        right = matrix @ np.maximum(random.normal(size=columns), 0) + random.random(rows) * 0.1
        found = non_negative(matrix, right)
        residual = float(np.linalg.norm(matrix @ found - right))
        assert found.min() >= 0
        assert residual <= nnls(matrix, right)[1] * (1 + 1e-6) + 1e-9


def test_tests_are_not_made_with_too_few() -> None:
    assert rank_sum_test([1] * 5, [2] * 6) is None
    assert signed_rank_test([1, 2, 3, 4, 5]) is None


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


def plain_rank_sum(a: list[float], b: list[float]) -> float:
    """The same by a whole table of sums: what takes a minute and a gigabyte with 192 launches."""
    ranks = sorted(int(2 * r) for r in scipy_stats.rankdata([*a, *b]))
    most = sum(ranks[-len(a) :])
    table = np.zeros((len(a) + 1, most + 1))
    table[0, 0] = 1.0
    for rank in ranks:
        table[1:, rank:] += table[:-1, : most + 1 - rank].copy()
    middle = len(a) * (len(ranks) + 1)
    far = abs(int(sum(2 * scipy_stats.rankdata([*a, *b])[: len(a)])) - middle)
    counts = np.asarray(table[len(a)])
    return float(counts[np.abs(np.arange(most + 1) - middle) >= far].sum() / counts.sum())


def plain_signed_rank(differences: list[float]) -> float:
    """The same by a dictionary of sums."""
    ranks = [int(2 * r) for r in scipy_stats.rankdata([abs(d) for d in differences])]
    observed = sum(r for r, d in zip(ranks, differences, strict=True) if d > 0)
    counts = {0: 1}
    for rank in ranks:
        grown = dict(counts)
        for s, c in counts.items():
            grown[s + rank] = grown.get(s + rank, 0) + c
        counts = grown
    far = abs(2 * observed - sum(ranks))
    extreme = sum(c for s, c in counts.items() if abs(2 * s - sum(ranks)) >= far)
    return float(extreme / 2 ** len(ranks))


@pytest.mark.parametrize("digits", (2, 12))
def test_exact_tests_are_bit_for_bit_those_of_all_sums(digits: int) -> None:
    """With ties (two digits) and without."""
    random = np.random.default_rng(7)
    for n, m in ((6, 6), (7, 11), (12, 12), (13, 9), (29, 30), (44, 40)):
        a = [round(x, digits) for x in random.lognormal(0.0, 0.1, n)]
        b = [round(x, digits) for x in random.lognormal(0.06, 0.1, m)]
        assert rank_sum_test(a, b) == plain_rank_sum(a, b)
        differences = [x - y for x, y in zip(a, b, strict=False) if x != y]
        if len(differences) >= 6:
            assert signed_rank_test(differences) == plain_signed_rank(differences)


def test_tests_of_very_many_launches_are_normal() -> None:
    random = np.random.default_rng(8)
    for digits in (2, 12):
        a = [round(x, digits) for x in random.lognormal(0.0, 0.1, 130)]
        b = [round(x, digits) for x in random.lognormal(0.02, 0.1, 130)]
        normal = scipy_stats.mannwhitneyu(a, b, method="asymptotic").pvalue
        # of ties the lattice of sums is half as wide as SciPy takes it
        assert rank_sum_test(a, b) == pytest.approx(normal, rel=0.003 if digits == 2 else 1e-9)
        d = [x - y for x, y in zip(a, b, strict=True) if x != y]
        normal = scipy_stats.wilcoxon(d, method="approx", correction=True).pvalue
        assert signed_rank_test(d) == pytest.approx(normal, rel=0.003 if digits == 2 else 1e-9)
    many = [1.0 + 0.001 * i for i in range(3000)]
    p = paired_test([0.99 * x for x in many], many)
    assert p is not None and p < 1e-100
    assert rank_sum_test([1.0] * 300, [1.0] * 300) == 1.0


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
