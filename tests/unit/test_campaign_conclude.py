"""The table of a campaign in whose directory not all went well."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import sweeps
from stretto.campaign.alone import in_turn
from stretto.campaign.command import lines_of
from stretto.campaign.conclude import Outcome, conclude
from stretto.campaign.layout import Layout
from stretto.campaign.request import Request
from stretto.campaign.unmeasured import read_simulated, refined
from stretto.campaign.worker import Worker
from stretto.errors import UsageError
from stretto.files.bench import Excluded, Launch, LaunchEnd
from stretto.files.rows import Row, Table
from stretto.files.table import read_table, write_table
from sweeps import Fake, worker_of

ONE, THREE, FOUR = Layout(1, 2), Layout(1, 3), Layout(1, 4)
SIMULATED = {"ratio": "0.5", "source": "simulated", "sizes": "8"}


def small(tmp_path: Path, **more: object) -> Request:
    values: dict[str, object] = {
        "collectives": ("allgather",), "sizes": (8, 1000, 262144), "layouts": (ONE, FOUR),
    }  # fmt: skip
    return sweeps.request_of(tmp_path, **(values | more))


def without(layout: Layout) -> Fake:
    backend = Fake()
    backend.fits = lambda x: "it hangs" if x == layout else None  # type: ignore[method-assign]
    return backend


def concluded(request: Request, worker: Worker) -> tuple[Outcome, list[str]]:
    assert worker.run()
    said: list[str] = []
    return conclude(request, worker, said.append, True), said


def test_no_table_replaces_one_of_more_measurements(tmp_path: Path) -> None:
    request = small(tmp_path)
    early, late = worker_of(request, Fake()), worker_of(request, Fake())
    outcomes: list[Outcome] = []

    def stopped() -> None:
        outcomes.append(conclude(request, early, lambda text: None, False))

    thread = threading.Thread(target=stopped)
    with in_turn(tmp_path):  # another one makes its own
        thread.start()
        thread.join(0.5)
        assert not outcomes
        assert late.run()
    thread.join()
    last = conclude(request, late, lambda text: None, True)
    assert last.rows and outcomes[0].rows == last.rows


def on(outcome: Outcome, layout: Layout) -> set[str]:
    return {r.choice for r in outcome.rows if (r.nodes, r.ppn) == (layout.nodes, layout.ppn)}


def exclude(worker: Worker, layout: Layout, reason: str) -> None:
    """Write that ring was excluded before anything else was measured there."""
    site = worker.sites[layout]
    names = {"allgather": list(sweeps.CANDIDATES)}
    variant = site.plan.settings.variant_of(0)
    with site.opened(worker.identity, ["t"]) as writer:
        writer.write(Launch(0, layout.nodes, layout.ppn, layout.nranks, names, 0.1, variant))
        writer.write(Excluded(0, "allgather", "ring", 8, reason, "x"))  # type: ignore[arg-type]
        writer.write(LaunchEnd(0, "failed", "x"))


def test_a_layout_that_was_left_out_has_no_rows_unless_they_are_asked_for(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE, THREE, FOUR))
    outcome, _ = concluded(request, worker_of(request, without(THREE)))
    assert {"ring", "shm"} < on(outcome, ONE) & on(outcome, FOUR) and not on(outcome, THREE)
    assert outcome.left_out[0] == "1 x 3: it hangs" and len(outcome.left_out) == 2
    assert "so it has no rows (--interpolate 1x3 interpolates them" in outcome.left_out[1]
    asked = small(tmp_path, layouts=(ONE, THREE, FOUR), interpolate=(THREE,))
    outcome, _ = concluded(asked, worker_of(asked, without(THREE)))
    assert {"ring", "shm"} < on(outcome, THREE)
    assert "its rows are interpolated, as requested" in outcome.left_out[1]


@pytest.mark.parametrize("reason", ["wrong", "hung"])
def test_what_is_out_on_a_layout_does_not_come_back_from_elsewhere(
    tmp_path: Path, reason: str
) -> None:
    path = tmp_path / "s.table"
    rows = [
        Row("allgather", 1, 6, 0, None, "ring", SIMULATED),
        Row("allgather", 1, 8, 0, None, "ring", SIMULATED),
    ]
    table = Table("openmpi", "4.1.4", None, None, "2026-01-01T00:00:00Z", "0", "h", "c", rows)
    write_table(table, path)
    six = Layout(1, 6)
    request = small(
        tmp_path / "c", layouts=(ONE, THREE, FOUR, six), interpolate=(THREE,), refine=path
    )
    backend = Fake()
    backend.fits = lambda x: "dead" if x in (THREE, six) else None  # type: ignore[method-assign]
    worker = worker_of(request, backend)
    for layout in (THREE, six):
        exclude(worker, layout, reason)
    outcome, said = concluded(request, worker)
    assert "ring" in on(outcome, FOUR) and "shm" in on(outcome, THREE)
    assert "ring" not in on(outcome, THREE)
    assert on(outcome, six) == {"native"} and on(outcome, Layout(1, 8)) == {"ring"}
    assert any(" 1 row is simulated" in x for x in said)
    later = small(tmp_path / "c", interpolate=(THREE,))  # a start that names others knows it, too
    outcome, _ = concluded(later, worker_of(later, Fake()))
    assert "shm" in on(outcome, THREE) and "ring" not in on(outcome, THREE)


def test_a_simulated_row_for_any_layout_is_left_out_where_one_of_them_says_no() -> None:
    rows = [Row("bcast", None, 2, 0, None, "chain", SIMULATED)]
    assert refined([], rows, {Layout(2, 4): {("bcast", "chain")}}) == (rows, 1)
    (row,), count = refined([], rows, {Layout(2, 2): {("bcast", "chain")}})
    assert (row.choice, row.evidence, count) == ("native", {}, 0)


def test_ranks_that_were_elsewhere_make_no_rows(tmp_path: Path) -> None:
    both = small(tmp_path)
    worker = worker_of(both, Fake())
    before, _ = concluded(both, worker)
    assert on(before, FOUR)
    path = worker.sites[FOUR].path
    text = path.read_text().replace('"nodes": 1, "ppn": 4', '"nodes": 2, "ppn": 2')
    path.write_text(text)
    alone = small(tmp_path, layouts=(ONE,))
    after, _ = concluded(alone, worker_of(alone, Fake()))
    assert "were on 2 x 2" in " | ".join(after.left_out) and after.complete
    assert on(after, ONE) == on(before, ONE) and not on(after, FOUR)


def test_table_has_all_layouts_of_the_directory(tmp_path: Path) -> None:
    both = small(tmp_path)
    worker = worker_of(both, Fake())
    before, _ = concluded(both, worker)
    alone = small(tmp_path, layouts=(FOUR,))
    after, said = concluded(alone, worker_of(alone, Fake()))
    assert on(after, ONE) == on(before, ONE) and on(after, FOUR)
    assert any("the table includes 1 x 2, measured by other starts" in x for x in said)
    worker.sites[ONE].path.write_text("{}\n")
    after, said = concluded(alone, worker_of(alone, Fake()))
    assert not on(after, ONE) and any(str(worker.sites[ONE].path) in x for x in said)


def test_launches_that_other_starts_gave_up_are_told(tmp_path: Path) -> None:
    both = small(tmp_path, launches=2)
    concluded(both, worker_of(both, Fake(fails=lambda x, launch: x == FOUR and launch == 1)))
    alone = small(tmp_path, launches=2, layouts=(ONE,))
    after, _ = concluded(alone, worker_of(alone, Fake()))
    (sentence,) = after.left_out
    assert (
        sentence.startswith("1 x 4: given up: 1 launch") and "a start with this layout" in sentence
    )


def test_a_layout_that_other_starts_left_out_is_told_unless_it_is_complete(tmp_path: Path) -> None:
    both, alone = small(tmp_path, launches=2), small(tmp_path, launches=2, layouts=(ONE,))
    for fails, told in ((True, ["1 x 4: it hangs; mend it"]), (False, [])):
        backend = Fake(fails=lambda x, launch, f=fails: f and x == FOUR and launch == 1)
        worker = worker_of(both, backend)
        concluded(both, worker)
        worker.sites[FOUR].leave_out("it hangs", "mend it")
        after, _ = concluded(alone, worker_of(alone, Fake()))
        assert [x for x in after.left_out if "given up" not in x] == told


def test_a_start_that_measures_nothing_itself_shows_where_the_results_are(tmp_path: Path) -> None:
    both = small(tmp_path)
    assert worker_of(both, Fake()).run()
    other = small(tmp_path, layouts=(Layout(16, 2),))
    outcome, _ = concluded(other, worker_of(other, Fake()))
    assert [p.name for p in outcome.results] == ["1x2.bench.jsonl", "1x4.bench.jsonl"]
    assert f"{tmp_path / 'mpi'}{os.sep}*.bench.jsonl" in lines_of(outcome)[-1]


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        ("row bcast 8 2 0-inf knomial(4) -", True),
        ("row bcast 8 2 0-inf knomial(4) ratio=0.4", True),
        ("row bcast 8 2 0-inf native:coll_A=1 -", True),
        ("row bcast 8 2 0-inf native ratio=1 source=measured", True),
        ("row bcast 8 2 0-inf native -", False),
        ("row bcast 8 2 0-inf knomial(4) ratio=0.4 source=simulated", False),
    ],
)
def test_a_row_that_is_not_marked_as_simulated_is_refused(
    tmp_path: Path, row: str, refused: bool
) -> None:
    path = tmp_path / "h.table"
    path.write_text(
        "stretto-table 1\nmpi openmpi 4.1.4\nlayout nodes=* ppn=*\n"
        'created 2026-01-01T00:00:00Z stretto 0 host h cpu "c"\n# row by hand\n'
        f"row bcast 4 2 0-inf native -\n\n{row}\nend 2\n"
    )
    if not refused:
        assert read_simulated(path, "openmpi") == read_table(path).rows
        return
    with pytest.raises(UsageError, match=r"is not simulated: it lacks source=simulated") as error:
        read_simulated(path, "openmpi")
    assert error.value.place == f"{path}:8" and "table simulate" in (error.value.remedy or "")
