"""One tuning of a command: what the user asked for, and where its files lie."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stretto.files.verdict import Metric
from stretto.launch.job import understand
from stretto.launch.naming import app_name
from stretto.tune.outputs import Rules
from stretto.tune.outside import for_copies, outside
from stretto.tune.place import Place

#: the fewest pairs of runs of CMD with which a test can be made
PAIRS = 6


@dataclass
class Options:
    """What the user asked for."""

    words: list[str]
    out: Path
    metric: Metric
    place: Place
    budget_s: float | None = None
    pairs: int | None = None
    launches: int | None = None
    only: list[str] | None = None
    candidates: list[str] | None = None
    mpi: str | None = None
    timeout_s: float | None = None
    seed: int = 1
    restart: bool = False
    rules: Rules = field(default_factory=Rules)
    yes: bool = False
    dry_run: bool = False


class Stage:
    """What all stages share.

    Parameters
    ----------
    options
        What the user asked for.
    say
        Prints a sentence to the user.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.o = options
        self.say = say
        self.begin = time.monotonic()
        self.job = understand(options.words, mpi=options.mpi)
        self.name = app_name(self.job)
        self.run_s = 0.0

    def path(self, kind: str) -> Path:
        """Return the file of a kind in the output directory."""
        return self.o.out / f"{self.name}.{kind}"

    def left_s(self) -> float | None:
        """Return what is left of the budget."""
        if self.o.budget_s is None:
            return None
        return self.o.budget_s - (time.monotonic() - self.begin)

    @property
    def run_words(self) -> list[str]:
        """The command as its runs get it; as typed it is the key of all files."""
        return for_copies(self.o.words, self.o.place)

    def say_outside(self) -> None:
        """Name what is no part of the copies, and so is every run's own original."""
        found = outside(self.o.words, self.o.place)
        if found:
            self.say(
                f"stretto: note: outside of the directory, so not copied, and the same for all "
                f"runs: {', '.join(found)}"
            )

    @property
    def home(self) -> Path:
        """The directory that we were started in."""
        return self.job.cwd
