"""stretto io: every way to read and write a file with each MPI (no time decides a test)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpis import MPIS, beside_others
from stretto.built import library
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.storage import IoFile, Way, read_io, write_io
from stretto.storage.measure import READ, WRITE, read_launch
from stretto.storage.show import answer, cache_words, change_lines, page


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
        (["--file", "missing"], "missing is no file with data"),
        (["--file", "x", "--write"], "--file is read as it is"),
        (["--file", "x", "--bytes", "1M"], "--file is read as it is"),
        (["--dir", "missing"], "missing is no directory"),
        (["--bytes", "many"], "'many' is not a size"),
    ],
)
def test_io_with_a_file_that_cannot_be_is_refused(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mpi = MPIS["openmpi4"].require()
    assert main(["io", "--mpi", str(mpi.prefix), *words]) == 2
    assert problem in capsys.readouterr().err


def result(**times: tuple[float, float]) -> IoFile:
    """Return a result of six launches; of each way: seconds, and the cached part before it."""
    ways = [
        Way(name.replace("_", "-"), [[seconds * (1 + i / 100)] for i in range(6)], [[cached]] * 6)
        for name, (seconds, cached) in times.items()
    ]
    return IoFile(
        "0", "", Host("h", "c", 2, "k", 1), [], MPIIdentity("openmpi", "openmpi", "4.1.4"),
        ["h", "i"], "/d/in.nc", False, True, 2 << 30, "lustre", {"ROMIO_HINTS": "hints"}, ways,
    )  # fmt: skip


SLOW = {"read_all": (14.0, 0.0), "read_whole": (14.0, 0.0), "read_parts": (2.0, 0.0)}


@pytest.mark.parametrize(
    ("found", "said", "changes", "cache"),
    [
        (result(**SLOW, read_bcast=(3.5, 0.0)),
         "14.4 s; one rank reads it, MPI_Bcast: 3.59 s, 4 times faster (4 to 4).",
         ["read it on rank 0", "MPI_File_read_at_all of the part of each rank"], "cold"),
        (result(read_all=(1.0, 0.5), read_bcast=(1.0, 0.5)),
         "no other way with the same result is faster", [], "WARM: it held up to 50 %"),
        (result(read_all=(1.0, -1), read_bcast=(2.0, -1)), "no other way", [], "NOT KNOWN"),
        (replace(result(read_all=(1.0, 1.0)), own=False), "nothing else was measured", [],
         "another user's file is not dropped"),
        (result(write_gather=(8.0, -1), write_own=(1.0, -1), write_parts=(2.0, -1)),
         "To write 2 GiB on lustre: one rank receives and writes all of it (POSIX): 8.2 s; every "
         "rank writes a file of its own (POSIX): 1.02 s, 8 times faster", ["one file for each"],
         None),
    ],
)  # fmt: skip
def test_io_page_says_what_was_tested_and_where_it_came_from(
    found: IoFile, said: str, changes: list[str], cache: str | None
) -> None:
    assert said in " ".join(answer(found))
    lines = list(change_lines(found))
    assert len(lines) == len(changes)
    assert all(change in line for change, line in zip(changes, lines, strict=True))
    words = cache_words(found)
    assert words is None if cache is None else cache in (words or "")
    text = "\n".join(page(found))
    assert "2 ranks on 2 nodes" in text and "ROMIO_HINTS=hints" in text
    few = replace(found, ways=[Way(w.name, w.launches[:3], w.cached[:3]) for w in found.ways])
    assert "times faster" not in "\n".join(page(few))


def test_io_file_with_other_numbers_of_values_is_refused(tmp_path: Path) -> None:
    good = result(**SLOW)
    good.ways[0].cached.pop()
    with pytest.raises(StrettoError, match="the values of read-all do not fit together"):
        write_io(good, tmp_path / "a.io.json")


def test_report_of_io_has_answer_figures_and_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.io.json"
    write_io(result(**SLOW, read_bcast=(3.5, 0.0)), path)
    page_at = tmp_path / "p.html"
    assert main(["report", str(path), "-o", str(page_at), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == ["io-reading"]
    text = page_at.read_text()
    assert "4 times faster (4 to 4)" in text and "Stretto io" in text
    assert main(["report", str(path), str(path)]) == 2
