"""The published c5n cluster: what was predicted stays predicted (bench/c5n.py has all of it)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean, median

import pytest

from stretto.model.platform_file import load
from stretto.model.price import price
from stretto.model.sweep import hosts_of

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bench"))
RECORDED = json.loads((REPOSITORY / "bench" / "results" / "c5n-predicted.json").read_text())


def test_aims_that_are_reached() -> None:
    assert RECORDED["median_tau"] >= 0.7
    assert RECORDED["median_factor_bcast_8x36"] <= 1.5
    assert RECORDED["median_factor_two_nodes"] <= 1.5
    assert RECORDED["median_factor_all"] <= 1.5


@pytest.mark.parametrize("nbytes", [1, 4096])
def test_the_recorded_prediction_is_what_the_model_says_today(nbytes: int) -> None:
    from scipy.stats import kendalltau

    entry = next(e for e in RECORDED["broadcast"] if e["bytes"] == nbytes)
    today, measured = [], []
    for cell in entry["cells"]:
        done = price("bcast", cell["choice"], hosts_of(8, 36), nbytes, load("c5n-tcp"), element=1)
        mean = 1e6 * fmean(f - e for f, e in zip(done.finish, done.enter, strict=True))
        assert mean == pytest.approx(cell["predicted_us"], rel=0.02), cell["algorithm"]
        today.append(mean)
        measured.append(cell["measured_us"])
    assert kendalltau(today, measured).statistic >= 0.7


def test_the_platform_was_fitted_on_nothing_that_it_predicts() -> None:
    for name in ("c5n-tcp", "c5n-efa"):
        for source in load(name).sources.values():
            assert "8x36" not in source and "8 x 36" not in source


def test_predictions_of_two_nodes_are_recorded_one_by_one() -> None:
    import c5n

    assert len(RECORDED["two_nodes"]) == 40
    errors = [c5n.factor(c) for c in RECORDED["two_nodes"]]
    assert median(errors) == pytest.approx(RECORDED["median_factor_two_nodes"])


def test_in_osus_loop_the_far_node_waits_a_latency_longer() -> None:
    """The barrier lets it go first; docs/explanation/model.md, two full nodes."""
    import c5n

    call = ("bcast", "shm+knomial(2)", 2, 8, "c5n-efa")
    latency = 1e6 * load("c5n-efa").levels["network"].latency
    at_once, in_loop = c5n.mean_us(*call), c5n.in_loop_us(*call)
    assert latency / 2 < at_once < latency < in_loop < 1.5 * latency
    assert c5n.in_loop_us(*call, 14.0) == pytest.approx(in_loop + 14.0, rel=0.02)
