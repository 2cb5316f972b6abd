"""Network results as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from stretto.files.net import Messages, NetFile
from stretto.notebook.opened import Opened, cube, package

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
        return package("pandas").DataFrame([row for _, row in self._rows()])

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
        xarray = package("xarray")
        named: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for name, row in self._rows():
            named[name].append(row)
        variables = {name: _array(name, rows) for name, rows in named.items()}
        return xarray.Dataset(variables, attrs=self._about())

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

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each figure of each launch or run, with the name of its variable."""
        for name, found in self._messages().items():
            for m in found:
                same = {"test": m.test, "bytes": m.bytes, "pairs": m.pairs, "window": m.window,
                        "threads": m.threads, "level": m.level, "unit": m.unit,
                        "progress_thread": name.endswith("progress_thread")}  # fmt: skip
                yield from _each(name, same, [float(median(run)) for run in m.launches])
        for s in self.file.streams:
            same = {"test": "tcp_bandwidth", "bytes": s.bytes, "threads": s.threads,
                    "source": s.source, "target": s.target, "streams": s.streams,
                    "beside": s.beside, "unit": "byte/s"}  # fmt: skip
            yield from _each(f"tcp_bandwidth{_BESIDE[s.beside]}", same, s.rates)
        for x in self.file.latencies:
            same = {"test": "tcp_latency", "bytes": x.bytes, "source": x.source,
                    "target": x.target, "beside": x.beside, "unit": "us"}  # fmt: skip
            runs = [run.median_us for run in x.runs]
            yield from _each(f"tcp_latency{_BESIDE[x.beside]}", same, runs)
        for pair in self.file.cores.pairs if self.file.cores else ():
            same = {"source": pair.a, "target": pair.b, "share": pair.share}
            yield from _each("flag", {**same, "test": "flag", "unit": "ns"}, pair.flag_ns)
            for copy in pair.copies:
                for more, rates in (("", copy.bytes_s), ("_both", copy.both_bytes_s)):
                    name = f"copy_{copy.way}{more}"
                    kind = {**same, "test": name, "bytes": copy.bytes, "unit": "byte/s"}
                    yield from _each(name, kind, rates)


def _each(
    name: str, same: Mapping[str, Any], values: Sequence[float]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((name, {**same, "launch": i, "value": v}) for i, v in enumerate(values))


def _array(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the figures of one variable as an array."""
    first, words = rows[0], name.replace("_", " ")
    if "source" not in first:
        about = {key: first[key] for key in ("pairs", "window", "threads")}
        about["level"] = f"MPI_THREAD_{first['level'].upper()}"
        dims = {"bytes": "bytes", "launch": "launch"}
        return cube(name, rows, dims, first["unit"], words, **about)
    cores = "share" in first
    pair, ends = ("core_pair", ("a", "b")) if cores else ("pair", ("source", "target"))
    pairs = {(r["source"], r["target"]): r.get("share") for r in rows}
    number = {both: i for i, both in enumerate(pairs)}
    rows = [{**r, pair: number[r["source"], r["target"]]} for r in rows]
    keys = {"streams": "streams", "threads": "threads", f"{name}_bytes": "bytes"}
    dims = {pair: pair, **{d: k for d, k in keys.items() if k in first}, "run": "launch"}
    out = cube(name, rows, dims, first["unit"], words).drop_vars(pair)
    out = out.assign_coords({end: (pair, [b[i] for b in pairs]) for i, end in enumerate(ends)})
    return out.assign_coords(share=(pair, list(pairs.values()))) if cores else out
