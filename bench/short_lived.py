#!/usr/bin/env python3
"""Short-lived communicators: what one costs with Stretto, next to the MPI alone.

    python bench/short_lived.py [--launcher mpirun] [--cc mpicc] [--launches 6] [--ranks 2]

Compiles bench/short_lived.c (a communicator is made, used for five allreduces of 8 bytes, and
freed), launches it bare and with Stretto in turn, and prints the machine and the medians over the
launches. The aim: at most 30 us more than bare.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from stretto.files.identity import collect_host
from stretto.launch.library import library_for
from stretto.measure.idle import idle_warning
from stretto.mpi import from_launcher

HERE = Path(__file__).resolve().parent
AIM_US = 30.0
CHOICES = {"bare": "", "shm": "allreduce=shm", "messages": "allreduce=recursive_doubling"}


def main() -> int:
    """Run the comparison; 0 when the aim is reached."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--launcher", default="/usr/bin/mpirun")
    parser.add_argument("--cc", default="mpicc")
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    mpi = from_launcher(Path(options.launcher))
    warning = idle_warning()
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "short_lived"
        source = str(HERE / "short_lived.c")
        subprocess.run([options.cc, "-O2", source, "-o", str(program)], check=True)
        for launch in range(options.launches):
            names = list(CHOICES)
            for name in names[launch % 3 :] + names[: launch % 3]:
                variables = {}
                if CHOICES[name]:
                    variables = {
                        "LD_PRELOAD": str(library_for("interposer", mpi)),
                        "STRETTO_CHOICE": CHOICES[name],
                    }
                words, env = mpi.launch(
                    options.ranks,
                    [str(program), str(options.batches)],
                    variables=variables,
                    bind="core",
                )
                done = subprocess.run(
                    words, env={**os.environ, **env}, capture_output=True, text=True, check=True
                )
                found[name].append(float(done.stdout.split()[-1]))
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
