"""Campaigns that are killed, shared by several jobs, or disturbed: nothing lost, nothing mixed."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import stretto.campaign.claims as claims_module
import stretto.campaign.slurm as slurm_module
import sweeps
from stretto.campaign.alone import alone_on
from stretto.campaign.claims import Claims, Holder, gone, me
from stretto.campaign.conclude import conclude
from stretto.campaign.hosts import Hosts, find_hosts, named_here
from stretto.campaign.layout import Layout, ordered
from stretto.campaign.placement import RankPlace
from stretto.campaign.request import Request
from stretto.campaign.slurm import cores_of_job, job_ended
from stretto.campaign.status import read_status, status_lines
from stretto.campaign.worker import Worker
from stretto.errors import EXIT_AGAIN, StrettoError
from stretto.files.bench import Excluded, Sample, format_record, read_bench
from stretto.files.identity import MPIIdentity
from sweeps import Fake, request_of, worker_of

SMALL = (Layout(1, 2), Layout(2, 2), Layout(4, 2))


def small(out: Path, **more: object) -> Request:
    values = {"collectives": ("allreduce",), "layouts": SMALL, "sizes": (8, 24, 36000)}
    return request_of(out, **(values | more))


Taken = dict[tuple[object, ...], list[float]]


def taken(worker: Worker) -> Taken:
    """All measurements that count."""
    return {
        (layout.name, s.launch, s.collective, s.bytes, s.candidate, s.mode): s.times_us
        for layout, site in worker.sites.items()
        for s in site.folder.merged().bench.samples
    }


def written(worker: Worker) -> Counter[tuple[object, ...]]:
    """How often each measurement stands in the files of the single starts."""
    return Counter(
        (path.parent.name, r.launch, r.collective, r.bytes, r.candidate, r.mode)
        for path in worker.base.glob("*/*.bench.jsonl")
        for r in read_bench(path).records
        if isinstance(r, Sample)
    )


def table(request: Request, worker: Worker) -> str:
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.table is not None
    lines = outcome.table.read_text().splitlines()
    return "\n".join(x for x in lines if not x.startswith("created"))


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Taken, str]:
    request = small(tmp_path_factory.mktemp("undisturbed"))
    worker = worker_of(request, Fake())
    assert worker.run()
    assert set(written(worker).values()) == {1}
    return taken(worker), table(request, worker)


@pytest.fixture(scope="module")
def undisturbed_alone(tmp_path_factory: pytest.TempPathFactory) -> Taken:
    """Of one layout alone, which learns from none."""
    request = small(tmp_path_factory.mktemp("alone"), layouts=(Layout(1, 2),))
    worker = worker_of(request, Fake())
    assert worker.run()
    return taken(worker)


class Killed(BaseException):
    """Stands for whatever ends a process: nothing may catch it."""


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_points(tmp_path: Path, seed: int, undisturbed) -> None:  # type: ignore[no-untyped-def]
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
    used, repeated = taken(worker), sum(counts.values()) - len(counts)
    assert used == undisturbed[0], "no measurement lost, none other than the same"
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
with stops_gently(worker, print):
    sys.exit(0 if worker.run() else 3)
"""


def sessions(out: Path) -> int:
    return len(list(out.glob("mpi/*/*.bench.jsonl")))


def lines(out: Path) -> int:
    return sum(p.read_bytes().count(b"\n") for p in out.glob("mpi/*/*.bench.jsonl"))


def until(condition, limit: float = 300) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.long
def test_killed_for_real_and_told_to_stop(tmp_path: Path, undisturbed) -> None:  # type: ignore[no-untyped-def]
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
    status = read_status_of(request)
    assert not status["complete"] and status["left_s"] > 0
    worker = worker_of(request, Fake())
    assert worker.run()
    assert taken(worker) == undisturbed[0]
    assert table(request, worker) == undisturbed[1]


