"""One process that works on a campaign: takes a launch that nobody has, measures it, goes on.

Data flows one way: files -> what is missing -> a claim -> a launch -> this process's own file.
Nothing is remembered that is not in the files, so that a kill loses the launch under way and
nothing else, and any number of these processes may work on one directory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stretto.campaign.backend import Backend
from stretto.campaign.claims import Holder
from stretto.campaign.elimination import Policy
from stretto.campaign.layout import Layout
from stretto.campaign.plan import LayoutPlan, keep_plan
from stretto.campaign.site import Site, Unit, gains
from stretto.campaign.standing import Standing
from stretto.errors import StrettoError
from stretto.files.bench import Bench, Excluded
from stretto.files.identity import Identity, titled
from stretto.measure.ledger import Ledger
from stretto.measure.settings import Settings
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


class Worker(Standing):
    """Measures a campaign of one MPI: what is missing by how it stands.

    `stopping`: as below; None: its own.
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
        policy: Policy | None = None,
        stop_at: float | None = None,
        quiet: bool = False,
        poll_s: float = POLL_S,
        holder: Holder | None = None,
        stale_s: float | None = None,
        node_cpu: str | None = None,
        only: Sequence[Layout] | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        for plan in plans:
            directory = base / plan.layout.name
            directory.mkdir(parents=True, exist_ok=True)
            keep_plan(directory, plan, identity, node_cpu)
        super().__init__(plans, base, identity, policy, holder, stale_s, node_cpu)
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

    def run(self) -> bool:
        """Measure until nothing is left for this process; return whether the campaign is complete.

        Complete means measured, given up after failures, or impossible here: `notes` of the backend
        and `Site.closed` say which.
        """
        title, quiet = self.title, self.quiet
        try:
            with Progress(title, quiet=quiet, before=self.progress()[0]) as progress:
                progress.word = "ended"
                while not self.enough():
                    seen = self._claimed()
                    unit = self.next_unit()
                    if unit is not None:
                        began = time.monotonic()
                        self._measure(unit)
                        self.longest_s = max(self.longest_s, time.monotonic() - began)
                        self._show(progress, unit)
                    elif all(s.over or s.closed is not None for s in self.mine):
                        if all(s.over for s in self.mine):
                            progress.word = "done"
                        return True
                    elif self._others_work() or self._claimed() != seen:
                        self.stopping.wait(self.poll_s)
                    else:
                        return False
                progress.word = "stopped"
                return False
        finally:
            for site in self.all():
                if site.writer is not None:
                    site.writer.close()
                site.clear()

    @property
    def title(self) -> str:
        return f"measuring {titled(self.identity.mpi)}"

    def enough(self) -> bool:
        # the next launch takes about as long as the longest so far
        late = self.stop_at is not None and time.monotonic() + self.longest_s >= self.stop_at
        return late or self.stopping.is_set() or self.ended.is_set()

    def next_unit(self) -> Unit | None:
        """Return a launch that can be measured now, None when all are measured, held or blocked."""
        for site in self.mine:
            if site.over or site.closed is not None:
                continue
            reason = self.backend.fits(site.plan.layout)
            if reason is not None:
                self._close(site, reason)
                continue
            if not all(self.settled(self.sites[x]) for x in site.teachers):
                continue
            unit = self._unit_of(site)
            if unit is not None:
                return unit
        return None

    def look(self, site: Site) -> None:
        """As in `Standing`; launches of which nothing is left to be measured become done."""
        self._unit_of(site)

    def _unit_of(self, site: Site) -> Unit | None:
        """Return the first launch of the present round that is free, once it was looked at."""
        listing = site.claims.listing()
        bench = site.folder.merged().bench
        turn = self.turn(site, listing)
        if turn is None:
            site.over = True
            return None
        found = self.cases(site, turn)
        settings = site.plan.in_round(turn, found.cases, self.policy)
        ledger = Ledger(settings, bench.records)
        for launch in site.order(turn):
            status, generation = site.claims.state(launch, listing)
            if status == "done" and self.lacks(site, turn, launch) and launch in site.doubted:
                status = "open"
            if status == "open" and launch not in site.given_up:
                if ledger.pending(launch):
                    return Unit(site, launch, generation, turn, found)
                claim = site.claims.take(launch, generation)  # nothing left of it to measure
                if claim is not None:
                    claim.end(done=True)
                    listing = site.claims.listing()
        return self._unit_of(site) if self.turn(site, listing) != turn else None

    def _measure(self, unit: Unit) -> None:
        site = unit.site
        if not site.prepared and not self._prepare(site):
            return
        claim = site.claims.take(unit.launch, unit.generation)
        if claim is None:
            return  # another process was faster
        done = False
        if unit.launch in site.doubted and not site.lost:
            site.lost = True
            words = site.plan.layout.words
            self.say(f"stretto: warning: {words}: what was measured is not in the files any more")
        try:
            before = site.folder.merged().bench
            settings = site.plan.in_round(unit.turn, unit.cases.cases, self.policy)
            known = gains(before)
            writer = site.opened(self.identity, self.command, self.node_cpu, self.holder)
            writer.generation = unit.generation + 1
            done = self.backend.measure(settings, unit.launch, writer, before)
            after = site.folder.merged().bench
            gained = gains(after) > known
            out = [] if done or gained else refused(settings, unit.launch, after)
            for record in out:
                writer.write(record)
        finally:
            claim.end(done)
            site.doubted.discard(unit.launch)
        if not done:
            site.given_up.add(unit.launch)
        if out:  # once more, and where that is of no use either its launches lack nothing
            kind = settings.variant_of(unit.launch)
            site.given_up -= {k for k in site.given_up if settings.variant_of(k) == kind}
        site.fruitless = 0 if done or gained else site.fruitless + 1
        if not site.fruitless or site.fruitless % FRUITLESS:
            return
        end = after.ends.get(unit.launch)
        hung = end is not None and end.status == "timeout"
        site.prepared = False  # is it the candidates, or has a node gone?
        if not self._prepare(site) or (after.samples and site.fruitless < HOPELESS):
            return
        if hung or site.fruitless >= HOPELESS:  # the ranks come up, and yet nothing comes of them
            why = end.detail if end is not None else "no reason is known"
            self._close(site, f"{site.fruitless} launches in a row brought nothing: {why}")

    def _prepare(self, site: Site) -> bool:
        layout = site.plan.layout
        try:
            cpu = self.backend.prepare(layout, site.plan.settings.oversubscribed)
        except StrettoError as error:
            self._close(site, str(error), error.remedy)
            return False
        if self.node_cpu is not None and cpu != self.node_cpu:
            self._close(site, f"its nodes are {cpu}, and the campaign's are {self.node_cpu}")
            return False
        site.prepared = True
        site.take_up()
        return True

    def _close(self, site: Site, why: str, remedy: str | None = None) -> None:
        site.leave_out(why, remedy, self.holder.place)
        self.say(f"stretto: warning: {site.plan.layout.words} is left out: {site.closed}")

    def _claimed(self) -> list[dict[int, dict[int, bool]]]:
        """Return all claims: when they change during a look, the look saw no one moment."""
        return [s.claims.listing() for s in self.all() if not s.over and s.closed is None]

    def _others_work(self) -> bool:
        """Return whether another process holds a launch that this one has to wait for.

        Or did a moment ago, and what it has measured may not be seen yet.
        """
        for site in self.all():
            if site.over or site.closed is not None:
                continue
            if site.unseen:
                return True
            listing = site.claims.listing()
            if any(site.claims.state(k, listing)[0] == "held" for k in listing):
                return True
        return False

    def _show(self, progress: Progress, unit: Unit) -> None:
        plan = unit.site.plan
        what = f"{plan.layout.words}, round {unit.turn + 1}"
        done, total = self.progress()
        progress.most = self.policy is not None  # most layouts end before
        progress.update(done, f"{what}, launch {unit.launch}", total)


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
    ended = [k for k in ends if settings.variant_of(k) == kind]
    measured = {s.launch for s in bench.samples}
    if len(ended) < FAILED or not measured or measured.intersection(ended):
        return []
    detail = f"{len(ended)} launches brought nothing, the last: {ends[launch].detail}"
    first = {case.collective: case for case in reversed(settings.cases_of(kind))}
    return [Excluded(launch, c, kind, x.bytes, "failed", detail) for c, x in first.items()]
