#!/usr/bin/env python3
"""Short-lived communicators: what one costs with Stretto, next to the MPI alone.

    python bench/short_lived.py [--launcher mpirun] [--cc mpicc] [--launches 6] [--ranks 2]

Compiles bench/short_lived.c (a communicator is made, used for five allreduces of 8 bytes, and
freed), launches it bare and with Stretto in turn, and prints the machine and the medians over the
launches. The aim: at most 30 us more than bare.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import defaultdict

from turns import arguments, installation, launched

from stretto.files.identity import collect_host
from stretto.launch.library import library_for

AIM_US = 30.0
CHOICES = {"bare": "", "shm": "allreduce=shm", "messages": "allreduce=recursive_doubling"}


def main() -> int:
    """Run the comparison; 0 when the aim is reached."""
    parser = arguments(__doc__)
    parser.add_argument("--batches", type=int, default=40)
    options = parser.parse_args()
    mpi = installation(options)
    library = str(library_for("interposer", mpi))
    environments = {
        name: {"LD_PRELOAD": library, "STRETTO_CHOICE": choice} if choice else {}
        for name, choice in CHOICES.items()
    }
    found: dict[str, list[float]] = defaultdict(list)
    for name, said in launched(options, mpi, "short_lived", environments, str(options.batches)):
        found[name].append(float(said.split()[-1]))
    host = collect_host()
    print(f"{host.cpu}, {host.cores} cores, load {os.getloadavg()[0]:.1f}; {mpi.name}")
    print(f"{options.ranks} ranks, medians (and extremes) of {options.launches} launches, us")
    bare = statistics.median(found["bare"])
    missed = False
    for name, times in found.items():
        middle = statistics.median(times)
        line = f"{name:<9}{middle:>8.1f}  ({min(times):.1f} to {max(times):.1f})"
        if name != "bare":
            more = statistics.median(a - b for a, b in zip(times, found["bare"], strict=True))
            missed |= more > AIM_US
            verdict = "missed" if more > AIM_US else "reached"
            line += f"  {middle / bare:.2f} x bare, {more:+.1f} us (aim +{AIM_US:.0f}) {verdict}"
        print(line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
