"""How a campaign of one MPI stands, from its files: which rounds are complete, what comes next.

Nothing is measured or written here, so that any process may look while others work.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from stretto.campaign.ledger import Ledger
from stretto.files.identity import Identity
from stretto.sweep.claims import Claims, Holder, me
from stretto.sweep.closing import Closing
from stretto.sweep.contest import contest
from stretto.sweep.elimination import Policy, State
from stretto.sweep.expected import expected_s
from stretto.sweep.folder import Folder
from stretto.sweep.layout import Layout, guides, teachers
from stretto.sweep.plan import LayoutPlan
from stretto.sweep.site import Site
from stretto.sweep.times import Medians, medians, until

#: s: after so long what another process has written can be read
SEEN_S = 90.0


class Standing:
    """What is measured of a campaign, and what is missing.

    Parameters
    ----------
    plans
        Of all layouts, in the order of measuring.
    base
        Directory of this MPI's results; each layout has its own below.
    identity
        Of host and MPI.
    policy
        When candidates are dropped; None: never.
    holder, stale_s
        For the claims.
    node_cpu
        What the nodes are; None: the host of `identity`.
    glance
        As in `Claims`: this one only says how far the campaign is.
    """

    def __init__(
        self,
        plans: list[LayoutPlan],
        base: Path,
        identity: Identity,
        policy: Policy | None,
        holder: Holder | None = None,
        stale_s: float | None = None,
        node_cpu: str | None = None,
        glance: bool = False,
    ) -> None:
        self.base = base
        self.identity = identity
        self.policy = policy
        self.holder = holder or me()
        self.node_cpu = node_cpu
        self.glance = glance
        order = [p.layout for p in plans]
        more = {} if stale_s is None else {"stale_s": stale_s}
        self.sites: dict[Layout, Site] = {}
        for plan in plans:
            directory = base / plan.layout.name
            self.sites[plan.layout] = Site(
                plan,
                Folder(directory, identity, plan.settings.modes, node_cpu),
                Claims(directory / "claims", self.holder, glance=glance, **more),
                guides(plan.layout, order) if policy is not None else [],
                teachers(plan.layout, order) if policy is not None else [],
            )
        for site in self.sites.values():
            site.doubt()
        self.closing = Closing(plans, policy) if policy is not None else None

    def all(self) -> list[Site]:
        """Return all layouts, in the order of measuring."""
        return list(self.sites.values())

    def noted(self, site: Site, listing: Mapping[int, Mapping[int, bool]]) -> int | None:
        """Return a layout's first round that is not complete, as `turn` does, and note its state.

        Parameters
        ----------
        site, listing
            The layout, and its claims.
        """
        turn = self.turn(site, listing)
        if turn is None or turn >= site.plan.settings.launches:
            site.searched = True
        if turn is None:
            site.over = self.closing is None or self.closing.over
        return turn

    def look(self, site: Site) -> None:
        """Note how far a layout is."""
        self.noted(site, site.claims.listing())

    def settled(self, site: Site) -> bool:
        """Return whether a layout's search is final as far as this start goes: others may learn."""
        if not site.searched and site.closed is None:
            if not all(self.settled(self.sites[x]) for x in site.teachers):
                return False
            self.look(site)
        return site.searched or site.closed is not None

    def finished(self, site: Site) -> bool:
        """Return whether nothing is left for this start on a layout, closing rounds included."""
        self.close()
        if not site.over and self.settled(site) and site.closed is None:
            self.look(site)
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
                if state == "open" and self.glance and not self._left(site, turn).pending(launch):
                    continue  # a start will claim it, find nothing to measure, and go on
                if state != "done" or self.lacks(site, turn, launch):
                    return turn
        return None

    def unseen(self, site: Site, turn: int, launch: int) -> bool:
        """Return whether what another process has measured of a launch cannot be read here yet.

        It has brought its file to the server before it let go of the launch, but a client of NFS
        keeps for up to a minute what it knows of a directory. What then depends on that launch
        would be decided without it: one waits, and what is not there after `SEEN_S` is lost.

        Parameters
        ----------
        site, turn, launch
            As for `lacks`; a launch that is done.
        """
        if launch in site.sound or launch in site.doubted:
            return False
        if launch in site.whole() or not self._left(site, turn).pending(launch):
            site.sound.add(launch)
            site.unseen.pop(launch, None)
            return False
        since = site.unseen.setdefault(launch, time.monotonic())
        if time.monotonic() - since < SEEN_S:
            return True
        site.doubted.add(launch)
        del site.unseen[launch]
        return False

    def lacks(self, site: Site, turn: int, launch: int) -> bool:
        """Return whether of a launch that is done the files that can be read here hold less.

        Parameters
        ----------
        site, turn, launch
            The layout, a round whose predecessors are complete, and one of its launches.
        """
        if self.unseen(site, turn, launch):
            return True
        if launch not in site.doubted:
            return False
        if self._left(site, turn).pending(launch):
            return True
        site.doubted.discard(launch)
        return False

    def _left(self, site: Site, turn: int) -> Ledger:
        """Return what the files leave to be done of a round whose predecessors are complete."""
        records = site.folder.merged().bench.records
        if site.looked is None or site.looked[:2] != (turn, len(records)):
            settings = site.plan.in_round(turn, self.cases(site, turn).cases, self.policy)
            ledger = Ledger(settings, records)
            ledger.gone |= {(r.collective, r.candidate) for r in ledger.again}  # then as well
            site.looked = turn, len(records), ledger
        return site.looked[2]

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

    @property
    def closes(self) -> bool:
        """Whether closing rounds may follow, of which nobody knows how many there will be."""
        return self.closing is not None and not self.closing.over

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
