"""HAN's rules file of Open MPI 5 and 6: on several nodes, HAN or coll/tuned by size of the message.

On communicators of several nodes Open MPI 5 and 6 put HAN before coll/tuned, and a file of HAN's
own says what it does there: ``han`` (as by default), ``han @N`` (one of its algorithms) or
``tuned`` (whose rules then say which). A tree of counts:

    collectives { number levels { 2 sizes { ranks messages { bytes component [@algorithm] } } } }

Level 2 is the whole communicator; ranks and bytes are lower bounds, the first ranks must be 1 and
the first bytes 0. Bytes are those of the vector or of one block, as Stretto counts them, and the
same on all ranks in every legal call (seen with 5.0.11: tests/mpi/test_export_han.py), which
coll/tuned's are not.
Open MPI 4.1 cannot read algorithms, and crashes on ``tuned``: no such file is written for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stretto.export.counts import IDS, NUMBERED, CountFile, bounded
from stretto.export.native_rows import NativeRow
from stretto.export.rules import Rule, merged
from stretto.grouped import grouped

RULES_FILE = "stretto-openmpi-han.rules"
#: what HAN has in 5.0. Its file takes rows for allgatherv, too, by the largest block, and nobody
#: asks for them: HAN leaves whole communicators' allgatherv to coll/tuned, which has its own rows
COLLECTIVES = ("allgather", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
#: and what it has in 6.0
COLLECTIVES_6 = (*COLLECTIVES, "alltoall", "alltoallv", "gatherv", "scatterv")
#: communicators that a file has rows for, by number from 0 on, with words for all but the whole
LEVELS: dict[str, tuple[str, ...]] = {
    "intra_node": ("within a node",),
    "inter_node": ("between the leaders of the nodes",),
    "global_communicator": (),
}
GLOBAL = 2
#: who may decide
COMPONENTS = ("self", "basic", "libnbc", "tuned", "sm", "adapt", "han")


def is_named(rule: Rule) -> bool:
    """Return whether a rule is for HAN: one of its algorithms, or its own choice."""
    named = rule.setting(f"coll_han_use_{rule.collective}_algorithm") is not None
    return named or rule.settings == (("coll_han_priority", "100"),)


def algorithm_of(rule: Rule) -> int | None:
    """Return the algorithm of HAN that a rule names; 0: HAN decides; None: not for HAN."""
    named = rule.setting(f"coll_han_use_{rule.collective}_algorithm")
    if named is not None:
        return int(named)
    return 0 if is_named(rule) else None


def rules_file(by_collective: Mapping[str, Sequence[Rule]]) -> str:
    """Return the text of a file.

    `by_collective`: rules on several nodes, one layout for each number of ranks: of HAN, of
    coll/tuned, and defaults.
    """
    lines = [str(len(by_collective))]
    for collective, rules in by_collective.items():
        by_ranks = grouped((r.layout.nranks, r) for r in sorted(rules, key=lambda r: r.low))
        tables = bounded({ranks: _rows(mine) for ranks, mine in by_ranks.items()}, (0, "han"))
        lines += [str(IDS[collective]), "1", f"{GLOBAL} {len(tables)}"]
        for ranks in sorted(tables):
            lines += [f"{ranks} {len(tables[ranks])}"]
            lines += [f"{size} {what}" for size, what in tables[ranks]]
    return "\n".join(lines) + "\n"


def _rows(rules: Sequence[Rule]) -> list[tuple[int, str]]:
    out: list[tuple[int, str]] = []
    for rule in merged(rules):
        algorithm = 0 if rule.default else algorithm_of(rule)
        what = "tuned" if algorithm is None else "han" + (f" @{algorithm}" if algorithm else "")
        if not out or out[-1][1] != what:
            out.append((rule.low, what))
    return out


def read_rules_file(text: str, place: str) -> list[NativeRow]:
    """Return the rows of a file, on all levels."""
    words = CountFile(text, place)
    collectives = NUMBERED | {name: name for name in IDS}
    levels = {word: name for i, name in enumerate(LEVELS) for word in (name, str(i))}
    rows: list[NativeRow] = []
    seen: list[str] = []

    def settings() -> tuple[tuple[str, str], ...]:
        component = words.word("a component")
        if component not in COMPONENTS:
            raise words.fault(f"{component!r} is not one of {', '.join(COMPONENTS)}")
        algorithm = words.option("@") or "0"
        if not algorithm.isdecimal():
            raise words.fault(f"@{algorithm} is not an algorithm's number")
        if component == "han" and int(algorithm):
            return ((f"coll_han_use_{collective}_algorithm", str(int(algorithm))),)
        return (("component", component),)

    for _ in range(words.number("the number of collectives")):
        collective = words.one_of("a collective", collectives, seen)
        seen.append(collective)
        of_levels: list[str] = []
        for _ in range(words.number("the number of levels")):
            level = words.one_of("a level", levels, of_levels)
            of_levels.append(level)
            rows += words.rows(collective, 1, settings, LEVELS[level])
    words.end()
    return rows
