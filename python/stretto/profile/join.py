"""Joining the ranks' raw files to one profile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.identity import MPIIdentity, collect
from stretto.files.profile import (
    CALL_KINDS,
    Call,
    CallKind,
    Communicator,
    Event,
    Matrix,
    Node,
    Profile,
)
from stretto.kinds import Abi, Family
from stretto.profile.paths import file_bytes, file_seconds, join_files
from stretto.profile.raw import (
    FINALIZED,
    UNKNOWN_PEER,
    Array,
    Key,
    RawFile,
    find_raw,
    read_raw,
    split_key,
    text_of,
)
from stretto.profile.waiting import Row, RowSample, Samples, collect_samples, evidence_words

KINDS = CALL_KINDS
ORIGINS = ("other", "MPI_COMM_WORLD", "MPI_COMM_SELF", "dup", "split", "split_type", "create",
           "cart", "graph", "merge", "inter")  # fmt: skip
_TIMELINE_EVENTS = 4000
#: of the calls of a rank; fewer say nothing of the others
_ENOUGH_LOOKS = 4
#: of a rank, in graphs that are measured (src/bench/graph.c)
_MOST_NEIGHBORS = 64


@dataclass
class Joined:
    """One run's profile, and what the user should know about it."""

    profile: Profile
    notes: list[str] = field(default_factory=list)


class RawRun(list[RawFile]):
    """The files of one run that could be read, and what is wrong with the others."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []


def _read_run(paths: Sequence[Path], failed: list[StrettoError]) -> RawRun:
    run = RawRun()
    for path in paths:
        try:
            raw = read_raw(path)
            raw.wall_s  # noqa: B018 - of a file without the rate of its clock nothing can be told
        except StrettoError as error:
            failed.append(error)
            rank = int(path.stem.partition("-")[2])
            run.problems.append(f"rank {rank} is left out: {error.message} ({path.name})")
        else:
            run.append(raw)
    return run


def load_runs(directory: Path) -> list[RawRun]:
    """Read all raw files of a directory, a list for each run, the longest run first.

    A file that cannot be read costs its rank, not the run: the run's `problems` name it. Only where
    none can be read the first one's error is raised.
    """
    failed: list[StrettoError] = []
    all_runs = [_read_run(paths, failed) for paths in find_raw(directory).values()]
    runs = [run for run in all_runs if run]
    if failed and not runs:
        raise failed[0]
    for run in runs:
        sizes = {int(raw.header["nranks"]) for raw in run}
        if len(sizes) != 1 or len({raw.rank for raw in run}) != len(run):
            raise StrettoError(
                "files of different runs are mixed here", directory, "use a fresh directory"
            )
    runs.sort(key=lambda run: -sum(raw.wall_s for raw in run))
    for lost in all_runs:
        if not lost:
            runs[0].problems.append(
                "the records of another MPI program of this command cannot be read: "
                f"{lost.problems[0]}"
            )
    return runs


def mpi_identity(raw: RawFile) -> MPIIdentity:
    library = text_of(raw.header["library"]).strip()
    family: Family = "mpich"
    if library.startswith("Open MPI"):
        family = "openmpi"
    elif "Intel(R) MPI" in library:
        family = "intel"
    found = re.search(r"\d+(\.\d+)+", library)
    abis: dict[str, Abi] = {"openmpi": "openmpi", "mpich": "mpich", "mpi5": "mpi5"}
    abi = abis[text_of(raw.header["family"])]
    return MPIIdentity(family, abi, found.group(0) if found else "unknown", library)


class _Namer:
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
        kind: CallKind = KINDS[kind_number]
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


def _communicators(run: Sequence[RawFile]) -> tuple[list[Communicator], dict[tuple[int, ...], int]]:
    """Return the shapes of all ranks, each once, and where a rank's row is found among them."""
    counts: dict[tuple[int, ...], int] = {}
    names: dict[tuple[int, ...], str] = {}
    for raw in run:
        for shape in raw.shapes[raw.shapes["count"] > 0]:
            key = tuple(int(shape[k]) for k in ("origin", "size", "nodes", "ppn"))
            counts[key] = counts.get(key, 0) + int(shape["count"])
            given = text_of(shape["name"])
            if given:
                names.setdefault(key, given)
    out: list[Communicator] = []
    index: dict[tuple[int, ...], int] = {}
    for number, key in enumerate(sorted(counts, key=lambda k: (k[0] != 1, k[0] != 2, k[0], -k[1]))):
        origin, size, nodes, ppn = key
        index[key] = number
        # every member counted it: ranks whose files are missing leave a fraction
        made = max(1, round(counts[key] / size)) if size else counts[key]
        name = names.get(key, ORIGINS[origin] if origin < len(ORIGINS) else "other")
        out.append(Communicator(number, name, size, nodes, ppn, made))
    return out, index


