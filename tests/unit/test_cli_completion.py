"""Shell completion: what is offered for a word, and what the scripts do with it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from processes import executable, run_program
from stretto.cli import main
from stretto.cli.completion import SCRIPTS


def offered(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["completion", "bash", "--", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "some", "none"),
    [
        (["ta"], ["table"], ["tune"]),
        (["campaign", ""], ["run", "plan", "status", "submit"], []),
        (["tune", "--metric-"], ["--metric-better", "--metric-unit"], ["--metric"]),
        (["bench", "--collective", "allg"], ["allgather", "allgatherv"], ["allreduce"]),
        (["bench", "-c", "bcast,allr"], ["bcast,allreduce"], ["allreduce"]),
        (["bench", "-c", "bcast", "--candidates", "shm,rabens"], ["shm,rabenseifner"], []),
        (["bench", "--candidates", "sh"], ["shm"], []),
        (["bench", "--candidates", "ring,shm+rabens"], ["ring,shm+rabenseifner"], []),
        (["simulate", "-p", "hpc7"], ["hpc7a", "hpc7g"], ["ib-hdr"]),
        (["platform", "show", "hpc7"], ["hpc7a", "hpc7g"], []),
        (["plan", "show", "bca"], ["bcast"], []),
        (["plan", "show", "bcast", "recur"], ["recursive_doubling"], []),
        (["run", "--table", "="], ["a.table", "d/"], ["a.toml"]),
        (["campaign", "run", "d/"], ["d/b.toml"], []),
        (["tune", "--", "mpirun", "-"], [], ["--budget"]),
        (["completion", "z"], ["zsh"], ["bash"]),
    ],
)
def test_completion_of_a_word_offers_what_fits(
    words: list[str],
    some: list[str],
    none: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    for name in ("a.table", "a.toml", "d/b.toml"):
        (tmp_path / name).touch()
    if words[-1] == "=":  # bash cuts --table=a there
        words = [*words, ""]
    found = offered(words, capsys)
    assert set(some) <= set(found) and not set(none) & set(found)


def test_completion_script_of_bash_fills_in_its_words(tmp_path: Path) -> None:
    program = executable(
        tmp_path / "stretto", f'#!/bin/sh\nexec {sys.executable} -m stretto "$@"\n'
    )
    text = f"""{SCRIPTS["bash"]}
COMP_WORDS=({program} bench --collective allg)
COMP_CWORD=3
_stretto
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = run_program(["bash", "-c", text], check=True)
    assert done.stdout.splitlines() == ["allgather", "allgatherv"], done.stderr


def test_completion_for_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, text in SCRIPTS.items():
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == text
    assert main(["completion", "cmd"]) == 2
    assert "bash, zsh or fish" in capsys.readouterr().err
