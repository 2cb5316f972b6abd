"""Open MPI's coll/tuned rules: the classic file of 4.x and 5.x; 6's is in `openmpi_json`.

The classic file is a tree of counts: collectives, communicator sizes (a lower bound; the first one
holds for smaller communicators too), message sizes (a lower bound, the first must be 0), and for
each: algorithm, fan-in/out, segment size. Algorithm 0 is the built-in decision, which is how rules
are kept from leaking to other communicators and sizes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.export import han, order, plain
from stretto.export.layouts import merged
from stretto.export.openmpi_words import (
    CHAIN_FANOUT,
    CHAINS,
    as_forced,
    fanout_name,
    numbered,
    of_han,
    on_nodes,
    tuned_values,
    unsaid,
)
from stretto.export.output import HERE, Export
from stretto.export.rules import Rule
from stretto.export.sizes import openmpi_bytes
from stretto.files.export import REMEDY

#: the numbers of collectives in rules files (coll_base_functions.h's COLLTYPE)
IDS = {
    "allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "alltoallv": 4, "alltoallw": 5,
    "barrier": 6, "bcast": 7, "exscan": 8, "gather": 9, "gatherv": 10, "reduce": 11,
    "reduce_scatter": 12, "reduce_scatter_block": 13, "scan": 14, "scatter": 15, "scatterv": 16,
}  # fmt: skip
RULES_FILE = "stretto-openmpi.rules"
PARAMETERS_FILE = "stretto-openmpi-mca-params.conf"
_NO_RULE = (0, 0, 0, 0)
#: what a row says after its message size, the algorithm first; None: it is no rule for coll/tuned
Values = Callable[[Rule], tuple[int, ...] | None]


def usable(rules: Iterable[Rule], export: Export, release: str) -> dict[str, dict[int, list[Rule]]]:
    """Return the rules by collective and ranks; say what files of the MPI cannot hold."""
    out: dict[str, dict[int, list[Rule]]] = defaultdict(lambda: defaultdict(list))
    for rule in map(numbered, rules):
        size = "" if rule.low == 0 else f" from {counted(rule.low, 'byte')}"
        what = f"{rule.collective}{size} on {rule.layout.words}"
        if rule.collective not in IDS:
            export.lost.append(f"{what}: coll/tuned has no rules for it")
            continue
        without = None if rule.default else unsaid(rule, release)
        if without:
            export.lost.append(f"{what}: {without}")
            rule = replace(rule, settings=())  # the row before it must not reach into its sizes
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
    rules: Sequence[Rule],
    export: Export,
    values: Values = tuned_values,
) -> list[tuple[int, ...]]:
    """Return message size and values for one communicator size, the first for size 0.

    `values`: what a row says; where it gives None, the row is algorithm 0.
    """
    rows: list[tuple[int, ...]] = []
    for rule in merged(sorted(rules, key=lambda r: r.low)):
        start = openmpi_bytes(rule.collective, rule.low, rule.layout.nranks)
        if start is None:  # its files do not look at the size
            if rule.default and len(rules) > 1:
                continue
            start = 0
        row = (start, *(values(rule) or _NO_RULE[1:]))
        if rows and rows[-1][0] == start:
            export.lost.append(
                f"{rule.collective} from {counted(rule.low, 'byte')} on {rule.layout.words}: "
                "Open MPI takes these calls for messages of one size"
            )
            continue
        rows.append(row)
        if not rule.default:
            export.rows.append(_effect(rule))
    if not rows or rows[0][0] != 0:
        rows.insert(0, _NO_RULE)
    return rows


def _tables(
    by_ranks: Mapping[int, Sequence[Rule]], export: Export
) -> dict[int, list[tuple[int, ...]]]:
    """Return message rows by the communicator size from which on they hold."""
    tables: dict[int, list[tuple[int, ...]]] = {}
    for ranks in sorted(by_ranks):
        tables[ranks] = message_rows(by_ranks[ranks], export)
        tables.setdefault(ranks + 1, [_NO_RULE])  # replaced where the next is measured, too
    if min(tables) > 1:
        tables[1] = [_NO_RULE]
    return tables


def classic(rules: Sequence[Rule], release: str) -> Export:
    """Return rules for Open MPI 4 and 5.

    `rules`: from `for_layouts`: one layout for each number of ranks.
    """
    export = Export()
    found = usable(rules, export, release)
    tables = {c: _tables(by_ranks, export) for c, by_ranks in found.items()}
    tables = {c: t for c, t in tables.items() if any(row[1] for rows in t.values() for row in rows)}
    lines = [f"{len(tables)} # collectives"]
    for collective, by_size in tables.items():
        lines += [f"{IDS[collective]} # {collective}", f"{len(by_size)} # communicator sizes"]
        for ranks in sorted(by_size):
            lines += [f"{ranks} # ranks and more", f"{len(by_size[ranks])} # message sizes"]
            lines += [" ".join(map(str, row)) for row in by_size[ranks]]
    parameters = han_file(found, export, release)
    if tables:  # without, dynamic rules would bring forced algorithms of the user's to life
        parameters["coll_tuned_use_dynamic_rules"] = "1"
        parameters["coll_tuned_dynamic_rules_filename"] = f"{HERE}/{RULES_FILE}"
        export.files[RULES_FILE] = "\n".join(lines) + "\n"
    if parameters:
        set_parameters(export, parameters)
    export.lost += order.warnings(export.rows) + plain.warnings(export.rows)
    export.lost += wherever(export.rows)
    return export


def wherever(rows: Sequence[Rule]) -> list[str]:
    """Return a sentence on where rows hold that nobody measured: ranks are all that they know."""
    layouts = sorted({r.layout for r in rows}, key=lambda x: x.nranks)
    if not layouts:
        return []
    return [
        "rows hold on communicators of as many ranks wherever these lie, and were measured on "
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
    export.files[han.RULES_FILE] = han.rules_file(across, IDS)
    if any(tuned_values(r) is not None for mine in across.values() for r in mine):
        export.lost.append(
            "rows of coll/tuned for as many ranks as there are nodes, or ranks on a node, hold "
            "inside HAN, too: it calls coll/tuned there"
        )
    return {
        "coll_han_use_dynamic_file_rules": "1",
        "coll_han_dynamic_rules_filename": f"{HERE}/{han.RULES_FILE}",
    }


def set_parameters(export: Export, parameters: Mapping[str, str]) -> None:
    export.files[PARAMETERS_FILE] = "".join(f"{n} = {v}\n" for n, v in parameters.items())
    export.environment = {f"OMPI_MCA_{n}": v for n, v in parameters.items()}


@dataclass(frozen=True)
class FileRow:
    """A row as it stands in a file; `size` in the MPI's own measure."""

    line: int
    size: int
    algorithm: int
    fanout: int
    segment: int


