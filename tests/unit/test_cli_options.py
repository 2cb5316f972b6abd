"""The command line as a whole: one meaning for each option, and groups of options in --help."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stretto.cli import main
from stretto.cli.app import COMMANDS, build_app

#: options that no command refuses by hand, because only commands that use them have them
GONE = [
    ["tune", "--campaign", "a.toml"],
    ["tune", "--from", "a.bench.jsonl"],
    ["tune", "--settings", "--", "true"],
    ["tune", "--nodes", "1,2", "--", "true"],
    ["tune", "--platform", "hpc7g"],
    ["settings", "--collective", "bcast", "--", "true"],
    ["table", "decide", "a.bench.jsonl", "--launches", "3"],
    ["table", "make", "--pairs", "6"],
    ["campaign", "run", "--metric", "x"],
    ["campaign", "plan", "--yes"],
    ["bench", "--output", "x"],
]


def commands() -> Iterator[tuple[str, Any]]:
    for name, _ in COMMANDS:
        root: Any = typer.main.get_command(build_app(name))
        command = root.commands[name]
        below = getattr(command, "commands", None)
        if below is None:
            yield name, command
        else:
            yield from ((f"{name} {inner}", c) for inner, c in below.items())


@pytest.mark.parametrize("words", GONE, ids=" ".join)
def test_options_of_another_command_do_not_exist(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "No such option" in capsys.readouterr().err


def test_simulation_without_a_platform_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["simulate", "-c", "bcast"], ["table", "simulate"], ["plan", "price", "ring"]):
        assert main(words) == 2
        assert "Missing option '--platform' / '-p'" in capsys.readouterr().err


def test_option_names_are_spelled_one_way_everywhere() -> None:
    short: dict[str, set[str]] = defaultdict(set)
    for name, command in commands():
        for parameter in command.params:
            options = getattr(parameter, "opts", [])
            assert "--output" not in options, name
            if parameter.param_type_name == "option":
                assert parameter.rich_help_panel or name == "platform fit", (name, options)
            for letter in (x for x in options if len(x) == 2):
                short[letter] |= {x for x in options if len(x) > 2}
    del short["-v"], short["-q"]
    assert {k: sorted(v) for k, v in short.items()} == {
        "-o": ["--out"], "-n": ["--ranks"], "-y": ["--yes"], "-p": ["--platform"],
        "-c": ["--collective"],
    }  # fmt: skip


def test_results_in_a_missing_directory_are_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing"
    for words in ("bench -n 2", "table make -n 2", "io -n 2", "net node", "place --ppn 1",
                  "profile -- true", "tune -- true", "settings -- true"):  # fmt: skip
        command, dashes, cmd = words.partition(" -- ")
        out = ["-o", str(missing / "x")]
        assert main([*command.split(), *out, *dashes.split(), *cmd.split()]) == 1
        err = capsys.readouterr().err
        assert "there is no such directory" in err and f"at: {missing}" in err, (words, err)
    assert not missing.exists()
    for place, told in ((tmp_path, "this is a directory"), (Path("/proc/x"), "can be written")):
        assert main(["io", "-n", "2", "-o", str(place)]) == 1
        assert told in capsys.readouterr().err


def test_help_shows_options_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--help"]) == 0
    printed = capsys.readouterr().out
    groups = ["Measurement:", "Metric:", "Runs of CMD:", "Job:", "Cost:", "Output:"]
    places = [printed.index(f"\n{group}\n") for group in groups]
    assert places == sorted(places) and "Parameters" not in printed


def test_command_without_cmd_names_the_other_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["tune"], ["settings"]):
        assert main(words) == 2
        assert ("stretto table make" in capsys.readouterr().err) == (words == ["tune"])


def written() -> Iterator[tuple[str, str]]:
    """Command lines that users read: in --help, in the docs, in examples."""
    root = Path(__file__).resolve().parents[2]
    texts = [*root.glob("docs/**/*.md"), root / "README.md", *root.glob("examples/**/*.sh")]
    for path in texts:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(
            r"(?:^|`)(?:\.venv/bin/)?(stretto [a-z][^`\n]*)", text, re.MULTILINE
        ):
            yield str(path.relative_to(root)), line.partition("|")[0].partition(">")[0]


def test_command_lines_in_docs_are_understood() -> None:
    known: dict[str, Any] = dict(commands())
    groups = {name.partition(" ")[0] for name in known if " " in name}
    wrong = []
    for place, line in written():
        try:
            name, *words = shlex.split(line, comments=True)[1:]
        except ValueError:  # a quotation that goes on in the next line
            continue
        if name in groups:
            if not words or not re.fullmatch("[a-z]+", words[0]):
                continue
            name = f"{name} {words[0]}"
            if name not in known:
                wrong.append((place, line))
        if name not in known:
            continue
        options = {"--help"}
        for p in known[name].params:
            options |= {*getattr(p, "opts", []), *p.secondary_opts}
        for word in itertools.takewhile(lambda w: w != "--", words):
            option = word.partition("=")[0]
            if option.startswith("-") and not option.lstrip("-").isdigit():
                wrong += [] if option in options else [(place, line)]
    assert not wrong
