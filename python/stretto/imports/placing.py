"""One table with all that is known of it: its MPI, layout, collective and candidate.

Three things are asked, and may not contradict each other: the file's place (--pattern), the text
before the table, and the options that hold for all files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stretto.errors import StrettoError, UsageError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.product import product
from stretto.imports.chosen import Chosen, chosen_by
from stretto.imports.evidence import DEFAULT_WORDS, Said
from stretto.imports.layout import layout_of
from stretto.imports.mpis import agree, agreed, identity_of, plainly, version_of, versioned, written
from stretto.imports.natives import Naming, NoSuchAlgorithm
from stretto.imports.pattern import FileFacts, Pattern
from stretto.imports.printed import Printed
from stretto.imports.templates import default_for
from stretto.mpi.algorithms.base import PREFIX

Which = Literal["max", "avg"]


@dataclass(frozen=True)
class Asked:
    """What the user said of the files.

    `patterns`: what their places say, the first of them that fits; empty: nothing. `value`: which
    of the printed times; None: the largest over the ranks where all files have it.
    """

    patterns: Sequence[Pattern]
    facts: FileFacts
    by_name: Mapping[str, MPIIdentity]
    mpi: MPIIdentity | None
    value: Which | None
    host: Host


@dataclass(frozen=True)
class FileLayout:
    """MPI, nodes, ranks on a node and ranks: what makes a file of its own."""

    mpi: MPIIdentity
    nodes: int
    ppn: int
    nranks: int

    @property
    def name(self) -> str:
        """The file's name; the version stands in it, or nodes x ranks would be read as one."""
        ranks = "" if self.nranks == self.nodes * self.ppn else f".{self.nranks}"
        return f"{product(self.mpi)}-{self.mpi.version}-{self.nodes}x{self.ppn}{ranks}.bench.jsonl"


@dataclass(frozen=True)
class Item:
    """One table with all that is known of it: one launch.

    `around`: settings that all tables of the MPI have alike, and that choose no algorithm. `said`:
    the user said which algorithm it is.
    """

    table: Printed
    layout: FileLayout
    collective: str
    candidate: str
    order: tuple[int, str]
    called: str | None
    around: tuple[tuple[str, str], ...] = ()
    said: bool = False


