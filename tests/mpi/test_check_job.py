"""`stretto check` with the launchers of the MPIs: where ranks run, what carries their messages."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others
from processes import script
from stretto import cli
from stretto.check.finding import Finding
from stretto.check.job import Started, probe
from stretto.launch.job import understand


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
    monkeypatch.setenv("I_MPI_MULTIRAL", "1")
    words = [*MPIS["intel"].require().launcher(2), "./app"]
    assert cli.main(["check", "--no-launch", "--", *words]) in (1, 4)
    assert "did you mean I_MPI_MULTIRAIL?" in capsys.readouterr().out


#: an srun under which every rank is alone unless it has --mpi=pmix
ALONE = """case "$1" in
--version) echo "slurm 22.05.8"; exit 0 ;;
--mpi=list) {listed}; exit 0 ;;
esac
for word; do [ "$word" = --mpi=pmix ] && size=2; done
while [ "$1" != sh ]; do shift; done
for mask in 0 1; do said="a Cpus_allowed_list:	$mask of "; echo "rank-on $said, again $said"; done
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
