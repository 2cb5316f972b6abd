"""Two processes never work in one output directory, and none takes the other's copies away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processes import executable
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.tune.place import COPIES, LOCK, alone_in

HOLDING = (
    "import pathlib, sys\n"
    "from stretto.tune.place import alone_in\n"
    "with alone_in(pathlib.Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)


def holding(directory: Path) -> subprocess.Popen[str]:
    """A process that has the directory until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(directory)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_second_one_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    other = holding(out)
    with pytest.raises(StrettoError) as caught, alone_in(out):
        pass
    assert f"process {other.pid} on {os.uname().nodename}" in str(caught.value)
    assert "--out" in str(caught.value.remedy) and caught.value.exit_code != 0
    with alone_in(tmp_path / "another"):
        pass
    other.kill()  # the lock goes with the process
    other.communicate()
    for _ in range(2):
        with alone_in(out):
            assert f"process {os.getpid()} " in (out / LOCK).read_text()


@pytest.mark.parametrize("words", [["tune"], ["settings"], ["scale", "--ranks", "2"]])
def test_commands_refuse_before_anything_runs(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    case = tmp_path / "case"
    case.mkdir()
    executable(case / "job.sh", "#!/bin/sh\ntouch ../ran\n")
    monkeypatch.chdir(case)
    out = case / "out"
    other = holding(out)
    (out / COPIES / "run.elsewhere.1.x").mkdir(parents=True)
    try:
        code = main([*words, "--yes", "-o", "out", "--mpi", "/usr", "--", "./job.sh", "{n}"])
    finally:
        other.communicate("")
    error = capsys.readouterr().err
    assert code != 0 and "another stretto uses this directory" in error, error
    assert not (tmp_path / "ran").exists() and (out / COPIES / "run.elsewhere.1.x").exists()


def test_directory_in_which_nothing_was_written_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyError), alone_in(out):
        raise KeyError
    assert not out.exists()
    with alone_in(out):
        (out / "app.profile.json").touch()
    assert (out / LOCK).exists()
    (out / "app.profile.json").unlink()
    with alone_in(out):
        pass
    assert out.exists()  # it was there before
