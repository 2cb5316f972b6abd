"""`stretto check -- CMD` with launchers that are none: what its words and its silence mean."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from machines import machine
from processes import script
from stretto.check.facts import collect_facts
from stretto.check.job import Started, judge_job, judge_start, probe
from stretto.errors import StrettoError
from stretto.launch.ask import before
from stretto.launch.command import parse_command
from stretto.launch.execute import Result
from stretto.launch.job import understand
from test_launch_variables import job as stand_in


def test_options_that_name_files_are_left_out(tmp_path: Path) -> None:
    srun = script(tmp_path / "srun", "echo slurm 22.05.8")
    words = [str(srun), "-n4", "-oout.txt", "-e", "err.txt", "--output=x", "-ue", "y", "-J", "o"]
    command = parse_command([*words, "./app"], {"PATH": str(tmp_path)}, tmp_path)
    (application,) = command.applications
    assert application.program == len(words)
    assert before(command, 0, application) == [str(srun), "-n4", "-J", "o"]


#: an mpirun whose pipe breaks; its first start says less
BROKEN = """case "$1" in --version) echo "mpirun (Open MPI) 4.1.4"; exit 0;; esac
while [ "$1" != sh ]; do shift; done
"$@"
echo >> starts
[ "$(grep -c '' starts)" = {more} ] && "$@"
kill -PIPE $$
"""


@pytest.mark.parametrize("more", [1, 2])
def test_probe_asks_again_after_a_broken_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """MPICH's mpiexec may die of SIGPIPE, with what some of its ranks have said."""
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))  # this mpirun starts no MPI programs
    script(tmp_path / "mpirun", BROKEN.format(more=more))
    script(tmp_path / "app")
    words = [str(tmp_path / "mpirun"), "-n", "2", "./app"]
    placed = probe(understand(words, environ={"PATH": os.defpath}, cwd=tmp_path, mpi="openmpi"))
    assert isinstance(placed, Started) and len(placed.placed) == 2, placed
    assert (tmp_path / "starts").read_text() == "\n\n"


def test_check_of_ranks_that_do_not_come_through_init_is_a_problem(tmp_path: Path) -> None:
    job = stand_in(tmp_path, "openmpi4", "mpirun -n 2 ./app")
    one, two = "stretto-bench: rank 0 of 2\n", "stretto-bench: rank 0 of 2\n" * 2
    cases = [
        (Result(0, 1.0, stdout=two), None),
        (Result(127, 1.0, stderr="env: no such file"), None),  # not on that node
        (Result(1, 1.0, stderr="PMI is missing\n"), "complete MPI_Init: PMI is missing"),
        (Result(143, 60.0, stdout=one, timed_out=True), None),
        (Result(143, 60.0, timed_out=True), "MPI_Init in time: no reason is given"),
    ]
    for result, words in cases:
        found = judge_start(job, 2, result)
        assert (found is None) == (words is None), result
        assert found is None or (found.kind == "no-start" and found.text.endswith(words or ""))
    alone = judge_start(job, 2, Result(0, 1.0, stdout="stretto-bench: rank 0 of 1\n" * 2))
    assert alone is not None and alone.kind == "alone"


def test_check_names_rules_files_that_cannot_be_read(tmp_path: Path) -> None:
    script(tmp_path / "here")
    script(tmp_path / "a")
    on, name = "OMPI_MCA_coll_tuned_use_dynamic_rules", "coll_tuned_dynamic_rules_filename"
    json_file = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
    cases: list[tuple[str, str, dict[str, str], bool]] = [
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "/gone", on: "1"}, True),
        ("openmpi4", f"mpirun --mca {name} gone -n 2 ./a", {on: "true"}, True),
        ("openmpi4", f"mpirun -x OMPI_MCA_{name}=gone -n 2 ./a", {on: "1"}, True),
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "here", on: "1"}, False),
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "/gone", on: "0"}, False),
        ("openmpi4", "mpirun -n 2 ./a", {f"OMPI_MCA_{name}": "/gone"}, False),
        ("mpich", f"mpirun -genv {json_file} gone -n 2 ./a", {}, True),
        ("mpich", "mpirun -n 2 ./a", {json_file: "here"}, False),
        ("intel", "mpirun -n 2 ./a", {"I_MPI_TUNING_BIN": "/gone"}, True),
    ]
    facts = collect_facts(machine(tmp_path / "machine"))
    for kind, line, environ, expected in cases:
        found = judge_job(stand_in(tmp_path, kind, line, **environ), facts, None)
        named = [f.text for f in found if f.kind == "rules-missing"]
        assert len(named) == expected, (kind, line, environ)
        assert all("which cannot be read: its rules have no effect" in text for text in named)


def test_check_of_programs_that_cannot_start_says_why(tmp_path: Path) -> None:
    facts = collect_facts(machine(tmp_path / "machine"))
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "conf").write_text("0 ./a\n")
    (tmp_path / "here.py").touch()
    (tmp_path / "python").symlink_to(sys.executable)
    env = {"PATH": f"{tmp_path}:{os.defpath}"}
    for line, kind, words in (
        ("mpirun -n 2 ./gone", "openmpi4", f"there is no program ./gone in {tmp_path}"),
        ("mpirun -wdir /tmp -n 2 ./gone", "mpich", None),
        ("mpirun -n 2 python gone.py", "openmpi4", f"there is no script gone.py in {tmp_path}"),
        ("mpirun -n 2 python here.py gone.py", "openmpi4", None),
        ("srun -n 2 --multi-prog ./conf", "slurm", "takes the programs from ./conf"),
    ):
        found = list(judge_job(stand_in(tmp_path, kind, line), facts, None))
        assert (words is None) or any(words in f.text for f in found), line
        missing = any(f.kind == "program-missing" for f in found)
        assert missing == (words or "").startswith("there")
    for line, message, remedy in (
        ("./script", "is not executable", "sh ./script"),
        ("mpirun -n 2 ./script", "is not executable", "chmod [+]x ./script"),
        ("srun -n 2 --multi-prog ./conf", "does not show their MPI", "--mpi openmpi"),
        ("mpirun_rsh -np 2 a b ./app", "mpirun_rsh is not supported", "mpiexec"),
    ):
        stand_in(tmp_path, "slurm" if line.startswith("srun") else "openmpi4", "true")
        with pytest.raises(StrettoError, match=message) as caught:
            understand(line.split(), environ=env, cwd=tmp_path)
        assert re.search(remedy, caught.value.remedy or "")
