"""A synthetic cluster for `regret.py`: candidates whose times are formulas, and their noise."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import fmean

from stretto.campaign.layout import Layout
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.reference import REFERENCE

#: of calls of 64 KiB and 1 MiB, which are long enough to be compared with calls over a network
RESULTS = Path(__file__).parent / "results"
NOISE = RESULTS / "launch-noise.json"
#: how a launch's luck with the reference and with candidates go together, at each size
BESIDE = RESULTS / "launch-reference.json"
#: so many cells with the next smaller and larger residuals give them their shape
ALIKE = 10
#: what something beside the campaign adds to the logarithm of small and large calls' times
BUSY = (math.log(5), math.log(1.5))


class Noise:
    """How times of launches lie about what is usual, as measured (`launch_noise.py`).

    A launch of a layout has an effect that all candidates in it share, at small sizes another one
    than at large ones; and each candidate has a residual of its own in each launch: at each size as
    large on average as one candidate's were in one cell, shaped as those of cells alike.

    Parameters
    ----------
    seed
        Of the draws.
    busy
        For some rounds of each layout all times are longer.
    share
        Of the noise that was measured: 0.5 is half of it (of the logarithm).
    """

    def __init__(self, seed: int, busy: bool = False, share: float = 1.0) -> None:
        self.seed, self.busy, self.share = seed, busy, share
        groups = json.loads(NOISE.read_text())["groups"]
        self.effects = [
            [g["sizes"][size]["effects"] for size in ("65536", "1048576")] for g in groups
        ]
        seen = json.loads(BESIDE.read_text())["rows"]
        cells = {(r["collective"], r["bytes"]): max(r["exponent"], 0.1) for r in seen}
        self.exponents = {
            size: [e for (_, n), e in sorted(cells.items()) if n == size]
            for size in sorted({n for _, n in cells})
        }
        rows = [row for g in groups for n in g["sizes"].values() for row in n["residuals"]]
        rows = sorted((row for row in rows if any(row)), key=lambda row: fmean(map(abs, row)))
        self.sizes = [fmean(map(abs, row)) for row in rows]
        self.shapes = [
            [
                x / self.sizes[k]
                for k in range(max(0, i - ALIKE), min(i + ALIKE + 1, len(rows)))
                for x in rows[k]
            ]
            for i in range(len(rows))
        ]

    def draw(self, layout: Layout, launches_of: str, turn: int, size: int, name: str) -> float:
        """Return the logarithm of a measured time over the true one.

        Parameters
        ----------
        layout, size, name
            What is measured.
        launches_of, turn
            Kind of the launch, and which one.
        """
        name, launches_of = (x.replace("coll_", "") for x in (name, launches_of))  # as ever
        kind = random.Random(f"{self.seed} {layout.name} {launches_of}")
        small, large = kind.choice(self.effects)
        at = random.Random(f"{self.seed} {layout.name} {launches_of} {turn}").randrange(len(small))
        share = min(max(math.log2(size / 65536) / 4, 0.0), 1.0)
        luck = (1 - share) * small[at] + share * large[at]
        if name.startswith(REFERENCE):  # candidates have a power of its luck
            near = min(self.exponents, key=lambda n: abs(math.log(n / size)))
            cell = random.Random(f"{self.seed} {layout.name} {size} {REFERENCE}")
            luck /= cell.choice(self.exponents[near])
        row = random.Random(f"{self.seed} {layout.name} {size} {name}").randrange(len(self.sizes))
        own = random.Random(f"{self.seed} {layout.name} {size} {name} {turn}")
        residual = self.sizes[row] * own.choice(self.shapes[row])
        beside = 0.0
        if self.busy:
            hour = random.Random(f"{self.seed} {layout.name} busy")
            first, rounds = hour.randrange(10), hour.randrange(3, 10)
            if first <= turn < first + rounds:
                beside = (1 - share) * BUSY[0] + share * BUSY[1]
        return float(self.share * (luck + residual) + beside)


class Surface:
    """The true times of one collective's candidates, in us."""

    def __init__(self, seed: int, own: int = 12, settings: int = 26) -> None:
        chance = random.Random(seed)
        self.names = [f"own_{i}" for i in range(own)]
        self.names += [f"native:coll_A={i}" for i in range(settings)]
        self._terms = {name: self._draw(chance) for name in self.names}
        # The MPI's own decision: two algorithms, changed at a size that suits another cluster.
        good = sorted(self.names[own:], key=lambda n: self.time(n, Layout(8, 16), 64))
        large = sorted(self.names[own:], key=lambda n: self.time(n, Layout(8, 16), 1 << 20))
        self._default = (good[chance.randrange(1, 5)], large[chance.randrange(1, 5)])
        self._switch = 2 ** chance.randrange(9, 18)

    @staticmethod
    def _draw(chance: random.Random) -> dict[str, float | str]:
        kind = chance.choice(["tree", "tree", "levels", "levels", "ring", "linear"])
        return {
            "kind": kind,
            "latency": 6 * math.exp(chance.gauss(0, 0.35)),
            "bandwidth": math.exp(chance.gauss(0, 0.45)) / 4000,
            "whole": chance.choice([1.0, 1.0, 0.0]),  # whole vectors each round, or pieces
            "inner": 0.15 * math.exp(chance.gauss(0, 0.5)),
            "fixed": 2 * math.exp(chance.gauss(0, 0.5)),
        }

    def time(self, name: str, layout: Layout, size: int) -> float:
        """Return the true time of a call, in us."""
        if (
            name == REFERENCE
        ):  # two messages, one of them to another node, whose way all ranks share
            return 8 + size / 8000 + layout.ppn * size / 12000
        if name in (NATIVE, BARE):
            return self.time(self._default[size >= self._switch], layout, size)
        t = self._terms[name]
        n, p = layout.nodes, layout.ppn
        latency, beta, inner = float(t["latency"]), float(t["bandwidth"]), float(t["inner"])
        rounds_n, rounds_p = math.log2(n), math.log2(p) if p > 1 else 0.0
        if t["kind"] == "levels":
            rounds, moved = rounds_n + inner * rounds_p, 1 + inner * rounds_p
        elif t["kind"] == "tree":
            rounds, moved = rounds_n + 0.5 * rounds_p, 1 + 0.3 * rounds_p
        elif t["kind"] == "ring":
            rounds, moved = 0.25 * (n * p) ** 0.8, 1.0
        else:
            rounds, moved = 0.1 * n * p, 0.5 * n * p**0.5
        data = beta * size * moved * (rounds_n if t["whole"] else 2.0)
        return float(t["fixed"]) + latency * rounds + data
