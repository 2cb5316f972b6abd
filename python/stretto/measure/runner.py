"""Runs a campaign: launches in turn, all they measured into the results file, no fault hidden.

A launch that hangs or dies names the candidate that was running; that candidate is excluded, and
the launch is repeated for what is missing. Everything measured is in the file at once, so that a
campaign can be stopped at any moment and goes on from there.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from stretto.counted import counted, duration, sized
from stretto.errors import StrettoError, from_oserror, keeping
from stretto.files.bench import (
    BUDGET_ENDED,
    CRASHES,
    Bench,
    Excluded,
    Header,
    LaunchEnd,
    Record,
    read_bench,
)
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Identity
from stretto.launch.said import telling
from stretto.measure import process
from stretto.measure.commandline import Starter, command_line
from stretto.measure.compare import NATIVE
from stretto.measure.idle import busy_note
from stretto.measure.inlaunch import written_in
from stretto.measure.job import format_job
from stretto.measure.ledger import Ledger, check_same
from stretto.measure.reader import LaunchReader
from stretto.measure.reference import REFERENCE
from stretto.measure.settings import STARTUP_S, Case, Settings
from stretto.mpi.base import MPIInstallation
from stretto.progress import Progress

#: a launch is given up after so many starts that brought nothing new
TRIES = 2
#: of the budget: a launch that lasts so much longer is ended
SLACK = 0.03
RETRY = "the same command tries it once more; {anew} measures everything again"


@dataclass
class Campaign:
    """One campaign under way; `notes` are for its end, `anew` is the option that measures anew."""

    settings: Settings
    installation: MPIInstallation
    writer: BenchWriter
    say: Callable[[str], None]
    quiet: bool = False
    start: Starter | None = None
    notes: list[str] = field(default_factory=list)
    stop_at: float | None = None
    anew: str = "--restart"
    ledger: Ledger = field(init=False)
    _never_began: bool = field(init=False, default=False)
    #: how long starting and ending the last launch took (s); a guess before the first
    _start_s: float = field(init=False, default=STARTUP_S)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.settings, self.writer.previous.records)
        for record in self.ledger.again:
            self.say(
                f"stretto: note: {record.candidate} for {record.collective} had {record.reason} "
                f"({record.detail}); retried once"
            )

    def pending(self, launch: int) -> list[Case]:
        return self.ledger.pending(launch)

    def run(self) -> None:
        todo = [k for k in self.ledger.order() if self.pending(k)]
        if self.settings.budget_s is not None:
            self.stop_at = time.monotonic() + self.settings.budget_s
        cells = sum(len(self.pending(k)) for k in todo)
        if not cells:
            return
        begun = time.monotonic()
        kept = f"measurements so far are in {self.writer.path}; the same command continues"
        bar = Progress("measuring", cells, quiet=self.quiet, unit="points")
        with keeping(kept), bar as progress:
            for place, launch in enumerate(todo):
                if not self._launch(launch, len(todo) - place, progress):
                    left = sum(len(self.pending(k)) for k in todo)
                    pace = (time.monotonic() - begun) * left / max(cells - left, 1)
                    self.note(
                        f"{BUDGET_ENDED} after {place} of {counted(len(todo), 'launch')}; "
                        f"missing: about {duration(max(self.ledger.left_s(), pace))} more "
                        "(--budget; the same command continues)"
                    )
                    break

    def _launch(self, launch: int, left: int, progress: Progress) -> bool:
        """Start a launch, again as long as that brings something new; False: the time is over."""
        done_before = progress.done
        total = len(self.pending(launch))
        if not self.launch_once(launch, lambda: self._share(left), progress):
            return False
        if self.pending(launch) and launch == self.ledger.order()[0] and not self.ledger.done:
            why = self.notes[-1] if self.notes else "no reason is known"
            raise StrettoError(
                f"the first launch measured nothing: {why}",
                self.settings.variant_of(launch),
                "run `stretto check`, and a small MPI program with the same mpirun; with several "
                "nodes, put the results file (-o) on a shared file system",
            )
        progress.update(done_before + total)
        return True

    @property
    def over(self) -> bool:
        # launches are planned to end with the budget: one that does by a hair is not cut off
        slack = SLACK * (self.settings.budget_s or 0.0)
        return self.stop_at is not None and time.monotonic() >= self.stop_at + slack

    def launch_once(self, launch: int, budget_s: Callable[[], float], progress: Progress) -> bool:
        """Start one launch, and again as long as that brings something new; False: no time left.

        `launch`: its number.
        `budget_s`: seconds for measuring, asked at each start; 0 for no limit.
        """
        fruitless = 0
        self._never_began = False
        # ranks that hung before they had found one another will again, at the same cost
        while self.pending(launch) and fruitless < TRIES and not self._never_began:
            # a launch that could only start would measure nothing
            if self.stop_at is not None and time.monotonic() > self.stop_at - self._start_s:
                return False
            before = self.ledger.progress
            self._start(launch, budget_s(), progress)
            if self.over and self.pending(launch):
                return False
            fruitless = 0 if self.ledger.progress > before else fruitless + 1
        return True

    def _share(self, left: int) -> float:
        if self.stop_at is None:
            return 0.0
        return max(0.05, (self.stop_at - time.monotonic()) / left - self._start_s)

    def _start(self, launch: int, budget_s: float, progress: Progress) -> None:
        cases = self.pending(launch)
        path = self.writer.path
        try:
            directory = Path(
                tempfile.mkdtemp(prefix=f".{path.name}.launch{launch}.", dir=path.parent or ".")
            )
        except OSError as error:
            raise from_oserror(
                error, "cannot make a directory for the launch", path.parent
            ) from error
        try:
            job, output, status = (directory.resolve() / n for n in ("job", "output", "status"))
            written = written_in(self.settings, self.installation, launch, cases)
            text = format_job(self.settings, launch, cases, output, status, budget_s, written)
            try:
                job.write_text(text, "utf-8")
            except OSError as error:
                raise from_oserror(error, "cannot write the job", job) from error
            command, environ = command_line(
                self.settings, self.installation, launch, job, self.start
            )
            reader = LaunchReader(self, launch, cases, output, status, progress)
            began = time.monotonic()
            try:
                ended = process.run(
                    command, environ, directory / "log", reader.watch, scratch=directory.resolve()
                )
            finally:
                reader.read()
            self._conclude(launch, ended, reader, time.monotonic() - began)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _conclude(
        self, launch: int, ended: process.Ended, reader: LaunchReader, seconds: float
    ) -> None:
        if ended.status == 0 and not ended.stopped:
            self._end(LaunchEnd(launch, "ok", "", round(seconds, 2)), reader)
            if reader.usage is not None:
                self._start_s = max(seconds - reader.usage.wall_s, 0.0)
            return
        if ended.stopped and self.over:  # nobody's fault: what is missing is measured another time
            self._end(LaunchEnd(launch, "timeout", BUDGET_ENDED, round(seconds, 2)), reader)
            return
        at = reader.status()
        words = telling(ended.output)
        if ended.stopped:
            status: Literal["timeout", "failed"] = "timeout"
            self._never_began = not reader.started
            detail = f"no output for {self.settings.stall_s:.0f} s"
            detail += f": {words}" if words else ""
        else:
            status = "failed"
            how = f"signal {-ended.status}" if ended.status < 0 else f"exit code {ended.status}"
            detail = f"{how}: {words}" if words else how
        at = None if at is None else reader.who(at)
        if at is not None:
            why = f"at {sized(at.bytes)}: {detail}"
            detail = f"{at.candidate} at {at.collective} {sized(at.bytes)}: {detail}"
            blamed = at.candidate not in (NATIVE, "bare", REFERENCE) and reader.started
            if blamed and (at.collective, at.candidate) not in self.ledger.gone:
                again = not ended.stopped and self.ledger.strike(at.collective, at.candidate)
                if again:
                    detail += "; retried once"
                else:
                    self.keep(
                        Excluded(launch, at.collective, at.candidate, at.bytes,
                                 "hung" if ended.stopped else "failed", why)
                    )  # fmt: skip
        self.note(f"launch {launch} ({self.settings.variant_of(launch)}): {detail}")
        self._end(LaunchEnd(launch, status, detail, round(seconds, 2)), reader)

    def _end(self, end: LaunchEnd, reader: LaunchReader) -> None:
        reader.announce()
        end = replace(end, usage=reader.usage)
        self.ledger.count(end)
        self.writer.write(end)

    def keep(self, record: Record) -> None:
        if isinstance(record, Excluded):
            if (record.collective, record.candidate) in self.ledger.gone:
                return
            self.note(
                f"{record.candidate} is excluded for {record.collective}: {record.detail}"
                + (f" ({RETRY.format(anew=self.anew)})" if record.reason in CRASHES else "")
            )
        self.ledger.count(record)
        self.writer.write(record)

    def note(self, text: str) -> None:
        """Tell the user now, and again with the results."""
        self.notes.append(text)
        self.say(f"stretto: warning: {text}")


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

    `restart`: put an existing file aside (``NAME.old``) instead of going on.
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
    bench = read_bench(path)
    if (busy := busy_note(bench)) is not None:
        campaign.note(busy)
    return bench, campaign.notes
