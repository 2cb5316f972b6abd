#!/usr/bin/env python3
"""Nonblocking collectives: ours against blocking ones, and what overlaps with computation.

    python bench/nonblocking.py [--launcher mpirun] [--cc mpicc] [--launches 6] [--flag-below NS]

Compiles bench/nonblocking.c, launches it bare and with Stretto in both modes of STRETTO_NONBLOCKING
in turn, and prints medians over the launches, and what a flag took between the two cores before
each. The aims, of 8 bytes next to our own blocking call:
MPI_Iallreduce + MPI_Wait at most 1.3 times as long, MPI_Start + MPI_Wait of a persistent one (not
under Open MPI 4, which has none) at most 1.05 times.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict

from flag import Flag, add_arguments
from turns import arguments, installation, launched

from stretto.launch.library import library_for

KINDS = ("blocking8", "nonblocking8", "persistent8", "alone", "compute", "overlap", "hidden")
#: how many times as long as the blocking call, at the most, in the mode `calls`
AIMS = {"nonblocking8": 1.3, "persistent8": 1.05}
CHOICES = "allreduce=shm;barrier=shm;bcast=shm"


def main() -> int:
    """Run the comparison; 0 when the aim is reached."""
    parser = arguments(__doc__)
    add_arguments(parser)
    options = parser.parse_args()
    mpi = installation(options)
    library = str(library_for("interposer", mpi))
    modes: dict[str, dict[str, str]] = {"bare": {}}
    for mode in ("calls", "thread"):
        modes[mode] = {
            "LD_PRELOAD": library,
            "STRETTO_CHOICE": CHOICES,
            "STRETTO_AFTER": "1",
            "STRETTO_NONBLOCKING": mode,
        }
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    flag = Flag(options.flag_below, options.flag_above)
    for mode, said in launched(options, mpi, "nonblocking", modes, before=flag.wait):
        for line in said.splitlines():
            kind, _, value = line.partition(" ")
            if kind in KINDS:
                found[mode][kind].append(float(value))
    print(f"{mpi.name}, {options.ranks} ranks, medians of {options.launches} launches (us; %)")
    print(
        f"a flag one way between the cores: {min(flag.seen_ns):.0f} to {max(flag.seen_ns):.0f} ns"
    )
    kinds_found = [kind for kind in KINDS if found["bare"][kind]]
    print(" " * 8 + "".join(f"{kind:>14}" for kind in kinds_found))
    missed = False
    for mode, kinds in found.items():
        medians = {kind: statistics.median(kinds[kind]) for kind in kinds_found}
        print(f"{mode:<8}" + "".join(f"{medians[k]:>14.3f}" for k in kinds_found))
        for kind in [k for k in AIMS if k in medians and mode != "bare"]:
            ratio = medians[kind] / medians["blocking8"]
            verdict = ""
            if mode == "calls":
                verdict = "reached" if ratio <= AIMS[kind] else "missed"
                missed |= ratio > AIMS[kind]
            print(f"  {mode}: {kind} {ratio:.2f} x blocking (aim {AIMS[kind]}) {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
