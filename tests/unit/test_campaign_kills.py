"""Campaigns that are killed, shared by several jobs, or disturbed: nothing lost, nothing mixed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sweeps
from stretto.campaign.begun import LayoutAsked, keep_about
from stretto.campaign.conclude import conclude
from stretto.campaign.hosts import Hosts, find_hosts, named_here
from stretto.campaign.layout import Layout, ordered
from stretto.campaign.placement import RankPlace
from stretto.campaign.request import Request
from stretto.campaign.slurm import cores_of_job
from stretto.campaign.status import read_status, status_lines
from stretto.campaign.worker import Worker
from stretto.errors import StrettoError
from stretto.files.append import BusyError
from stretto.files.identity import MPIIdentity
from stretto.measure.variants import variant_for
from sweeps import Fake, request_of, table, worker_of, written

ONE = Layout(1, 2)
SMALL = (ONE, Layout(2, 2), Layout(4, 2))


def small(out: Path, **more: object) -> Request:
    values = {"collectives": ("allreduce",), "layouts": SMALL, "sizes": (8, 24, 36000)}
    return request_of(out, **(values | more))


Taken = dict[tuple[object, ...], list[float]]


def taken(worker: Worker) -> Taken:
    """All measurements that count."""
    return {
        (layout.name, s.launch, s.collective, s.bytes, s.candidate, s.mode): s.times_us
        for layout, site in worker.sites.items()
        for s in site.bench.samples
    }


def status_of(request: Request) -> dict[str, Any]:
    """The status as of the command, from a directory that has the shape of a real one."""
    home = request.out / "real"
    if not home.exists():
        (home / "openmpi-4.1.4").mkdir(parents=True)
        (home / "openmpi-4.1.4" / "a-cpu").symlink_to(request.out / "mpi")
    asked = {x.name: LayoutAsked(request.launches, 1.0) for x in ordered(request.layouts)}
    keep_about(replace(request, out=home), ["t"], {"openmpi-4.1.4/a-cpu": asked})
    status = read_status(home)
    assert status_lines(status, verbose=True)
    return status


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Taken, str]:
    request = small(tmp_path_factory.mktemp("undisturbed"))
    worker = worker_of(request, Fake())
    assert worker.run()
    assert set(written(worker).values()) == {1}
    return taken(worker), table(request, worker)


class Killed(BaseException):
    """Stands for whatever ends a process: nothing may catch it."""


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_points(tmp_path: Path, seed: int, undisturbed: tuple[Taken, str]) -> None:
    request, chance, kills = small(tmp_path), random.Random(seed), 0
    while True:
        left = chance.randrange(1, 160)

        def between() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                kind = chance.choice([Killed, KeyboardInterrupt, lambda: StrettoError("disk full")])
                raise kind()

        worker = worker_of(request, Fake(between))
        try:
            if worker.run():
                break
        except (Killed, KeyboardInterrupt, StrettoError):
            kills += 1
    assert kills >= 2
    counts = written(worker)
    assert taken(worker) == undisturbed[0], "no measurement lost, none other than the same"
    repeated = sum(counts.values()) - len(counts)
    assert repeated <= kills * 2 * len(sweeps.CANDIDATES), "at most the cells that were cut"
    assert table(request, worker) == undisturbed[1]


def start(out: Path, pause: float, jobs: int = 1) -> subprocess.Popen[bytes]:
    """Start a job, which begins when so many are ready to."""
    argv = [sys.executable, "-c", STARTED, str(Path(sweeps.__file__).parent), str(out)]
    argv += [str(pause), str(jobs)]
    return subprocess.Popen(argv, env=os.environ | {"PYTHONPATH": ":".join(sys.path)})


STARTED = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sweeps import Fake, worker_of
from test_campaign_kills import lines, small
from stretto.campaign.stopping import stops_gently
out = Path(sys.argv[2])
def held():  # for a signal: it must meet a job that measures
    try:
        return lines(out) >= int((out / "hold").read_text())
    except FileNotFoundError:
        return False
def between():
    time.sleep(float(sys.argv[3]))
    while held():
        time.sleep(0.01)
worker = worker_of(small(out), Fake(between))
if sys.argv[4] != "1":
    (out / f"ready.{os.getpid()}").touch()
while sys.argv[4] != "1" and len(list(out.glob("ready.*"))) < int(sys.argv[4]):
    time.sleep(0.01)
with stops_gently(worker.stopping, print):
    sys.exit(0 if worker.run() else 3)
"""


