"""A year of hourly winds with xarray and Dask on a Slurm cluster: climatology, anomaly, maps.

    python analyse.py DATA --out OUT --workers 1,2,4      # on any Slurm cluster

Each worker is a job of its own with one core. The same analysis runs once for each number.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import xarray
from dask_jobqueue import SLURMCluster
from distributed import Client, progress
from maps import interactive, scaling, static

#: hours; files have chunks of 24, so that no chunk of a file is read twice
CHUNK = 240


def open_year(base: Path) -> xarray.Dataset:
    """Open all files lazily: nothing but their headers is read."""
    files = sorted(base.glob("*/*/*.nc"))
    if not files:
        raise SystemExit(f"no files in {base}: python make_year.py {base}")
    return xarray.open_mfdataset(
        files, engine="h5netcdf", chunks={"time": CHUNK}, combine="by_coords", parallel=True
    )


def analysis(data: xarray.Dataset) -> dict[str, xarray.DataArray]:
    """Return the lazy results, from the wind speed of every hour."""
    speed = (data["u"] ** 2 + data["v"] ** 2) ** 0.5
    speed.attrs = {"units": "m s-1", "long_name": "wind speed"}
    by_month = speed.groupby("time.month")
    climatology = by_month.mean("time", keep_attrs=True)
    # variance of the hours around the mean of their month
    spread = ((speed**2).groupby("time.month").mean("time") - climatology**2) ** 0.5
    spread.attrs = {"units": "m s-1", "long_name": "standard deviation of the hourly wind speed"}
    day = speed.isel(time=slice(14 * 24, 15 * 24)).mean("time", keep_attrs=True)
    anomaly = day - climatology.sel(month=1)
    anomaly.attrs = {"units": "m s-1", "long_name": "wind speed, 15 January less January"}
    return {"climatology": climatology, "spread": spread, "anomaly": anomaly}


def cluster_of(chosen: argparse.Namespace) -> SLURMCluster:
    options: dict[str, Any] = {"host": chosen.host} if chosen.host else {}
    return SLURMCluster(
        cores=1, processes=1, memory=chosen.memory, walltime="00:20:00", python=sys.executable,
        nanny=False, local_directory="/tmp", log_directory=str(chosen.out / "logs"),
        scheduler_options={**options, "dashboard_address": ":0"},
        job_extra_directives=["--exclusive"],  # a worker on each node
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Directory of the year.")
    parser.add_argument("--out", type=Path, default=Path("earth"), help="Directory of the results.")
    parser.add_argument("--workers", default="1,2,4", help="Numbers of workers (1,2,4).")
    parser.add_argument("--memory", default="900MB", help="Memory of a worker (900MB).")
    parser.add_argument("--host", help="Address of this node that the workers reach.")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    numbers = [int(word) for word in chosen.workers.split(",")]
    times: dict[int, float] = {}
    with cluster_of(chosen) as cluster, Client(cluster) as client:
        for number in numbers:
            cluster.scale(jobs=number)
            client.wait_for_workers(number, timeout=180)
            begin = time.perf_counter()
            data = open_year(chosen.data)
            lazy = xarray.Dataset(analysis(data))
            future = client.compute(lazy)
            progress(future, notebook=False)
            results = future.result()
            times[number] = time.perf_counter() - begin
            print(f"\n{number} workers: {times[number]:.1f} s for {data.nbytes / 1e9:.2f} GB")
    results.to_netcdf(chosen.out / "results.nc", engine="h5netcdf")
    facts = {"gigabytes": data.nbytes / 1e9, "sizes": dict(data.sizes), "seconds": times}
    (chosen.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    static(results, chosen.out / "map.png")
    scaling(times, chosen.out / "scaling.svg")
    interactive(results["climatology"], chosen.out / "map.html")


if __name__ == "__main__":
    main()
