"""What a campaign says when it fails, or is not complete: what is so, where, and what to type."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from stretto import cli
from stretto.campaign import greeting, submit
from stretto.campaign.layout import Layout
from stretto.errors import StrettoError
from test_campaign_failures import Stand, mpi, outcome
from test_campaign_plan import here
from test_measure_runner import FakeMPI

__all__ = ["here", "mpi"]  # fixtures


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_full_file_system_is_named(
    mpi: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, nodes: int
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    place, hosts = tmp_path / "c", ("a", "b")[:nodes]
    monkeypatch.setenv("RANK", "well")
    greeting.greet(mpi, Layout(nodes, 2), hosts, None, False, place, 600)
    monkeypatch.setenv("RANK", "die")
    with pytest.raises(StrettoError) as error:
        greeting.greet(mpi, Layout(nodes, 2), hosts, None, False, place, 600)
    assert error.value.message == f"cannot start the test job: {os.strerror(number)}"
    assert error.value.place == str(place)
    assert any(x in str(error.value.remedy) for x in ("free some space", "quota"))
    assert list(place.iterdir()) == []


def test_commands_can_be_typed(
    here: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / "my c.toml"
    file.write_text('nodes = [2]\nppn = [1]\ncandidates = ["ring"]\ncollectives = ["allreduce"]\n')
    monkeypatch.setattr(submit, "submit", lambda *of: ("7", tmp_path))
    assert cli.main(["campaign", "submit", str(file)]) == 0
    quoted = f"stretto campaign status '{tmp_path}/my c.campaign'"
    assert capsys.readouterr().out.endswith(f"next: {quoted}\n")
    found = outcome(complete=False, left_out=["2 x 1: b is dead"], results=[Path("d d/r")])
    monkeypatch.setattr("stretto.cli.campaign.run_campaign", lambda *of, **more: [found])
    assert cli.main(["campaign", "run", str(file)]) == 130
    out, err = capsys.readouterr()
    assert f"`{quoted}`" in err and "interrupted" not in err
    assert "results for stretto export: 'd d'/*.bench.jsonl" in out
