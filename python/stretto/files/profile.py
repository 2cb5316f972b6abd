"""Profiles: what an application asked of its MPI, per rank (``NAME.profile.json``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from stretto.counted import counted
from stretto.files.document import Document
from stretto.files.identity import Host, Identity, MPIIdentity
from stretto.files.program import ProgramFile

CallKind = Literal[
    "collective",
    "nonblocking_collective",
    "persistent_collective",
    "neighborhood",
    "p2p",
    "wait",
    "rma",
    "io",
    "comm",
    "other",
]
#: lists of a profile with one value a rank, and those of its calls
_PER_RANK = (
    *("wall_s", "mpi_s", "io_s", "clock_error_s", "file_s", "file_bytes", "threads"),
    *("cpu_s", "core_wait_s", "involuntary", "busy_threads", "allowed_cores", "last_share"),
    *("repeated_faults", "fault_s"),
)
_PER_RANK_OF_CALLS = (
    *("calls", "bytes", "time_s", "wait_s", "transfer_s"),
    *("pack_s", "under_way_s", "blocking_wait_s"),
)
CALL_KINDS: tuple[CallKind, ...] = get_args(CallKind)


@dataclass
class Node:
    """One node and the ranks on it; its load average and processors when the run began.

    Nodes with the same `machine` share their processors (containers, namespaces); None: not known.
    """

    name: str
    ranks: list[int]
    load: float | None = None
    cores: int | None = None
    machine: int | None = None


@dataclass
class Communicator:
    """One shape of communicator; `count` communicators had it.

    `nodes` and `ppn` (ranks per node, the largest) are those of its members; 0 for an
    intercommunicator, and with ranks of another MPI_COMM_WORLD.
    """

    id: int
    name: str
    size: int
    nodes: int
    ppn: int
    count: int = 1

    @property
    def tunable(self) -> bool:
        """Whether its collectives can be tuned: it has several ranks, and a layout."""
        return self.size > 1 and self.nodes > 0


@dataclass
class Call:
    """All calls of one function on one communicator shape in one size class.

    Lists hold one value a rank; `bytes` counts a rank's own blocks, and `bytes_min` and `bytes_max`
    are of the mean block where every rank knows all (allgatherv, reduce_scatter). `wait_s` is the
    time until the last rank entered (scaled up from `sampled` joined calls), `transfer_s` the rest;
    both are None when no samples could be joined.
    """

    function: str
    kind: CallKind
    communicator: int | None
    operation: str | None
    datatype: str | None
    bytes_min: int
    bytes_max: int
    calls: list[int]
    bytes: list[int]
    time_s: list[float]
    wait_s: list[float] | None = None
    transfer_s: list[float] | None = None
    sampled: int = 0
    #: waits: the function that made the awaited request (None: a message); barriers: what came
    #: before ("after files"); persistent operations: "set-up" for their creation; alltoallv and
    #: alltoallw: "receives only" for ranks that send nothing and receive something
    detail: str | None = None
    #: median over the joined calls of the operation itself, seconds a call: of the ranks the lower
    #: median (rooted collectives: the mean), so that a rank that lost its core does not count
    typical_s: float | None = None
    #: where blocks differ by pair of ranks (alltoallv): mean size in bytes and number of the blocks
    #: of each size class, of the calls that were sampled; None: not known
    blocks: list[tuple[int, int]] | None = None
    #: neighbourhood collectives: ``torus(4x2)``, ``near(-1,1)``, ...; None: not known
    graph: str | None = None
    #: messages of derived datatypes: what the MPI takes to pack their bytes, beyond a copy of them
    #: in one piece (measured on some calls); None: of predefined types, or too small to measure
    pack_s: list[float] | None = None
    #: waits for collectives that could be joined: from the start to the wait; and how long blocking
    #: calls in place of the starts would have waited for other ranks
    under_way_s: list[float] | None = None
    blocking_wait_s: list[float] | None = None
    #: MPI_Reduce: ranks that contributed zeros in every call that was looked at, four or more
    zero_ranks: list[int] = field(default_factory=list)
    #: ranks that were its root in joined calls
    roots: list[int] = field(default_factory=list)

    @property
    def total_calls(self) -> int:
        return sum(self.calls)

    @property
    def collective(self) -> str | None:
        """The collective's name as in choices and tables (``allreduce``), or None."""
        if not self.kind.endswith("collective") and self.kind != "neighborhood":
            return None
        name = self.function.removeprefix("MPI_").removesuffix("_c").removesuffix("_init").lower()
        return name[1:] if self.kind == "nonblocking_collective" else name


