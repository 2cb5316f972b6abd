"""A layout of a campaign as one process sees it: its plan, its results, who measures it now.

All results of a layout are in one file, which is locked by the process that measures there. What is
missing follows from the file alone, so that a kill loses what was not written and nothing else: the
lock ends with its process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stretto.campaign.elimination import State, remaining
from stretto.campaign.layout import Layout, teachers
from stretto.campaign.plan import LayoutPlan, header_of, refuse_other
from stretto.campaign.times import Medians, medians, until
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.bench import (
    Bench,
    Excluded,
    Sample,
    read_bench,
    read_header,
    standing_exclusions,
)
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Identity, now
from stretto.files.io import dump_json, write_atomic
from stretto.files.lock import holder
from stretto.files.parse import json_value
from stretto.files.regular import MOST_SMALL_BYTES, read_regular
from stretto.files.results import ENDING
from stretto.measure.ledger import Ledger


@dataclass
class Site:
    """A layout.

    `teachers`: layouts that it learns from.
    `over`: everything is measured.
    `closed`: why it cannot be measured by this process; `remedy`: what to do about that.
    `given_up`: launches that failed in this process.
    `turn`: all rounds before this one are complete.
    """

    plan: LayoutPlan
    path: Path
    bench: Bench
    teachers: list[Layout]
    over: bool = False
    closed: str | None = None
    remedy: str | None = None
    given_up: set[int] = field(default_factory=set)
    fruitless: int = 0
    prepared: bool = False
    turn: int = 0
    known: dict[int, State] = field(default_factory=dict)
    _size: int = 0

    @property
    def ended(self) -> bool:
        return self.over or self.closed is not None

    @property
    def held(self) -> bool:
        """Whether a process measures there now; False where the file system has no locks."""
        return holder(self.path) is not None

    def read(self) -> None:
        """Read the results if there are more than before."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._size:
            if size and read_header(self.path) is None:
                size = 0  # a kill cut the first line off: the layout is begun anew
            else:
                self.bench = read_bench(self.path)
            self._size, self.turn = size, 0

    def opened(self, identity: Identity, command: list[str]) -> BenchWriter:
        """Return the layout's results for appending; no other process measures there then.

        Raises BusyError: another one does.
        """
        header = header_of(self.plan, identity, command)
        writer = BenchWriter(self.path, header, resume=True)
        try:
            refuse_other(writer.previous.header, header, self.path)
        except StrettoError:
            writer.close()
            raise
        self.bench, self._size, self.turn = writer.previous, -1, 0
        for left in self.path.parent.glob(f".{self.path.name}.launch*"):  # of a start that died
            shutil.rmtree(left, ignore_errors=True)
        return writer

    def leave_out(self, why: str, remedy: str | None) -> None:
        """Close the layout for this process, and leave word of it for `campaign status`."""
        self.closed, self.remedy = why + (f"; {remedy}" if remedy else ""), remedy
        word = {"why": self.closed, "by": os.uname().nodename, "at": now()}
        with contextlib.suppress(StrettoError):  # a full disk is told elsewhere
            write_atomic(_word_of(self.path), dump_json(word), "why it is left out")

    def take_up(self) -> None:
        """Remove what an earlier start has left: the layout can be measured."""
        with contextlib.suppress(OSError):
            _word_of(self.path).unlink(missing_ok=True)


