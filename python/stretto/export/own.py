"""``--to stretto``: Stretto's own table, and which of a directory's results an export is made of.

There is no script to source: the table needs Stretto's library in the ranks, and a LD_PRELOAD that
a job script exports would put it into each program of the script, launcher and shell tools
included, whatever MPI they are of. `stretto run` gives it to the ranks alone, of the right kind.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.export.campaign_table import campaign_table, kinds
from stretto.export.tested import TestedPoint, nothing, points_in, too_few
from stretto.files.bench import read_bench
from stretto.files.io import write_atomic
from stretto.files.results import results_in
from stretto.files.table import Row, write_table
from stretto.kinds import Family
from stretto.measure.baseline import fair
from stretto.measure.compare import NATIVE, timings
from stretto.mpi.algorithms.base import PREFIX
from stretto.tune.table import table_from

if TYPE_CHECKING:
    from stretto.export.targets import Wishes

TABLE, README = "stretto.table", "README.txt"
_TITLE = "Stretto's table"
_README = """\
{title}

{apply}
The table is of no effect without Stretto's library, which `stretto run` puts into the ranks and
into nothing else. There is no script to source: an LD_PRELOAD of a whole job script would reach
each of its programs.
"""
_APPLY = """\
Apply it to a job:

    {command} -- mpirun -n 64 ./app
"""
_NOTHING = """\
No row of it takes an algorithm of Stretto's: every call is left to the MPI, and there is nothing to
apply.
"""


@dataclass(frozen=True)
class Written:
    path: Path
    chosen: int
    command: str | None
    taken: Path | None
    notes: list[str]
    lost: list[str]


def write_own(results: Sequence[Path], out: Path, wishes: Wishes) -> Written:
    """Write the table of a campaign, or that of ``table decide``, and how to apply it."""
    taken = campaign_table(results)
    table, lost, notes = taken.table, list(taken.lost), []
    if table is not None:
        notes.append(f"the campaign's own table is taken, {taken.path} ({kinds(table.rows)} rows)")
    else:
        found, table = table_from(results)
        lost += [
            f"{words}: the baseline is missing, so nothing is compared there"
            for one in found
            for words in one.alone
        ]
        if natives := sum(len(one.natives) for one in found):
            lost.append(
                f"{counted(natives, 'call')} for which a native algorithm is the fastest or "
                "faster than its decision: no table holds those, an export to that MPI does"
            )
    rows = _kept(table.rows, wishes)
    if natives := sum(r.choice.startswith(PREFIX) for r in rows):
        lost.append(
            f"{counted(natives, 'row')} naming a native algorithm: `stretto run` leaves "
            "those calls to the MPI, an export to that MPI has it take the algorithm"
        )
    chosen = sum(map(_chooses, rows))
    gone = sum(map(_chooses, table.rows)) - chosen
    if gone:
        words = counted(gone, "row that chooses was", "rows that choose were")
        lost.append(f"{words} left out, by --nodes, --ppn or --without")
    points = _points(results)
    if not chosen and not gone:
        sentence = nothing(points, "no algorithm of Stretto's")
        notes += [] if sentence is None else [sentence]
    lost += too_few(points)
    path = out / TABLE
    write_table(replace(table, rows=rows), path)
    command = f"stretto run --table {shlex.quote(str(path))}" if chosen else None
    files = str(taken.path) if taken.path else ", ".join(str(p) for p in results)
    apply = _NOTHING if command is None else _APPLY.format(command=command)
    text = _README.format(title=f"{_TITLE} from {files}", apply=apply)
    write_atomic(out / README, text, "the export")
    return Written(path, chosen, command, taken.path, notes, lost)


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
    try:
        text = (out / README).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return (out / TABLE).exists() and text.startswith(_TITLE)


def chosen_results(
    paths: Sequence[Path], family: Family | None, major: str
) -> tuple[list[Path], list[str]]:
    """Return the files that an export is made of, and a sentence on those of other MPIs.

    Files that are named one by one all count: what does not fit is refused elsewhere. Of a
    directory, which may be a campaign's with several MPIs, those of the target's are taken.

    `family`, `major`: of the target; None: any MPI. Where several versions are there, those of this
    major one.
    """
    named = [p for p in paths if not p.is_dir()]
    below = [p for p in results_in([d for d in paths if d.is_dir()]) if p not in named]
    mpis = {p: read_bench(p).header.mpi for p in below}
    kept = [p for p in below if family in (None, mpis[p].family)]
    if len({mpis[p].version for p in kept}) > 1 and major:
        kept = [p for p in kept if mpis[p].version.startswith(major)] or kept
    if below and not kept and not named:
        there = ", ".join(sorted({f"{m.family} {m.version}" for m in mpis.values()}))
        raise StrettoError(
            f"there are no results of {family} in this directory, but of {there}",
            next(p for p in paths if p.is_dir()),
            "name another target (--to), or the results",
        )
    others = sorted({f"{mpis[p].family} {mpis[p].version}" for p in below if p not in kept})
    lost = [f"results of {name} in the directory are left out" for name in others]
    return [*named, *kept], lost
