"""stretto io: every way to read and write a file with each MPI (no time decides a test)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpis import MPIS, beside_others
from stretto.built import library
from stretto.cli import main
from stretto.files.storage import read_io
from stretto.storage.measure import READ, WRITE, read_launch


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n in ("openmpi5", "intel"))) for n in MPIS]
)
def test_io_measures_every_way_with_each_mpi(name: str, tmp_path: Path) -> None:
    """Parts that are not alike; a second launch finds the file of the first."""
    mpi = MPIS[name].require()
    abi = "openmpi" if mpi.family == "openmpi" else "mpich"
    program = [str(library("io", abi)), str(tmp_path / "data")]
    env = mpi.environment | {"LD_LIBRARY_PATH": str(mpi.libmpi.parent)}
    for size, ways in ((1_000_003, [*READ, *WRITE]), (0, ["read-bcast"])):
        ranks = 3 if mpi.yields else 2
        with beside_others():
            done = mpi.run(ranks, [*program, str(size), "2", "60", *ways], env=env, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        found = read_launch(done.stdout, "mpirun")
        assert set(found.samples) == set(ways) and found.bytes == 1_000_003
        assert found.own and not found.cut and len(found.hosts) == ranks
        assert all(len(s) == 2 and min(t for t, _ in s) > 0 for s in found.samples.values())
        assert all(0 <= c <= 1 for w in ways if w in READ for _, c in found.samples[w])
        assert [p.name for p in tmp_path.iterdir()] == ["data"]
        if name != "openmpi4":
            return
    (tmp_path / "data").write_bytes(bytes(1_000_003))  # other data than it should have
    done = mpi.run(1, [*program, "1000003", "1", "60", "read-all"], env=env, timeout=300)
    assert done.returncode != 0 and "wrong data were read" in done.stderr + done.stdout


def test_io_command_leaves_a_result_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mpi = MPIS["openmpi4"].require()
    words = ["io", "--mpi", str(mpi.prefix), "--dir", str(tmp_path), "--bytes", "100K"]
    assert main([*words, "--dry-run"]) == 0
    with beside_others():
        out = str(tmp_path / "a.io.json")
        assert main([*words, "--launches", "1", "-o", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    several = [*words, "-n", "1,2", "--launches", "1"]
    assert main(several) == 2 and "add a name for their files" in capsys.readouterr().err
    with beside_others():
        assert main([*several, "-o", str(tmp_path / "b.io.json")]) == 0
    assert "b-2 (2 ranks), not tested" in capsys.readouterr().out
    for ranks in (1, 2):
        path = tmp_path / f"b-{ranks}.io.json"
        assert len(read_io(path).hosts) == ranks
        path.unlink()
    assert [p.name for p in tmp_path.iterdir()] == ["a.io.json"]
    assert told["file"] == out and told["answer"][0].startswith("To read 100 KiB on ")
    assert read_io(Path(out)).bytes == 102_400
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=9, f_frsize=1024))
    assert main(words) == 1
    assert "9 KiB are free, 100 KiB are needed" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["a.io.json"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--file", "missing"], "there is no file missing"),
        (["--file", "."], ". is a directory"),
        (["--file", "/dev/null"], "/dev/null is not a regular file"),
        (["--file", "empty"], "empty is empty"),
        (["--file", "x", "--write"], "--file excludes"),
        (["--file", "x", "--bytes", "1M"], "--file excludes"),
        (["--dir", "missing"], "missing is not a directory"),
        (["--bytes", "many"], "'many' is not a size"),
    ],
)
def test_io_with_a_file_that_cannot_be_is_refused(
    words: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    mpi = MPIS["openmpi4"].require()
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    assert main(["io", "--mpi", str(mpi.prefix), *words]) == 2
    assert problem in capsys.readouterr().err
