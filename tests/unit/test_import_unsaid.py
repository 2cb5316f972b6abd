"""Files whose names tell algorithms that nobody has said: never taken for the MPI by itself."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.bench import read_bench

HEADING = "# OSU MPI Broadcast Latency Test v5.6\n# Size       Avg Latency(us)\n"
SETTING = "coll_tuned_{collective}_algorithm={algorithm}"
BASE = "bcast/N8n288/run{run}/openmpi4/bcast_{name}.log"


def log(path: Path, shift: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{8 << i}   {20 + i + shift:.2f}\n" for i in range(12))
    path.write_text(HEADING + "".join(lines))
    return path


def logs(base: Path, names: list[str], form: str = BASE, runs: int = 2) -> Path:
    for run in range(1, runs + 1):
        for i, name in enumerate(names):
            log(base / form.format(run=run, name=name), 3 * i + run * 0.13)
    return base


def imported(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["import", "osu", *words])
    return code, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("form", "names"),
    [
        (BASE, ["algo0", "algo1", "algo7", "default"]),
        (BASE, ["algorithm_3", "algorithm_12"]),
        (BASE, ["algo-binomial", "algo-knomial"]),
        ("bcast/8x36/rep{run}/alg{name}/x.log", ["1", "2", "default"]),
        ("8x36.{run}_alg{name}.log", ["1", "2", "default"]),
    ],
)
def test_names_that_differ_in_an_algorithm_are_refused_with_patterns_that_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, names: list[str]
) -> None:
    """All were runs of the default, without a word."""
    where = logs(tmp_path / "osu", names, form)
    out = tmp_path / "out"
    words = [str(where), "-o", str(out), "--mpi", "openmpi@4.0.1", "--nodes", "8", "--ppn", "36"]
    code, said = imported(words, capsys)
    assert code == 2 and not out.exists(), said
    assert "differ in what looks like an algorithm" in said and "--algorithm default" in said
    assert len(re.findall(r"\([^)]*\.log, [^)]*\.log\)", said)) == 1, "two of them are named"
    given = shlex.split(said.partition("say where it stands: ")[2].partition("; if all")[0])
    assert given[0] == "--pattern"
    code, said = imported([*words, *given, "--setting", SETTING], capsys)
    assert code == 0, said
    (made,) = out.iterdir()
    found = {s.candidate for s in read_bench(made).samples}
    assert len(found) == len({n for n in names if n != "algo0" or "default" not in names})
    assert ("bare" in found) == ("default" in names)


def test_files_that_are_all_of_the_mpi_by_itself_can_be_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = logs(tmp_path / "osu", ["algo1", "algo2"])
    words = [str(where), "-o", str(tmp_path / "out"), "--mpi", "openmpi@4", "--nodes", "8"]
    words += ["--ppn", "36"]
    assert imported([*words, "--pattern", "run{launch}/*/*.log"], capsys)[0] == 2
    assert imported([*words, "--algorithm", "default"], capsys)[0] == 0


@pytest.mark.parametrize(
    ("names", "note"), [(["default"], False), (["a", "b"], False), (["algo7"], True)]
)
def test_other_names_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: list[str], note: bool
) -> None:
    where = logs(tmp_path / "algo9", names)  # the directory that was named is not one of them
    words = [str(where), "-o", str(tmp_path / "out"), "--mpi", "openmpi@4", "--nodes", "8"]
    code, said = imported([*words, "--ppn", "36"], capsys)
    assert code == 0, said
    assert ("by its name this is algorithm 7" in said) == note
