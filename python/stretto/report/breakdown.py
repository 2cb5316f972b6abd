"""Where the time of a profile goes: the parts of every rank's run, and the call shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stretto.files.profile import Call, Profile
from stretto.profile.show import group_of

COLLECTIVE = ("collective", "nonblocking_collective", "persistent_collective", "neighborhood")

#: key, name, what could change it, and hue, in the order in which they are stacked
PARTS = (
    ("compute", "computation", "outside MPI", "compute"),
    ("io", "I/O", "reading and writing files", "io"),
    ("p2p", "point-to-point", "sends, receives and their waits", "p2p"),
    ("wait", "collectives: waiting", "for the last rank; depends on load balance", "wait"),
    ("transfer", "collectives: transfer", "depends on the algorithm; can be tuned", "blue"),
    ("unsplit", "collectives: not split", "waiting and transfer together", "unsplit"),
    ("other", "other MPI", "windows, communicators, set-up", "other-mpi"),
)


@dataclass(frozen=True)
class Part:
    """One part of the run, in seconds per rank.

    `meaning`: what could change it.
    `hue`: its colour in `stretto.report.theme`.
    """

    key: str
    name: str
    meaning: str
    hue: str
    per_rank: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.per_rank.mean())


@dataclass(frozen=True)
class ShapeSum:
    """One call shape, summed up; `time_s` is the mean over the ranks.

    `wait`: fraction of its time spent waiting for the last rank; None when not known.
    """

    call: Call
    time_s: float
    wait: float | None
    mean_us: float


@dataclass(frozen=True)
class Breakdown:
    """The parts of a run, in the order in which they are stacked."""

    profile: Profile
    parts: list[Part]

    @property
    def wall_s(self) -> np.ndarray:
        return np.asarray(self.profile.wall_s, dtype=float)

    @property
    def total_s(self) -> float:
        """Return what shares are of: the mean wall time, or the sum of the parts if that is more.

        It is where several threads of a rank are in MPI at once.
        """
        return max(float(self.wall_s.mean()), sum(p.mean for p in self.parts)) or 1.0

    @property
    def sampled(self) -> bool:
        """Return whether any call separates waiting from transfer."""
        return any(c.wait_s is not None for c in self.profile.calls if c.kind in COLLECTIVE)

    @property
    def threads(self) -> bool:
        """Return whether the parts are clearly more than the run."""
        return sum(p.mean for p in self.parts) > 1.02 * float(self.wall_s.mean())

    def share(self, *keys: str) -> float:
        """Return the share of `total_s` that parts take (0 when they are not there)."""
        return sum(p.mean for p in self.parts if p.key in keys) / self.total_s

    @property
    def slowest(self) -> int:
        """Return the rank that computes longest: the one that others wait for."""
        return self.profile.number(int(np.argmax(self._compute)))

    @property
    def imbalance(self) -> float:
        """Return how much longer than the mean the slowest rank computes (0.2 is 20 %)."""
        mean = float(self._compute.mean())
        return float(self._compute.max()) / mean - 1 if mean > 0 else 0.0

    @property
    def _compute(self) -> np.ndarray:
        return next(p.per_rank for p in self.parts if p.key == "compute")

    @property
    def shapes(self) -> list[ShapeSum]:
        """Return the call shapes, those that take most time first."""
        out = []
        for call in self.profile.calls:
            time = sum(call.time_s)
            if call.total_calls:
                wait = None if call.wait_s is None or time <= 0 else sum(call.wait_s) / time
                wait = None if wait is None else min(1.0, wait)
                mean = time / len(call.time_s)
                out.append(ShapeSum(call, mean, wait, time / call.total_calls * 1e6))
        return sorted(out, key=lambda s: -s.time_s)


def breakdown(profile: Profile) -> Breakdown:
    """Sum a profile up, over the ranks that were recorded.

    Collective time is split into waiting for the last rank (which no algorithm removes) and the
    transfer itself (which the algorithm decides), where the recorder joined samples; the rest is
    shown as not split, waits for nonblocking collectives with it. What is neither MPI nor I/O is
    computation.
    """
    profile = profile.recorded_part()
    wall = np.asarray(profile.wall_s, dtype=float)
    parts = {key: np.zeros(profile.nranks) for key, *_ in PARTS}
    for call in profile.calls:
        group = group_of(call)
        if call.kind not in COLLECTIVE and group != "nonblocking wait":
            key = {"p2p": "p2p", "p2p wait": "p2p", "io": "io"}.get(group, "other")
            parts[key] += call.time_s
        elif call.wait_s is None or call.transfer_s is None:
            parts["unsplit"] += call.time_s
        else:
            parts["wait"] += call.wait_s
            parts["transfer"] += call.transfer_s
    parts["io"] = np.maximum(profile.io_s, parts["io"])
    parts["compute"] = np.maximum(wall - sum(parts.values()), 0.0)
    return Breakdown(
        profile, [Part(*d, parts[d[0]]) for d in PARTS if parts[d[0]].any() or d[0] == "compute"]
    )
