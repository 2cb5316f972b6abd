"""Runs a campaign: launches in turn, all they measured into the results file, no fault hidden.

A launch that hangs or dies names the candidate that was running; that candidate is excluded, and
the launch is repeated for what is missing. Everything measured is in the file at once, so that a
campaign can be stopped at any moment and goes on from there.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from stretto.campaign import process, programs
from stretto.campaign.compare import NATIVE
from stretto.campaign.job import Seen, format_job
from stretto.campaign.reader import Reader
from stretto.campaign.settings import STARTUP_S, Case, Settings, settings_environment
from stretto.errors import StrettoError, from_oserror, keeping
from stretto.files.bench import (
    Bench,
    BenchWriter,
    Excluded,
    Header,
    Launch,
    LaunchEnd,
    Record,
    read_bench,
)
from stretto.files.identity import Identity
from stretto.mpi.base import MPIInstallation
from stretto.progress import Progress

#: a launch is given up after so many starts that brought nothing new
TRIES = 2
Key = tuple[int, str, int, str, str]  # launch, collective, bytes, shape, candidate

#: makes command line and environment that start a program with variables for its ranks
Starter = Callable[[list[str], dict[str, str]], tuple[list[str], dict[str, str]]]

#: variables that would make "native" something else than the MPI itself
_CLEARED = ("STRETTO_TABLE", "STRETTO_CHOICE", "STRETTO_DISABLE", "STRETTO_PROFILE_DIR")


@dataclass
class Campaign:
    """One campaign under way.

    Attributes
    ----------
    notes
        What the user should hear at the end: exclusions, failures.
    """

    settings: Settings
    installation: MPIInstallation
    writer: BenchWriter
    say: Callable[[str], None]
    quiet: bool = False
    start: Starter | None = None
    gone: set[tuple[str, str]] = field(default_factory=set)
    done: set[Key] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    stop_at: float | None = None

    def __post_init__(self) -> None:
        """Take over what an earlier run of the campaign left in the file."""
        for record in self.writer.previous.records:
            self._count(record)

    def _count(self, record: Record) -> None:
        if isinstance(record, Excluded):
            self.gone.add((record.collective, record.candidate))
        elif not isinstance(record, Launch | LaunchEnd):
            shape = f"{record.datatype} {record.operation} {record.root}"
            self.done.add((record.launch, record.collective, record.bytes, shape, record.candidate))

    def pending(self, launch: int) -> list[Case]:
        """Return what is still to be measured in a launch; a cell is measured whole or not at all.

        Parameters
        ----------
        launch
            Number of the launch.
        """
        out = []
        for case in self.settings.cases_of(self.settings.variant_of(launch)):
            names = tuple(c for c in case.candidates if (case.collective, c) not in self.gone)
            shape = f"{case.datatype} {case.operation} {case.root}"
            if any((launch, case.collective, case.bytes, shape, c) not in self.done for c in names):
                out.append(replace(case, candidates=names))
        return out

    def order(self) -> list[int]:
        """Return the launches as they will run: rounds, each in an order of its own."""
        n = len(self.settings.variants)
        out = []
        for turn in range(self.settings.launches):
            numbers = list(range(turn * n, (turn + 1) * n))
            random.Random(self.settings.seed * 7919 + turn).shuffle(numbers)
            out += numbers
        return out

    def run(self) -> None:
        """Measure all that is missing; afterwards the file holds what could be measured."""
        todo = [k for k in self.order() if self.pending(k)]
        if self.settings.budget_s is not None:
            self.stop_at = time.monotonic() + self.settings.budget_s
        cells = sum(len(self.pending(k)) for k in todo)
        if not cells:
            return
        kept = f"measurements so far are in {self.writer.path}; the same command goes on"
        with keeping(kept), Progress("measuring", cells, quiet=self.quiet) as progress:
            for place, launch in enumerate(todo):
                self._launch(launch, len(todo) - place, progress)

    def _launch(self, launch: int, left: int, progress: Progress) -> None:
        """Start a launch, again as long as that brings something new."""
        fruitless = 0
        done_before = progress.done
        total = len(self.pending(launch))
        while self.pending(launch) and fruitless < TRIES:
            if self.stop_at is not None and time.monotonic() > self.stop_at + 0.25 * (
                self.settings.budget_s or 0
            ):
                self._note(f"the budget ended before launch {launch}")
                return
            before = len(self.done) + len(self.gone)
            self._start(launch, self._share(left), progress)
            fruitless = 0 if len(self.done) + len(self.gone) > before else fruitless + 1
        if self.pending(launch) and launch == self.order()[0] and not self.done:
            why = self.notes[-1] if self.notes else "no reason is known"
            raise StrettoError(
                f"the first launch measured nothing: {why}",
                self.settings.variant_of(launch),
                "run `stretto check`, and the same mpirun with a small MPI program",
            )
        progress.update(done_before + total)

    def launch_once(self, launch: int, budget_s: float, progress: Progress) -> None:
        """Start one launch, and again for what is missing, for callers with an order of their own.

        Parameters
        ----------
        launch
            Its number.
        budget_s
            Seconds for measuring; 0 for no limit.
        progress
            Moved on as cells are done.
        """
        fruitless = 0
        while self.pending(launch) and fruitless < TRIES:
            before = len(self.done) + len(self.gone)
            self._start(launch, budget_s, progress)
            fruitless = 0 if len(self.done) + len(self.gone) > before else fruitless + 1

    def _share(self, left: int) -> float:
        """Return the seconds that this launch may measure; 0 for no limit."""
        if self.stop_at is None:
            return 0.0
        return max(0.05, (self.stop_at - time.monotonic()) / left - STARTUP_S)

    def _start(self, launch: int, budget_s: float, progress: Progress) -> None:
        cases = self.pending(launch)
        directory = _directory(self.writer.path, launch)
        try:
            job, output, status = (directory.resolve() / n for n in ("job", "output", "status"))
            try:
                job.write_text(
                    format_job(self.settings, launch, cases, output, status, budget_s), "utf-8"
                )
            except OSError as error:
                raise from_oserror(error, "cannot write the job", job) from error
            command, environ = self.command(launch, job)
            reader = Reader(self, launch, cases, output, status, progress)
            try:
                ended = process.run(command, environ, directory / "log", reader.watch)
            finally:
                reader.read()
            self._conclude(launch, ended, reader)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def command(self, launch: int, job: Path) -> tuple[list[str], dict[str, str]]:
        """Return command line and environment of a launch.

        Parameters
        ----------
        launch
            Its number.
        job
            The job's file.
        """
        s = self.settings
        variant = s.variant_of(launch)
        abi = self.installation.abi
        variables: dict[str, str] = {}
        if variant == "stretto":
            variables["LD_PRELOAD"] = str(programs.interposer(abi))
            variables["STRETTO_API"] = "1"  # without a table it would leave everything alone
        elif variant.startswith("native:"):
            variables |= settings_environment(self.installation.family, variant[7:])
        program = [str(programs.bench_program(abi)), str(job.resolve())]
        if self.start is not None:
            command, environ = self.start(program, variables)
        else:
            command, environ = self.installation.launch(
                s.nranks,
                program,
                ppn=s.ppn,
                hosts=s.hosts,
                bind="none" if s.oversubscribed else "core",
                variables=variables,
                oversubscribe=s.oversubscribed,
            )
        if self.installation.libmpi is not None:
            # The program names no libmpi: it opens the first that is found, which must be this one.
            environ["LD_LIBRARY_PATH"] = ":".join(
                [str(self.installation.libmpi.parent), environ.get("LD_LIBRARY_PATH", "")]
            ).rstrip(":")
        for name in _CLEARED:
            environ.pop(name, None)
        if variant != "stretto" and "libstretto" in environ.get("LD_PRELOAD", ""):
            environ.pop("LD_PRELOAD")
        return command, environ

    def _conclude(self, launch: int, ended: process.Ended, reader: Reader) -> None:
        """Write how the launch ended, and exclude the candidate that ended it."""
        if ended.status == 0 and not ended.stopped:
            self._end(launch, reader, "ok", "")
            return
        at = reader.status()
        words = process.short(ended.output)
        if ended.stopped:
            status: Literal["timeout", "failed"] = "timeout"
            detail = f"nothing happened for {self.settings.stall_s:.0f} s"
        else:
            status = "failed"
            how = f"signal {-ended.status}" if ended.status < 0 else f"exit code {ended.status}"
            detail = f"{how}: {words}" if words else how
        if at is not None:
            detail = f"{at.candidate} at {at.collective} {at.bytes} B: {detail}"
            blamed = at.candidate not in (NATIVE, "bare") and reader.started
            if blamed and (at.collective, at.candidate) not in self.gone:
                self._keep(
                    Excluded(launch, at.collective, at.candidate, at.bytes,
                             "hung" if ended.stopped else "failed", detail)
                )  # fmt: skip
        self._note(f"launch {launch} ({self.settings.variant_of(launch)}): {detail}")
        self._end(launch, reader, status, detail)

    def _end(
        self, launch: int, reader: Reader, status: Literal["ok", "timeout", "failed"], detail: str
    ) -> None:
        reader.announce()
        self.writer.write(LaunchEnd(launch, status, detail))

    def keep(self, seen: Seen) -> None:
        """Write what was seen to the file.

        Parameters
        ----------
        seen
            From the program's lines.
        """
        if seen.sample is not None:
            self._keep(seen.sample)
        elif seen.excluded is not None:
            self._keep(seen.excluded)

    def _keep(self, record: Record) -> None:
        if isinstance(record, Excluded):
            if (record.collective, record.candidate) in self.gone:
                return
            self._note(f"{record.candidate} is excluded for {record.collective}: {record.detail}")
        self._count(record)
        self.writer.write(record)

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.say(f"stretto: warning: {text}")


def _directory(results: Path, launch: int) -> Path:
    """Return a fresh directory beside the results: a place that all nodes see."""
    try:
        return Path(
            tempfile.mkdtemp(prefix=f".{results.name}.launch{launch}.", dir=results.parent or ".")
        )
    except OSError as error:
        raise from_oserror(
            error, "cannot make a directory for the launch", results.parent
        ) from error


def measure(
    settings: Settings,
    installation: MPIInstallation,
    path: Path,
    identity: Identity,
    command: list[str],
    say: Callable[[str], None],
    restart: bool = False,
    quiet: bool = False,
    start: Starter | None = None,
) -> tuple[Bench, list[str]]:
    """Run a campaign into a file, or go on with the one that it holds.

    Parameters
    ----------
    settings, installation
        What to measure, and with which MPI.
    path
        The results file.
    identity, command
        For its header.
    say
        Prints a sentence to the user.
    restart
        Put an existing file aside (``NAME.old``) instead of going on.
    quiet
        No progress bar.
    start
        Starts the program another way than by the installation's launcher: as the user's job.

    Returns
    -------
    tuple
        All that the file holds, and the warnings that were given.
    """
    if restart and path.exists():
        path.replace(path.with_name(path.name + ".old"))
    header = Header(
        identity.stretto, identity.created, identity.host, identity.mpi, command, settings.record()
    )
    with BenchWriter(path, header, resume=True) as writer:
        check_same(settings, writer.previous, path)
        campaign = Campaign(settings, installation, writer, say, quiet, start)
        campaign.run()
    return read_bench(path), campaign.notes


def require_layout(bench: Bench, nodes: int, ppn: int, path: Path) -> None:
    """Refuse results whose ranks were not where a table of them would say.

    Parameters
    ----------
    bench
        What was measured.
    nodes, ppn
        The layout that the table is for.
    path
        The file.
    """
    seen: dict[int, set[tuple[int, int]]] = {s.launch: set() for s in bench.samples}
    for record in bench.launches:
        if record.launch in seen:  # a start that measured nothing may not know where it was
            seen[record.launch].add((record.nodes, record.ppn))
    for launch, layouts in seen.items():
        if (nodes, ppn) not in layouts:
            where = " or ".join(f"{n} x {p}" for n, p in sorted(layouts))
            raise StrettoError(
                f"the ranks of launch {launch} were on {where} (nodes x ranks), not on "
                f"{nodes} x {ppn}, so no table for that layout can be made of it",
                path,
                "name as many nodes as are meant (--hosts), and see with `stretto check -- mpirun "
                "...` where the launcher puts the ranks",
            )


def check_same(settings: Settings, previous: Bench, path: Path) -> None:
    """Refuse to go on with results of another layout.

    Parameters
    ----------
    settings
        Of the campaign that is to go on.
    previous
        What the file holds.
    path
        The file.
    """
    old: Mapping[str, object] = previous.header.settings
    for key, value in settings.fixed().items():
        if key in old and old[key] != value:
            raise StrettoError(
                f"these results were measured with {key} {old[key]}, and now it is {value}",
                path,
                "name another file (-o), or begin again with --restart (the old file is kept)",
            )
