"""A new algorithm is a file and a row: one is added in a temporary tree, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from processes import run_program

REPOSITORY = Path(__file__).resolve().parents[2]

#: the algorithm of CONTRIBUTING.md: its file, its row and its formula
SOURCE, ROW, FORMULA = re.findall(
    r"```c\n(.*?)```", (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL
)
END = "/* clang-format on */"


def build(tree: Path, side: str) -> Path:
    """Copy the plan core, add the algorithm, and build the plan library."""
    for part in ("plan", "coll"):
        shutil.copytree(REPOSITORY / "src" / part, tree / "src" / part)
    (tree / "src/coll/allreduce/there_and_back.c").write_text(
        SOURCE.replace("STRETTO_SRC_RIGHT", side)
    )
    for name, row in (("algorithms.def", ROW), ("formulas.def", FORMULA)):
        registry = tree / "src/coll" / name
        before, end, after = registry.read_text().rpartition(END)
        registry.write_text(before + row + end + after)
    sources = [str(p) for p in sorted((tree / "src").glob("plan/*.c"))]
    sources += [str(p) for p in sorted((tree / "src/coll").rglob("*.c"))]
    flags = ["-std=gnu11", "-O1", "-D_GNU_SOURCE", f"-I{tree / 'src'}", "-fPIC"]
    library = tree / "libstretto-plan.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [
            compiler,
            *flags,
            "-DSTRETTO_PLAN_LIBRARY",
            "-shared",
            *sources,
            "-o",
            str(library),
            "-lm",
        ],
        check=True,
    )
    return tree


def stretto(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ,
        "STRETTO_LIB_DIR": str(tree),
        "PYTHONPATH": str(REPOSITORY / "python"),
    }
    return run_program([sys.executable, "-m", "stretto", *words], env=environ)


@pytest.mark.long
def test_a_file_and_a_row_are_all(tmp_path: Path) -> None:
    tree = build(tmp_path / "right", "STRETTO_SRC_RIGHT")
    assert "there_and_back" in stretto(tree, "plan", "list", "allreduce").stdout
    done = stretto(tree, "plan", "verify", "allreduce", "there_and_back", "-n", "12")
    assert done.returncode == 0, done.stderr
    assert "48 calls, all proven" in done.stdout
    formula = stretto(tree, "plan", "formula", "there_and_back", "-c", "allreduce", "-n", "8")
    assert formula.returncode == 0, formula.stderr
    composed = stretto(
        tree, "plan", "verify", "allreduce", "shm+there_and_back", "--layout", "3,2,2"
    )
    assert "all proven" in composed.stdout, composed.stderr
    drawn = stretto(tree, "plan", "draw", "allreduce", "there_and_back", "-n", "4", "-o", "-")
    assert drawn.stdout.startswith("<svg")

    # and when it is wrong, it is found
    tree = build(tmp_path / "wrong", "STRETTO_SRC_LEFT")
    done = stretto(tree, "plan", "verify", "allreduce", "there_and_back", "-n", "4")
    assert done.returncode == 1
    assert "not valid for a non-commutative operation" in done.stderr
