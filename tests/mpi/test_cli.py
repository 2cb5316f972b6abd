"""The command line: lazy commands, help with examples, errors in words."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, missing
from processes import executable, run_program
from stretto import cli
from stretto.cli import app
from stretto.errors import EXIT_AGAIN, CommandFailedError, Interrupted, StrettoError, keeping
from stretto.files.append import LineFile
from stretto.files.io import dump_json, parse_json, write_atomic
from stretto.measure import settings
from stretto.version import __version__

COMMANDS = [name for name, _ in app.COMMANDS]


def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return run_program(
        [sys.executable, "-m", "stretto", *words], env={**os.environ, **(env or {})}, timeout=600
    )


def test_help_lists_the_commands_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"stretto {__version__}\n"
    assert cli.main(["--help"]) == 0
    listed = re.findall(r"^  ([a-z]+)  ", capsys.readouterr().out, re.MULTILINE)
    assert listed == COMMANDS and {"tune", "bench", "run", "report"} <= set(COMMANDS)


def test_every_help_has_an_example_that_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """Words in brackets behind a command were a syntax error of the shell."""
    examples = []
    for name in COMMANDS:
        assert cli.main([name, "--help"]) == 0
        text, _, example = capsys.readouterr().out.partition("Example:")
        assert f"stretto {name}" in example and "Parameters" not in text
        examples.append(f"bash -n <<'END'\n{example}\nEND\n")
    done = shell("set -e\n" + "".join(examples))
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_only_the_command_that_runs_is_imported() -> None:
    code = (
        "import sys; from stretto.cli import main; main(['run', '--help']);"
        "print(sorted(m for m in sys.modules if m.startswith('stretto.cli.')"
        " or m in ('numpy', 'scipy', 'altair', 'rich')), file=sys.stderr)"
    )
    done = run_program([sys.executable, "-c", code], check=True)
    own = ", ".join(f"'stretto.cli.{x}'" for x in ("app", "complete", "lazy", "options", "run"))
    assert done.stderr.strip() == f"[{own}]"


@pytest.mark.parametrize("words", [["nosuch"], ["run", "--nosuch"], [], ["env"]])
def test_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    found = capsys.readouterr()
    assert "Usage:" in found.err + found.out or "stretto: error:" in found.err


def test_unexpected_exception(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(name: str | None) -> None:
        raise ZeroDivisionError("an unlucky day")

    monkeypatch.setattr(app, "build_app", broken)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cli.main(["run"]) == 1
    error = capsys.readouterr().err
    assert "a defect of Stretto: ZeroDivisionError: an unlucky day" in error
    (written,) = (tmp_path / "stretto").iterdir()
    assert str(written) in error
    assert "Traceback" in written.read_text() and "Traceback" not in error
    written.unlink()
    monkeypatch.setattr("sys.argv", ["stretto", "run", "a\udce9b"])  # a word that is no UTF-8
    assert cli.main(["run"]) == 1
    (written,) = (tmp_path / "stretto").iterdir()
    assert r"stretto run a\udce9b" in written.read_text()
    monkeypatch.setenv("STRETTO_DEBUG", "1")
    assert cli.main(["run"]) == 1
    assert "Traceback" in capsys.readouterr().err


AWAY = "the file system or its server did not respond"


@pytest.mark.parametrize(
    ("number", "code", "remedy"),
    [
        (errno.ENOSPC, 1, "free some space"),
        *((n, EXIT_AGAIN, AWAY) for n in (errno.EIO, errno.ESTALE, errno.ENOTCONN)),
        *((n, EXIT_AGAIN, AWAY) for n in (errno.ESHUTDOWN, errno.ETIMEDOUT)),
    ],
)
def test_what_the_system_refuses_is_no_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    number: int, code: int, remedy: str,
) -> None:  # fmt: skip
    def refused(name: str | None) -> None:
        raise OSError(number, os.strerror(number), "x/claims")

    monkeypatch.setattr(app, "build_app", refused)
    assert cli.main(["tune"]) == code
    error = capsys.readouterr().err
    assert os.strerror(number) in error and "\n  at: x/claims" in error
    assert f"\n  try: {remedy}" in error and "defect" not in error


@pytest.mark.parametrize("call", ["close", "fstat"])
def test_a_file_that_cannot_be_saved_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = LineFile(tmp_path / "x.jsonl", "another", "a result")
    real = getattr(os, call)

    def away(handle: int) -> None:
        if call == "close":
            real(handle)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, away)
        with pytest.raises(StrettoError, match="a result") as error:
            file.close() if call == "close" else file.append("x\n", sync=False)
    assert error.value.place == str(tmp_path / "x.jsonl") and error.value.exit_code == EXIT_AGAIN
    file.close()


@pytest.mark.parametrize("said", [None, "the first half is in x.bench.jsonl"])
def test_an_interrupt_that_has_become_another_error_is_one(
    said: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where an extension module is imported it comes out as "initialization failed"."""

    def interrupted(name: str | None) -> None:
        interrupt = KeyboardInterrupt() if said is None else Interrupted(said)
        raise ImportError("initialization failed") from interrupt

    monkeypatch.setattr(app, "build_app", interrupted)
    assert cli.main([]) == 130
    told = capsys.readouterr().err
    assert f"interrupted; {said or 'files that were complete are kept'}" in told
    assert "defect" not in told


