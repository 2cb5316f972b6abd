"""Tables merged: more evidence wins, whatever the order of the files."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.merge import merge_tables
from stretto.files.table import Row, Table, read_table, write_table
from stretto.report import learned

FIRST = Table("openmpi", "5.0.11", None, None, "2026-11-27T10:00:00Z", "0.1.0", "a", "EPYC")


def row(choice: str, low: int, high: int | None, /, **evidence: object) -> Row:
    words = {k: str(v) for k, v in evidence.items()}
    return Row("allreduce", 1, 2, low, high, choice, words)


def table(*rows: Row, **others: object) -> Table:
    return dataclasses.replace(FIRST, rows=list(rows), **others)  # type: ignore[arg-type]


def test_merge_of_tables_in_any_order_takes_the_row_with_more_evidence() -> None:
    few, many = (
        row("shm", 8, 15, source="learned", calls=900),
        row("ring", 8, 31, source="learned", calls=5000),
    )
    tables = [
        table(few, row("native", 64, None, source="learned", calls=10)),
        table(many, row("shm", 64, 127, source="measured", launches=10), created="2026-11-28"),
        table(row("shm", 16, 31, source="earlier"), row("native", 0, 7, source="learned", calls=1)),
    ]
    found = [
        merge_tables([(Path(str(i)), tables[i]) for i in order])
        for order in itertools.permutations(range(3))
    ]
    assert all(one == found[0] for one in found)
    assert found[0].created == "2026-11-28"
    assert [(r.low, r.high, r.choice) for r in found[0].rows] == [
        (0, 7, "native"), (8, 31, "ring"), (64, 127, "shm"), (128, None, "native"),
    ]  # fmt: skip
    again = merge_tables([(Path("a"), found[0]), (Path("b"), found[0]), (Path("c"), tables[0])])
    assert again == found[0], "nothing new changes nothing"


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"mpi_version": "5.0.10"}, "MPIs: openmpi 5.0.11 and openmpi 5.0.10"),
        ({"cpu": "Xeon"}, "processors: EPYC and Xeon"),
        ({"nodes": 2, "ppn": 4}, "layouts: * x * (nodes x ppn) and 2 x 4 (nodes x ppn)"),
    ],
)
def test_merge_of_tables_for_different_systems_is_refused(
    other: dict[str, object], what: str
) -> None:
    with pytest.raises(StrettoError) as refused:
        merge_tables([(Path("a"), table()), (Path("b"), table(**other))])
    assert what in str(refused.value)


def test_merge_and_report_of_learned_tables_by_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {
        "source": "learned", "calls": 5000, "native_us": 1.0, "us": 0.4, "ratio": 0.4, "low": 0.3,
        "high": 0.5, "pairs": 12, "saved_s": 0.3, "saved_spread_s": 0.04, "tried": "shm;ring",
        "order": "changed",
    }  # fmt: skip
    job = tmp_path / "stretto-app"
    job.mkdir()
    a, b = job / "app.learned.table", tmp_path / "b.table"
    write_table(table(row("shm", 8, 15, **words)), a)
    write_table(table(row("native", 16, 31, source="learned", calls=300, native_us=2.0)), b)
    assert main(["table", "merge", str(a), str(b), "--out", str(a)]) == 0
    assert len(read_table(a).rows) == 2
    assert main(["table", "merge", str(a), "--out", str(b)]) != 0, "not one of its tables"
    page = tmp_path / "page.html"
    assert main(["report", str(job), "-o", str(page), "--quiet"]) == 0
    said = "Learning saved 300 ms (260 ms to 340 ms) while the job ran; most by allreduce of 8 B"
    assert said in capsys.readouterr().err
    text = page.read_text("utf-8")
    assert said in text and "shm, ring" in text and "nothing faster" in text
    assert "The order of the sums changed during the run in 1 shape (allreduce)" in text


def test_report_of_learning_without_a_gain_says_so() -> None:
    untested = [row("shm", 8, 15, source="learned", calls=900)]
    assert "not yet compared" in learned.saved_sentence(untested)
    assert "nothing that was tried" in learned.saved_sentence([row("native", 8, 15)])
