"""Profiles as data: ranks, calls, messages and files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.profile import Profile
from stretto.notebook.opened import Opened, array, package

#: field of a profile, variable, unit, long name
_RANKS = (
    ("wall_s", "wall", "s", "time from MPI_Init to MPI_Finalize"),
    ("mpi_s", "mpi", "s", "time in MPI"),
    ("io_s", "io", "s", "time of reading and writing"),
    ("file_bytes", "file_bytes", "byte", "bytes read and written outside MPI-IO"),
    ("cpu_s", "cpu", "s", "CPU time"),
    ("core_wait_s", "core_wait", "s", "time on the run queue without a core"),
    ("involuntary", "involuntary", "1", "involuntary context switches"),
    ("repeated_faults", "repeated_faults", "1", "page faults beyond the growth of memory"),
    ("threads", "threads", "1", "threads that called MPI"),
)
_CALLS = (
    ("calls", "calls", "1", "number of calls"),
    ("bytes", "bytes", "byte", "bytes of the calls"),
    ("time_s", "time", "s", "time in the calls"),
    ("wait_s", "wait", "s", "time until the last rank entered"),
    ("transfer_s", "transfer", "s", "time after the last rank entered"),
)


@dataclass(frozen=True, repr=False)
class ProfileData(Opened):
    """One profile.

    Attributes
    ----------
    path
        Where it was read.
    file
        All that the file holds.
    """

    lacking: ClassVar[Mapping[str, str]] = {
        "messages": "no messages between ranks were recorded, so there is no chart of them",
        "timeline": "no collectives were sampled, so there is no timeline",
    }

    path: Path
    file: Profile

    def to_dataframe(self, what: str = "calls") -> Any:
        """Return a `pandas.DataFrame`; units stand in the names of the columns.

        Parameters
        ----------
        what
            ``calls``: a row for each call shape, summed over the ranks. ``ranks``: a row for each
            rank. ``messages``: a row for each pair of ranks with point-to-point traffic. ``files``:
            a row for each file, summed over the ranks that used it.

        Raises
        ------
        StrettoError
            pandas is not installed, or `what` is none of these.
        """
        tables: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "calls": self._calls, "ranks": self._ranks,
            "messages": self._messages, "files": self._files,
        }  # fmt: skip
        if what not in tables:
            raise StrettoError(
                f"there is no table {what!r}", self.path, f"give one of: {', '.join(tables)}"
            )
        return package("pandas").DataFrame(tables[what]())

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` of ranks, call shapes and messages.

        Dimension ``rank`` (with ``node``): ``wall``, ``mpi``, ``io``, ``cpu``, ``core_wait`` in s.
        Dimensions ``call``, ``rank``: ``time``, ``wait``, ``transfer`` in s, ``calls``, ``bytes``;
        ``function``, ``kind``, ``ranks_of_call``, ``bytes_min``, ``bytes_max``, ``datatype``,
        ``operation`` and ``detail`` belong to ``call``. Dimension ``pair`` (with ``source`` and
        ``target``): ``messages``, ``message_bytes``. What is not known is NaN or empty.

        Raises
        ------
        StrettoError
            xarray is not installed.
        """
        file = self.file
        variables = {
            name: array(name, "rank", np.asarray(values, dtype=float), unit, words)
            for key, name, unit, words in _RANKS
            if (values := getattr(file, key)) is not None
        }
        unknown = [float("nan")] * file.nranks
        for key, name, unit, words in _CALLS if file.calls else ():
            rows = [getattr(call, key) or unknown for call in file.calls]
            variables[name] = array(name, ("call", "rank"), np.array(rows, float), unit, words)
        found = file.matrix.messages
        for name, unit, at in (("messages", "1", 2), ("message_bytes", "byte", 3)) if found else ():
            amounts = np.array([m[at] for m in found], dtype=float)
            words = "point-to-point messages" if at == 2 else "bytes of point-to-point messages"
            variables[name] = array(name, "pair", amounts, unit, words)
        node_of = {rank: node.name for node in file.nodes for rank in node.ranks}
        coords: dict[str, Any] = {
            "rank": array("rank", "rank", list(range(file.nranks)), "1", "rank in MPI_COMM_WORLD"),
            "node": ("rank", [node_of[rank] for rank in range(file.nranks)]),
        }
        if file.calls:
            coords |= self._call_coords()
        if found:
            coords |= {end: ("pair", [m[at] for m in found])
                       for at, end in enumerate(("source", "target"))}  # fmt: skip
        return package("xarray").Dataset(variables, coords, self._about())

    def _call_coords(self) -> dict[str, Any]:
        calls = self.file.calls
        sizes = {c.id: c.size for c in self.file.communicators}
        words = ("function", "kind", "datatype", "operation", "detail")
        coords: dict[str, Any] = {
            name: ("call", [getattr(call, name) or "" for call in calls]) for name in words
        }
        for key, long_name in (("bytes_min", "smallest"), ("bytes_max", "largest")):
            values = np.array([getattr(call, key) for call in calls], dtype=float)
            coords[key] = array(key, "call", values, "byte", f"{long_name} size of the class")
        members = [float(sizes.get(call.communicator or 0, 0)) if call.communicator is not None
                   else float("nan") for call in calls]  # fmt: skip
        coords["ranks_of_call"] = array(
            "ranks_of_call", "call", members, "1", "ranks of the communicator"
        )
        return coords

    def _calls(self) -> list[dict[str, Any]]:
        sizes = {c.id: c.size for c in self.file.communicators}

        def total(values: Sequence[float] | None) -> float | None:
            return None if values is None else sum(values)

        return [
            {"function": call.function, "kind": call.kind,
             "ranks_of_call": sizes.get(call.communicator) if call.communicator is not None
             else None,
             "datatype": call.datatype, "operation": call.operation, "detail": call.detail,
             "bytes_min": call.bytes_min, "bytes_max": call.bytes_max, "calls": call.total_calls,
             "bytes": sum(call.bytes), "time_s": sum(call.time_s), "wait_s": total(call.wait_s),
             "transfer_s": total(call.transfer_s), "typical_s": call.typical_s}
            for call in self.file.calls
        ]  # fmt: skip

    def _ranks(self) -> list[dict[str, Any]]:
        node_of = {rank: node.name for node in self.file.nodes for rank in node.ranks}
        columns = {key: values for key, *_ in _RANKS if (values := getattr(self.file, key))}
        return [
            {"rank": rank, "node": node_of[rank], **{k: v[rank] for k, v in columns.items()}}
            for rank in range(self.file.nranks)
        ]

    def _messages(self) -> list[dict[str, Any]]:
        names = ("source", "target", "messages", "bytes")
        return [dict(zip(names, entry, strict=True)) for entry in self.file.matrix.messages]

    def _files(self) -> list[dict[str, Any]]:
        sums = ("opens", "reads", "writes", "read_bytes", "written_bytes",
                "read_s", "write_s", "other_s")  # fmt: skip
        return [
            {"path": use.path, "system": use.system, "size_bytes": use.size, "mpi_io": use.mpi_io,
             "ranks": len(use.ranks), **{name: sum(getattr(use, name)) for name in sums}}
            for use in self.file.file_uses or []
        ]  # fmt: skip

    def _about(self) -> dict[str, str]:
        file = self.file
        whole = sum(file.wall_s) or 1.0
        out = {
            "command": shlex.join(file.command),
            "created": file.created,
            "host": file.host.name,
            "mpi": f"{file.mpi.family} {file.mpi.version}",
            "stretto": file.stretto,
            "layout": f"{counted(file.nranks, 'rank')} on {counted(file.node_count, 'node')}",
            "time": f"{max(file.wall_s):.3g} s, {100 * sum(file.mpi_s) / whole:.0f} % in MPI",
        }
        if not file.complete:
            out["incomplete"] = ", ".join(map(str, file.incomplete_ranks))
        return out

    def _charts(self, charts: Any) -> Mapping[str, Any]:
        out: Mapping[str, Any] = charts.of_profile(self.file)
        return out
