"""Several starts of one campaign: what each may change, what it keeps, and what it is told."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import stretto.campaign.plan as plan_module
import sweeps
from stretto.campaign import run
from stretto.campaign.alone import alone_on
from stretto.campaign.begun import CAMPAIGN, earlier, keep_about, read_about, with_earlier
from stretto.campaign.conclude import Outcome
from stretto.campaign.elimination import Policy
from stretto.campaign.hosts import Hosts
from stretto.campaign.layout import Layout
from stretto.campaign.plan import FILE, check_plan
from stretto.campaign.request import Request
from stretto.campaign.status import read_status, status_lines
from stretto.campaign.worker import Worker
from stretto.counted import duration
from stretto.errors import StrettoError
from stretto.files.identity import Identity, now
from stretto.files.table import read_table

ONE, TWO, FOUR = Layout(1, 2), Layout(2, 2), Layout(1, 4)


class Measures(sweeps.Fake):
    """As a real backend, with notes."""

    notes: Sequence[str] = ()


class Starts:
    """Starts of campaigns with stand-ins for MPIs, by name; `backends` measure."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        self.backends: dict[str, Measures] = {}
        monkeypatch.setattr(run, "system_of", self.system)
        monkeypatch.setattr(run, "make_backend", lambda r, mpi, *of: self.backends[mpi.name])

    def system(
        self, request: Request, name: str | None, *of: object, **more: object
    ) -> run.CampaignMPI:
        name = name or "one"
        self.backends.setdefault(name, Measures())
        mpi = dataclasses.replace(sweeps.MPI, version=f"4.1.{len(name)}")
        identity = Identity("0.1.0", now(), sweeps.HOST, mpi)
        base = request.out / f"openmpi-{mpi.version}" / "a-cpu"
        plans = sweeps.plans(request)
        for plan in plans:
            check_plan(base / plan.layout.name, plan, identity)
        installation = type("MPI", (), {"name": name, "family": "openmpi"})()
        policy = Policy() if request.eliminate else None
        return run.CampaignMPI(installation, identity, Hosts((), "A CPU"), base, plans, policy)

    def __call__(self, request: Request, dry_run: bool = False) -> list[Outcome]:
        self.said.clear()
        if dry_run:
            run.plan_campaign(request, self.said.append)
            return []
        return run.run_campaign(request, ["t"], self.said.append, yes=True)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    return Starts(monkeypatch)


def small(out: Path, **more: object) -> Request:
    values = {"layouts": (ONE,), "sizes": (8, 4096), "collectives": ("allreduce",)}
    return sweeps.request_of(out, **(values | more))


def choices(outcome: Outcome) -> set[tuple[int, int, str]]:
    assert outcome.table is not None
    rows = read_table(outcome.table).rows
    return {(r.nodes, r.ppn, r.evidence.get("source", "measured")) for r in rows}


def test_who_is_told_to_stop_begins_no_other_mpi(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, mpis=("one", "other"))
    first = Measures()
    first.between = lambda: os.kill(os.getpid(), signal.SIGUSR1) if first.cells == 3 else None
    starts.backends["one"] = first
    one, other = starts(request)
    assert first.launches and not one.complete
    assert starts.backends["other"].launches == [] and not other.complete and not other.ended
    assert "stopped before it was begun" in other.left_out[0]
    status = read_status(tmp_path)
    (missing,) = status["not_begun"]
    assert missing["mpi"] == "openmpi 4.1.5" and not status["complete"]
    (system,) = status["systems"]
    assert status["left_s"] == system["left_s"] + missing["left_s"] > system["left_s"]
    lines = status_lines(status)
    assert any(x.startswith("openmpi 4.1.5: not begun; about ") for x in lines)
    first.between = lambda: None
    assert all(o.complete for o in starts(request)) and starts.backends["other"].launches
    assert read_status(tmp_path)["complete"] and not read_status(tmp_path)["not_begun"]


