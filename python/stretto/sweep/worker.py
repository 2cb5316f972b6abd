"""One process that works on a campaign: takes a launch that nobody has, measures it, goes on.

Data flows one way: files -> what is missing -> a claim -> a launch -> this process's own file.
Nothing is remembered that is not in the files, so that a kill loses the launch under way and
nothing else, and any number of these processes may work on one directory.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stretto.campaign.ledger import Ledger
from stretto.errors import StrettoError
from stretto.files.identity import Identity
from stretto.mpi.base import TITLES
from stretto.progress import Progress
from stretto.sweep.backend import Backend
from stretto.sweep.claims import Claims, Holder, me
from stretto.sweep.closing import Closing
from stretto.sweep.contest import contest
from stretto.sweep.elimination import Policy, State
from stretto.sweep.expected import expected_s
from stretto.sweep.folder import Folder
from stretto.sweep.layout import Layout, guides, teachers
from stretto.sweep.plan import LayoutPlan, keep_plan
from stretto.sweep.refused import refused
from stretto.sweep.site import Site, Unit, gains
from stretto.sweep.times import Medians, medians, until

#: s: between two looks at what other processes have done, when there is nothing to do oneself
POLL_S = 2.0
#: after so many launches in a row that brought nothing it is asked whether nodes and MPI still work
FRUITLESS = 3
#: and after so many also where the ranks come up by themselves; at once where the first ones hang
HOPELESS = 6


class Worker:
    """Measures a campaign of one MPI.

    Parameters
    ----------
    plans
        Of all layouts, in the order of measuring.
    base
        Directory of this MPI's results; each layout has its own below.
    backend
        Measures.
    identity, command
        For the headers of the files.
    say
        Prints a sentence to the user.
    policy
        When candidates are dropped; None: never.
    stop_at
        By `time.monotonic`; no launch is begun after it.
    quiet
        No progress bar.
    poll_s
        See `POLL_S`.
    holder, stale_s
        For the claims.
    only
        The layouts that this one measures, those that it prefers first; None: all. The others are
        looked at only.
    glance
        As in `Claims`: this one only says how far the campaign is.

    Attributes
    ----------
    stopping
        Set by a signal: the launch under way is the last.
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
        glance: bool = False,
    ) -> None:
        self.base = base
        self.backend = backend
        self.identity = identity
        self.command = command
        self.say = say
        self.policy = policy
        self.stop_at = stop_at
        self.quiet = quiet
        self.poll_s = poll_s
        self.holder = holder or me()
        self.stopping = threading.Event()
        self.node_cpu = node_cpu
        order = [p.layout for p in plans]
        more = {} if stale_s is None else {"stale_s": stale_s}
        self.sites: dict[Layout, Site] = {}
        for plan in plans:
            directory = base / plan.layout.name
            directory.mkdir(parents=True, exist_ok=True)
            keep_plan(directory, plan, identity, node_cpu)
            self.sites[plan.layout] = Site(
                plan,
                Folder(directory, identity, plan.settings.modes, node_cpu),
                Claims(directory / "claims", self.holder, **more),
                guides(plan.layout, order) if policy is not None else [],
                teachers(plan.layout, order) if policy is not None else [],
            )
        for site in self.sites.values():
            site.claims.glance = glance
            site.doubt()
        self.mine = [self.sites[x] for x in (order if only is None else only)]
        self.closing = Closing(plans, policy) if policy is not None else None

    def run(self) -> bool:
        """Measure until nothing is left for this process; return whether the campaign is complete.

        Complete means measured, given up after failures, or impossible here: `notes` of the backend
        and `Site.closed` say which.
        """
        title, quiet = self.title, self.quiet
        self.close()  # with the waves of earlier starts known, too
        try:
            with Progress(title, quiet=quiet, before=self.progress()[0]) as progress:
                while not self.enough():
                    seen = self._claimed()
                    unit = self.next_unit()
                    if unit is not None:
                        self._measure(unit)
                        self._show(progress, unit)
                    elif all(s.over or s.closed is not None for s in self.mine):
                        return True
                    elif self._others_work() or self._claimed() != seen:
                        self.stopping.wait(self.poll_s)
                    else:
                        return False
                return False
        finally:
            for site in self.all():
                if site.writer is not None:
                    site.writer.close()
                site.clear()

    @property
    def title(self) -> str:
        """What is measured, in words: of several MPIs in turn it says which one."""
        mpi = self.identity.mpi
        return f"measuring {TITLES[mpi.family]} {mpi.version}"

    def all(self) -> list[Site]:
        """Return all layouts, in the order of measuring."""
        return list(self.sites.values())

    def enough(self) -> bool:
        """Return whether no further launch is to be begun."""
        late = self.stop_at is not None and time.monotonic() >= self.stop_at
        return late or self.stopping.is_set()

    def next_unit(self) -> Unit | None:
        """Return a launch that can be measured now, None when all are measured, held or blocked."""
        self.close()
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

    def settled(self, site: Site) -> bool:
        """Return whether a layout's search is final as far as this start goes: others may learn."""
        if not site.searched and site.closed is None:
            if not all(self.settled(self.sites[x]) for x in site.teachers):
                return False
            self._unit_of(site)
        return site.searched or site.closed is not None

    def finished(self, site: Site) -> bool:
        """Return whether nothing is left for this start on a layout, closing rounds included."""
        self.close()
        if not site.over and self.settled(site) and site.closed is None:
            self._unit_of(site)
        return site.over or site.closed is not None

    def close(self) -> None:
        """Plan the next closing rounds as soon as all rounds before them are complete."""
        closing = self.closing
        while closing is not None and not closing.over:
            planned = len(closing.waves)  # lanes share it: another one may be faster
            if not all(self.settled(s) for s in self.all()):
                return
            open_sites = [s for s in self.all() if s.closed is None]
            if any(self.turn(s, s.claims.listing()) is not None for s in open_sites):
                return
            benches = {s.plan.layout: s.folder.merged().bench for s in self.all()}
            closed = {s.plan.layout for s in self.all() if s.closed is not None}
            closing.advance({x: b for x, b in benches.items() if b.samples}, closed, planned)

    def _unit_of(self, site: Site) -> Unit | None:
        """Return the first launch of the present round that is free; marks the layout as over."""
        listing = site.claims.listing()
        bench = site.folder.merged().bench
        turn = self.turn(site, listing)
        if turn is None or turn >= site.plan.settings.launches:
            site.searched = True
        if turn is None:
            site.over = self.closing is None or self.closing.over
            return None
        found = self.cases(site, turn)
        settings = site.plan.in_round(turn, found.cases, self.policy)
        ledger = Ledger(settings, bench.records)
        for launch in site.order(turn, found):
            status, generation = site.claims.state(launch, listing)
            if status == "done" and self.lacks(site, turn, launch):
                status = "open"
            if status == "open" and launch not in site.given_up:
                if ledger.pending(launch):
                    return Unit(site, launch, generation, turn, found)
                claim = site.claims.take(launch, generation)  # nothing left of it to measure
                if claim is not None:
                    claim.end(done=True)
                    listing = site.claims.listing()
        return self._unit_of(site) if self.turn(site, listing) != turn else None

    def turn(self, site: Site, listing: Mapping[int, Mapping[int, bool]]) -> int | None:
        """Return the first round that is not complete, None when all are that are planned.

        After the rounds that were asked for come the closing ones, a wave at a time.

        Parameters
        ----------
        site
            The layout.
        listing
            Its claims.
        """
        plain = {k: dict(v) for k, v in listing.items()}
        asked = site.plan.settings.launches
        rounds = asked if self.closing is None else self.closing.rounds(site.plan.layout)
        for turn in range(rounds):
            launches: Sequence[int] = site.plan.launches_of(turn)
            if turn >= asked:
                launches = site.launches_of(turn, self.cases(site, turn))
            for launch in launches:
                if launch in site.given_up:
                    continue
                state = site.claims.state(launch, plain)[0]
                if state != "done" or self.lacks(site, turn, launch):
                    return turn
        return None

    def lacks(self, site: Site, turn: int, launch: int) -> bool:
        """Return whether of a launch that an earlier start has done the files hold less.

        Parameters
        ----------
        site, turn, launch
            The layout, a round whose predecessors are complete, and one of its launches.
        """
        if launch not in site.doubted:
            return False
        records = site.folder.merged().bench.records
        if site.looked is None or site.looked[:2] != (turn, len(records)):
            settings = site.plan.in_round(turn, self.cases(site, turn).cases, self.policy)
            ledger = Ledger(settings, records)
            ledger.gone |= {(r.collective, r.candidate) for r in ledger.again}  # then as well
            site.looked = turn, len(records), ledger
        if site.looked[2].pending(launch):
            return True
        site.doubted.discard(launch)
        return False

    def cases(self, site: Site, turn: int) -> State:
        """Return what is worth measuring in a round of a layout."""
        if self.closing is not None and turn >= site.plan.settings.launches:
            return State(self.closing.cases(site.plan.layout, turn), ())
        return self.search(site, turn)

    def search(self, site: Site, turn: int) -> State:
        """Return what the rounds before one leave to be measured, and whom they have dropped."""
        if self.policy is None:
            return State(site.plan.settings.cases, ())
        if turn in site.known:
            return site.known[turn]  # it rests on the rounds before, which are complete
        found = contest(
            site.plan.settings,
            site.plan.layout,
            self.times(site),
            {x: self.searched(self.sites[x]) for x in site.teachers},
            [self.searched(self.sites[x]) for x in site.guides],
            turn,
            self.policy,
            site.plan.unlikely,
            site.memory,
        )
        site.known[turn] = found
        return found

    def times(self, site: Site) -> Medians:
        """Return a layout's medians by shape, candidate and round."""
        return medians(site.folder.merged().bench, site.plan.nvariants)

    def searched(self, site: Site) -> Medians:
        """Return what a layout's rounds before the closing ones tell: what others learn from it."""
        plan = site.plan
        asked = until(site.folder.merged().bench, plan.settings.launches * plan.nvariants)
        return medians(asked, plan.nvariants)

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
        """Return whether another process holds a launch that this one has to wait for."""
        for site in self.all():
            if site.over or site.closed is not None:
                continue
            listing = site.claims.listing()
            if any(site.claims.state(k, listing)[0] == "held" for k in listing):
                return True
        return False

    def done(self) -> int:
        """Return how many launches of complete rounds are done."""
        done = 0
        for site in self.all():
            turn, asked = self.turn(site, site.claims.listing()), site.plan.settings.launches
            done += (asked if turn is None else min(turn, asked)) * site.plan.nvariants
        return done

    @functools.cached_property
    def _usual_s(self) -> float:
        """What the search takes, as it usually goes."""
        return sum(expected_s([s.plan for s in self.all()], self.policy))

    def progress(self) -> tuple[int, int]:
        """Return how far the campaign is, in launches: done, and in all.

        Closing rounds count as so many launches as the search would have had in their time; of
        them nobody knows how many there will be, but they end with the time they may take.
        """
        asked = sum(s.plan.nvariants * s.plan.settings.launches for s in self.all())
        closing, done = self.closing, self.done()
        if closing is None or closing.over:
            return done, max(asked, done)
        if not closing.searched_s or closing.measured_s is None:
            more = closing.limit_s / self._usual_s if self._usual_s else 1.0
            return done, round(asked * max(1.0, more))
        whole = asked / closing.searched_s
        return round(whole * closing.measured_s), round(whole * closing.limit_s)

    def _show(self, progress: Progress, unit: Unit) -> None:
        plan = unit.site.plan
        what = f"{plan.layout.words}, round {unit.turn + 1}"
        what += "" if unit.turn < plan.settings.launches else " (closing)"
        done, total = self.progress()
        progress.update(done, f"{what}, launch {unit.launch}", total)