@dataclass
class Matrix:
    """Point-to-point traffic: source, destination, messages, bytes."""

    messages: list[tuple[int, int, int, int]] = field(default_factory=list)


@dataclass
class FileUse:
    """One file that ranks opened, read or wrote, by themselves or by MPI-IO (`mpi_io`).

    The lists have a value for each of `ranks`, those that used it. `opens` are those by the program
    itself, `mpi_opens` those inside calls of MPI-IO. Times are those outside MPI: reading, writing,
    and the rest (open, close, flush). Without a path: all files beyond the biggest, together.
    """

    path: str
    #: of the file system: ext4, nfs, lustre, ..., or its number in hexadecimal
    system: str = ""
    #: in bytes, when it was opened
    size: int = 0
    mpi_io: bool = False
    ranks: list[int] = field(default_factory=list)
    opens: list[int] = field(default_factory=list)
    mpi_opens: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    read_bytes: list[int] = field(default_factory=list)
    written_bytes: list[int] = field(default_factory=list)
    #: which of 32 equal parts of the file were read, by bits
    touched: list[int] = field(default_factory=list)
    read_s: list[float] = field(default_factory=list)
    write_s: list[float] = field(default_factory=list)
    other_s: list[float] = field(default_factory=list)

    @property
    def total_s(self) -> float:
        """Seconds outside MPI, of all ranks together."""
        return sum(self.read_s) + sum(self.write_s) + sum(self.other_s)


@dataclass
class Event:
    """One sampled call of one rank, in seconds since the first rank's `MPI_Init`."""

    rank: int
    function: str
    communicator: int | None
    bytes: int
    start_s: float
    end_s: float


