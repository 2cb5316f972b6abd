"""Times of collectives as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from stretto.counted import counted
from stretto.files.bench import Bench, Sample
from stretto.notebook.opened import Opened, array, package

_Shape = tuple[str, str | None, str | None, int | None]


@dataclass(frozen=True, repr=False)
class BenchData(Opened):
    """Results of a benchmark.

    Attributes
    ----------
    path
        Where they were read.
    file
        All that the file holds.
    """

    path: Path
    file: Bench

    def to_dataframe(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each candidate, size, mode and launch.

        Columns: ``collective``, ``candidate``, ``bytes``, ``datatype``, ``operation``, ``root``,
        ``mode``, ``launch``, ``nodes``, ``ppn``, ``ranks``, ``variant``, ``time_us`` (median of the
        batches, per call), ``min_us``, ``max_us``, ``batches``, ``batch`` (calls of one),
        ``reference_us``, ``missed``, ``correct``, ``source``.

        Raises
        ------
        StrettoError
            pandas is not installed.
        """
        launches = {q.launch: q for q in self.file.launches}
        rows = []
        for s in self.file.samples:
            q = launches[s.launch]
            rows.append({
                "collective": s.collective, "candidate": s.candidate, "bytes": s.bytes,
                "datatype": s.datatype, "operation": s.operation, "root": s.root, "mode": s.mode,
                "launch": s.launch, "nodes": q.nodes, "ppn": q.ppn, "ranks": q.nranks,
                "variant": q.variant, "time_us": median(s.times_us), "min_us": min(s.times_us),
                "max_us": max(s.times_us), "batches": len(s.times_us), "batch": s.batch,
                "reference_us": s.reference_us, "missed": s.missed, "correct": s.correct,
                "source": s.source,
            })  # fmt: skip
        return package("pandas").DataFrame(rows)

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` with a variable for each collective, in ``us`` per call.

        Dimensions: ``mode``, ``candidate``, ``bytes``, ``launch``; ``nodes``, ``ppn``, ``ranks``
        and ``variant`` belong to ``launch``. Values are medians of the batches of a launch. A
        collective that was measured with several datatypes, operations or roots has a variable for
        each (``allreduce_double_sum``). What was not measured, or gave wrong results, is NaN.

        Raises
        ------
        StrettoError
            xarray is not installed.
        """
        samples, launches = self.file.samples, {q.launch: q for q in self.file.launches}
        axes: dict[str, list[Any]] = {
            "mode": sorted({s.mode for s in samples}),
            "candidate": sorted({s.candidate for s in samples}, key=lambda c: (c != "native", c)),
            "bytes": sorted({s.bytes for s in samples}),
            "launch": sorted({s.launch for s in samples}),
        }
        at = {name: {value: i for i, value in enumerate(axis)} for name, axis in axes.items()}
        variables = {}
        for name, found in self._variables().items():
            times: dict[tuple[int, ...], list[float]] = defaultdict(list)
            for s in found:
                where = (s.mode, s.candidate, s.bytes, s.launch)
                index = tuple(at[axis][v] for axis, v in zip(axes, where, strict=True))
                times[index] += s.times_us if s.correct else [float("nan")]
            values = np.full([len(axis) for axis in axes.values()], np.nan)
            for index, all_times in times.items():
                values[index] = np.median(all_times)
            first = found[0]
            function = f"MPI_{first.collective.capitalize()}"
            variables[name] = array(
                name, tuple(axes), values, "us", f"time per call of {function}",
                datatype=first.datatype, operation=first.operation, root=first.root,
                source=", ".join(sorted({s.source for s in found})),
            )  # fmt: skip
        coords: dict[str, Any] = {name: list(axis) for name, axis in axes.items()}
        coords["bytes"] = array("bytes", "bytes", axes["bytes"], "byte", "message size")
        for name, words in (("nodes", "nodes"), ("ppn", "ranks per node"), ("nranks", "ranks")):
            of_launch = [getattr(launches[n], name) for n in axes["launch"]]
            coord = name.removeprefix("n") if name == "nranks" else name
            coords[coord] = array(coord, "launch", of_launch, "1", f"number of {words}")
        coords["variant"] = ("launch", [launches[n].variant for n in axes["launch"]])
        return package("xarray").Dataset(variables, coords, self._about())

    def _variables(self) -> dict[str, list[Sample]]:
        """Return the samples by the names of their variables."""
        shapes: dict[_Shape, list[Sample]] = defaultdict(list)
        for s in self.file.samples:
            shapes[(s.collective, s.datatype, s.operation, s.root)].append(s)
        names = [collective for collective, *_ in shapes]
        out = {}
        for (collective, datatype, operation, root), found in shapes.items():
            words = [w.removeprefix("MPI_").lower() for w in (datatype, operation) if w]
            words += [] if root is None else [f"root{root}"]
            several = names.count(collective) > 1
            out["_".join([collective, *(words if several else [])])] = found
        return out

    def _about(self) -> dict[str, str]:
        header, samples = self.file.header, self.file.samples
        collectives = dict.fromkeys(s.collective for s in samples)
        layouts = dict.fromkeys(f"{q.nodes} x {q.ppn}" for q in self.file.launches)
        return {
            "created": header.created,
            "host": header.host.name,
            "mpi": f"{header.mpi.family} {header.mpi.version}",
            "stretto": header.stretto,
            "collectives": ", ".join(collectives),
            "layouts": ", ".join(layouts),
            "measured": f"{counted(len({s.candidate for s in samples}), 'candidate')}, "
            f"{counted(len({q.launch for q in self.file.launches}), 'launch', 'launches')}",
        }

    def _charts(self, charts: Any) -> Mapping[str, Any]:
        out: Mapping[str, Any] = charts.of_bench(self.file)
        return out
