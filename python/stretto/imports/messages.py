"""From point-to-point tables to network results (``NAME.net.json``), one an MPI and layout."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.errors import StrettoError, UsageError
from stretto.files.identity import now
from stretto.files.net import Messages, NetFile, NetImport, Ranks, write_net
from stretto.imports.layout import layout_of
from stretto.imports.mpis import UNKNOWN
from stretto.imports.pattern import FileFacts
from stretto.imports.placing import Asked, FileLayout, known, mpi_of
from stretto.imports.printed import Printed
from stretto.net.p2p import WINDOW, Point, placement
from stretto.version import __version__

#: receiving threads of osu_latency_mt
THREADS = 2
_COLLECTIVE = re.compile(r"coll_|I_MPI_ADJUST_|I_MPI_COLL_|MPIR_CVAR_\w*(?:ALGORITHM|COLLECTIVE)")


@dataclass(frozen=True)
class PairsAsked:
    """What the user says of point-to-point tables: names of the hosts, and OSU's window."""

    hosts: tuple[str, ...] = ()
    window: int | None = None


@dataclass(frozen=True)
class _Placed:
    table: Printed
    facts: FileFacts
    layout: FileLayout


def collect(
    tables: Sequence[tuple[Printed, FileFacts]],
    asked: Asked,
    pairs: PairsAsked,
    command: Sequence[str],
    left_out: list[str],
) -> dict[str, NetFile]:
    """Return the results by the names of their files; each table is one launch.

    Tables whose pairs are partly on one node and partly on two are left out.

    Raises
    ------
    StrettoError
        The MPI or the nodes are not known, or tables of one test were measured in several ways.
    """
    groups: dict[FileLayout, list[_Placed]] = defaultdict(list)
    for table, own in tables:
        if (unclear := table.context.unclear) is not None:
            raise StrettoError(
                f"the log does not show {unclear.value} ({table.place} is one of the tables)",
                unclear.place, "give the tables of each command in a file of their own",
            )  # fmt: skip
        facts = known(table, own, asked.facts)
        nranks, nodes, ppn = _layout(table, facts)
        layout = FileLayout(mpi_of(table, facts, asked), nodes, ppn, nranks)
        try:
            placement(_hosts(layout, pairs.hosts), _point(table, layout, 0, pairs).pairs)
        except StrettoError as error:
            left_out.append(f"{table.place}: {error.message}; left out")
            continue
        groups[layout].append(_Placed(table, facts, layout))
    out: dict[str, NetFile] = {}
    for layout, members in sorted(groups.items(), key=lambda g: g[0].name):
        name = layout.name.removesuffix(".bench.jsonl") + ".net.json"
        if name in out:
            raise StrettoError(
                f"two builds of one MPI would both be {name}", members[0].table.place,
                "import each by itself, with its own --out",
            )  # fmt: skip
        chosen = _one_program(members, pairs, left_out)
        left_out += [
            f"{line.place}: the benchmark found wrong results; left out"
            for member in chosen for line in member.table.lines if not line.correct
        ]  # fmt: skip
        _refuse_unlike(chosen, asked, pairs)
        out[name] = _result(layout, chosen, asked, pairs, command)
    return out


def refuse_existing(files: Mapping[str, NetFile], out: Path) -> None:
    for name in files:
        if (out / name).exists():
            raise StrettoError(
                "this file exists already, and results are not overwritten", out / name,
                "name another directory (--out), or remove the file",
            )  # fmt: skip


def write(files: Mapping[str, NetFile], out: Path) -> dict[Path, NetFile]:
    out.mkdir(parents=True, exist_ok=True)
    for name, result in files.items():
        write_net(result, out / name)
    return {out / name: result for name, result in files.items()}


def _layout(table: Printed, facts: FileFacts) -> tuple[int, int, int]:
    """Return ranks, nodes and ranks per node; a job of two ranks says nothing of its nodes."""
    if not (table.tool.startswith("OSU") and table.nranks == 2):
        return layout_of(table, facts)
    nodes = 2 if facts.nodes is None and facts.ppn == 1 else facts.nodes
    if nodes not in (1, 2):
        what = "not known" if nodes is None else f"given as {nodes}, which is more than its ranks"
        raise StrettoError(
            f"the number of nodes of osu_{table.collective} is {what}", table.place,
            "say it: --nodes 2, or --nodes 1 for two ranks on one node (or {nodes} in --pattern)",
        )  # fmt: skip
    return 2, nodes, 2 // nodes


