"""Where the time of a profile goes: the parts of every rank's run, and the call shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stretto.files.profile import Call, Profile
from stretto.profile.show import group_of

COLLECTIVE = ("collective", "nonblocking_collective", "persistent_collective", "neighborhood")

#: key, name, what could change it, and hue, in the order in which they are stacked
PARTS = (
    ("compute", "computation", "outside MPI", "compute"),
    ("io", "I/O", "reading and writing files", "io"),
    ("p2p", "point-to-point", "sends, receives and their waits", "p2p"),
    ("wait", "collectives: waiting", "for the last rank; balance decides it", "wait"),
    ("transfer", "collectives: transfer", "the algorithm decides it; can be tuned", "blue"),
    ("unsplit", "collectives: not split", "waiting and transfer together", "unsplit"),
    ("other", "other MPI", "windows, communicators, set-up", "other-mpi"),
)


@dataclass(frozen=True)
class Part:
    """One part of the run, in seconds per rank.

    `name`, `meaning`: for the reader; `meaning` says what could change it.
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
    """One call shape, summed up for the table.

    `time_s`: mean over the ranks.
    `share`: of the run (`Breakdown.total_s`).
    `wait`: fraction of its time spent waiting for the last rank; None when not known.
    """

    call: Call
    calls: int
    time_s: float
    share: float
    wait: float | None
    mean_us: float
    ranks: int


@dataclass(frozen=True)
class Breakdown:
    """The parts of a run, in the order in which they are stacked."""

    parts: list[Part]
    wall_s: np.ndarray
    shapes: list[ShapeSum]
    sampled: bool
    #: rank in MPI_COMM_WORLD of an index of the parts; ranks without a recording have none
    number: Callable[[int], int] = int

    @property
    def total_s(self) -> float:
        """Return what shares are of: the mean wall time, or the sum of the parts if that is more.

        It is where several threads of a rank are in MPI at once.
        """
        return max(float(self.wall_s.mean()), sum(p.mean for p in self.parts))

    @property
    def threads(self) -> bool:
        """Return whether the parts are clearly more than the run."""
        return sum(p.mean for p in self.parts) > 1.02 * float(self.wall_s.mean())

    def share(self, key: str) -> float:
        """Return the share of `total_s` that a part takes (0 when it is not there)."""
        total = self.total_s
        return sum(p.mean for p in self.parts if p.key == key) / total if total > 0 else 0.0

    @property
    def _compute(self) -> np.ndarray:
        return next(p.per_rank for p in self.parts if p.key == "compute")

    @property
    def slowest(self) -> int:
        """Return the rank that computes longest: the one that others wait for."""
        return self.number(int(np.argmax(self._compute)))

    @property
    def imbalance(self) -> float:
        """Return how much longer than the mean the slowest rank computes (0.2 is 20 %)."""
        mean = float(self._compute.mean())
        return float(self._compute.max()) / mean - 1 if mean > 0 else 0.0


def breakdown(profile: Profile) -> Breakdown:
    """Sum a profile up.

    Collective time is split into waiting for the last rank (which no algorithm removes) and the
    transfer itself (which the algorithm decides), where the recorder joined samples; the rest is
    shown as not split, waits for nonblocking collectives with it. What is neither MPI nor I/O is
    computation.
    """
    profile = profile.recorded_part()
    n = profile.nranks
    wall = np.asarray(profile.wall_s, dtype=float)
    parts = {key: np.zeros(n) for key in ("transfer", "wait", "unsplit", "p2p", "other", "mpi-io")}
    for call in profile.calls:
        time = np.asarray(call.time_s, dtype=float)
        group = group_of(call)
        if call.kind in COLLECTIVE or group == "nonblocking wait":
            if call.wait_s is None or call.transfer_s is None:
                parts["unsplit"] += time
            else:
                parts["wait"] += np.asarray(call.wait_s, dtype=float)
                parts["transfer"] += np.asarray(call.transfer_s, dtype=float)
        elif group in ("p2p", "p2p wait"):
            parts["p2p"] += time
        elif group == "io":
            parts["mpi-io"] += time
        else:
            parts["other"] += time
    io = np.maximum(np.asarray(profile.io_s, dtype=float), parts.pop("mpi-io"))
    compute = np.maximum(wall - sum(parts.values()) - io, 0.0)
    parts |= {"compute": compute, "io": io}
    out = Breakdown(
        [Part(*d, parts[d[0]]) for d in PARTS if parts[d[0]].any() or d[0] == "compute"],
        wall,
        [],
        any(c.wait_s is not None for c in profile.calls if c.kind in COLLECTIVE),
        profile.number,
    )
    shapes = [s for c in profile.calls if (s := _shape(c, out.total_s)) is not None]
    return replace(out, shapes=sorted(shapes, key=lambda s: -s.time_s))


def _shape(call: Call, wall: float) -> ShapeSum | None:
    calls = call.total_calls
    if calls == 0:
        return None
    time = np.asarray(call.time_s, dtype=float)
    wait = None
    if call.wait_s is not None and time.sum() > 0:
        wait = min(1.0, float(np.sum(call.wait_s) / time.sum()))
    return ShapeSum(
        call,
        calls,
        float(time.mean()),
        float(time.mean()) / wall if wall > 0 else 0.0,
        wait,
        float(time.sum()) / calls * 1e6,
        sum(1 for c in call.calls if c),
    )
