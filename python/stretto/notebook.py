"""Stretto's files in notebooks: as xarray datasets and as pandas data frames.

Both packages are loaded when they are asked for: ``pip install 'stretto[data]'``.

>>> import stretto
>>> net = stretto.open_net("cluster.net.json")  # doctest: +SKIP
>>> net.to_xarray()["latency"].median("launch")  # doctest: +SKIP
"""

from __future__ import annotations

import html
import importlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from stretto.errors import StrettoError
from stretto.files.net import Messages, NetFile, read_net

__all__ = ["NetData", "open_net"]

_BESIDE = {"nothing": "", "reverse": "_both_ways", "all": "_all_pairs"}


@dataclass(frozen=True)
class NetData:
    """One network result.

    Attributes
    ----------
    path
        Where it was read.
    file
        All that the file holds.
    """

    path: Path
    file: NetFile

    def to_dataframe(self) -> Any:
        """Return a `pandas.DataFrame` with a row a launch or run and figure.

        Columns: ``test`` (``tcp_bandwidth`` and ``tcp_latency`` between hosts), ``bytes`` (of a
        message), ``pairs``, ``window``, ``threads``, ``level``, ``source``, ``target``,
        ``streams``, ``beside``, ``launch`` (from 0), ``value``, ``unit``. What does not apply is
        missing.

        Raises
        ------
        StrettoError
            pandas is not installed.
        """
        return _package("pandas").DataFrame(self._rows())

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` with a variable a test.

        Messages through an MPI: dimensions ``bytes`` and ``launch``; medians of each launch, in
        ``us``, ``MB/s`` or ``%``. TCP between hosts: ``pair``, ``streams``, ``threads``,
        ``message_bytes`` and ``run``, in ``byte/s`` and ``us``; ``source`` and ``target`` belong to
        ``pair``. Units are in ``attrs["units"]``. What was not measured is NaN.

        Raises
        ------
        StrettoError
            xarray is not installed.
        """
        xarray = _package("xarray")
        variables: dict[str, Any] = {}
        for name, found in self._messages().items():
            sizes = sorted({m.bytes for m in found})
            launches = max(len(m.launches) for m in found)
            values = np.full((len(sizes), launches), np.nan)
            for m in found:
                each = [float(median(run)) for run in m.launches]
                values[sizes.index(m.bytes), : len(each)] = each
            first = found[0]
            about = {"pairs": first.pairs, "window": first.window, "threads": first.threads,
                     "level": f"MPI_THREAD_{first.level.upper()}"}  # fmt: skip
            variables[name] = xarray.DataArray(
                values, dims=("bytes", "launch"), name=name,
                coords={"bytes": _sizes(xarray, "bytes", sizes), "launch": np.arange(launches)},
                attrs={"units": first.unit, "long_name": name.replace("_", " "), **about},
            )  # fmt: skip
        for name, unit, rows in self._tcp():
            variables[name] = _array(xarray, name, unit, rows)
        return xarray.Dataset(variables, attrs=self._about())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(str(value))}</td></tr>"
            for name, value in {"file": self.path, **self._about()}.items()
        )
        return f"<table>{rows}</table>"

    def _about(self) -> dict[str, str]:
        """Return where the figures are from."""
        file = self.file
        out = {"created": file.created, "host": file.host.name, "stretto": file.stretto}
        if file.ranks is not None:
            out["mpi"] = f"{file.ranks.mpi.family} {file.ranks.mpi.version}"
            out["hosts_of_ranks"] = " ".join(file.ranks.hosts)
        if file.imported is not None:
            out["measured_by"] = ", ".join(file.imported.software)
        return out

    def _messages(self) -> dict[str, list[Messages]]:
        """Return the measurements of messages by the names of their variables."""
        out: dict[str, list[Messages]] = defaultdict(list)
        messages = self.file.ranks.messages if self.file.ranks else []
        windows = {m.test: max(x.window for x in messages if x.test == m.test) for m in messages}
        for m in messages:
            words = [m.test.replace("-", "_")]
            words += [f"{m.pairs}_pairs"] * (m.pairs > 1)
            words += [f"window_{m.window}"] * (m.window != windows[m.test])
            words += [f"{m.threads}_threads"] * (m.threads > 1)
            words += [m.level] * (m.level != "single" and m.threads == 1)
            out["_".join(words)].append(m)
        return out

    def _tcp(self) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return name, unit and rows of each figure of TCP."""
        rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in self._rows():
            if row["test"].startswith("tcp_"):
                rows[row["test"] + _BESIDE[row["beside"]], row["unit"]].append(row)
        return [(name, unit, found) for (name, unit), found in rows.items()]

    def _rows(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for m in self.file.ranks.messages if self.file.ranks else ():
            same = {"test": m.test, "bytes": m.bytes, "pairs": m.pairs, "window": m.window,
                    "threads": m.threads, "level": m.level, "unit": m.unit}  # fmt: skip
            out += [{**same, "launch": i, "value": float(median(run))}
                    for i, run in enumerate(m.launches)]  # fmt: skip
        for s in self.file.streams:
            same = {"test": "tcp_bandwidth", "bytes": s.bytes, "threads": s.threads,
                    "source": s.source, "target": s.target, "streams": s.streams,
                    "beside": s.beside, "unit": "byte/s"}  # fmt: skip
            out += [{**same, "launch": i, "value": rate} for i, rate in enumerate(s.rates)]
        for x in self.file.latencies:
            same = {"test": "tcp_latency", "bytes": x.bytes, "source": x.source,
                    "target": x.target, "beside": x.beside, "unit": "us"}  # fmt: skip
            out += [{**same, "launch": i, "value": run.median_us} for i, run in enumerate(x.runs)]
        return out


def open_net(path: str | PathLike[str]) -> NetData:
    """Open a result of ``stretto net`` or of ``stretto import`` (``NAME.net.json``).

    Raises
    ------
    StrettoError
        The file cannot be read, or is none.
    """
    return NetData(Path(path), read_net(Path(path)))


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise StrettoError(
            f"{name} is not installed", remedy="pip install 'stretto[data]'"
        ) from error


def _sizes(xarray: Any, dimension: str, sizes: Sequence[int]) -> Any:
    return xarray.DataArray(list(sizes), dims=dimension, attrs={"units": "byte"})


def _array(xarray: Any, name: str, unit: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return figures of pairs of hosts as an array."""
    pairs = list(dict.fromkeys((r["source"], r["target"]) for r in rows))
    axes: dict[str, list[int]] = {}
    keys = {"streams": "streams", "threads": "threads", "bytes": f"{name}_bytes"}
    for key, dimension in keys.items():
        if key in rows[0]:
            axes[dimension] = sorted({r[key] for r in rows})
    runs = 1 + max(r["launch"] for r in rows)
    values = np.full((len(pairs), *map(len, axes.values()), runs), np.nan)
    columns = {dimension: key for key, dimension in keys.items()}
    for r in rows:
        at = [axes[dimension].index(r[columns[dimension]]) for dimension in axes]
        values[(pairs.index((r["source"], r["target"])), *at, r["launch"])] = r["value"]
    coords: dict[str, Any] = {
        "source": ("pair", [source for source, _ in pairs]),
        "target": ("pair", [target for _, target in pairs]),
        "run": np.arange(runs),
    }
    for dimension, found in axes.items():
        coords[dimension] = _sizes(xarray, dimension, found) if "bytes" in dimension else found
    return xarray.DataArray(
        values, dims=("pair", *axes, "run"), coords=coords, name=name,
        attrs={"units": unit, "long_name": name.replace("_", " ")},
    )  # fmt: skip
