"""One table with all that is known of it: its MPI, layout, collective and candidate.

Three things are asked, and may not contradict each other: the file's place (--pattern), the text
before the table, and the options that hold for all files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import Host, MPIIdentity, product
from stretto.grouped import grouped
from stretto.imports.chosen import Chosen, chosen_by
from stretto.imports.evidence import DEFAULT_WORDS, Said
from stretto.imports.mpis import (
    UNKNOWN,
    agree,
    agreed,
    identity_of,
    plainly,
    version_of,
    versioned,
    written,
)
from stretto.imports.natives import Naming
from stretto.imports.pattern import FileFacts, Pattern
from stretto.imports.printed import Printed, file_of
from stretto.imports.templates import chosen as template_for
from stretto.imports.templates import default_for
from stretto.mpi.algorithms.base import PREFIX

Which = Literal["max", "avg"]
Pairs = tuple[tuple[str, str], ...]
_APART = "put the tables of each algorithm into a separate file, and {algorithm} in --pattern"


@dataclass(frozen=True)
class Asked:
    """What the user said of the files.

    `patterns`: what their places say, the first of them that fits; empty: nothing. `value`: which
    of the printed times; None: the largest over the ranks where all files have it. `hosts`,
    `window`: of point-to-point tables.
    """

    patterns: Sequence[Pattern]
    facts: FileFacts
    by_name: Mapping[str, MPIIdentity]
    mpi: MPIIdentity | None
    value: Which | None
    host: Host
    hosts: tuple[str, ...] = ()
    window: int | None = None

    def origin(self, tables: Sequence[Printed], mpi: MPIIdentity) -> tuple[Host, list[str]]:
        """Return the host of tables, and the names of the facts that are not known."""
        kernels = {t.kernel for t in tables} - {None}
        host = self.host
        if host.kernel == UNKNOWN and len(kernels) == 1:
            host = replace(host, kernel=str(kernels.pop()))
        unknown = [f"host.{k}" for k, v in vars(host).items() if v in (UNKNOWN, 0)]
        return host, unknown + ["mpi.version"] * (mpi.version == UNKNOWN)


@dataclass(frozen=True)
class FileLayout:
    """MPI, nodes, ranks on a node and ranks: what makes a file of its own."""

    mpi: MPIIdentity
    nodes: int
    ppn: int
    nranks: int

    @property
    def name(self) -> str:
        """The begin of the file's name; the version stands in it, or it would be read as nodes."""
        ranks = "" if self.nranks == self.nodes * self.ppn else f".{self.nranks}"
        return f"{product(self.mpi)}-{self.mpi.version}-{self.nodes}x{self.ppn}{ranks}"


def refuse_two_builds(found: Iterable[tuple[FileLayout, str | None]]) -> None:
    """Refuse two builds whose results would be one file; `found`: each with its name at {mpi}."""
    first: dict[str, tuple[FileLayout, str | None]] = {}
    for layout, called in found:
        other, name = first.setdefault(layout.name, (layout, called))
        if other.mpi == layout.mpi:
            continue
        builds = sorted(m.library.removesuffix(" (imported)") for m in (other.mpi, layout.mpi))
        names = sorted({n for n in (name, called) if n is not None})
        say = " ".join(f"--mpi {n}={written(layout.mpi)}" for n in names)
        raise StrettoError(
            f"results of {' and '.join(builds)} would both go to {layout.name}; builds cannot be "
            "mixed", None,
            f"if they are one MPI: {say}; otherwise import them separately, with a different "
            "--out",
        )  # fmt: skip


@dataclass(frozen=True)
class Item:
    """One table with all that is known of it: one launch.

    `around`: settings that all tables of the MPI have alike, and that choose no algorithm. `said`:
    the user said which algorithm it is. `named`: that, or the candidate is of the name in the log.
    """

    table: Printed
    layout: FileLayout
    collective: str
    candidate: str
    order: tuple[int, str]
    called: str | None
    around: Pairs = ()
    said: bool = False
    named: bool = False


