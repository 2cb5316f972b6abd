"""How a campaign of one MPI stands, from its files: which rounds are complete, what comes next.

Nothing is measured or written here, so that any process may look while others work.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from stretto.campaign.claims import Claims, Holder, me
from stretto.campaign.elimination import Policy, State, remaining
from stretto.campaign.folder import Folder
from stretto.campaign.layout import Layout, teachers
from stretto.campaign.plan import LayoutPlan
from stretto.campaign.site import Site
from stretto.campaign.times import Medians, medians, until
from stretto.files.bench import standing_exclusions
from stretto.files.identity import Identity
from stretto.measure.ledger import Ledger

#: s: after so long what another process has written can be read
SEEN_S = 90.0


class Standing:
    """What is measured of a campaign, and what is missing.

    `plans`: of all layouts, in the order of measuring.
    `policy`: when candidates are dropped; None: never.
    `node_cpu`: what the nodes are; None: the host of `identity`.
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
                teachers(plan.layout, order) if policy is not None else [],
            )
        for site in self.sites.values():
            site.doubt()

    def all(self) -> list[Site]:
        return list(self.sites.values())

    def look(self, site: Site) -> None:
        site.over = self.turn(site, site.claims.listing()) is None

    def settled(self, site: Site) -> bool:
        """Return whether a layout is final as far as this start goes: others may learn from it."""
        if not site.over and site.closed is None:
            if not all(self.settled(self.sites[x]) for x in site.teachers):
                return False
            self.look(site)
        return site.over or site.closed is not None

    def turn(self, site: Site, listing: Mapping[int, Mapping[int, bool]]) -> int | None:
        """Return the first round that is not complete, None when all are."""
        plain = {k: dict(v) for k, v in listing.items()}
        for turn in range(site.plan.settings.launches):
            for launch in site.plan.launches_of(turn):
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
        """Return whether of a launch that is done the files that can be read here hold less."""
        if self.unseen(site, turn, launch):
            return True
        if launch not in site.doubted:
            return False
        if self._left(site, turn).pending(launch):
            return True
        site.doubted.discard(launch)
        return False

    def _left(self, site: Site, turn: int) -> Ledger:
        records = site.folder.merged().bench.records
        if site.looked is None or site.looked[:2] != (turn, len(records)):
            settings = site.plan.in_round(turn, self.cases(site, turn).cases, self.policy)
            ledger = Ledger(settings, records)
            ledger.gone |= {(r.collective, r.candidate) for r in ledger.again}  # then as well
            site.looked = turn, len(records), ledger
        return site.looked[2]

    def cases(self, site: Site, turn: int) -> State:
        """Return what the rounds before one leave to be measured, and whom they have dropped."""
        if self.policy is None:
            return State(site.plan.settings.cases, ())
        plan = site.plan
        past = until(site.folder.merged().bench, turn * plan.nvariants)
        key = len(past.records)  # nothing more was measured: nothing else is worth it
        if key not in site.known:
            site.known[key] = remaining(
                plan.settings,
                plan.layout,
                medians(past, plan.nvariants),
                {x: self.times(self.sites[x]) for x in site.teachers},
                self.policy,
                plan.unlikely,
                set(standing_exclusions(past.records)),
            )
        return site.known[key]

    def times(self, site: Site) -> Medians:
        """Return the times of all rounds of a layout: what others learn from it."""
        asked = site.plan.settings.launches * site.plan.nvariants
        return medians(until(site.folder.merged().bench, asked), site.plan.nvariants)

    def done(self) -> int:
        done = 0
        for site in self.all():
            turn, asked = self.turn(site, site.claims.listing()), site.plan.settings.launches
            done += (asked if turn is None else turn) * site.plan.nvariants
        return done

    def progress(self) -> tuple[int, int]:
        """Return how far the campaign is, in launches: done, and in all."""
        return self.done(), sum(s.plan.nvariants * s.plan.settings.launches for s in self.all())
