"""Campaigns against a stand-in for mpirun and stretto-bench: hangs, crashes, resuming.

The stand-in reads the real job file and writes the real lines, so that only the MPI is missing.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stretto.errors import Interrupted, StrettoError, UsageError
from stretto.files.bench import LaunchEnd, read_bench
from stretto.files.identity import MPIIdentity, collect
from stretto.measure import process, runner
from stretto.measure.compare import compare, timings
from stretto.measure.ledger import Ledger, time_left
from stretto.measure.reader import LaunchReader
from stretto.measure.runner import measure
from stretto.measure.settings import (
    Settings,
    make_case,
    parse_collectives,
    parse_counts,
    parse_duration,
    parse_sizes,
    variants_of,
)
from stretto.mpi.openmpi import OpenMPI
from stretto.plan import plan_library

FAKE = r"""#!/usr/bin/env python3
import json, os, signal, sys, time
behaviour = dict(p.split("=") for p in os.environ.get("FAKE", "").split(",") if p)
keys, cases = {}, []
lines = open(sys.argv[-1]).read().splitlines()
assert lines[0] == "stretto-job 1" and lines[-1] == "end", lines
for line in lines[1:-1]:
    key, _, value = line.partition(" ")
    if key == "case":
        cases.append((value.split(), []))
    elif key == "candidate":
        cases[-1][1].append(value)
    else:
        keys[key] = value
launch = int(keys["launch"])
open(os.environ["FAKE_LOG"], "a").write(f"{launch} {keys['variant']}\n")
out = open(keys["output"], "a", buffering=1)
if behaviour.get("early") == keys["launch"]:  # ranks that do not come up, and a word that was left
    (collective, size, *_), candidates = cases[0]
    open(keys["status"], "w").write(f"0 {len(cases)} {collective} {size} {candidates[-1]} 1\\n")
    os.kill(os.getpid(), signal.SIGSEGV)
print(json.dumps({"type": "launch", "launch": launch, "nodes": 1, "ppn": 2, "nranks": 2,
                  "clock_error_us": 0.0}), file=out)
for done, ((collective, size, datatype, operation, root), candidates) in enumerate(cases):
    lines = []
    for candidate in candidates:
        open(keys["status"], "w").write(f"{done} {len(cases)} {collective} {size} {candidate} 1\n")
        what = behaviour.get(candidate)
        if what == "held":  # after the first samples, until there is a file
            while done and not os.path.exists(os.environ["FAKE_LOG"] + ".go"):
                time.sleep(0.05)
        if what == "hang":
            open(os.environ["FAKE_LOG"] + ".hangs", "w")
            time.sleep(1000)
        first = os.environ["FAKE_LOG"] + ".1"
        if what == "crash" or (what == "once" and not os.path.exists(first)):
            open(first, "w")
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            open(os.environ["FAKE_LOG"] + ".hangs", "w")
            time.sleep(1000)
        us = {"native": 1.0, "shm": 0.5}.get(candidate, 0.8) + 0.01 * launch
        sample = {"type": "sample", "launch": launch, "collective": collective,
                  "candidate": candidate, "bytes": int(size), "datatype": datatype,
                  "operation": operation, "root": int(root), "mode": "throughput", "batch": 10,
                  "times_us": [us, us * 1.01, us * 1.02], "missed": 1, "correct": True}
        if what == "wrong":
            sample |= {"correct": False, "detail": "rank 1: element 3"}
        if what == "refuse":
            sample |= {"refused": True, "times_us": [], "detail": "no such algorithm"}
        if what == "native":
            sample["done_by"] = "native: too large"
        if keys["reference"] == "1":
            sample["reference_us"] = 2.0
        lines.append(json.dumps(sample))
    if keys["reference"] == "1" and behaviour.get("reference") in [
        c.replace("=", ":") for c in candidates
    ]:
        open(keys["status"], "w").write(f"{done} {len(cases)} {collective} {size} reference 1\n")
        os.kill(os.getpid(), signal.SIGSEGV)
    print("\n".join(lines), file=out)
if behaviour.get("end") == keys["variant"].replace("=", ":"):
    os.kill(os.getpid(), signal.SIGSEGV)