class Placing:
    """Places tables; `items` compares them when all are there."""

    def __init__(self, asked: Asked, naming: Naming) -> None:
        self._asked = asked
        self._naming = naming
        self._items: list[Item] = []
        self._uncounted: list[tuple[Said, str]] = []

    def add(self, table: Printed, own: FileFacts) -> None:
        everywhere = self._asked.facts
        if own.algorithm is None and everywhere.algorithm is None:
            refuse_unclear(table, f"{_APART}; if all are native: --algorithm default")
        collective = _collective(table, own, everywhere)
        facts, layout = placed(table, own, self._asked)
        try:
            candidate, around, named = self._candidate(table, facts, layout.mpi, collective)
        except StrettoError as error:
            error.place = error.place or table.place
            raise
        order = (facts.launch if facts.launch is not None else -1, file_of(table.place))
        around = () if everywhere.algorithm else around
        said = facts.algorithm is not None
        item = Item(table, layout, collective, candidate, order, facts.mpi, around, said, named)
        self._items.append(item)

    def items(self) -> list[Item]:
        """Return all items; settings that not all tables of an MPI have are part of a candidate."""
        for said, setting in self._uncounted[:1]:
            more = f" and {len(self._uncounted) - 1} more" if len(self._uncounted) > 1 else ""
            self._naming.note(
                f"{said.place}{more}: algorithm {said.value} is named, but counted as native; "
                f"give the setting that selected it: --setting '{setting}', or --algorithm "
                "default"
            )
        around = grouped((i.layout.mpi, set(i.around)) for i in self._items)
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
    ) -> tuple[str, Pairs, bool]:
        """Return the candidate of a table, other settings, and whether a file name gave it."""
        chosen = chosen_by(table.context.settings, mpi, collective, bool(table.context.mpis))
        if facts.algorithm is not None:
            candidate = self._naming.candidate(mpi, collective, facts.algorithm, facts.mpi)
            _refuse_other(chosen, candidate, facts.algorithm)
            return candidate, chosen.around, True
        said = table.context.algorithm
        if chosen.candidate is not None:
            if chosen.ignored is not None:
                self._naming.note(
                    f"{chosen.place}: coll_tuned_use_dynamic_rules does not appear in the log; "
                    f"without it Open MPI ignores {chosen.ignored}"
                )
            if said is not None and said.value in DEFAULT_WORDS and chosen.algorithm is not None:
                raise StrettoError(
                    f"{chosen.candidate.removeprefix(PREFIX)} was set earlier, but this line "
                    f"gives {said.value}: the log does not show which applied", said.place, _APART,
                )  # fmt: skip
            return chosen.candidate, chosen.around, False
        named = template_for(self._naming.templates, mpi, facts.mpi) is not None
        word = said.value if said is not None and named else None
        if not named and said is not None and said.value not in (*DEFAULT_WORDS, "0"):
            self._uncounted.append((said, default_for(mpi)))
        return self._naming.candidate(mpi, collective, word, facts.mpi), chosen.around, named


def _refuse_other(chosen: Chosen, candidate: str, algorithm: str) -> None:
    """Refuse an algorithm that is not the one which the log shows to have been set."""
    shown = chosen.algorithm
    pairs = candidate.removeprefix(PREFIX).split(",")
    if shown in (None, algorithm) or any(
        f"{n}={v}" in pairs for n, v in chosen.pairs if v == shown
    ):
        return
    raise StrettoError(
        f"the log shows {chosen.pairs[0][0]}={shown}, and the given algorithm is {algorithm}",
        chosen.place,
        "leave out --algorithm (the log has the settings), or correct --pattern",
    )


def refuse_unclear(table: Printed, remedy: str) -> None:
    """Refuse a table of which cannot be told what the log says of it."""
    unclear = table.context.unclear
    if unclear is not None:
        raise StrettoError(
            f"the log does not show {unclear.value} ({table.place} is one of the tables)",
            unclear.place, remedy,
        )  # fmt: skip


def _collective(table: Printed, own: FileFacts, everywhere: FileFacts) -> str:
    """Return a table's collective, as its title, its command, its place or the user say."""
    given = own.collective or everywhere.collective
    names = [n.lower().removeprefix("osu_") for n in (table.collective, given) if n is not None]
    if not names:
        raise StrettoError(
            "the collective of this table is unknown", table.place,
            "name it: --collective allreduce, or {collective} in --pattern",
        )  # fmt: skip
    if names[0] != names[-1]:
        raise StrettoError(
            f"the table is of {names[0]}, but the file's name (or --collective) names {names[-1]}",
            table.place, "correct --pattern, or move the file",
        )  # fmt: skip
    return names[0]


