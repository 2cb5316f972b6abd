"""stretto profile, as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, Mpi, beside_others
from processes import executable, run_program
from stretto.files.profile import format_profile, read_profile

APPS = REPOSITORY / "tests" / "programs"
pytestmark = pytest.mark.mpi


def environment(mpi: Mpi) -> dict[str, str]:
    """Return the environment that `stretto` runs in: the user's, with this MPI's launcher."""
    env = dict(mpi.environment)
    built = os.environ.get("STRETTO_TEST_LIB")
    if built:
        env["STRETTO_LIB_DIR"] = built
    return env


def stretto(mpi: Mpi, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    with beside_others():
        return run_program(
            [sys.executable, "-m", "stretto", *words], env=environment(mpi), cwd=cwd, timeout=600
        )


@pytest.mark.parametrize("name", MPIS)
def test_profile_of_a_run(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    words = [*mpi.launcher(2), str(program), str(tmp_path / "file")]
    done = stretto(mpi, "profile", "--", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # a pipe gets CMD's output only
    assert sorted(done.stdout.splitlines()) == ["rank 0 done", "rank 1 done"]
    assert "Calls that take the most time (15 of" in done.stderr  # which ones, the machine decides
    assert "collectives: waiting for the last rank" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["counts", "counts.profile.json", "file"]
    profile = read_profile(tmp_path / "counts.profile.json")
    assert profile.command == words
    assert profile.mpi.family == ("openmpi" if name.startswith("openmpi") else name)
    assert profile.complete and "MPI_Allreduce" in {c.function for c in profile.calls}
    for r in range(2):
        assert profile.mpi_s[r] + profile.io_s[r] <= profile.wall_s[r] * 1.0001
    told = done.stderr.partition("stretto: ")[0]
    # a second run keeps the first one's file; --show displays it again
    done = stretto(mpi, "profile", "--json", "--", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    second = (tmp_path / "counts-2.profile.json").read_text()
    assert json.loads(done.stdout) == json.loads(second)
    shown = stretto(mpi, "profile", "--show", str(tmp_path / "counts.profile.json"))
    assert shown.returncode == 0
    assert shown.stdout.strip().splitlines()[-20:] == told.strip().splitlines()[-20:]
    assert shown.stdout.count("\n") > 20


def test_a_failing_command_keeps_its_profile(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_ends.c", tmp_path / "ends", "-pthread")
    path = tmp_path / "x.profile.json"
    words = ["-o", str(path), "--", *mpi.launcher(2), str(program), "kill", "300"]
    done = stretto(mpi, "profile", *words)
    assert done.returncode == 3, done.stderr
    assert "did not reach MPI_Finalize: 0-1" in done.stderr and str(path) in done.stderr
    profile = read_profile(path)
    assert not profile.complete and profile.incomplete_ranks == [0, 1]
    assert next(c for c in profile.calls if c.function == "MPI_Allreduce").calls == [300, 300]


def test_interrupted(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_ends.c", tmp_path / "ends", "-pthread")
    words = ["profile", "-o", "x.profile.json", "--", *mpi.launcher(2), str(program), "stay", "300"]
    with beside_others():
        process = subprocess.Popen(
            [sys.executable, "-m", "stretto", *words],
            env=environment(mpi),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        assert any(line == "ready\n" for line in process.stdout), process.communicate()[1]
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=200)
    assert process.returncode == 130, error
    assert "x.profile.json" in error
    profile = read_profile(tmp_path / "x.profile.json")
    assert next(c for c in profile.calls if c.function == "MPI_Allreduce").calls == [300, 300]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ends", "x.profile.json"]


def test_a_kill_leaves_no_recording(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_ends.c", tmp_path / "ends", "-pthread")
    words = ["profile", "--", *mpi.launcher(2), str(program), "stay", "300"]
    with beside_others():
        process = subprocess.Popen(
            [sys.executable, "-m", "stretto", *words], env=environment(mpi), cwd=tmp_path,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        assert waited_for(lambda: any(tmp_path.glob(".stretto-recording-*/*")))
        process.kill()
        process.wait()
        assert waited_for(lambda: not any(tmp_path.glob(".stretto-recording-*")))
    assert [p.name for p in tmp_path.iterdir()] == ["ends"]


def waited_for(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 600
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def test_a_script_with_two_programs_replaces_only_the_file_that_is_named(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    script = tmp_path / "job.sh"
    launch = f"{' '.join(mpi.launcher(2))} {program}"
    executable(script, f"#!/bin/sh\n{launch} a\n{launch} b\n")
    for name in ("x.profile.json", "x-2.profile.json"):
        (tmp_path / name).write_text("mine")
    done = stretto(mpi, "diagnose", "-o", "x.profile.json", "--", str(script), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first = read_profile(tmp_path / "x.profile.json")
    assert first.complete and first.executables == [str(program.resolve())]
    assert (tmp_path / "x-2.profile.json").read_text() == "mine"
    assert read_profile(tmp_path / "x-3.profile.json").complete
    # what the script prints is all of stdout; the program that is not diagnosed is named
    assert sorted(done.stdout.splitlines()) == ["rank 0 done"] * 2 + ["rank 1 done"] * 2
    assert "ran 2 MPI programs. The diagnosis above is that of counts" in done.stderr
    assert "stretto diagnose --profile " in done.stderr and "\nnext: stretto " in done.stderr


def test_bad_input(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"schema": "other"}')
    run = ["--", *mpi.launcher(1), "true"]
    for words, code, said in (
        ([], 2, "no command is given"),
        (run, 1, "no rank was recorded"),
        (["-o", "no/x.json", *run], 1, "no such directory"),
        (["--show", str(foreign)], 1, "foreign.json"),
    ):
        done = stretto(mpi, "profile", *words, cwd=tmp_path)
        assert done.returncode == code and said in done.stderr, (words, done.stderr)
    assert list(tmp_path.iterdir()) == [foreign]


def test_a_profile_of_a_tuned_run(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    built = os.environ.get("STRETTO_TEST_LIB")
    if built and not (Path(built) / "libstretto-openmpi.so").exists():
        pytest.fail("the interposer is not built there")
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    path = tmp_path / "x.profile.json"
    done = stretto(
        mpi, "profile", "-o", str(path), "--choice", "allreduce=recursive_doubling", "--",
        *mpi.launcher(2), str(program), str(tmp_path / "file"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    profile = read_profile(path)
    small = [
        c
        for c in profile.calls
        if c.function == "MPI_Allreduce" and c.operation == "MPI_SUM" and c.calls == [1000, 1000]
    ]
    assert len(small) == 1
    assert format_profile(profile) == path.read_text()


def test_profiles_of_one_directory_take_different_names(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_ends.c", tmp_path / "ends", "-pthread")
    # each run ends when both have begun; the lock is this test's, so that both may run
    script = executable(
        tmp_path / "job.sh",
        "#!/bin/sh\n"
        f"touch begun.$1; while [ ! -e begun.a -o ! -e begun.b ]; do sleep 0.1; done\n"
        f"exec {' '.join(mpi.launcher(1))} {program} threads 0\n",
    )
    with beside_others():
        both = [
            subprocess.Popen(
                [sys.executable, "-m", "stretto", "profile", "--", str(script), name],
                env=environment(mpi), cwd=tmp_path, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for name in ("a", "b")
        ]  # fmt: skip
        errors = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    written = sorted(tmp_path.glob("*.profile.json"))
    assert [p.name for p in written] == ["job.sh-2.profile.json", "job.sh.profile.json"]
    assert sorted(read_profile(p).command[-1] for p in written) == ["a", "b"]
    for process, error in zip(both, errors, strict=True):
        (path,) = (p for p in written if str(p) in error)
        assert read_profile(path).command == process.args[5:]  # type: ignore[index]
