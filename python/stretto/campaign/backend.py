"""What measures a campaign: real launches of the measuring program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.campaign.greeting import greet
from stretto.campaign.layout import Layout
from stretto.campaign.placement import RankPlace, check_places, one_by_one, probe
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.bench_writer import BenchWriter
from stretto.measure.commandline import Starter
from stretto.measure.runner import Campaign
from stretto.measure.settings import Settings
from stretto.mpi.base import MPIInstallation
from stretto.progress import Progress

#: s: that a batch of a cell may take on the average. Slower ones (of ranks that poll, more of them
#: than cores) get fewer: the fewest of the round as a rule, three where even those take long.
BATCH_S = 0.05


@dataclass
class Launches:
    """The measuring program, started by the MPI's launcher or by srun.

    `hosts`: nodes that may be used, in order; empty: this machine, or as the batch system has it.
    `start`: makes the starter for a layout and its hosts; None: the launcher of the MPI.
    `place`: a directory that all nodes see, for the start that tries the MPI itself.
    `notes`: what the user should hear at the end.
    """

    installation: MPIInstallation
    hosts: tuple[str, ...]
    say: Callable[[str], None]
    start: Callable[[Layout, Sequence[str]], Starter] | None = None
    place: Path = Path()
    notes: list[str] = field(default_factory=list)
    dead: set[str] = field(default_factory=set)
    _said: set[str] = field(default_factory=set)

    def alive(self) -> tuple[str, ...]:
        return tuple(h for h in self.hosts if h not in self.dead)

    def fits(self, layout: Layout) -> str | None:
        """Return why a layout cannot be measured here: too few nodes."""
        if not self.hosts:
            named = "layouts of several nodes need host names (--hosts a,b)"
            return None if layout.nodes == 1 else named
        if layout.nodes > len(self.alive()):
            lost = f" (no answer: {', '.join(sorted(self.dead))})" if self.dead else ""
            needs = f"needs {counted(layout.nodes, 'node')}"
            return f"{needs}, but only {len(self.alive())} can be used{lost}"
        return None

    def prepare(self, layout: Layout, oversubscribed: bool) -> str:
        """Ask every rank where it is, then try the MPI; nodes without an answer are set aside."""
        while True:
            hosts = self.alive()[: layout.nodes]
            try:
                places = self._places(layout, hosts, oversubscribed)
            except StrettoError:
                if not self._find_dead(hosts) or self.fits(layout) is not None:
                    raise
                continue
            cpu = check_places(places, layout)
            starter = self.start(layout, hosts) if self.start is not None else None
            greet(self.installation, layout, hosts, starter, oversubscribed, self.place)
            return cpu

    def _places(
        self, layout: Layout, hosts: Sequence[str], oversubscribed: bool
    ) -> list[RankPlace]:
        starter = self.start(layout, hosts) if self.start is not None else None
        return probe(self.installation, layout, hosts, starter, oversubscribed)

    def _find_dead(self, hosts: Sequence[str]) -> bool:
        if len(hosts) < 2:
            return False
        found, lost = one_by_one(lambda one: self._places(Layout(1, 1), one, False), hosts)
        if not found:
            return False
        for host, why in lost.items():
            self.note(f"{host} is left out, because it cannot start programs: {why}")
        self.dead |= set(lost)
        return bool(lost)

    def measure(
        self, settings: Settings, launch: int, writer: BenchWriter, stop_at: float | None = None
    ) -> bool:
        """Start the launch, and again as long as that brings something new."""
        layout = Layout(
            -(-settings.nranks // (settings.ppn or settings.nranks)),
            settings.ppn or settings.nranks,
        )
        hosts = self.alive()[: layout.nodes]
        starter = self.start(layout, hosts) if self.start is not None else None
        here = replace(settings, hosts=hosts)
        campaign = Campaign(
            here, self.installation, writer, self._once, quiet=True, start=starter,
            stop_at=stop_at, anew="a new directory (--out)",
        )  # fmt: skip
        cells = sum(len(c.candidates) for c in campaign.pending(launch))
        seconds = cells * BATCH_S * settings.batches[1]
        campaign.launch_once(launch, lambda: seconds, Progress("measuring", quiet=True))
        self.notes += [n for n in campaign.notes if n not in self.notes]
        return not campaign.pending(launch)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self.say(f"stretto: warning: {text}")

    def _once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self.say(text)
