"""Words that lead out of the case's directory: in a copy of it they mean what they meant there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from processes import executable
from stretto.errors import StrettoError
from stretto.tune.outside import for_copies, full_paths, outside, uncopied_notes, variables_for
from stretto.tune.place import COPIES, Place, fresh


@pytest.fixture
def case(tmp_path: Path) -> Path:
    base = tmp_path.resolve() / "case"
    (base / "inner").mkdir(parents=True)
    (base / "input").write_text("x")
    (base.parent / "build").mkdir()
    executable(base.parent / "build" / "app", '#!/bin/sh\ncat "$1"\n')
    (base.parent / "mesh.msh").write_text("mesh")
    return base


def made(base: Path, words: Sequence[str]) -> list[str]:
    return for_copies(words, Place(base, base / "stretto-app" / COPIES), base.parent / "copy")


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
        assert for_copies(words, place, case) == words
        assert uncopied_notes(words, [], place) == []


@pytest.fixture
def copied(case: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Place, Path]:
    """A case that is reached by a link as well, and a copy of it, which has the same files."""
    monkeypatch.setenv("HOME", str(case.parent))
    (case.parent / "other name").symlink_to(case)
    (case / "stretto-app").mkdir()
    (case / "out").symlink_to(case.parent / "build")
    (case / "res.txt").write_text("precious")
    copy = case.parent / "copies" / "case"
    for name in ("inner", "out"):
        (copy / name).mkdir(parents=True)
    for name in ("input", "res.txt"):
        (copy / name).write_text("x")
    return case, Place(case, case / "stretto-app" / COPIES), copy


def test_full_paths_into_the_directory_lead_into_the_copy(
    copied: tuple[Path, Place, Path],
) -> None:
    base, place, copy = copied
    for word, expected in {
        "BASE/res.txt": "COPY/res.txt",
        "BASE": "COPY",
        "BASE/inner/": "COPY/inner/",
        "BASE/inner/new/file": "COPY/inner/new/file",
        "--output=BASE/res.txt": "--output=COPY/res.txt",
        "OUT=BASE/res.txt": "OUT=COPY/res.txt",
        "-oBASE/res.txt": "-oCOPY/res.txt",
        "file:BASE/a,BASE/b": "file:COPY/a,COPY/b",
        "./app < BASE/input >BASE/res.txt 2>BASE/err": (
            "./app < COPY/input >COPY/res.txt 2>COPY/err"
        ),
        "cd BASE && ./app >>'BASE/res.txt'; cat \"BASE/input\"|tee BASE/log": (
            "cd COPY && ./app >>'COPY/res.txt'; cat \"COPY/input\"|tee COPY/log"
        ),
        "x >BASE/out_$i.txt BASE/*.dat": "x >COPY/out_$i.txt COPY/*.dat",
        "x > ~/case/res.txt > $HOME/case/a > ${HOME}/case/b": (
            "x > COPY/res.txt > COPY/a > COPY/b"
        ),
        "UP/other name/res.txt": "COPY/res.txt",
        "UP/build/../case/res.txt": "COPY/res.txt",
        "BASE/out/x": "UP/build/x",  # a link out of the directory leads where it did
        # and nothing else
        "BASE.old/x": "BASE.old/x",
        "UPBASE/x": "UPBASE/x",
        "BASE/../mesh.msh": "BASE/../mesh.msh",
        "UP/mesh.msh": "UP/mesh.msh",
        "BASE/stretto-app/x": "BASE/stretto-app/x",
        "/": "/",
        "a/b": "a/b",
        "http://host/x": "http://host/x",
    }.items():

        def put(text: str) -> str:
            text = text.replace("BASE", str(base)).replace("COPY", str(copy))
            return text.replace("UP", str(base.parent))

        (found,) = for_copies([put(word)], place, copy)
        if word == "BASE/out/x":
            assert found in (put(word), put(expected))
        else:
            assert found == put(expected), word
    assert for_copies([f"{base}/x"], Place(base, base, in_place=True), base) == [f"{base}/x"]


def test_a_directory_with_a_blank_is_found_in_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path.resolve() / "my case"
    base.mkdir()
    copy = tmp_path / "copies" / "my case"
    copy.mkdir(parents=True)
    place = Place(base, base / "stretto-app" / COPIES)
    escaped = str(base).replace(" ", "\\ ")
    assert for_copies([f"{base}/x", f"./a >'{base}/x'", f"./a > {escaped}/x"], place, copy) == [
        f"{copy}/x", f"./a >'{copy}/x'", f"./a > {copy}/x".replace("my case", "my case")
    ]  # fmt: skip


def test_variables_lead_into_the_copy_except_where_programs_are_found(
    copied: tuple[Path, Place, Path],
) -> None:
    base, place, copy = copied
    environ = {
        "PWD": str(base), "SLURM_SUBMIT_DIR": str(base), "OUT": f"{base}/res.txt",
        "PATH": f"{base}/bin:/usr/bin", "LD_LIBRARY_PATH": f"{base}/lib", "N": "4",
        "VIRTUAL_ENV": f"{base}/venv", "STRETTO_TABLE": f"{base}/x.table",
    }  # fmt: skip
    found = variables_for(environ, place, copy)
    assert found == environ | {
        "PWD": str(copy), "SLURM_SUBMIT_DIR": str(copy), "OUT": f"{copy}/res.txt"
    }  # fmt: skip
    assert variables_for(environ, Place(base, base, reset="true"), base) == environ


def test_runs_never_write_through_full_paths(case: Path) -> None:
    place = Place(case, case / "stretto-app" / COPIES)
    precious = case / "res.txt"
    precious.write_text("precious")
    lines = [
        ["sh", "-c", f"echo lost > {precious}"],
        ["sh", "-c", 'echo lost > "$1"', "sh", str(precious)],
        ["env", f"OUT={precious}", "sh", "-c", "echo lost > $OUT"],
        ["dd", f"of={precious}", "if=/dev/null"], ["sh", "-c", "echo lost > $PWD/res.txt"],
        ["sh", "-c", "cd $CASE && echo lost > res.txt"],
    ]  # fmt: skip
    environ = {**os.environ, "PWD": str(case), "CASE": str(case)}
    names = set()
    for words in lines:
        with fresh(place) as cwd:
            names.add(cwd)
            subprocess.run(
                for_copies(words, place, cwd), cwd=cwd, check=True, capture_output=True,
                env=variables_for(environ, place, cwd),
            )  # fmt: skip
            assert (cwd / "res.txt").read_text() in ("lost\n", ""), words
        assert precious.read_text() == "precious", words
    assert len(names) == 1, "a copy's name in what CMD prints is no difference between two runs"


def test_scripts_that_name_the_directory_are_refused_and_inputs_named(case: Path) -> None:
    place = Place(case, case / "stretto-app" / COPIES)
    script, plain = case / "run.sh", case / "part"
    (case / "in.txt").write_text(f"title\noutdir = '{case}/tmp'\n")
    (case / "data").write_bytes(f"\0{case}/tmp".encode())
    plain.write_text(f"echo x > {case}/res.txt\n")
    for text, line in (
        (f"#!/bin/sh\n\ncd {case}\n", 3), ("#!/bin/sh\necho x > ~/case/res.txt\n", 0),
        (f"#!{case}/bin/sh\n# of {case}\necho {case}.old $PWD/x\n", 0),
        (f"#!/usr/bin/env python3\nopen('{case}/res.txt', 'w')\n", 2),
    ):  # fmt: skip
        script.write_text(text)
        for words in (["./run.sh"], ["mpirun", str(script)], ["sh", "-c", "./run.sh>x"]):
            if not line:
                assert full_paths(words, [], place) == []
                continue
            with pytest.raises(
                StrettoError, match="contains the full path of the directory"
            ) as caught:
                full_paths(words, [], place)
            assert caught.value.place == f"{script}:{line}" and len(caught.value.lines()) == 3
            assert uncopied_notes(words, [], Place(case, case, in_place=True)) == []
    with pytest.raises(StrettoError, match="contains the full path of the directory"):
        full_paths(["sh", "part"], [plain], place)
    assert full_paths(["app", "in.txt", "data", "-i=none"], [], place) == [
        f"{case}/in.txt:2: {case}/tmp"
    ]
    (case / "venv" / "bin").mkdir(parents=True)
    (case / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (case / "venv" / "bin" / "tool").write_text(f"#!/bin/sh\nexec {case}/venv/bin/python\n")
    assert full_paths(["venv/bin/tool"], [case / "venv/bin/tool"], place) == []
