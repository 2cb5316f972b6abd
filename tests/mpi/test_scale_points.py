"""``stretto scale`` of real ranks: their number and their settings are those of the point."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

import answering
from looks import until_seen
from mpis import MPIS, beside_others
from processes import executable
from stretto.cli import main
from stretto.errors import UsageError
from stretto.files.identity import Host
from stretto.files.scale import read_scale
from stretto.files.settings import SettingsFile, Tried, write_settings
from stretto.files.verdict import Metric
from stretto.launch.resize import RunPoint
from stretto.mpi.detect import find_installation
from stretto.scaling.points import lines_of

MPIRUN = ["/usr/bin/mpirun.openmpi", "--oversubscribe", "--bind-to", "none"]


launcher = pytest.fixture(answering.launcher)


def test_several_programs_count_with_all_their_ranks(
    launcher: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    plain = [*MPIRUN, "-n", "2", "sleep", "0", ":", "-n", "1", "sleep", "0"]
    assert main(["scale", "--ranks", "1,2", "--dry-run", "--", *plain]) == 2
    advised = [w.replace("2", "{n}") if w == "2" else w for w in plain]
    assert main(["scale", "--ranks", "1,2", "--dry-run", "--json", "--", *advised]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["nodes"], p["ppn"]) for p in found["points"]] == [(1, 2), (1, 3)]
    assert "-n 1 sleep 0 : -n 1" in shlex.join(found["points"][0]["command"])
    hosts = [MPIRUN[0], "-H", "a:2,b:2", *advised[1:]]
    with pytest.raises(UsageError, match="several programs are started"):
        lines_of(hosts, [RunPoint(2, 1)], os.environ, None, None)


@pytest.mark.mpi
def test_a_script_that_ignores_the_number_is_found_out(
    launcher: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    MPIS["openmpi4"].require()
    rank = until_seen(tmp_path, monkeypatch)
    executable(Path("fixed.sh"), f"#!/bin/sh\n{shlex.join(MPIRUN)} -n 2 {rank}\n")
    with beside_others():
        words = ["scale", "--ranks", "1,2", "--repeats", "1", *launcher, "--json"]
        assert main([*words, "--", "./fixed.sh", "{n}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["nranks"] for p in found["points"]] == [2] and not found["unverified"]
    assert "it ran on 2 ranks, not on 1" in found["failed"][0]["why"]


def chosen(words: list[str], environment: dict[str, str]) -> None:
    """Leave what `stretto settings` would have chosen for a script."""
    mpi = find_installation(MPIRUN[0]).identity
    name = ",".join(f"{n}={v}" for n, v in environment.items())
    tried = Tried(name, "w", environment, "faster")
    file = SettingsFile("0", "t", Host("h", "c", 2, "k", 1), mpi, words, Metric(), None, None,
                        [tried], [], environment, name)  # fmt: skip
    write_settings(file, Path("stretto-job.sh/job.sh.settings.json"))


@pytest.mark.mpi
def test_tuned_runs_have_the_settings_that_run_would_set(
    launcher: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What `settings` had chosen never came into them: 0 points were tuned."""
    MPIS["openmpi4"].require()
    rank = until_seen(tmp_path, monkeypatch)
    executable(
        Path("job.sh"),
        '#!/bin/sh\n[ "$1" = 3 ] && export I_MPI_WAIT_MODE=4\necho "in ${I_MPI_WAIT_MODE:-10} s"\n'
        f"export I_MPI_WAIT_MODE\n{shlex.join(MPIRUN)} -n $1 {rank}\n",
    )
    chosen(["./job.sh", "2"], {"I_MPI_WAIT_MODE": "5"})
    words = ["scale", "--ranks", "2,3", "--repeats", "2", "--metric", r"in (\d+) s", "--json"]
    with beside_others():
        options = ["--mpi", MPIRUN[0], *launcher[2:]]
        assert main([*words, *options, "--", "./job.sh", "{n}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(p["nranks"], p["kind"]): p["median"] for p in found["points"]} == {
        (2, "native"): 10, (2, "tuned"): 5, (3, "native"): 4,
    }  # fmt: skip
    (failed,) = found["failed"]
    assert failed["kind"] == "tuned"
    assert "I_MPI_WAIT_MODE=5 did not reach the ranks" in failed["why"]
    (file,) = (tmp_path / "out").glob("*.jsonl")
    assert {r.detail for r in read_scale(file).runs if r.kind == "tuned" and r.status == 0} == {
        "I_MPI_WAIT_MODE=5"
    }
    chosen(["./job.sh", "2"], {"I_MPI_WAIT_MODE": "6"})
    with beside_others():
        assert main([*words, *options, "--ranks", "2", "--", "./job.sh", "{n}"]) == 0
    out = capsys.readouterr()
    assert "tuned runs left out: made with another table or other settings" in out.err
    assert [p["median"] for p in json.loads(out.out)["points"] if p["kind"] == "tuned"] == [6]
