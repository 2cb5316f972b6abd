"""Comparisons from synthetic campaigns: known differences, ties, noise, bimodal launches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stretto.campaign.compare import Cell, Comparison, best, compare, decisive, timings
from stretto.campaign.stats import paired_test, rank_sum_test, signed_rank_test
from stretto.files.bench import Bench, Excluded, Header, Launch, Record, Sample
from stretto.files.identity import Host, MPIIdentity


def campaign(
    times: dict[tuple[str, int, str], float],
    launches: int = 6,
    noise: float = 0.01,
    between: float = 0.0,
    seed: int = 0,
    modes: dict[str, float] | None = None,
    collective: str = "allreduce",
) -> Bench:
    """Return results in which candidates have the given true medians (candidate, bytes, mode)."""
    random = np.random.default_rng(seed)
    names = sorted({c for c, _, _ in times})
    records: list[Record] = []
    for launch in range(launches):
        records.append(Launch(launch, 1, 2, 2, {collective: names}))
        shift = 1 + between * random.random()
        for (name, size, mode), true in times.items():
            values = true * shift * (1 + noise * np.abs(random.standard_normal(15)))
            records.append(
                Sample(
                    launch,
                    collective,
                    name,
                    size,
                    "MPI_DOUBLE",
                    "MPI_SUM",
                    0,
                    mode,
                    10,
                    [float(v) for v in values],
                    True,
                )
            )
    host = Host("h", "c", 2, "k", 1)
    return Bench(Header("0", "t", host, MPIIdentity("openmpi", "openmpi", "4"), []), records)


def by_name(found: list[Comparison]) -> dict[str, Comparison]:
    return {c.candidate: c for c in found}


def test_a_known_difference_is_found_with_its_size() -> None:
    bench = campaign({("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 0.5})
    c = by_name(compare(timings(bench)))["shm"]
    assert c.outcome == "faster"
    assert c.ratio.median == pytest.approx(0.5, rel=0.02)
    assert c.ratio.low is not None and c.ratio.high is not None
    assert c.ratio.low <= 0.5 * 1.02 and c.ratio.high >= 0.5 * 0.98


def test_a_difference_below_three_percent_is_no_claim() -> None:
    bench = campaign(
        {("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 0.98}, noise=0.0001
    )
    c = by_name(compare(timings(bench)))["shm"]
    assert c.q is not None and c.q < 0.05
    assert c.outcome == "same" and "not above 3%" in c.why


def test_five_launches_make_no_test_and_say_so() -> None:
    bench = campaign({("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 0.1}, launches=5)
    c = by_name(compare(timings(bench)))["shm"]
    assert c.p is None and c.outcome == "untested"
    assert "5 launches are too few" in c.why
    assert best([c]) is None


def test_equal_candidates_in_noise_are_the_same() -> None:
    claims = 0
    for seed in range(60):
        bench = campaign(
            {("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 1.0}, noise=0.3, seed=seed
        )
        claims += by_name(compare(timings(bench)))["shm"].outcome in ("faster", "slower")
    assert claims <= 5


def test_bimodal_launches_do_not_make_a_claim() -> None:
    """Native fast in some launches and slow in others, the candidate likewise: no difference."""
    bench = campaign({("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 1.0}, noise=0.001)
    for s in bench.samples:
        slow = s.launch % 2 == (s.candidate == "native")
        s.times_us = [t * (1.6 if slow else 1.0) for t in s.times_us]
    c = by_name(compare(timings(bench)))["shm"]
    assert c.outcome == "same"
    assert c.ratio.low is not None and c.ratio.low < 1 < (c.ratio.high or 0)


def test_many_launches_are_compared_in_pairs() -> None:
    """Launches differ by up to 3x, the candidate is 10% faster in each: only pairs can tell."""
    times = {("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 0.9}
    few = by_name(compare(timings(campaign(times, launches=7, between=2.0))))["shm"]
    many = by_name(compare(timings(campaign(times, launches=12, between=2.0))))["shm"]
    assert few.outcome == "same"
    assert many.outcome == "faster" and many.paired


def test_ties_are_no_difference() -> None:
    bench = campaign({("native", 8, "throughput"): 1.0, ("shm", 8, "throughput"): 1.0}, noise=0)
    c = by_name(compare(timings(bench)))["shm"]
    assert c.p == 1 and c.outcome == "same"


def test_wrong_results_and_excluded_candidates_have_no_times() -> None:
    bench = campaign(
        {
            ("native", 8, "throughput"): 1.0,
            ("ring", 8, "throughput"): 0.1,
            ("shm", 8, "throughput"): 0.1,
        }
    )
    next(s for s in bench.samples if s.candidate == "ring").correct = False
    bench.records.append(Excluded(5, "allreduce", "shm", 8, "hung"))
    assert set(next(iter(timings(bench).values()))) == {"native"}


def test_bare_launches_are_compared_as_independent() -> None:
    bench = campaign({("native", 8, "throughput"): 1.1})
    bare = campaign({("bare", 8, "throughput"): 1.0}, seed=1)
    for r in bare.records:
        r.launch += 100
    bench.records += bare.records
    c = by_name(compare(timings(bench)))["bare"]
    assert not c.paired
    assert c.outcome == "faster" and c.ratio.n == 6


def test_the_other_mode_has_a_veto() -> None:
    """A bcast whose root runs ahead: fast in a loop, slow for those who wait."""
    bench = campaign(
        {
            ("native", 8, "throughput"): 0.5,
            ("native", 8, "latency"): 0.6,
            ("ahead", 8, "throughput"): 0.3,
            ("ahead", 8, "latency"): 0.9,
            ("good", 8, "throughput"): 0.4,
            ("good", 8, "latency"): 0.6,
        }
    )
    times = timings(bench)
    found = by_name(decisive(compare(times), times))
    assert found["ahead"].outcome == "same" and "slower" in found["ahead"].why
    assert found["good"].outcome == "faster" and found["good"].cell.mode == "throughput"


def test_large_calls_are_decided_by_latency() -> None:
    bench = campaign(
        {
            ("native", 65536, "throughput"): 20,
            ("native", 65536, "latency"): 22,
            ("shm", 65536, "throughput"): 10,
            ("shm", 65536, "latency"): 15,
        }
    )
    times = timings(bench)
    (c,) = decisive(compare(times), times)
    assert c.cell == Cell("allreduce", 65536, "MPI_DOUBLE", "MPI_SUM", 0, "latency")
    assert c.ratio.median == pytest.approx(15 / 22, rel=0.02)


def test_the_best_is_the_fastest_of_the_significant() -> None:
    bench = campaign(
        {
            ("native", 8, "throughput"): 1.0,
            ("a", 8, "throughput"): 0.6,
            ("b", 8, "throughput"): 0.5,
            ("c", 8, "throughput"): 2.0,
        }
    )
    times = timings(bench)
    chosen = best(decisive(compare(times), times))
    assert chosen is not None and chosen.candidate == "b"


def test_many_lopsided_pairs_are_told_by_their_signs() -> None:
    """Three of four pairs are faster, the fourth much slower: no signed-rank test tells that."""
    luck = [10.0 ** (i * 7 % 40) for i in range(40)]
    lopsided = [1.2 if i % 4 == 0 else -0.3 for i in range(40)]
    mine = [b * math.exp(d) for b, d in zip(luck, lopsided, strict=True)]
    ranks, both = signed_rank_test(lopsided), paired_test(mine, luck)
    assert ranks is not None and both is not None and both < 0.02 < ranks
    even = [b * math.exp(0.5 if i % 2 else -0.5) for i, b in enumerate(luck)]
    assert paired_test(even, luck) == 1.0 and paired_test(even[:5], luck[:5]) is None


def test_pairs_are_told_by_what_tells_them() -> None:
    """Apart from luck by their ranks; beneath luck by their differences, once there are eight."""
    luck = [1.0, 3.0, 1.5, 9.0, 2.0, 6.0, 4.5, 1.2, 7.0]
    a, b = [0.9 * x for x in luck], luck
    assert paired_test(a[:7], b[:7]) == rank_sum_test(a[:7], b[:7])
    assert paired_test(a[:8], b[:8]) == pytest.approx(2 * 2 / 2**8)
    assert paired_test(b[:8], a[:8]) == paired_test(a[:8], b[:8])
    # Of one that is disturbed by itself pairs tell less than the two groups do.
    calm = [1.0 + 0.001 * i for i in range(12)]
    wild = [1.3 + 0.2 * (i % 3) for i in range(12)]
    assert paired_test(calm, wild) == pytest.approx(2 * rank_sum_test(calm, wild))  # type: ignore[operator]


def test_pairs_without_a_difference_are_seldom_told_apart() -> None:
    """As seldom as said, with the luck of launches and without it."""
    random = np.random.default_rng(3)
    for spread in (0.0, 0.3):
        for n in (6, 9, 12, 24):
            wrong = 0
            for _ in range(400):
                luck = spread * random.standard_t(3, n)
                a, b = (np.exp(luck + 0.1 * random.standard_t(3, n)) for _ in range(2))
                p = paired_test(list(a), list(b))
                assert p is not None
                wrong += p < 0.05
            assert wrong <= 32, (spread, n, wrong)  # 20 on average, 32 once in two hundred at most


def test_the_rank_sum_test_of_many_launches_is_the_exact_one() -> None:
    from scipy.stats import mannwhitneyu

    a, b = [1.0 + 0.37 * i for i in range(30)], [3.11 + 0.41 * i for i in range(36)]
    exact = mannwhitneyu(a, b, method="exact").pvalue
    assert rank_sum_test(a, b) == pytest.approx(exact, rel=1e-9)
