"""Network results as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from stretto.files.net import Messages, NetFile
from stretto.notebook.opened import Opened, array, package

_BESIDE = {"nothing": "", "reverse": "_both_ways", "all": "_all_pairs"}


@dataclass(frozen=True, repr=False)
class NetData(Opened):
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
        ``streams``, ``beside``, ``share``, ``progress_thread``, ``launch`` (from 0), ``value``,
        ``unit``. What does not apply is missing.

        Raises
        ------
        StrettoError
            pandas is not installed.
        """
        return package("pandas").DataFrame(self._rows())

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` with a variable a test.

        Messages through an MPI: dimensions ``bytes`` and ``launch``; medians of each launch, in
        ``us``, ``MB/s`` or ``%``. TCP between hosts: ``pair``, ``streams``, ``threads``,
        ``tcp_bandwidth_bytes`` and ``run``, in ``byte/s`` and ``us``; ``source`` and ``target``
        belong to ``pair``. Flags and copies between hardware threads: ``core_pair``, with ``a`` and
        ``b``. Units are in ``attrs["units"]``. What was not measured is NaN.

        Raises
        ------
        StrettoError
            xarray is not installed.
        """
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
            variables[name] = array(
                name, ("bytes", "launch"), values, first.unit, name.replace("_", " "), **about
            ).assign_coords(bytes=_sizes("bytes", sizes), launch=np.arange(launches))
        for name, unit, rows in self._pairs():
            variables[name] = _array(name, unit, rows)
        return package("xarray").Dataset(variables, attrs=self._about())

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

    def _charts(self, charts: Any) -> Mapping[str, Any]:
        out: Mapping[str, Any] = charts.of_net(self.path)
        return out

    def _messages(self) -> dict[str, list[Messages]]:
        """Return the measurements of messages by the names of their variables."""
        out: dict[str, list[Messages]] = defaultdict(list)
        ranks = self.file.ranks
        messages = [*ranks.messages, *ranks.with_thread] if ranks else []
        windows = {m.test: max(x.window for x in messages if x.test == m.test) for m in messages}
        for m in messages:
            words = [m.test.replace("-", "_")]
            words += [f"{m.pairs}_pairs"] * (m.pairs > 1)
            words += [f"window_{m.window}"] * (m.window != windows[m.test])
            words += [f"{m.threads}_threads"] * (m.threads > 1)
            words += [m.level] * (m.level != "single" and m.threads == 1)
            words += ["progress_thread"] * (ranks is not None and m in ranks.with_thread)
            out["_".join(words)].append(m)
        return out

    def _pairs(self) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return name, unit and rows of each figure of pairs of hosts or of hardware threads."""
        rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in self._rows():
            if "source" in row:
                beside = _BESIDE[row.get("beside", "nothing")]
                rows[row["test"] + beside, row["unit"]].append(row)
        return [(name, unit, found) for (name, unit), found in rows.items()]

    def _rows(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for name, found in self._messages().items():
            for m in found:
                same = {"test": m.test, "bytes": m.bytes, "pairs": m.pairs, "window": m.window,
                        "threads": m.threads, "level": m.level, "unit": m.unit,
                        "progress_thread": name.endswith("progress_thread")}  # fmt: skip
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
        for pair in self.file.cores.pairs if self.file.cores else ():
            same = {"source": pair.a, "target": pair.b, "share": pair.share}
            flags = {**same, "test": "flag", "unit": "ns"}
            out += [{**flags, "launch": i, "value": ns} for i, ns in enumerate(pair.flag_ns)]
            for copy in pair.copies:
                for more, rates in (("", copy.bytes_s), ("_both", copy.both_bytes_s)):
                    kind = {**same, "test": f"copy_{copy.way}{more}", "bytes": copy.bytes,
                            "unit": "byte/s"}  # fmt: skip
                    out += [{**kind, "launch": i, "value": v} for i, v in enumerate(rates)]
        return out


def _sizes(dimension: str, sizes: Sequence[int]) -> Any:
    return array(dimension, dimension, list(sizes), "byte", "message size")


def _array(name: str, unit: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return figures of pairs of hosts or of hardware threads as an array."""
    cores = "share" in rows[0]
    pair, ends = ("core_pair", ("a", "b")) if cores else ("pair", ("source", "target"))
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
        ends[0]: (pair, [source for source, _ in pairs]),
        ends[1]: (pair, [target for _, target in pairs]),
        "run": np.arange(runs),
    }
    if cores:
        coords["share"] = (pair, [next(r["share"] for r in rows if (r["source"], r["target"]) == p)
                                  for p in pairs])  # fmt: skip
    for dimension, found in axes.items():
        coords[dimension] = _sizes(dimension, found) if "bytes" in dimension else found
    dims = (pair, *axes, "run")
    return array(name, dims, values, unit, name.replace("_", " ")).assign_coords(coords)
