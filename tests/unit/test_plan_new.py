"""A new algorithm is a file and a row: one is added in a temporary tree, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

SOURCE = """\
/* Allreduce as this test has it: reduce to rank 0 over a chain of ranks, and back.
 *
 * Idea: the shortest file that works. Source: this test. Cost: 2 (P - 1) (alpha + n beta) + (P - 1)
 * n gamma. Memory: one vector. Limits: none.
 */
#include "coll/coll.h"

int stretto_build_allreduce_there_and_back(stretto_plan *plan, const stretto_shape *shape) {
    const int p = shape->nranks, me = shape->rank;
    const stretto_span all = stretto_span_of(STRETTO_OUT, 0, 1);
    stretto_plan_load(plan);
    if (me + 1 < p)
        stretto_plan_recv_reduce(plan, me + 1, all, %s);
    stretto_plan_fence(plan);
    if (me > 0) {
        stretto_plan_send(plan, me - 1, all);
        stretto_plan_fence(plan);
        stretto_plan_recv(plan, me - 1, all);
        stretto_plan_fence(plan);
    }
    if (me + 1 < p)
        stretto_plan_send(plan, me + 1, all);
    return 0;
}
"""
ROW = """ALGORITHM(allreduce, ALLREDUCE, there_and_back, allreduce_there_and_back, NONE, 0, 0, 0, 0,
          "chain and back")
"""


def build(tree: Path, side: str) -> Path:
    """Copy the plan core, add the algorithm, and build the plan library."""
    for part in ("plan", "coll"):
        shutil.copytree(REPOSITORY / "src" / part, tree / "src" / part)
    (tree / "src/coll/allreduce/there_and_back.c").write_text(SOURCE % side)
    registry = tree / "src/coll/algorithms.def"
    registry.write_text(registry.read_text() + ROW)
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
    return subprocess.run(
        [sys.executable, "-m", "stretto", *words], env=environ, capture_output=True, text=True
    )


@pytest.mark.long
def test_a_file_and_a_row_are_all(tmp_path: Path) -> None:
    tree = build(tmp_path / "right", "STRETTO_SRC_RIGHT")
    assert "there_and_back" in stretto(tree, "plan", "list", "allreduce").stdout
    done = stretto(tree, "plan", "verify", "allreduce", "there_and_back", "-n", "12")
    assert done.returncode == 0, done.stderr
    assert "48 calls, all proven" in done.stdout
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
