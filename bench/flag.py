"""How far apart two cores are, and waiting until they are near.

A virtual machine's cores may be moved while it runs: on one die a flag takes some 60 ns one way,
between two 250, and every figure of collectives is several times larger; between the two hardware
threads of one core it takes 30, and they share that core's caches and units.
"""

from __future__ import annotations

import argparse
import os
import time

from stretto.errors import StrettoError
from stretto.net.cores import flag_ns

#: delays of a flag in ns, from and below: two cores of one L3 cache, and of two
CLASSES = {"near": (45.0, 120.0), "far": (180.0, 400.0)}
#: so long one waits for the cores to come near
PATIENCE_S = 900.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--flag-below`` and ``--flag-above``, which `Flag` takes."""
    parser.add_argument(
        "--flag-below", type=float, default=None, metavar="NS",
        help="begin launches only while a flag takes less between the two cores",
    )  # fmt: skip
    parser.add_argument(
        "--flag-above", type=float, default=None, metavar="NS",
        help="... and more: between two threads of one core it takes some 30",
    )  # fmt: skip


class Flag:
    """Times a flag between the first two processors that this process may use.

    Parameters
    ----------
    below_ns, above_ns
        Wait until it takes less, and more; None: take the cores as they are.

    Attributes
    ----------
    seen_ns
        What was measured when a launch could begin.
    """

    def __init__(self, below_ns: float | None, above_ns: float | None) -> None:
        self.below_ns, self.above_ns = below_ns, above_ns
        self.seen_ns: list[float] = []

    def once_ns(self) -> float:
        """Return what a flag takes one way now."""
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            raise StrettoError("a flag needs two cores", None, "allow this process two cores")
        return flag_ns(usable[0], usable[1])

    def wait(self) -> None:
        """Return when a launch may begin."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = self.once_ns()
            if (self.below_ns is None or found < self.below_ns) and (
                self.above_ns is None or found > self.above_ns
            ):
                self.seen_ns.append(found)
                return
            if time.monotonic() > end:
                raise StrettoError(
                    f"a flag takes {found:.0f} ns between the two cores, and did so for "
                    f"{PATIENCE_S / 60:.0f} minutes", None,
                    "go on later with the same command, or without --flag-below and --flag-above",
                )  # fmt: skip
            time.sleep(2.0)
