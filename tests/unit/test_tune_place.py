"""Where runs take place: fresh copies of exactly the case, and the same input for each."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from processes import run_program
from stretto.tune.place import COPIES, Place, case_files, fresh, make_output


def test_only_what_tune_wrote_is_left_out(tmp_path: Path) -> None:
    """A user's own file may be called stretto-anything."""
    for name in ("stretto-notes.txt", "app.table", "app.profile.json"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "stretto-input").mkdir()
    (tmp_path / "stretto-input" / "mesh").write_text("mine")
    own = tmp_path / "stretto-app"
    make_output(own)
    other = tmp_path / "sub" / "stretto-other"
    make_output(other)
    (other / "x.table").write_text("of another tuning")
    with fresh(Place(tmp_path, own / COPIES)) as cwd:
        names = {str(p.relative_to(cwd)) for p in cwd.rglob("*") if not p.is_dir()}
    assert names == {"stretto-notes.txt", "app.table", "app.profile.json", "stretto-input/mesh"}


def test_an_output_directory_of_the_user_keeps_what_is_the_users(tmp_path: Path) -> None:
    own = tmp_path / "results"
    own.mkdir()
    (own / "mine.csv").write_text("x")
    make_output(own)
    for name in ("app.table", "app.verdict.json", "app.2x2.bench.jsonl", "app.bench.jsonl.old"):
        (own / name).write_text("x")
    (own / "outputs").mkdir()
    place = Place(tmp_path, own / COPIES)
    with fresh(place) as cwd:
        assert [p.name for p in cwd.rglob("*")] == ["results", "mine.csv"]
    assert [p.name for p in case_files(place, tmp_path)] == ["mine.csv"]


def test_copies_of_a_killed_stretto_are_removed(tmp_path: Path) -> None:
    work = tmp_path / "out" / COPIES
    host = socket.gethostname()
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (f"run.{host}.{dead.pid}.abc", f"run.{host}.{os.getpid()}.abc", "run.else.1.abc"):
        (work / name).mkdir(parents=True)
    with fresh(Place(tmp_path, work)):
        left = {p.name for p in work.iterdir()}
    assert f"run.{host}.{dead.pid}.abc" not in left
    assert {f"run.{host}.{os.getpid()}.abc", "run.else.1.abc"} <= left


READ = (
    "import os, pathlib, sys\n"
    "from stretto.errors import StrettoError\n"
    "from stretto.launch.execute import run\n"
    "from stretto.tune.place import Place, fresh, keep_input\n"
    "try:\n"
    "    keep_input(float(sys.argv[1]))\n"
    "except StrettoError as error:\n"
    "    sys.exit('\\n'.join(error.lines()))\n"
    "for _ in range(3):\n"
    "    with fresh(Place(pathlib.Path('.'), pathlib.Path('o/w'), None, True)):\n"
    "        print(run(['wc', '-c'], os.environ, capture='yes').stdout.strip())\n"
)


def test_every_run_reads_what_came_through_the_pipe() -> None:
    done = run_program([sys.executable, "-c", READ, "30"], input="x" * 200_000)
    assert done.stdout.split() == ["200000"] * 3, done.stderr


def test_a_pipe_without_an_end_is_refused_in_words() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"some")
    done = run_program([sys.executable, "-c", READ, "1"], stdin=reader, timeout=120)
    os.close(reader)
    os.close(writer)
    assert done.returncode == 1 and done.stdout == ""
    assert "does not come to an end" in done.stderr and "< input" in done.stderr
