"""Times of collectives as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from stretto.counted import counted
from stretto.files.bench import Bench, Sample
from stretto.measure.settings import REDUCTIONS
from stretto.notebook.opened import Opened, array, cube, package

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
        xarray, variables = package("xarray"), {}
        axes = {axis: axis for axis in ("mode", "candidate", "bytes", "launch")}
        for name, found in self._variables().items():
            rows = [
                {a: getattr(s, a) for a in axes} | {"value": time if s.correct else float("nan")}
                for s in found for time in s.times_us
            ]  # fmt: skip
            first = found[0]
            variables[name] = cube(
                name, rows, axes, "us", f"time per call of MPI_{first.collective.capitalize()}",
                datatype=first.datatype, root=first.root,
                operation=first.operation if first.collective in REDUCTIONS else None,
                source=", ".join(sorted({s.source for s in found})),
            )  # fmt: skip
        data = xarray.Dataset(variables, attrs=self._about())
        if not variables:
            return data
        order = sorted(data["candidate"].values, key=lambda c: (c != "native", c))
        data = data.reindex(candidate=order)
        launches = {q.launch: q for q in self.file.launches}
        of = [launches[int(number)] for number in data["launch"].values]
        for coord, name, words in (
            ("nodes", "nodes", "nodes"), ("ppn", "ppn", "ranks per node"),
            ("ranks", "nranks", "ranks"),
        ):  # fmt: skip
            values = [getattr(launch, name) for launch in of]
            data[coord] = array(coord, "launch", values, "1", f"number of {words}")
            data = data.set_coords(coord)
        return data.assign_coords(variant=("launch", [launch.variant for launch in of]))

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
