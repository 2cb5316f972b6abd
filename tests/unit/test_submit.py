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

from processes import executable
from stretto import cli
from stretto.campaign import run, submit
from stretto.campaign.layout import Layout
from stretto.campaign.submit import SlurmJob, host_lines, script, seconds
from stretto.errors import EXIT_AGAIN, EXIT_FAULT, StrettoError, UsageError
from stretto.files.bench import Excluded, LaunchEnd, Record, Sample, format_record
from sweeps import request_of

CAMPAIGN = """#!/bin/bash
here=$(dirname "$0")
trap 'cat "$here/gain" >> "$here/out of/openmpi-4.1.4/cpu/1x2.bench.jsonl"; exit 130' USR1
touch "$here/begun"
while :; do sleep 0.02; done
"""
RUNNING = "RUNNING                       N/A                           None"
#: of a user's profile
FILTERS = {"SQUEUE_STATES": "PENDING", "SQUEUE_NAMES": "mine", "SLURM_CLUSTERS": "other"}
SAMPLE = Sample(0, "bcast", "ring", 8, "byte", None, 0, "latency", 1, [1.0], True)
EXCLUDED = Excluded(0, "bcast", "ring", 8, "hung")
END = LaunchEnd(0, "failed", "the MPI does not come up")


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
    executable(tmp_path / "campaign", CAMPAIGN)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "campaign"))
    results = tmp_path / "out of/openmpi-4.1.4/cpu/1x2.bench.jsonl"
    results.parent.mkdir(parents=True)
    results.write_text(format_record(SAMPLE))
    return tmp_path


def job_of(
    here: Path, told: signal.Signals, state: str, jobs: int, restarts: int, gain: Record
) -> Ended:
    """Run a job that is told to stop, and until then has measured what is named."""
    (here / "gain").write_text(format_record(gain))
    alone = '[ -z "$SQUEUE_STATES$SQUEUE_NAMES$SLURM_CLUSTERS" ] || exit 0'
    executable(
        here / "squeue", f'#!/bin/sh\n{alone}\necho "$3" >> "{here}/asked"\necho "{state}"\n'
    )
    executable(
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
    results = here / "out of/openmpi-4.1.4/cpu/1x2.bench.jsonl"
    executable(
        here / "campaign",
        f"#!/bin/sh\nsleep 0.5\ncat >> '{results}' <<'END'\n{more}END\nexit {code}\n",
    )
    executable(here / "squeue", f'#!/bin/sh\necho "{RUNNING}"\n')
    executable(here / "scontrol", f'#!/bin/sh\necho "$@" >> "{here}/requeued"\n')
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
        ("30", "0:30:00"), ("4:00:00", "4:00:00"), ("1-12:00:00", "36:00:00"), (" 60 ", "1:00:00"),
        ("10m", "0:10:00"), ("1.5h", "1:30:00"), ("600s", "0:10:00"), ("30 min", "0:30:00"),
        *((x, "too short") for x in ("1", "4", "0:00:30", "00:04:59", "90s")),
        *((x, "not a time") for x in ("", "x", "1:2:3:4", "-5", "1-", "5:00", "1:300:00", "soon")),
    ],
)  # fmt: skip
def test_submit_time_is_read_or_refused(tmp_path: Path, typed: str, wanted: str) -> None:
    if wanted[0].isdigit():
        text = asked(tmp_path, SlurmJob(seconds(typed)))
        assert f"--time={wanted}" in text
        return
    with pytest.raises(UsageError, match=wanted) as error:
        seconds(typed)
    assert error.value.place == "--time"


def asked(tmp_path: Path, job: SlurmJob, hosts: tuple[str, ...] = ()) -> list[str]:
    """What a batch script asks of Slurm, in its order."""
    request = request_of(tmp_path / "out", layouts=(Layout(2, 4), Layout(3, 2)), hosts=hosts)
    lines = script(request, Path("c.toml"), job, {}).splitlines()
    assert lines[0] == "#!/bin/bash"
    head = [line for line in lines if line.startswith("#SBATCH ")]
    assert lines[1 : len(head) + 1] == head, "sbatch reads none behind the first command"
    return [line.removeprefix("#SBATCH ") for line in head]