class Standing:
    """A campaign of one MPI: what is measured, which rounds are complete, what comes next.

    `plans`: of all layouts, in the order of measuring.
    """

    def __init__(self, plans: list[LayoutPlan], base: Path, identity: Identity) -> None:
        self.base, self.identity = base, identity
        order = [p.layout for p in plans]
        self.sites = {
            plan.layout: Site(
                plan, results_of(base, plan.layout), Bench(header_of(plan, identity, [])),
                teachers(plan.layout, order) if plan.eliminate else [],
            )
            for plan in plans
        }  # fmt: skip

    def all(self) -> list[Site]:
        return list(self.sites.values())

    def look(self, site: Site) -> None:
        site.read()
        site.over = self.turn(site) is None

    def settled(self, site: Site) -> bool:
        """Return whether a layout is final as far as this start goes: others may learn from it."""
        if not site.ended and all(self.settled(self.sites[x]) for x in site.teachers):
            self.look(site)
        return site.ended

    def turn(self, site: Site) -> int | None:
        """Return the first round that is not complete, None when all are."""
        ledger = ledger_of(site)
        for turn in range(site.turn, site.plan.settings.launches):
            launches = [k for k in site.plan.launches_of(turn) if k not in site.given_up]
            if any(self.lacks(site, k, ledger) for k in launches):
                return turn
            site.turn = turn + 1
        return None

    def lacks(self, site: Site, launch: int, ledger: Ledger) -> bool:
        """Return whether something is still to be measured in a launch.

        `ledger`: of the site, see `ledger_of`. In a launch that came to its end no candidate is
        tried once more because of a later start.
        """
        turn = launch // site.plan.nvariants
        ledger.settings = site.plan.in_round(turn, self.cases(site, turn).cases)
        out = set() if launch not in ledger.ended else {
            (r.collective, r.candidate) for r in ledger.again
        }  # fmt: skip
        return any(
            (case.collective, name) not in out
            for case in ledger.pending(launch)
            for name in case.candidates
            if not ledger.has(launch, case, name)
        )

    def failed(self, site: Site) -> dict[int, str]:
        """Return the launches that failed, and why."""
        ledger = ledger_of(site)
        return {
            k: f"{end.status}: {end.detail}"
            for k, end in sorted(site.bench.ends.items())
            if end.at_fault and self.lacks(site, k, ledger)
        }

    def cases(self, site: Site, turn: int) -> State:
        """Return what the rounds before one leave to be measured, and whom they have dropped."""
        plan = site.plan
        if not plan.eliminate:
            return State(plan.settings.cases, ())
        past = until(site.bench, turn * plan.nvariants)
        key = len(past.records)  # nothing more was measured: nothing else is worth it
        if key not in site.known:
            site.known[key] = remaining(
                plan.settings,
                plan.layout,
                medians(past, plan.nvariants),
                {x: self.times(self.sites[x]) for x in site.teachers},
                plan.unlikely,
                set(standing_exclusions(past.records)),
            )
        return site.known[key]

    def times(self, site: Site) -> Medians:
        """Return the times of all rounds of a layout: what others learn from it."""
        asked = site.plan.settings.total()
        return medians(until(site.bench, asked), site.plan.nvariants)

    def progress(self) -> tuple[int, int]:
        """Return how far the campaign is, in launches: done, and in all."""
        every = self.all()
        return sum(map(self.done, every)), sum(s.plan.settings.total() for s in every)

    def done(self, site: Site) -> int:
        return (site.plan.settings.launches if site.over else site.turn) * site.plan.nvariants


def results_of(base: Path, layout: Layout) -> Path:
    return base / f"{layout.name}{ENDING}"


def _word_of(results: Path) -> Path:
    return results.with_name(results.name.removesuffix(ENDING) + ".left_out.json")


def left_out_word(results: Path) -> dict[str, str] | None:
    """Return why, by whom and when a start has left a layout out; None: none has."""
    try:
        found = json_value(read_regular(_word_of(results), MOST_SMALL_BYTES))
        return {k: str(found[k]) for k in ("why", "by", "at")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ledger_of(site: Site) -> Ledger:
    return Ledger(site.plan.settings, site.bench.records)


def gains(bench: Bench) -> int:
    """Return how many records there are that bring a campaign nearer to its end."""
    return sum(isinstance(r, Sample | Excluded) for r in bench.records)


def given_up_words(failed: Mapping[int, str]) -> str:
    reasons = Counter(failed.values()).most_common()
    more = f" (and {counted(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else ""
    many = f"{len(failed)} launch{'es' if len(failed) > 1 else ''}"
    return f"given up: {many}, {reasons[0][0]}{more}"
