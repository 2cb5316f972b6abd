"""Tuned runs are tuned, and native ones native: the ranks say so, or there is no verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpis import MPIS, beside_others
from processes import executable
from stretto.errors import CommandFailedError, StrettoError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Node, Profile
from stretto.files.table import Row, Table, write_table
from stretto.files.verdict import Metric
from stretto.launch.evidence import Evidence, read_evidence, require_native, require_tuned
from stretto.launch.library import library_for
from stretto.tune.place import COPIES, Place
from stretto.tune.session import Options, Tuning
from stretto.tune.verify import start_s, verify

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    double x = 1, sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 500; i++) {
        MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        x = sum / 2;
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = rank ? NULL : fopen("result.csv", "w");
    if (file) {
        fprintf(file, "sum, %.17g\n", sum);
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
"""
BARE_ENVIRONMENT = """#!/bin/sh
exec env -i PATH="$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    {launcher} ./app
"""
PRELOADING = """#!/bin/sh
export LD_PRELOAD={library} STRETTO_CHOICE=allreduce=shm
exec {launcher} ./app
"""


def test_what_the_ranks_left_is_added_up(tmp_path: Path) -> None:
    for rank, calls in ((0, 10), (1, 12)):
        (tmp_path / f"rank{rank}.h.1{rank}").write_text(
            f"stretto-evidence 1 rank {rank} of 3 active\nallreduce {calls} 1\nbcast 0 3\nend\n"
        )
    (tmp_path / "rank2.h.7").write_text("stretto-evidence 1 rank 2 of 3 inactive\n")
    (tmp_path / "rank3.h.8").write_text("")  # killed before its first line
    found = read_evidence(tmp_path)
    assert (found.loaded, found.active, found.finished, found.calls) == (3, 2, 2, 22)
    assert found.ours["allreduce"] == 22 and found.native == {"allreduce": 2, "bcast": 6}
    assert read_evidence(tmp_path / "none") == Evidence()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Evidence(), "0 of 2 ranks loaded Stretto"),
        (Evidence(1, 1, 1, {"bcast": 3}), "1 of 2 ranks loaded Stretto"),
        (Evidence(2, 0, 2), "left everything to the MPI on 2 of 2 ranks.*table is damaged"),
        (Evidence(2, 2, 2, {}, {"bcast": 9}), "executed no call"),
    ],
)
def test_a_run_that_was_not_tuned_is_refused(found: Evidence, words: str) -> None:
    with pytest.raises(CommandFailedError, match=words) as caught:
        require_tuned(found, 2, "./app", "stretto: the table is damaged\n")
    assert caught.value.remedy
    require_tuned(Evidence(2, 2, 2, {"bcast": 1}), 2, "./app")
    require_tuned(Evidence(2, 2, 0), 2, "./app")  # never came to MPI_Finalize: not known
    require_native(Evidence(2, 0, 2), "./app")
    with pytest.raises(CommandFailedError, match="2 ranks loaded Stretto"):
        require_native(Evidence(2, 2, 2), "./app")


def verifying(tmp_path: Path, words: list[str], pairs: int = 1) -> tuple[Tuning, Table]:
    """Return the last stage of a tuning whose table says shm, in a directory of the case."""
    out = tmp_path / "out"
    out.mkdir()
    place = Place(Path.cwd(), out / COPIES)
    options = Options(words, out, Metric(), place, pairs=pairs, mpi="/usr")
    stage = Tuning(options, lambda text: None)
    mpi = stage.job.mpi
    table = Table(
        mpi.family, mpi.version, 1, 2, "2026-11-21T20:00:00Z", "0", "h", "c",
        [Row("allreduce", 1, 2, 0, None, "shm")],
    )  # fmt: skip
    write_table(table, stage.path("table"))
    stage.run_s = 1.0
    return stage, table


def profile(words: list[str]) -> Profile:
    return Profile(
        "0", "t", Host("h", "c", 2, "k", 1), MPIIdentity("openmpi", "openmpi", "4.1.4"), words, 2,
        [Node("a", [0, 1])], True, [], [1.0, 1.0], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0], [], [],
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mpi = MPIS["openmpi4"].require()
    case = tmp_path / "case"
    case.mkdir()
    (tmp_path / "app.c").write_text(PROGRAM)
    mpi.compile(tmp_path / "app.c", case / "app", "-O2")
    monkeypatch.chdir(case)
    return tmp_path


def launcher() -> str:
    return " ".join(MPIS["openmpi4"].launcher(2))


def script(folder: Path, text: str, **values: str) -> list[str]:
    executable(folder / "case" / "job.sh", text.format(launcher=launcher(), **values))
    return ["./job.sh"]


@pytest.mark.mpi
def test_tuned_runs_prove_themselves(folder: Path) -> None:
    words = [*MPIS["openmpi4"].launcher(2), "./app"]
    stage, table = verifying(folder, words, pairs=2)
    with beside_others():
        outcome = verify(stage, profile(words), table, None, [])
    assert "In 2 tuned runs, all 2 ranks loaded Stretto" in " ".join(outcome.conclusion)
    assert start_s(stage, stage.path("table")) > 0
    assert start_s(stage, folder / "none.table") == 0, "it fails, so it is not timed"
    verdict = json.loads(stage.path("verdict.json").read_text())
    assert {r["ranks"] for r in verdict["runs"] if r["kind"] == "tuned"} == {2}
    assert {r["ranks"] for r in verdict["runs"] if r["kind"] == "native"} == {0}
    assert all(r["calls"] > 900 for r in verdict["runs"] if r["kind"] == "tuned")
    assert verdict["outputs_equal"] is True
    assert "1 file that CMD wrote; 1 the same bit for bit" in verdict["outputs"]
    assert not list(folder.rglob("rank*")) and not (folder / "out" / COPIES).exists()


@pytest.mark.mpi
def test_a_script_that_drops_the_environment_gets_no_verdict(folder: Path) -> None:
    words = script(folder, BARE_ENVIRONMENT)
    stage, table = verifying(folder, words)
    with beside_others(), pytest.raises(StrettoError) as caught:
        verify(stage, profile(words), table, None, [])
    assert "0 of 2 ranks loaded Stretto in the tuned run" in str(caught.value)
    assert "env -i" in str(caught.value.remedy)
    path = stage.path("verdict.json")
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    assert all(r["kind"] == "native" for r in runs), "the run does not count"


@pytest.mark.mpi
def test_a_script_that_brings_stretto_itself_is_not_native(folder: Path) -> None:
    stage, _ = verifying(folder, [*MPIS["openmpi4"].launcher(2), "./app"])
    library = str(library_for("interposer", stage.job.mpi))
    words = script(folder, PRELOADING, library=library)
    stage.path("table").parent.rename(folder / "old")
    stage, table = verifying(folder, words)
    with beside_others(), pytest.raises(StrettoError, match="in the native run"):
        verify(stage, profile(words), table, None, [])
