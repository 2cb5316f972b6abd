"""Open MPI's coll/tuned rules: the classic file of 4.x and 5.x; 6's is in `openmpi_json`.

The classic file is a tree of counts: collectives, communicator sizes (a lower bound; the first one
holds for smaller communicators too), message sizes (a lower bound, the first must be 0), and for
each: algorithm, fan-in/out, segment size. Algorithm 0 is the built-in decision, which is how rules
are kept from leaking to other communicators and sizes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stretto.counted import counted
from stretto.export import han, unsafe
from stretto.export.counts import IDS, NUMBERED, CountFile, bounded
from stretto.export.native_rows import VERSION_2, NativeRow
from stretto.export.openmpi_words import (
    as_forced,
    numbered,
    of_han,
    on_nodes,
    tuned_settings,
    tuned_values,
)
from stretto.export.output import HERE, Export
from stretto.export.rules import Rule, merged
from stretto.export.sizes import openmpi_bytes

RULES_FILE = "stretto-openmpi.rules"
PARAMETERS_FILE = "stretto-openmpi-mca-params.conf"
_NO_RULE = (0, 0, 0, 0, 0)


def usable(rules: Iterable[Rule], release: str) -> dict[str, dict[int, list[Rule]]]:
    """Return rules by collective and ranks; a collective that is the MPI's to decide has none.

    `rules`: those that rows of the release can say (`openmpi_words.unsaid`).
    """
    out: dict[str, dict[int, list[Rule]]] = defaultdict(lambda: defaultdict(list))
    for rule in map(numbered, rules):
        out[rule.collective][rule.layout.nranks].append(as_forced(rule, release))
    return {
        c: by_ranks
        for c, by_ranks in out.items()
        if any(not r.default for rs in by_ranks.values() for r in rs)
    }


def _effect(rule: Rule) -> Rule:
    """Return a rule as the files say it: without sizes if need be (HAN's rows have them)."""
    sized = openmpi_bytes(rule.collective, 1, rule.layout.nranks) is not None
    return rule if sized or tuned_values(rule) is None else replace(rule, low=0, high=None)


def message_rows(
    rules: Sequence[Rule], export: Export, fanout: str | None = None
) -> list[tuple[int, ...]]:
    """Return message size and `tuned_values` (0: not of coll/tuned) for one communicator size."""
    rows: list[tuple[int, ...]] = []
    for rule in merged(sorted(rules, key=lambda r: r.low)):
        start = openmpi_bytes(rule.collective, rule.low, rule.layout.nranks)
        if start is None:  # its files do not look at the size
            if rule.default and len(rules) > 1:
                continue
            start = 0
        row = (start, *(tuned_values(rule, fanout) or _NO_RULE[1:]))
        if rows and rows[-1][0] == start:
            export.lost.append(
                f"{rule.collective} from {counted(rule.low, 'byte')} on {rule.layout.words}: "
                "Open MPI treats these calls as messages of one size"
            )
            continue
        rows.append(row)
        if not rule.default:
            export.rows.append(_effect(rule))
    if not rows or rows[0][0] != 0:
        rows.insert(0, _NO_RULE)
    return rows


def classic(rules: Sequence[Rule], release: str) -> Export:
    """Return rules for Open MPI 4 and 5.

    `rules`: from `for_layouts`: one layout for each number of ranks.
    """
    export = Export()
    found = usable(rules, release)
    tables = {
        c: bounded({n: message_rows(by_ranks[n], export) for n in sorted(by_ranks)}, _NO_RULE)
        for c, by_ranks in found.items()
    }
    tables = {c: t for c, t in tables.items() if any(row[1] for rows in t.values() for row in rows)}
    parameters = han_file(found, export, release)
    if tables:  # without, dynamic rules would bring forced algorithms of the user's to life
        parameters["coll_tuned_use_dynamic_rules"] = "1"
        parameters["coll_tuned_dynamic_rules_filename"] = f"{HERE}/{RULES_FILE}"
        export.files[RULES_FILE] = classic_text(tables)
    if parameters:
        set_parameters(export, parameters)
    export.lost += unsafe.warnings(export.rows)
    export.lost += wherever(export.rows)
    return export


def classic_text(tables: Mapping[str, Mapping[int, Sequence[tuple[int, ...]]]]) -> str:
    """Return the text of a classic file.

    `tables`: by collective and communicator size, rows of message size, algorithm, fan-out,
    segment size and requests (which this form has no place for).
    """
    lines = [f"{len(tables)} # collectives"]
    for collective, by_size in tables.items():
        lines += [f"{IDS[collective]} # {collective}", f"{len(by_size)} # communicator sizes"]
        for ranks in sorted(by_size):
            lines += [f"{ranks} # ranks and more", f"{len(by_size[ranks])} # message sizes"]
            lines += [" ".join(map(str, row[:4])) for row in by_size[ranks]]
    return "\n".join(lines) + "\n"


def wherever(rows: Sequence[Rule]) -> list[str]:
    """Return a sentence on where rows hold that nobody measured: ranks are all that they know."""
    layouts = sorted({r.layout for r in rows}, key=lambda x: x.nranks)
    if not layouts:
        return []
    return [
        "rows apply to communicators of this number of ranks on any nodes; measured on "
        + ", ".join(x.words for x in layouts)
    ]


def han_file(
    found: Mapping[str, Mapping[int, Sequence[Rule]]], export: Export, release: str
) -> dict[str, str]:
    """Write HAN's file where rules on several nodes need it; return the settings that name it."""
    collectives = of_han(release)
    across = {
        c: mine
        for c, by_ranks in found.items()
        if (mine := [r for of in by_ranks.values() for r in of if on_nodes(r, collectives)])
        and any(not r.default for r in mine)
    }
    if not across:
        return {}
    export.files[han.RULES_FILE] = han.rules_file(across)
    if any(tuned_values(r) is not None for mine in across.values() for r in mine):
        export.lost.append(
            "rows of coll/tuned whose number of ranks equals the nodes, or the ranks of a node, "
            "also apply inside HAN, which calls coll/tuned"
        )
    return {
        "coll_han_use_dynamic_file_rules": "1",
        "coll_han_dynamic_rules_filename": f"{HERE}/{han.RULES_FILE}",
    }


def set_parameters(export: Export, parameters: Mapping[str, str]) -> None:
    export.files[PARAMETERS_FILE] = "".join(f"{n} = {v}\n" for n, v in parameters.items())
    export.environment = {f"OMPI_MCA_{n}": v for n, v in parameters.items()}


def read_classic(text: str, place: str) -> list[NativeRow]:
    """Return the rows of a classic file."""
    words = CountFile(text, place)
    rows: dict[str, list[NativeRow]] = {}
    with_requests = words.option(VERSION_2) is not None

    def settings() -> tuple[tuple[str, str], ...]:
        fields = [*map(words.number, ("an algorithm", "a fan-out", "a segment size"))]
        if with_requests and words.same_line():
            fields.append(words.number("a number of requests"))
        return tuple(tuned_settings(collective, fields).items()) if fields[0] else ()

    for _ in range(words.number("the number of collectives")):
        collective = words.one_of("a collective's number", NUMBERED, rows)
        rows[collective] = list(words.rows(collective, None, settings))
    words.end()
    return [row for mine in rows.values() for row in mine]