def test_the_inner_sentence_wins() -> None:
    with pytest.raises(Interrupted, match="inner"), keeping("outer"):
        raise Interrupted("inner")


def test_error_texts() -> None:
    error = StrettoError("it broke", Path("f"), "repair it")
    assert str(error) == "f: it broke"
    assert error.lines() == ["stretto: error: it broke", "  at: f", "  try: repair it"]
    assert CommandFailedError("no").exit_code == 3


def test_json_is_alone_on_stdout() -> None:
    done = run("check", "--json")
    assert done.returncode in (0, 1, 4), done.stderr
    assert set(json.loads(done.stdout)) == {"nodes", "mpi", "findings", "worst"}


def test_pipe_closed_by_the_reader() -> None:
    done = run_program(
        f"{sys.executable} -m stretto check --json | head -c 10 >/dev/null", shell=True
    )
    assert "Traceback" not in done.stderr and "defect" not in done.stderr


def test_an_interrupt_inside_exec_is_handled(tmp_path: Path) -> None:
    """Dataclasses are made by exec(), while modules are imported: CPython ended us by SIGINT."""
    (tmp_path / "interrupted.py").write_text(
        "from stretto import cli\n"
        "from stretto.cli import app\n"
        "app.build_app = lambda name: exec('raise KeyboardInterrupt')\n"
        "raise SystemExit(cli.main(['check']))\n"
    )
    done = run_program([sys.executable, "-m", "interrupted"], cwd=tmp_path)
    assert done.returncode == 130 and "stretto: interrupted" in done.stderr, done


