"""One tuning of a command: what the user asked for, and where its files lie."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.program import ProgramFile, changed
from stretto.files.verdict import Metric, Run
from stretto.kinds import Family
from stretto.launch.execute import Result
from stretto.launch.job import understand
from stretto.launch.naming import app_name, program_word
from stretto.measure.candidates import by_itself
from stretto.tune.outputs import Outputs, Rules, Stamp, keep_logs, stamps, written
from stretto.tune.outside import for_copies, uncopied_notes, variables_for
from stretto.tune.place import Place, case_files, check_copy, fresh
from stretto.tune.trials import Trial, longest_s, once
from stretto.tune.unchanged import newer, program_files

#: the fewest pairs of runs of CMD with which a test can be made
PAIRS = 6
#: holds what the last failed run wrote, in `outputs`
FAILED = "failed"


def refuse_applied(family: Family, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Refuse an environment in which Stretto is applied already: nothing would run without it."""
    names = [n for n in ("STRETTO_TABLE", "STRETTO_CHOICE") if environ.get(n)]
    if environ.get("STRETTO_DISABLE", "0") not in ("", "0"):
        names.append("STRETTO_DISABLE")
    if "libstretto-" in environ.get("LD_PRELOAD", ""):
        names.append("LD_PRELOAD")
    if names:
        raise StrettoError(
            "the environment enables or disables Stretto (stretto env?), so runs with and without "
            "it cannot be compared",
            ", ".join(names),
            f"unset {' '.join(names)} OMPI_MCA_mca_base_env_list{{,_internal}}",
        )
    for sentence in by_itself(family, environ):
        say(f"stretto: warning: {sentence}")


@dataclass
class Options:
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


