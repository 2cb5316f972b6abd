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
from stretto.report.load import System

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
        ({"cpu": "unknown"}, "does not name its processor"),
    ],
)
def test_merge_of_tables_for_different_systems_is_refused(
    other: dict[str, object], what: str
) -> None:
    with pytest.raises(StrettoError) as refused:
        merge_tables([(Path("a"), table()), (Path("b"), table(**other))])
    assert what in str(refused.value)


def test_merge_of_tables_without_a_processor_is_refused() -> None:
    nameless = table(cpu="unknown")
    assert merge_tables([(Path("a"), nameless)]) == nameless, "nothing to confuse it with"
    with pytest.raises(StrettoError, match="does not name its processor"):
        merge_tables([(Path("a"), nameless), (Path("b"), nameless)])


#: what the library writes at the end of a job with learning
LEARNED = """\
stretto-table 1
mpi openmpi 5.0.11
layout nodes=* ppn=*
created 2026-11-28T10:00:00Z stretto 0.1.0 host b cpu "implementer 0x41 part 0xd40"
# collective nodes ppn bytes choice evidence
row allreduce 1 2 8-15 shm source=learned calls=9000 saved_s=0.2 saved_spread_s=0.01
row allreduce 1 2 16-31 ring source=learned calls=9000 saved_s=0.4 saved_spread_s=0.01
row allreduce 2 2 8-15 ring source=learned calls=9000 saved_s=0.1 saved_spread_s=0.01
end 3
"""


def test_merge_of_a_tuned_and_a_learned_table_keeps_the_layout_of_each_row(tmp_path: Path) -> None:
    tuned, other, app, out = (tmp_path / f"{name}.table" for name in "abcd")
    measured = [row("native", 8, 23, source="measured", launches=6), row("shm", 64, None)]
    measured[1] = dataclasses.replace(measured[1], nodes=None, ppn=None)
    write_table(table(*measured, nodes=1, ppn=2, cpu="Arm Neoverse-V1"), tuned)
    write_table(table(row("shm", 0, 7), nodes=2, ppn=2, cpu="Arm Neoverse-V1"), other)
    app.write_text(LEARNED, "utf-8")
    for names, ppn in (([tuned, app], None), ([app, other, tuned], None), ([other, tuned], 2)):
        assert main(["table", "merge", *map(str, names), "--out", str(out)]) == 0
        found = read_table(out)
        out.unlink()
        assert (found.nodes, found.ppn, found.cpu) == (None, ppn, "Arm Neoverse-V1")
        best = {size: found.find("allreduce", 1, 2, size) for size in (8, 16, 24, 64)}
        assert [r and r.choice for r in best.values()] == (
            ["native", "native", None, "shm"] if ppn else ["native", "native", "ring", "shm"]
        )
        assert found.find("allreduce", 4, 2, 64) is None, "measured on another layout"


def test_merge_of_a_learned_row_that_is_cut_counts_the_time_saved_once() -> None:
    whole = row("ring", 8, 31, source="learned", calls=9, saved_s=0.3, saved_spread_s=0.1)
    learned_table = table(whole)
    weak = table(row("shm", 8, 15, source="earlier"))
    cut = table(row("shm", 16, 19, source="measured", launches=6))
    kept = merge_tables([(Path("a"), learned_table), (Path("b"), weak)])
    assert kept.rows == [whole]
    found = merge_tables([(Path("a"), learned_table), (Path("b"), cut)])
    assert [(r.low, r.high) for r in found.rows] == [(8, 15), (16, 19), (20, 31)]
    system = System("x", tables=[learned_table, kept, found])
    assert learned.saved(learned.learned_rows(system)) == (0.3, 0.3 - 0.1, 0.3 + 0.1)
    other = row("ring", 64, 64, source="learned", calls=9, saved_s=0.5, saved_spread_s=0.25)
    assert learned.saved([whole, other]) == pytest.approx((0.8, 0.45, 1.15)), "as learn says"


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
    assert "no algorithm tried in the run" in learned.saved_sentence([row("native", 8, 15)])
