"""The batch script of a campaign: its time, and when its job goes into the queue again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from stretto import cli
from stretto.campaign import run, submit
from stretto.campaign.layout import Layout
from stretto.campaign.sbatch import LEAST_S, seconds
from stretto.campaign.submit import SlurmJob, sbatch_time, script
from stretto.errors import EXIT_AGAIN, EXIT_FAULT, StrettoError, UsageError
from stretto.files.bench import Excluded, LaunchEnd, Record, Sample, format_record
from sweeps import request_of

CAMPAIGN = """#!/bin/bash
here=$(dirname "$0")
trap 'cat "$here/gain" >> "$here/out of/openmpi-4.1.4/cpu/1x2/a.bench.jsonl"; exit 130' USR1
touch "$here/begun"
while :; do sleep 0.02; done
"""
RUNNING = "RUNNING                       N/A                           None"
#: of a user's profile
FILTERS = {"SQUEUE_STATES": "PENDING", "SQUEUE_NAMES": "mine", "SLURM_CLUSTERS": "other"}
SAMPLE = Sample(0, "bcast", "ring", 8, "byte", None, 0, "latency", 1, [1.0], True)
EXCLUDED = Excluded(0, "bcast", "ring", 8, "hung")
END = LaunchEnd(0, "failed", "the MPI does not come up")


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@dataclass
class Ended:
    """What came of a job: its exit code, what it was asked about, put into the queue and said."""

    code: int
    asked: str
    requeued: str
    log: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a stand-in for the campaign, of which a record is there already."""
    program(tmp_path / "campaign", CAMPAIGN)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "campaign"))
    results = tmp_path / "out of/openmpi-4.1.4/cpu/1x2/a.bench.jsonl"
    results.parent.mkdir(parents=True)
    results.write_text(format_record(SAMPLE))
    return tmp_path


def job_of(
    here: Path, told: signal.Signals, state: str, jobs: int, restarts: int, gain: Record
) -> Ended:
    """Run a job that is told to stop, and until then has measured what is named."""
    (here / "gain").write_text(format_record(gain))
    alone = '[ -z "$SQUEUE_STATES$SQUEUE_NAMES$SLURM_CLUSTERS" ] || exit 0'
    program(here / "squeue", f'#!/bin/sh\n{alone}\necho "$3" >> "{here}/asked"\necho "{state}"\n')
    program(
        here / "scontrol",
        f'#!/bin/sh\n[ -z "$SLURM_CLUSTERS" ] || exit 1\necho "$@" >> "{here}/requeued"\n',
    )
    request = request_of(here / "out of", layouts=(Layout(1, 2),))
    text = script(request, here / "c.toml", SlurmJob(jobs=jobs), {})
    job = {"SLURM_JOB_ID": "7"} | ({"SLURM_RESTART_COUNT": str(restarts)} if restarts else {})
    if jobs > 1:
        job |= {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}
    env = os.environ | {"PATH": f"{here}:{os.environ['PATH']}"} | FILTERS | job
    process = subprocess.Popen(["bash", "-c", text], env=env, stdout=subprocess.PIPE, text=True)
    while not (here / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(told)
    out, _ = process.communicate(timeout=600)
    texts = [p.read_text() if p.exists() else "" for p in (here / "asked", here / "requeued")]
    return Ended(process.returncode, *texts, out)


@pytest.mark.parametrize(
    ("told", "state", "again"),
    [
        (signal.SIGUSR1, RUNNING, True),
        (signal.SIGTERM, RUNNING, True),  # before a preemption
        (signal.SIGTERM, "COMPLETING      2026-11-24T08:39:38      None", True),  # as part of one
        (signal.SIGTERM, "COMPLETING      N/A      TimeLimit", True),
        (signal.SIGTERM, "COMPLETING      N/A      None", False),  # scancel
        (signal.SIGUSR1, "CANCELLED       N/A      None", False),
        (signal.SIGUSR1, "", True),  # squeue does not answer
    ],
)
@pytest.mark.parametrize("array", [False, True])
def test_only_what_was_not_cancelled_goes_on(
    here: Path, told: signal.Signals, state: str, again: bool, array: bool
) -> None:
    """What squeue says was seen with Slurm 22.05."""
    ended = job_of(here, told, state, 2 if array else 1, 3, SAMPLE)
    name = "7_2" if array else "7"
    assert ended.code == 130 and ended.asked == f"{name}\n"
    assert ended.requeued == (f"requeue {name}\n" if again else "")
    words = ("goes into the queue again" in ended.log, "was cancelled" in ended.log)
    assert words == (again, not again)


@pytest.mark.parametrize(
    ("told", "restarts", "gain", "again"),
    [
        (signal.SIGUSR1, 1, END, False),
        (signal.SIGUSR1, 1, SAMPLE, True),
        (signal.SIGUSR1, 1, EXCLUDED, True),  # known to be of no use: that is less to measure
        (signal.SIGUSR1, 0, END, True),  # told by hand, say, right after its start
        (signal.SIGTERM, 1, END, True),  # a preemption comes at any time
    ],
)
def test_a_job_that_measures_nothing_does_not_come_back_for_ever(
    here: Path, told: signal.Signals, restarts: int, gain: Record, again: bool
) -> None:
    ended = job_of(here, told, RUNNING, 1, restarts, gain)
    assert ended.code == 130
    assert ended.requeued == ("requeue 7\n" if again else "")
    assert ("measured nothing" in ended.log and "--time" in ended.log) == (not again)
    assert ("goes into the queue again" in ended.log) == again


@pytest.mark.parametrize(
    ("code", "restarts", "gain", "again"),
    [
        (EXIT_AGAIN, 0, "", True),
        (EXIT_AGAIN, 3, SAMPLE, True),
        (EXIT_AGAIN, 3, "", False),  # for ever
        (EXIT_FAULT, 0, SAMPLE, False),
    ],
)
def test_a_file_system_that_was_away_ends_no_job(
    here: Path, code: int, restarts: int, gain: Record | str, again: bool
) -> None:
    more = gain if isinstance(gain, str) else format_record(gain)
    results = here / "out of/openmpi-4.1.4/cpu/1x2/a.bench.jsonl"
    program(
        here / "campaign",
        f"#!/bin/sh\nsleep 0.5\ncat >> '{results}' <<'END'\n{more}END\nexit {code}\n",
    )
    program(here / "squeue", f'#!/bin/sh\necho "{RUNNING}"\n')
    program(here / "scontrol", f'#!/bin/sh\necho "$@" >> "{here}/requeued"\n')
    request = request_of(here / "out of", layouts=(Layout(1, 2),))
    text = script(request, here / "c.toml", SlurmJob(), {})
    job = {"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(restarts)}
    env = os.environ | {"PATH": f"{here}:{os.environ['PATH']}"} | job
    done = subprocess.run(["bash", "-c", text], env=env, check=False)
    assert done.returncode == code
    assert (here / "requeued").exists() == again


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("30", 1800), ("5:00", 300), ("90:30", 5430), ("4:00:00", 14400), ("4:0:0", 14400),
        ("1-0", 86400), ("1-12", 129600), ("0-0:10", 600), ("2-1:30:05", 178205),
        ("0", None), ("0:00", None), ("UNLIMITED", None), ("infinite", None), (" 60 ", 3600),
    ],
)  # fmt: skip
def test_times_as_sbatch_takes_them(tmp_path: Path, typed: str, wanted: int | None) -> None:
    assert seconds(typed, "--time") == wanted
    request = request_of(tmp_path / "out", layouts=(Layout(1, 2),))
    assert f"#SBATCH --time={typed.strip()}\n" in script(
        request, tmp_path / "c", SlurmJob(typed), {}
    )


