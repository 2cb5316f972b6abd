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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stretto.errors import StrettoError
from stretto.export import openmpi, unsafe
from stretto.export.counts import IDS
from stretto.export.native_rows import OTHER_SIZES, NativeRow, shadowed
from stretto.export.openmpi_words import number_of, tuned_settings
from stretto.export.output import HERE, Export
from stretto.export.rules import Rule
from stretto.files.export import REMEDY
from stretto.files.placed import PlacedObject, object_of, placed_json

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
    collectives: dict[str, list[dict[str, Any]]] = {}
    inside = [r for r in rules if r.layout.nodes == 1]
    across = [r for r in rules if r.layout.nodes > 1]
    on_one = openmpi.usable(inside, "6")
    on_several = openmpi.usable(across, "6")
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
    export.files[JSON_FILE] = json_text(collectives)
    parameters = openmpi.han_file(on_several, export, "6")
    parameters["coll_tuned_use_dynamic_rules"] = "1"
    parameters["coll_tuned_dynamic_rules_filename"] = f"{HERE}/{JSON_FILE}"
    openmpi.set_parameters(export, parameters)
    export.lost += unsafe.warnings(export.rows)
    # within a node there is one layout for each number of ranks
    export.lost += openmpi.wherever([r for r in export.rows if r.layout.nodes > 1])
    export.lost.append(
        "Open MPI 6 is not released: such files were tested with a build of its branch (6.0.0a1)"
    )
    return export


def _entry(rules: Sequence[Rule], ranks: int, distribution: str, export: Export) -> dict[str, Any]:
    """Return what a file says about communicators of one size."""
    rows = openmpi.message_rows(rules, export, FANOUT)
    ends = [row[0] - 1 for row in rows[1:]] + [INF]
    said = [json_row(start, end, values) for (start, *values), end in zip(rows, ends, strict=True)]
    return json_entry(ranks, ranks, distribution, [row for row in said if row["alg"]])


def json_row(low: int, high: int | None, values: Sequence[int]) -> dict[str, Any]:
    """Return a row; `values`: algorithm, fan-out, segment size, requests."""
    algorithm, fanout, segment, requests = values
    others = {"seg_size": segment, "reqs": requests}
    return {
        "msg_size_min": low,
        "msg_size_max": "inf" if high in (None, INF) else high,
        "alg": algorithm,
        "faninout": fanout,
        # the MPI's schema does not have seg_size: it is there only where it is needed
    } | {n: v for n, v in others.items() if v}


