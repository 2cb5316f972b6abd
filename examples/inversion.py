#!/usr/bin/env python3
"""Where does it come from? Emissions estimated from a few stations, day by day.

    mpirun -n 2 python examples/inversion.py [--days 2000] [--cells 16384]

Every rank holds the footprints of its own stations: how much each cell of the map adds to what the
station measures. For each day the emissions that explain all stations' measurements are found by
conjugate gradients on the normal equations (CGLS). An iteration multiplies by the local footprints
and sums the gradient of the whole map over the ranks, an MPI_Allreduce of 8 bytes a cell. That sum
is what limits the scaling of such a program, and it is ordinary mpi4py: nothing here knows Stretto.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core a rank

import numpy as np
from mpi4py import MPI

STATIONS = 4  # of each rank


def footprints(cells: int, rank: int) -> np.ndarray:
    """Return how strongly each cell is seen by each of this rank's stations."""
    rng = np.random.default_rng(1000 + rank)
    where = np.linspace(0.0, 1.0, cells)
    centre, width = rng.uniform(size=(STATIONS, 1)), rng.uniform(0.05, 0.3, size=(STATIONS, 1))
    return np.exp(-(((where - centre) / width) ** 2)) / np.sqrt(cells)


def invert(
    comm: MPI.Intracomm, seen: np.ndarray, measured: np.ndarray, emissions: np.ndarray
) -> int:
    """Improve ``emissions`` until they explain what was measured; returns the iterations."""
    gradient = np.empty_like(emissions)
    norm = np.empty(1)
    rest = measured - seen @ emissions
    comm.Allreduce(rest @ seen, gradient)
    direction = gradient.copy()
    old = first = gradient @ gradient
    for iteration in range(1, 101):
        if old <= 1e-10 * first:
            return iteration - 1
        along = seen @ direction
        comm.Allreduce(np.array([along @ along]), norm)
        step = old / norm[0]
        emissions += step * direction
        rest -= step * along
        comm.Allreduce(rest @ seen, gradient)
        new = gradient @ gradient
        direction *= new / old
        direction += gradient
        old = new
    return 100


def main() -> None:
    """Invert all days and print the speed and a fingerprint of the result."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--days", type=int, default=2000)
    parser.add_argument("--cells", type=int, default=16384)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    seen = footprints(args.cells, comm.rank)
    where = np.linspace(0.0, 1.0, args.cells)
    rng = np.random.default_rng(comm.rank)
    total, iterations = 0.0, 0

    comm.Barrier()
    start = MPI.Wtime()
    for day in range(args.days):
        truth = 1.0 + np.sin(2 * np.pi * (where + day / 365.0))
        measured = seen @ truth + rng.normal(scale=1e-3, size=STATIONS)
        emissions = np.ones(args.cells)
        iterations += invert(comm, seen, measured, emissions)
        total += float(emissions.sum())
    seconds = comm.allreduce(MPI.Wtime() - start, op=MPI.MAX)

    # All ranks must have found the same map, to the last bit.
    prints = comm.gather(total.hex())
    if comm.rank == 0:
        if len(set(prints)) != 1:
            raise SystemExit(f"the ranks disagree: {prints}")
        print(f"days: {args.days}  iterations: {iterations}  emissions: {prints[0]}")
        print(f"iterations per second: {iterations / seconds:.1f}")


if __name__ == "__main__":
    main()