def test_submit_job_has_its_nodes_alone_and_a_core_for_each_rank(tmp_path: Path) -> None:
    options = asked(tmp_path, SlurmJob())
    assert {"--exclusive", "--hint=nomultithread", "--cpus-per-task=1"} <= set(options)
    assert {"--nodes=3", "--ntasks-per-node=4", "--requeue"} <= set(options)
    assert not any(o.startswith(("--array", "--overlap", "--nodelist")) for o in options)
    more = asked(tmp_path, SlurmJob(jobs=2, options=("--oversubscribe",)))
    assert more[-2:] == ["--array=1-2", "--oversubscribe"], "what the user asks comes last"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        *((x, "Stretto sets '.*' itself") for x in (
            "--nodes=2", "-N2", "-N 2-4", "--array=0-3", "-a0-3", "--time=2:00", "-t 30",
            "--time-min=9", "--tim=1", "--partition=p --time=1")),
        *((x, "is not an option") for x in ("partition=all", "--a=b\n--c")),
        *((x, None) for x in ("--nodelist=n1", "-p hpc", "--comment=-N1", "--nodes=3", "-N 4")),
    ],
)  # fmt: skip
def test_submit_option_of_sbatch_that_stretto_sets_is_refused(
    tmp_path: Path, option: str, words: str | None
) -> None:
    if words is None:
        assert asked(tmp_path, SlurmJob(options=(option,)))[-1] == option
        return
    with pytest.raises(UsageError, match=words) as error:
        asked(tmp_path, SlurmJob(options=(option,)))
    assert error.value.place == "--sbatch"


@pytest.mark.parametrize(
    ("job", "hosts", "words"),
    [
        (SlurmJob(), 4, "a job has 3 nodes: Slurm may allocate other nodes"),
        (SlurmJob(jobs=2), 6, "a job has 3 nodes: Slurm may allocate other nodes"),
        (SlurmJob(), 3, None),
        (SlurmJob(), 0, None),
        (SlurmJob(options=("-w n1",)), 4, None),
        (SlurmJob(), 2, "the largest layout has 3 nodes, but hosts names 2"),
        (SlurmJob(jobs=2), 2, "2 jobs at once have 6 nodes, but hosts names 2"),
    ],
)
def test_submit_names_nodes_that_a_job_may_not_get(
    tmp_path: Path, job: SlurmJob, hosts: int, words: str | None
) -> None:
    names = tuple(f"n{k}" for k in range(hosts))
    if hosts == 2:
        with pytest.raises(UsageError, match=str(words)) as error:
            asked(tmp_path, job, names)
        assert error.value.place == "hosts" and "leave hosts out" in str(error.value.remedy)
        return
    listed = [x for x in asked(tmp_path, job, names) if x.startswith("--nodelist")]
    assert listed == (["--nodelist=n0,n1,n2"] if hosts == 3 else [])
    request = request_of(tmp_path, layouts=(Layout(2, 4), Layout(3, 2)), hosts=names)
    found = host_lines(request, job)
    assert len(found) == (words is not None)
    for line in found:
        assert f"hosts names {hosts} nodes, and {words}" in line and "Leave hosts out" in line


def test_submit_short_time_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.toml"
    file.write_text('ppn = [2]\ncollectives = ["bcast"]\ncandidates = ["own"]\nbytes = "8"\n')
    for wrong, words in (
        (["--time", "2"], "'2' is too short"),
        (["--sbatch", "partition=all"], "is not an option"),
    ):
        assert cli.main(["campaign", "submit", str(file), *wrong]) == 2
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
    executable(tmp_path / "bin" / "sbatch", f'#!/bin/sh\ncp "$2" "{given}"\necho 7\n')
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
        assert f"warning: the cost is unknown here: {error}" in said.err
        return
    assert not said.out and list(tmp_path.glob("c.campaign/*")) == []
    assert code == cli.main(["campaign", "plan", str(file)])
    assert capsys.readouterr().err == said.err == "".join(f"{x}\n" for x in error.lines())


def test_names_that_slurm_does_not_know(
    tmp_path: Path, sbatch: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    words = "sbatch: error: Batch job submission failed: Invalid node name specified"
    executable(tmp_path / "bin" / "sbatch", f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    monkeypatch.setattr(submit, "cost_lines", lambda *of: [])
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN_FILE + 'hosts = ["n1.cluster", "n2.cluster"]')
    assert cli.main(["campaign", "submit", str(file)]) == EXIT_FAULT
    said = capsys.readouterr().err
    assert words in said and "try: use the node names of Slurm (sinfo -N)" in said