def test_the_job_has_room_for_every_layout(tmp_path: Path) -> None:
    request = request_of(tmp_path / "out", layouts=(Layout(1, 4), Layout(4, 2), Layout(2, 1)))
    text = script(request, tmp_path / "c", SlurmJob(), {})
    assert "#SBATCH --nodes=4\n" in text and "#SBATCH --ntasks-per-node=4\n" in text


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("90s", "0:01:30"), ("10m", "0:10:00"), ("1.5h", "1:30:00"), ("30 min", "0:30:00"),
     ("10", "10"), ("1-0", "1-0"), ("soon", "soon")],
)  # fmt: skip
def test_times_as_budgets_have_them(typed: str, wanted: str) -> None:
    assert sbatch_time(typed) == wanted


@pytest.mark.parametrize("typed", ["", "x", "1:2:3:4", "-5", "4h", "1-", "1.5", "1:300", "9" * 20])
def test_what_is_no_time_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="is no time for sbatch") as error:
        seconds(typed, "--time")
    assert error.value.place == "--time" and "H:MM:SS" in (error.value.remedy or "")


@pytest.mark.parametrize("typed", ["1", "2", "2:00", "0:30", "4", "0-0:04", "00:04:59"])
def test_a_time_in_which_nothing_can_be_measured_is_refused(tmp_path: Path, typed: str) -> None:
    """Such a job would be put into the queue again after a launch or none, for ever."""
    request = request_of(tmp_path / "out", layouts=(Layout(1, 2),))
    given = [("--time", SlurmJob(typed))]
    given += [("--sbatch", SlurmJob(options=(x.format(typed),))) for x in (
        "--time={}", "-t{}", "-t {}", "-p hpc --time '{}'", "--time-min={}")]  # fmt: skip
    for place, job in given:
        with pytest.raises(UsageError, match="too short") as error:
            script(request, tmp_path / "c", job, {})
        assert error.value.place == place
        assert f"{LEAST_S // 60} minutes" in (error.value.remedy or "")
    for options in (("--partition=t",), ("-t 30",), ("--tasks-per-node=2",), ("-p short-t1",)):
        script(request, tmp_path / "c", SlurmJob(options=options), {})