class Placing:
    """Places tables; `items` compares them when all are there."""

    def __init__(self, asked: Asked, naming: Naming) -> None:
        self._asked = asked
        self._naming = naming
        self._items: list[Item] = []

    def add(self, table: Printed, own: FileFacts) -> None:
        unclear = table.context.unclear
        if unclear is not None and own.algorithm is None and self._asked.facts.algorithm is None:
            raise StrettoError(
                f"the log does not show {unclear.value} ({table.place} is one of the tables)",
                unclear.place,
                "give each algorithm's tables in a file of their own and {algorithm} in --pattern; "
                "if all are of the MPI by itself: --algorithm default",
            )
        collective = _collective(table, own, self._asked.facts)
        facts = known(table, own, self._asked.facts)
        mpi = mpi_of(table, facts, self._asked)
        nranks, nodes, ppn = layout_of(table, facts)
        try:
            candidate, around = self._candidate(table, facts, mpi, collective)
        except NoSuchAlgorithm as error:
            error.place = table.place
            raise
        except StrettoError as error:
            place = error.place or table.place
            raise StrettoError(error.message, place, error.remedy, error.exit_code) from error
        order = (facts.launch if facts.launch is not None else -1, table.place.rpartition(":")[0])
        layout = FileLayout(mpi, nodes, ppn, nranks)
        around = () if self._asked.facts.algorithm else around
        said = facts.algorithm is not None
        self._items.append(
            Item(table, layout, collective, candidate, order, facts.mpi, around, said)
        )

    def items(self) -> list[Item]:
        """Return all items; settings that not all tables of an MPI have are part of a candidate."""
        around: dict[MPIIdentity, list[set[tuple[str, str]]]] = defaultdict(list)
        for item in self._items:
            around[item.layout.mpi].append(set(item.around))
        same = {mpi: set.intersection(*sets) for mpi, sets in around.items()}
        for mpi, pairs in same.items():
            if pairs:
                words = ", ".join(f"{n}={v}" for n, v in sorted(pairs))
                self._naming.note(f"all tables of {written(mpi)} were measured with {words}")
        out = []
        for item in self._items:
            common = same[item.layout.mpi]
            own = ",".join(f"{n}={v}" for n, v in item.around if (n, v) not in common)
            if own:
                bare = not item.candidate.startswith(PREFIX)
                item = replace(item, candidate=PREFIX + own if bare else f"{item.candidate},{own}")
            out.append(replace(item, around=tuple(sorted(common))))
        return out

    def _candidate(
        self, table: Printed, facts: FileFacts, mpi: MPIIdentity, collective: str
    ) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the candidate of a table, and the settings beside it."""
        named = bool(table.context.mpis)
        chosen = chosen_by(table.context.settings, mpi, collective, named)
        if facts.algorithm is not None:
            candidate = self._naming.candidate(mpi, collective, facts.algorithm, facts.mpi)
            self._refuse_other(chosen, candidate, facts.algorithm)
            return candidate, chosen.around
        if chosen.candidate is not None:
            if chosen.ignored is not None:
                self._naming.note(
                    f"{chosen.place}: coll_tuned_use_dynamic_rules is not shown to be set; without "
                    f"it Open MPI ignores {chosen.ignored}"
                )
            word = table.context.algorithm
            if word is not None and word.value in DEFAULT_WORDS and chosen.algorithm is not None:
                raise StrettoError(
                    f"{chosen.candidate.removeprefix(PREFIX)} was set before, and this line says "
                    f"{word.value}: whether it still held is not shown",
                    word.place,
                    "give each algorithm's tables in a file of their own, and {algorithm} in "
                    "--pattern",
                )
            return chosen.candidate, chosen.around
        said = table.context.algorithm
        if said is not None and self._naming.has_settings(mpi, facts.mpi):
            candidate = self._naming.candidate(mpi, collective, said.value, facts.mpi)
            return candidate, chosen.around
        if said is not None and said.value not in (*DEFAULT_WORDS, "0"):
            self._naming.note(
                f"{said.place}: the log says algorithm {said.value}, and what follows counts as "
                f"what the MPI does by itself; say what chose it: --setting '{default_for(mpi)}', "
                "or --algorithm default"
            )
        return self._naming.candidate(mpi, collective, None, facts.mpi), chosen.around

    @staticmethod
    def _refuse_other(chosen: Chosen, candidate: str, algorithm: str) -> None:
        """Refuse an algorithm that is not the one which the log shows to have been set."""
        shown = chosen.algorithm
        pairs = candidate.removeprefix(PREFIX).split(",")
        if shown is None or shown == algorithm:
            return
        if any(f"{n}={v}" in pairs for n, v in chosen.pairs if v == shown):
            return
        raise StrettoError(
            f"the log shows {chosen.pairs[0][0]}={shown}, and the given algorithm is {algorithm}",
            chosen.place,
            "leave out --algorithm: the settings in the log say which it is; or correct --pattern",
        )


def mpi_of(table: Printed, facts: FileFacts, asked: Asked) -> MPIIdentity:
    """Return the MPI of a table, from what is said of it and from the log."""
    said = _said_mpi(facts, asked, table.place)
    named = _distinct(table.context.mpis)
    if said is None and not named:
        raise UsageError(
            f"with which MPI this was measured is not known ({table.place})",
            "--mpi",
            "say it: --mpi openmpi@4.0.1, or {mpi} in --pattern",
        )
    if said is None:
        if len(named) > 1:
            words = ", ".join(s.value for s in named)
            raise StrettoError(
                f"before {table.place} the log names several MPIs: {words}", named[0].place,
                f"say which one was used: --mpi {named[-1].value}",
            )  # fmt: skip
        return plainly(named[0].value)
    fits = [s for s in named if agree(identity_of(s.value), said)]
    if named and not fits:
        raise StrettoError(
            f"the log names {named[0].value}, and the given MPI is {written(said)}",
            named[0].place,
            "leave out --mpi, and each table counts for the MPI that is named before it; or "
            "correct it",
        )
    if len(named) == 1:
        version = agreed(said.version, identity_of(named[0].value).version)
        return said if version is None else versioned(said, version)
    return said


def refuse_several(tables: Sequence[Printed], asked: Asked) -> None:
    """Refuse one MPI for a log whose tables are of several, as it names them."""
    if asked.mpi is None:
        return
    named = _distinct([s for t in tables for s in t.context.mpis])
    if len(named) < 2 or all(agree(identity_of(s.value), asked.mpi) for s in named):
        return
    for_all = all(any(agree(identity_of(s.value), asked.mpi) for s in t.context.mpis)
                  for t in tables if t.context.mpis)  # fmt: skip
    if for_all:
        return
    shown = ", ".join(s.value for s in named[:4]) + (", ..." if len(named) > 4 else "")
    raise StrettoError(
        f"the log names several MPIs ({shown}), and --mpi says that all tables are of "
        f"{written(asked.mpi)}",
        named[1].place,
        "leave out --mpi: each table then counts for the MPI that is named before it",
    )


def _distinct(found: Sequence[Said]) -> list[Said]:
    """Return the MPIs that are not the same, each by the most exact of its names."""
    out: list[Said] = []
    for said in found:
        mpi = identity_of(said.value)
        at = next((i for i, s in enumerate(out) if agree(identity_of(s.value), mpi)), None)
        if at is None:
            out.append(said)
        elif len(said.value) > len(out[at].value):
            out[at] = said
    return out


def _collective(table: Printed, own: FileFacts, everywhere: FileFacts) -> str:
    """Return a table's collective, as its title, its command, its place or the user say."""
    said = own.collective or everywhere.collective
    collective = table.collective or said
    if collective is None:
        raise StrettoError(
            "this table does not say of which collective it is",
            table.place,
            "name it: --collective allreduce, or {collective} in --pattern",
        )
    said = (said or collective).lower().removeprefix("osu_")
    collective = collective.lower().removeprefix("osu_")
    if said != collective:
        raise StrettoError(
            f"the table is of {collective}, but the file's name (or --collective) says {said}",
            table.place,
            "correct --pattern, or move the file",
        )
    return collective


