"""``--to stretto``: Stretto's own table: that of a campaign, or one decided from results.

There is no script to source: the table needs Stretto's library in the ranks, and a LD_PRELOAD that
a job script exports would put it into each program of the script, launcher and shell tools
included, whatever MPI they are of. `stretto run` gives it to the ranks alone, of the right kind.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.campaign.begun import CAMPAIGN
from stretto.campaign.conclude import table_place
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.export.rules import layout_of
from stretto.export.tested import TestedPoint, nothing, points_in, too_few
from stretto.files.bench import read_bench
from stretto.files.results import ENDING
from stretto.files.table import Row, read_table, write_table
from stretto.measure.baseline import fair
from stretto.measure.compare import NATIVE, timings
from stretto.mpi.algorithms.base import PREFIX
from stretto.tune.table import table_from

if TYPE_CHECKING:
    from stretto.export.targets import Wishes

TABLE = "stretto.table"
#: a table may seem so much older than its results: a copy of a directory gives its files new times,
#: in any order, and those of file systems are coarse
_COPIED_S = 2.0


@dataclass(frozen=True)
class Written:
    path: Path
    chosen: int
    command: str | None
    taken: Path | None
    notes: list[str]


def write_own(results: Sequence[Path], out: Path, wishes: Wishes) -> Written:
    """Write the table of a campaign, or that of ``table decide``."""
    taken, notes = campaign_table(results)
    if taken is not None:
        table = read_table(taken)
        every = {p.resolve() for p in results[0].parent.glob(f"[!.]*{ENDING}")}
        if not every <= {p.resolve() for p in results}:
            named = {(x.nodes, x.ppn) for x in (layout_of(read_bench(p), p) for p in results)}
            table = replace(table, rows=[r for r in table.rows if (r.nodes, r.ppn) in named])
            notes.append("left out: rows of layouts whose results were not given")
        notes.append(f"the table of the campaign is used, {taken} ({_kinds(table.rows)} rows)")
    else:
        found, table = table_from(results)
        notes += [
            f"{words}: no baseline, so nothing is compared there"
            for one in found
            for words in one.alone
        ]
    rows = _kept(table.rows, wishes)
    if natives := sum(r.choice.startswith(PREFIX) for r in rows):
        notes.append(
            f"{counted(natives, 'row')} with a native algorithm: `stretto run` leaves "
            "these calls to the MPI; an export to that MPI selects the algorithm"
        )
    chosen = sum(map(_chooses, rows))
    gone = sum(map(_chooses, table.rows)) - chosen
    if gone:
        words = counted(gone, "row with a choice was", "rows with a choice were")
        notes.append(f"{words} left out, by --nodes, --ppn or --without")
    points = _points(results)
    sentence = nothing(points, "no algorithm of Stretto") if not chosen and not gone else None
    notes += [*([sentence] if sentence else []), *too_few(points)]
    path = out / TABLE
    write_table(replace(table, rows=rows), path)
    command = f"stretto run --table {shlex.quote(str(path))}" if chosen else None
    return Written(path, chosen, command, taken, notes)


def campaign_table(results: Sequence[Path]) -> tuple[Path | None, list[str]]:
    """Return the table of the campaign that results are of; None, and what that loses.

    It has rows that no single layout's results give: faster by the fit, interpolated, of a model.
    """
    path = next((t for p in results if (t := _table_of(p)) is not None), None)
    if path is None:
        return None, []
    made = path.stat().st_mtime + _COPIED_S if path.exists() else None
    why = ""
    if len({p.parent.resolve() for p in results}) > 1:
        why = "the results are from several campaigns, MPIs or kinds of nodes"
    elif made is None:
        why = f"there is no {path}"
    elif late := [p.name for p in results if made < p.stat().st_mtime]:
        why = f"{path} is older than {late[0]}"
    if not why:
        return path, []
    return None, [
        f"{why}: each layout was decided separately, so rows from the fit over layouts, "
        "interpolated and simulated rows are missing; the command of the campaign makes them"
    ]


def _table_of(results: Path) -> Path | None:
    """Return where the campaign has its table that results are of; None: they are of none."""
    head, base = read_bench(results).header, results.resolve().parent.parent.parent
    if results.resolve().parent.parent.name != f"{head.mpi.family}-{head.mpi.version}":
        return None
    path = table_place(base, head.mpi, str(head.settings.get("node_cpu") or head.host.cpu))
    return path if path.exists() or (base / CAMPAIGN).exists() else None


def _kinds(rows: Sequence[Row]) -> str:
    """Return what a table has that results alone do not give."""
    fit = ["by fit"] * sum("by_fit" in r.evidence for r in rows)
    found = Counter([*fit, *(r.evidence.get("source", "measured") for r in rows)])
    return ", ".join(f"{number} {kind}" for kind, number in sorted(found.items()))


def _chooses(row: Row) -> bool:
    return row.choice != NATIVE and not row.choice.startswith(PREFIX)


def _points(results: Sequence[Path]) -> list[TestedPoint]:
    out: list[TestedPoint] = []
    for path in results:
        bench = read_bench(path)
        times = timings(bench)
        out += points_in(bench, times, fair(times))
    return out


def _kept(rows: Sequence[Row], wishes: Wishes) -> list[Row]:
    """Return the rows of the layouts and collectives that are wanted; those of any layout stay."""
    nodes, ppn = wishes.prefer
    layouts = sorted({(r.nodes or 0, r.ppn or 0) for r in rows})
    if layouts and not any(_is(n, nodes) and _is(p, ppn) for n, p in layouts):
        there = ", ".join(f"{n or '*'} x {p or '*'}" for n, p in layouts)
        raise UsageError(
            f"no rows are for {nodes or 'any nodes'} x {ppn or 'any ranks'}",
            "--nodes" if nodes is not None else "--ppn",
            f"name a layout that has some: {there}",
        )
    return [
        r
        for r in rows
        if _is(r.nodes, nodes) and _is(r.ppn, ppn) and r.collective not in wishes.without
    ]


def _is(number: int | None, wanted: int | None) -> bool:
    """Tell whether a row's nodes or ranks per node, 0 or None for any, are those that are meant."""
    return wanted is None or not number or number == wanted


def is_own(out: Path) -> bool:
    return (out / TABLE).exists()
