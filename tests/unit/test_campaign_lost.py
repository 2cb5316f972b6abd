"""Campaigns whose files are gone, whose starts differ, whose candidates never come up."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from stretto.campaign.conclude import conclude
from stretto.campaign.layout import Layout
from stretto.campaign.status import status_lines
from stretto.campaign.worker import Worker
from stretto.files.table import read_table
from stretto.measure.variants import variant_for
from sweeps import Fake, worker_of
from test_campaign_kills import read_status_of, small, table, taken, written

ONE = Layout(1, 2)


def of_another_version(path: Path) -> None:
    header, rest = path.read_text().split("\n", 1)
    path.write_text(header.replace("4.1.4", "4.1.5") + "\n" + rest)


def a_hole(path: Path) -> None:
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:3], "\0", *lines[4:]]))


def cut(path: Path) -> None:
    """In the midst of a launch."""
    text = path.read_text()
    path.write_text(text[: len(text) // 2])


@pytest.mark.parametrize(
    "damage",
    [a_hole, cut, of_another_version, lambda p: p.write_text(""), lambda p: p.unlink()],
    ids=["hole", "cut", "version", "empty", "gone"],
)
def test_what_is_lost_is_measured_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    request = small(tmp_path, layouts=(ONE,))
    first = worker_of(request, Fake())
    assert first.run()
    before, rows = taken(first), table(request, first)
    (path,) = first.base.glob("*/*.bench.jsonl")
    damage(path)
    status = read_status_of(request)
    assert not status["complete"] and status["left_s"] > 0, status  # type: ignore[operator]
    (system,) = status["systems"]  # type: ignore[misc]
    assert system["layouts"][0]["done"] < system["layouts"][0]["total"]
    again = worker_of(request, Fake())
    assert again.run()
    said = again.said  # type: ignore[attr-defined]
    assert [x for x in said if "1 x 2: what was measured is not in the files any more" in x] == said
    assert len(said) == 1
    assert taken(again) == before and table(request, again) == rows
    assert read_status_of(request)["complete"]


def test_what_is_lost_of_a_launch_that_another_file_ends_is_measured_again(tmp_path: Path) -> None:
    class Stop(BaseException):
        pass

    left = 12  # in the midst of the second launch, between two of its cells

    def between() -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Stop

    request = small(tmp_path, layouts=(ONE,), launches=1, eliminate=False)
    first = worker_of(request, Fake(between))
    with pytest.raises(Stop):
        first.run()
    (path,) = first.base.glob("*/*.bench.jsonl")
    second = worker_of(request, Fake())
    assert second.run()
    before = taken(second)
    untouched = Fake()
    assert worker_of(request, untouched).run() and not untouched.launches
    path.unlink()
    assert not read_status_of(request)["complete"]
    backend = Fake()
    third = worker_of(request, backend)
    assert third.run() and len(backend.launches) == 2
    said = third.said  # type: ignore[attr-defined]
    assert len(said) == 1 and "what was measured is not in the files any more" in said[0]
    assert taken(third) == before and set(written(third).values()) == {1}
    assert not worker_of(request, untouched).sites[ONE].doubted


def test_what_is_there_is_not_measured_again(tmp_path: Path) -> None:
    two = small(tmp_path, layouts=(ONE, Layout(2, 2)))
    assert worker_of(two, Fake()).run()
    for layouts in ((Layout(2, 2),), (ONE, Layout(2, 2), Layout(4, 2)), (ONE, Layout(2, 2))):
        worker = worker_of(small(tmp_path, layouts=layouts), Fake())
        assert worker.run() and set(written(worker).values()) == {1}


def test_a_process_that_works_is_not_doubted(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,))
    first = worker_of(request, Fake())
    assert first.run()
    (path,) = first.base.glob("*/*.bench.jsonl")
    path.unlink()
    other = worker_of(request, Fake()).sites[ONE].claims
    held = other.take(10_000, 0)
    assert held is not None and not worker_of(request, Fake()).sites[ONE].doubted
    held.end(done=False)
    assert worker_of(request, Fake()).sites[ONE].doubted


def test_a_process_that_dies_is_doubted_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = small(tmp_path, layouts=(ONE,))
    first = worker_of(request, Fake())
    assert first.run()
    before = taken(first)
    (path,) = first.base.glob("*/*.bench.jsonl")
    path.unlink()
    held = worker_of(request, Fake()).sites[ONE].claims.take(10_000, 0)
    assert held is not None
    monkeypatch.setattr("stretto.campaign.standing.SEEN_S", 0.5)
    worker = worker_of(request, Fake(), poll_s=0.1)
    held.end(done=False)  # which another host's kill would do by its silence
    assert not worker.sites[ONE].doubted and not worker.settled(worker.sites[ONE])
    assert worker.run()
    assert taken(worker) == before and worker.said  # type: ignore[attr-defined]


def test_the_table_has_all_layouts_of_the_directory(tmp_path: Path) -> None:
    both = small(tmp_path, layouts=(ONE, Layout(2, 2)))
    worker = worker_of(both, Fake())
    assert worker.run()
    before = conclude(both, worker, lambda text: None, True)
    assert {(r.nodes, r.ppn) for r in before.rows} == {(1, 2), (2, 2)}
    said: list[str] = []
    alone = small(tmp_path, layouts=(Layout(2, 2),))
    later = worker_of(alone, Fake())
    assert later.run()
    after = conclude(alone, later, said.append, True)
    assert after.table == before.table and after.table is not None
    assert {(r.nodes, r.ppn) for r in read_table(after.table).rows} == {(1, 2), (2, 2)}
    assert [x for x in said if "1 x 2, measured by other starts here, is in the table, too" in x]
    (path,) = (worker.base / "1x2").glob("layout.json")
    path.write_text(json.dumps({"schema": "x"}))
    conclude(alone, later, said.append, True)
    assert any(x.startswith("stretto: warning: not used: ") and str(path) in x for x in said)


def kinds(worker: Worker, backend: Fake) -> list[str]:
    variants = worker.sites[ONE].plan.settings.variants
    return [variants[k % len(variants)] for _, k in backend.launches]


def test_a_candidate_with_which_no_launch_comes_up_is_excluded(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,), launches=6)
    bad = "native:coll_A=1"
    assert variant_for(bad) == bad, "it has launches of its own"
    worker = worker_of(request, Fake())
    at = worker.sites[ONE].plan.settings.variants.index(bad)
    count = worker.sites[ONE].plan.nvariants
    backend = Fake(fails=lambda layout, launch: launch % count == at)
    worker = worker_of(request, backend)
    assert worker.run()
    assert kinds(worker, backend).count(bad) == 4, "three times, and once more"
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.complete and not outcome.left_out
    excluded = worker.sites[ONE].folder.merged().bench.excluded
    assert {(r.candidate, r.reason) for r in excluded} == {(bad, "failed")} and len(excluded) == 2
    assert "3 launches brought nothing, the last: exit code 1" in excluded[0].detail
    status = read_status_of(request)
    assert status["complete"] and f"{bad} for allreduce" in "\n".join(status_lines(status))
    again = Fake()
    assert worker_of(request, again).run() and not again.launches


def test_where_nothing_comes_up_no_candidate_is_to_blame(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,), launches=6)
    worker = worker_of(request, Fake(fails=lambda layout, launch: True))
    assert worker.run() and worker.sites[ONE].closed
    assert not worker.sites[ONE].folder.merged().bench.excluded


def test_a_status_writes_nothing(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,))
    worker = worker_of(request, Fake())
    assert worker.run()
    assert read_status_of(request)["complete"]
    claims = worker.sites[ONE].claims
    (claims.directory / "00003.1.end").unlink()
    far = replace(claims.holder, place="elsewhere")
    (claims.directory / "00003.1").write_text(json.dumps(asdict(far)))
    for age, complete in ((0.0, False), (1000.0, True)):
        os.utime(claims.directory / "00003.1", times=(time.time() - age,) * 2)
        before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if "real" not in p.parts}
        status = read_status_of(request)
        assert status["complete"] is complete, "measured, though it was not let go of"
        (system,) = status["systems"]  # type: ignore[misc]
        assert system["layouts"][0]["held"] == ([] if complete else [3])
        assert before == {
            p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if "real" not in p.parts
        }


def test_what_another_has_measured_and_cannot_be_read_yet_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = small(tmp_path, layouts=(ONE,))
    here, there = worker_of(request, Fake()), worker_of(request, Fake())
    glob, hidden = Path.glob, set[str]()

    def listing(path: Path, pattern: str) -> Iterator[Path]:
        return (p for p in glob(path, pattern) if p.name not in hidden)

    while (unit := there.next_unit()) is not None and unit.turn < 2:
        there._measure(unit)
    hidden |= {p.name for p in glob(there.base / "1x2", "*.bench.jsonl")}
    assert hidden
    monkeypatch.setattr(Path, "glob", listing)
    assert here.next_unit() is None, "all of the first round is done, and none of it can be read"
    assert not here.sites[ONE].known.keys() - {0} and here._others_work()
    hidden.clear()
    unit, other = here.next_unit(), there.next_unit()
    assert unit is not None and other is not None
    assert unit.turn == other.turn > 0
    same = unit.cases == other.cases
    assert same
    assert here.run() and set(written(here).values()) == {1}
