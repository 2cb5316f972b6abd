"""What stretto io says of a result: its answer, what to change, and the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.cli.measured import finish
from stretto.errors import StrettoError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.storage import IoFile, Way, write_io
from stretto.storage.show import answer, cache_words, change_lines, page
from stretto.storage.show import as_json as encoded


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
         "no other method with the same result is faster", [], "WARM. It held up to 50 %"),
        (result(read_all=(1.0, -1), read_bcast=(2.0, -1)), "no other method", [], "UNKNOWN"),
        (replace(result(read_all=(1.0, 1.0)), own=False), "nothing else was measured", [],
         "the file of another user cannot be dropped"),
        (result(write_gather=(8.0, -1), write_own=(1.0, -1), write_parts=(2.0, -1)),
         "To write 2 GiB on lustre: one rank receives and writes all of it (POSIX): 8.2 s; every "
         "rank writes a separate file (POSIX): 1.02 s, 8 times faster", ["one file per rank"],
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


def _compared(
    folder: Path, capsys: pytest.CaptureFixture[str], *names: str, code: int = 0
) -> tuple[str, list[str]]:
    """Return what compare prints of results in a folder, and the figures of their report."""
    paths = [str(folder / f"{name}.io.json") for name in names]
    assert main(["compare", *paths]) == code
    said = capsys.readouterr()
    assert main(["report", *paths, "-o", str(folder / "p.html"), "--json"]) == code
    page = capsys.readouterr().out
    return said.out or said.err, json.loads(page).get("figures", []) if page else []


def test_results_of_io_are_compared_over_ranks_and_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, ranks, all_s, parts_s in (
        ("old-16", 16, 3.2, 2.0),
        ("old-128", 128, 25.6, 0.25),
        ("new-16", 16, 0.8, 2.01),
        ("new-128", 128, 0.9, 0.2),
    ):
        found = result(read_all=(all_s, 0.0), read_parts=(parts_s, 0.0))
        write_io(replace(found, hosts=["h"] * ranks), tmp_path / f"{name}.io.json")
    read_few = result(read_all=(3.2, 0.6), write_own=(1.0, -1))
    ways = [Way(w.name, w.launches[:5], w.cached[:5]) for w in read_few.ways]
    write_io(replace(read_few, hosts=["h"] * 16, ways=ways), tmp_path / "few.io.json")
    write_io(replace(read_few, bytes=9), tmp_path / "small.io.json")

    # in order of ranks, whatever the order of names
    text, figures = _compared(tmp_path, capsys, "old-128", "old-16")
    assert text.startswith(
        "To read 2 GiB: every rank reads all of it (POSIX): 3.28 s with old-16 (16 ranks); 26.2 s "
        "with old-128 (128 ranks), 8 times slower (7.77 to 8.24)."
    )
    assert "8 times faster" in text and figures == ["io-reading-ranks"]

    text, figures = _compared(tmp_path, capsys, "old-16", "new-16")
    assert "820 ms with new-16, 4 times faster (3.89 to 4.12)" in text and "equal" in text
    assert figures == ["io-reading"]

    text, figures = _compared(tmp_path, capsys, "old-16", "old-128", "new-16", "new-128")
    assert [w in text.splitlines()[0] for w in ("old-16", "new-16", "new-128")] == [True] * 3
    assert figures == ["io-read-all-ranks", "io-read-parts-ranks"]

    text, figures = _compared(tmp_path, capsys, "old-16", "few")
    assert "3.26 s with few, not tested" in text and "times" not in text.split("note: ")[0]
    assert "not tested: 1 of 1 difference; each result needs 6 launches" in text
    assert "few: page cache: WARM" in text and "not in the first" in text
    assert figures == ["io-reading", "io-writing"]

    text, _ = _compared(tmp_path, capsys, "old-16", "small", code=1)
    assert "of files of different sizes: 2 GiB" in text and "9 B" in text
    assert main(["compare", str(tmp_path / "few.io.json")]) == 2
    assert "only one result of stretto io" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "few.io.json"), str(tmp_path)]) == 2
    assert "results of stretto io and others cannot be compared" in capsys.readouterr().err


def test_result_that_cannot_be_written_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """All was measured, and nothing shown."""
    for as_json in (False, True):
        with pytest.raises(StrettoError, match="cannot write the result"):
            finish(result(**SLOW), write_io, encoded, page, Path("/dev/full"), as_json)
        out = capsys.readouterr().out
        assert ("read-all" if as_json else "every rank reads all of it") in out
