"""``stretto plan price``: what is printed of many calls, and entry times as input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.cli.plan_price import entries
from stretto.errors import UsageError

NOISE = 'latency_sigma = { value = 0.3, source = "assumed: a test" }\n'
ARGUMENTS = ["recursive_doubling", "--nodes", "4", "--ppn", "2", "--platform"]


@pytest.fixture
def noisy(tmp_path: Path) -> str:
    """A platform with varying latencies."""
    shipped = Path(__file__).parents[2] / "python/stretto/platforms/hpc7g.toml"
    path = tmp_path / "noisy.toml"
    path.write_text(shipped.read_text().replace("[machine]\n", f"[machine]\n{NOISE}"))
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["plan", "price", *ARGUMENTS, *options]) == 0
    return capsys.readouterr().out


def test_tails_are_those_of_the_calls(noisy: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, noisy, "--calls", "400", "--json"))
    half = sorted(found["took_s"][200:])
    assert len(half) == 200 and half[0] < half[-1]
    assert found["tails_s"] == {"p95": half[189], "p99": half[197], "p100": half[199]}
    assert found["seconds"] < found["tails_s"]["p95"] < found["tails_s"]["p100"]
    text = printed(capsys, noisy, "--calls", "400")
    assert "tails" in text and "95 %" in text and "bound is for one call" in text
    assert text == printed(capsys, noisy, "--calls", "400")
    assert text != printed(capsys, noisy, "--calls", "400", "--seed", "2")


def test_one_call_has_a_bound_and_no_tails(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "hpc7g", "--json"))
    assert found["source"] == "simulated" and len(found["finish_s"]) == 8
    assert found["seconds"] > found["bound_s"] > 0
    text = printed(capsys, "hpc7g")
    assert "lower bound" in text and "(simulated)" in text and "tails" not in text


def test_formula_has_its_coefficients(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "formula", "ring", "-n", "4", "--bytes", "64", "--json"]) == 0
    closed = json.loads(capsys.readouterr().out)
    assert (closed["alpha"], closed["beta_bytes"], closed["gamma_bytes"]) == (6, 96, 48)


def test_entry_times_are_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "entries"
    path.write_text("0 0 0 0 0 0\n0 1000\n")
    late = json.loads(printed(capsys, "hpc7g", "--skew", str(path), "--json"))
    assert late["enter_s"] == [0.0] * 7 + [1e-3]
    assert late["seconds"] > 1e-3
    drawn = json.loads(printed(capsys, "hpc7g", "--skew", "20us", "--json"))
    assert len(set(drawn["enter_s"])) == 8 and min(drawn["enter_s"]) >= 0
    assert max(drawn["enter_s"]) <= 20e-6
    again = json.loads(printed(capsys, "hpc7g", "--skew", "20us", "--json"))
    assert drawn == again


@pytest.mark.parametrize(("text", "word"), [("1 2", "2 times"), ("1 -2 3", "rank 1"), ("a", "'a'")])
def test_wrong_entry_times_are_refused(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "entries"
    path.write_text(text)
    with pytest.raises(UsageError, match=word):
        entries(str(path), 3, 1)