def test_the_parts_of_the_time_left_and_the_pace_of_others(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, mpis=("one", "other"), launches=12)
    slow = Measures(slow=7.0)
    slow.between = lambda: os.kill(os.getpid(), signal.SIGUSR1) if slow.cells == 40 else None
    starts.backends["one"] = slow
    starts(request)
    expected = read_status(tmp_path)["not_begun"][0]["left_s"]
    other = starts.system(request, "other")
    Worker(other.plans, other.base, Measures(), other.identity, ["t"], print, quiet=True)
    status = read_status(tmp_path)
    begun, idle = status["systems"]
    assert begun["pace"] == pytest.approx(7) and idle["pace"] == pytest.approx(begun["pace"])
    assert idle["left_s"] == pytest.approx(expected)
    assert status_lines(status)[-1].startswith("about ")
    # and a start that goes on counts alike: what is left is no more than all of it
    system = starts.system(request, "one")
    assert system.pace == pytest.approx(7)
    assert system.left_s == pytest.approx(begun["left_s"])
    assert system.left_s <= system.pace * sum(system.expected_s) * 1.001
    lines = run.plan_lines(request, system)
    assert f"about {duration(7 * sum(system.expected_s))}" in " ".join(lines)
    assert any("times are 7.0 times what was estimated" in x for x in lines)
    # an MPI that has told no time is taken to be as slow, as `campaign status` takes it
    said: list[str] = []
    plans = run.plan_campaign(request, said.append)
    assert [x["pace"] for x in plans] == [pytest.approx(7)] * 2
    assert plans[1]["left_s"] == pytest.approx(expected)
    assert sum("times are 7.0 times what was estimated" in x for x in said) == 2
    assert [s.pace for s in run.alike([other])] == [1.0]


def test_nodes_that_are_held_are_told_once(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, mpis=("one", "other"))
    with alone_on(tmp_path, [os.uname().nodename]), pytest.raises(StrettoError) as error:
        starts(request)
    assert not starts.backends, "no MPI was started there to ask what the node is"
    assert "another process of this campaign measures on" in error.value.message
    assert "wait for it" in str(error.value.remedy)
    assert not any("another process" in x for x in starts.said)


def test_nodes_that_others_take_while_they_are_asked_are_told_once(
    starts: Starts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "refuse_held", lambda *of: None)  # nobody had them a moment ago
    with alone_on(tmp_path, [os.uname().nodename]), pytest.raises(StrettoError) as error:
        starts(small(tmp_path, mpis=("one", "other")))
    assert "another process of this campaign measures on" in error.value.message
    assert not any("another process" in x for x in starts.said)


def test_a_start_that_is_refused_leaves_no_word(starts: Starts, tmp_path: Path) -> None:
    starts(small(tmp_path, launches=6))
    before = (tmp_path / CAMPAIGN).read_text()
    more = small(tmp_path, launches=3, layouts=(ONE, TWO))
    with alone_on(tmp_path, [os.uname().nodename]), pytest.raises(StrettoError, match="measures"):
        starts(more)
    with pytest.raises(StrettoError, match="begun with other seed"):
        starts(small(tmp_path, launches=9, seed=7))
    assert (tmp_path / CAMPAIGN).read_text() == before
    assert [p.parent.name for p in tmp_path.rglob(FILE)] == [ONE.name]
    assert read_status(tmp_path)["complete"]


def test_each_layout_has_the_launches_that_it_was_asked_for(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, launches=6, eliminate=False)
    first = Measures()
    first.between = lambda: os.kill(os.getpid(), signal.SIGUSR1) if first.cells == 20 else None
    starts.backends["one"] = first
    assert not starts(request)[0].complete
    left = read_status(tmp_path)["systems"][0]["layouts"][0]
    first.between = lambda: None
    assert starts(small(tmp_path, launches=1, layouts=(FOUR,), eliminate=False))[0].complete
    status = read_status(tmp_path)
    found = {x["layout"]: x for x in status["systems"][0]["layouts"]}
    assert found["1x2"] == left and found["1x4"]["complete"] and not status["complete"]
    assert found["1x4"]["total"] < found["1x2"]["total"]
    assert starts(request)[0].complete and read_status(tmp_path)["complete"]


@pytest.mark.parametrize("dry_run", [False, True])
def test_elimination_cannot_be_changed(starts: Starts, tmp_path: Path, dry_run: bool) -> None:
    starts(small(tmp_path))
    with pytest.raises(StrettoError, match="begun with eliminate = true"):
        starts(small(tmp_path, eliminate=False), dry_run)
    shutil.rmtree(next(tmp_path.glob("*/a-cpu")))
    starts(small(tmp_path, eliminate=False), dry_run)


