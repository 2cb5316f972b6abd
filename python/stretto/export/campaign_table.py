"""The table that a campaign has made of its results.

It has rows that no single layout's results give: faster by the fit, interpolated, of a
model (`stretto.campaign`). Deciding again from the results would lose them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.campaign.begun import CAMPAIGN
from stretto.campaign.conclude import table_place
from stretto.campaign.layout import parse_layout
from stretto.errors import StrettoError
from stretto.files.bench import Header, read_bench
from stretto.files.identity import cpu_slug
from stretto.files.results import ENDING
from stretto.files.table import Row, Table, read_table

#: a table may seem so much older than its results: a copy of a directory gives its files new times,
#: in any order, and those of file systems are coarse
_COPIED_S = 2.0
_LACKS = (
    "rows are decided from each layout's results alone, and those are missing that a campaign "
    "decides from all of them: faster by the fit over layouts, interpolated, simulated"
)
_AGAIN = "run the campaign's command again, which makes the table anew"


@dataclass(frozen=True)
class CampaignResults:
    path: Path | None = None
    table: Table | None = None
    lost: tuple[str, ...] = ()


def campaign_table(results: Sequence[Path]) -> CampaignResults:
    """Return the table of the campaign that results are of.

    Of single files of a campaign, the rows of their layouts are taken.
    """
    header = read_bench(results[0]).header
    if not any(_of_campaign(p) for p in results):
        return CampaignResults()
    if len({p.parent.resolve() for p in results}) > 1:
        words = "the results are not of one campaign, one MPI and one kind of nodes"
        return CampaignResults(lost=(f"{words}: {_LACKS}; name a campaign's directory alone",))
    path = _place(results[0], header)
    late = [p.name for p in results if path.exists() and _older(path, p)]
    if not path.exists() or late:
        why = f"{path} is older than {late[0]}" if late else f"there is no {path}"
        return CampaignResults(lost=(f"{why}: {_LACKS}; {_AGAIN}",))
    table = _read(path, header)
    every = {p.resolve() for p in results[0].parent.glob(f"[!.]*{ENDING}")}
    named = {_layout(p) for p in results}
    if every <= {p.resolve() for p in results}:
        return CampaignResults(path, table)
    rows = [r for r in table.rows if (r.nodes, r.ppn) in named]
    words = (
        f"rows of the campaign's table left out, of layouts whose results are not named: "
        f"{len(table.rows) - len(rows)}; name the campaign's directory for all"
    )
    return CampaignResults(path, replace(table, rows=rows), (words,))


def kinds(rows: Sequence[Row]) -> str:
    """Return what a table has that results alone do not give."""
    fit = ["by fit"] * sum("by_fit" in r.evidence for r in rows)
    found = Counter([*fit, *(r.evidence.get("source", "measured") for r in rows)])
    return ", ".join(f"{number} {kind}" for kind, number in sorted(found.items()))


def _of_campaign(path: Path) -> bool:
    """Tell whether results lie where a campaign puts them, and it has been there."""
    header = read_bench(path).header
    place = path.parent.resolve()
    mpi = f"{header.mpi.family}-{header.mpi.version}"
    if place.parent.name != mpi or _layout(path) is None:
        return False
    return (place.parent.parent / CAMPAIGN).exists() or _place(path, header).exists()


def _place(results: Path, header: Header) -> Path:
    return table_place(results.parent.resolve().parent.parent, header.mpi, _cpu(header))


def _cpu(header: Header) -> str:
    return str(header.settings.get("node_cpu") or header.host.cpu)


def _layout(path: Path) -> tuple[int, int] | None:
    try:
        layout = parse_layout(path.name.removesuffix(ENDING))
    except StrettoError:
        return None
    return layout.nodes, layout.ppn


def _older(table: Path, results: Path) -> bool:
    return table.stat().st_mtime + _COPIED_S < results.stat().st_mtime


def _read(path: Path, header: Header) -> Table:
    try:
        table = read_table(path)
    except StrettoError as error:
        error.remedy = _AGAIN
        raise
    mpi = header.mpi
    other_cpu = cpu_slug(table.cpu) != cpu_slug(_cpu(header))
    if (table.family, table.mpi_version) != (mpi.family, mpi.version) or other_cpu:
        raise StrettoError(
            f"this table is of {table.family} {table.mpi_version} on {table.cpu}, and the results "
            f"of {mpi.family} {mpi.version} on {_cpu(header)}", path, _AGAIN,
        )  # fmt: skip
    return table