def _nodes(run: Sequence[RawFile], nranks: int) -> list[Node]:
    ranks: dict[str, list[int]] = {}
    for raw in run:
        ranks.setdefault(raw.host, []).append(raw.rank)
    last = {raw.host: raw for raw in run}
    domains = {host: int(last[host].header["clock_domain"]) for host in ranks}
    numbers = {domain: i for i, domain in enumerate(dict.fromkeys(domains.values()))}
    out = [
        Node(host, sorted(mine), last[host].load, int(last[host].header["cores"]),
             numbers[domains[host]])
        for host, mine in ranks.items()
    ]  # fmt: skip
    missing = sorted(set(range(nranks)) - {raw.rank for raw in run})
    return out + ([Node("unknown", missing)] if missing else [])


def _counts(raw: RawFile, namer: _Namer, samples: Samples) -> Iterator[tuple[Row, int, int, float]]:
    """Yield a rank's counters: row, calls, bytes, ticks."""
    for entry in raw.entries:
        times, ticks = int(entry["calls"]), int(entry["ticks"])
        for row, part, share in samples.barriers.of(raw.rank, namer.row(int(entry["key"])), times):
            yield row, part, int(entry["bytes"]), share * ticks


def _calls(
    run: Sequence[RawFile], namers: dict[int, _Namer], nranks: int, samples: Samples
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


def _packs(run: Sequence[RawFile], namers: dict[int, _Namer]) -> dict[Row, dict[int, float]]:
    """Return by row and rank what packing takes beyond a copy, in seconds a byte."""
    out: dict[Row, dict[int, float]] = {}
    for raw in run:
        for found in raw.packs:
            beyond = max(int(found["pack_ticks"]) - int(found["copy_ticks"]), 0)
            each = beyond * raw.ns_per_tick * 1e-9 / max(int(found["bytes"]), 1)
            out.setdefault(namers[raw.rank].row(int(found["key"])), {})[raw.rank] = each
    return out


def _zero_ranks(run: Sequence[RawFile], namers: dict[int, _Namer]) -> dict[Row, list[int]]:
    out: dict[Row, list[int]] = {}
    for raw in run:
        for found in raw.zeros:
            if _ENOUGH_LOOKS <= int(found["zero"]) == int(found["calls"]):
                out.setdefault(namers[raw.rank].row(int(found["key"])), []).append(raw.rank)
    return out


def _blocks(run: Sequence[RawFile], namers: dict[int, _Namer]) -> dict[Row, list[tuple[int, int]]]:
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


def _graphs(run: Sequence[RawFile], namers: dict[int, _Namer]) -> dict[Row, str]:
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


def _matrices(run: Sequence[RawFile], nodes: list[Node]) -> tuple[Matrix, Matrix, int]:
    """Return messages by rank and by node, and how many went to ranks of no known number."""
    node_of = {r: i for i, node in enumerate(nodes) for r in node.ranks}
    ranks: dict[tuple[int, int], list[int]] = {}
    lost = 0
    for raw in run:
        for peer in raw.peers:
            if int(peer["rank1"]) == UNKNOWN_PEER:
                lost += int(peer["messages"])
                continue
            cell = ranks.setdefault((raw.rank, int(peer["rank1"]) - 1), [0, 0])
            cell[0] += int(peer["messages"])
            cell[1] += int(peer["bytes"])
    by_node: dict[tuple[int, int], list[int]] = {}
    for (source, target), (messages, volume) in ranks.items():
        cell = by_node.setdefault((node_of[source], node_of[target]), [0, 0])
        cell[0] += messages
        cell[1] += volume

    def matrix(cells: dict[tuple[int, int], list[int]]) -> Matrix:
        return Matrix([(s, t, m, v) for (s, t), (m, v) in sorted(cells.items())])

    return matrix(ranks), matrix(by_node), lost


def _timeline(samples: Samples) -> list[Event] | None:
    events = samples.timeline(_TIMELINE_EVENTS)
    return [
        Event(rank, row[0], row[2], 1 << (row[5] - 1) if row[5] else 0, start, end)
        for rank, row, start, end in events
    ] or None


def join_run(run: Sequence[RawFile], command: Sequence[str]) -> Joined:
    nranks = int(run[0].header["nranks"])
    communicators, index = _communicators(run)
    namers = {raw.rank: _Namer(raw, index) for raw in run}
    samples = collect_samples(run, {r: namer.row for r, namer in namers.items()}, communicators)
    calls = _calls(run, namers, nranks, samples)
    nodes = _nodes(run, nranks)
    matrix, node_matrix, lost = _matrices(run, nodes)
    present = {raw.rank: raw for raw in run}
    incomplete = [r for r in range(nranks) if r not in present or present[r].state != FINALIZED]

    unrecorded = [r for r in range(nranks) if r not in present]

    def per_rank(value: Any) -> list[float]:
        return [float(value(present[r])) if r in present else 0.0 for r in range(nranks)]

    waits = [raw for raw in run if raw.core_wait_s is not None]
    file_s = per_rank(file_seconds)
    mpi_s, io_s = [0.0] * nranks, list(file_s)
    for call in calls:
        files = call.kind == "io" or (call.kind == "wait" and "MPI_File_" in (call.detail or ""))
        sums = io_s if files else mpi_s
        for r, time_s in enumerate(call.time_s):
            sums[r] += time_s
    identity = collect(mpi_identity(run[0]))
    profile = Profile(
        stretto=identity.stretto,
        created=identity.created,
        host=identity.host,
        mpi=identity.mpi,
        command=list(command),
        nranks=nranks,
        nodes=nodes,
        complete=not incomplete,
        incomplete_ranks=incomplete,
        unrecorded_ranks=unrecorded,
        wall_s=per_rank(lambda raw: raw.wall_s),
        mpi_s=mpi_s,
        io_s=io_s,
        clock_error_s=[samples.clock_error_s.get(r, 0.0) for r in range(nranks)],
        communicators=communicators,
        calls=calls,
        matrix=matrix,
        node_matrix=node_matrix,
        timeline=_timeline(samples),
        executables=sorted({raw.program for raw in run if raw.program}) or None,
        file_s=file_s,
        tools=sorted({raw.front for raw in run if raw.front}),
        cpu_s=per_rank(lambda raw: raw.cpu_s),
        core_wait_s=per_rank(lambda raw: raw.core_wait_s or 0.0) if waits else None,
        involuntary=[int(n) for n in per_rank(lambda raw: raw.header["involuntary"])],
        repeated_faults=[int(n) for n in per_rank(lambda raw: raw.repeated_faults)],
        fault_s=per_rank(lambda raw: float(raw.header["fault_ns"]) * 1e-9),
        busy_threads=[int(n) for n in per_rank(lambda raw: raw.header["busy_threads"])],
        allowed_cores=[int(n) for n in per_rank(lambda raw: raw.header["allowed_cores"])],
        last_share=samples.last_share(nranks),
        threads=[present[r].threads if r in present else 0 for r in range(nranks)],
        file_bytes=[file_bytes(present[r]) if r in present else 0 for r in range(nranks)],
        file_uses=join_files(run),
    )
    return Joined(profile, _notes(run, unrecorded, nranks, samples, lost))


def _notes(
    run: Sequence[RawFile], unrecorded: Sequence[int], nranks: int, samples: Samples, lost: int
) -> list[str]:
    notes = list(run.problems) if isinstance(run, RawRun) else []
    if unrecorded:
        notes.append(
            f"nothing was recorded on {len(unrecorded)} of {nranks} ranks "
            f"({rank_words(unrecorded)}): the profile covers the other ranks; their collectives "
            "with these ranks are not split into waiting and transfer"
        )
    notes += samples.notes
    if lost:
        notes.append(
            f"{counted(lost, 'message')} {'is' if lost == 1 else 'are'} not in the matrix: the "
            "receivers exceed the table of a rank, or belong to another MPI_COMM_WORLD"
        )
    paused = [raw.rank for raw in run if raw.paused_s > 0]
    if paused:
        longest = max(raw.paused_s for raw in run)
        notes.append(
            f"MPI_Pcontrol(0) switched recording off on ranks {rank_words(paused)}, for "
            f"{longest:.3g} s at most: that time is excluded everywhere, also from the run time"
        )
    dropped = [raw.rank for raw in run if int(raw.header["dropped_calls"])]
    if dropped:
        notes.append(
            f"calls of some threads were dropped (table full) on ranks {rank_words(dropped)}"
        )
    return notes


def rank_words(ranks: Sequence[int]) -> str:
    out: list[str] = []
    for r in ranks:
        low, _, high = out[-1].partition("-") if out else ("", "", "")
        if out and int(high or low) == r - 1:
            out[-1] = f"{low}-{r}"
        else:
            out.append(str(r))
    return ", ".join(out)
