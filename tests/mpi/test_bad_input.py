"""Full disks: a message with place and remedy, an exit code, earlier results kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others, missing
from processes import run_program
from stretto.files.bench import read_bench
from test_files_damaged import files

APPS = REPOSITORY / "tests" / "programs"


def on_full_disk(
    words: list[str], tmp_path: Path, before: str = "true", size: str = "1m"
) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory of 1 MiB that only it sees; `before` prepares it.

    Its listing follows on standard output.
    """
    if os.geteuid() != 0:
        missing("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    script = (
        f'mount -t tmpfs -o size={size} none "$0" && cd "$0" && {before} || exit 99; '
        '"$@"; status=$?; echo; echo LEFT; ls -A "$0"; exit $status'
    )
    env = os.environ | MPIS["openmpi4"].require().environment
    if "STRETTO_TEST_LIB" in os.environ:
        env["STRETTO_LIB_DIR"] = os.environ["STRETTO_TEST_LIB"]
    argv = ["unshare", "-m", "sh", "-c", script, str(small), sys.executable, "-m", "stretto"]
    with beside_others():
        done = run_program([*argv, *words], env=env, timeout=900)
    if done.returncode == 99:
        missing("this container may not mount")
    assert "Traceback" not in done.stderr and "defect" not in done.stderr, done.stderr
    return done


def left(done: subprocess.CompletedProcess[str]) -> list[str]:
    return done.stdout.partition("\nLEFT\n")[2].split()


def job(tmp_path: Path) -> list[str]:
    program = MPIS["openmpi4"].require().compile(APPS / "record_counts.c", tmp_path / "counts")
    return ["/usr/bin/mpirun", "-n", "2", "--oversubscribe", str(program), str(tmp_path / "file")]


FILLED = "dd if=/dev/zero of=filler bs=1k count=2000 2>/dev/null; true"


@pytest.mark.mpi
@pytest.mark.parametrize("command", ["profile", "diagnose"])
def test_no_room_for_the_recording(command: str, tmp_path: Path) -> None:
    """The user's job runs to its end all the same."""
    done = on_full_disk([command, "--", *job(tmp_path)], tmp_path)
    assert "rank 0 done" in done.stdout + done.stderr
    assert done.returncode == 1 and "error: the run was not recorded: No space left" in done.stderr
    assert "MPI_Init" not in done.stderr
    assert "try:" in done.stderr and left(done) == []


@pytest.mark.mpi
@pytest.mark.parametrize("command", ["bench", "table make"])
def test_no_room_for_measurements(command: str, tmp_path: Path) -> None:
    words = [
        *command.split(),
        "-n",
        "2",
        "--collective",
        "barrier",
        "--launches",
        "1",
        "-o",
        "x.bench.jsonl",
    ]
    if command == "table make":
        words[-1] = "x.table"
    done = on_full_disk([*words, "--mpi", "/usr/bin/mpirun"], tmp_path, FILLED)
    assert done.returncode == 1, done.stderr
    assert "the disk is full" in done.stderr or "No space left" in done.stderr, done.stderr
    assert "at:" in done.stderr and "try:" in done.stderr
    assert not [name for name in left(done) if name.startswith(".")]  # no directory of a launch


@pytest.mark.long
@pytest.mark.mpi
def test_no_room_in_the_middle_of_a_campaign(tmp_path: Path) -> None:
    """What was measured before the disk was full is kept and read again."""
    results = tmp_path / "kept.bench.jsonl"
    words = ["bench", "-n", "2", "--collective", "allreduce,bcast,reduce", "--bytes", "8:1M:2"]
    words += ["--launches", "20", "--budget", "600s", "-o", "x.bench.jsonl"]
    script = f"cp x.bench.jsonl {results}"
    done = on_full_disk(
        [*words, "--mpi", "/usr/bin/mpirun"], tmp_path,
        f"trap '{script}' EXIT; dd if=/dev/zero of=filler bs=1k count=900 2>/dev/null",
    )  # fmt: skip
    assert done.returncode == 1 and "try:" in done.stderr, done.stderr
    assert read_bench(results).samples


def test_no_room_for_the_report(tmp_path: Path) -> None:
    profile = files()["profile"]
    words = ["report", str(profile), "-o", "page.html"]
    done = on_full_disk(words, tmp_path, f"echo old > page.html; {FILLED}")
    assert done.returncode == 1, done.stderr
    assert "page.html" in done.stderr and "try:" in done.stderr
    assert sorted(left(done)) == ["filler", "page.html"]