def json_entry(
    low: int, high: int, distribution: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return rows for communicators of `low` to `high` ranks, both included."""
    return {
        "comm_size_min": low,
        "comm_size_max": high,
        "comm_rank_distribution": distribution,
        "rules": list(rows),
    }


def json_text(collectives: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    document = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(document, indent=1) + "\n"


_ONLY = {SINGLE: ("on one node",), ONE_PER_NODE: ("one rank a node",)}


def read_json(text: str, place: str) -> tuple[list[NativeRow], list[tuple[str, str]]]:
    """Return rows in the order in which the MPI looks; place and reason of what never applies."""
    top = _object(placed_json(text, place, REMEDY), "the rules", place)
    if top.get("rule_file_version") != 3 or top.get("module") != "tuned":
        raise StrettoError(
            "the file does not have rule_file_version 3 and module tuned", place, REMEDY
        )
    rows: list[NativeRow] = []
    faults: list[tuple[str, str]] = []
    collectives = _object(top.get("collectives"), "collectives", place)
    for collective, entries in collectives.items():
        where = f"{place}:{collectives.line_of(collective)}"
        if collective not in IDS:
            raise StrettoError(f"{collective!r} is not a collective", where, REMEDY)
        if collective in WITHOUT:
            words = f"coll/tuned has no {collective}, and Open MPI 6 crashes"
            raise StrettoError(words, where, REMEDY)
        if not isinstance(entries, list):
            raise StrettoError(f"{collective} has no list of communicators", where, REMEDY)
        seen: list[tuple[int, int, tuple[str, ...]]] = []
        for entry in entries:
            rows += _read_entry(entry, collective, where, seen, faults)
    faults += [
        (row.place, f"it never applies: the rule in {by.place} matches these calls")
        for row, by in shadowed([r for r in rows if OTHER_SIZES not in r.only])
    ]
    return rows, faults


def _object(value: object, what: str, place: str) -> PlacedObject:
    found = object_of(value, what, place, REMEDY)
    if found.twice:
        where = f"{place.partition(':')[0]}:{found.line_of(found.twice)}"
        raise StrettoError(f"the key {found.twice!r} occurs twice", where, REMEDY)
    return found


def _read_entry(
    value: object,
    collective: str,
    place: str,
    seen: list[tuple[int, int, tuple[str, ...]]],
    faults: list[tuple[str, str]],
) -> list[NativeRow]:
    """Return an entry's rows, and one for other sizes: the MPI looks at no entry behind it.

    `seen`: ranks and distribution of the entries before.
    """
    entry = _object(value, "a communicator", place)
    place = f"{place.rpartition(':')[0]}:{entry.line}"
    distribution = entry.get("comm_rank_distribution", ANY)
    if not isinstance(distribution, str):
        raise StrettoError(f"comm_rank_distribution is {distribution!r}", place, REMEDY)
    only = _ONLY.get(distribution, ())  # the MPI takes another word for "any"
    if entry.get("comm_size_max") == "inf":
        raise StrettoError("comm_size_max is inf, which Open MPI 6 reads as -1", place, REMEDY)
    rules = entry.get("rules")
    if not isinstance(rules, list):
        raise StrettoError("the rules are not a list", place, REMEDY)
    low, high = (_number(entry, f"comm_size_{n}", d, place) for n, d in (("min", 0), ("max", MOST)))
    last = None if high == MOST else high
    if low > high:
        faults.append((place, "comm_size_min is above comm_size_max"))
    mine = []
    for rule in rules:
        row = _read_row(rule, collective, place)
        if row.high is not None and row.low > row.high:
            faults.append((row.place, "msg_size_min is above msg_size_max"))
        else:
            mine.append(replace(row, first=low, last=last, only=only))
    if any(a <= low and high <= b and same in ((), only) for a, b, same in seen):
        faults.append((place, "it never applies: an earlier entry has these ranks"))
        return []
    seen.append((low, high, only))
    if not any(r.low == 0 and r.high is None for r in mine):
        other = (*only, OTHER_SIZES)
        mine.append(NativeRow(place, collective, low, last, 0, None, (), other))
    return mine


def _read_row(value: object, collective: str, place: str) -> NativeRow:
    row = _object(value, "a rule", place)
    place = f"{place.rpartition(':')[0]}:{row.line}"
    if "alg" not in row:
        raise StrettoError("a rule has no alg", place, REMEDY)
    alg = row["alg"]
    if isinstance(alg, str):
        number = number_of(f"coll_tuned_{collective}_algorithm", alg)
        if not number.isdecimal():
            raise StrettoError(f"{alg!r} is not an algorithm of {collective}", place, REMEDY)
    else:
        number = str(_number(row, "alg", 0, place))
    others = [_number(row, n, 0, place) for n in ("faninout", "seg_size", "reqs")]
    settings = tuned_settings(collective, (int(number), *others), FANOUT)
    high = _number(row, "msg_size_max", INF, place)
    return NativeRow(
        place,
        collective,
        0,
        None,
        _number(row, "msg_size_min", 0, place),
        None if high == INF else high,
        tuple(settings.items()) if int(number) else (),
    )


def _number(value: Mapping[str, Any], name: str, default: int, place: str) -> int:
    found = value.get(name, default)
    if name.startswith("msg_size") and isinstance(found, str) and found[:3].capitalize() == "Inf":
        return INF
    most = INF if name.startswith("msg_size") else MOST
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise StrettoError(f"{name} is {found!r}", place, REMEDY)
    return found
