"""``--to stretto``: Stretto's own table, and which of a directory's results an export is made of.

There is no script to source: the table needs Stretto's library in the ranks, and a LD_PRELOAD that
a job script exports would put it into each program of the script, launcher and shell tools
included, whatever MPI they are of. `stretto run` gives it to the ranks alone, of the right kind.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.bench import read_bench
from stretto.files.identity import Family
from stretto.files.io import write_atomic
from stretto.files.results import results_in

TABLE, README = "stretto.table", "README.txt"
_README = """\
{title}

Apply it to a job:

    {command} -- mpirun -n 64 ./app

The table is of no effect without Stretto's library, which `stretto run` puts into the ranks and
into nothing else. There is no script to source: an LD_PRELOAD of a whole job script would reach
each of its programs.
"""


def write_own(results: Sequence[Path], out: Path) -> tuple[Path, int, list[str], str]:
    """Write the table that ``tune --from`` makes of results, and how to apply it.

    Parameters
    ----------
    results
        Files of one MPI.
    out
        Directory; made when it is not there.

    Returns
    -------
    tuple
        The table's file, how many of its rows choose, what it lacks, and the command.
    """
    from stretto.tune.from_results import decide_from

    out.mkdir(parents=True, exist_ok=True)
    found, table = decide_from(results, out / TABLE)
    lost = [
        f"{words}: the baseline is missing, so nothing is compared there"
        for one in found
        for words in one.alone
    ]
    if natives := sum(len(one.natives) for one in found):
        lost.append(
            f"{counted(natives, 'call')} for which an algorithm of the MPI's own is the fastest or "
            "faster than its decision: no table holds those, an export to that MPI does"
        )
    command = f"stretto run --table {shlex.quote(str(table))}"
    files = ", ".join(str(p) for p in results)
    text = _README.format(title=f"Stretto's table from {files}", command=command)
    write_atomic(out / README, text, "the export")
    chosen = sum(r.choice != "native" for one in found for r in one.rows)
    return table, chosen, lost, command


def chosen_results(
    paths: Sequence[Path], family: Family | None, major: str
) -> tuple[list[Path], list[str]]:
    """Return the files that an export is made of, and a sentence on those of other MPIs.

    Files that are named one by one all count: what does not fit is refused elsewhere. Of a
    directory, which may be a campaign's with several MPIs, those of the target's are taken.

    Parameters
    ----------
    paths
        Files and directories.
    family, major
        Of the target; None: any MPI. Where several versions are there, those of this major one.
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
