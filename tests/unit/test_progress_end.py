"""The last line of a progress bar says how the work ended."""

from __future__ import annotations

import io
import time

import pytest

from stretto.progress import Progress


def last_line(monkeypatch: pytest.MonkeyPatch, word: str | None, error: bool) -> str:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    try:
        with Progress("measuring", 10, stream=stream) as bar:
            clock[0] = 15.0
            bar.advance()
            if word is not None:
                bar.word = word
            if error:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert error
    return stream.getvalue().splitlines()[-1]


@pytest.mark.parametrize(
    ("word", "error", "wanted"),
    [
        (None, False, "done"),
        (None, True, "stopped"),
        ("stopped", False, "stopped"),  # by a signal or a budget, which raise nothing
        ("ended", False, "ended"),
        ("done", True, "stopped"),
    ],
)
def test_how_it_ended_is_said(
    monkeypatch: pytest.MonkeyPatch, word: str | None, error: bool, wanted: str
) -> None:
    assert last_line(monkeypatch, word, error) == f"stretto: measuring: {wanted} after 15 s"