def read_status_of(request: Request) -> dict[str, object]:
    """The status as of the command, from a directory that has the shape of a real one."""
    home = request.out / "real"
    if not home.exists():
        (home / "openmpi-4.1.4").mkdir(parents=True)
        (home / "openmpi-4.1.4" / "a-cpu").symlink_to(request.out / "mpi")
    about = {"schema": "stretto-campaign", "version": 1, "launches": request.launches,
             "eliminate": True, "layouts": [x.name for x in ordered(SMALL)]}  # fmt: skip
    (home / "campaign.json").write_text(json.dumps(about))
    status = read_status(home)
    assert status_lines(status, verbose=True)
    return status


@pytest.mark.long
def test_several_jobs_at_once(tmp_path: Path, undisturbed) -> None:  # type: ignore[no-untyped-def]
    request = small(tmp_path)
    jobs = [start(tmp_path, 0.002, 3) for _ in range(3)]
    assert [job.wait(600) for job in jobs] == [0, 0, 0]
    worker = worker_of(request, Fake())
    assert worker.run()
    assert sessions(tmp_path) > len(SMALL), "more than one of them has measured"
    assert set(written(worker).values()) == {1}, "nothing was measured twice"
    assert taken(worker) == undisturbed[0] and table(request, worker) == undisturbed[1]
    status = read_status_of(request)
    assert status["complete"] and status["left_s"] == 0


def test_time_left_counts_by_what_launches_take_here(tmp_path: Path) -> None:
    left = []
    for slow in (None, 1.0, 7.0):
        request = small(tmp_path / f"{slow}", layouts=(Layout(1, 2),))
        some = Fake(slow=slow)
        worker = worker_of(request, some)
        some.between = lambda worker=worker, some=some: (
            worker.stopping.set() if some.cells >= 30 else None
        )
        assert not worker.run()
        status = read_status_of(request)
        (system,) = status["systems"]  # type: ignore[misc]
        assert system["pace"] == pytest.approx(slow or 1.0)
        left.append(float(status["left_s"]))  # type: ignore[arg-type]
        words = "\n".join(status_lines(status))
        assert ("launches take 7.0 times as long as was estimated" in words) == (slow == 7.0)
    assert 0 < left[0] == pytest.approx(left[1]) == pytest.approx(left[2] / 7)


def test_a_torn_line_costs_its_cell_only(tmp_path: Path, undisturbed_alone: Taken) -> None:
    request = small(tmp_path, layouts=(Layout(1, 2),))
    stop = Fake()
    worker = worker_of(request, stop)
    stop.between = lambda: worker.stopping.set() if stop.cells == 30 else None
    assert not worker.run()
    (path,) = worker.base.glob("*/*.bench.jsonl")
    text = path.read_text()
    at = text.rindex('"type": "sample"')
    path.write_text(text[: at + 60])
    again = worker_of(request, Fake())
    lost = again.sites[Layout(1, 2)]
    launch = json.loads(text[:at].splitlines()[-1] + text[at:].splitlines()[0])["launch"]
    (end,) = (lost.claims.directory).glob(f"{launch:05d}.1.end")
    end.unlink()  # the process was killed before it said that it was done
    dead = replace(lost.claims.holder, pid=2**22 + 1)
    end.with_suffix("").write_text(json.dumps(asdict(dead)))
    assert again.run()
    assert taken(again) == undisturbed_alone


def test_a_damaged_first_line_costs_its_file_only(tmp_path: Path, undisturbed_alone: Taken) -> None:
    request = small(tmp_path, layouts=(Layout(1, 2),))
    worker = worker_of(request, Fake())
    assert worker.run()
    (path,) = worker.base.glob("*/*.bench.jsonl")
    header, rest = path.read_text().split("\n", 1)
    hole = path.with_name("hole.bench.jsonl")
    hole.write_text("\0" * len(header) + "\n" + rest)
    again = worker_of(request, Fake())
    assert again.run()
    assert taken(again) == undisturbed_alone
    (aside,) = again.sites[Layout(1, 2)].folder.merged().aside
    assert aside.startswith(f"{hole}: line 1 and what stands behind it: ")
    shown = "\n".join(status_lines(read_status_of(request), True))
    assert aside.removeprefix(str(worker.base)) in shown


