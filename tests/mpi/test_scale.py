"""stretto scale: real jobs of a program that computes its time from the number of its ranks."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mpis import MPIS, REPOSITORY, beside_others
from processes import executable
from stretto.cli import main
from stretto.files.scale import read_scale
from stretto.launch.evidence import Evidence
from stretto.launch.execute import Result
from stretto.scaling import measure
from stretto.tune.trials import Trial

SOURCE = REPOSITORY / "tests" / "programs" / "scaling.c"


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the program, built for Open MPI 4."""
    where = tmp_path / "case"
    where.mkdir()
    MPIS["openmpi4"].require().compile(SOURCE, where / "scaling")
    monkeypatch.chdir(where)
    return where


def scale(*words: str) -> int:
    with beside_others():
        return main(["scale", *words])


MPIRUN = ["/usr/bin/mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"]
#: not a time that this machine's load decides, but what the program computes from its ranks
MODELLED = ["--metric", r"modelled: ([\d.]+)", "--metric-unit", "us"]


@pytest.mark.mpi
def test_scaling_of_a_program_is_measured_and_gone_on_with(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ["--", *MPIRUN, "./scaling", "2", "8000", "500"]
    options = ["--ranks", "1,2,4", *MODELLED, "--price", "3.6", "--json", "--svg", "figures"]
    assert scale(*options, "--repeats", "1", *job) == 0
    first = json.loads(capsys.readouterr().out)
    assert [(p["nranks"], p["median"]) for p in first["points"]] == [
        (1, 17000.0), (2, 10000.0), (4, 8000.0),
    ]  # fmt: skip
    assert first["points"][2]["efficiency"] == pytest.approx(17 / 8 / 4)
    file = Path(first["file"])
    assert file == case / "stretto-scale-scaling" / "scaling.scale.jsonl"
    assert not (case / "starts").exists(), "each run has a copy of the directory"
    assert {p.name for p in file.parent.iterdir()} == {
        "scaling.scale.jsonl", "scaling.scale.html", ".made-by-stretto-tune", ".stretto-lock"
    }  # fmt: skip
    page = (file.parent / "scaling.scale.html").read_text("utf-8")
    assert page.count("<svg") == 3 and "https://" not in page
    assert len(list((case / "figures").glob("*.svg"))) == 3
    kept = read_scale(file).runs

    assert scale(*options, "--repeats", "2", *job) == 0
    second = json.loads(capsys.readouterr().out)
    assert read_scale(file).runs[:3] == kept and len(read_scale(file).runs) == 6
    assert [p["runs"] for p in second["points"]] == [2, 2, 2]
    assert scale(*options, "--repeats", "2", *job) == 0
    assert "all runs are in" in capsys.readouterr().err and len(read_scale(file).runs) == 6
    assert scale(*options, "--repeats", "1", "--", *MPIRUN, "./scaling", "3") == 1
    assert "another command" in capsys.readouterr().err


@pytest.mark.mpi
def test_tuned_runs_prove_that_they_were(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from stretto.mpi.detect import find_installation

    version = find_installation(MPIRUN[0]).version
    table = case.parent / "two.table"
    table.write_text(
        f"stretto-table 1\nmpi openmpi {version}\nlayout nodes=1 ppn=2\n"
        'created 2026-11-21T20:00:00Z stretto 0.1.0 host h cpu "c"\n'
        "row allreduce 1 2 0-inf recursive_doubling -\nend 1\n"
    )
    words = ["--ranks", "1,2,4", "--repeats", "1", "--table", str(table), *MODELLED, "--json"]
    assert scale(*words, "--", *MPIRUN, "./scaling", "5") == 1
    assert "which is not a time" in capsys.readouterr().err
    assert scale(*words, "--restart", "--", *MPIRUN, "./scaling", "5", "800") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["nranks"], p["kind"]) for p in found["points"]] == [
        (1, "native"), (2, "native"), (2, "tuned"), (4, "native"),
    ]  # fmt: skip
    (tuned,) = [r for r in read_scale(Path(found["file"])).runs if r.kind == "tuned"]
    assert tuned.ranks == 2 and tuned.detail.startswith(f"{table} (")
    assert tuned.calls is not None and 0 < tuned.calls <= 2 * 5
    assert found["gains"][0]["outcome"] == "inconclusive"


@pytest.mark.mpi
def test_a_script_takes_the_numbers_and_threads_reach_the_ranks(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    executable(
        case / "job.sh",
        f'#!/bin/sh\n{shlex.join(MPIRUN[:-2])} -n "$1" ./scaling 1 100 > log\n'
        "cat log\nsed -n 's/threads /figure: /p' log\n",
    )
    words = ["--ppn", "1,2", "--threads", "2,1", "--repeats", "1", "--metric", r"figure: (\d+)"]
    words += ["--mpi", MPIRUN[0], "--json", "--", "./job.sh", "{n}"]
    assert scale(*words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["ppn"], p["threads"], p["median"]) for p in found["points"]] == [
        (1, 2, 2.0), (2, 1, 1.0),
    ]  # fmt: skip


@pytest.mark.mpi
def test_points_that_fail_are_told_and_the_others_go_on(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    executable(
        case / "job.sh",
        "#!/bin/sh\n[ $1 = 2 ] && echo no licence >&2 && exit 7\necho done in 4 s\n",
    )
    words = ["--ranks", "1,2", "--repeats", "3", "--metric", r"in (\d+) s", "--mpi", MPIRUN[0]]
    assert scale(*words, "--json", "--", "./job.sh", "{n}") == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["nranks"] for p in found["points"]] == [1]
    assert "no licence" in found["failed"][0]["why"] and found["failed"][0]["ppn"] == 2
    tried = [r for r in read_scale(Path(found["file"])).runs if r.status == 7]
    assert len(tried) == 2, "twice, then no more"
    assert scale("--ranks", "2", *words[2:], "-o", "other", "--", "./job.sh", "{n}") == 3
    assert "no run succeeded" in capsys.readouterr().err


def test_a_dry_run_and_a_spent_budget(
    case: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ["--", *MPIRUN, "./scaling", "1", "100"]
    assert main(["scale", "--ranks", "1,2", "--dry-run", *job]) == 0
    said = capsys.readouterr().err
    assert re.search(r"1 x 1: \S+ .*-n 1 ./scaling", said) and "dry run" in said
    assert not list(case.glob("stretto-*"))
    clock = [0.0]

    def once(*args: Any, **named: Any) -> Trial:
        del args, named
        clock[0] += 4.0
        return Trial(Result(0, 4.0), Evidence())

    monkeypatch.setattr(measure, "once", once)
    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    script = ["--mpi", MPIRUN[0], "-o", "slow", "--", "sh", "-c", "echo {n}"]
    assert scale("--ranks", "1,2", "--budget", "7s", *script) == 0
    out = capsys.readouterr()
    assert "the budget is spent, 5 runs were not made" in out.err and "1 x 2" in out.out
    assert main(["scale", "--", sys.executable, "-c", "pass"]) != 0