def lines(out: Path) -> int:
    return sum(p.read_bytes().count(b"\n") for p in out.glob("mpi/*.bench.jsonl"))


def until(condition: Callable[[], bool], limit: float = 300) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.long
def test_killed_for_real_and_told_to_stop(tmp_path: Path, undisturbed: tuple[Taken, str]) -> None:
    request, chance = small(tmp_path), random.Random(4)
    for number in (signal.SIGKILL, signal.SIGUSR1, signal.SIGKILL):
        enough = lines(tmp_path) + chance.randrange(5, 60)
        (tmp_path / "hold").write_text(f"{enough}")
        process = start(tmp_path, 0.01)
        until(lambda enough=enough: lines(tmp_path) >= enough)
        process.send_signal(number)
        (tmp_path / "hold").unlink()
        code = process.wait(300)
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else 3)
    status = status_of(request)
    assert not status["complete"] and status["left_s"] > 0
    worker = worker_of(request, Fake())
    assert worker.run()
    assert taken(worker) == undisturbed[0]
    assert table(request, worker) == undisturbed[1]


@pytest.mark.long
def test_several_jobs_at_once(tmp_path: Path, undisturbed: tuple[Taken, str]) -> None:
    request = small(tmp_path)
    jobs = [start(tmp_path, 0.002, 3) for _ in range(3)]
    assert [job.wait(600) for job in jobs] == [0, 0, 0]
    worker = worker_of(request, Fake())
    assert worker.run()
    assert set(written(worker).values()) == {1}, "nothing was measured twice"
    assert taken(worker) == undisturbed[0] and table(request, worker) == undisturbed[1]
    status = status_of(request)
    assert status["complete"] and status["left_s"] == 0


def test_layout_that_another_process_measures_is_waited_for(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE, Layout(2, 2)), launches=1, eliminate=False)
    first = worker_of(request, Fake())
    site = first.sites[ONE]
    second = worker_of(request, Fake())
    with site.opened(first.identity, ["t"]):
        with pytest.raises(BusyError, match="is writing to this file"):
            second.sites[ONE].opened(second.identity, ["t"])
        found = {x["layout"]: x for x in status_of(request)["systems"][0]["layouts"]}
        assert found["1x2"]["under_way"] and not found["2x2"]["under_way"]
        thread = threading.Thread(target=second.run)
        thread.start()
        until(lambda: second.sites[Layout(2, 2)].over)
        assert not second.sites[ONE].ended and thread.is_alive()
    thread.join(300)
    assert second.sites[ONE].over and set(written(second).values()) == {1}
    assert first.run() and set(written(first).values()) == {1}, "and who comes later sees that"


def test_time_left_counts_by_what_launches_take_here(tmp_path: Path) -> None:
    left = []
    for slow in (None, 1.0, 7.0):
        request = small(tmp_path / f"{slow}", layouts=(ONE,))
        some = Fake(slow=slow)
        worker = worker_of(request, some)
        some.between = lambda worker=worker, some=some: (
            worker.stopping.set() if some.cells >= 30 else None
        )
        assert not worker.run()
        status = status_of(request)
        assert status["pace"] == pytest.approx(slow or 1.0)
        left.append(float(status["left_s"]))
        words = "\n".join(status_lines(status))
        assert ("launches take 7.0 times the estimate" in words) == (slow == 7.0)
    assert 0 < left[0] == pytest.approx(left[1]) == pytest.approx(left[2] / 7)


def results(worker: Worker) -> Path:
    return worker.sites[ONE].path


def cut(path: Path) -> None:
    """In the midst of a line of a launch."""
    path.write_text(path.read_text()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [cut, lambda p: p.write_text(""), lambda p: p.unlink()])