def test_a_short_time_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.toml"
    file.write_text('ppn = [2]\ncollectives = ["bcast"]\ncandidates = ["own"]\nbytes = "8"\n')
    for more in ([], ["--print"]):
        for wrong, words in (
            (["--time", "2:00"], "'2:00' is too short"),
            (["--sbatch", "partition=all"], "is no option"),
        ):
            assert cli.main(["campaign", "submit", str(file), *wrong, *more]) == 2
            said = capsys.readouterr()
            assert words in said.err and not said.out
            assert "expected in all" not in said.err, "before the plan"
    assert list(tmp_path.iterdir()) == [file]


CAMPAIGN_FILE = 'nodes = [1, 2]\nppn = [2]\ncollectives = ["bcast"]\ncandidates = ["own"]\n'


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a stand-in for sbatch was given: not there until something is submitted."""
    given = tmp_path / "given"
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "sbatch", f'#!/bin/sh\ncp "$2" "{given}"\necho 7\n')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return given


@pytest.mark.parametrize(
    ("error", "mpis", "refused"),
    [
        (UsageError("MPICH 5.0.2 has no 'x' for bcast", "--candidates", "it has y"), "", True),
        (StrettoError("there is no MPI 'opnmpi'", None, "give a family"), "opnmpi", True),
        (StrettoError("there is no MPI '/opt/mpich'", None, "x"), "/opt/mpich", False),
        (StrettoError("there is no MPI 'mpirun.mpich'", None, "x"), "mpirun.mpich", False),
        (StrettoError("no Intel MPI is installed here", None, "x"), "intel", False),
        (StrettoError("the MPI library could not be loaded", "libmpi.so", "x"), "sbatch", False),
        (StrettoError("stretto-bench-mpich is not built", "lib", "x"), "", False),
    ],
)
def test_what_is_known_to_be_refused_is_not_submitted(
    tmp_path: Path, sbatch: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], error: StrettoError, mpis: str, refused: bool,
) -> None:  # fmt: skip
    """What is only missing on the login node may be on the others."""

    def fails(*of: object, **more: object) -> None:
        raise error

    monkeypatch.setattr(submit, "system_of", fails)
    monkeypatch.setattr(run, "system_of", fails)
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN_FILE + (f'mpis = ["{mpis}"]\n' if mpis else ""))
    code = cli.main(["campaign", "submit", str(file)])
    said = capsys.readouterr()
    assert (code != 0) == (not sbatch.exists()) == refused
    if not refused:
        assert f"warning: the cost is not known here: {error}" in said.err
        return
    assert not said.out and list(tmp_path.glob("c.campaign/*")) == []
    assert code == cli.main(["campaign", "plan", str(file)])
    assert capsys.readouterr().err == said.err == "".join(f"{x}\n" for x in error.lines())


@pytest.mark.parametrize(
    ("more", "words", "code", "says"),
    [
        ("", [], 0, None),
        ('hosts = ["n1", "n2"]', [], 0, None),
        ('hosts = "n[1-4]"', [], 0, "hosts names 4 nodes, and the job has 2 nodes"),
        ('hosts = "n[1-4]"', ["--jobs", "2"], 0, "hosts names 4 nodes, and each job has 2 nodes"),
        ('hosts = ["n1", "n2"]', ["--jobs", "2"], 2, "and hosts names 2"),
        ("", ["--sbatch", "-N1"], 2, "2 x 2 would be left out"),
        ("", ["--jobs", "2", "--sbatch", "--array=0-3"], 2, "sbatch takes one only"),
    ],
)
def test_nodes_that_slurm_may_not_give_are_told_before_it_is_asked(
    tmp_path: Path, sbatch: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], more: str, words: list[str], code: int, says: str | None,
) -> None:  # fmt: skip
    def missing(*of: object, **more: object) -> None:
        raise StrettoError("no MPI is here")

    monkeypatch.setattr(submit, "system_of", missing)
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN_FILE + more)
    assert cli.main(["campaign", "submit", str(file), *words]) == code
    said = capsys.readouterr().err
    assert ("hosts" in said) == (says is not None and "hosts" in says)
    assert says is None or says in said
    assert sbatch.exists() == (code == 0) and (tmp_path / "c.campaign").exists() == (code == 0)
    if code == 0:
        exact = more == 'hosts = ["n1", "n2"]'
        assert ("#SBATCH --nodelist=n1,n2\n" in sbatch.read_text()) == exact


def test_names_that_slurm_does_not_know(
    tmp_path: Path, sbatch: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    words = "sbatch: error: Batch job submission failed: Invalid node name specified"
    program(tmp_path / "bin" / "sbatch", f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    monkeypatch.setattr(submit, "cost_lines", lambda *of: [])
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN_FILE + 'hosts = ["n1.cluster", "n2.cluster"]')
    assert cli.main(["campaign", "submit", str(file)]) == EXIT_FAULT
    said = capsys.readouterr().err
    assert words in said and "try: write hosts as Slurm calls its nodes (sinfo -N)" in said