def read_classic(text: str, place: str) -> dict[int, dict[int, list[FileRow]]]:
    """Return the rows of a classic file by collective's number and communicator size."""
    words = [
        (number, word)
        for number, line in enumerate(text.splitlines(), 1)
        for word in line.split("#")[0].split()
    ]
    at = 0

    def take(what: str) -> tuple[int, int]:
        nonlocal at
        if at >= len(words):
            raise StrettoError(f"the file ends where {what} should stand", place, REMEDY)
        line, word = words[at]
        at += 1
        if not word.isdecimal() or word != str(int(word)):
            raise StrettoError(f"{word!r} stands where {what} should", f"{place}:{line}", REMEDY)
        return line, int(word)

    out: dict[int, dict[int, list[FileRow]]] = {}
    for _ in range(take("the number of collectives")[1]):
        line, collective = take("a collective's number")
        if collective not in IDS.values() or collective in out:
            words_ = "is there twice" if collective in out else "is no collective's number"
            raise StrettoError(f"{collective} {words_}", f"{place}:{line}", REMEDY)
        sizes = out.setdefault(collective, {})
        for _ in range(take("the number of communicator sizes")[1]):
            line, ranks = take("a communicator's size")
            if sizes and ranks <= max(sizes):
                raise StrettoError(
                    f"communicator size {ranks} does not ascend", f"{place}:{line}", REMEDY
                )
            rows: list[FileRow] = []
            for _ in range(take("the number of message sizes")[1]):
                line, size = take("a message size")
                fields = [take(w)[1] for w in ("an algorithm", "a fan-out", "a segment size")]
                if (size <= rows[-1].size) if rows else size != 0:
                    raise StrettoError(
                        f"message size {size} stands where "
                        + ("a larger one should" if rows else "0 should"),
                        f"{place}:{line}",
                        REMEDY,
                    )
                rows.append(FileRow(line, size, *fields))
            if not rows:
                raise StrettoError(f"{ranks} ranks have no rows", f"{place}:{line}", REMEDY)
            sizes[ranks] = rows
    if at < len(words):
        raise StrettoError(
            f"{words[at][1]!r} is left over: a count before it is too small",
            f"{place}:{words[at][0]}",
            REMEDY,
        )
    return out


def settings_of(collective: str, row: FileRow) -> dict[str, str]:
    """Return the settings that have a row's effect, without those that are 0."""
    base = f"coll_tuned_{collective}_algorithm"
    out = {base: str(row.algorithm)}
    if row.segment:
        out[f"{base}_segmentsize"] = str(row.segment)
    default = CHAIN_FANOUT if (collective, str(row.algorithm)) in CHAINS else "0"
    if str(row.fanout) != default:
        out[fanout_name(collective)] = str(row.fanout)
    return out
