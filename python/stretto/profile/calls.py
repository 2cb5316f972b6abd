"""The counters of the ranks as rows: one for each function, communicator, type and size class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stretto.files.profile import CALL_KINDS, Call, CallKind
from stretto.profile.raw import Array, Key, RawFile, split_key
from stretto.profile.waiting import Row, RowSample, Samples, evidence_words

#: of the calls of a rank; fewer say nothing of the others
_ENOUGH_LOOKS = 4
#: of a rank, in graphs that are measured (src/bench/graph.c)
_MOST_NEIGHBORS = 64


class Namer:
    """Numbers and names of one rank's file as those of the whole profile."""

    def __init__(self, raw: RawFile, shapes: dict[tuple[int, ...], int]) -> None:
        self.raw = raw
        self.shapes = [
            shapes.get(tuple(int(s[k]) for k in ("origin", "size", "nodes", "ppn")))
            for s in raw.shapes
        ]
        self.known: dict[int, Row] = {}

    def row(self, number: int) -> Row:
        if number not in self.known:
            self.known[number] = self._make(split_key(number))
        return self.known[number]

    def _name(self, index1: int) -> str | None:
        return self.raw.names[index1 - 1] if index1 else None

    def _make(self, key: Key) -> Row:
        function, kind_number = self.raw.functions[key.function - 1]
        kind: CallKind = CALL_KINDS[kind_number]
        detail: str | None = None
        if kind == "wait" and key.detail:
            detail = self.raw.functions[key.detail - 1][0]
        elif function.endswith("_init") and key.detail:
            kind, detail = "other", "set-up"
        elif function in ("MPI_Barrier", "MPI_Ibarrier") and key.detail:
            detail = evidence_words(key.detail)
        elif function in ("MPI_Alltoallv", "MPI_Alltoallw") and key.detail:
            detail = "receives only"
        lost = key.shape == 4095
        shape = None if lost or not key.shape else self.shapes[key.shape - 1]
        return (
            function,
            kind,
            shape,
            self._name(key.operation),
            self._name(key.datatype),
            key.size_class,
            "table full" if lost and not (kind == "wait" and detail) else detail,
        )


def _counts(raw: RawFile, namer: Namer, samples: Samples) -> Iterator[tuple[Row, int, int, float]]:
    """Yield a rank's counters: row, calls, bytes, ticks."""
    for entry in raw.entries:
        times, ticks = int(entry["calls"]), int(entry["ticks"])
        for row, part, share in samples.barriers.of(raw.rank, namer.row(int(entry["key"])), times):
            yield row, part, int(entry["bytes"]), share * ticks


def calls_of(
    run: Sequence[RawFile], namers: dict[int, Namer], nranks: int, samples: Samples
) -> list[Call]:
    rows: dict[Row, Call] = {}
    for raw in run:
        namer, r, ns = namers[raw.rank], raw.rank, raw.ns_per_tick
        for row, times, volume, ticks in _counts(raw, namer, samples):
            call = rows.get(row)
            if call is None:
                function, kind, shape, operation, datatype, size_class, detail = row
                low, high = (1 << (size_class - 1), (1 << size_class) - 1) if size_class else (0, 0)
                call = rows[row] = Call(
                    function, kind, shape, operation, datatype, low, high,
                    [0] * nranks, [0] * nranks, [0.0] * nranks, detail=detail,
                )  # fmt: skip
            call.calls[r] += times
            call.bytes[r] += volume
            call.time_s[r] += ticks * ns * 1e-9
            if call.detail == "table full":  # of all sizes
                call.bytes_max = max(call.bytes_max, volume)
    blocks, graphs = _blocks(run, namers), _graphs(run, namers)
    packs, zeros = _packs(run, namers), _zero_ranks(run, namers)
    for row, call in rows.items():
        _split_waiting(call, samples.of(row))
        if row in packs:
            call.pack_s = [n * packs[row].get(r, 0.0) for r, n in enumerate(call.bytes)]
        call.blocks = blocks.get(row) or None
        call.graph = graphs.get(row)
        call.zero_ranks = zeros.get(row, [])
        call.roots = samples.roots.get(row, [])
    return sorted(rows.values(), key=lambda c: -sum(c.time_s))