def test_one_claim_one_holder(tmp_path: Path) -> None:
    claims = [Claims(tmp_path) for _ in range(8)]
    won: list[object] = []
    threads = [threading.Thread(target=lambda c=c: won.append(c.take(7, 0))) for c in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (mine,) = [c for c in won if c is not None]
    listing = claims[0].listing()
    assert claims[0].state(7, listing) == ("held", 1) and claims[0].state(8, listing) == ("open", 0)
    mine.end(done=False)  # type: ignore[attr-defined]
    assert claims[0].state(7, claims[0].listing()) == ("open", 1)
    second = claims[1].take(7, 1)
    assert second is not None
    second.end(done=True)
    assert claims[2].state(7, claims[2].listing()) == ("done", 2)
    assert not list(tmp_path.glob(".*")), "nothing temporary is left"


def test_stale_claims(tmp_path: Path) -> None:
    claims = Claims(tmp_path, stale_s=100)
    mine = claims.holder
    others = {
        1: replace(mine, pid=2**22 + 1),  # no such process here
        2: replace(mine, started="0"),  # its number is another process's now
        3: Holder("elsewhere boot ns", 1, "1"),  # young
        4: Holder("elsewhere boot ns", 1, "1"),  # old
        5: mine,
    }
    for launch, holder in others.items():
        (tmp_path / f"{launch:05d}.1").write_text(json.dumps(asdict(holder)))
    old = (tmp_path / "00004.1").stat().st_mtime - 101
    os.utime(tmp_path / "00004.1", (old, old))
    os.utime(tmp_path / "00005.1", (old, old))  # a live process of this machine, however slow
    (tmp_path / "00006.1").write_text("")  # being written, where links are not to be had
    (tmp_path / "00007.1").write_text('{"pla')  # killed while it was written, long ago
    os.utime(tmp_path / "00007.1", (old, old))
    now = [0.0]
    claims.clock = lambda: now[0]
    for now[0] in range(0, 31, 5):  # old ones are watched for a while: a clock may have stepped
        states = {k: claims.state(k, claims.listing())[0] for k in range(1, 8)}
        old = "held" if now[0] < 30 else "open"
        assert states == {
            1: "open", 2: "open", 3: "held", 4: old, 5: "held", 6: "held", 7: old,
        }  # fmt: skip


def test_claims_of_batch_jobs() -> None:
    mine = replace(me(), job="7.1")
    before = Holder("elsewhere", 1, "1", "7.0")
    assert gone(before, mine), "the same job before it was put into the queue again"
    assert not gone(replace(before, job="7.1"), mine)
    asked: list[str] = []
    other = replace(before, job="8.0")
    assert gone(other, mine, lambda job: bool(asked.append(job)) or True) and asked == ["8"]
    assert not gone(other, mine, lambda job: False)
    assert not gone(replace(before, job=""), mine)
    # of two clusters that share a file system each has a job 7
    mine, before = replace(mine, job="7.1@one"), replace(before, job="7.0@two")
    assert not gone(before, mine, lambda job: job != "7@two")
    assert gone(replace(before, job="7.0@one"), mine)


def test_jobs_of_other_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (
        ("squeue", 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1'),
        ("scontrol", 'echo "ClusterName             = one"'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("SLURM_CLUSTER_NAME", raising=False)
    slurm_module._cluster.cache_clear()
    assert job_ended("8@one") and job_ended("8") and not job_ended("8@two")
    slurm_module._cluster.cache_clear()


@pytest.mark.parametrize(
    "name", ["SQUEUE_STATES", "SQUEUE_PARTITION", "SQUEUE_USERS", "SQUEUE_NAMES", "SLURM_CLUSTERS"]
)
def test_a_job_that_runs_does_whatever_the_user_has_set_for_squeue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    squeue = tmp_path / "squeue"
    squeue.write_text(f'#!/bin/sh\n[ -n "${name}" ] || echo RUNNING\n')
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv(name, "x")
    assert not job_ended("8")


def test_of_another_users_job_slurm_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(claims_module, "job_ended", lambda job: bool(asked.append(job)) or True)
    claims = Claims(tmp_path)
    (tmp_path / "00003.1").write_text(json.dumps(asdict(Holder("elsewhere", 1, "1", "8.0"))))
    own = os.geteuid()
    for euid, state in ((own + 1, "held"), (own, "open")):
        monkeypatch.setattr(os, "geteuid", lambda euid=euid: euid)
        assert claims.state(3, claims.listing())[0] == state
        holder = claims.holder_of(3, 1)
        assert holder is not None and claims.gone(holder) == (state == "open")
    assert asked == ["8"]


@pytest.mark.parametrize(
    ("holder", "asks", "dead"),
    [
        ("7.0", "7.1", True), ("7.9", "7.10", True), ("7.1", "7.1", False), ("7.2", "7.1", False),
        ("7.1", "7.", False),  # in a step that was attached to the job (srun --jobid)
        ("7.", "7.1", False), ("7.1@c", "7.2@c", True), ("7.1@c", "7.@c", False),
    ],
)  # fmt: skip
def test_only_who_ran_before_the_job_was_requeued_is_dead(
    holder: str, asks: str, dead: bool
) -> None:
    assert gone(Holder("a", 1, "1", holder), Holder("b", 1, "1", asks)) == dead


def test_a_step_does_not_know_how_often_its_job_was_requeued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SLURM_RESTART_COUNT", "SLURM_STEP_ID", "SLURM_CLUSTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert me().job == "7.0"
    monkeypatch.setenv("SLURM_STEP_ID", "2")
    assert me().job == "7."
    monkeypatch.setenv("SLURM_RESTART_COUNT", "3")
    assert me().job == "7.3"


def test_a_directory_of_claims_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(path: object) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    claims = Claims(tmp_path)
    monkeypatch.setattr(os, "scandir", away)
    with pytest.raises(StrettoError, match="cannot look at the claims: Stale") as error:
        claims.listing()
    assert error.value.exit_code == EXIT_AGAIN and error.value.place == str(tmp_path)


def test_other_systems_are_never_mixed(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(Layout(1, 2),), launches=2)
    newer = replace(sweeps.MPI, version="4.1.6")
    other = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4, another build")
    assert worker_of(request, Fake(), newer).run()
    mine = worker_of(request, Fake())
    merged = mine.sites[Layout(1, 2)].folder.merged()
    assert not merged.bench.samples and "4.1.6" in merged.aside[0]
    there = worker_of(small(tmp_path / "b", layouts=(Layout(1, 2),), launches=1), Fake(), other)
    assert there.run()
    (path,) = there.base.glob("*/*.bench.jsonl")
    (mine.base / "1x2" / f"other.{path.name}").write_bytes(path.read_bytes())
    aside = mine.sites[Layout(1, 2)].folder.merged().aside
    assert len(aside) == 2 and any("another build" in sentence for sentence in aside)
    with pytest.raises(StrettoError, match="another build"):
        worker_of(small(tmp_path / "b", layouts=(Layout(1, 2),), launches=1), Fake())


def test_nodes_of_another_kind_are_left_out(tmp_path: Path) -> None:
    request = small(tmp_path)
    worker = worker_of(request, Fake(cpu="Another CPU"))
    assert worker.run() and all("Another CPU" in (s.closed or "") for s in worker.all())
    assert not written(worker)


def test_failures_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    layouts = (Layout(1, 2), Layout(2, 2), Layout(16, 2))
    request = small(tmp_path, layouts=layouts, launches=2)
    failing = Fake(fails=lambda layout, launch: layout.nodes == 2 and launch == 1)
    worker = worker_of(request, failing)
    assert worker.run()
    outcome = conclude(request, worker, lambda text: None, True)
    said = " | ".join(outcome.left_out)
    assert (
        "16 x 2: no such nodes" in said and "2 x 2: given up: 1 launch, failed: exit code 1" in said
    )
    assert Counter(x for x in failing.launches if x[1] == 1)["2x2", 1] == 1, "no endless trying"
    better = Fake()
    again = worker_of(request, better)
    assert again.run() and ("2x2", 1) in better.launches
    assert not again.sites[Layout(2, 2)].given_up


def test_a_crash_excludes_a_candidate_and_no_more(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(Layout(1, 2),))
    worker = worker_of(request, Fake(crash=lambda launch, name: name == "ring"))
    assert worker.run()
    bench = worker.sites[Layout(1, 2)].folder.merged().bench
    assert {r.candidate for r in bench.excluded} == {"ring"}
    assert "ring" not in table(request, worker)
    assert {s.candidate for s in bench.samples} >= {"native", "shm", "bare"}
    (system,) = read_status_of(replace(request, layouts=(Layout(1, 2),)))["systems"]  # type: ignore[misc]
    assert system["layouts"][0]["excluded"][0]["candidate"] == "ring"


def test_another_plan_is_refused_and_more_launches_are_not(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(Layout(1, 2),), launches=1)
    assert worker_of(request, Fake()).run()
    with pytest.raises(StrettoError, match="begun with other cases") as error:
        worker_of(replace(request, sizes=(8, 64)), Fake())
    assert "another directory" in (error.value.remedy or "")
    begun = request.shared_cores
    with pytest.raises(StrettoError, match="shared cores, and now") as error:
        worker_of(replace(request, shared_cores=not begun), Fake())
    assert "shared_cores as it was" in (error.value.remedy or "")
    more = Fake()
    assert worker_of(replace(request, launches=2), more).run()
    assert {launch for _, launch in more.launches} == {4, 5, 6}, "7 is hopeless by now"


def test_one_process_on_a_node(tmp_path: Path) -> None:
    with alone_on(tmp_path, ["n1", "n2"]):
        with pytest.raises(StrettoError, match="measures on n2"), alone_on(tmp_path, ["n2", "n3"]):
            pass
        with alone_on(tmp_path, ["n3"]):
            pass
    with alone_on(tmp_path, ["n2"]):
        pass


def test_named_nodes_inside_a_slurm_job(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("stretto.campaign.hosts.allocated", lambda environ: ("n2", "n3"))
    assert named_here(("n1", "n2.cluster"), said.append) == ("n2.cluster",)
    assert "n1 left out" in said[0] and named_here((), said.append) == ()
    with pytest.raises(StrettoError, match="none of the nodes"):
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


def test_lines_end_where_json_says(tmp_path: Path) -> None:
    words = "no such\u2028algorithm\x85here"
    request = small(tmp_path, layouts=(Layout(1, 2),), launches=2)
    assert worker_of(request, Fake()).run()
    (path,) = tmp_path.glob("mpi/1x2/*.bench.jsonl")
    lost = Excluded(0, "allreduce", "ring", 8, "refused", words)
    text = path.read_text("utf-8")
    path.write_text(text + format_record(lost), "utf-8")
    merged = worker_of(request, Fake()).sites[Layout(1, 2)].folder.merged()
    assert not merged.aside and merged.bench.excluded[-1].detail == words


def test_a_hole_in_one_jobs_file_does_not_stop_the_others(tmp_path: Path) -> None:
    request = small(tmp_path, layouts=(Layout(1, 2),), launches=2)
    assert worker_of(request, Fake()).run()
    (path,) = tmp_path.glob("mpi/1x2/*.bench.jsonl")
    lines = path.read_bytes().split(b"\n")
    lines[20] = b"\0" * len(lines[20])
    path.write_bytes(b"\n".join(lines))
    more = small(tmp_path, layouts=(Layout(1, 2),), launches=3)
    worker, said = worker_of(more, Fake()), []
    outcome = conclude(more, worker, said.append, worker.run())
    assert outcome.complete and outcome.table is not None
    assert any(f"not used: {path}: line 21 and what stands behind it" in text for text in said)
    kept = worker.sites[Layout(1, 2)].folder.merged().bench
    assert {s.launch for s in kept.samples} >= {0, 2 * worker.sites[Layout(1, 2)].plan.nvariants}