def placed(table: Printed, own: FileFacts, asked: Asked) -> tuple[FileFacts, FileLayout]:
    """Return all that is known of a table: of the place, then of the log, then of the options."""
    launch = table.context.launch
    known = {k: v for k, v in vars(own).items() if v is not None}
    for kind in ("nranks", "nodes", "ppn"):
        words = getattr(launch, kind) if launch is not None else None
        if words is None:
            continue
        said = known.get(kind, getattr(asked.facts, kind))
        if re.search(r"[$`]", words):
            raise StrettoError(
                f"the log shows a command with {words!r} for {kind}, but not its value",
                table.context.place,
                "put the tables of each layout into a separate file, and name the layout with "
                "--pattern",
            )
        if not re.fullmatch(r"[1-9]\d{0,8}", words):
            continue
        if said not in (None, int(words)):
            raise StrettoError(
                f"the command in the log has {kind} {words}, but {said} is given",
                table.context.place, f"leave out --{kind}, or correct it (or --pattern)",
            )  # fmt: skip
        known[kind] = int(words)
    facts = replace(asked.facts, **known)
    if _said_mpi(facts, asked, table.place) is None and not table.context.mpis:
        _refuse_without_mpi(table, facts)
    return facts, FileLayout(_mpi_of(table, facts, asked), *_layout_of(table, facts))


