"""Joining the ranks' raw files to one profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.identity import MPIIdentity, collect
from stretto.files.profile import Communicator, Event, Matrix, Node, Profile
from stretto.kinds import Abi, Family
from stretto.profile.calls import Namer, calls_of
from stretto.profile.paths import file_bytes, file_seconds, join_files
from stretto.profile.raw import FINALIZED, UNKNOWN_PEER, RawFile, find_raw, read_raw, text_of
from stretto.profile.waiting import Samples, collect_samples

ORIGINS = ("other", "MPI_COMM_WORLD", "MPI_COMM_SELF", "dup", "split", "split_type", "create",
           "cart", "graph", "merge", "inter")  # fmt: skip
_TIMELINE_EVENTS = 4000


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
    namers = {raw.rank: Namer(raw, index) for raw in run}
    samples = collect_samples(run, {r: namer.row for r, namer in namers.items()}, communicators)
    calls = calls_of(run, namers, nranks, samples)
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
