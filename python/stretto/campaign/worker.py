"""One process that works on a campaign: takes a layout that nobody measures, measures it, goes on.

Any number of these processes may work on one directory: the results of each layout are locked by
the process that measures there. Nothing is remembered that is not in the results.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from stretto.campaign.elimination import State
from stretto.campaign.layout import Layout
from stretto.campaign.plan import LayoutPlan, check_plan
from stretto.campaign.site import Site, Standing, gains, ledger_of, results_of
from stretto.errors import EXIT_FAULT, StrettoError
from stretto.files.append import BusyError
from stretto.files.bench import Bench, Excluded
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Identity, titled
from stretto.measure.settings import STARTUP_S, Settings
from stretto.mpi.algorithms.base import PREFIX
from stretto.progress import Progress

#: s: between two looks at what other processes have done, when there is nothing to do oneself
POLL_S = 2.0
#: after so many launches in a row that brought nothing it is asked whether nodes and MPI still work
FRUITLESS = 3
#: and after so many also where the ranks come up by themselves; at once where the first ones hang
HOPELESS = 6
#: launches of a kind, none of which brought anything, after which its candidate is excluded
FAILED = 3


class Backend(Protocol):
    """Measures launches of layouts: by real ones, or anything else that writes records."""

    def fits(self, layout: Layout) -> str | None:
        """Return why a layout cannot be measured here, None when it can."""

    def prepare(self, layout: Layout, oversubscribed: bool) -> str:
        """Make sure that the ranks come to lie as the layout says; return the nodes' processor."""

    def measure(
        self, settings: Settings, launch: int, writer: BenchWriter, stop_at: float | None
    ) -> bool:
        """Measure what is missing of a launch into `writer`; return whether all of it is there.

        `stop_at`: when the launch is ended, by `time.monotonic`.
        """