def known(table: Printed, own: FileFacts, everywhere: FileFacts) -> FileFacts:
    """Return all that is known: of the place, then of the log, then of the options."""
    launch = table.context.launch
    known = {k: v for k, v in vars(own).items() if v is not None}
    for kind in ("nranks", "nodes", "ppn"):
        words = getattr(launch, kind) if launch is not None else None
        if words is None:
            continue
        if not re.fullmatch(r"[1-9]\d{0,8}", words):
            if re.search(r"[$`]", words):
                raise StrettoError(
                    f"the log shows a command with {words!r} for {kind}, and not its value",
                    table.context.place,
                    "give the tables of each layout in a file of their own, and say it by "
                    "--pattern",
                )
            continue
        said = known.get(kind, getattr(everywhere, kind))
        if kind != "nranks" and said not in (None, int(words)):
            raise StrettoError(
                f"the command in the log has {kind} {words}, and {said} is given",
                table.context.place,
                f"leave out --{kind}, or correct it (or --pattern)",
            )
        if said not in (None, int(words)):
            raise StrettoError(
                f"the command in the log starts {words} ranks, and the file's name says {said}",
                table.context.place, "correct --pattern",
            )  # fmt: skip
        known[kind] = int(words)
    return replace(everywhere, **known)


def _said_mpi(facts: FileFacts, asked: Asked, place: str) -> MPIIdentity | None:
    """Return the MPI as the user and the file's place say it, None where neither does.

    What is said of the name goes before the name, and must fit what is for all. Of what --mpi says
    of a name, what it says of all files takes nothing back: it is for the rest.
    """
    if facts.mpi is None:
        if asked.mpi is None:
            return None
        return _of(asked.mpi, facts, place, "--mpi", "")
    named = asked.by_name.get(facts.mpi)
    by = "--mpi" if named else repr(facts.mpi)
    mpi = _of(named or identity_of(facts.mpi, place), facts, place, by, f"{facts.mpi}=")
    if asked.mpi is None:
        return mpi
    version = agreed(mpi.version, asked.mpi.version)
    if product(mpi) == product(asked.mpi) and version is not None:
        # A name of its own may be a build of its own.
        plain = facts.mpi == product(mpi)
        return versioned(asked.mpi if plain else mpi, version)
    if named:
        return mpi
    raise StrettoError(
        f"the file's name says {written(mpi)}, --mpi {written(asked.mpi)}", place,
        f"correct --mpi, or say what the name means: --mpi {facts.mpi}={written(asked.mpi)}",
    )  # fmt: skip


def _of(mpi: MPIIdentity, facts: FileFacts, place: str, by: str, name: str) -> MPIIdentity:
    """Return an MPI that --mpi or the place names with the version that the place says."""
    if facts.version is None:
        return mpi
    said = version_of(facts.version, place)
    version = agreed(said, mpi.version)
    if version is None:
        raise StrettoError(
            f"the file's name says version {said}, {by} {mpi.version}", place,
            f"say the version in one place: --mpi {name}{product(mpi)}",
        )  # fmt: skip
    return versioned(mpi, version)
