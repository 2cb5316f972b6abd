"""Comparisons from synthetic campaigns: known differences, ties, noise, bimodal launches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stretto.files.bench import Bench, Excluded, Header, Launch, Record, Sample
from stretto.files.identity import Host, MPIIdentity
from stretto.measure.compare import (
    Comparison,
    compare,
    compare_times,
    decisive,
    timings,
)
from stretto.measure.reference import Timed, exponent, leaves_messages
from stretto.measure.stats import (
    pair_rank,
    paired_test,
    rank_sum_test,
    ratio_apart,
    signed_rank_test,
)


def campaign(
    times: dict[tuple[str, int, str], float],
    launches: int = 6,
    noise: float = 0.01,
    between: float = 0.0,
    seed: int = 0,
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
            found = [float(v) for v in values]
            what = collective, name, size, "MPI_DOUBLE", "MPI_SUM", 0, mode
            records.append(Sample(launch, *what, 10, found, True))
    host = Host("h", "c", 2, "k", 1)
    return Bench(Header("0", "t", host, MPIIdentity("openmpi", "openmpi", "4"), []), records)


def by_name(found: list[Comparison]) -> dict[str, Comparison]:
    return {c.candidate: c for c in found}


def of_times(native: float, **others: float) -> dict[tuple[str, int, str], float]:
    """Return times at 8 bytes, in calls in a row."""
    return {(name, 8, "throughput"): us for name, us in {"native": native, **others}.items()}


def shm(us: float, launches: int = 6, **more: Any) -> Comparison:
    """Return how a candidate compares with native, which takes 1 us."""
    found = compare(timings(campaign(of_times(1.0, shm=us), launches, **more)))
    return by_name(found)["shm"]


def test_a_known_difference_is_found_with_its_size() -> None:
    c = shm(0.5)
    assert c.outcome == "faster"
    assert c.ratio.median == pytest.approx(0.5, rel=0.02)
    assert c.ratio.low is not None and c.ratio.high is not None
    assert c.ratio.low <= 0.5 * 1.02 and c.ratio.high >= 0.5 * 0.98


def test_equal_candidates_in_noise_are_the_same() -> None:
    found = [shm(1.0, noise=0.3, seed=seed).outcome for seed in range(60)]
    assert sum(x in ("faster", "slower") for x in found) <= 5


def test_wrong_results_and_excluded_candidates_have_no_times() -> None:
    bench = campaign(of_times(1.0, ring=0.1, shm=0.1))
    next(s for s in bench.samples if s.candidate == "ring").correct = False
    bench.records.append(Excluded(5, "allreduce", "shm", 8, "hung"))
    assert set(next(iter(timings(bench).values()))) == {"native"}


def test_the_ratio_of_launches_apart_is_that_of_all_pairs() -> None:
    a = [10.2, 11.4, 21.0, 11.1, 21.3, 20.8, 20.9, 11.0, 21.1, 11.3]
    b = [10.0, 10.1, 20.3, 10.2, 10.3, 10.05, 20.1, 9.9, 10.15, 10.25, 9.95]
    found, _, p, paired = compare_times(dict(enumerate(a)), {i + 99: t for i, t in enumerate(b)})
    logs = [math.log(x / y) for x in a for y in b]
    assert found.median == pytest.approx(math.exp(np.median(logs))) and not paired
    assert found.n == 10 and p == rank_sum_test(a, b)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(a)
        other = compare_times(dict(enumerate(order)), {i + 99: t for i, t in enumerate(b)})
        assert (other[0], other[2]) == (found, p)
    back = ratio_apart(b, a)
    assert back.low is not None and found.high is not None
    assert (1 / back.median, 1 / back.low) == pytest.approx((found.median, found.high))
    few = ratio_apart(a[:5], b)
    assert (few.low, few.high, few.n) == (None, None, 5)
    untested = compare_times({0: 1.0}, {9: 2.0}, test=False)
    assert untested[0].median == 0.5 and untested[2] is None


def test_the_interval_of_launches_apart_agrees_with_their_test() -> None:
    # as R's qwilcox(0.025, n, m)
    sizes = {(6, 6): 6, (8, 8): 14, (10, 10): 24, (12, 12): 38, (6, 12): 15, (12, 6): 15}
    assert {k: pair_rank(*k) for k in sizes} == sizes
    assert pair_rank(100, 101) == pytest.approx(pair_rank(100, 100) * 1.01, rel=0.002)
    random = np.random.default_rng(2)
    for _ in range(200):
        a, b = (list(np.exp(random.normal(m, 0.3, random.integers(6, 14)))) for m in (0.3, 0))
        found, p = ratio_apart(a, b), rank_sum_test(a, b)
        assert found.low is not None and found.high is not None and p is not None
        assert (p <= 0.05) == (not found.low <= 1 <= found.high)


def test_the_other_mode_has_a_veto() -> None:
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


def test_many_lopsided_pairs_are_told_by_their_signs() -> None:
    luck = [10.0 ** (i * 7 % 40) for i in range(40)]
    lopsided = [1.2 if i % 4 == 0 else -0.3 for i in range(40)]
    mine = [b * math.exp(d) for b, d in zip(luck, lopsided, strict=True)]
    ranks, both = signed_rank_test(lopsided), paired_test(mine, luck)
    assert ranks is not None and both is not None and both < 0.01 < ranks
    even = [b * math.exp(0.5 if i % 2 else -0.5) for i, b in enumerate(luck)]
    assert paired_test(even, luck) == 1.0 and paired_test(even[:5], luck[:5]) is None


def test_pairs_are_told_by_what_tells_them() -> None:
    luck = [1.0, 3.0, 1.5, 9.0, 2.0, 6.0, 4.5, 1.2, 7.0]
    for n in (6, 7, 8, 9):
        a, b = [0.9 * x for x in luck[:n]], luck[:n]
        told = rank_sum_test(a, b) if n < 8 else pytest.approx(2 / 2**n)
        assert paired_test(a, b) == paired_test(b, a) == told
    assert paired_test([0.0] * 9, luck) == rank_sum_test([0.0] * 9, luck), "no logarithm"
    far = [0.01 * x for x in luck[:6]]
    assert paired_test(far, luck[:6]) == rank_sum_test(far, luck[:6]) == pytest.approx(2 / 924)
    calm = [1.0 + 0.001 * i for i in range(12)]
    wild = [1.3 + 0.2 * (i % 3) for i in range(12)]
    assert paired_test(calm, wild) == pytest.approx(2 * rank_sum_test(calm, wild))  # type: ignore[operator]
    # Rounds in which all is five times slower for a while hide no pair that agrees with the others.
    hours = [5.0 if 3 <= i < 7 else 1.0 for i in range(13)]
    assert paired_test([0.45 * x for x in hours], hours) == pytest.approx(2 / 2**13)


def test_pairs_without_a_difference_are_seldom_told_apart() -> None:
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


def test_settings_of_messages_are_not_compared_by_messages() -> None:
    for name in (
        "native", "bare", "stretto", "shm", "native:I_MPI_ADJUST_ALLREDUCE=3",
        "native:coll_han_priority=100,OMPI_MCA_coll_tuned_use_dynamic_rules=1",
        "natives:coll_han_priority=0", "native:MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM=auto",
        "native:MPIR_CVAR_DEVICE_COLLECTIVES=none",
    ):  # fmt: skip
        assert leaves_messages(name), name
    for name in (
        "native:btl_tcp_links=8", "native:coll_han_priority=100,btl_tcp_eager_limit=1000000",
        "native:I_MPI_FABRICS=ofi", "native:UCX_TLS=tcp", "native:MPIR_CVAR_CH4_MT_MODEL=direct",
    ):  # fmt: skip
        assert not leaves_messages(name), name


def test_the_reference_counts_as_far_as_it_has_the_same_luck() -> None:
    luck = [0.0, 0.4, -0.3, 0.1, 0.9, -0.2, 0.3]
    own = [0.02, -0.01, 0.0, 0.03, -0.02, 0.01, -0.03]

    def timed(us: float, share: float, of: float) -> list[Timed]:
        return [
            Timed(us * math.exp(x + y), 20 * math.exp(share * x + of * y))
            for x, y in zip(luck, own, strict=True)
        ]

    assert exponent([]) == exponent([[Timed(3.0, 20.0)]]) == 1.0, "nothing else is known"
    assert exponent([timed(100, 1.0, -1.0), timed(7, 1.0, 1.0)]) == pytest.approx(1.0, abs=0.06)
    assert exponent([timed(100, 2.0, 0.0)]) == pytest.approx(0.5, abs=0.05)
    assert exponent([timed(100, -1.0, 0.0)]) == 0.0
    elsewhere = [
        Timed(100 * math.exp(x), 20 * math.exp(30 * y)) for x, y in zip(luck, own, strict=True)
    ]
    assert exponent([elsewhere]) < 0.3, "luck of its own"
    # who is faster, and by how much, has no say
    a, b = timed(100, 0.8, 1.0), timed(900, 0.8, -1.0)
    assert exponent([a, b]) == pytest.approx(exponent([a, [Timed(t / 9, r) for t, r in b]]))
