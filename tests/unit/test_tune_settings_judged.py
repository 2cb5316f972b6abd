"""Settings are judged together: each one that is tried is a chance to be lucky."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from stretto.files.settings import NATIVE, SettingRun, Tried
from stretto.files.verdict import GainInterval, Metric
from stretto.mpi.settings import Setting
from stretto.progress import Progress
from stretto.tune import settings, settings_together
from stretto.tune.outputs import Rules
from stretto.tune.settings_runs import SettingRuns


def judging(runs: list[SettingRun], tried: list[Tried]) -> SettingRuns:
    out = object.__new__(SettingRuns)
    out.o = SimpleNamespace(metric=Metric())  # type: ignore[assignment]
    out.file = SimpleNamespace(runs=runs, tried=tried)  # type: ignore[assignment]
    return out


def runs_of(name: str, factor: float, rounds: int, beside: str | None = None) -> list[SettingRun]:
    return [
        SettingRun(name, k, factor * (1 + 0.12 * k), 1.0, 0, beside=beside) for k in range(rounds)
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


@pytest.mark.parametrize(
    ("rounds", "chosen"), [(6, "A=1"), (8, "A=1,B=1")], ids=["too few", "enough"]
)
def test_a_combination_is_one_of_several_chances(
    rounds: int, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = [Tried("A=1", "", {"A": "1"}), Tried("B=1", "", {"B": "1"})]
    runs = [
        run
        for beside, factors in (
            ("A=1", {NATIVE: 1.0, "A=1": 0.6}),
            ("A=1,B=1", {NATIVE: 1.0, "A=1": 0.6, "A=1,B=1": 0.45}),
        )
        for name, factor in factors.items()
        for run in runs_of(name, factor, rounds, beside)
    ]
    made = judging(runs, list(tried))
    made.o.out, made.o.rules = tmp_path, Rules()
    made.file.setting = None
    monkeypatch.setattr(made, "say", print)
    monkeypatch.setattr(made, "turns", lambda *of, **more: None)
    first, *others = settings_together.choose(made, tried, rounds, Progress("", quiet=True))
    assert made.file.setting == chosen
    assert first.startswith(f"{chosen}: gain in new runs") and "stretto run applies it" in first
    assert others and not any(
        "applies it" in text or text.startswith(f"{chosen}:") for text in others
    )


def test_a_failed_run_of_a_setting_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first round was run twice in one start; a native one is, as all settings need it."""
    lost = [SettingRun(n, 0, None, 1.0, 1) for n in ("A=1", NATIVE)]
    made = judging(lost, [Tried("A=1", "", {})])
    made.o.seed = 1
    runs: list[SettingRun] = []
    monkeypatch.setattr(made, "run_once", lambda draft, environment: draft)
    monkeypatch.setattr(made, "keep", runs.append)
    made.turns({NATIVE: None, "A=1": {}}, 2, Progress("", quiet=True))
    assert sorted((r.setting, r.round) for r in runs) == [("A=1", 1), (NATIVE, 0), (NATIVE, 1)]


@pytest.mark.parametrize(
    ("rounds", "others", "said", "outcome"),
    [
        (2, 0.0, "inconclusive: of 1 setting 1 was not faster in 3 rounds", "inconclusive"),
        (6, 0.0, "no setting was faster", "same"),
        (6, 0.5, "the machine was busy: other processes used 50 %", "inconclusive"),
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
    assert said in words[0] and found == outcome