sys.exit(int(behaviour.get("exit", 0)))
"""


@dataclasses.dataclass(frozen=True)
class FakeMPI(OpenMPI):
    def launch(self, nranks, program, **options):  # type: ignore[no-untyped-def]
        return [sys.executable, str(self.prefix / "fake"), program[-1]], dict(os.environ)


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMPI:
    fake = tmp_path / "fake"
    fake.write_text(FAKE)
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in ("stretto-bench-openmpi", "libstretto-openmpi.so"):
        (lib / name).write_text("")
    plan_library()  # the real one, whichever test comes first
    monkeypatch.setenv("STRETTO_LIB_DIR", str(lib))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.delenv("FAKE", raising=False)
    return FakeMPI("openmpi", "openmpi", "4.1.4", "Open MPI", tmp_path, None, tmp_path / "fake")


def settings(candidates: Sequence[str] = ("native", "shm"), **more: object) -> Settings:
    cases = tuple(make_case("allreduce", size, candidates) for size in (8, 64))
    values = {"nranks": 2, "cases": cases, "variants": variants_of(cases), "stall_s": 600.0}
    return Settings(**(values | more))  # type: ignore[arg-type]


def go(mpi: FakeMPI, s: Settings, path: Path, **more: object):  # type: ignore[no-untyped-def]
    said: list[str] = []
    identity = collect(MPIIdentity("openmpi", "openmpi", "4.1.4"))
    bench, notes = measure(s, mpi, path, identity, ["t"], said.append, quiet=True, **more)  # type: ignore[arg-type]
    return bench, notes


def clock_of_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let time pass only while the stand-in hangs: no start of a Python is taken for it."""
    now, mark, real = [1000.0], tmp_path / "log.hangs", process.run

    def monotonic() -> float:
        now[0] += mark.exists()
        return now[0]

    def run(*words: Any, **more: Any) -> process.Ended:
        mark.unlink(missing_ok=True)  # of the launch before
        return real(*words, **more)

    monkeypatch.setattr(process, "run", run)
    for module in ("process", "reader"):
        clock = SimpleNamespace(monotonic=monotonic)
        monkeypatch.setattr(f"stretto.measure.{module}.time", clock)


