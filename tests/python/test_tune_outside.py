"""Words that lead out of the case's directory: in a copy of it they mean what they meant there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from stretto.errors import StrettoError
from stretto.launch.job import understand
from stretto.tune.outside import for_copies, outside
from stretto.tune.place import COPIES, Place, fresh


@pytest.fixture
def case(tmp_path: Path) -> Path:
    base = tmp_path.resolve() / "case"
    (base / "inner").mkdir(parents=True)
    (base / "input").write_text("x")
    (base.parent / "build").mkdir()
    (base.parent / "build" / "app").write_text('#!/bin/sh\ncat "$1"\n')
    (base.parent / "build" / "app").chmod(0o755)
    (base.parent / "mesh.msh").write_text("mesh")
    return base


def made(base: Path, words: Sequence[str]) -> list[str]:
    return for_copies(words, Place(base, base / "stretto-app" / COPIES))


def test_what_exists_outside_has_its_full_path(case: Path) -> None:
    above = case.parent
    assert made(case, ["mpirun", "-n", "4", "../build/app", "../mesh.msh"]) == [
        "mpirun", "-n", "4", f"{above}/build/app", f"{above}/mesh.msh"
    ]  # fmt: skip
    assert made(case, ["inner/../../build/app", "--mesh=../mesh.msh", "-x", "A=../build"]) == [
        f"{above}/build/app", f"--mesh={above}/mesh.msh", "-x", f"A={above}/build"
    ]  # fmt: skip
    place = Place(case, case / "stretto-app" / COPIES)
    assert outside(["../build/app", "input", "../build/app"], place) == [f"{above}/build/app"]


def test_other_words_stay_as_they_were_typed(case: Path) -> None:
    (case.parent / "results.csv").write_text("precious")
    stay = [
        "./app", "input", "inner/../input", "../case/input", "-n", "4", "..4", "a..b",
        f"{case.parent}/mesh.msh", "-o", "../out", "--log=../none", "mpirun -n 2 ../build/app",
        "../" + "x" * 5000, "--output-file", "../results.csv", "--out=../results.csv",
    ]  # fmt: skip
    assert made(case, stay) == stay
    words = ["../build/app", "../mesh.msh"]
    for place in (Place(case, case, in_place=True), Place(case, case, reset="true")):
        assert for_copies(words, place) == words and outside(words, place) == []


def test_behind_a_link_the_text_does_not_say_where(case: Path) -> None:
    (case.parent / "far" / "deep" / "er").mkdir(parents=True)
    (case.parent / "far" / "data").write_text("x")
    (case / "link").symlink_to(case.parent / "far" / "deep" / "er")
    (found,) = made(case, ["link/../../data"])
    assert Path(found).is_absolute() and Path(found).read_text() == "x"


def test_a_copy_runs_what_was_typed(case: Path) -> None:
    place = Place(case, case / "stretto-app" / COPIES)
    words = ["../build/app", "../mesh.msh"]
    with fresh(place) as cwd:
        done = subprocess.run(
            for_copies(words, place), cwd=cwd, capture_output=True, text=True, check=True
        )
    assert done.stdout == "mesh" and not re.search("stretto-copies", " ".join(words))


def test_what_is_not_there_is_missed_from_where_it_was_looked_for(case: Path) -> None:
    with pytest.raises(StrettoError, match=f"no such program from {case}") as caught:
        understand(["../none/app"], cwd=case)
    assert caught.value.place == "../none/app"
