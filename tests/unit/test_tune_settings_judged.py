"""Settings are judged together: each one that is tried is a chance to be lucky."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stretto.files.settings import NATIVE, SettingRun, Tried
from stretto.files.verdict import GainInterval, Metric
from stretto.mpi.settings import Setting
from stretto.tune import settings, settings_together
from stretto.tune.settings_runs import SettingRuns


def judging(runs: list[SettingRun], tried: list[Tried]) -> SettingRuns:
    out = object.__new__(SettingRuns)
    out.o = SimpleNamespace(metric=Metric())  # type: ignore[assignment]
    out.file = SimpleNamespace(runs=runs, tried=tried)  # type: ignore[assignment]
    return out


def runs_of(name: str, factor: float, rounds: int, beside: str | None = None) -> list[SettingRun]:
    return [
        SettingRun(name, k, False, factor * (1 + 0.12 * k), 1.0, 0, beside=beside)
        for k in range(rounds)
    ]


@pytest.mark.parametrize("dropped", [0, 1])
def test_settings_that_were_dropped_count_in_the_family(dropped: int) -> None:
    """p = 0.026 is enough for one that is tried alone, and not for one of two."""
    names = ["A=1", "A=2"][: 1 + dropped]
    tried = [Tried(n, "", {}) for n in names]
    runs = [*runs_of(NATIVE, 1.0, 6), *runs_of("A=1", 0.75, 6)]
    runs += runs_of("A=2", 1.2, 2) if dropped else []
    faster = settings.judge_all(judging(runs, tried), [Setting(n, "", ()) for n in names])
    assert [t.name for t in faster] == ([] if dropped else ["A=1"])
    assert [t.outcome for t in tried] == (["inconclusive", "dropped"] if dropped else ["faster"])


@pytest.mark.parametrize("rounds", [6, 8])
def test_a_combination_is_one_of_several_chances(rounds: int) -> None:
    best, together = Tried("A=1", "", {}), Tried("A=1,B=1", "", {})
    runs = [
        run
        for name, factor in ((NATIVE, 1.0), ("A=1", 0.8), ("A=1,B=1", 0.6))
        for run in runs_of(name, factor, rounds, beside="A=1,B=1")
    ]
    assert settings_together.is_faster(judging(runs, [best, together]), best, together) is (
        rounds == 8
    )


@pytest.mark.parametrize(
    ("rounds", "others", "said", "outcome"),
    [
        (2, 0.0, "inconclusive: of 1 setting 1 looked no faster in 3 rounds", "inconclusive"),
        (6, 0.0, "no setting was faster", "same"),
        (6, 0.5, "the machine was busy: others used 50%", "inconclusive"),
    ],
)
def test_what_was_dropped_untested_is_no_proof(
    rounds: int, others: float, said: str, outcome: str
) -> None:
    """Three rounds on a busy machine were told as "no setting was faster"."""
    names = ["A=1", "A=2"][: 1 if rounds < 6 else 2]
    tried = [Tried(n, "", {}) for n in names]
    runs = [*runs_of(NATIVE, 1.0, 6), *runs_of("A=1", 1.2, 2), *runs_of("A=2", 1.001, rounds)]
    for run in runs:
        run.others = others
    made = judging([r for r in runs if r.setting in (NATIVE, *names)], tried)
    if rounds == 6:
        tried[1].outcome, tried[1].gain = "same", GainInterval(-0.01, 0.0, 0.01, 1.0)
        tried[0].outcome = "dropped"
    else:
        assert not settings.judge_all(made, [Setting(n, "", ()) for n in names])
    words, found = settings.nothing_faster(made)
    assert said in words and found == outcome