def _packs(run: Sequence[RawFile], namers: dict[int, Namer]) -> dict[Row, dict[int, float]]:
    """Return by row and rank what packing takes beyond a copy, in seconds a byte."""
    out: dict[Row, dict[int, float]] = {}
    for raw in run:
        for found in raw.packs:
            beyond = max(int(found["pack_ticks"]) - int(found["copy_ticks"]), 0)
            each = beyond * raw.ns_per_tick * 1e-9 / max(int(found["bytes"]), 1)
            out.setdefault(namers[raw.rank].row(int(found["key"])), {})[raw.rank] = each
    return out


def _zero_ranks(run: Sequence[RawFile], namers: dict[int, Namer]) -> dict[Row, list[int]]:
    out: dict[Row, list[int]] = {}
    for raw in run:
        for found in raw.zeros:
            if _ENOUGH_LOOKS <= int(found["zero"]) == int(found["calls"]):
                out.setdefault(namers[raw.rank].row(int(found["key"])), []).append(raw.rank)
    return out


def _blocks(run: Sequence[RawFile], namers: dict[int, Namer]) -> dict[Row, list[tuple[int, int]]]:
    """Return the mean size and the number of the blocks of each size class, of all ranks."""
    sums: dict[Row, Array] = {}
    for raw in run:
        for found in raw.blocks:
            row = namers[raw.rank].row(int(found["key"]))
            both = np.stack([found["bytes"], found["blocks"]]).astype(np.int64)
            sums[row] = sums[row] + both if row in sums else both
    return {
        row: [(round(b / n), int(n)) for b, n in both.T.tolist() if n] for row, both in sums.items()
    }


def _graphs(run: Sequence[RawFile], namers: dict[int, Namer]) -> dict[Row, str]:
    """Return the graphs of neighbourhoods, as `stretto bench --graph` has them.

    Of one that is not Cartesian: the offsets that most ranks have, as many as a rank has targets on
    average.
    """
    found: dict[Row, list[Any]] = {}
    for raw in run:
        for one in raw.blocks:
            if one["degree"] or one["noffsets"]:
                found.setdefault(namers[raw.rank].row(int(one["key"])), []).append(one)
    out = {}
    for row, ranks in found.items():
        dims = [int(d) for d in ranks[0]["dims"] if d]
        if dims:
            kind = "torus" if max(dims) > 0 else "grid"
            open_mark = "o" if kind == "torus" else ""
            out[row] = (
                f"{kind}({'x'.join(f'{abs(d)}{open_mark if d < 0 else str()}' for d in dims)})"
            )
            continue
        offsets: Counter[int] = Counter()
        for one in ranks:
            offsets.update(int(o) for o in one["offsets"][: int(one["noffsets"])])
        degree = round(sum(int(one["degree"]) for one in ranks) / len(ranks))
        most = sorted(offsets, key=lambda o: (-offsets[o], abs(o), o))[
            : min(max(1, degree), _MOST_NEIGHBORS)
        ]
        if most:
            out[row] = f"near({','.join(map(str, sorted(most)))})"
    return out


def _split_waiting(call: Call, sample: RowSample) -> None:
    call.sampled = sample.calls
    if not sample.calls:
        return
    call.typical_s = sample.typical
    total = sum(sample.time.values())

    def scaled(values: dict[int, float]) -> list[float]:
        """Return what the joined calls of each rank have, as of all its calls."""
        mean = sum(values.values()) / total if total > 0 else 0.0
        shares = [
            values[r] / sample.time[r] if sample.time.get(r, 0.0) > 0 else mean
            for r in range(len(call.time_s))
        ]
        return [t * max(share, 0.0) for t, share in zip(call.time_s, shares, strict=True)]

    waits = zip(call.time_s, scaled(sample.wait), strict=True)
    call.wait_s = [min(wait, time_s) for time_s, wait in waits]
    call.transfer_s = [t - w for t, w in zip(call.time_s, call.wait_s, strict=True)]
    if call.kind == "wait":
        call.under_way_s = scaled(sample.under_way)
        call.blocking_wait_s = scaled(sample.blocking_wait)
