"""One rank a core, hyperthreads left alone, nobody else on the nodes: what Slurm is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stretto.sweep.layout import Layout
from stretto.sweep.srun import srun_starter
from stretto.sweep.submit import Job, script
from sweeps import request_of


def asked(tmp_path: Path, job: Job) -> list[str]:
    """What a batch script asks of Slurm, in its order."""
    request = request_of(tmp_path / "out", layouts=(Layout(2, 4), Layout(3, 2)))
    lines = script(request, Path("c.toml"), job, {}).splitlines()
    assert lines[0] == "#!/bin/bash"
    head = [line for line in lines if line.startswith("#SBATCH ")]
    assert lines[1 : len(head) + 1] == head, "sbatch reads none behind the first command"
    return [line.removeprefix("#SBATCH ") for line in head]


def test_a_job_has_its_nodes_alone_and_a_core_for_each_rank(tmp_path: Path) -> None:
    options = asked(tmp_path, Job("10"))
    assert {"--exclusive", "--hint=nomultithread", "--cpus-per-task=1"} <= set(options)
    assert {"--nodes=3", "--ntasks-per-node=4", "--requeue"} <= set(options)
    assert not any(o.startswith(("--array", "--overlap")) for o in options)


def test_what_the_user_asks_of_slurm_comes_last_and_counts(tmp_path: Path) -> None:
    options = asked(tmp_path, Job("10", 2, ("--oversubscribe",)))
    assert options[-2:] == ["--array=1-2", "--oversubscribe"]


def test_a_step_has_a_core_for_each_rank_and_shares_those_of_a_step_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without --overlap a step inside an interactive one would wait for ever."""
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
