"""Exit code 130: of an interrupt, which is said, and of a command that is not complete."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
import typer

from stretto import cli
from stretto.cli import campaign
from stretto.errors import EXIT_INTERRUPTED, keeping


def stopped() -> None:
    with keeping("the first half is in x"):
        os.kill(os.getpid(), signal.SIGINT)


def ended() -> None:
    raise typer.Exit(EXIT_INTERRUPTED)


def aborted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (ended, None),
        (stopped, "stretto: interrupted; the first half is in x"),
        (aborted, "stretto: interrupted; files that were complete are kept"),
    ],
)
@pytest.mark.parametrize("words", [["check"], ["campaign", "status", "nowhere"]])
def test_only_an_interrupt_is_called_one(
    how: Callable[[], None], said: str | None, words: list[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    import stretto.cli.check

    def look(*of: object, **more: object) -> None:
        how()

    monkeypatch.setattr(stretto.cli.check, "command", how)
    monkeypatch.setattr(campaign, "read_status", look)
    assert cli.main(words) == EXIT_INTERRUPTED
    error = capsys.readouterr().err
    assert error.strip() == (said or "")


def test_an_interrupt_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an earlier one kept has nothing to do with the next one."""
    import stretto.cli.check

    monkeypatch.setattr(stretto.cli.check, "command", stopped)
    assert cli.main(["check"]) == EXIT_INTERRUPTED
    monkeypatch.setattr(stretto.cli.check, "command", aborted)
    assert cli.main(["check"]) == EXIT_INTERRUPTED
    assert "files that were complete" in capsys.readouterr().err
