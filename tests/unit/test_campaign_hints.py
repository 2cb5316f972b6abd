"""One rank a core, hyperthreads left alone, nobody else on the nodes: what Slurm is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stretto.campaign.layout import Layout
from stretto.campaign.slurm import srun_starter
from stretto.campaign.submit import SlurmJob, host_lines, script
from stretto.errors import UsageError
from sweeps import request_of


def asked(tmp_path: Path, job: SlurmJob, hosts: tuple[str, ...] = ()) -> list[str]:
    """What a batch script asks of Slurm, in its order."""
    request = request_of(tmp_path / "out", layouts=(Layout(2, 4), Layout(3, 2)), hosts=hosts)
    lines = script(request, Path("c.toml"), job, {}).splitlines()
    assert lines[0] == "#!/bin/bash"
    head = [line for line in lines if line.startswith("#SBATCH ")]
    assert lines[1 : len(head) + 1] == head, "sbatch reads none behind the first command"
    return [line.removeprefix("#SBATCH ") for line in head]


def test_a_job_has_its_nodes_alone_and_a_core_for_each_rank(tmp_path: Path) -> None:
    options = asked(tmp_path, SlurmJob("10"))
    assert {"--exclusive", "--hint=nomultithread", "--cpus-per-task=1"} <= set(options)
    assert {"--nodes=3", "--ntasks-per-node=4", "--requeue"} <= set(options)
    assert not any(o.startswith(("--array", "--overlap")) for o in options)


def test_what_the_user_asks_of_slurm_comes_last_and_counts(tmp_path: Path) -> None:
    options = asked(tmp_path, SlurmJob("10", 2, ("--oversubscribe",)))
    assert options[-2:] == ["--array=1-2", "--oversubscribe"]


@pytest.mark.parametrize("option", ["--nodes=2", "--nodes 2", "-N2", "-N 2", "-HN 2", "-N 2-4",
                                    "--nodes=2,4", "-p hpc -N2",
                                    "--nodes=4 --nodes='1'"])  # fmt: skip
def test_fewer_nodes_than_the_largest_layout_has_are_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(UsageError, match="3 x 2 would be left out") as error:
        asked(tmp_path, SlurmJob(options=(option,)))
    assert error.value.place == "--sbatch" and "(-N) out" in str(error.value.remedy)


@pytest.mark.parametrize("option", ["--nodes=3", "-N 4", "-N3-5", "-N 1k", "--nodelist=n1", "-pN1",
                                    "-J 'x -N1'", "--nodes=2 --nodes=3", "-p a # -N 1", "-N many",
                                    "--comment=-N1", "-p 'a"])  # fmt: skip
def test_other_options_are_left_to_sbatch(tmp_path: Path, option: str) -> None:
    assert asked(tmp_path, SlurmJob(options=(option,)))[-1] == option


@pytest.mark.parametrize("option", ["--array=0-3", "--array 1,2", "-a0-3", "-a 0-3%2", "--arr=1"])
def test_two_arrays_are_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(UsageError, match="sbatch takes one only") as error:
        asked(tmp_path, SlurmJob(jobs=2, options=(option,)))
    assert error.value.place == "--sbatch" and "without --jobs" in str(error.value.remedy)
    assert asked(tmp_path, SlurmJob(options=(option,)))[-1] == option, (
        "alone it is what --jobs makes"
    )
    assert asked(tmp_path, SlurmJob(jobs=2, options=("--account=a",)))[-1] == "--account=a"


NAMED = ("n1", "n2", "n3")


def test_a_job_of_all_nodes_that_were_named_gets_those(tmp_path: Path) -> None:
    line = "--nodelist=n1,n2,n3"
    assert line in asked(tmp_path, SlurmJob(), NAMED)
    assert not any(x.startswith("--nodelist") for x in asked(tmp_path, SlurmJob()))
    for mine in ("--nodelist=n1", "-wn1", "-w n1", "--nodefile=f", "-F f"):
        assert line not in asked(tmp_path, SlurmJob(options=(mine,)), NAMED), "the user says which"
    for options in (("-N 4",), ("-N3-5",), ("--array=1-4%1",)):
        assert line in asked(tmp_path, SlurmJob(options=options), NAMED)
    assert asked(tmp_path, SlurmJob(options=("-N4",)), (*NAMED, "n4"))[-2] == f"{line},n4"


@pytest.mark.parametrize(
    ("job", "hosts", "words"),
    [
        (SlurmJob(), 4, "the job has 3 nodes"),
        (SlurmJob(options=("-p hpc",)), 4, "the job has 3 nodes"),
        (SlurmJob(jobs=2), 6, "each job has 3 nodes"),
        (SlurmJob(options=("--array=1-2",)), 6, "each job has 3 nodes"),
        (SlurmJob(), 3, None),
        (SlurmJob(), 0, None),
        (SlurmJob(jobs=2), 0, None),
        (SlurmJob(options=("-N 4",)), 4, None),
        (SlurmJob(options=("-w n1",)), 4, None),
    ],
)
def test_where_slurm_may_give_other_nodes_than_were_named_is_said(
    tmp_path: Path, job: SlurmJob, hosts: int, words: str | None
) -> None:
    names = tuple(f"n{k}" for k in range(hosts))
    request = request_of(tmp_path, layouts=(Layout(2, 4), Layout(3, 2)), hosts=names)
    found = host_lines(request, job)
    assert len(found) == (words is not None)
    for line in found:
        assert f"hosts names {hosts} nodes, and {words}: Slurm may give others" in line
        assert "without having measured" in line and "Leave hosts out" in line
        assert "a partition, a reservation or a constraint" in line and "--sbatch" in line
        assert not any(x.startswith("--nodelist") for x in asked(tmp_path, job, names))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (SlurmJob(), "the largest layout has 3 nodes, and hosts names 2"),
        (SlurmJob(jobs=2), "2 jobs at once have 6 nodes, and hosts names 2"),
        (SlurmJob(options=("--array=0-8:2%3",)), "3 jobs at once have 9 nodes, and hosts names 2"),
        (SlurmJob(options=("-w n1",)), "the largest layout has 3 nodes, and hosts names 2"),
    ],
)
def test_more_nodes_than_were_named_are_refused(tmp_path: Path, job: SlurmJob, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        asked(tmp_path, job, NAMED[:2])
    assert error.value.place == "hosts" and "leave hosts out" in str(error.value.remedy)
    assert ("--jobs" in str(error.value.remedy)) == (job.jobs > 1)


def test_a_step_has_a_core_for_each_rank_and_shares_those_of_a_step_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    around = {"SLURM_NTASKS": "64", "SLURM_NTASKS_PER_NODE": "32", "SLURM_CPU_BIND": "none"}
    for name, value in around.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LD_PRELOAD", "")
    start = srun_starter("pmix")(Layout(2, 3), ("a", "b"))
    command, environ = start(["/bin/program", "x"], {"LD_PRELOAD": "/lib/one.so"})
    options = command[1 : command.index("env")]
    assert command[0] == "srun" and {"--hint=nomultithread", "--overlap"} <= set(options)
    assert {"--mpi=pmix", "--ntasks-per-node=3", "--distribution=block:block"} <= set(options)
    assert options[options.index("-N") + 1] == "2" and options[options.index("-n") + 1] == "6"
    assert options[options.index("-w") + 1] == "a,b" and "--kill-on-bad-exit=1" in options
    assert command[-4:] == ["env", "LD_PRELOAD=/lib/one.so", "/bin/program", "x"]
    assert not (set(around) | {"LD_PRELOAD"}) & set(environ), "each step says its own numbers"
    assert environ["PATH"] == os.environ["PATH"]