def _hosts(layout: FileLayout, names: Sequence[str]) -> list[str]:
    """Return the host of each rank; node after node is filled."""
    if not names:
        names = [f"unknown-{i + 1}" for i in range(layout.nodes)]
    if len(names) < layout.nodes:
        raise UsageError(
            f"{layout.nodes} nodes were used, and --hosts names {len(names)}", "--hosts",
            "name them all, in the order of the ranks, or none",
        )  # fmt: skip
    return [names[rank // layout.ppn] for rank in range(layout.nranks)]


def _point(table: Printed, layout: FileLayout, size: int, pairs: PairsAsked) -> Point:
    exchange = table.exchange
    assert exchange is not None
    window = exchange.window or pairs.window or WINDOW
    return Point(
        exchange.test, size, exchange.pairs or layout.nranks // 2, window,
        exchange.threads or THREADS,
    )  # fmt: skip


def _called(table: Printed) -> str:
    return f"osu_{table.collective}" if table.tool.startswith("OSU") else str(table.collective)


def _what(placed: _Placed, pairs: PairsAsked) -> tuple[Point, str]:
    """Return what a table measures, at size 0."""
    assert placed.table.exchange is not None
    return _point(placed.table, placed.layout, 0, pairs), placed.table.exchange.level


def _one_program(
    members: Sequence[_Placed], pairs: PairsAsked, left_out: list[str]
) -> list[_Placed]:
    """Return the tables without those of programs that measure what another one does.

    With one pair osu_mbw_mr is another osu_bw, and osu_multi_lat another osu_latency.
    """
    first: dict[object, str] = {}
    for member in sorted(members, key=lambda m: len(m.table.collective or "")):
        first.setdefault(_what(member, pairs), _called(member.table))
    out = []
    for member in members:
        program = first[_what(member, pairs)]
        if _called(member.table) == program:
            out.append(member)
        else:
            left_out.append(
                f"{member.table.place}: {_called(member.table)} measures what {program} does here; "
                "left out"
            )
    return out


def _refuse_unlike(members: Sequence[_Placed], asked: Asked, pairs: PairsAsked) -> None:
    """Refuse tables that would be launches of one test, and were measured in several ways."""
    first: dict[object, _Placed] = {}
    for member in members:
        other = first.setdefault(_what(member, pairs), member)
        ways = [_settings(other), _settings(member)]
        if ways[0] == ways[1]:
            if asked.patterns or _name(other) == _name(member):
                continue
            ways = [f"file {_name(other)}", f"file {_name(member)}"]
        raise StrettoError(
            f"{_called(member.table)} was measured in two ways ({ways[0]}; {ways[1]}), and all its "
            "tables would be launches of one", f"{other.table.place}, {member.table.place}",
            "import each file by itself, with its own --out; if only their names differ: "
            "--pattern '*'",
        )  # fmt: skip


def _name(placed: _Placed) -> str:
    """Return the name of a table's file without its numbers."""
    return re.sub(r"\d+", "*", Path(placed.table.place.rpartition(":")[0]).name)


def _settings(placed: _Placed) -> str:
    return ", ".join(
        f"{name}={said.value}" for name, said in sorted(placed.table.context.settings.items())
        if not _COLLECTIVE.match(name)
    ) or "no settings"  # fmt: skip


def _result(
    layout: FileLayout,
    members: Sequence[_Placed],
    asked: Asked,
    pairs: PairsAsked,
    command: Sequence[str],
) -> NetFile:
    values: dict[tuple[Point, str, str], list[list[float]]] = defaultdict(list)
    order = sorted(members, key=lambda m: m.facts.launch if m.facts.launch is not None else -1)
    for member in order:
        table, exchange = member.table, member.table.exchange
        assert exchange is not None
        for line in table.lines:
            if line.average is not None and line.correct:
                point = _point(table, layout, line.bytes, pairs)
                values[point, exchange.level, exchange.unit].append([line.average])
    messages = [
        Messages(p.test, p.bytes, p.pairs, p.window, p.threads, level, unit, launches)
        for (p, level, unit), launches in values.items()
    ]
    kernels = {m.table.kernel for m in members} - {None}
    host = asked.host
    if host.kernel == UNKNOWN and len(kernels) == 1:
        host = replace(host, kernel=str(kernels.pop()))
    imported = NetImport(
        sorted({m.table.tool for m in members}),
        sorted({m.table.place.rpartition(":")[0] for m in members}),
        sorted({m.table.date for m in members if m.table.date}),
        _unknown(layout, [m.table for m in members], asked, pairs),
    )
    ranks = Ranks(layout.mpi, _hosts(layout, pairs.hosts), messages)
    return NetFile(
        __version__, now(), host, list(command), 0, 0, None, [], ranks=ranks, imported=imported
    )


def _unknown(
    layout: FileLayout, tables: Sequence[Printed], asked: Asked, pairs: PairsAsked
) -> list[str]:
    out = [f"host.{k}" for k, v in vars(asked.host).items() if v in (UNKNOWN, 0)]
    out += [] if pairs.hosts else ["hosts"]
    out += ["mpi.version"] if layout.mpi.version == UNKNOWN else []
    exchanges = [t.exchange for t in tables if t.exchange is not None]
    if pairs.window is None and any(e.window is None for e in exchanges):
        out.append(f"window ({WINDOW}, the program's default, stands in the messages)")
    if any(e.threads is None for e in exchanges):
        out.append(f"threads ({THREADS} receiving ones, the program's default)")
    return out