@dataclass
class Profile:
    """One run of an application, as the recorder saw it."""

    stretto: str
    created: str
    host: Host
    mpi: MPIIdentity
    command: list[str]
    nranks: int
    nodes: list[Node]
    complete: bool
    incomplete_ranks: list[int]
    wall_s: list[float]
    mpi_s: list[float]
    io_s: list[float]
    clock_error_s: list[float]
    communicators: list[Communicator]
    calls: list[Call]
    matrix: Matrix = field(default_factory=Matrix)
    node_matrix: Matrix = field(default_factory=Matrix)
    timeline: list[Event] | None = None
    #: those of incomplete_ranks of which nothing was recorded (a full disk, say): the zeros that
    #: the lists hold for them say nothing; `recorded_part` is without them
    unrecorded_ranks: list[int] | None = None
    #: part of io_s: files read and written by the program, not by MPI-IO; and their bytes
    file_s: list[float] | None = None
    file_bytes: list[int] | None = None
    #: the files themselves, those that matter most first; None: not known
    file_uses: list[FileUse] | None = None
    #: of each rank: how many threads called the MPI; None: not known
    threads: list[int] | None = None
    #: of each rank: CPU time, time on the run queue without a core, involuntary context switches;
    #: None: not known
    cpu_s: list[float] | None = None
    core_wait_s: list[float] | None = None
    involuntary: list[int] | None = None
    #: of each rank: page faults beyond those of the pages by which its memory grew, and seconds a
    #: page fault takes (0: not measured, there were few); None: not known
    repeated_faults: list[int] | None = None
    fault_s: list[float] | None = None
    #: of each rank: threads that wanted a core for a tenth of the run or more, and the cores that
    #: they may use; 0 and None: not known
    busy_threads: list[int] | None = None
    allowed_cores: list[int] | None = None
    #: of each rank: the part of the others' waiting in joined collectives that ended when it came;
    #: None: no such waiting
    last_share: list[float] | None = None
    #: the programs of its ranks, as the kernel names them; None: not known
    executables: list[str] | None = None
    #: what takes MPI calls before the recorder, so that they are missing here: other tools, or the
    #: program itself; None: not known
    tools: list[str] | None = None
    #: of `stretto tune -- CMD`: what was run; None: not known (a profile of another command's)
    programs: list[ProgramFile] | None = None
    #: and, where it ended well, its wall time and the layout that it asked for
    command_s: float | None = None
    asked: str | None = None

    @property
    def identity(self) -> Identity:
        return Identity(self.stretto, self.created, self.host, self.mpi)

    @property
    def cut_short(self) -> list[int]:
        """Ranks whose recording ended before `MPI_Finalize`; not those without any."""
        return [r for r in self.incomplete_ranks if r not in (self.unrecorded_ranks or [])]

    def number(self, index: int) -> int:
        return index

    def recorded_part(self) -> Profile:
        """Return the profile of those ranks alone of which something was recorded.

        For means and shares, which zeros of the others would make false. Ranks are numbered anew in
        it: say `number(r)` to people. Messages to the ranks left out are left out with them.
        """
        left_out = set(self.unrecorded_ranks or [])
        kept = [r for r in range(self.nranks) if r not in left_out]
        return self if not left_out or not kept else _part(self, kept)

    @property
    def _world(self) -> Communicator | None:
        """The shape of MPI_COMM_WORLD, where it knows more than `nodes`.

        The name of its node comes with a rank's recording; how many nodes there are all ranks know.
        """
        if not self.unrecorded_ranks or not self.communicators:
            return None
        first = self.communicators[0]
        return first if first.size == self.nranks and first.nodes else None

    @property
    def node_count(self) -> int:
        """Number of nodes; `nodes` has those of ranks without a recording under one name."""
        return self._world.nodes if self._world else len(self.nodes)

    @property
    def ppn(self) -> int:
        """Ranks per node (the largest)."""
        if self._world:
            return self._world.ppn
        return max((len(n.ranks) for n in self.nodes), default=self.nranks)


@dataclass
class _Part(Profile):
    """Some ranks of a profile; `numbers` are theirs in the whole."""

    numbers: list[int] = field(default_factory=list)

    def number(self, index: int) -> int:
        return self.numbers[index]


def _part(whole: Profile, kept: list[int]) -> Profile:
    new = {r: i for i, r in enumerate(kept)}
    nodes = [replace(n, ranks=[new[r] for r in n.ranks if r in new]) for n in whole.nodes]
    new_node = {old: i for i, old in enumerate(i for i, n in enumerate(nodes) if n.ranks)}

    def of_kept(values: list[Any] | None) -> Any:
        return None if values is None else [values[r] for r in kept]

    def matrix(cells: Matrix, index: dict[int, int]) -> Matrix:
        known = [c for c in cells.messages if c[0] in index and c[1] in index]
        return Matrix([(index[s], index[t], m, v) for s, t, m, v in known])

    values = {f.name: getattr(whole, f.name) for f in fields(whole)}
    values |= {name: of_kept(values[name]) for name in _PER_RANK}
    values |= {
        "nranks": len(kept),
        "nodes": [n for n in nodes if n.ranks],
        "complete": not whole.cut_short,
        "incomplete_ranks": [new[r] for r in whole.cut_short],
        "unrecorded_ranks": [],
        "calls": [
            replace(
                call,
                roots=[new[r] for r in call.roots if r in new],
                zero_ranks=[new[r] for r in call.zero_ranks if r in new],
                **{name: of_kept(getattr(call, name)) for name in _PER_RANK_OF_CALLS},
            )
            for call in whole.calls
        ],
        "matrix": matrix(whole.matrix, new),
        "node_matrix": matrix(whole.node_matrix, new_node),
        "file_uses": None
        if whole.file_uses is None
        else [u for f in whole.file_uses if (u := _use_of(f, new)).ranks],
        "timeline": None
        if whole.timeline is None
        else [replace(e, rank=new[e.rank]) for e in whole.timeline if e.rank in new],
    }
    return _Part(**values, numbers=kept)


