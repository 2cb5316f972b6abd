"""Waiting for the last rank against the collective itself, from the ranks' time stamps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from stretto.files.profile import CallKind, Communicator
from stretto.profile.raw import ROOT, Array, RawFile, thinned

#: the key of a row of a profile: function, kind, communicator, operation, datatype, size
#: class, detail
Row = tuple[str, CallKind, int | None, str | None, str | None, int, str | None]

_EVIDENCE = ((1, "after one-sided"), (2, "after files"), (4, "shared memory"))
#: of barriers that could not be joined: what the other ranks did before is not known
NOT_JOINED = "not joined"


def evidence_words(bits: int) -> str | None:
    """Return what a barrier's detail says, None where nothing was done.

    `bits`: as the recorder keeps them: ``STRETTO_DETAIL_*`` in raw.h.
    """
    return ", ".join(words for bit, words in _EVIDENCE if bits & bit) or None


def _bits(row: Row) -> int:
    found = (row[6] or "").split(", ") if row[0] == "MPI_Barrier" else []
    return sum(bit for bit, words in _EVIDENCE if words in found)


def with_all_evidence(rows: list[Row], row: Array, group: Array) -> Array:
    """Return each event's row with the evidence of all ranks of its call."""
    bits = np.array([_bits(r) for r in rows], np.int64)
    if not bits.any():
        return row
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    own = bits[row]
    together = np.repeat(np.bitwise_or.reduceat(own, starts), np.diff(starts, append=len(group)))
    out = row.copy()
    index = {r: i for i, r in enumerate(rows)}
    for old, more in np.unique(np.stack([row, together])[:, own != together], axis=1).T:
        new = (*rows[old][:6], evidence_words(int(more)))
        if new not in index:
            index[new] = len(rows)
            rows.append(new)
        out[(row == old) & (together == more)] = index[new]
    return out