def _layout_of(table: Printed, facts: FileFacts) -> tuple[int, int, int]:
    """Return nodes, ranks per node and ranks; smaller communicators fill node after node."""
    correct = "correct --nodes, --ppn or --pattern"

    def refuse(problem: str, remedy: str = correct) -> StrettoError:
        return StrettoError(problem, table.place, remedy)

    zero = [n for n in ("nodes", "ppn", "nranks") if getattr(facts, n) == 0]
    if zero:  # a name that gives 0 is wrong; one without a number only lacks it
        raise refuse(f"{' and '.join(zero)} of 0, from the name of the file, is not a layout")
    if table.exchange is not None and table.tool.startswith("OSU") and table.nranks == 2:
        nodes = 2 if facts.nodes is None and facts.ppn == 1 else facts.nodes
        if nodes not in (1, 2):  # such a job says nothing of its nodes
            raise refuse(
                f"the number of nodes of osu_{table.collective} is not known" if nodes is None
                else f"osu_{table.collective} has 2 ranks, but {nodes} nodes are given",
                "give --nodes 2, or --nodes 1 for two ranks on one node (or {nodes} in "
                "--pattern)",
            )  # fmt: skip
        return nodes, 2 // nodes, 2
    job = _job_ranks(table)
    if job and facts.nranks and job > facts.nranks:
        raise refuse(f"the job has {job} ranks, but the file's name gives {facts.nranks}")
    total, nodes = facts.nranks or job, facts.nodes
    nranks, ppn = _ranks_of(table, facts)
    if nranks is None or ppn is None:
        given = ", ".join(f"{n} {v}" for n, v in (("nodes", nodes), ("ranks per node", ppn),
                                                  ("ranks", nranks)) if v)  # fmt: skip
        raise refuse(
            "the nodes and ranks of this measurement are unknown"
            + (f" ({given})" if given else ""),
            "give --nodes 8 --ppn 36, or {nodes}, {ppn}, {nranks} in --pattern",
        )
    if nodes and nranks > nodes * ppn:
        raise refuse(
            f"{nranks} ranks do not fit on {counted(nodes, 'node')} x {counted(ppn, 'rank')}"
        )
    if nodes is None or nodes == 1 or (total and nranks != total):
        return -(-nranks // ppn), min(ppn, nranks), nranks
    if nranks < ppn + nodes - 1:
        raise refuse(
            f"{counted(nranks, 'rank')} are too few for {nodes} nodes, {counted(ppn, 'rank')} on "
            "one of them"
        )
    return nodes, ppn, nranks


def _job_ranks(table: Printed) -> int | None:
    return table.nranks + table.waiting if table.nranks else None


def _ranks_of(table: Printed, facts: FileFacts) -> tuple[int | None, int | None]:
    """Return ranks and ranks per node, as far as they are known."""
    nodes, ppn, total = facts.nodes, facts.ppn, facts.nranks or _job_ranks(table)
    nranks = table.nranks or facts.nranks or (nodes * ppn if nodes and ppn else None)
    return nranks, -(-total // nodes) if ppn is None and nodes and total else ppn


def _refuse_without_mpi(table: Printed, facts: FileFacts) -> None:
    """Refuse a table of an unknown MPI, with all else that is missing."""
    what, give, names = "the MPI of this measurement is", "--mpi openmpi@4.0.1", "{mpi}"
    pair = table.exchange is not None and table.nranks == 2
    if None in _ranks_of(table, facts) and not (pair and facts.nodes):
        what = "MPI, nodes and ranks of this measurement are"
        give += " --nodes 2" if pair else " --nodes 8 --ppn 36"
        names = "{mpi}, {nodes} and {ppn}"
    raise UsageError(
        f"{what} unknown ({table.place})", "--mpi", f"give {give}, or {names} in --pattern"
    )


def _mpi_of(table: Printed, facts: FileFacts, asked: Asked) -> MPIIdentity:
    """Return the MPI of a table, from what is said of it and from the log."""
    said = _said_mpi(facts, asked, table.place)
    named = _distinct(table.context.mpis)
    if said is None:
        if len(named) > 1:
            words = ", ".join(s.value for s in named)
            raise StrettoError(
                f"before {table.place} the log names several MPIs: {words}", named[0].place,
                f"give the one that was used: --mpi {named[-1].value}",
            )  # fmt: skip
        return plainly(named[0].value)
    if named and not any(agree(identity_of(s.value), said) for s in named):
        raise StrettoError(
            f"the log names {named[0].value}, but the given MPI is {written(said)}",
            named[0].place,
            "leave out --mpi, so that each table belongs to the MPI named before it; or correct "
            "--mpi",
        )
    if len(named) == 1:
        version = agreed(said.version, identity_of(named[0].value).version)
        return versioned(said, version or said.version)
    return said


def _distinct(found: Sequence[Said]) -> list[Said]:
    """Return the MPIs that are not the same, each by the most exact of its names."""
    out: list[Said] = []
    for said in sorted(found, key=lambda s: len(s.value), reverse=True):
        mpi = identity_of(said.value)
        if not any(agree(identity_of(s.value), mpi) for s in out):
            out.append(said)
    return [said for said in found if said in out]


def _said_mpi(facts: FileFacts, asked: Asked, place: str) -> MPIIdentity | None:
    """Return the MPI as the user and the file's place say it, None where neither does.

    What is said of the name goes before the name, and must fit what is for all. Of what --mpi says
    of a name, what it says of all files takes nothing back: it is for the rest.
    """
    if facts.mpi is None:
        return None if asked.mpi is None else _of(asked.mpi, facts, place)
    named = asked.by_name.get(facts.mpi)
    mpi = _of(named or identity_of(facts.mpi, place), facts, place)
    if asked.mpi is None:
        return mpi
    version = agreed(mpi.version, asked.mpi.version)
    if product(mpi) == product(asked.mpi) and version is not None:
        # A name of its own may be a build of its own.
        return versioned(asked.mpi if facts.mpi == product(mpi) else mpi, version)
    if named:
        return mpi
    raise StrettoError(
        f"the file's name contains {written(mpi)}, but --mpi names {written(asked.mpi)}", place,
        f"correct --mpi, or give the MPI of that name: --mpi {facts.mpi}={written(asked.mpi)}",
    )  # fmt: skip


def _of(mpi: MPIIdentity, facts: FileFacts, place: str) -> MPIIdentity:
    """Return an MPI that --mpi or the place names with the version that the place says."""
    if facts.version is None:
        return mpi
    said = version_of(facts.version, place)
    version = agreed(said, mpi.version)
    if version is None:
        raise StrettoError(
            f"the file's name gives version {said}, but the MPI is {written(mpi)}", place,
            "give the version only once",
        )  # fmt: skip
    return versioned(mpi, version)
