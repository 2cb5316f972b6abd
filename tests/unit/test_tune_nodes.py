"""``tune --nodes`` with a command: refused for the command, which no platform would mend."""

from __future__ import annotations

import pytest

from stretto import cli


@pytest.mark.parametrize("more", [[], ["--settings"], ["--hosts", "a,b", "--launches", "6"]])
def test_nodes_are_of_no_command(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", *more, "--nodes", "1,2", "--", "mpirun", "-n", "2", "./app"]
    assert cli.main(words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--nodes is not for tuning one command" in said and "leave out the command" in said
    assert "stretto scale --nodes 1,2 -- CMD" in said and "--platform" not in said


def test_nodes_and_a_platform_are_of_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "--nodes", "1,2", "--platform", "hpc7g", "--", "mpirun", "-n", "2", "./app"]
    assert cli.main(words) == 2
    assert "not for one command" in capsys.readouterr().err
