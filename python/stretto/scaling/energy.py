"""Energy of a run: of this machine's processors (RAPL counters), or as CMD prints it."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import UsageError
from stretto.files.verdict import Metric
from stretto.tune.trials import make_metric

#: the option for energy that CMD prints
PRINTED = "--energy-metric"
POWERCAP = Path("/sys/class/powercap")
#: the counters start again at zero, on big processors after some ten minutes of full load
LOOK_EVERY_S = 30.0


@dataclass(frozen=True)
class Package:
    """One processor package: `path` of its energy in microjoules, counted modulo `range_uj`."""

    path: Path
    range_uj: int

    def read(self) -> int:
        return int(self.path.read_text())


def counters(root: Path = POWERCAP) -> list[Package]:
    """Return the packages' counters; raise a `UsageError` where the kernel shows none to us."""
    found = []
    for zone in sorted(root.glob("intel-rapl:*")):  # AMD's have this name, too
        try:
            if not (zone / "name").read_text().startswith("package"):
                continue  # parts of a package, or of the whole machine
            counter = Package(zone / "energy_uj", int((zone / "max_energy_range_uj").read_text()))
            counter.read()
        except PermissionError:
            raise UsageError(
                f"only root may read {zone / 'energy_uj'}", "--energy",
                "ask the administrator to make it readable, or leave out --energy",
            ) from None  # fmt: skip
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{zone} cannot be read: {error}", "--energy", "leave out --energy"
            ) from error
        found.append(counter)
    if not found:
        raise UsageError(
            f"this kernel has no energy counters of processors ({root}/intel-rapl:*), as in most "
            "virtual machines", "--energy", "leave out --energy, or measure on a physical machine",
        )  # fmt: skip
    return found


def printed(pattern: str | None) -> Metric | None:
    """Return what finds the joules that CMD prints; None: nothing does."""
    if pattern is None:
        return None
    try:
        return make_metric(pattern, "lower", "J")
    except UsageError as error:
        words = error.message.replace("--metric", PRINTED)
        raise UsageError(words, PRINTED, r"mark the number: 'energy: ([\d.]+) J'") from error


def source_words(packages: Sequence[Package], metric: Metric | None) -> str | None:
    """Return where the energy of runs comes from; None: it is not measured."""
    if metric is not None:
        return f"as the command prints it ({PRINTED} {shlex.quote(metric.pattern or '')})"
    return "processors of this machine (RAPL), all its processes included" if packages else None


class Meter:
    """Adds up what all packages take, in a ``with`` statement; `joules` is it afterwards.

    `joules` is None without packages, and where a counter can no longer be read.
    """

    def __init__(self, packages: Sequence[Package]) -> None:
        self.joules: float | None = 0.0 if packages else None
        self._packages = packages
        self._last: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Meter:
        self._add()
        if self._packages:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        if self._packages:
            self._thread.join()
        self._add()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            self._add()

    def _add(self) -> None:
        try:
            now = [c.read() for c in self._packages]
        except (OSError, ValueError):
            self.joules = None
            return
        for counter, old, new in zip(self._packages, self._last or now, now, strict=True):
            if self.joules is not None:
                self.joules += (new - old) % (counter.range_uj + 1) * 1e-6
        self._last = now
