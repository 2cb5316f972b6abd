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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stretto.export.counts import CountFile
from stretto.export.layouts import merged
from stretto.export.rules import Rule

RULES_FILE = "stretto-openmpi-han.rules"
#: what HAN has in 5.0. Its file takes rows for allgatherv, too, by the largest block, and nobody
#: asks for them: HAN leaves whole communicators' allgatherv to coll/tuned, which has its own rows
COLLECTIVES = ("allgather", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
#: and what it has in 6.0
COLLECTIVES_6 = (*COLLECTIVES, "alltoall", "alltoallv", "gatherv", "scatterv")
#: communicators that a file has rows for: the ranks of a node, one rank of each node, all
LEVELS = ("intra_node", "inter_node", "global_communicator")
GLOBAL = 2
#: who may decide
COMPONENTS = ("self", "basic", "libnbc", "tuned", "sm", "adapt", "han")


@dataclass(frozen=True)
class HanRow:
    """A row of a file: component and algorithm (0: its own choice), from `size` bytes on."""

    line: int
    size: int
    component: str
    algorithm: int

    @property
    def words(self) -> str:
        return self.component + (f" @{self.algorithm}" if self.algorithm else "")


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


def rules_file(by_collective: Mapping[str, Sequence[Rule]], ids: Mapping[str, int]) -> str:
    """Return the text of a file.

    `by_collective`: rules on several nodes, one layout for each number of ranks: of HAN, of
    coll/tuned, and defaults.
    """
    out: dict[int, dict[int, dict[int, list[tuple[int, str]]]]] = {}
    for collective, rules in by_collective.items():
        tables: dict[int, list[tuple[int, str]]] = {}
        for ranks in sorted({r.layout.nranks for r in rules}):
            mine = sorted((r for r in rules if r.layout.nranks == ranks), key=lambda r: r.low)
            tables[ranks] = _rows(mine)
            tables.setdefault(ranks + 1, [(0, "han")])  # replaced where the next is measured, too
        if min(tables) > 1:
            tables[1] = [(0, "han")]
        out[ids[collective]] = {GLOBAL: tables}
    return text_of(out)


def text_of(levels: Mapping[int, Mapping[int, Mapping[int, Sequence[tuple[int, str]]]]]) -> str:
    """Return the text of a file: by collective, level and ranks, bytes and who decides from there.

    `levels`: as `read_rules_file` returns them, with a row's size and words.
    """
    lines = [str(len(levels))]
    for collective, by_level in levels.items():
        lines += [str(collective), str(len(by_level))]
        for level, tables in by_level.items():
            lines += [str(level), str(len(tables))]
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


def read_rules_file(
    text: str, place: str, ids: Mapping[str, int]
) -> dict[int, dict[int, dict[int, list[HanRow]]]]:
    """Return the rows by collective's number, level (index of `LEVELS`) and communicator size.

    `ids`: numbers of the collectives by name.
    """
    words = CountFile(text, place)
    out: dict[int, dict[int, dict[int, list[HanRow]]]] = {}

    def one_of(what: str, numbers: Mapping[str, int], taken: Collection[int]) -> int:
        word = words.word(what)
        number = int(word) if word.isdecimal() else numbers.get(word, -1)
        if number not in numbers.values() or number in taken:
            wrong = "is there twice" if number in taken else f"is not {what}"
            raise words.fault(f"{word!r} {wrong}")
        return number

    levels = {name: i for i, name in enumerate(LEVELS)}
    for _ in range(words.number("the number of collectives")):
        by_level = out.setdefault(one_of("a collective", ids, out), {})
        for _ in range(words.number("the number of levels")):
            sizes = by_level.setdefault(one_of("a level", levels, by_level), {})
            for _ in range(words.number("the number of communicator sizes")):
                ranks = words.ascending("communicator size", max(sizes, default=None), 1)
                sizes[ranks] = []
                for _ in range(words.number("the number of message sizes")):
                    before = sizes[ranks][-1].size if sizes[ranks] else None
                    sizes[ranks].append(_read_row(words, before))
    words.end()
    return out


def _read_row(words: CountFile, before: int | None) -> HanRow:
    size = words.ascending("message size", before, 0)
    line, component = words.line, words.word("a component")
    if component not in COMPONENTS:
        raise words.fault(f"{component!r} is not one of {', '.join(COMPONENTS)}")
    algorithm = words.option("@") or "0"
    if not algorithm.isdecimal():
        raise words.fault(f"@{algorithm} is not an algorithm's number")
    return HanRow(line, size, component, int(algorithm))
