"""Follows one launch of the measuring program: its lines, its status, and whether it hangs."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.counted import sized
from stretto.files.bench import Launch
from stretto.files.usage import Usage
from stretto.measure.job import Status, parse_line, parse_sample, parse_usage, read_status
from stretto.measure.process import Looked
from stretto.measure.reference import REFERENCE
from stretto.measure.settings import Case
from stretto.progress import Progress

if TYPE_CHECKING:
    from stretto.measure.runner import Campaign


class LaunchReader:
    """Follows one launch: its lines into the campaign, its status to the watch for hangs."""

    def __init__(
        self,
        campaign: Campaign,
        launch: int,
        cases: list[Case],
        output: Path,
        status: Path,
        progress: Progress,
    ) -> None:
        self.campaign = campaign
        self.launch = launch
        self.cases = cases
        self.started = False
        self.usage: Usage | None = None
        self._output = output
        self._status = status
        self._progress = progress
        self._base = progress.done
        self._offset = 0
        self._announced = False
        self._header: dict[str, object] = {}
        self._looked = Looked()
        self._last: tuple[float, bytes] = (0.0, b"")
        self._read_at = 0.0
        self._finished = -1  # the last case of which there are samples

    def status(self) -> Status | None:
        """Return what the program is at, None when it has not come so far.

        Nor is it at a case whose samples it has written, while there are others: with them all
        candidates of the case have run, and what a file server says of the status is older than
        what it says of the output. Behind the last case the MPI is left (MPI_Finalize).
        """
        at = read_status(self._status)
        more = self._finished < len(self.cases) - 1
        return None if at is not None and more and at.done <= self._finished else at

    def who(self, at: Status) -> Status:
        """Whom a launch's end is blamed on: at the reference, its candidate if it has one."""
        here = (at.collective, at.bytes)
        names = {n for c in self.cases if (c.collective, c.bytes) == here for n in c.candidates}
        alone = at.candidate == REFERENCE and len(names) == 1
        return replace(at, candidate=names.pop()) if alone else at

    def announce(self) -> None:
        if self._announced:
            return
        self._announced = True
        head = self._header
        settings = self.campaign.settings
        candidates: dict[str, list[str]] = {}
        for case in self.cases:
            names = candidates.setdefault(case.collective, [])
            names += [c for c in case.candidates if c not in names]
        ppn = settings.ppn or settings.nranks
        error = head.get("clock_error_us")
        self.campaign.writer.write(
            Launch(
                self.launch,
                int(str(head.get("nodes", max(1, -(-settings.nranks // ppn))))),
                int(str(head.get("ppn", min(ppn, settings.nranks)))),
                settings.nranks,
                candidates,
                float(str(error)) if error is not None else None,
                settings.variant_of(self.launch),
                list(settings.hosts) or None,
            )
        )

    def read(self) -> None:
        try:
            with self._output.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except OSError:
            return
        for line in data.split(b"\n")[:-1]:
            # each by itself: an interrupt in what follows must not cost those behind it
            self._offset += len(line) + 1
            value = parse_line(line.decode("utf-8", "replace"), self.launch)
            if value is None:
                continue
            if value.get("type") == "launch":
                self._header = value
                self.started = True
                self.announce()
            elif value.get("type") == "sample":
                self.announce()
                seen = parse_sample(value)
                here = (str(value["collective"]), int(value["bytes"]))
                places = (i for i, c in enumerate(self.cases) if (c.collective, c.bytes) == here)
                self._finished = max(self._finished, next(places, -1))
                if seen is not None:
                    self.campaign.keep(seen)
            elif value.get("type") == "usage":
                self.usage = parse_usage(value)

    def watch(self) -> bool:
        """Read what is new; return True at the budget's end, or after too long without a sign."""
        now = time.monotonic()
        if self.campaign.over:
            self.read()
            return True
        if now - self._read_at < 0.2:
            return False
        self._read_at = now
        looked_s = self._looked.look()
        self.read()
        try:
            # The program counts its batches there.
            trace = self._status.read_bytes() + str(self._offset).encode()
        except OSError:
            trace = b""
        if trace != self._last[1]:
            self._last = (looked_s, trace)
        at = self.status()
        if at is not None:
            self._progress.update(
                self._base + min(at.done, len(self.cases)),
                f"{at.collective} {sized(at.bytes)}, launch {self.launch + 1}",
            )
        return looked_s - self._last[0] > self.campaign.settings.stall_s