def _use_of(use: FileUse, new: dict[int, int]) -> FileUse:
    """Return what some ranks, by their new numbers, did with a file."""
    kept = [i for i, rank in enumerate(use.ranks) if rank in new]
    lists: dict[str, Any] = {
        k: [v[i] for i in kept] for k, v in vars(use).items() if isinstance(v, list) and v
    }
    return replace(use, **lists | {"ranks": [new[use.ranks[i]] for i in kept]})


def _per_rank(name: str, values: Sequence[float] | None, n: int) -> Iterator[str]:
    if values is not None and len(values) != n:
        yield f"{name} has {counted(len(values), 'value')} for {counted(n, 'rank')}"
    elif values is not None and min(values) < 0:
        yield f"{name} holds a negative value"


def _problems(profile: Profile) -> Iterator[str]:
    n = profile.nranks
    if n < 1:
        yield f"nranks is {n}; a profile has at least one rank"
    for name in _PER_RANK:
        yield from _per_rank(name, getattr(profile, name), n)
    if sorted(r for node in profile.nodes for r in node.ranks) != list(range(n)):
        yield "the nodes do not hold every rank exactly once"
    named = {
        "incomplete_ranks": profile.incomplete_ranks,
        "file_uses": [r for use in profile.file_uses or [] for r in use.ranks],
        "timeline": [event.rank for event in profile.timeline or []],
    }
    for name, ranks in named.items():
        if any(not 0 <= r < n for r in ranks):
            yield f"{name} names a rank that does not exist"
    if not set(profile.unrecorded_ranks or []) <= set(profile.incomplete_ranks):
        yield "unrecorded_ranks names a rank that incomplete_ranks does not"
    known = {c.id for c in profile.communicators}
    if len(known) != len(profile.communicators):
        yield "two communicators have the same id"
    for i, call in enumerate(profile.calls):
        where = f"calls[{i}] ({call.function})"
        for name in _PER_RANK_OF_CALLS:
            yield from _per_rank(f"{where}: {name}", getattr(call, name), n)
        if any(size < 0 or number < 1 for size, number in call.blocks or []):
            yield f"{where}: blocks holds an impossible entry"
        if not 0 <= call.bytes_min <= call.bytes_max:
            yield f"{where}: the size class {call.bytes_min} to {call.bytes_max} is empty"
        if call.communicator is not None and call.communicator not in known:
            yield f"{where}: there is no communicator {call.communicator}"
    for name, matrix, size in (
        ("matrix", profile.matrix, n),
        ("node_matrix", profile.node_matrix, len(profile.nodes)),
    ):
        for source, target, messages, volume in matrix.messages:
            if not (0 <= source < size and 0 <= target < size and messages >= 0 and volume >= 0):
                yield f"{name} holds an impossible entry [{source}, {target}, ...]"
    for use in profile.file_uses or []:
        lists = [value for value in vars(use).values() if isinstance(value, list)]
        if any(len(values) != len(use.ranks) for values in lists):
            yield f"file_uses: the lists of {use.path or 'the rest'} do not fit its ranks"


DOCUMENT = Document("stretto-profile", Profile, "a profile", "stretto profile -- CMD", _problems)
read_profile, parse_profile = DOCUMENT.read, DOCUMENT.parse
format_profile, write_profile = DOCUMENT.format, DOCUMENT.write
