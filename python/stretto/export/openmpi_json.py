"""The rules of Open MPI 6's coll/tuned in JSON (``rule_file_version`` 3).

Bounds are inclusive and the first match wins, so that nothing need be written for what the MPI is
to decide. What a row leaves out is 0, and not what forcing the algorithm passes: a fan-out of 0
sends Bruck's allgather and the k-nomial reduce into endless loops, so every row says it.

Written from the reader (Open MPI's v6.0.x), not from the schema that comes with it: that one calls
reduce_scatter ``reducescatter``, which the reader rejects with the whole file, and knows neither
allgatherv nor ``seg_size``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stretto.errors import StrettoError
from stretto.export import openmpi, order, plain
from stretto.export.output import HERE, Export
from stretto.export.rules import Rule
from stretto.files.export import REMEDY
from stretto.files.parse import json_value

JSON_FILE = "stretto-openmpi.json"
#: the fan-out that forcing passes on when nobody sets one
FANOUT = "4"
#: collectives without algorithms in coll/tuned: a rule for one crashes every job in MPI_Init
WITHOUT = ("alltoallw", "gatherv", "scatterv")
SINGLE, ANY = "single-node", "any"
#: what the MPI takes ``inf`` for, and the most that its other numbers hold
_INF, _MOST = (1 << 63) - 1, (1 << 31) - 1


def json_rules(rules: Sequence[Rule]) -> Export:
    """Return rules for Open MPI 6.

    `rules`: from `for_layouts`: for each number of ranks, one layout on one node and one on
    several.
    """
    export = Export()
    collectives: dict[str, list[dict[str, Any]]] = {}
    inside = [r for r in rules if r.layout.nodes == 1]
    across = [r for r in rules if r.layout.nodes > 1]
    on_one = openmpi.usable(inside, export, "6")
    on_several = openmpi.usable(across, export, "6")
    for collective in dict.fromkeys([*on_one, *on_several]):
        one, several = on_one.get(collective, {}), on_several.get(collective, {})
        entries: list[dict[str, Any]] = []
        if collective not in WITHOUT:  # whose rows are HAN's, and stand in its file alone
            collectives[collective] = entries
        for ranks in sorted({*one, *several}):
            # Before rows for several nodes, an entry for one node keeps them from calls there, with
            # rows or without. "one-per-node" does not hold for MPI_COMM_WORLD.
            entries.append(_entry(one.get(ranks, []), ranks, SINGLE, export))
            if ranks in several:
                entries.append(_entry(several[ranks], ranks, ANY, export))
    document = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    export.files[JSON_FILE] = json.dumps(document, indent=1) + "\n"
    parameters = openmpi.han_file(on_several, export, "6")
    parameters["coll_tuned_use_dynamic_rules"] = "1"
    parameters["coll_tuned_dynamic_rules_filename"] = f"{HERE}/{JSON_FILE}"
    openmpi.set_parameters(export, parameters)
    export.lost += order.warnings(export.rows) + plain.warnings(export.rows)
    # within a node there is one layout for each number of ranks
    export.lost += openmpi.wherever([r for r in export.rows if r.layout.nodes > 1])
    export.lost.append(
        "no Open MPI 6 is released: a build of its branch (6.0.0a1) has run with such files"
    )
    return export


def _entry(rules: Sequence[Rule], ranks: int, distribution: str, export: Export) -> dict[str, Any]:
    """Return what a file says about communicators of one size."""
    rows = openmpi.message_rows(rules, export, FANOUT)
    ends = [row[0] - 1 for row in rows[1:]] + [None]
    said = []
    for (start, algorithm, fanout, *others), end in zip(rows, ends, strict=True):
        if not algorithm:
            continue
        said.append(
            {
                "msg_size_min": start,
                "msg_size_max": "inf" if end is None else end,
                "alg": algorithm,
                "faninout": fanout,
            }
            # the MPI's schema does not have seg_size: it is there only where it is needed
            | {n: v for n, v in zip(("seg_size", "reqs"), others, strict=True) if v}
        )
    return {
        "comm_size_min": ranks,
        "comm_size_max": ranks,
        "comm_rank_distribution": distribution,
        "rules": said,
    }


@dataclass(frozen=True)
class JsonRow:
    """A row as the MPI reads it; sizes in the measure of the MPI, both included.

    `name` is the algorithm's where the file has a name instead of a number.
    """

    place: str
    low: int
    high: int
    algorithm: int
    name: str | None
    fanout: int
    segment: int
    requests: int


@dataclass(frozen=True)
class JsonEntry:
    low: int
    high: int
    distribution: str
    rows: tuple[JsonRow, ...]

    def holds(self, ranks: int, nodes: int) -> bool:
        """Return whether a communicator is one of these.

        `ranks`, `nodes`: its own. ``one-per-node`` is taken not to hold, which is so for
        MPI_COMM_WORLD.
        """
        fits = self.low <= ranks <= self.high
        return fits and (self.distribution == ANY or (self.distribution == SINGLE and nodes == 1))


def read_json(text: str, place: str) -> dict[str, list[JsonEntry]]:
    """Return the entries of a JSON file by collective, in the order in which the MPI looks."""
    try:
        document = json_value(text)
        if document["rule_file_version"] != 3 or document["module"] != "tuned":
            raise ValueError("it is not of version 3, for module tuned")
        out: dict[str, list[JsonEntry]] = {}
        for collective, entries in document["collectives"].items():
            if collective not in openmpi.IDS:
                raise ValueError(f"{collective!r} is not a collective")
            if collective in WITHOUT:
                raise ValueError(f"coll/tuned has no {collective}, and Open MPI 6 crashes")
            if not isinstance(entries, list):
                raise ValueError(f"{collective} has no list of communicators")
            where = f"{place}: collectives.{collective}"
            out[collective] = [_read_entry(e, f"{where}[{i}]") for i, e in enumerate(entries)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StrettoError(f"the rules cannot be read: {error!r}", place, REMEDY) from error
    return out


def _read_entry(entry: Mapping[str, Any], place: str) -> JsonEntry:
    distribution = entry.get("comm_rank_distribution", ANY)
    if not isinstance(distribution, str):
        raise ValueError(f"comm_rank_distribution is {distribution!r}")
    if distribution not in (SINGLE, "one-per-node"):
        distribution = ANY  # the MPI takes another word for "any"
    if entry.get("comm_size_max") == "inf":
        raise ValueError("comm_size_max is inf, which Open MPI 6 takes for -1")
    rules = entry["rules"]
    if not isinstance(rules, list):
        raise ValueError("the rules are not a list")
    rows = tuple(_read_row(r, f"{place}.rules[{i}]") for i, r in enumerate(rules))
    low, high = (_number(entry, f"comm_size_{n}", d) for n, d in (("min", 0), ("max", _MOST)))
    return JsonEntry(low, high, distribution, rows)


def _read_row(row: Mapping[str, Any], place: str) -> JsonRow:
    alg = row["alg"]
    if not isinstance(alg, str):
        alg = _number(row, "alg", 0)
    others = (_number(row, n, 0) for n in ("faninout", "seg_size", "reqs"))
    return JsonRow(
        place,
        _number(row, "msg_size_min", 0),
        _number(row, "msg_size_max", _INF),
        alg if isinstance(alg, int) else 0,
        alg if isinstance(alg, str) else None,
        *others,
    )


def _number(value: Mapping[str, Any], name: str, default: int) -> int:
    found = value.get(name, default)
    if name.startswith("msg_size") and isinstance(found, str) and found[:3].capitalize() == "Inf":
        return _INF
    most = _INF if name.startswith("msg_size") else _MOST
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise ValueError(f"{name} is {found!r}")
    return found


def first_row(entries: Iterable[JsonEntry], ranks: int, nodes: int, size: int) -> JsonRow | None:
    """Return the row for a call, None where the MPI decides."""
    for entry in entries:
        if entry.holds(ranks, nodes):  # the first is chosen, whether it has a row or not
            for row in entry.rows:
                if row.low <= size <= row.high:
                    return row
            return None
    return None
