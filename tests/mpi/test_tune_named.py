"""Settings that cannot reach the ranks are no settings that do not help."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answering import answer
from looks import until_seen
from mpis import MPIS, beside_others
from processes import executable
from stretto.cli import main
from stretto.errors import UsageError
from stretto.launch.command import Command, parse_command
from stretto.mpi.settings import Setting
from stretto.tune import seen as tune_seen
from stretto.tune.named import decided, environment_of, left, named, option_names
from stretto.tune.seen import RanksSeen, watching

EAGER = "btl_vader_eager_limit"
VARIABLE = f"OMPI_MCA_{EAGER}"


def command(tmp_path: Path, kind: str, line: str) -> Command:
    name = {"openmpi4": "mpirun", "mpich": "mpiexec.hydra", "slurm": "srun"}[kind]
    answer(tmp_path / name, kind)
    return parse_command(line.split(), {"PATH": f"{tmp_path}:/usr/bin:/bin"}, tmp_path)


@pytest.mark.parametrize(
    ("kind", "line", "word"),
    [
        ("openmpi4", "env {v}=2048 mpirun -n 2 sleep 1", "env"),
        ("openmpi4", "{v}=2048 mpirun -n 2 sleep 1", "env"),
        ("openmpi4", "mpirun -n 2 env {v}=2048 sleep 1", "env"),
        ("openmpi4", "mpirun -x {v}=2048 -n 2 sleep 1", "-x"),
        ("openmpi4", "mpirun --mca btl_vader_eager_limit 2048 -n 2 sleep 1", "--mca"),
        ("mpich", "mpiexec.hydra -genv {v} 2048 -n 2 sleep 1", "-genv"),
        ("mpich", "mpiexec.hydra -env {v}=2048 -n 2 sleep 1", "-env"),
        ("slurm", "srun --export=ALL,{v}=2048 -n 2 sleep 1", "--export"),
        ("openmpi4", "mpirun -x {v} -n 2 sleep 1", None),
        ("mpich", "mpiexec.hydra -genv OTHER 2048 -n 2 sleep 1", None),
    ],
)
def test_what_the_command_sets_itself_wins(
    tmp_path: Path, kind: str, line: str, word: str | None
) -> None:
    found = command(tmp_path, kind, line.format(v=VARIABLE))
    assert decided(found).get(VARIABLE) == word
    mine = Setting(f"{EAGER}=16384", "", ((VARIABLE, "16384"),))
    kept, notes = left([mine], found, {})
    if word is None:
        assert kept == [mine] and not notes
        assert EAGER not in option_names(found)
        assert named([mine.name], "openmpi", found, {}) == [
            Setting(mine.name, "named by the user", mine.environment)
        ]
        return
    assert not kept and f"{word} sets {VARIABLE}" in notes[0]
    with pytest.raises(UsageError, match=f"{word} in the command overrides {mine.name}"):
        named([mine.name], "openmpi", found, {})


def test_what_the_environment_has_is_what_native_runs_have(tmp_path: Path) -> None:
    found = command(tmp_path, "openmpi4", "mpirun --bind-to none -n 2 sleep 1")
    both = [Setting(f"{EAGER}={v}", "", ((VARIABLE, v),)) for v in ("1024", "16384")]
    kept, notes = left(both, found, {VARIABLE: "16384"})
    assert kept == both[:1] and "the environment already sets" in notes[0]
    with pytest.raises(UsageError, match="so native runs have it too"):
        named([both[1].name], "openmpi", found, {VARIABLE: "16384"})
    with pytest.raises(UsageError, match="--bind-to in the command overrides"):
        named(["hwloc_base_binding_policy=core"], "openmpi", found, {})


def test_names_and_values() -> None:
    assert environment_of("openmpi", "btl_tcp_if_include=eth0,eth1") == {
        "OMPI_MCA_btl_tcp_if_include": "eth0,eth1"
    }
    assert environment_of("openmpi", "smsc=^cma,xpmem,knem,btl_x=1") == {
        "OMPI_MCA_smsc": "^cma,xpmem,knem", "OMPI_MCA_btl_x": "1",
    }  # fmt: skip
    assert environment_of("mpich", "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,A=") == {
        "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1", "A": "",
    }  # fmt: skip
    for text, message in (("eth0,A=1", "is not NAME=VALUE"), ("A=2,A=4", "two values"),
                          ("a=1,OMPI_MCA_a=2", "two values")):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            environment_of("openmpi", text)


def test_what_ranks_have_tells_what_came_through() -> None:
    seen = RanksSeen({2}, ({"A": "1", "B": "2"}, {"A": "3"}))
    assert seen.missed({"A": "1", "B": "2"}) is None, "some ranks have it"
    assert seen.missed({"A": "4"}) == "A=4 did not reach the ranks: it is 1 there"
    assert "is not set there" in str(seen.missed({"C": "4"}))
    assert seen.missed({"HYDRA_BINDING": "core", "PRTE_MCA_rmaps_x": "1"}) is None, "not for ranks"
    assert RanksSeen(set(), ()).missed({"A": "4"}) is None, "none was seen: nothing is known"


def test_of_a_ranks_processes_the_last_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that every rank runs may set what its program gets."""
    environ = {**os.environ, "MARK": str(tmp_path), "PMI_RANK": "0", "PMI_SIZE": "3", "A": "1"}
    looks: list[list[str]] = []
    look = tune_seen._look

    def looking(*words: Any) -> list[dict[str, str]]:
        found = look(*words)
        looks.append([rank["A"] for rank in found])
        return found

    def wait_for(what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300
        while not what():
            assert time.monotonic() < deadline, looks[-5:]
            time.sleep(0.01)

    monkeypatch.setattr(tune_seen, "_look", looking)
    for name in ("inner", "script", "last"):
        os.mkfifo(tmp_path / name)
    # all that waits does so in the shell itself
    script = (
        "A=2 sh -c 'read x <inner'; : >ended; read x <script; exec env A=3 sh -c 'read x <last'"
    )
    with watching("MARK", str(tmp_path)) as seen:
        process = subprocess.Popen(["sh", "-c", script], env=environ, cwd=tmp_path)
        try:
            wait_for(lambda: looks[-1:] == [["2"]])
            (tmp_path / "inner").write_text("\n")
            wait_for((tmp_path / "ended").exists)
            after = len(looks)
            wait_for(lambda: len(looks) >= after + 3)
            assert [r["A"] for r in seen.ranks] == ["2"], "the script has not ended yet"
            (tmp_path / "script").write_text("\n")
            wait_for(lambda: looks[-1] == ["3"])  # what takes its place is a rank again
            (tmp_path / "last").write_text("\n")
            assert process.wait(300) == 0
        finally:
            process.kill()
            process.wait()
    assert seen.sizes == {3} and [r["A"] for r in seen.ranks] == ["3"]


@pytest.mark.mpi
def test_a_script_that_sets_it_is_found_out_by_its_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The setting was told as "not faster in 3 rounds"."""
    mpirun = str(MPIS["openmpi4"].require().prefix / "bin" / "mpirun.openmpi")
    where = tmp_path / "case"
    where.mkdir()
    monkeypatch.chdir(where)
    script = where / "job.sh"
    launcher = f"{mpirun} --oversubscribe --bind-to none -n 2"
    rank = until_seen(tmp_path, monkeypatch)
    executable(script, f"#!/bin/sh\nexport {VARIABLE}=2048\n{launcher} {rank}\n")
    words = ["settings", "--candidates", f"{EAGER}=16384", "--json"]
    with beside_others():
        assert main([*words, "--mpi", mpirun, "-y", "--", "./job.sh"]) == 0
    found = json.loads(capsys.readouterr().out)
    (tried,) = found["tried"]
    assert tried["outcome"] == "failed"
    assert f"{VARIABLE}=16384 did not reach the ranks: it is 2048 there" in tried["why"]
    assert [r["setting"] for r in found["runs"]].count(f"{EAGER}=16384") == 1, "no more runs of it"
    monkeypatch.setenv(VARIABLE, "1")  # of the shell: what is tried takes its place
    script.write_text(script.read_text().replace("export", ": "))
    with beside_others():
        words += ["--pairs", "1", "--restart"]
        assert main([*words, "--mpi", mpirun, "-y", "--", "./job.sh"]) == 0
    assert json.loads(capsys.readouterr().out)["tried"][0]["outcome"] != "failed"
