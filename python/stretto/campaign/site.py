"""A layout of a campaign as one process sees it, and what it may measure of it next."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.campaign.claims import Claims, Holder
from stretto.campaign.elimination import State
from stretto.campaign.folder import ENDING, Folder, Merged, session_path
from stretto.campaign.layout import Layout
from stretto.campaign.plan import LayoutPlan
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.bench import Bench, Excluded, Header, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Identity, now
from stretto.files.io import dump_json, write_atomic
from stretto.files.parse import json_value
from stretto.files.regular import MOST_SMALL_BYTES, open_to_read, read_regular
from stretto.measure.ledger import Ledger

#: says, in the layout's directory, why a start has left it out
LEFT_OUT = "left_out.json"
#: the directory of a launch under way, beside the results file of its start
_UNDER_WAY = re.compile(
    rf"\.(?P<results>[^.]+\.(?P<host>[^.]+)\.(?P<pid>\d+)(\.\d+)?{re.escape(ENDING)})"
    r"\.launch(?P<launch>\d+)\."
)
#: one thread at a time takes a name for its file, and makes the file
_NAMING = threading.Lock()


@dataclass
class Site:
    """A layout of the campaign as this process sees it."""

    plan: LayoutPlan
    folder: Folder
    claims: Claims
    teachers: list[Layout]  # those that it learns from
    writer: BenchWriter | None = None
    given_up: set[int] = field(default_factory=set)
    doubted: set[int] = field(default_factory=set)  # were done; the files do not hold all of them
    unseen: dict[int, float] = field(default_factory=dict)  # the same, since when it is noticed
    sound: set[int] = field(default_factory=set)  # of which the files lack nothing
    lost: bool = False  # it was said that some of it is not
    looked: tuple[int, int, Ledger] | None = None  # round, records, and what they leave to be done
    fruitless: int = 0
    closed: str | None = None  # why it cannot be measured by this process
    prepared: bool = False
    over: bool = False
    known: dict[int, State] = field(default_factory=dict)  # what is left, by the records before
    remedy: str | None = None  # what to do where it is closed
    _whole: tuple[Merged, set[int]] | None = None

    def doubt(self) -> None:
        """Take launches that earlier starts have done for done only if the files hold them whole.

        Files may have been damaged since, or lost. As long as another process is at work nothing is
        doubted at once: see `Standing.unseen`.
        """
        listing = self.claims.listing()
        states = {k: self.claims.state(k, listing)[0] for k in listing}
        if "held" not in states.values():
            self.doubted = {k for k, state in states.items() if state == "done"} - self.whole()

    def whole(self) -> set[int]:
        """Return the launches whose end the files hold, and as many samples as there were then.

        Several starts may have measured a launch, and only the last one's file tells its end.
        """
        merged = self.folder.merged()
        if self._whole is None or self._whole[0] is not merged:
            held = Counter(x.launch for x in merged.bench.samples)
            ends = [end for end in merged.bench.ends.values() if end.status == "ok"]
            self._whole = merged, {x.launch for x in ends if held[x.launch] >= (x.samples or 0)}
        return self._whole[1]

    def leave_out(self, why: str, remedy: str | None, by: str) -> None:
        """Close the layout for this process, and leave word of it for `campaign status`."""
        self.closed, self.remedy = why + (f"; {remedy}" if remedy else ""), remedy
        word = {"why": why, "remedy": remedy, "by": by, "at": now()}
        with contextlib.suppress(StrettoError):  # a full disk is told elsewhere
            write_atomic(self.folder.directory / LEFT_OUT, dump_json(word), "why it is left out")

    def take_up(self) -> None:
        """Remove what an earlier start has left: the layout can be measured."""
        with contextlib.suppress(OSError):
            (self.folder.directory / LEFT_OUT).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the directories of launches whose starts were killed, nobody else's."""
        every = self.folder.directory.glob(f".*{ENDING}.launch*")
        found = [(path, _UNDER_WAY.match(path.name)) for path in every]
        listing = self.claims.listing() if found else {}  # later: each has been claimed before
        for path, words in found:
            if words is None:
                continue
            launch, who = int(words["launch"]), (words["host"], int(words["pid"]))
            known = listing.get(launch, {})
            if self._let_go(launch, who, known, self.folder.directory / words["results"]):
                shutil.rmtree(path, ignore_errors=True)

    def _let_go(
        self, launch: int, who: tuple[str, int], known: Mapping[int, bool], results: Path
    ) -> bool:
        """Return whether a process that had a launch surely does not work on it any more.

        Where it cannot be asked for, its claim must have been taken over as a stale one, and nobody
        hold its results file.
        """
        claims, found = self.claims, False
        for generation, ended in known.items():
            holder = claims.holder_of(launch, generation)
            if holder is None or (holder.host, holder.pid) != who:
                continue
            found = True
            if ended or claims.gone(holder):
                continue
            here = holder.place == claims.holder.place
            if here or generation == max(known) or not _unlocked(results):
                return False
        return found

    def opened(
        self, identity: Identity, command: list[str], node_cpu: str | None, holder: Holder
    ) -> BenchWriter:
        """Return this start's own results file, made when it is first written to."""
        if self.writer is None:
            self.clear()
            record = {**self.plan.settings.record(), "cases": [], "node_cpu": node_cpu}
            header = Header(
                identity.stretto, identity.created, identity.host, identity.mpi, command, record
            )
            with _NAMING:
                path = session_path(
                    self.folder.directory, holder.place, holder.pid, identity.created
                )
                self.writer = BenchWriter(path, header)
                self.writer.held = self.folder.held
        return self.writer

    def left_out(self) -> dict[str, Any] | None:
        """Return why the last start has left the layout out."""
        try:
            found = json_value(read_regular(self.folder.directory / LEFT_OUT, MOST_SMALL_BYTES))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("why"), str) else None

    def measured(self) -> bool:
        """Return whether all launches that were asked for are done, and no other one is open."""
        listing = self.claims.listing()
        asked = set(range(self.plan.settings.total()))
        return all(self.claims.state(k, listing)[0] == "done" for k in asked | set(listing))

    def failed(self) -> dict[int, str]:
        listing, ends = self.claims.listing(), self.folder.merged().bench.ends
        return {
            k: f"{ends[k].status}: {ends[k].detail}"
            for k in sorted(listing)
            if k in ends and ends[k].status != "ok" and self.claims.state(k, listing)[0] == "open"
        }

    def order(self, turn: int) -> list[int]:
        launches = list(self.plan.launches_of(turn))
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


def _unlocked(results: Path) -> bool:
    """Return whether nobody appends to a results file; False where that cannot be known."""
    try:
        handle = open_to_read(results)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def gains(bench: Bench) -> int:
    """Return how many records there are that bring a campaign nearer to its end."""
    return sum(isinstance(r, Sample | Excluded) for r in bench.records)


def given_up_words(failed: Mapping[int, str]) -> str:
    reasons = Counter(failed.values()).most_common()
    more = f" (and {counted(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else ""
    many = f"{len(failed)} launch{'es' if len(failed) > 1 else ''}"
    return f"given up: {many}, {reasons[0][0]}{more}"
