"""The first stage of ``stretto tune -- CMD``: the profile of one run of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from stretto.errors import CommandFailedError, StrettoError
from stretto.files.io import write_atomic
from stretto.files.profile import Profile, read_profile, write_profile
from stretto.files.program import take
from stretto.launch.execute import Result
from stretto.launch.said import telling
from stretto.profile.record import check_result, record
from stretto.profile.show import tools_note
from stretto.tune.place import fresh, make_output
from stretto.tune.stage import Stage
from stretto.tune.trials import find_value
from stretto.tune.unchanged import program_files


class Profiled(Stage):
    @property
    def has_profile(self) -> bool:
        """Whether the profile of a run that ended well is there: CMD need not run for it."""
        return (
            not self.o.restart and self.path("profile.json").exists() and self._wall_file.exists()
        )

    def profile(self) -> Profile:
        path = self.path("profile.json")
        if path.exists() and not self.o.restart:
            found = read_profile(path)
            if found.command != self.o.words:
                raise StrettoError(
                    f"the profile here is of another command: {' '.join(found.command)}",
                    path,
                    "begin again with --restart, or give another directory with --out",
                )
            if found.mpi.family != self.job.mpi.family:
                raise StrettoError(
                    f"the profile here was recorded under {found.mpi.family} {found.mpi.version}, "
                    f"and the command now uses {self.job.mpi.name}",
                    path,
                    "begin again with --restart, or give another directory with --out",
                )
            if self._wall_file.exists():
                self._require_layout(found)
                self.run_s = self._recorded_wall(found)
                self.say(
                    f"stretto: going on with the profile in {path}, of {found.created} "
                    "(--restart measures again)"
                )
                self.going_on(found.programs, found.created)
                return found
            self.say(f"stretto: {path} is of a run that did not end well; CMD runs again")

        make_output(self.o.out)
        self.programs = [take(p) for p in program_files(self.job)]
        self._wall_file.unlink(missing_ok=True)  # written again when the run has ended well
        with fresh(self.o.place) as cwd, _directory(cwd):
            recorded = record(
                self.run_words(cwd),
                output=path.resolve() if path.is_absolute() else self.home / path,
                mpi=self.o.mpi,
                timeout=self.within(self.o.timeout_s),
                capture="yes",
                environ=self.run_environ(cwd),
                typed=self.o.words,
            )
        self.require_in_budget(recorded.result)
        try:
            check_result(recorded)
        except CommandFailedError as error:
            last = telling(recorded.result.stderr or recorded.result.stdout, end=True)
            path.rename(path.with_name(f"{self.name}.failed.profile.json"))
            raise CommandFailedError(
                f"{error.message}; its last words: {last or 'none'}",
                error.place,
                "make it run without Stretto first; if it needs files outside its directory, use "
                "--in-place or --reset-command",
            ) from error
        found = recorded.profile
        if (missing := tools_note(found)) is not None:
            raise StrettoError(
                missing, path, "run CMD without that tool (LD_PRELOAD, -l) while it is tuned"
            )
        found.programs = self.programs
        self.since = found.created
        write_profile(found, path)
        self.run_s = recorded.result.wall_s
        text = f"{self.run_s}\n{self._asked_layout}\n"
        write_atomic(self._wall_file, text, "the profiled run's time")
        self._check_metric(recorded.result)
        for note in recorded.joined[0].notes:
            self.say(f"stretto: note: {note}")
        return found

    @property
    def _asked_layout(self) -> str:
        """What the command and the job that it is in ask for, as far as they show it."""
        layout = self.job.layout
        parts = (layout.nodes, layout.ppn, layout.nranks)
        return "{} x {}, {} ranks".format(*("?" if n is None else n for n in parts))

    def _require_layout(self, found: Profile) -> None:
        """Refuse a profile of other nodes or ranks, such as of the same line in another job."""
        then, now = self._recorded()[1:2], self._asked_layout
        if then == [now]:
            return
        was = then[0] if then else f"{found.node_count} x {found.ppn}, {found.nranks} ranks"
        raise StrettoError(
            f"the profile here is of another layout: {was}, not {now} (nodes x ranks)",
            self.path("profile.json"),
            "begin again with --restart, or give another directory with --out",
        )

    def _check_metric(self, result: Result) -> None:
        """Refuse a metric that CMD does not print before anything is measured for it."""
        if find_value(self.o.metric, result) is not None:
            return
        printed = self.o.out / "outputs" / "profiled.txt"
        write_atomic(printed, f"{result.stdout}\n{result.stderr}", "what the command printed")
        raise StrettoError(
            f"the command printed no number that matches --metric {self.o.metric.pattern!r}",
            printed,
            "try the expression on that file with grep -P; the profile is kept",
        )

    @property
    def _wall_file(self) -> Path:
        """Wall time and layout of the profiled run; there only when that run ended well."""
        return self.o.out / "outputs" / "profiled-wall-s"

    def _recorded_wall(self, profile: Profile) -> float:
        """Return the wall time of the profiled run, its start included."""
        try:
            return float("".join(self._recorded()[:1]))
        except ValueError:
            return float(np.median(profile.wall_s)) + 0.5

    def _recorded(self) -> list[str]:
        """Return the lines of the profiled run: time and layout."""
        try:
            return self._wall_file.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            return []


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    """Work in another directory for a while (contextlib.chdir is younger than Python 3.10)."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)
