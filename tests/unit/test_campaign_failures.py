"""Campaigns on systems where nothing works: said soon, with what to do, and seen afterwards."""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

import sweeps
from processes import executable
from stretto.campaign import command, greeting
from stretto.campaign.begun import LayoutAsked, keep_about
from stretto.campaign.conclude import Outcome, conclude
from stretto.campaign.layout import Layout
from stretto.campaign.site import left_out_word, results_of
from stretto.campaign.status import read_status, status_lines
from stretto.campaign.worker import refused
from stretto.errors import EXIT_INTERRUPTED, StrettoError
from stretto.files.bench import Bench, Header, Launch, LaunchEnd, Record, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.measure.compare import NATIVE
from stretto.measure.ledger import Ledger
from stretto.measure.settings import Settings, make_case
from stretto.mpi.openmpi import OpenMPI

RANK = r"""#!/usr/bin/env python3
import json, os, sys, time
keys = dict(x.partition(" ")[::2] for x in open(sys.argv[-1]).read().splitlines())
how = os.environ["RANK"]
if how == "early":
    time.sleep(1000)
if how == "die":
    print("-" * 74, "No route to host", "", "We apologize", "-" * 74, sep="\n")
    sys.exit(3)
with open(keys["output"], "w") as out:
    ranks = 1 if how == "single" else 4
    head = {"type": "launch", "launch": 0, "nranks": ranks, "library": os.environ.get("IS", "")}
    out.write(json.dumps(head) + "\n")
if how == "late":
    time.sleep(1000)
"""


@dataclasses.dataclass(frozen=True)
class Stand(OpenMPI):
    def launch(self, nranks, program, **options):  # type: ignore[no-untyped-def]
        return [sys.executable, str(self.prefix / "rank"), program[-1]], dict(os.environ)


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    rank = tmp_path / "rank"
    rank.write_text(RANK)
    rank.chmod(rank.stat().st_mode | stat.S_IXUSR)
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "stretto-bench-openmpi").write_text("")
    monkeypatch.setenv("STRETTO_LIB_DIR", str(lib))
    for name in greeting.INTERFACES["openmpi"]:
        monkeypatch.delenv(name, raising=False)
    return Stand("openmpi", "openmpi", "4.1.4", "Open MPI", tmp_path, None, rank)


