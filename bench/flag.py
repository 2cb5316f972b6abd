"""How far apart two cores are (flag.c), and waiting until they are near.

A virtual machine's cores may be moved while it runs: on one die a flag takes some 60 ns one way,
between two 250, and every figure of collectives is several times larger; between the two hardware
threads of one core it takes 30, and they share that core's caches and units.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

from stretto.errors import StrettoError

#: so long one waits for the cores to come near
PATIENCE_S = 900.0
SOURCE = Path(__file__).with_name("flag.c")


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
    """Times a flag between the first two cores.

    Parameters
    ----------
    folder
        For the program, which is compiled with ``cc``.
    below_ns, above_ns
        Wait until it takes less, and more; None: take the cores as they are.

    Attributes
    ----------
    seen_ns
        What was measured when a launch could begin.
    """

    def __init__(self, folder: Path, below_ns: float | None, above_ns: float | None) -> None:
        self.program, self.below_ns, self.above_ns = folder / "flag", below_ns, above_ns
        self.seen_ns: list[float] = []
        try:
            subprocess.run(
                ["cc", "-O2", "-pthread", str(SOURCE), "-o", str(self.program)], check=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise StrettoError(
                f"{SOURCE.name} cannot be compiled: {error}", SOURCE, "install a C compiler"
            ) from error

    def once_ns(self) -> float:
        """Return what a flag takes one way now."""
        done = subprocess.run([str(self.program)], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise StrettoError(done.stderr.strip(), self.program, "allow this process two cores")
        return float(done.stdout)

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
