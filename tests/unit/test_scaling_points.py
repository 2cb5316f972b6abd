"""``stretto scale``: that the figure of a point is that point's, and what ends a run."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import answering
from looks import until_seen
from stretto.cli import main
from stretto.files.scale import ScaleRun, read_scale
from stretto.launch.command import parse_command
from stretto.launch.naming import command_name
from stretto.launch.resize import RunPoint, has_placeholders, resize
from stretto.scaling import measure
from stretto.scaling.show import sentences
from stretto.tune import trials
from stretto.tune.trials import Trial
from test_scaling_compare import found_in

launcher = pytest.fixture(answering.launcher)


def sh(text: str) -> list[str]:
    return ["--", "sh", "-c", text]


def test_points_with_threads_and_without_are_in_one_file(
    launcher: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["scale", "--repeats", "1", "--ranks", "1,2", *launcher]
    job = sh("echo {n}")
    assert main([*one, *job]) == 0
    assert main([*one, "--threads", "1", *job]) == 0
    out = capsys.readouterr().out
    assert out.count("native") > 4
    assert sorted([RunPoint(1, 2, 1), RunPoint(1, 2), RunPoint(1, 1, 4)]) == [
        RunPoint(1, 1, 4), RunPoint(1, 2), RunPoint(1, 2, 1),
    ]  # fmt: skip


def runs(*of: tuple[RunPoint, float | None]) -> list[ScaleRun]:
    return [
        ScaleRun(p.nodes, p.ppn, p.threads, "native", 0, t, t or 1.0, 0 if t else 1, p.nranks)
        for p, t in of
    ]


def told(*of: tuple[RunPoint, float | None]) -> str:
    found = found_in(runs(*of))
    return "\n".join(sentences(found, None))


def test_points_that_failed_are_no_proof_that_it_scales() -> None:
    good = ((RunPoint(1, 1), 9.0), (RunPoint(1, 2), 5.0))
    assert "scaling has not stopped" in told(*good)
    text = told(*good, (RunPoint(1, 4), None))
    assert "has not stopped" not in text
    assert "the largest number of cores with a successful run (1 x 4 failed)" in text
    assert "stop" not in told((RunPoint(1, 2), 5.0)) and "fastest" not in told(
        (RunPoint(1, 2), 5.0)
    )
    assert "scaling has not stopped" in told(*good, (RunPoint(1, 1, 1), None)), "fewer cores failed"


def timed(monkeypatch: pytest.MonkeyPatch, first_s: float) -> list[float | None]:
    """Let the first run take so long by every clock, and no limit end it; return all limits."""
    limits: list[float | None] = []
    clock = [0.0]

    def once(*args: Any, **named: Any) -> Trial:
        limits.append(args[5])
        if len(limits) > 1:
            return trials.once(*args, **named)
        trial = trials.once(*args[:5], None, *args[6:], **named)
        clock[0] = first_s
        return replace(trial, result=replace(trial.result, wall_s=first_s))

    monkeypatch.setattr(measure, "once", once)
    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return limits


def test_a_run_that_hangs_is_ended_by_the_budget(
    launcher: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin = time.monotonic()
    words = ["scale", "--ranks", "1,2", "--repeats", "1", "--budget", "6s", *launcher]
    limits = timed(monkeypatch, 1.0)
    assert main([*words, *sh("[ {n} = 2 ] || sleep 1000")]) == 0
    assert time.monotonic() - begin < 500 and limits == [6, 5]
    said = capsys.readouterr()
    assert "took too long" in said.err and "--budget" in said.err
    assert "1 x 1, native: no run succeeded" in said.out
    (file,) = (tmp_path / "out").glob("*.jsonl")
    assert [r.status for r in read_scale(file).runs] == [0, 124]


def test_without_a_budget_a_run_has_the_time_of_ten(
    launcher: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = timed(monkeypatch, 2.0)
    assert main(["scale", "--ranks", "1,2", "--repeats", "1", *launcher, *sh("echo {n}")]) == 0
    assert limits == [None, 60 + 10 * 4.0], "half of the cores may take twice as long"


def test_the_shells_own_braces_are_left_alone(tmp_path: Path) -> None:
    text = "n=2; mpirun -n ${n} ./hello"
    assert not has_placeholders([text])
    words = ["bash", "-c", text + " > {n}.${nodes}"]
    assert resize(words, RunPoint(1, 4), os.environ, tmp_path) == [
        "bash",
        "-c",
        text + " > 4.${nodes}",
    ]


def test_points_whose_command_is_the_same_are_refused(
    launcher: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scale", "--ranks", "1,2", *launcher, *sh("echo {nodes}")]) == 2
    said = capsys.readouterr().err
    assert "the same command would run for 1 x 1 and 1 x 2" in said
    assert not (tmp_path / "out").exists()
    pairs = ["scale", "--ppn", "1", "--threads", "1,2", "--repeats", "1", *launcher]
    assert main([*pairs, *sh("echo {n}")]) == 0, "OMP_NUM_THREADS differs"


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--ranks", "1,2"], "the numbers of ranks of native runs (1 x 1, 1 x 2)"),
        (["--ppn", "1", "--threads", "1,2"],
         "the numbers of threads per rank (1 x 1 x 1 thread, "),
    ],
)  # fmt: skip
def test_what_no_rank_tells_is_not_verified(
    launcher: list[str], capsys: pytest.CaptureFixture[str], options: list[str], note: str
) -> None:
    assert main(["scale", *options, "--repeats", "1", *launcher, *sh("echo {n}")]) == 0
    assert f"not verified: {note}" in capsys.readouterr().out


#: what a rank looks like
RANK = "env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE={n}"


def test_threads_that_do_not_reach_the_ranks_are_found_out(
    launcher: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["scale", "--ppn", "1", "--threads", "1,2", "--repeats", "2", *launcher, "--json"]
    rank = until_seen(tmp_path, monkeypatch)
    assert main([*words, *sh(f"export OMP_NUM_THREADS=1; {RANK} {rank}")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["threads"] for p in found["points"]] == [1] and not found["unseen_threads"]
    (failed,) = found["failed"]
    assert "OMP_NUM_THREADS=2 did not reach the ranks: it is 1 there" in failed["why"]
    (file,) = (tmp_path / "out").glob("*.jsonl")
    seen = [r.threads_seen for r in read_scale(file).runs if r.threads == 1]
    assert seen == [True, False], "the first run of a point is looked at"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["bash", "-c", "export V=1.0; ./hello in.dat"], "bash"),
        (["bash", "-lc", "./a/b.sh"], "bash"),
        (["perl", "-e", "print 1.5"], "perl"),
        (["bash", "-e", "job.sh"], "job"),
        (["./a;b c"], "a_b_c"),
        (["./run-{n}.x"], "run-_n_.x"),
    ],
)
def test_texts_name_no_files(words: list[str], name: str, tmp_path: Path) -> None:
    assert command_name(parse_command(words, os.environ, tmp_path)) == name


def test_the_files_have_one_name_for_all_points(
    launcher: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'echo "run {n} 1.5; done"'
    options = [*launcher[:2], "-y", "--repeats", "1"]
    for ranks in ("1,2", "2,3"):
        assert main(["scale", "--ranks", ranks, *options, *sh(text)]) == 0
    assert [p.name for p in Path().iterdir()] == ["stretto-scale-sh"]
    found = read_scale(Path("stretto-scale-sh/sh.scale.jsonl"))
    assert sorted(r.ppn for r in found.runs) == [1, 2, 3]


def test_a_name_that_no_launcher_carries_is_refused_before_it_is_made(
    launcher: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*launcher[:2], "-y", "-o", "a;b"]
    assert main(["scale", "--ranks", "1", *options, *sh("echo {n}")]) == 2
    assert "semicolon" in capsys.readouterr().err and not Path("a;b").exists()


def test_pipes_are_made_anew_and_sockets_named(
    launcher: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("pipe", 0o600)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        Path("plain").write_text("x")
        job = sh("[ -p pipe ] && [ ! -e sock ] && [ -f plain ] && echo seen {n}")
        words = ["scale", "--ranks", "1,2", "--repeats", "1", "--metric", r"seen (\d)"]
        assert main([*words, *launcher, *job]) == 0
    assert "not copied (sockets, devices): sock" in capsys.readouterr().err
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_what_cannot_be_copied_is_told_in_words(
    launcher: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise shutil.Error([("/a/secret", "/b/secret", "Permission denied"), ("/a/x", "/b/x", "y")])

    monkeypatch.setattr(shutil, "copytree", fail)
    assert main(["scale", "--ranks", "1", *launcher, *sh("echo {n}")]) == 1
    said = capsys.readouterr().err
    assert "/a/secret: Permission denied (and 1 more)" in said and "[(" not in said


@pytest.mark.parametrize("option", [("--metric-better", "higher"), ("--metric-unit", "it/s")])
@pytest.mark.parametrize("verb", [["scale", "--ranks", "1"], ["tune"], ["settings"]])
def test_options_of_a_metric_that_is_not_given_are_refused(
    launcher: list[str],
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
    option: tuple[str, str],
) -> None:
    assert main([*verb, *option, *launcher, *sh("echo {n}")]) == 2
    assert f"{option[0]} needs --metric" in capsys.readouterr().err


def test_a_run_that_fails_in_silence_has_no_last_words(
    launcher: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scale", "--ranks", "1", *launcher, *sh("exit 3; {n}")]) == 3
    said = capsys.readouterr().err
    assert "it ended with 3; no error message was printed" in said
    assert "last output: \n" not in said


def test_a_program_that_is_not_there_is_told_before_any_run(
    launcher: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = launcher[2:]
    line = ["--", launcher[1], "-n", "4", "./nope"]
    assert main(["scale", "--ranks", "1,2", *out, "--dry-run", *line]) == 1
    said = capsys.readouterr().err
    assert "there is no such program from" in said and "at: ./nope" in said

    assert main(["scale", "--ranks", "1", *out, "--dry-run", "--reset-command", "make", *line]) == 0
    assert "warning: there is no such program" in capsys.readouterr().err, "make may make it"
    line[2:2] = ["-wdir", "/elsewhere"]
    assert main(["scale", "--ranks", "1", *out, "--dry-run", *line]) == 0
    assert "no such program" not in capsys.readouterr().err
    (Path.cwd() / "here").write_text("")
    (Path.cwd() / "here").chmod(0o755)  # Open MPI's mpirun takes it without a slash
    assert main(["scale", "--ranks", "1", *out, "--dry-run", "--", launcher[1], "here"]) == 0
    assert "no such program" not in capsys.readouterr().err


def test_the_shells_braces_in_the_place_of_ours_are_told_apart(
    launcher: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scale", "--ranks", "1,2", *launcher, "--", "sh", "job.sh", "${n}"]) == 2
    said = capsys.readouterr().err
    assert "${n} is a shell variable" in said
    assert "write {n} for a number that Stretto fills in" in said
    under = ["--", launcher[1], "-n", "1", "sh", "-c", "echo ${n}"]
    assert main(["scale", "--ranks", "1,2", *launcher[2:], "--dry-run", *under]) == 0


def test_points_with_more_ranks_than_cores_are_named_before_any_run(
    launcher: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.cli.scale.cores", lambda: 2, raising=False)
    allows = "OMPI_MCA_rmaps_base_oversubscribe"
    monkeypatch.delenv(allows, raising=False)
    options = ["scale", "--dry-run", *launcher[2:]]
    line = ["--", launcher[1], "-n", "2", "true"]
    assert main([*options, "--ranks", "1,2,64", *line]) == 0
    said = capsys.readouterr().err
    assert "warning: 1 x 64 needs more than the 2 cores of this machine" in said
    assert "may refuse them without --oversubscribe" in said
    monkeypatch.setenv(allows, "1")
    assert main([*options, "--ranks", "1,2,64", *line]) == 0
    said = capsys.readouterr().err
    assert "needs more than the 2 cores" in said and "oversubscribe" not in said
    for name, value in (
        (allows, "0"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":nooversubscribe"),
    ):
        monkeypatch.setenv(name, value)
        assert main([*options, "--ranks", "1,2,64", *line]) == 0
        assert "may refuse them without --oversubscribe" in capsys.readouterr().err
        monkeypatch.delenv(name)
    assert main([*options, "--ppn", "1,2", "--threads", "2,3", *line]) == 0
    said = capsys.readouterr().err
    assert "warning: 1 x 2 x 3 threads needs more than" in said and "oversubscribe" not in said
    for few in (["--ranks", "1,2", *line], ["--ranks", "64", *line[:2], "-H", "a:64", *line[2:]]):
        assert main([*options, *few]) == 0
        assert "more than the" not in capsys.readouterr().err
