"""What may take long is done while its progress is shown."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from stretto.cli import main
from stretto.errors import StrettoError


class Shown:
    """Stands for `Progress`, and says whether one is open."""

    open = 0

    def __init__(self, title: str, *of: object, **more: object) -> None:
        assert title

    def __enter__(self) -> Shown:
        Shown.open += 1
        return self

    def __exit__(self, *raised: object) -> None:
        Shown.open -= 1


def work(*of: object, **more: object) -> None:
    assert Shown.open == 1
    raise StrettoError("this is reached")


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("words", "where", "name"),
    [
        (["bundle", "-o", "b.tar.gz"], "stretto.check.bundle", "collect"),
        (["check"], "stretto.cli.check", "judge"),
        (["compare", "x"], "stretto.cli.compare", "read_bench"),
        (["table", "decide", "x"], "stretto.cli.table", "decide_from"),
        (["import", "osu", "x"], "stretto.imports.gather", "gather"),
        (["campaign", "status", "c"], "stretto.cli.campaign", "read_status"),
    ],
)
def test_command_works_while_progress_is_shown(
    words: list[str],
    where: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("")
    Path("c").mkdir()
    Shown.open = 0
    monkeypatch.setattr(module(f"stretto.cli.{words[0]}"), "Progress", Shown)
    monkeypatch.setattr(module(where), name, work)
    assert main(words) == 1 and "this is reached" in capsys.readouterr().err
    assert Shown.open == 0
