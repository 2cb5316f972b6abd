"""Files cut short and files of another kind: a message with place and remedy."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from report_samples import make
from stretto.errors import StrettoError
from stretto.files.bench import read_bench
from stretto.files.profile import read_profile
from stretto.files.table import read_table


@functools.cache
def files() -> dict[str, Path]:
    """A file of each kind, larger than some kilobytes where it can be."""
    made = Path(tempfile.mkdtemp(prefix="stretto-samples-"))
    atexit.register(shutil.rmtree, made, True)
    make.make(made)
    patterns = {"profile": "*.profile.json", "bench": "*.bench.jsonl", "table": "*.table"}
    return {kind: next(made.rglob(pattern)) for kind, pattern in patterns.items()}


READERS: dict[str, Callable[[Path], object]] = {
    "profile": read_profile,
    "bench": read_bench,
    "table": read_table,
}


def explained(error: StrettoError, path: Path) -> None:
    assert path.name in str(error.place), error
    assert error.remedy, error


@pytest.mark.parametrize("kind", READERS)
def test_files_cut_at_every_kilobyte(kind: str, tmp_path: Path) -> None:
    data = files()[kind].read_bytes()[: 48 << 10]
    path = tmp_path / files()[kind].name
    for cut in sorted({0, 1, *range(0, len(data), 1024), len(data) - 2}):
        path.write_bytes(data[:cut])
        try:
            READERS[kind](path)
        except StrettoError as error:
            explained(error, path)
        else:  # results are appended line by line: those before the cut are good
            assert kind == "bench" and data[:cut].count(b"\n") > 0


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("given", [*READERS, "program", "empty", "directory"])
def test_files_of_another_kind(kind: str, given: str, tmp_path: Path) -> None:
    if kind == given:
        return
    path = tmp_path / "given"
    if given == "directory":
        path.mkdir()
    elif given == "empty":
        path.touch()
    else:
        shutil.copy(Path("/bin/true") if given == "program" else files()[given], path)
    with pytest.raises(StrettoError) as caught:
        READERS[kind](path)
    explained(caught.value, path)


def test_no_room_for_json_on_stdout() -> None:
    """Standard output is a file on a full disk."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "stretto", "profile", "--json", "--show", files()["profile"]],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=300,
        )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "full" in done.stderr or "No space left" in done.stderr
