"""`stretto check` with the launchers of the MPIs: where ranks run, what carries their messages."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from machines import machine
from mpis import MPIS, REPOSITORY, beside_others
from stretto import cli
from stretto.check.facts import collect_facts
from stretto.check.finding import Finding
from stretto.check.job import Started, judge_job, judge_start, probe
from stretto.errors import StrettoError
from stretto.launch.ask import before
from stretto.launch.command import parse_command
from stretto.launch.execute import Result
from stretto.launch.job import understand
from test_launch_inject import job as stand_in


def script(path: Path, text: str = "") -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_probe_of_two_ranks_shows_binding_and_transport(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    script(tmp_path / "app", "exit 9")
    words = [*mpi.launcher(2), "env", "A=1", "./app", "x"]
    with beside_others():
        found = probe(understand(words, environ=mpi.environment, cwd=tmp_path))
    assert isinstance(found, Started) and len(found.placed) == 2
    assert all(p.cpus and p.node for p in found.placed)
    assert list(found.survey.nodes) == [found.placed[0].node], "a node's facts, once"
    assert found.transports.within or found.transports.between or name == "intel", "as it says"
    assert found.transports.tcp_within is None


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("openmpi4", ["--output-filename", "kept"]),
        ("openmpi5", ["--output", "dir=kept"]),
        ("mpich", ["-outfile-pattern", "kept/1/rank.0/stdout"]),
        ("intel", ["-outfile-pattern", "kept/1/rank.0/stdout"]),
    ],
)
def test_probe_leaves_the_output_of_earlier_runs(
    name: str, option: list[str], tmp_path: Path
) -> None:
    mpi = MPIS[name].require()
    kept = tmp_path / "kept" / "1" / "rank.0" / "stdout"
    kept.parent.mkdir(parents=True)
    kept.write_text("a week's work\n")
    script(tmp_path / "app", "exit 9")
    launcher, *rest = mpi.launcher(2)
    words = [launcher, *option, *rest, "./app"]
    with beside_others():
        placed = probe(understand(words, environ=mpi.environment, cwd=tmp_path))
    assert isinstance(placed, Started) and len(placed.placed) == 2, placed
    assert kept.read_text() == "a week's work\n"
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == {tmp_path / "app", kept}


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


@pytest.mark.mpi
def test_probe_of_a_launcher_that_starts_nothing(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    script(tmp_path / "app")
    words = [mpi.launcher(1)[0], "--host", "localhost:1", "-n", "5", "./app"]
    with beside_others():
        finding = probe(understand(words, environ=mpi.environment, cwd=tmp_path))
    assert isinstance(finding, Finding)
    assert finding.severity == "problem" and "not enough slots" in finding.text


@pytest.mark.mpi
def test_check_of_a_job_names_transport_and_misspelt_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mpi = MPIS["openmpi4"].require()
    monkeypatch.chdir(tmp_path)
    script(tmp_path / "app", "exit 9")
    words = [*mpi.launcher(2), "--mca", "btl", "self,tcp", "--mca", "btl_tcp_lnks", "2", "./app"]
    with beside_others():
        cli.main(["check", "--json", "--", *words])
    found = json.loads(capsys.readouterr().out)
    assert found["mpi"][0]["family"] == "openmpi"
    named = {f["kind"]: f for f in found["findings"]}
    assert "Using tcp btl" in named["tcp-within-node"]["seen"]
    assert named["unknown-setting"]["remedy"] == "did you mean 'btl_tcp_links'?"
    assert "too-many-ranks" not in named and len(found["nodes"]) == 1
    with beside_others():
        code = cli.main(["check", "--no-launch", "--", *words])
    text = capsys.readouterr().out
    assert "WARNING OMPI_MCA_btl_tcp_lnks" in text and "[unknown-setting]" in text
    assert "tcp-within-node" not in text, "what was not started was not seen"
    assert code in (1, 4)


#: an srun under which every rank is alone unless it has --mpi=pmix
ALONE = """case "$1" in
--version) echo "slurm 22.05.8"; exit 0 ;;
--mpi=list) {listed}; exit 0 ;;
esac
for word; do [ "$word" = --mpi=pmix ] && size=2; done
while [ "$1" != sh ]; do shift; done
echo "rank-on a Cpus_allowed_list:	0"; echo "rank-on a Cpus_allowed_list:	1"
echo "stretto-bench: rank 0 of ${{size:-1}}"; echo "stretto-bench: rank 0 of ${{size:-1}}"
"""
SLURM_22 = 'printf "MPI plugin types are...\\n\\tnone\\n\\tpmi2\\n\\tpmix\\n"'
SLURM_22 += '; echo "specific pmix plugin versions available: pmix_v4"'
SLURM_20 = 'printf "srun: MPI types are...\\nsrun: none\\nsrun: pmi2\\n" >&2'


def test_check_where_srun_connects_no_ranks_is_a_problem(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(REPOSITORY / "tests" / "programs" / "sums.c", tmp_path / "app")
    env = {"PATH": f"{tmp_path}:{os.defpath}"}

    def tried(*options: str, listed: str = SLURM_22) -> object:
        script(tmp_path / "srun", ALONE.format(listed=listed))
        words = ["srun", *options, "-n", "2", str(program)]
        return probe(understand(words, environ=env, cwd=tmp_path))

    alone = tried()
    assert isinstance(alone, Finding) and alone.severity == "problem"
    assert alone.text.startswith("each of 2 ranks runs as a job of one rank")
    assert alone.remedy == "srun --mpi=pmix (srun --mpi=list has none, pmi2, pmix)"
    without = tried("--mpi=pmi2", listed=SLURM_20)
    assert isinstance(without, Finding) and without.remedy is not None
    assert without.remedy.startswith("srun --mpi=list has none, pmi2: use the mpirun or mpiexec")
    assert isinstance(tried("--mpi=pmix"), Started)


def test_check_of_ranks_that_do_not_come_through_init_is_a_problem(tmp_path: Path) -> None:
    job = stand_in(tmp_path, "openmpi4", "mpirun -n 2 ./app")
    one, two = "stretto-bench: rank 0 of 2\n", "stretto-bench: rank 0 of 2\n" * 2
    cases = [
        (Result(0, 1.0, stdout=two), None),
        (Result(127, 1.0, stderr="env: no such file"), None),  # not on that node
        (Result(1, 1.0, stderr="PMI is missing\n"), "come through MPI_Init: PMI is missing"),
        (Result(143, 60.0, stdout=one, timed_out=True), None),
        (Result(143, 60.0, timed_out=True), "MPI_Init in time: no reason is given"),
    ]
    for result, words in cases:
        found = judge_start(job, 2, result)
        assert (found is None) == (words is None), result
        assert found is None or found.text.endswith(words or "")


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
        found = [f.text for f in judge_job(stand_in(tmp_path, kind, line, **environ), facts, None)]
        named = any("which cannot be read: its rules do not apply" in text for text in found)
        assert named == expected, (kind, line, environ)


def test_check_of_programs_that_cannot_start_says_why(tmp_path: Path) -> None:
    facts = collect_facts(machine(tmp_path / "machine"))
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "conf").write_text("0 ./a\n")
    env = {"PATH": f"{tmp_path}:{os.defpath}"}
    for line, kind, words in (
        ("mpirun -n 2 ./gone", "openmpi4", f"there is no program ./gone in {tmp_path}"),
        ("mpirun -wdir /tmp -n 2 ./gone", "mpich", None),
        ("srun -n 2 --multi-prog ./conf", "slurm", "takes the programs from ./conf"),
    ):
        found = [f.text for f in judge_job(stand_in(tmp_path, kind, line), facts, None)]
        assert (words is None) or any(words in text for text in found), line
        assert any("there is no" in text for text in found) == (words or "").startswith("there")
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