def test_ctrl_c_reaches_the_command(tmp_path: Path) -> None:
    """`stretto run` becomes the command: its answer to the signal is the answer."""
    script = executable(
        tmp_path / "job.sh",
        "#!/bin/sh\n# mpirun\ntrap 'exit 42' INT\necho up\nwhile :; do sleep 0.1; done\n",
    )
    words = [sys.executable, "-m", "stretto", "run", "--mpi", "openmpi", "--", str(script)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line and process.wait() == 1:
        pytest.skip("there is no Open MPI here")
    assert line == "up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 42


def shell(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run_program(
        ["bash", "-c", script, sys.executable], env={**os.environ, **env}, timeout=600
    )


@pytest.mark.parametrize("command", ["run -- ./app", "diagnose -- ./app", "scale -n 1 -- ./{n}"])
def test_a_directory_that_was_removed(command: str, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = shell(f'cd {tmp_path}/gone; rmdir ../gone; "$0" -m stretto {command}')
    assert done.returncode == 1 and "has been removed" in done.stderr, done.stderr
    assert "  try: cd " in done.stderr and "defect" not in done.stderr


def test_a_user_without_a_name_or_home() -> None:
    if os.geteuid() != 0:
        missing("only root may become a user without a name")
    become = "unset HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME; exec setpriv"
    become += ' --reuid 123456 --regid 123456 --clear-groups "$0"'
    closed = [str(p) for p in Path(sys.prefix).resolve().parents if not p.stat().st_mode & 0o1]
    if closed:
        missing(f"other users may not enter {closed[-1]}, where the environment is")
    done = shell(f"{become} -m stretto run -- /bin/true")
    assert done.returncode == 1 and "stretto: error: " in done.stderr, done.stderr
    code = "from stretto.files.locate import user_tables; print(user_tables())"
    found = shell(f"{become} -c '{code}'")
    assert "Traceback" not in found.stderr and found.stdout == (
        "/nonexistent/.local/share/stretto/tables\n"
    )
    code = "from stretto import cli; from stretto.cli import app; "
    code += "app.run = None; print(cli.main([]))"
    broken = shell(f'{become} -c "{code}"', TMPDIR="/tmp")
    assert broken.stdout == "1\n" and "holds the traceback" in broken.stderr, broken.stderr
    Path(re.search(r"at: (\S+)", broken.stderr)[1]).unlink()  # type: ignore[index]


def test_closed_input_output_and_errors(tmp_path: Path) -> None:
    """As a daemon may leave them: what is opened next must not be taken for them."""
    run_true = (
        "from stretto import cli; from stretto.launch.execute import run; import os, sys;"
        "cli.main(['--version']); done = run(['cat'], os.environ, capture='yes');"
        "sys.exit(10 + done.status)"
    )
    assert shell(f'exec "$0" -c "{run_true}" <&-').returncode == 10
    assert shell('"$0" -m stretto serial --json >&-').returncode == 0
    done = shell('"$0" -m stretto diagnose --json --profile nosuch 2>&-')
    assert done.stdout == "" and done.returncode == 1


def test_letters_that_the_terminal_does_not_have(tmp_path: Path) -> None:
    words = b"profile --json -- \xe9t\xe9 \xe2\x98\x83".split()
    code = "import sys; from stretto import cli, output; "
    argv = [sys.executable, "-c", code + "cli._standard_streams(); print(sys.argv[1:])", *words]
    json_argv = [
        sys.executable, "-c", code + "cli._standard_streams(); output.print_json(sys.argv[1:])",
        *words,
    ]  # fmt: skip
    for encoding in ("utf-8", "ascii", "latin-1"):
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(argv, env=env, capture_output=True, check=True)
        assert b"\\udce9t\\udce9" in done.stdout
        printed = subprocess.run(json_argv, env=env, capture_output=True, check=True).stdout
        assert [os.fsencode(w) for w in json.loads(printed.decode())] == words


def test_words_that_are_no_utf8_come_back_from_files(tmp_path: Path) -> None:
    word = os.fsdecode(b"\xe9t\xe9")
    path = tmp_path / "f"
    text = dump_json({"command": [word]})
    write_atomic(path, text, "the file")
    assert parse_json(path.read_text(encoding="utf-8"), "f", "a file") == {"command": [word]}
    with LineFile(tmp_path / "lines", "another", "a result") as lines:
        lines.append(text, sync=False)
    assert (tmp_path / "lines").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("words", [["--nodes", "0"], ["--ppn", "-4"], ["--choice", " ; "]])
def test_layouts_and_choices_that_are_none(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["env", "--mpi", "openmpi", *words]) == 2
    assert words[0] in capsys.readouterr().err


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--collective", ""], "--collective"),
        (["--collective", "bcast", "--candidates", " ; "], "--candidates"),
        (["--collective", "bcast", "--datatype", "MPI_NOPE"], "--datatype"),
        (["--collective", "reduce", "--datatype", "byte"], "--datatype"),
        (["--collective", "reduce", "--operation", "MPI_NOPE"], "--operation"),
        (["--collective", "reduce", "--operation", "band", "--datatype", "double"], "--operation"),
        (["--collective", "bcast", "--bytes", "7", "--datatype", "INT"], "--bytes"),
    ],
)
def test_what_bench_cannot_measure_is_refused_before_a_launch(
    words: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    MPIS["openmpi4"].require()
    assert cli.main(["bench", "-n", "2", "--mpi", "/usr/bin/mpirun", "--dry-run", *words]) == 2
    assert f"at: {option}" in capsys.readouterr().err


def test_elements_are_those_of_the_measuring_program() -> None:
    text = (REPOSITORY / "src" / "bench" / "data.c").read_text()
    found = re.findall(r'\{"(MPI_\w+)", AS_\w+, (\d)\}', text)
    assert {name: int(size) for name, size in found} == settings.DATATYPES
    operations = text[text.index("operations[]") :].partition("}")[0]
    assert tuple(re.findall(r'"(MPI_\w+)"', operations)) == settings.ARITHMETIC + settings.LOGIC


@pytest.mark.parametrize("text", ["bare,native:A=1,B=2", "ring,bruck_k(8,2)"])
def test_a_candidate_with_a_comma_needs_semicolons(text: str) -> None:
    """Cut at its comma, `B=2` was called no algorithm; nothing named the semicolon."""
    from stretto.errors import UsageError
    from stretto.measure.request import split_candidates

    with pytest.raises(UsageError) as found:
        split_candidates(text)
    assert "';'" in str(found.value.remedy)
    assert split_candidates("native:A=1,B=2;") == ["native:A=1,B=2"]
    assert split_candidates("bare, native:A=1,native:ring") == ["bare", "native:A=1", "native:ring"]
