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
from stretto.files.placed import PlacedObject, placed_json

JSON_FILE = "stretto-openmpi.json"
#: the fan-out that forcing passes on when nobody sets one
FANOUT = "4"
#: collectives without algorithms in coll/tuned: a rule for one crashes every job in MPI_Init
WITHOUT = ("alltoallw", "gatherv", "scatterv")
SINGLE, ONE_PER_NODE, ANY = "single-node", "one-per-node", "any"
#: what the MPI takes ``inf`` for, and the most that its other numbers hold
INF, MOST = (1 << 63) - 1, (1 << 31) - 1


def json_rules(rules: Sequence[Rule]) -> Export:
    """Return rules for Open MPI 6.

    `rules`: from `for_layouts`: for each number of ranks, one layout on one node and one on
    several.
    """
    export = Export()
    collectives: dict[str, list[JsonEntry]] = {}
    inside = [r for r in rules if r.layout.nodes == 1]
    across = [r for r in rules if r.layout.nodes > 1]
    on_one = openmpi.usable(inside, export, "6")
    on_several = openmpi.usable(across, export, "6")
    for collective in dict.fromkeys([*on_one, *on_several]):
        one, several = on_one.get(collective, {}), on_several.get(collective, {})
        entries: list[JsonEntry] = []
        if collective not in WITHOUT:  # whose rows are HAN's, and stand in its file alone
            collectives[collective] = entries
        for ranks in sorted({*one, *several}):
            # Before rows for several nodes, an entry for one node keeps them from calls there, with
            # rows or without. "one-per-node" does not hold for MPI_COMM_WORLD.
            entries.append(_entry(one.get(ranks, []), ranks, SINGLE, export))
            if ranks in several:
                entries.append(_entry(several[ranks], ranks, ANY, export))
    export.files[JSON_FILE] = json_text(collectives)
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


def _entry(rules: Sequence[Rule], ranks: int, distribution: str, export: Export) -> JsonEntry:
    """Return what a file says about communicators of one size."""
    rows = openmpi.message_rows(rules, export, FANOUT)
    ends = [row[0] - 1 for row in rows[1:]] + [INF]
    return JsonEntry(
        "",
        ranks,
        ranks,
        distribution,
        tuple(
            JsonRow("", start, end, algorithm, None, *others)
            for (start, algorithm, *others), end in zip(rows, ends, strict=True)
            if algorithm
        ),
    )


def json_text(collectives: Mapping[str, Sequence[JsonEntry]]) -> str:
    """Return the text of a file."""
    document = {
        "rule_file_version": 3,
        "module": "tuned",
        "collectives": {c: [e.said() for e in entries] for c, entries in collectives.items()},
    }
    return json.dumps(document, indent=1) + "\n"


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

    def said(self) -> dict[str, Any]:
        others = {"seg_size": self.segment, "reqs": self.requests}
        return {
            "msg_size_min": self.low,
            "msg_size_max": "inf" if self.high == INF else self.high,
            "alg": self.name or self.algorithm,
            "faninout": self.fanout,
            # the MPI's schema does not have seg_size: it is there only where it is needed
        } | {n: v for n, v in others.items() if v}


@dataclass(frozen=True)
class JsonEntry:
    """Rows for communicators of `low` to `high` ranks, both included."""

    place: str
    low: int
    high: int
    distribution: str
    rows: tuple[JsonRow, ...]

    def said(self) -> dict[str, Any]:
        return {
            "comm_size_min": self.low,
            "comm_size_max": self.high,
            "comm_rank_distribution": self.distribution,
            "rules": [r.said() for r in self.rows],
        }

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
        document = placed_json(text)
    except ValueError as error:
        raise StrettoError(f"it is not JSON: {error}", place, REMEDY) from error
    top = _object(document, "the rules", place)
    if top.get("rule_file_version") != 3 or top.get("module") != "tuned":
        raise StrettoError("it is not of rule_file_version 3, for module tuned", place, REMEDY)
    out: dict[str, list[JsonEntry]] = {}
    collectives = _object(top.get("collectives"), "collectives", place)
    for collective, entries in collectives.items():
        where = f"{place}:{collectives.line_of(collective)}"
        if collective not in openmpi.IDS:
            raise StrettoError(f"{collective!r} is not a collective", where, REMEDY)
        if collective in WITHOUT:
            words = f"coll/tuned has no {collective}, and Open MPI 6 crashes"
            raise StrettoError(words, where, REMEDY)
        if not isinstance(entries, list):
            raise StrettoError(f"{collective} has no list of communicators", where, REMEDY)
        out[collective] = [_read_entry(e, where) for e in entries]
    return out


def _object(value: object, what: str, place: str) -> PlacedObject:
    if not isinstance(value, PlacedObject):
        raise StrettoError(f"{what} should be an object: {{...}}", place, REMEDY)
    if value.twice:
        where = f"{place.partition(':')[0]}:{value.line_of(value.twice)}"
        raise StrettoError(f"the key {value.twice!r} is there twice", where, REMEDY)
    return value


def _read_entry(value: object, place: str) -> JsonEntry:
    entry = _object(value, "a communicator", place)
    place = f"{place.rpartition(':')[0]}:{entry.line}"
    distribution = entry.get("comm_rank_distribution", ANY)
    if not isinstance(distribution, str):
        words = f"comm_rank_distribution is {distribution!r}"
        raise StrettoError(words, place, REMEDY)
    if distribution not in (SINGLE, ONE_PER_NODE):
        distribution = ANY  # the MPI takes another word for "any"
    if entry.get("comm_size_max") == "inf":
        words = "comm_size_max is inf, which Open MPI 6 takes for -1"
        raise StrettoError(words, place, REMEDY)
    rules = entry.get("rules")
    if not isinstance(rules, list):
        raise StrettoError("the rules are not a list", place, REMEDY)
    rows = tuple(_read_row(r, place) for r in rules)
    low, high = (_number(entry, f"comm_size_{n}", d, place) for n, d in (("min", 0), ("max", MOST)))
    return JsonEntry(place, low, high, distribution, rows)


def _read_row(value: object, place: str) -> JsonRow:
    row = _object(value, "a rule", place)
    place = f"{place.rpartition(':')[0]}:{row.line}"
    alg = row.get("alg")
    if not isinstance(alg, str):
        if "alg" not in row:
            raise StrettoError("a rule has no alg", place, REMEDY)
        alg = _number(row, "alg", 0, place)
    others = (_number(row, n, 0, place) for n in ("faninout", "seg_size", "reqs"))
    return JsonRow(
        place,
        _number(row, "msg_size_min", 0, place),
        _number(row, "msg_size_max", INF, place),
        alg if isinstance(alg, int) else 0,
        alg if isinstance(alg, str) else None,
        *others,
    )


def _number(value: Mapping[str, Any], name: str, default: int, place: str) -> int:
    found = value.get(name, default)
    if name.startswith("msg_size") and isinstance(found, str) and found[:3].capitalize() == "Inf":
        return INF
    most = INF if name.startswith("msg_size") else MOST
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise StrettoError(f"{name} is {found!r}", place, REMEDY)
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