class Worker(Standing):
    """Measures a campaign of one MPI: what is missing by how it stands.

    `stop_at`: by `time.monotonic`; None: when all is measured.
    `only`: the layouts that this one measures, those that it prefers first; None: all. The others
    are looked at only.
    `stopping`: set by a signal: the launch under way is the last.
    `ended`: set where something else has ended the measuring.
    """

    def __init__(
        self,
        plans: list[LayoutPlan],
        base: Path,
        backend: Backend,
        identity: Identity,
        command: list[str],
        say: Callable[[str], None],
        stop_at: float | None = None,
        quiet: bool = False,
        poll_s: float = POLL_S,
        only: Sequence[Layout] | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        for plan in plans:
            check_plan(results_of(base, plan.layout), plan, identity)
        super().__init__(plans, base, identity)
        self.backend = backend
        self.command = command
        self.say = say
        self.stop_at = stop_at
        self.longest_s = 0.0
        self.quiet = quiet
        self.poll_s = poll_s
        self.stopping = stopping or threading.Event()
        self.ended = threading.Event()
        self.mine = self.all() if only is None else [self.sites[x] for x in only]
        self._busy = False  # another process measures a layout that this one waits for

    def run(self) -> bool:
        """Measure until nothing is left for this process; return whether the campaign is complete.

        Complete means measured, given up after failures, or impossible here: `notes` of the backend
        and `Site.closed` say which.
        """
        with Progress(self.title, quiet=self.quiet, before=self.progress()[0]) as progress:
            progress.word = "ended"
            waited = False
            while True:
                self._busy = worked = False
                for site in self.mine:
                    if self.enough():
                        progress.word = "stopped"
                        return False
                    worked |= not site.ended and self._work_on(site, progress)
                if all(s.ended for s in self.mine):
                    if all(s.over for s in self.mine):
                        progress.word = "done"
                    return True
                if not worked and not self._busy:
                    return False
                if not worked:
                    if not waited:
                        waited = True
                        self.say(
                            "stretto: waiting: other processes are measuring the remaining points"
                        )
                    self.stopping.wait(self.poll_s)

    @property
    def title(self) -> str:
        return f"measuring {titled(self.identity.mpi)}"

    def enough(self) -> bool:
        return self._late() or self.stopping.is_set() or self.ended.is_set()

    def _late(self) -> bool:
        # the next launch takes about as long as the longest so far
        ahead = max(self.longest_s, STARTUP_S)
        return self.stop_at is not None and time.monotonic() + ahead >= self.stop_at

    def look(self, site: Site) -> None:
        """As in `Standing`, unless another process measures there."""
        if site.held:
            self._busy = True
            return
        try:
            super().look(site)
        except StrettoError as error:
            self._close(site, error)

    def _work_on(self, site: Site, progress: Progress) -> bool:
        """Measure a layout to its end if it can be had; return whether anything came of it."""
        if self.settled(site):
            return True
        if not all(self.sites[x].ended for x in site.teachers) or site.held:
            return False
        reason = self.backend.fits(site.plan.layout)
        if reason is not None:
            self._close(site, StrettoError(reason))
            return True
        if not site.prepared and not self._prepare(site):
            return True
        try:
            writer = site.opened(self.identity, self.command)
        except BusyError:
            self._busy = True
            return False
        except StrettoError as error:
            self._close(site, error)
            return True
        with writer:
            if not writer.locked:
                self.say(
                    "stretto: warning: this file system does not support locks: run one process "
                    "of the campaign at a time"
                )
            while not self.enough() and not site.ended:
                turn = self.turn(site)
                if turn is None:
                    site.over = True
                else:
                    self._show(progress, site, turn)
                    self._measure(site, turn, writer)
        return True

    def _measure(self, site: Site, turn: int, writer: BenchWriter) -> None:
        """Measure the first launch of a round that lacks something."""
        ledger, began = ledger_of(site), time.monotonic()
        launch = next(
            k
            for k in site.plan.settings.order_of(turn)
            if k not in site.given_up and self.lacks(site, k, ledger)
        )  # fmt: skip
        found: State = self.cases(site, turn)
        settings = site.plan.in_round(turn, found.cases)
        known = gains(site.bench)
        done = self.backend.measure(settings, launch, writer, self.stop_at)
        if not done and self._late():  # nobody's fault
            return
        gained = gains(site.bench) > known
        out = [] if done or gained else refused(settings, launch, site.bench)
        for record in out:
            writer.write(record)
        if not done:
            site.given_up.add(launch)
        if out:  # once more, and where that is of no use either its launches lack nothing
            kind = settings.variant_of(launch)
            site.given_up -= {k for k in site.given_up if settings.variant_of(k) == kind}
        site.fruitless = 0 if done or gained else site.fruitless + 1
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        if not site.fruitless or site.fruitless % FRUITLESS:
            return
        end = site.bench.ends.get(launch)
        hung = end is not None and end.status == "timeout"
        site.prepared = False  # is it the candidates, or has a node gone?
        if not self._prepare(site) or (site.bench.samples and site.fruitless < HOPELESS):
            return
        if hung or site.fruitless >= HOPELESS:  # the ranks come up, and yet nothing comes of them
            why = end.detail if end is not None else "the reason is unknown"
            words = f"{site.fruitless} launches in a row produced no results: {why}"
            self._close(site, StrettoError(words))

    def _prepare(self, site: Site) -> bool:
        layout, cpu, began = site.plan.layout, self.identity.host.cpu, time.monotonic()
        try:
            found = self.backend.prepare(layout, site.plan.settings.oversubscribed)
            if found != cpu:
                raise StrettoError(f"its nodes are {found}, but those of the campaign are {cpu}")
        except StrettoError as error:
            self._close(site, error)
            return False
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        site.prepared = True
        site.take_up()
        return True

    def _close(self, site: Site, error: StrettoError) -> None:
        if error.exit_code != EXIT_FAULT:  # the file system is away
            raise error
        site.leave_out(str(error), error.remedy)
        self.say(f"stretto: warning: {site.plan.layout.words} is left out: {site.closed}")

    def _show(self, progress: Progress, site: Site, turn: int) -> None:
        done, total = self.progress()
        progress.most = site.plan.eliminate  # most layouts end before
        progress.update(done, f"{site.plan.layout.words}, round {turn + 1}", total)


def refused(settings: Settings, launch: int, bench: Bench) -> list[Excluded]:
    """Return what to exclude after a launch that brought nothing: its candidate, if it is to blame.

    It is where launches of its own have failed `FAILED` times, whenever that was, and others come
    up on the same nodes. Of a launch that several share nobody can say which one it was.

    `launch`: its number.
    """
    kind = settings.variant_of(launch)
    ends = bench.ends
    if not kind.startswith(PREFIX) or launch not in ends:
        return []
    ended = [k for k, e in ends.items() if settings.variant_of(k) == kind and e.at_fault]
    measured = {s.launch for s in bench.samples}
    if len(ended) < FAILED or not measured or measured.intersection(ended):
        return []
    detail = f"{len(ended)} launches produced no results; the last: {ends[launch].detail}"
    first = {case.collective: case for case in reversed(settings.cases_of(kind))}
    return [Excluded(launch, c, kind, x.bytes, "failed", detail) for c, x in first.items()]