@pytest.mark.parametrize("eliminate", [False, True])
def test_elimination_is_kept_with_the_plans(
    starts: Starts, tmp_path: Path, eliminate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*of: object) -> None:
        raise StrettoError("no space left")

    mine = small(tmp_path, launches=1, eliminate=eliminate)
    other = dataclasses.replace(mine, eliminate=not eliminate)
    elsewhere = dataclasses.replace(other, layouts=(FOUR,))
    with monkeypatch.context() as once, pytest.raises(StrettoError, match="no space left"):
        once.setattr(run, "keep_about", full)
        starts(mine)
    path = tmp_path / CAMPAIGN
    assert not path.exists()
    for damaged in (False, True):
        if damaged:
            truncated(path)
        for start in (other, elsewhere):
            with pytest.raises(StrettoError, match="begun with eliminate = ") as error:
                starts(start)
            assert str(error.value.place).endswith(FILE)
        starts(mine, dry_run=True)
        if not damaged:
            assert starts(mine)[0].complete


@pytest.mark.parametrize("links", [True, False])
def test_of_two_first_starts_at_once_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    request, real = small(tmp_path), plan_module.write_once

    def link(*of: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def in_between(path: Path, text: str, what: str, whole: bool) -> bool:
        monkeypatch.setattr(plan_module, "write_once", real)
        with monkeypatch.context() as other:
            other.setenv("UCX_TLS", "tcp,sm")
            sweeps.worker_of(request, Measures())
        return real(path, text, what, whole)

    if not links:
        monkeypatch.setattr(os, "link", link)
    monkeypatch.setenv("UCX_TLS", "rc,sm")
    monkeypatch.setattr(plan_module, "write_once", in_between)
    with pytest.raises(StrettoError, match="begun with UCX_TLS=tcp,sm and not rc,sm"):
        sweeps.worker_of(request, Measures())
    directory = tmp_path / "mpi" / ONE.name
    assert [p.name for p in directory.iterdir() if p.is_file()] == [FILE]


def test_rows_between_layouts_stay(starts: Starts, tmp_path: Path) -> None:
    between = Layout(1, 3)
    (first,) = starts(small(tmp_path, layouts=(ONE, FOUR), interpolate=(between,)))
    assert {(1, 2, "measured"), (1, 3, "interpolated"), (1, 4, "measured")} <= choices(first)
    (later,) = starts(small(tmp_path))
    assert choices(later) == choices(first)
    assert any("1 x 3, asked for by other starts here" in x for x in starts.said)
    assert read_about(tmp_path)["interpolate"] == ["1x3"]


def test_the_platform_that_prices_rows_stays_with_them(tmp_path: Path) -> None:
    between = Layout(1, 3)
    keep_about(small(tmp_path, interpolate=(between,), platform="hpc7g"), ["t"])
    later = small(tmp_path)
    for _ in range(2):
        found = with_earlier(later, earlier(tmp_path), lambda text: None)
        assert (found.interpolate, found.platform) == ((between,), "hpc7g")
        keep_about(later, ["t"])


def test_rows_asked_for_stay_where_a_start_means_to_measure(tmp_path: Path) -> None:
    keep_about(small(tmp_path, interpolate=(FOUR, TWO)), ["t"])
    said: list[str] = []
    later = small(tmp_path, layouts=(ONE, FOUR))
    assert with_earlier(later, earlier(tmp_path), said.append).interpolate == (FOUR, TWO)
    assert said == ["stretto: note: 2 x 2, asked for by other starts here, is filled in, too"]
    said.clear()
    with_earlier(small(tmp_path, layouts=(ONE, TWO, FOUR)), earlier(tmp_path), said.append)
    assert said == []


def test_a_start_that_names_the_same_rows_has_their_prices_too(tmp_path: Path) -> None:
    between = Layout(1, 3)
    keep_about(small(tmp_path, interpolate=(between,), platform="hpc7g"), ["t"])
    again = with_earlier(small(tmp_path, interpolate=(between,)), earlier(tmp_path), print)
    assert again.platform == "hpc7g"
    other = small(tmp_path, interpolate=(between,), platform="c5n")
    assert with_earlier(other, earlier(tmp_path), print).platform == "c5n"


def test_a_simulated_table_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.table").write_text("")
    keep_about(small(tmp_path / "c", refine=Path("t.table")), ["t"])
    monkeypatch.chdir("/")
    found = with_earlier(small(tmp_path / "c"), earlier(tmp_path / "c"), print)
    assert found.refine == tmp_path / "t.table"


def test_rows_that_were_refined_stay_or_it_is_said(starts: Starts, tmp_path: Path) -> None:
    starts(small(tmp_path / "c"))
    about = json.loads((tmp_path / "c" / CAMPAIGN).read_text())
    (tmp_path / "c" / CAMPAIGN).write_text(json.dumps({**about, "refine": str(tmp_path / "x")}))
    starts(small(tmp_path / "c"))
    assert any("x, by which other starts refined, is not there any more" in x for x in starts.said)


def test_another_network_is_not_mixed_in(
    starts: Starts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_btl_tcp_links", "2")
    monkeypatch.setenv("OMPI_MCA_btl_base_verbose", "1")
    starts(small(tmp_path))
    monkeypatch.delenv("OMPI_MCA_btl_base_verbose")
    monkeypatch.setenv("OMPI_MCA_plm_rsh_agent", "ssh")
    assert starts(small(tmp_path))[0].complete, "neither talk nor launchers matter"
    monkeypatch.setenv("OMPI_MCA_btl_tcp_links", "4")
    monkeypatch.setenv("UCX_TLS", "tcp")
    for dry_run in (True, False):
        with pytest.raises(StrettoError, match="OMPI_MCA_btl_tcp_links=2 and not 4, no UCX_TLS"):
            starts(small(tmp_path), dry_run)


def test_a_dry_run_sees_what_is_there(starts: Starts, tmp_path: Path) -> None:
    def said(words: str) -> bool:
        return any(words in x for x in starts.said)

    starts(small(tmp_path), True)
    assert not said("measured already")
    none = Measures()
    none.fits = lambda layout: "no node answers"  # type: ignore[method-assign]
    starts.backends["one"] = none
    starts(small(tmp_path))
    starts(small(tmp_path), True)
    assert said("measured already: nothing yet")
    some = Measures()
    some.between = lambda: os.kill(os.getpid(), signal.SIGUSR1) if some.cells == 20 else None
    starts.backends["one"] = some
    starts(small(tmp_path))
    some.between = lambda: None
    starts(small(tmp_path), True)
    assert said("measured already: all but about ")
    starts(small(tmp_path))
    starts(small(tmp_path), True)
    assert said("measured already: all of it")
    with pytest.raises(StrettoError, match="other seed"):
        starts(small(tmp_path, seed=3), True)


def truncated(path: Path) -> None:
    path.write_text(path.read_text()[:80])


@pytest.mark.parametrize("damage", [truncated, Path.unlink])
def test_a_layout_whose_plan_is_damaged_is_named(
    starts: Starts, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    starts(small(tmp_path, layouts=(ONE, TWO)))
    (path,) = tmp_path.glob("*/*/1x2/layout.json")
    damage(path)
    status = read_status(tmp_path)
    assert [x["layout"] for x in status["systems"][0]["layouts"]] == ["2x2"]
    assert not status["complete"] and str(path) in status["damaged"][0]
    assert any(x.startswith(f"not used: {path}") for x in status_lines(status))
    shutil.rmtree(path.parent.parent / "2x2")
    assert any(x.startswith(f"not used: {path}") for x in status_lines(read_status(tmp_path)))


def test_a_damaged_word_of_the_starts_says_who_writes_it(starts: Starts, tmp_path: Path) -> None:
    starts(small(tmp_path))
    truncated(tmp_path / CAMPAIGN)
    with pytest.raises(StrettoError) as error:
        read_status(tmp_path)
    assert "the command that measures writes it anew" in (error.value.remedy or "")
    starts(small(tmp_path))
    assert read_status(tmp_path)["complete"]