def starts(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_a_campaign_measures_everything_once(mpi: FakeMPI, tmp_path: Path) -> None:
    path = tmp_path / "r.bench.jsonl"
    bench, notes = go(mpi, settings(), path)
    assert notes == []
    assert len(bench.launches) == 6 and len(bench.samples) == 24
    assert {e.status for e in bench.ends.values()} == {"ok"}
    assert bench.samples[0].missed == 1
    found = [c for c in compare(timings(bench)) if c.candidate == "shm"]
    assert [c.outcome for c in found] == ["faster", "faster"]
    assert not list(tmp_path.glob(".r.bench.jsonl*")), "nothing is left behind"
    assert all(x.hosts is None for x in bench.launches)


def test_going_on_measures_only_what_is_missing(mpi: FakeMPI, tmp_path: Path) -> None:
    path = tmp_path / "r.bench.jsonl"
    go(mpi, settings(launches=2), path)
    go(mpi, settings(launches=3), path)
    assert len(starts(tmp_path)) == 3
    text = path.read_text()
    path.write_text(text[: text.rindex('"sample"') + 20])  # killed while writing
    bench, _ = go(mpi, settings(launches=3), path)
    assert len(starts(tmp_path)) == 4
    # The cell that was cut is measured again as a whole: its candidates are of one process.
    assert len(bench.samples) == 13
    assert len({(x.launch, x.bytes, x.candidate) for x in bench.samples}) == 12
    ledger = Ledger(settings(launches=3), bench.records)
    assert not any(ledger.pending(k) for k in range(3))


def test_a_cell_that_lacks_a_mode_is_measured_again(mpi: FakeMPI, tmp_path: Path) -> None:
    bench, _ = go(mpi, settings(launches=1), tmp_path / "r.bench.jsonl")
    records = [r for r in bench.records if not isinstance(r, LaunchEnd)]
    assert [c.bytes for c in Ledger(settings(launches=1), records).pending(0)] == [64]
    both = dataclasses.replace(records[-1], mode="latency")
    assert Ledger(settings(launches=1), [*records, both]).pending(0) == []


def test_the_time_left_is_that_of_what_is_missing(mpi: FakeMPI, tmp_path: Path) -> None:
    path, whole = tmp_path / "r.bench.jsonl", settings(launches=4)
    assert time_left(whole, path) == whole.estimate_s()
    go(mpi, settings(launches=1), path)
    assert time_left(whole, path) == pytest.approx(0.75 * whole.estimate_s())
    assert time_left(whole, path, restart=True) == whole.estimate_s()
    go(mpi, whole, path)
    assert time_left(whole, path) == 0


def test_a_crash_is_tried_once_more_and_again_when_going_on(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, three = tmp_path / "r.bench.jsonl", ("native", "ring", "shm")
    monkeypatch.setenv("FAKE", "ring=once")  # crashes in the first start only
    bench, notes = go(mpi, settings(three, launches=2), path)
    assert bench.excluded == [] and any("retried once" in n for n in notes)
    assert len([s for s in bench.samples if s.candidate == "ring"]) == 4
    path = tmp_path / "s.bench.jsonl"
    monkeypatch.setenv("FAKE", "ring=crash")
    bench, notes = go(mpi, settings(three, launches=1), path)
    assert len(bench.excluded) == 1 and any(
        "--restart measures everything again" in n for n in notes
    )
    assert "ring" not in {n for t in timings(bench).values() for n in t}
    monkeypatch.setenv("FAKE", "")  # what was wrong has been mended
    bench, _ = go(mpi, settings(three, launches=1), path)
    assert "ring" in {n for t in timings(bench).values() for n in t}
    path = tmp_path / "t.bench.jsonl"
    monkeypatch.setenv("FAKE", "ring=crash")
    for _ in range(3):
        bench, _ = go(mpi, settings(three, launches=1), path)
    assert len(bench.excluded) == 2, "after the second time it is left alone"


def test_restart_keeps_the_old_file(mpi: FakeMPI, tmp_path: Path) -> None:
    path = tmp_path / "r.bench.jsonl"
    go(mpi, settings(launches=1), path)
    old = path.read_text()
    go(mpi, settings(launches=1), path, restart=True)
    assert (tmp_path / "r.bench.jsonl.old").read_text() == old
    assert len(starts(tmp_path)) == 2


def test_results_of_another_layout_are_not_mixed(mpi: FakeMPI, tmp_path: Path) -> None:
    path = tmp_path / "r.bench.jsonl"
    go(mpi, settings(launches=1), path)
    before = path.read_text()
    with pytest.raises(StrettoError, match="nranks 2, and now it is 4"):
        go(mpi, settings(nranks=4), path)
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("what", "reason"),
    [("hang", "hung"), ("stubborn", "hung"), ("crash", "failed"), ("wrong", "wrong"),
     ("refuse", "refused"), ("native", "not_done")],
)  # fmt: skip
def test_a_bad_candidate_is_named_and_the_rest_goes_on(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, reason: str
) -> None:
    monkeypatch.setenv("FAKE", f"ring={what}")
    monkeypatch.setattr(runner.process, "GRACE_S", 0.5)
    more = {}
    if reason == "hung":
        clock_of_hangs(monkeypatch, tmp_path)
        more = {"stall_s": 20.0}
    given = settings(("native", "ring", "shm"), **more)
    bench, notes = go(mpi, given, tmp_path / "r.bench.jsonl")
    (gone,) = bench.excluded
    assert (gone.candidate, gone.reason, gone.collective) == ("ring", reason, "allreduce")
    assert any("ring" in note for note in notes)
    names = {s.candidate for s in bench.samples}
    assert names == {"native", "shm"}
    assert len([s for s in bench.samples if s.candidate == "shm"]) == 12
    assert not list(tmp_path.glob(".r.bench.jsonl*"))
    assert not _left(mpi)


def test_native_that_crashes_blames_nobody_else(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE", "native=crash")
    with pytest.raises(StrettoError, match=r"the first launch measured nothing.*native"):
        go(mpi, settings(), tmp_path / "r.bench.jsonl")
    assert read_bench(tmp_path / "r.bench.jsonl").excluded == []


def test_a_launch_that_never_began_is_no_candidates_fault(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE", "early=1")
    for name in ("r", "s"):  # nor twice in a row
        bench, notes = go(mpi, settings(launches=2), tmp_path / f"{name}.bench.jsonl")
        assert bench.ends[1].status == "failed" and bench.excluded == []
        assert notes and not any("retried once" in n for n in notes)
        assert {x.launch for x in bench.samples} == {0}


class Seen:
    """A campaign that only keeps what is read for it; an interrupt comes with the second sample."""

    def __init__(self, interrupted: bool = False) -> None:
        self.settings = settings(stall_s=5.0)
        self.writer = SimpleNamespace(write=lambda record: None)
        self.kept: list[str] = []
        self.shown: list[str] = []
        self.interrupted = interrupted
        self.over = False

    def keep(self, seen) -> None:  # type: ignore[no-untyped-def]
        if self.interrupted and self.kept:
            self.interrupted = False
            raise KeyboardInterrupt
        self.kept.append(seen.candidate)


def reader_of(
    campaign: Seen, tmp_path: Path, samples: Sequence[tuple[str, int]] = ()
) -> LaunchReader:
    more = {"type": "sample", "launch": 0, "collective": "allreduce", "datatype": "byte",
            "operation": None, "root": 0, "mode": "latency", "batch": 1, "times_us": [1.0],
            "correct": True}  # fmt: skip
    lines = [json.dumps({**more, "candidate": c, "bytes": n}) + "\n" for c, n in samples]
    (tmp_path / "output").write_text("".join(lines))
    (tmp_path / "status").write_text("0 2 allreduce 8 shm 5\n")
    progress = SimpleNamespace(done=0, update=lambda done, words: campaign.shown.append(words))
    places = tmp_path / "output", tmp_path / "status"
    return LaunchReader(campaign, 0, list(campaign.settings.cases), *places, progress)  # type: ignore[arg-type]


def test_nobody_hung_while_nobody_could_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(process, "time", clock)
    monkeypatch.setattr("stretto.measure.reader.time", clock)
    campaign = Seen()
    reader = reader_of(campaign, tmp_path)
    for _ in range(3):
        now[0] += 0.25
        assert not reader.watch()
    for _ in range(4):
        now[0] += 3600
        assert not reader.watch()
    for _ in range(3):  # and who does nothing while one looks does hang
        now[0] += 0.5
        hangs = reader.watch()
    assert hangs
    assert campaign.shown[-1] == "allreduce 8 B, launch 1", "people count from 1"
    (tmp_path / "status").write_text("0 2 allreduce 8 shm 6\n")
    now[0] += 0.5
    assert not reader.watch()


def test_an_interrupt_costs_no_lines_that_were_written(tmp_path: Path) -> None:
    campaign = Seen(interrupted=True)
    samples = [(f"c{i}", 8) for i in range(6)]
    reader = reader_of(campaign, tmp_path, samples)
    with pytest.raises(KeyboardInterrupt):
        reader.read()
    reader.read()
    reader.read()
    assert campaign.kept == ["c0", "c2", "c3", "c4", "c5"]


def test_a_status_from_before_the_last_samples_blames_nobody(tmp_path: Path) -> None:
    reader = reader_of(Seen(), tmp_path, [("native", 8), ("shm", 8)])
    at = reader.status()
    assert at is not None and (at.bytes, at.candidate) == (8, "shm"), "nothing was read yet"
    reader.read()
    assert reader.status() is None
    (tmp_path / "status").write_text("1 2 allreduce 64 shm 9\n")
    at = reader.status()
    assert at is not None and at.bytes == 64


def test_a_candidate_that_cannot_leave_the_mpi_is_excluded(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = "native:coll_x=1"
    monkeypatch.setenv("FAKE", f"end={bad.replace('=', ':')}")
    for _ in range(2):
        bench, _ = go(mpi, settings(("native", bad), launches=2), tmp_path / "r.bench.jsonl")
    assert {(x.candidate, x.reason) for x in bench.excluded} == {(bad, "failed")}
    assert bad not in {name for times in timings(bench).values() for name in times}


def test_a_launch_that_ends_at_the_reference_is_its_only_candidates_fault(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (f"native:coll_x={n}" for n in (1, 2))
    s = settings(("native", "shm", "bare", bad, good))
    assert s.reference and not settings(("native", "shm", "bare")).reference
    monkeypatch.setenv("FAKE", f"reference={bad.replace('=', ':')}")
    bench, _ = go(mpi, s, tmp_path / "r.bench.jsonl")
    assert [(x.candidate, x.reason) for x in bench.excluded] == [(bad, "failed")]
    assert {x.candidate for x in bench.samples} == {"native", "shm", "bare", good}
    assert all(x.reference_us == 2.0 for x in bench.samples)
    # with several candidates nobody knows whose
    monkeypatch.setenv("FAKE", "reference=shm")
    found, notes = go(mpi, s, tmp_path / "other.bench.jsonl")
    assert not found.excluded and "shm" not in {x.candidate for x in found.samples}
    assert any("reference at allreduce 8 B" in note for note in notes)


def test_an_interrupt_keeps_everything(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE", "shm=held")
    pid, s = os.getpid(), settings()
    results = tmp_path / "r.bench.jsonl"
    measured = f"until grep -qs '\"sample\"' {results}; do sleep 0.1; done"
    killer = subprocess.Popen(["sh", "-c", f"{measured}; kill -TERM {pid}"])
    with pytest.raises(Interrupted, match="measurements so far are in"):
        go(mpi, s, results)
    killer.wait()
    kept = read_bench(results)
    assert 0 < len(kept.samples) < 24
    assert not _left(mpi)
    (tmp_path / "log.go").touch()
    bench, _ = go(mpi, s, results)
    assert len({(x.launch, x.bytes, x.candidate) for x in bench.samples}) == 24
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_budget_ends_a_campaign(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").touch()  # the clock stands until the third launch has begun
    clock = SimpleNamespace(monotonic=lambda: 10.0 * (len(starts(tmp_path)) > 2))
    monkeypatch.setattr(runner, "time", clock)
    bench, notes = go(mpi, settings(launches=100, budget_s=2.0), tmp_path / "r.bench.jsonl")
    assert len(starts(tmp_path)) == 3 and bench.samples
    assert any("the budget ended after" in n and "missing: about" in n for n in notes)
    assert not bench.excluded, "a launch that the budget ends is nobody's fault"
    assert [e.detail for e in bench.ends.values() if e.status == "timeout"] in (
        [], ["the budget ended"]
    )  # fmt: skip


def _left(mpi: FakeMPI) -> list[str]:
    out = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(mpi.prefix / "fake") in words and state != "Z":
                out.append(words)
    return out


def test_sizes_and_times_as_typed() -> None:
    assert parse_sizes("8:64") == [8, 16, 32, 64]
    assert parse_sizes("8:1K:4,3,1M") == [3, 8, 32, 128, 512, 1 << 20]
    assert parse_duration("1.5h") == 5400 and parse_duration("90") == 90
    assert parse_collectives("MPI_Allreduce,bcast") == ["allreduce", "bcast"]
    ranges = (
        "8:4",
        "8:64:1",
        "1:2:3:4",
        "8:64:x",
        "8:64:1.5",
        "8:64:4K",
        "8:64:-4",
        "8:64:",
        "8:64:²",
    )
    for bad in ("x", "-8", "99999G", *ranges):
        with pytest.raises(UsageError):
            parse_sizes(bad)
    for bad in ("", "5 days", "-1", "0"):
        with pytest.raises(UsageError):
            parse_duration(bad)
    assert parse_counts("2:12", "--nodes") == [2, 4, 8, 12]
    for bad in ("²", "2,²", "1:²", "", "0", "two"):
        with pytest.raises(UsageError):
            parse_counts(bad, "--nodes")
    with pytest.raises(UsageError, match="'0' is not a positive whole number"):
        parse_counts("0", "--nodes")
    with pytest.raises(UsageError, match="allscatter"):
        parse_collectives("allscatter")
    for typed, remedy in (
        ("alreduce", "did you mean allreduce?"),
        ("alltoallw", "write alltoallv: "),
        ("xyz", "there are allreduce,"),
    ):
        with pytest.raises(UsageError) as caught:
            parse_collectives(typed)
        assert str(caught.value.remedy).startswith(remedy)
    with pytest.raises(UsageError, match="are not a multiple of"):
        make_case("allreduce", 3, ("native",))