@dataclass
class Shares:
    """By rank and row as this rank alone sees it: the rows with all evidence, calls, and time."""

    known: dict[tuple[int, Row], list[tuple[Row, int, float]]] = field(default_factory=dict)

    def of(self, rank: int, row: Row, calls: int) -> list[tuple[Row, int, float]]:
        """Return the rows that a rank's calls belong to: row, calls, share of the time."""
        if row[0] != "MPI_Barrier":
            return [(row, calls, 1.0)]
        found = self.known.get((rank, row))
        if found is None:
            return [((*row[:6], row[6] or NOT_JOINED), calls, 1.0)]
        joined = sum(n for _, n, _ in found)
        ends = [calls * n // joined for n in accumulate(n for _, n, _ in found)]
        parts = [
            (new, end - begin, time_s)
            for (new, _, time_s), begin, end in zip(found, [0, *ends], ends, strict=False)
            if end > begin
        ]
        took = sum(time_s for *_, time_s in parts)
        return [(new, n, time_s / took if took > 0 else n / calls) for new, n, time_s in parts]


def barrier_shares(
    rows: Sequence[Row], rank: Array, own: Array, row: Array, time_s: Array
) -> Shares:
    chosen = np.isin(own, [i for i, r in enumerate(rows) if r[0] == "MPI_Barrier"])
    out = Shares()
    if not chosen.any():
        return out
    key = np.stack([rank, own, row])[:, chosen]
    cells, inverse = np.unique(key, axis=1, return_inverse=True)
    inverse = inverse.reshape(-1)
    calls, took = np.bincount(inverse), np.bincount(inverse, time_s[chosen])
    for (r, old, new), n, seconds in zip(cells.T, calls, took, strict=True):
        cell = out.known.setdefault((int(r), rows[old]), [])
        cell.append((rows[new], int(n), float(seconds)))
    return out


#: others wait for the root: what they wait for is its entry, not that of the last rank
FROM_ROOT = (
    "MPI_Bcast", "MPI_Scatter", "MPI_Scatterv", "MPI_Ibcast", "MPI_Iscatter", "MPI_Iscatterv",
    "MPI_Bcast_init", "MPI_Scatter_init", "MPI_Scatterv_init",
)  # fmt: skip
#: the root waits for the others; they may leave before the last has come, and then did not wait
TO_ROOT = (
    "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Ireduce", "MPI_Igather", "MPI_Igatherv",
    "MPI_Reduce_init", "MPI_Gather_init", "MPI_Gatherv_init",
)  # fmt: skip

#: events joined at the most, of all ranks together; of more the same half is left out on all
MOST_EVENTS = 8_000_000


@dataclass
class RowSample:
    """The joined calls of one row; seconds by rank.

    `time`, `wait`: in the calls, and of that waiting for other ranks.
    `under_way`, `blocking_wait`: from the start of what is awaited to the wait; and what blocking
    calls in place of the starts would have waited.
    `calls`, `typical`: how many were joined, and the median operation in seconds.
    """

    time: dict[int, float] = field(default_factory=dict)
    wait: dict[int, float] = field(default_factory=dict)
    under_way: dict[int, float] = field(default_factory=dict)
    blocking_wait: dict[int, float] = field(default_factory=dict)
    calls: int = 0
    typical: float = 0.0


@dataclass
class Samples:
    """Joined events: every call of which all members' time stamps were kept.

    `rank`, `row`, `start_s`, `end_s`, `wait_s`, `under_way_s`, `blocking_wait_s`, `group`: one
    value an event; `row` indexes `rows`, `group` numbers the calls.
    `last_s`: by rank: the waiting of others that ended when it came, together.
    `roots`: the ranks that were root, of rows of collectives that have one.
    `clock_error_s`: by rank: how far its times may be off those of rank 0.
    `barriers`: how each rank's barriers divide, once it is known what the other ranks did before
    them.
    """

    rows: list[Row] = field(default_factory=list)
    rank: Array = field(default_factory=lambda: np.empty(0, np.int64))
    row: Array = field(default_factory=lambda: np.empty(0, np.int64))
    group: Array = field(default_factory=lambda: np.empty(0, np.int64))
    start_s: Array = field(default_factory=lambda: np.empty(0))
    end_s: Array = field(default_factory=lambda: np.empty(0))
    wait_s: Array = field(default_factory=lambda: np.empty(0))
    under_way_s: Array = field(default_factory=lambda: np.empty(0))
    blocking_wait_s: Array = field(default_factory=lambda: np.empty(0))
    last_s: Array = field(default_factory=lambda: np.empty(0))
    roots: dict[Row, list[int]] = field(default_factory=dict)
    clock_error_s: dict[int, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    barriers: Shares = field(default_factory=Shares)

    def of(self, row: Row) -> RowSample:
        if row not in self._index():
            return RowSample()
        chosen = self.row == self._index()[row]
        ranks = self.rank[chosen]
        present = np.unique(ranks)

        def by_rank(values: Array) -> dict[int, float]:
            sums = np.bincount(ranks, values[chosen])
            return {int(r): float(sums[r]) for r in present}

        groups = np.unique(self.group[chosen], return_inverse=True)[1].reshape(-1)
        moving = (self.end_s - self.start_s - self.wait_s)[chosen]
        each = _of_each_call(groups, moving, _collective(row) in FROM_ROOT + TO_ROOT)
        return RowSample(
            by_rank(self.end_s - self.start_s),
            by_rank(self.wait_s),
            by_rank(self.under_way_s),
            by_rank(self.blocking_wait_s),
            len(each),
            float(np.median(each)) if len(each) else 0.0,
        )

    def last_share(self, nranks: int) -> list[float] | None:
        """Return which part of all waiting ended when each rank came; None: nobody waited."""
        whole = float(self.last_s.sum())
        if whole <= 0:
            return None
        return [float(s) / whole for s in np.pad(self.last_s, (0, nranks - len(self.last_s)))]

    def _index(self) -> dict[Row, int]:
        if not hasattr(self, "_rows_index"):
            self._rows_index = {row: i for i, row in enumerate(self.rows)}
        return self._rows_index

    def timeline(self, limit: int) -> list[tuple[int, Row, float, float]]:
        """Return whole calls spread over the run, at most `limit` events: rank, row, start, end."""
        if not len(self.group):
            return []
        groups = np.unique(self.group)
        stride = max(1, -(-len(self.group) // limit))
        chosen = np.isin(self.group, groups[::stride])
        order = np.argsort(self.start_s[chosen], kind="stable")
        return [
            (int(r), self.rows[int(k)], float(a), float(b))
            for r, k, a, b in zip(
                self.rank[chosen][order],
                self.row[chosen][order],
                self.start_s[chosen][order],
                self.end_s[chosen][order],
                strict=True,
            )
        ]


def _collective(row: Row) -> str:
    return row[6] or "" if row[1] == "wait" else row[0]


def _of_each_call(groups: Array, moving: Array, rooted: bool) -> Array:
    """Return one figure a call of the ranks' times in the operation.

    Where all ranks do alike it is the lower median: a rank that is slow to leave because it lost
    its core says nothing of the operation. Where they do not (rooted), it is the mean.
    """
    counts = np.bincount(groups)
    if rooted:
        mean: Array = np.bincount(groups, moving) / np.maximum(counts, 1)
        return mean
    order = np.lexsort((moving, groups))
    middle: Array = moving[order][np.cumsum(counts) - counts + (counts - 1) // 2]
    return middle


def clock_offsets(run: Sequence[RawFile]) -> dict[int, tuple[Array, Array, float] | None]:
    """Return for each rank how its clock differs from rank 0's: times, offsets (ns), error (s).

    Ranks that share a clock share the measurement that one of them made; None where there is none.
    """
    zero = (np.zeros(1), np.zeros(1), 0.0)
    domains: dict[int, tuple[Array, Array, float]] = {}
    first = min(run, key=lambda raw: raw.rank)
    if first.rank == 0 or len({int(raw.header["clock_domain"]) for raw in run}) == 1:
        domains[int(first.header["clock_domain"])] = zero
    for raw in run:
        domain = int(raw.header["clock_domain"])
        measured = [o for o in raw.header["offsets"] if int(o["at_ns"])]
        if measured and domain not in domains:
            # without the measurement at the end the clocks may have drifted apart since
            drift = 0.0 if len(measured) == 2 else raw.whole_s * 20e-6
            domains[domain] = (
                np.array([float(o["at_ns"]) for o in measured]),
                np.array([float(o["offset_ns"]) for o in measured]),
                max(float(o["error_ns"]) for o in measured) * 1e-9 + drift,
            )
    return {raw.rank: domains.get(int(raw.header["clock_domain"])) for raw in run}


def _stamps(raw: RawFile, offset: tuple[Array, Array, float], ticks: Array) -> Array:
    own = raw.monotonic_ns(ticks)
    at, by, _ = offset
    stamps: Array = own - np.rint(np.interp(own.astype(float), at, by)).astype(np.int64)
    return stamps


def collect_samples(
    run: Sequence[RawFile],
    row_of: dict[int, Callable[[int], Row]],
    communicators: Sequence[Communicator],
) -> Samples:
    """Join the ranks' events: the same call of the same communicator on all its members."""
    offsets = clock_offsets(run)
    out = Samples()
    stride = 0
    while sum(len(raw.events) for raw in run) >> stride > MOST_EVENTS:
        stride += 1
    pieces: list[dict[str, Array]] = []
    index: dict[Row, int] = {}
    for raw in run:
        offset = offsets[raw.rank]
        if offset is None:
            out.notes.append(
                f"the clock of rank {raw.rank} cannot be synchronised: its calls are left out"
            )
            continue
        out.clock_error_s[raw.rank] = offset[2]
        events = thinned(raw.events, stride)
        if not len(events):
            continue
        keys, inverse = np.unique(events["key"], return_inverse=True)
        numbers = []
        for key in keys:
            row = row_of[raw.rank](int(key))
            numbers.append(index.setdefault(row, len(index)))
        pieces.append(
            {
                "communicator": events["communicator"],
                "sequence": events["sequence"] & ~ROOT,
                "root": (events["sequence"] & ROOT) != 0,
                "row": np.array(numbers, np.int64)[inverse.reshape(-1)],
                "enter": _stamps(raw, offset, events["enter"]),
                "leave": _stamps(raw, offset, events["leave"]),
                "started": _stamps(raw, offset, events["started"]),
                "rank": np.full(len(events), raw.rank, np.int64),
            }
        )
    out.rows = list(index)
    if pieces:
        joined = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
        _join(out, joined, communicators)
    return out


def _join(out: Samples, events: dict[str, Array], communicators: Sequence[Communicator]) -> None:
    order = np.lexsort((events["rank"], events["sequence"], events["communicator"]))
    events = {name: values[order] for name, values in events.items()}
    same_call = (np.diff(events["communicator"]) == 0) & (np.diff(events["sequence"]) == 0)
    # a kill in the middle of thinning out leaves an event twice
    twice = np.concatenate([[False], same_call & (np.diff(events["rank"]) == 0)])
    events = {name: values[~twice] for name, values in events.items()}
    new = np.concatenate(
        [[True], (np.diff(events["communicator"]) != 0) | (np.diff(events["sequence"]) != 0)]
    )
    group = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    members = np.diff(np.append(starts, len(group)))
    sizes = {c.id: c.size for c in communicators}
    shapes = [row[2] for row in out.rows]
    size_of_row = np.array([sizes.get(s, 0) if s is not None else 0 for s in shapes])
    names = np.array([_collective(row) for row in out.rows])
    whole = members == size_of_row[events["row"][starts]]
    # one function for all, or the communicators were not the same after all
    functions = np.unique(names, return_inverse=True)[1].reshape(-1)[events["row"]]
    lowest = np.minimum.reduceat(functions, starts)
    highest = np.maximum.reduceat(functions, starts)
    if np.any(whole & (lowest != highest)):
        out.notes.append(
            "some calls could not be matched across ranks and were left out: several threads "
            "create communicators, or ranks call collectives in different orders"
        )
    good = (whole & (lowest == highest))[group]
    origin = int(events["enter"].min())
    wait, blocking = _waiting(events, out.rows, names, starts, group)
    out.last_s = _caused(events, names, group, np.where(good, wait, 0) * 1e-9)
    for k in np.unique(events["row"][good & events["root"]]):
        chosen = good & events["root"] & (events["row"] == k)
        out.roots[out.rows[k]] = [int(r) for r in np.unique(events["rank"][chosen])]
    out.rank = events["rank"][good]
    out.group = group[good]
    out.start_s = (events["enter"][good] - origin) * 1e-9
    out.end_s = (events["leave"][good] - origin) * 1e-9
    out.wait_s = wait[good] * 1e-9
    out.under_way_s = (events["enter"] - events["started"])[good] * 1e-9
    out.blocking_wait_s = blocking[good] * 1e-9
    own = events["row"][good]
    out.row = with_all_evidence(out.rows, own, out.group)
    out.barriers = barrier_shares(out.rows, out.rank, own, out.row, out.end_s - out.start_s)


def _caused(events: dict[str, Array], names: Array, group: Array, wait: Array) -> Array:
    """Return by rank the waiting of others that ended when it came, in the unit of `wait`.

    Of neighbours it is not known for whom they wait.
    """
    from_root = np.isin(names, FROM_ROOT)[events["row"]]
    near = np.char.find(names.astype(str), "eighbor")[events["row"]] >= 0
    came = np.where(from_root & ~events["root"], np.iinfo(np.int64).min, events["started"])
    order = np.lexsort((came, group))
    last = order[np.flatnonzero(np.append(np.diff(group) != 0, True))]  # of each call
    sums = np.bincount(group, np.where(near, 0, wait))
    caused: Array = np.bincount(events["rank"][last], sums)
    return caused


def _waiting(
    events: dict[str, Array], rows: Sequence[Row], names: Array, starts: Array, group: Array
) -> tuple[Array, Array]:
    """Return how long each event's rank waited for other ranks, in ns; and would have, blocking.

    Ranks come when they call, or start what they wait for later. A nonblocking collective that is
    not complete before the last rank waits for it, too, had no progress until then: that is waiting
    as well. Of neighbours it is not known who they are: waiting ends at the latest when the last
    rank of the communicator comes, and leaves the time of the rank that took least.
    """

    def last_of(stamps: Array) -> Array:
        found = np.maximum.reduceat(stamps, starts)[group]
        of_root = np.where(events["root"], stamps, np.iinfo(np.int64).min)
        of_root = np.maximum.reduceat(of_root, starts)[group]
        found[from_root] = of_root[from_root]
        return found

    enter, leave, row = events["enter"], events["leave"], events["row"]
    from_root = np.isin(names, FROM_ROOT)[row]
    awaited = np.array([r[1] == "wait" for r in rows])[row]
    near = np.char.find(names.astype(str), "eighbor")[row] >= 0
    until = last_of(events["started"])
    everyone = np.maximum.reduceat(events["started"], starts)[group]
    early = np.isin(names, TO_ROOT)[row] & ~events["root"] & (leave < everyone)
    until[early] = enter[early]
    blocking: Array = np.where(early, 0, np.maximum(until - events["started"], 0))
    waits = last_of(enter)
    late = awaited & ~early & (leave >= waits)
    until[late] = np.maximum(until, waits)[late]
    took = leave - enter
    wait: Array = np.clip(until - enter, 0, took)
    least = np.minimum.reduceat(took, starts)[group]
    wait[near] = np.minimum(wait, took - least)[near]
    return wait, blocking
