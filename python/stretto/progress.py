"""A progress bar with the time left, for whatever takes more than two seconds.

On a terminal it is a Rich bar on stderr; elsewhere (a batch job's log) a plain line from time to
time. Nothing is shown, and Rich is not imported, when the work ends within two seconds. A thread
shows it where a single step takes longer: nobody need report in time.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from stretto.counted import duration

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

SHOW_AFTER_S = 2.0
PLAIN_EVERY_S = 30.0


class Progress:
    """Progress of one piece of work; use it in a ``with`` statement.

    `total`: how many steps there will be; None when that is not known. `before`: steps that were
    done before: they took none of this time. `unit`: what a step is, in the plural. `most`: `total`
    is the most that there may be: so is the time left. `word`: how it ended, for the last line:
    "done" unless whoever uses it says another, such as "stopped" or "ended"; after an exception it
    is "stopped" whatever was said.
    """

    def __init__(
        self,
        title: str,
        total: float | None = None,
        quiet: bool = False,
        stream: TextIO | None = None,
        before: float = 0.0,
        unit: str = "",
    ) -> None:
        self.title = title
        self.total = total
        self.done = self._before = before
        self.unit = unit
        self.note = ""
        self.word = "done"
        self.most = False
        self._quiet = quiet
        self._stream = stream if stream is not None else sys.stderr
        self._start = time.monotonic()
        self._last_plain = self._start
        self._rich: RichProgress | None = None
        self._task: TaskID | None = None
        self._shown = False
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> Progress:
        """Start the clock."""
        self._start = self._last_plain = time.monotonic()
        if not self._quiet:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def _tick(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # a stream that is gone shows nothing
            while not self._over.wait(SHOW_AFTER_S or 0.1):
                self._show()

    def __exit__(self, kind: object, *raised: object) -> None:
        """Take the bar away."""
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._rich is not None:
            self._rich.stop()
        elif self._shown:
            word = self.word if kind is None else "stopped"
            self._plain(f"{word} after {self._elapsed():.0f} s")

    def advance(self, steps: float = 1, note: str | None = None) -> None:
        """Count steps as done, and say in `note` what is under way."""
        self.update(self.done + steps, note)

    def update(self, done: float, note: str | None = None, total: float | None = None) -> None:
        """Set how much is done; `note`: what is under way, None keeps the last one.

        `total`: a new one, when the estimate has changed.
        """
        self.done = done
        if note is not None:
            self.note = note
        if total is not None:
            self.total = total
        self._show()

    def _show(self) -> None:
        if self._quiet or self._elapsed() < SHOW_AFTER_S:
            return
        with self._lock:
            if self._stream.isatty():
                self._bar()
            elif time.monotonic() - self._last_plain >= (PLAIN_EVERY_S if self._shown else 0.0):
                self._last_plain = time.monotonic()
                self._plain(self.summary())

    def remaining_s(self) -> float | None:
        """Return the estimated seconds left, or None when nothing can be said yet."""
        mine = self.done - self._before
        if not self.total or mine <= 0:
            return None
        return max(0.0, self._elapsed() * (self.total - self.done) / mine)

    def summary(self) -> str:
        """Return progress in a few words."""
        most = "at most " if self.most else ""
        digits = ".0f" if self.unit == "s" else "g"
        words = f"{self.done:{digits}}"
        if self.total is not None:
            words += f" of {most}{self.total:{digits}}"
        words += f" {self.unit}" if self.unit else ""
        if self.total is None and not self.done:
            words = f"{self._elapsed():.0f} s so far"
        left = self.remaining_s()
        if left is not None:
            time_left = f"{left:.0f} s" if left < 100 else duration(left)
            words += f", {most or 'about '}{time_left} left"
        return f"{words}, {self.note}" if self.note else words

    def _elapsed(self) -> float:
        return time.monotonic() - self._start

    def _plain(self, text: str) -> None:
        self._shown = True
        print(f"stretto: {self.title}: {text}", file=self._stream, flush=True)

    def _bar(self) -> None:
        if self._rich is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._rich = Progress(
                TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
                TimeElapsedColumn(), TextColumn("{task.fields[left]}"), TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"), console=Console(file=self._stream),
                transient=True,
            )  # fmt: skip
            self._task = self._rich.add_task(self.title, total=self.total, note="", left="")
            self._rich.start()
        assert self._task is not None
        left = "left, at most" if self.most else "left"
        self._rich.update(
            self._task, completed=self.done, total=self.total, note=self.note, left=left
        )
