"""Several starts of one campaign: what each may change, what it keeps, and what it is told."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import sweeps
from stretto.campaign import begun, run, submit
from stretto.campaign.alone import alone_on
from stretto.campaign.begun import CAMPAIGN
from stretto.campaign.command import lines_of
from stretto.campaign.conclude import Outcome
from stretto.campaign.hosts import Hosts
from stretto.campaign.layout import Layout
from stretto.campaign.plan import check_plan
from stretto.campaign.request import Request
from stretto.campaign.site import results_of
from stretto.campaign.status import read_status, status_lines
from stretto.counted import duration, node_hours
from stretto.errors import StrettoError
from stretto.files.identity import Identity, cpu_slug, now
from stretto.files.locate import find_table
from stretto.files.lock import holder

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
        base = request.out / f"openmpi-{mpi.version}" / cpu_slug(sweeps.HOST.cpu)
        plans = sweeps.plans(request)
        for plan in plans:
            check_plan(results_of(base, plan.layout), plan, identity)
        installation = type("MPI", (), {"name": name, "family": "openmpi"})()
        return run.CampaignMPI(installation, identity, Hosts((), "A CPU"), base, plans)

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


def stopped_at(cells: int) -> Measures:
    """Return a backend that sends SIGUSR1 after so many measurements."""
    backend = Measures()
    backend.between = lambda: (
        os.kill(os.getpid(), signal.SIGUSR1) if backend.cells == cells else None
    )
    return backend


def test_who_is_told_to_stop_begins_no_other_mpi(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, mpis=("one", "other"))
    first = starts.backends["one"] = stopped_at(3)
    one, other = starts(request)
    assert first.launches and not one.complete
    assert starts.backends["other"].launches == [] and not other.complete and not other.ended
    assert "stopped before its first launch" in other.left_out[0]
    status = read_status(tmp_path)
    begun, missing = status["systems"]
    assert missing["mpi"] == "openmpi 4.1.5" and not status["complete"]
    assert status["left_s"] == begun["left_s"] + missing["left_s"] > begun["left_s"]
    assert any("not begun" in x for x in status_lines(status))
    first.between = lambda: None
    assert all(o.complete for o in starts(request)) and starts.backends["other"].launches
    assert re.fullmatch(r"stretto: this start took .* s, .* node-hours on 1 node", starts.said[-1])
    assert read_status(tmp_path)["complete"]


def test_table_is_found_by_all_users_after_the_printed_command(
    starts: Starts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRETTO_SITE_TABLES", str(tmp_path / "site"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    (outcome,) = starts(small(tmp_path / "c"))
    assert "for all users" not in str(lines_of(dataclasses.replace(outcome, complete=False)))
    (line,) = (x for x in lines_of(outcome) if "for all users" in x)
    subprocess.run(shlex.split(line.partition(": ")[2]), check=True)
    mpi = dataclasses.replace(sweeps.MPI, version="4.1.3")
    found = find_table(mpi, sweeps.HOST.cpu, 1, 2)
    assert found is not None and outcome.table is not None
    assert Path(found).read_bytes() == outcome.table.read_bytes()


def test_pace_of_what_was_measured_scales_all_that_is_left(
    starts: Starts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = small(tmp_path, mpis=("one", "other"), launches=12)
    slow = starts.backends["one"] = stopped_at(40)
    slow.slow = 7.0
    starts(request)
    begun, missing = read_status(tmp_path)["systems"]
    plans = run.plan_campaign(request, starts.said.append)
    assert [x["pace"] for x in plans] == [pytest.approx(7)] * 2
    assert [x["left_s"] for x in plans] == [
        pytest.approx(begun["left_s"]), pytest.approx(missing["left_s"])
    ]  # fmt: skip
    system = starts.system(request, "one")
    assert f"about {duration(7 * sum(system.expected_s))}" in " ".join(starts.said)
    assert sum("times are 7.0 times the estimate" in x for x in starts.said) == 2
    monkeypatch.setattr(submit, "system_of", starts.system)
    left = begun["left_s"] + missing["left_s"]
    assert submit.cost_lines(request, starts.said.append)[-1] == (
        f"remaining after the earlier starts, at their pace: about {duration(left)}, "
        f"{node_hours(left, 1)}"
    )


def test_nodes_that_are_held_are_told_once(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, mpis=("one", "other"))
    with alone_on(tmp_path, [os.uname().nodename]), pytest.raises(StrettoError) as error:
        starts(request)
    assert not starts.backends, "no MPI was started there to ask what the node is"
    assert "another process of this campaign measures on" in error.value.message
    assert "wait, or use other nodes" in str(error.value.remedy)
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
    with pytest.raises(StrettoError, match="begun with another seed"):
        starts(small(tmp_path, launches=9, seed=7))
    assert (tmp_path / CAMPAIGN).read_text() == before
    assert [p.name for p in tmp_path.rglob("*.bench.jsonl")] == ["1x2.bench.jsonl"]
    assert read_status(tmp_path)["complete"]


def test_each_layout_has_the_launches_that_it_was_asked_for(starts: Starts, tmp_path: Path) -> None:
    request = small(tmp_path, launches=6, eliminate=False)
    first = starts.backends["one"] = stopped_at(20)
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
    with pytest.raises(StrettoError, match="begun with another value of eliminate"):
        starts(small(tmp_path, eliminate=False), dry_run)
    with pytest.raises(StrettoError, match="begun with eliminate = true"):
        starts(small(tmp_path, layouts=(TWO,), eliminate=False), dry_run)
    shutil.rmtree(next(tmp_path.glob("openmpi*/*")))
    starts(small(tmp_path, eliminate=False), dry_run)


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
    some = starts.backends["one"] = stopped_at(20)
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
    path.write_text(path.read_text()[:80] + "\n")


def test_layout_whose_results_are_damaged_is_named(starts: Starts, tmp_path: Path) -> None:
    starts(small(tmp_path, layouts=(ONE, TWO)))
    (path,) = tmp_path.glob("*/*/1x2.bench.jsonl")
    truncated(path)
    status = read_status(tmp_path)
    found = {x["layout"]: x for x in status["systems"][0]["layouts"]}
    assert found["2x2"]["complete"] and not found["1x2"]["complete"] and not status["complete"]
    assert str(path) in status["damaged"][0]
    assert any(x.startswith(f"not used: {path}") for x in status_lines(status))
    (other,) = tmp_path.glob("*/*/2x2.bench.jsonl")
    renamed = other.rename(other.with_name("2x2.bad.bench.jsonl"))
    assert any(str(renamed) in x for x in read_status(tmp_path)["damaged"])
    renamed.unlink()
    starts(small(tmp_path, layouts=(ONE, TWO)))  # goes on with what is sound
    found = {x["layout"]: x for x in read_status(tmp_path)["systems"][0]["layouts"]}
    assert found["2x2"]["complete"]
    path.write_text(path.read_text().rstrip()[:40])  # a kill in the first line
    assert starts(small(tmp_path, layouts=(ONE, TWO)))[0].complete


def test_starts_of_one_moment_add_to_the_word_one_by_one(
    starts: Starts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that read it before either wrote, one's layouts were lost."""
    held: list[bool] = []

    def read(directory: Path) -> begun.About | None:
        held.append(any(holder(p) is not None for p in directory.rglob(".tables.lock")))
        return None

    monkeypatch.setattr(begun, "earlier", read)
    starts(small(tmp_path))
    assert held == [True]


@pytest.mark.parametrize("damage", [truncated, lambda p: p.write_text('{"schema": "x"}\n')])
def test_damaged_word_of_the_starts_says_who_writes_it(
    starts: Starts, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    starts(small(tmp_path))
    damage(tmp_path / CAMPAIGN)
    with pytest.raises(StrettoError) as error:
        read_status(tmp_path)
    assert CAMPAIGN in str(error.value.place)
    starts(small(tmp_path))
    assert read_status(tmp_path)["complete"]
