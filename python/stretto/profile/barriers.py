"""What a barrier may order: what any of its ranks did since the one before, not this one alone.

Each rank writes down what it did itself. A barrier after which rank 1 reads what rank 0 has put or
written is needed, and on rank 1 nothing shows it: the evidence of all members is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from stretto.files.profile import CallKind
from stretto.profile.raw import Array

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
