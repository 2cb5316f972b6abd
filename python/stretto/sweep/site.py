"""A layout of a campaign as one process sees it, and what it may measure of it next."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from stretto.files.bench_writer import BenchWriter
from stretto.sweep.claims import Claims
from stretto.sweep.contest import Memory
from stretto.sweep.elimination import State
from stretto.sweep.folder import Folder
from stretto.sweep.layout import Layout
from stretto.sweep.plan import LayoutPlan


@dataclass
class Site:
    """A layout of the campaign as this process sees it."""

    plan: LayoutPlan
    folder: Folder
    claims: Claims
    guides: list[Layout]
    teachers: list[Layout]  # its guides, and those that they learned from
    writer: BenchWriter | None = None
    given_up: set[int] = field(default_factory=set)
    fruitless: int = 0
    closed: str | None = None  # why it cannot be measured by this process
    prepared: bool = False
    searched: bool = False  # the rounds that were asked for are complete
    over: bool = False
    known: dict[int, State] = field(default_factory=dict)  # what is worth measuring in a round
    memory: Memory = field(default_factory=dict)

    def launches_of(self, turn: int, found: State) -> list[int]:
        """Return a round's launches; of those beyond the rounds asked for, what is needed."""
        every = self.plan.launches_of(turn)
        if turn < self.plan.settings.launches:
            return list(every)
        needed = set(replace(self.plan.settings, cases=found.cases).launches_needed())
        return [k for k in every if self.plan.settings.variant_of(k) in needed]

    def order(self, turn: int, found: State) -> list[int]:
        """Return a round's launches in an order of its own."""
        launches = self.launches_of(turn, found)
        random.Random(self.plan.settings.seed * 7919 + turn).shuffle(launches)
        return launches


@dataclass(frozen=True)
class Unit:
    """A launch to be measured: the next generation of its claim, its round, the cases."""

    site: Site
    launch: int
    generation: int
    turn: int
    cases: State
