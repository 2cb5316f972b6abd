"""Progress: silent for short work, the time that is left, and how the work ended."""

from __future__ import annotations

import contextlib
import io
import time

import pytest

from stretto import progress
from stretto.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_progress_is_shown_after_some_seconds_with_the_time_left(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress("measuring", 10, stream=stream) as bar:
        clock[0] = 1.9
        bar.advance(5)
    assert stream.getvalue() == ""
    clock[0] = 0.0
    with Progress("measuring", 10, stream=stream, unit="points") as bar:
        clock[0] = 5.0
        bar.advance(5, "allreduce")
        clock[0] = 6.0
        bar.advance(1)
    assert stream.getvalue().splitlines() == [
        "stretto: measuring: 5 of 10 points, about 5 s left, allreduce",
        "stretto: measuring: done after 6 s",
    ]


def test_a_total_that_may_not_come_is_called_one(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress("measuring", quiet=False, stream=stream) as bar:
        bar.most = True
        clock[0] = 60.0
        bar.update(10, "round 1", 100)
        clock[0] = 99.0
        bar.most = False
        bar.update(50)
    assert stream.getvalue().splitlines()[:2] == [
        "stretto: measuring: 10 of at most 100, at most 9 minutes left, round 1",
        "stretto: measuring: 50 of 100, about 99 s left, round 1",
    ]


def test_what_was_done_before_took_none_of_this_time(clock: list[float]) -> None:
    with Progress("measuring", 100, quiet=True, before=80) as bar:
        clock[0] = 5.0
        assert bar.remaining_s() is None
        bar.update(90)
        assert bar.remaining_s() == 5.0
        bar.update(90, total=110)
        assert bar.remaining_s() == 10.0


def test_progress_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Progress("measuring", 10, stream=stream) as bar:
        bar.advance(5, "allreduce")
        end = time.monotonic() + 300
        while "50%" not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert "measuring" in stream.getvalue() and "50%" in stream.getvalue()


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
    clock: list[float], word: str | None, error: bool, wanted: str
) -> None:
    stream = io.StringIO()
    with contextlib.suppress(KeyboardInterrupt), Progress("x", 10, stream=stream) as bar:
        clock[0] = 15.0
        bar.advance()
        if word is not None:
            bar.word = word
        if error:
            raise KeyboardInterrupt
    assert stream.getvalue().splitlines()[-1] == f"stretto: x: {wanted} after 15 s"


def test_a_long_step_is_shown_though_nobody_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.progress.SHOW_AFTER_S", 0.02)
    stream, end = io.StringIO(), time.monotonic() + 300
    with Progress("pricing", 7, stream=stream):
        while not stream.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
    assert stream.getvalue().startswith("stretto: pricing: 0 of 7\n")