def srun(program: list[str], variables: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """An srun that starts the stand-in."""
    here = executable(
        Path(program[-1]).parent / "srun",
        f'#!/bin/sh\nexec {sys.executable} {os.environ["STAND"]} "$@"\n',
    )
    return [str(here), "--mpi=pmi2", *program], dict(os.environ)


@pytest.mark.parametrize(
    ("how", "limit_s", "by_srun", "said", "remedy"),
    [
        ("early", 0.5, False, "hang in MPI_Init or the first message", "btl_tcp_if_include"),
        ("early", 0.5, True, "hang in MPI_Init", "an mpi_type other than 'pmi2'"),
        (
            "late",
            60,
            False,
            "hang in the first messages",
            "instead of OMPI_MCA_btl_tcp_if_include=lo",
        ),
        ("single", 60, False, "runs as its own one-rank job", "use the mpirun of"),
        ("single", 60, True, "runs as its own one-rank job", "an mpi_type other than 'pmi2'"),
        ("die", 60, False, "(exit code 3): No route to host", "no firewall"),
        ("die", 60, True, "(exit code 3): No route to host", "usually needs pmix"),
    ],
)
def test_an_mpi_that_does_not_come_up(
    mpi: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    how: str, limit_s: float, by_srun: bool, said: str, remedy: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("RANK", how)
    monkeypatch.setenv("STAND", str(tmp_path / "rank"))
    if how == "late":
        monkeypatch.setenv("OMPI_MCA_btl_tcp_if_include", "lo")
        run = greeting.process.run

        def until_it_has_begun(words, environ, log, watch, **more):  # type: ignore[no-untyped-def]
            output = log.parent / "output"

            def begun() -> bool:
                return output.exists() and output.stat().st_size > 9

            return run(words, environ, log, begun, **more)

        monkeypatch.setattr(greeting.process, "run", until_it_has_begun)
    if how == "single":
        limit_s = 600
    start = srun if by_srun else None
    with pytest.raises(StrettoError) as error:
        greeting.greet(mpi, Layout(2, 2), ("a", "b"), start, False, tmp_path / "c", limit_s)
    assert said in error.value.message and "apologize" not in error.value.message
    assert remedy in (error.value.remedy or "")
    assert list((tmp_path / "c").iterdir()) == [], "nothing is left behind"


def test_an_mpi_that_comes_up(mpi: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "well")
    greeting.greet(mpi, Layout(2, 2), ("a", "b"), None, False, tmp_path / "c", 600)


def test_a_start_that_was_suspended_comes_up(
    mpi: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(greeting.process, "time", SimpleNamespace(monotonic=lambda: next(hours)))
    monkeypatch.setenv("RANK", "well")
    greeting.greet(mpi, Layout(2, 2), ("a", "b"), None, False, tmp_path / "c", 600)


def test_ranks_that_load_another_mpi(
    mpi: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = dataclasses.replace(mpi, library="Open MPI v4.1.4, package: Debian")
    monkeypatch.setenv("RANK", "well")
    monkeypatch.setenv("IS", "Open MPI  v4.1.4, package: Debian ")
    greeting.greet(mpi, Layout(2, 2), ("a", "b"), None, False, tmp_path / "c", 600)
    monkeypatch.setenv("IS", "Open MPI v5.0.11, package: site")
    with pytest.raises(StrettoError) as error:
        greeting.greet(mpi, Layout(2, 2), ("a", "b"), None, False, tmp_path / "c", 600)
    assert "'Open MPI v5.0.11, package: site'" in error.value.message
    assert "'Open MPI v4.1.4, package: Debian'" in error.value.message
    assert "LD_LIBRARY_PATH" in (error.value.remedy or "")


class Stuck(sweeps.Fake):
    """Every start on some layouts ends without a measurement, as the runner writes it."""

    def __init__(self, layouts: Sequence[str], status: str = "timeout", after: int = 0) -> None:
        super().__init__()
        self.layouts, self.status, self.after = layouts, status, after

    def measure(self, settings, launch: int, writer: BenchWriter, stop_at=None) -> bool:  # type: ignore[no-untyped-def]
        name = f"{settings.nranks // (settings.ppn or 1)}x{settings.ppn}"
        seen = sum(x == name for x, _ in self.launches)
        if name not in self.layouts or seen < self.after:
            return super().measure(settings, launch, writer)
        self.launches.append((name, launch))
        for _ in range(2):
            writer.write(Launch(launch, 2, 1, 2, {}, None, settings.variant_of(launch)))
            writer.write(LaunchEnd(launch, self.status, "no output for 8 s"))  # type: ignore[arg-type]
        return False


LAYOUTS = (Layout(1, 2), Layout(2, 1))


@pytest.mark.parametrize(("status", "launches"), [("timeout", 3), ("failed", 6)])
def test_a_layout_on_which_nothing_comes_is_left_out_soon(
    tmp_path: Path, status: str, launches: int
) -> None:
    request = sweeps.request_of(tmp_path / "c", layouts=LAYOUTS, sizes=(8, 4096))
    asked = {x.name: LayoutAsked(6, 1.0) for x in LAYOUTS}
    keep_about(request, ["t"], {"openmpi-4.1.4/a-cpu": asked})
    backend = Stuck(["2x1"], status)
    base = request.out / "openmpi-4.1.4" / "a-cpu"
    worker = sweeps.worker_of(request, backend, base=base)
    assert worker.run()
    assert sum(x == "2x1" for x, _ in backend.launches) == launches
    assert any("2 x 1 is left out" in x and "no output for" in x for x in worker.said)  # type: ignore[attr-defined]
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.ended and not outcome.complete and outcome.table is not None
    found = read_status(request.out)
    one = {x["layout"]: x for x in found["systems"][0]["layouts"]}
    assert not found["complete"] and one["1x2"]["left_out"] is None
    assert f"{launches} launches in a row produced no results" in one["2x1"]["left_out"]["why"]
    assert len(one["2x1"]["given_up"]) == launches
    text = "\n".join(status_lines(found))
    assert f"2x1: given up: {launches} launches, {status}: no output for 8 s" in text
    assert "left out: 2x1: " in text
    # the same command continues: the cause is gone, and with it the word of it
    again = sweeps.worker_of(request, sweeps.Fake(), base=base)
    assert again.run() and left_out_word(results_of(base, Layout(2, 1))) is None
    assert conclude(request, again, lambda text: None, True).complete
    found = read_status(request.out)
    assert found["complete"] and not any(x["given_up"] for x in found["systems"][0]["layouts"])


def test_a_layout_that_was_measured_is_not_given_up_so_soon(tmp_path: Path) -> None:
    request = sweeps.request_of(tmp_path / "c", layouts=(Layout(2, 1),), sizes=(8, 4096))
    backend = Stuck(["2x1"], after=2)
    worker = sweeps.worker_of(request, backend)
    asked: list[Layout] = []
    backend.prepare = lambda layout, crowded: asked.append(layout) or "A CPU"  # type: ignore[func-returns-value,method-assign]
    assert worker.run()
    assert len(backend.launches) == 2 + 6 and len(asked) == 1 + 2


def test_a_candidate_that_does_not_come_up_is_out_of_all_its_collectives() -> None:
    name = "native:coll=^tuned"
    cases = tuple(make_case(c, 8, (NATIVE, name)) for c in ("bcast", "allgather"))
    settings = Settings(2, cases, launches=3, variants=("stretto", name))
    bench = Bench(Header("0", "", sweeps.HOST, sweeps.MPI, []))
    bench.records += [
        Sample(0, "bcast", NATIVE, 8, "byte", None, 0, "latency", 1, [1.0], True),
        LaunchEnd(0, "ok"),
        *(LaunchEnd(k, "failed", "no such component") for k in (1, 3, 5)),
    ]
    out = refused(settings, 5, bench)
    assert sorted((x.collective, x.candidate) for x in out) == [
        ("allgather", name),
        ("bcast", name),
    ]
    assert refused(settings, 4, bench) == [], "not of its own launches"


def outcome(**more: object) -> Outcome:
    values = {"mpi": "m", "table": Path("t"), "results": [Path("d/r")], "rows": [],
              "regret": None, "complete": True}  # fmt: skip
    return Outcome(**(values | more))  # type: ignore[arg-type]


def test_exit_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def go(*found: Outcome) -> int:
        request = command.request_of(None, {"nodes": "2", "out": str(tmp_path / "c")})
        return command.finish(request, found, lambda text: None)

    assert go(outcome()) == 0
    assert go(outcome(complete=False, left_out=["2 x 1: b is dead"])) == EXIT_INTERRUPTED
    assert go(outcome(table=None, complete=False, ended=False)) == EXIT_INTERRUPTED
    lost = outcome(table=None, complete=False, left_out=["2 x 1: it hangs; do so"], remedy="do so")
    assert go(lost, outcome()) == EXIT_INTERRUPTED
    with pytest.raises(StrettoError, match=r"nothing was measured: 2 x 1: it hangs\n") as error:
        go(lost)
    assert error.value.remedy == "do so"


def test_progress_names_the_mpi(tmp_path: Path) -> None:
    request = sweeps.request_of(tmp_path / "c", layouts=LAYOUTS)
    assert sweeps.worker_of(request, sweeps.Fake()).title == "measuring Open MPI 4.1.4"


BOTH = ("throughput", "latency")
CASE = make_case("bcast", 64, ["native", "ring"])
BROKEN = Settings(4, (CASE,), ("stretto",), 1, 2, modes=BOTH)
FULL = LaunchEnd(0, "failed", "exit code 1: output: cannot be written: No space left")
BEGUN = Launch(0, 2, 2, 4, {"bcast": ["native", "ring"]})


def of_mode(candidate: str, mode: Literal["throughput", "latency"]) -> Sample:
    return Sample(
        0, "bcast", candidate, 64, CASE.datatype, CASE.operation, CASE.root, mode, 1, [10.0], True
    )


HALF = of_mode("native", "throughput"), of_mode("native", "latency"), of_mode("ring", "throughput")


@pytest.mark.parametrize("tail", [(), (FULL,), (FULL, BEGUN), (BEGUN,)])
def test_ledger_mode_that_was_broken_off_is_measured_again(tail: tuple[Record, ...]) -> None:
    records = [BEGUN, *HALF, *tail]
    assert Ledger(BROKEN, records).pending(0) == [CASE]
    again = [*records, BEGUN, *HALF, of_mode("ring", "latency"), LaunchEnd(0, "ok")]
    assert Ledger(BROKEN, again).pending(0) == []
    assert Ledger(BROKEN, [BEGUN, *HALF, LaunchEnd(0, "ok")]).pending(0) == [], "nothing came of it"


def test_ledger_mode_that_a_crash_broke_off_is_measured_by_the_next_try() -> None:
    ledger = Ledger(BROKEN)
    for record in HALF:
        ledger.count(record)
    assert ledger.pending(0) == [], "as long as the program runs"
    assert ledger.strike("bcast", "ring") and ledger.pending(0) == [CASE]
