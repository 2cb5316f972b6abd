"""``stretto plan`` on the command line: what it prints, draws, and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

import pytest

import inprocess
from processes import run_program
from stretto import plan
from stretto.cli import main
from stretto.model import plan_sweep
from stretto.model.plan_picture import picture
from stretto.model.plan_timeline import timeline


def stretto(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return inprocess.stretto("plan", *words, cwd=cwd)


def as_a_process(
    *words: str | bytes, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return run_program(
        [sys.executable, "-m", "stretto", "plan", *words],
        env={**os.environ, **(env or {})},
        timeout=120,
    )


def test_list_names_every_algorithm() -> None:
    done = stretto("list")
    assert done.returncode == 0
    for algorithm in plan.algorithms():
        assert algorithm.name in done.stdout
    rows = json.loads(stretto("list", "bcast", "--json").stdout)
    assert [r["name"] for r in rows] == [
        a.name for a in plan.algorithms() if a.collective == "bcast"
    ]


def test_show_prints_one_rank_or_all() -> None:
    one = stretto("show", "bcast", "pipeline(64K)", "-n", "4", "--bytes", "256K", "--rank", "1")
    assert one.returncode == 0
    assert one.stdout.startswith("rank 1 of 4, bcast, root 0: IN 0, OUT 4")
    assert one.stdout.count("recv") == one.stdout.count("send") == 4
    everything = stretto("show", "bcast", "pipeline(64K)", "-n", "4")
    assert everything.stdout.count("rank 0 of 4") == everything.stdout.count("rank 3 of 4") == 1
    parsed = json.loads(stretto("show", "barrier", "dissemination", "-n", "3", "--json").stdout)
    assert len(parsed["ranks"]) == 3


def test_verify_proves_and_counts() -> None:
    done = stretto("verify", "-n", "5")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(plan.algorithms())
    assert "all proven" in done.stdout
    report = json.loads(stretto("verify", "reduce", "-n", "4", "--json").stdout)
    assert report["faults"] == []
    # 10 pairs of rank count and root, 15 radices, in place or not, ordered or not
    assert report["algorithms"][0]["proven"] == 10 * 15 * 4


def test_a_fault_is_named_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong_for_three(case: plan_sweep.ProofCase) -> plan_sweep.Unproven | None:
        bad = case.nranks == 3 and case.choice == "dissemination(2)"
        return plan_sweep.Unproven(case, False, "rank 1: because") if bad else None

    monkeypatch.setattr("stretto.cli.plan.prove", wrong_for_three)
    assert main(["plan", "verify", "barrier", "-n", "4"]) == 1
    out, err = capsys.readouterr()
    assert "1 WRONG" in out
    assert "barrier dissemination(2), 3 ranks, root 0: rank 1: because" in err
    assert "1 call has plans that are wrong" in err


def test_verify_composed_with_node_phases() -> None:
    done = stretto("verify", "allgather", "shm+ring", "--layout", "3,1,2", "--round-robin")
    assert done.returncode == 0
    assert "shm+ring" in done.stdout


@pytest.mark.parametrize(
    ("collective", "choice", "hosts"),
    [
        ("allreduce", "ring", None),
        ("allreduce", "bruck_k(3)", None),
        ("reduce", "knomial(4)", None),
        ("barrier", "shm+dissemination", [0, 1, 0, 1, 2, 2]),
        ("allgather", "shm+bruck_k(2)", [0, 1, 0, 1, 2, 2]),
        ("bcast", "shm", [0, 0, 0, 0, 0, 0]),
        ("alltoallv", "linear(2)", None),
    ],
)
def test_the_picture_shows_every_message_and_phase(
    collective: str, choice: str, hosts: list[int] | None
) -> None:
    with plan.CallPlans(collective, choice, 6, hosts) as call:
        actions = call.actions()
    tree = ElementTree.fromstring(picture(actions))
    titles = [t.text or "" for t in tree.iter("{http://www.w3.org/2000/svg}title")]
    times = timeline(actions)
    sends = sum(a["kind"] == "send" for r in actions["ranks"] for a in r["actions"])
    assert sum(t.startswith("step ") for t in titles) == len(times.messages) == sends
    assert sum(t.startswith("node ") for t in titles) == len(times.phases)
    labels = {t.text for t in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert {f"rank {r}" for r in range(6)} <= labels


def test_draw_writes_a_file(tmp_path: Path) -> None:
    done = stretto("draw", "allreduce", "shm+ring", "--layout", "3x2", "-o", "x.svg", cwd=tmp_path)
    assert done.returncode == 0
    assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")
    assert stretto("draw", "barrier", "dissemination", "-o", "-").stdout.startswith("<svg")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["show", "allreduce", "rign"], 1, "no algorithm 'rign'"),
        (["show", "allredue", "ring"], 1, "no collective 'allredue'"),
        (["show", "allreduce", "bruck_k(1)"], 1, "must be 2 to 64"),
        (["show", "allreduce", "native"], 1, "native is the MPI's own"),
        (["show", "allreduce", "ring", "--ordered"], 1, "not commutative"),
        (["show", "allreduce", "ring", "-n", "4", "--rank", "4"], 1, "ranks are 0 to 3"),
        (["show", "bcast", "knomial", "-n", "4", "--root", "4"], 2, "--root 4"),
        (["show", "bcast", "knomial", "--bytes", "lots"], 2, "not a size"),
        (["show", "bcast", "shm+knomial"], 2, "--layout 4x2"),
        (["show", "bcast", "shm", "--layout", "2x2"], 1, "on several"),
        (["show", "bcast", "knomial", "--layout", "2y2"], 2, "not a layout"),
        (["show", "bcast", "knomial", "--layout", "2x2", "-n", "5"], 2, "4 ranks, not 5"),
        (["draw", "bcast", "knomial", "-n", "65"], 2, "65 ranks do not fit"),
        (["draw", "bcast", "knomial", "-o", "/dev/null/x.svg"], 1, "use another name"),
        (["show", "bcast", "chain", "-n", "4294967298"], 2, "4294967298 ranks are too many"),
        (["show", "bcast", "chain", "--layout", "99999999x99999999"], 2, "--layout"),
        (["show", "bcast", "chain", "--bytes", "99999999999999999999G"], 2, "is too large"),
        (["verify", "bcast", "chain", "-n", "4294967298"], 2, "ranks are too many"),
        (["formula", "ring", "-n", "4294967304"], 2, "ranks are too many"),
        (["formula", "ring", "-n", "99999999999999999999"], 2, "ranks are too many"),
        (["price", "ring", "-p", "ib-hdr", "--nodes", "99999999", "--ppn", "999"], 2, "too many"),
        (["verify", "bcast", "nothing"], 2, "no algorithm 'nothing'"),
        (["verify", "nothing"], 1, "no collective"),
        (["list", "nothing"], 2, "no collective"),
    ],
)
def test_bad_input_is_explained(words: list[str], code: int, reason: str) -> None:
    done = stretto(*words)
    assert done.returncode == code, done.stderr
    assert reason in done.stderr
    assert done.stderr.startswith("stretto: error:")
    assert "Traceback" not in done.stderr


def test_words_that_are_no_text_are_explained() -> None:
    done = as_a_process("price", b"r\xe9", "-p", "ib-hdr")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("stretto: error:") and "no algorithm 'r?'" in done.stderr


def test_a_missing_library_is_explained(tmp_path: Path) -> None:
    done = as_a_process("list", env={"STRETTO_LIB_DIR": str(tmp_path)})
    assert done.returncode == 1
    assert "libstretto-plan.so is not built" in done.stderr
    (tmp_path / "libstretto-plan.so").write_text("no library")
    done = as_a_process("list", env={"STRETTO_LIB_DIR": str(tmp_path)})
    assert done.returncode == 1
    assert "cannot be loaded" in done.stderr
