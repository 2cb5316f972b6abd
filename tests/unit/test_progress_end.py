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


def test_a_long_step_is_shown_though_nobody_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.progress.SHOW_AFTER_S", 0.02)
    stream, end = io.StringIO(), time.monotonic() + 10
    with Progress("pricing", 7, stream=stream):
        while not stream.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
    assert stream.getvalue().startswith("stretto: pricing: 0 of 7\n")
