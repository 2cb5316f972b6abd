"""The luck of launches, as all candidates and neighbouring sizes in them tell it."""

from __future__ import annotations

import math
import random

import pytest

import sweeps
from stretto.campaign.layout import Layout
from stretto.campaign.levelled import levelled, of_launches
from stretto.campaign.times import Seen, Shape, medians

SIZES = (8, 64, 512, 4096)
TRUE = {"native": 100.0, "bare": 100.0, "shm": 80.0, "ring": 90.0, "native:coll_A=1": 70.0}
OURS, THEIRS = ("native", "shm"), ("bare", "native:coll_A=1")
LUCK = ([1.0, 1.4, 0.8, 1.1, 0.9, 1.6], [1.3, 0.9, 1.0, 0.7, 1.5, 1.2])


def seen_of(
    own: dict[tuple[int, str, int], float], once: tuple[str, ...] = (), rounds: int = 6
) -> Seen:
    """Six rounds of two launches, at all sizes.

    Parameters
    ----------
    own
        By size, candidate and round: what it has of its own, as a factor.
    once
        Candidates that are measured in the first round only.
    """
    launches = {
        2 * r + kind: {
            (z, n): TRUE[n] * LUCK[kind][r] * own.get((z, n, r), 1.0) * z**0.1
            for z in SIZES
            for n in (*names, *(once if r == kind == 0 else ()))
        }
        for r in range(rounds)
        for kind, names in enumerate((OURS, THEIRS))
    }
    found = medians(sweeps.bench_of("allreduce", launches, Layout(2, 1)), 2)
    assert isinstance(found, Seen)
    return found


def shape_at(seen: Seen, size: int) -> Shape:
    return next(s for s in seen if s[1] == size)


def ratios(seen: Seen, size: int) -> dict[str, list[float]]:
    """Times without luck, over those that they would be with no luck at all."""
    level = levelled(seen, shape_at(seen, size))
    out = {n: [t / TRUE[n] / size**0.1 for t in times.values()] for n, times in level.items()}
    usual = out["shm"][-1]
    return {n: [x / usual for x in found] for n, found in out.items()}


def test_a_launchs_luck_is_taken_out_of_all_that_was_measured_in_it() -> None:
    found = ratios(seen_of({}, once=("ring",)), 64)
    assert {n: len(x) for n, x in found.items()} == {
        "native": 6, "shm": 6, "ring": 1, "bare": 6, "native:coll_A=1": 6,
    }  # fmt: skip
    assert all(x == pytest.approx(1.0) for times in found.values() for x in times)


def test_what_native_alone_had_at_one_size_is_no_luck_of_the_launch() -> None:
    restless = {(64, "native", r): f for r, f in enumerate([1.8, 0.9, 0.6, 1.9, 1.1, 0.5])}
    found = ratios(seen_of(restless, once=("ring",)), 64)
    assert found["ring"] == [pytest.approx(1.0, rel=0.02)]
    assert all(x == pytest.approx(1.0, rel=0.02) for x in found["shm"])
    assert 3.6 < max(found["native"]) / min(found["native"]) < 4.4, "its own"
    apart = found["native:coll_A=1"]
    assert all(x == pytest.approx(1.0, rel=0.1) for x in apart), "nor of the other launches"


def test_noise_of_each_ones_own_is_left_to_each() -> None:
    chance = random.Random(4)
    own = {
        (z, n, r): math.exp(chance.gauss(0, 0.03)) for z in SIZES for n in TRUE for r in range(6)
    }
    seen = seen_of(own, once=("ring",))
    for size in SIZES:
        for name, found in ratios(seen, size).items():
            assert all(abs(math.log(x)) < 0.2 for x in found), (size, name, found)


def test_two_alone_show_half_of_what_each_has_of_its_own_and_it_is_made_up_for() -> None:
    chance = random.Random(5)
    own = {(64, n, r): math.exp(chance.gauss(0, 0.2)) for n in OURS for r in range(6)}
    seen = seen_of(own)
    for size in set(SIZES) - {64}:  # no other size tells anything
        del seen.raw[shape_at(seen, size)]
    shape = shape_at(seen, 64)
    level = levelled(seen, shape)
    truth = [own[64, "shm", r] / own[64, "native", r] for r in range(6)]
    found = [level["shm"][r] / level["native"][r] for r in range(6)]
    assert max(found) / min(found) >= max(truth) / min(truth), "no surer than they are"


def test_levelled_one_launch_of_each_says_nothing_of_its_luck() -> None:
    seen = seen_of({}, rounds=1)
    shape = shape_at(seen, 64)
    assert not of_launches(seen, shape)
    assert levelled(seen, shape) == seen[shape]
