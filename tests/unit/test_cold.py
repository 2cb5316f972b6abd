"""Results of buffers in no cache: never beside those of buffers used again, and never unsaid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from exports import result_file, tuned
from stretto.cli import main
from stretto.files.bench import read_bench
from stretto.files.table import read_table

RING = "native:" + ",".join(f"{n}={v}" for n, v in tuned("allreduce", 4))
SAID = "buffers that are not in a cache (bench --cold, -off_cache)"


def results(path: Path, cold: bool, collective: str = "allreduce") -> Path:
    """As `stretto bench` writes them, with and without --cold."""
    path.parent.mkdir(exist_ok=True)
    result_file(path, {(collective, 1024): {"native": 51.0, "bare": 50.0, RING: 30.0, "shm": 20.0}})
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    head = json.loads(lines[0])
    head["settings"] = {**head["settings"], "cold": cold}
    path.write_text(json.dumps(head) + "\n" + "".join(lines[1:]), encoding="utf-8")
    assert read_bench(path).header.cold is cold
    return path


def commands(cold: Path, warm: Path, out: Path) -> dict[str, list[str]]:
    files = [str(cold), str(warm)]
    return {
        "compare": ["compare", *files],
        "table": ["table", "decide", files[0], files[1], "-o", str(out / "a.table")],
        "export": ["export", "--to", "openmpi-5", "--out", str(out / "tuning"), *files],
        "report": ["report", "-o", str(out / "a.html"), *files],
        "two systems": [
            "report",
            "-o",
            str(out / "a.html"),
            *(str(f.parent) for f in (cold, warm)),
        ],
    }


@pytest.mark.parametrize("what", ["compare", "table", "export", "report", "two systems"])
def test_the_two_are_never_mixed(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cold = results(tmp_path / "a" / "cold.bench.jsonl", True)
    warm = results(tmp_path / "b" / "warm.bench.jsonl", False, "bcast")
    out = tmp_path / "out"
    out.mkdir()
    assert main(commands(cold, warm, out)[what]) == 1
    err = capsys.readouterr().err
    assert SAID in err and "for reused buffers" in err
    assert "they cannot be mixed" in err
    assert str(cold) in err and str(warm) in err and "try: " in err
    assert list(out.iterdir()) == [], "nothing is written"


def run(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(list(words)) == 0
    caught = capsys.readouterr()
    return caught.out + caught.err


def test_what_rests_on_cold_buffers_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cold in (True, False):
        where = tmp_path / str(cold)
        path = results(where / "a.bench.jsonl", cold)
        assert (SAID in run(["compare", str(path)], capsys)) is cold
        table = where / "a.table"
        assert (SAID in run(["table", "decide", str(path), "-o", str(table)], capsys)) is cold
        (row,) = [r for r in read_table(table).rows if r.choice == "shm"]
        assert row.evidence.get("caches") == ("cold" if cold else None)
        out = where / "tuning"
        words = ["export", "--to", "openmpi-5", "--out", str(out), str(path)]
        assert (SAID in run(words, capsys)) is cold
        assert (SAID in (out / "stretto-native.sh").read_text(encoding="utf-8")) is cold
        page = where / "a.html"
        run(["report", "-o", str(page), str(path)], capsys)
        assert (SAID in page.read_text(encoding="utf-8")) is cold