def test_results_that_are_lost_are_measured_again(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    request = small(tmp_path, layouts=(ONE,))
    first = worker_of(request, Fake())
    assert first.run()
    before, rows = taken(first), table(request, first)
    damage(results(first))
    status = status_of(request)
    assert not status["complete"] and status["left_s"] > 0, status
    again = worker_of(request, Fake())
    assert again.run() and taken(again) == before and table(request, again) == rows
    assert status_of(request)["complete"]
    nothing = Fake()
    assert worker_of(request, nothing).run() and not nothing.launches


def test_results_with_a_damaged_line_are_left_out_and_named(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE, Layout(2, 2)), launches=1)
    worker = worker_of(request, Fake())
    assert worker.run()
    lines = results(worker).read_text().split("\n")
    results(worker).write_text("\n".join([*lines[:3], "\0", *lines[4:]]))
    again = worker_of(request, Fake())
    assert again.run()
    outcome = conclude(request, again, lambda text: None, True)
    assert len(outcome.results) == 1 and not outcome.complete
    assert f"{results(worker)}:4:" in outcome.left_out[0]
    status = status_of(request)
    assert not status["complete"]
    assert any("1x2.bench.jsonl:4" in x for x in status_lines(status))


def test_nothing_of_a_killed_launch_is_left(tmp_path: Path) -> None:
    worker = worker_of(small(tmp_path, layouts=(ONE,), launches=1), Fake())
    worker.base.mkdir(parents=True)
    left = [worker.base / f".{x}.bench.jsonl.launch3.abcdefgh" for x in ("1x2", "2x2")]
    for path in left:
        path.mkdir()
        (path / "job").write_text("")
    assert worker.run() and not left[0].exists()
    assert left[1].exists(), "of a layout that another process may measure"


def test_status_writes_nothing(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,), launches=1)
    worker = worker_of(request, Fake())
    assert worker.run() and status_of(request)["complete"]
    before = {p: p.stat().st_mtime_ns for p in worker.base.iterdir()}
    status_of(request)
    assert before == {p: p.stat().st_mtime_ns for p in worker.base.iterdir()}


def test_candidate_with_which_no_launch_comes_up_is_excluded(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,), launches=6)
    bad = "native:coll_A=1"
    assert variant_for(bad) == bad, "it has launches of its own"
    variants = worker_of(request, Fake()).sites[ONE].plan.settings.variants
    at = variants.index(bad)
    backend = Fake(fails=lambda layout, launch: launch % len(variants) == at)
    worker = worker_of(request, backend)
    assert worker.run()
    kinds = [variants[k % len(variants)] for _, k in backend.launches]
    assert kinds.count(bad) == 4, "three times, and once more"
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.complete and not outcome.left_out
    excluded = worker.sites[ONE].bench.excluded
    assert {(r.candidate, r.reason) for r in excluded} == {(bad, "failed")} and len(excluded) == 2
    assert "3 launches produced no results; the last: exit code 1" in excluded[0].detail
    status = status_of(request)
    assert status["complete"] and f"{bad} for allreduce" in "\n".join(status_lines(status))
    again = Fake()
    assert worker_of(request, again).run() and not again.launches
    nothing = worker_of(small(tmp_path / "b", layouts=(ONE,)), Fake(fails=lambda *of: True))
    assert nothing.run() and nothing.sites[ONE].closed
    assert not nothing.sites[ONE].bench.excluded, "where nothing comes up none is to blame"


def test_other_systems_are_never_mixed(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,), launches=1)
    assert worker_of(request, Fake()).run()
    newer = replace(sweeps.MPI, version="4.1.6")
    other = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4, another build")
    for mpi, cpu, words in (
        (newer, "A CPU", "4.1.4 on A CPU, not openmpi 4.1.6"),
        (other, "A CPU", "another build"),
        (sweeps.MPI, "Another", "on A CPU, not openmpi 4.1.4 on Another"),
    ):
        with pytest.raises(StrettoError, match=f"begun with .*{words}"):
            worker_of(request, Fake(), mpi, cpu)


def test_nodes_of_another_kind_are_left_out(tmp_path: Path) -> None:
    worker = worker_of(small(tmp_path), Fake(cpu="Another CPU"))
    assert worker.run() and all("Another CPU" in (s.closed or "") for s in worker.all())
    assert not written(worker)


def test_failures_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    layouts = (ONE, Layout(2, 2), Layout(16, 2))
    request = small(tmp_path, layouts=layouts, launches=2)
    failing = Fake(fails=lambda layout, launch: layout.nodes == 2 and launch == 1)
    worker = worker_of(request, failing)
    assert worker.run()
    outcome = conclude(request, worker, lambda text: None, True)
    said = " | ".join(outcome.left_out)
    assert "16 x 2: no such nodes" in said and not outcome.complete and outcome.ended
    assert "2 x 2: given up: 1 launch, failed: exit code 1" in said
    assert Counter(x for x in failing.launches if x[1] == 1)["2x2", 1] == 1, "no endless trying"
    better = Fake()
    again = worker_of(request, better)
    assert again.run() and ("2x2", 1) in better.launches
    assert not again.sites[Layout(2, 2)].given_up