class Tuning:
    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.o = options
        self._say = say
        self.begin = time.monotonic()
        self.job = understand(options.words, mpi=options.mpi)
        self.name = app_name(self.job)
        self.run_s = 0.0
        #: whether the budget ended the measurements
        self.cut = False
        #: launches or a larger budget with which the same command may decide what is open
        self.wanted_launches: int | None = None
        self.wanted_pairs: int | None = None
        self.wants_budget = False
        #: what a run takes besides: the copy of its directory, its outputs
        self.beside_s = 0.0
        #: what earlier runs were of, and when they began; None: not known
        self.programs: list[ProgramFile] | None = None
        self.since = ""
        #: where this tuning ended: a key of `words._REST`
        self.end = "tested"
        #: when the verdict that is gone on with was written; None: a run was made since
        self.written: str | None = None

    def say(self, text: str) -> None:
        self._say(self.named(text))

    def named(self, text: str) -> str:
        """Return a sentence with the user's program in the place of CMD, but for what to type."""
        program = program_word(self.job.command) or "the command"
        return re.sub(r"(?<!-- )\bCMD\b", lambda _: program, text)

    def path(self, kind: str) -> Path:
        return self.o.out / f"{self.name}.{kind}"

    def left_s(self) -> float:
        """Return what is left of the budget, in seconds; infinite without one."""
        budget = math.inf if self.o.budget_s is None else self.o.budget_s
        return budget - (time.monotonic() - self.begin)

    def within(self, limit: float | None) -> float | None:
        """Return how long a run of CMD may take: the limit, or what is left of the budget."""
        most = min(math.inf if limit is None else limit, max(self.left_s(), 0.1))
        return None if most == math.inf else most

    @property
    def whole_s(self) -> float:
        """About how long the next run takes, all told."""
        return self.run_s + self.beside_s

    @property
    def over(self) -> bool:
        return self.left_s() <= 0

    def require_in_budget(self, result: Result) -> None:
        """Refuse to go on where the budget ended CMD's first run."""
        if result.timed_out and self.over:
            raise StrettoError(
                "inconclusive: the budget ended before the first run of CMD did",
                " ".join(self.o.words),
                "increase --budget: tuning takes about 20 runs of CMD",
            )

    def run_words(self, cwd: Path) -> list[str]:
        """Return the command as one run gets it; as typed it is the key of all files."""
        return for_copies(self.o.words, self.o.place, cwd)

    def run_environ(self, cwd: Path) -> dict[str, str]:
        return variables_for(os.environ, self.o.place, cwd)

    def attempt(
        self,
        draft: Run,
        kept: Outputs | None,
        libraries: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        watch: bool = False,
        change: Callable[[list[str]], list[str]] | None = None,
    ) -> Trial | None:
        """Run CMD once in its place; None: the budget ended the run, which says nothing of it.

        `draft`: under whose name `kept` holds what the run put out. `change`: from CMD's words to
        those of the run. Others: as for `once`.
        """
        self.require_unchanged()
        evidence = (self.o.out / "outputs" / "evidence").resolve()
        began = time.monotonic()
        with fresh(self.o.place) as cwd:
            before = stamps(cwd, case_files(self.o.place, cwd))
            words = self.run_words(cwd)
            limit = self.within(self.o.timeout_s or longest_s(self.run_s))
            trial = once(
                change(words) if change else words, cwd, libraries, dict(variables or {}),
                evidence, limit, self.o.mpi, settings, watch=watch,
                environ=self.run_environ(cwd),
            )  # fmt: skip
            if kept is not None:
                kept.keep(draft, trial.result, cwd, before, case_files(self.o.place, cwd))
            self.keep_failed(trial.result, cwd, before)
        self.beside_s = time.monotonic() - began - trial.result.wall_s
        return None if trial.result.timed_out and self.over else trial

    def changed_files(self, cwd: Path, before: dict[str, Stamp]) -> list[Path]:
        return written(cwd, case_files(self.o.place, cwd), before)

    def keep_failed(self, result: Result, cwd: Path, before: dict[str, Stamp]) -> None:
        """Keep the logs of a run that failed in a copy."""
        if result.status != 0 and self.o.place.copied:
            keep_logs(cwd, self.changed_files(cwd, before), self.o.out / "outputs" / FAILED)

    def logs_words(self) -> str:
        """Return where the logs of the failed run are; empty: it wrote none, or in CMD's place."""
        logs = self.o.out / "outputs" / FAILED
        kept = self.o.place.copied and logs.is_dir()
        return f"; the texts that it wrote are in {logs}" if kept else ""

    def going_on(self, programs: list[ProgramFile] | None, since: str) -> None:
        """Refuse to add to runs of another program; name files of the case that may be others."""
        self.programs, self.since = programs, since
        self.require_unchanged(first=True)
        if not self.o.place.copied:
            return  # runs themselves write there
        mine = set(program_files(self.job))
        case = (p for p in case_files(self.o.place, self.o.place.base) if p not in mine)
        found = [str(p.relative_to(self.o.place.base)) for p in newer(case, since)]
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            self.say(
                f"stretto: note: changed in this directory since the earlier runs of {since}: "
                f"{', '.join(found[:3])}{more}; if CMD reads them, --restart measures again"
            )

    def require_unchanged(self, first: bool = False) -> None:
        """Refuse a program that is another one than in earlier runs.

        `first`: no run was made since the start. Later a reset command may have built it anew, and
        so before it, which is only said.
        """
        building = self.o.place.reset is not None
        if not self.programs or (building and not first):
            return
        other = changed(self.programs, program_files(self.job))
        if other is None:
            return
        text = f"{other} has changed since {self.since}, but earlier runs used the old one"
        if building:
            self.say(f"stretto: note: {text}; --restart measures again")
            return
        raise StrettoError(text, self.o.out, "--restart measures again")

    def check(self) -> None:
        """Refuse what cannot work, and name what is no part of the copies."""
        for note in self.job.notes:
            self.say(f"stretto: note: {note}")
        environ = {**self.job.environ, **self.job.command.assignments}
        refuse_applied(self.job.mpi.family, environ, self.say)
        check_copy(self.o.place)
        for note in uncopied_notes(self.o.words, program_files(self.job), self.o.place):
            self.say(f"stretto: note: {note}")

    @property
    def home(self) -> Path:
        """The directory that we were started in."""
        return self.job.cwd
