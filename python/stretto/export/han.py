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
from dataclasses import dataclass

from stretto.errors import StrettoError
from stretto.export.layouts import merged
from stretto.export.rules import Rule
from stretto.files.export import REMEDY

RULES_FILE = "stretto-openmpi-han.rules"
#: what HAN has in 5.0. Its file takes rows for allgatherv, too, by the largest block, and nobody
#: asks for them: HAN leaves whole communicators' allgatherv to coll/tuned, which has its own rows
COLLECTIVES = ("allgather", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
#: and what it has in 6.0
COLLECTIVES_6 = (*COLLECTIVES, "alltoall", "alltoallv", "gatherv", "scatterv")
_GLOBAL = 2


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
    lines = [str(len(by_collective))]
    for collective, rules in by_collective.items():
        tables: dict[int, list[str]] = {}
        for ranks in sorted({r.layout.nranks for r in rules}):
            mine = sorted((r for r in rules if r.layout.nranks == ranks), key=lambda r: r.low)
            tables[ranks] = _rows(mine)
            tables.setdefault(ranks + 1, ["0 han"])  # replaced where the next is measured, too
        if min(tables) > 1:
            tables[1] = ["0 han"]
        lines += [str(ids[collective]), "1", str(_GLOBAL), str(len(tables))]
        for ranks in sorted(tables):
            lines += [f"{ranks} {len(tables[ranks])}", *tables[ranks]]
    return "\n".join(lines) + "\n"


def _rows(rules: Sequence[Rule]) -> list[str]:
    out: list[str] = []
    for rule in merged(rules):
        algorithm = 0 if rule.default else algorithm_of(rule)
        what = "tuned" if algorithm is None else "han" + (f" @{algorithm}" if algorithm else "")
        if not out or not out[-1].endswith(f" {what}"):
            out.append(f"{rule.low} {what}")
    return out


def read_rules_file(text: str, place: str) -> dict[int, dict[int, list[HanRow]]]:
    """Return the rows for whole communicators by collective's number and communicator size."""
    words = [(n, w) for n, line in enumerate(text.splitlines(), 1) for w in line.split()]
    words.reverse()

    def take(what: str) -> tuple[int, str]:
        if not words:
            raise StrettoError(f"the file ends where {what} should stand", place, REMEDY)
        return words.pop()

    def number(what: str) -> tuple[int, int]:
        line, word = take(what)
        if not word.isdecimal():
            raise StrettoError(f"{word!r} stands where {what} should", f"{place}:{line}", REMEDY)
        return line, int(word)

    out: dict[int, dict[int, list[HanRow]]] = {}
    for _ in range(number("the number of collectives")[1]):
        sizes = out.setdefault(number("a collective's number")[1], {})
        for _ in range(number("the number of levels")[1]):
            number("a level")
            for _ in range(number("the number of communicator sizes")[1]):
                line, ranks = number("a communicator's size")
                if (ranks <= max(sizes)) if sizes else ranks != 1:
                    raise StrettoError(
                        f"communicator size {ranks} is not the next one", f"{place}:{line}", REMEDY
                    )
                rows = sizes.setdefault(ranks, [])
                for _ in range(number("the number of message sizes")[1]):
                    line, size = number("a message size")
                    component = take("a component")[1]
                    algorithm = 0
                    if words and words[-1][1].startswith("@"):
                        named = take("an algorithm")[1][1:]
                        if not named.isdecimal():
                            raise StrettoError(
                                f"@{named} is no algorithm's number", f"{place}:{line}", REMEDY
                            )
                        algorithm = int(named)
                    if (size <= rows[-1].size) if rows else size != 0:
                        raise StrettoError(
                            f"message size {size} is not the next one", f"{place}:{line}", REMEDY
                        )
                    if component not in ("han", "tuned"):
                        raise StrettoError(
                            f"{component!r} is neither han nor tuned", f"{place}:{line}", REMEDY
                        )
                    rows.append(HanRow(line, size, component, algorithm))
    if words:
        raise StrettoError(
            f"{words[-1][1]!r} is left over: a count before it is too small",
            f"{place}:{words[-1][0]}",
            REMEDY,
        )
    return out