def test_crash_excludes_a_candidate_and_no_more(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,))
    worker = worker_of(request, Fake(crash=lambda launch, name: name == "ring"))
    assert worker.run()
    bench = worker.sites[ONE].bench
    assert {r.candidate for r in bench.excluded} == {"ring"}
    assert "ring" not in table(request, worker)
    assert {s.candidate for s in bench.samples} >= {"native", "shm", "bare"}
    (system,) = status_of(request)["systems"]
    assert system["layouts"][0]["excluded"][0]["candidate"] == "ring"


def test_another_plan_is_refused_and_more_launches_are_not(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(ONE,), launches=1)
    late = worker_of(replace(request, sizes=(8, 64)), Fake())  # begun at the same time
    assert worker_of(request, Fake()).run()
    for more, words, remedy in (
        (
            {"sizes": (8, 64)},
            r"other collectives, sizes or candidates \(gone: allreduce at 24 B: native ring",
            "launches and",
        ),
        (
            {"shared_cores": True},
            r"another value of shared_cores \(False, not True\)",
            "shared_cores",
        ),
        (
            {"eliminate": False},
            r"another value of eliminate \(True, not False\)",
            "use the same eliminate",
        ),
        ({"seed": 9}, r"another seed \(1, not 9\)", "the same seed"),
    ):
        with pytest.raises(StrettoError, match=f"begun with {words}") as error:
            worker_of(replace(request, **more), Fake())  # type: ignore[arg-type]
        assert remedy in str(error.value.remedy) and "another directory" in str(error.value.remedy)
    assert late.run() and "begun with other collectives" in str(late.sites[ONE].closed)
    more = Fake()
    assert worker_of(replace(request, launches=2), more).run()
    assert {launch for _, launch in more.launches} == {4, 5, 6}, "7 is hopeless by now"


def test_named_nodes_inside_a_slurm_job(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("stretto.campaign.hosts.allocated", lambda environ: ("n2", "n3"))
    assert named_here(("n1", "n2.cluster"), said.append) == ("n2.cluster",)
    assert "n1 left out" in said[0] and named_here((), said.append) == ()
    with pytest.raises(StrettoError, match="none of the named nodes"):
        named_here(("n8",), said.append)
    monkeypatch.setattr("stretto.campaign.hosts.allocated", lambda environ: ())
    assert named_here(("n8",), said.append) == ("n8",)


def test_the_nodes_cores_count_and_not_the_starting_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, wanted in (
        ("36(x8)", 36), ("36(x2),18", 18), ("", None), ("many", None), ("4,", None), ("0", None),
    ):  # fmt: skip
        assert cores_of_job({"SLURM_JOB_CPUS_PER_NODE": words}) == wanted
    for name in [n for n in os.environ if n.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    places = [
        RankPlace(0, "a", "A CPU", 36),
        RankPlace(1, "b", "A CPU", 32),
        RankPlace(2, "c", "Another", 8),
    ]
    monkeypatch.setattr("stretto.campaign.hosts.probe", lambda *of: places)
    monkeypatch.setattr("stretto.campaign.hosts.cores", lambda: 2)
    named = replace(small(tmp_path), hosts=("a", "b", "c"))
    mpi = sweeps.NoMPI()
    mpi.launcher = "mpirun"  # type: ignore[attr-defined]

    def found(request: Request, ask: bool) -> Hosts:
        return find_hosts(request, mpi, lambda text: None, ask)  # type: ignore[arg-type]

    assert found(named, True) == Hosts(("a", "b"), "A CPU", None, 32)
    assert [found(named, True).shared_by(Layout(2, n)) for n in (32, 36)] == [False, True]
    assert not found(named, False).shared_by(Layout(2, 36)), "nobody was asked"
    assert found(small(tmp_path), True).shared_by(Layout(1, 4)), "this machine"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "16(x3)")
    assert found(named, True).cores == found(named, False).cores == 16
