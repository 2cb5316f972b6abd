"""Files whose names tell algorithms that nobody has said: never taken for the MPI by itself."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from imported import Import, log_of

SETTING = "coll_tuned_{collective}_algorithm={algorithm}"
BASE = "bcast/N8n288/run{run}/openmpi4/bcast_{name}.log"
MINE = ("--mpi", "openmpi@4.0.1", "--nodes", "8", "--ppn", "36")


def logs(base: Path, names: list[str], form: str = BASE) -> Path:
    for run in (1, 2):
        for i, name in enumerate(names):
            log_of(base / form.format(run=run, name=name), 10 * i + run, "Broadcast")
    return base


@pytest.fixture
def imports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Import:
    return Import(capsys, tmp_path)


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
def test_import_of_names_with_algorithms_is_refused_with_a_pattern_that_fits(
    tmp_path: Path, imports: Import, form: str, names: list[str]
) -> None:
    """All were runs of the default, without a word."""
    where = logs(tmp_path / "osu", names, form)
    assert imports(where, *MINE).code == 2 and not imports.names, imports.said
    assert "differ in what looks like an algorithm" in imports.said
    assert "--algorithm default" in imports.said
    assert len(re.findall(r"\([^)]*\.log, [^)]*\.log\)", imports.said)) == 1, "two are named"
    form = imports.said.partition("say where it stands, as in ")[2].partition("; if all")[0]
    given = shlex.split(form)
    assert given[0] == "--pattern"
    assert imports(where, *MINE, *given, "--setting", SETTING).code == 0, imports.said
    assert imports.candidates - {"bare"}


@pytest.mark.parametrize(
    ("names", "words", "code", "note"),
    [
        (["algo1", "algo2"], ["--pattern", "run{launch}/*/*.log"], 2, False),
        (["algo1", "algo2"], ["--algorithm", "default"], 0, False),
        (["default"], [], 0, False),
        (["a", "b"], [], 0, False),
        (["algo7"], [], 0, True),
    ],
)
def test_import_of_names_takes_default_and_notes_an_algorithm(
    tmp_path: Path, imports: Import, names: list[str], words: list[str], code: int, note: bool
) -> None:
    where = logs(tmp_path / "algo9", names)  # the directory that was named is not one of them
    assert imports(where, *MINE, *words).code == code, imports.said
    assert ("by its name this is algorithm 7" in imports.said) == note
