"""Particles that drift with the wind: every rank needs the whole field of every hour.

Rank 0 reads an hour of u and v and broadcasts it; each rank moves its share of the particles. It is
the pattern of transport models that read a forecast's files, and its time is that of MPI_Bcast.

    mpirun -n 8 python reader.py DATA --hours 240
"""

from __future__ import annotations

import argparse
from pathlib import Path

import h5netcdf
import numpy as np
from mpi4py import MPI

EARTH = 6.371e6  # m
HOUR = 3600.0  # s


def wind_at(field: np.ndarray, lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """Return u and v, m/s, at the nearest points of the grid."""
    rows, columns = field.shape[1:]
    i = np.rint((lat + 90) / 180 * (rows - 1)).astype(int)
    j = np.rint(lon / 360 * columns).astype(int) % columns
    return field[:, i, j]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Directory of the year.")
    parser.add_argument("--hours", type=int, default=240, help="Hours from 1 January (240).")
    parser.add_argument("--particles", type=int, default=4000, help="Particles of a rank (4000).")
    chosen = parser.parse_args()
    world = MPI.COMM_WORLD
    files, shape = [], None
    if world.rank == 0:
        january = next(chosen.data.glob("*/01"))
        files = [h5netcdf.File(january / f"{name}.nc", "r") for name in ("u", "v")]
        hours, *grid = files[0]["u"].shape
        shape = (min(chosen.hours, hours), *grid)
    hours, *grid = world.bcast(shape)
    field = np.empty((2, *grid), dtype=np.float32)
    rng = np.random.default_rng(world.rank)
    lat = rng.uniform(-60, 60, chosen.particles)
    lon = rng.uniform(0, 360, chosen.particles)
    days: list[np.ndarray] = []
    in_bcast, begin = 0.0, MPI.Wtime()
    for hour in range(hours):
        if world.rank == 0:
            if hour % 24 == 0:  # a chunk of the files
                days = [f[n][hour : hour + 24] for f, n in zip(files, "uv", strict=True)]
            field[0], field[1] = days[0][hour % 24], days[1][hour % 24]
        start = MPI.Wtime()
        world.Bcast(field)
        in_bcast += MPI.Wtime() - start
        u, v = wind_at(field, lat, lon)
        lat = np.clip(lat + np.degrees(v * HOUR / EARTH), -89.0, 89.0)
        lon = (lon + np.degrees(u * HOUR / EARTH) / np.cos(np.radians(lat))) % 360
    elapsed = world.allreduce(MPI.Wtime() - begin, MPI.MAX)
    total = world.allreduce(in_bcast, MPI.SUM) / world.size
    place = world.gather((lat.sum(), lon.sum()))
    if world.rank == 0:
        sums = np.sum(place, axis=0) / (chosen.particles * world.size)
        print(f"mean position: {sums[0]:.9f} {sums[1]:.9f}")
        print(f"hours per second: {hours / elapsed:.2f}")
        print(f"share of the time in MPI_Bcast: {total / elapsed:.2f}")


if __name__ == "__main__":
    main()
