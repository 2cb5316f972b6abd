"""From point-to-point tables to network results (``NAME.net.json``), one an MPI and layout."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.errors import StrettoError, UsageError
from stretto.files.identity import now
from stretto.files.net import Messages, NetFile, NetImport, Ranks
from stretto.imports.pattern import FileFacts
from stretto.imports.placing import Asked, FileLayout, placed, refuse_two_builds, refuse_unclear
from stretto.imports.printed import MessageKind, Printed, file_of
from stretto.net.p2p import UNKNOWN_HOST, WINDOW, Point, placement
from stretto.version import __version__

#: receiving threads of osu_latency_mt
THREADS = 2
_COLLECTIVE = re.compile(r"coll_|I_MPI_ADJUST_|I_MPI_COLL_|MPIR_CVAR_\w*(?:ALGORITHM|COLLECTIVE)")


@dataclass(frozen=True)
class _Placed:
    table: Printed
    kind: MessageKind
    facts: FileFacts
    layout: FileLayout
    window: int

    def point(self, size: int) -> Point:
        pairs = self.kind.pairs or self.layout.nranks // 2
        threads = self.kind.threads or THREADS
        return Point(self.kind.test, size, pairs, self.kind.window or self.window, threads)

    @property
    def what(self) -> tuple[Point, str]:
        """What it measures, at size 0."""
        return self.point(0), self.kind.level

    @property
    def program(self) -> str:
        osu = "osu_" if self.table.tool.startswith("OSU") else ""
        return f"{osu}{self.table.collective}"

    @property
    def environment(self) -> dict[str, str]:
        """The settings, without those of collectives."""
        found = sorted(self.table.context.settings.items())
        return {n: said.value for n, said in found if not _COLLECTIVE.match(n)}

    @property
    def settings(self) -> str:
        return ", ".join(f"{n}={v}" for n, v in self.environment.items()) or "no settings"

    @property
    def form(self) -> str:
        """The name of its file without numbers."""
        name = file_of(self.table.place).rpartition("/")[2]
        return "file " + re.sub(r"\d+", "*", name)


def collect(
    tables: Sequence[tuple[Printed, FileFacts]],
    asked: Asked,
    command: Sequence[str],
    left_out: list[str],
) -> dict[FileLayout, NetFile]:
    """Return the results of each MPI and layout; each table is one launch.

    Tables whose pairs are partly on one node and partly on two are left out.

    Raises
    ------
    StrettoError
        The MPI or the nodes are not known, or tables of one test were measured in several ways.
    """
    groups: dict[FileLayout, list[_Placed]] = defaultdict(list)
    for table, own in tables:
        assert table.exchange is not None
        refuse_unclear(table, "put the tables of each command into a separate file")
        facts, layout = placed(table, own, asked)
        one = _Placed(table, table.exchange, facts, layout, asked.window or WINDOW)
        try:
            placement(_hosts(layout, asked.hosts), one.point(0).pairs)
        except StrettoError as error:
            left_out.append(f"{table.place}: {error.message}; left out")
        else:
            groups[layout].append(one)
    refuse_two_builds((m.layout, m.facts.mpi) for group in groups.values() for m in group)
    out: dict[FileLayout, NetFile] = {}
    for layout, members in sorted(groups.items(), key=lambda g: g[0].name):
        kept = _one_program(members, left_out)
        left_out += [
            f"{line.place}: the benchmark found wrong results; left out"
            for member in kept for line in member.table.lines if not line.correct
        ]  # fmt: skip
        _refuse_unlike(kept, asked)
        out[layout] = _result(layout, kept, asked, command)
    return out


def _hosts(layout: FileLayout, names: Sequence[str]) -> list[str]:
    """Return the host of each rank; node after node is filled."""
    names = names or [f"{UNKNOWN_HOST}{i + 1}" for i in range(layout.nodes)]
    if len(names) < layout.nodes:
        raise UsageError(
            f"{layout.nodes} nodes were used, but --hosts names {len(names)}", "--hosts",
            "name all nodes in the order of the ranks, or none",
        )  # fmt: skip
    return [names[rank // layout.ppn] for rank in range(layout.nranks)]


def _one_program(members: Sequence[_Placed], left_out: list[str]) -> list[_Placed]:
    """Return the tables without those of programs that measure what another one does.

    With one pair osu_mbw_mr is another osu_bw, and osu_multi_lat another osu_latency.
    """
    first: dict[object, str] = {}
    for member in sorted(members, key=lambda m: len(m.program)):
        first.setdefault(member.what, member.program)
    for m in members:
        if m.program != first[m.what]:
            words = f"{m.program} repeats the measurement of {first[m.what]}"
            left_out.append(f"{m.table.place}: {words}; left out")
    return [m for m in members if m.program == first[m.what]]


def _refuse_unlike(members: Sequence[_Placed], asked: Asked) -> None:
    """Refuse tables that would be launches of one test, and were measured in several ways."""
    first: dict[object, _Placed] = {}
    for member in members:
        other = first.setdefault(member.what, member)
        ways = (other.settings, member.settings)
        if ways[0] == ways[1] and not asked.patterns:
            ways = (other.form, member.form)
        if ways[0] != ways[1]:
            raise StrettoError(
                f"{member.program} was measured in two ways ({ways[0]}; {ways[1]}), which cannot "
                "be launches of one measurement", f"{other.table.place}, {member.table.place}",
                "import each file separately, with a different --out; if only the names differ: "
                "--pattern '*'",
            )  # fmt: skip


def _result(
    layout: FileLayout, members: Sequence[_Placed], asked: Asked, command: Sequence[str]
) -> NetFile:
    values: dict[tuple[Point, str, str], list[list[float]]] = defaultdict(list)
    for m in sorted(members, key=lambda m: -1 if m.facts.launch is None else m.facts.launch):
        for line in m.table.lines:
            if line.average is not None and line.correct:
                values[m.point(line.bytes), m.kind.level, m.kind.unit].append([line.average])
    messages = [
        Messages(p.test, p.bytes, p.pairs, p.window, p.threads, level, unit, launches)
        for (p, level, unit), launches in values.items()
    ]
    tables = [m.table for m in members]
    host, unknown = asked.origin(tables, layout.mpi)
    if not asked.hosts:
        unknown.append("hosts")
    if asked.window is None and any(m.kind.window is None for m in members):
        unknown.append(f"window ({WINDOW}, the program's default, is assumed)")
    if any(m.kind.threads is None for m in members):
        unknown.append(f"threads ({THREADS} receiving ones, the program's default, are assumed)")
    imported = NetImport(
        sorted({t.tool for t in tables}),
        sorted({file_of(t.place) for t in tables}),
        sorted({t.date for t in tables if t.date}),
        unknown,
    )
    ranks = Ranks(layout.mpi, _hosts(layout, asked.hosts), messages)
    same = set.intersection(*(set(m.environment.items()) for m in members))
    return NetFile(
        __version__, now(), host, list(command), 0, 0, None, [], ranks=ranks, imported=imported,
        environment=dict(sorted(same)),
    )  # fmt: skip
