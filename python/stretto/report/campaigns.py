"""The files of a campaign: results below its directory, a table of each MPI in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.identity import cpu_slug
from stretto.files.results import results_below
from stretto.files.table import read_table

File = tuple[str, Path]  # kind and place


def below(directory: Path, found: Sequence[File]) -> list[File]:
    """Return a campaign's results below a directory, with the tables made of them."""
    have = {path.resolve() for _, path in found}
    out: list[File] = []
    for path in results_below(directory):
        if path.resolve() not in have:
            out.append(("bench", path))
        table = _table_of(path.parent)
        if table is not None and table not in have:
            have.add(table)
            out.append(("table", table))
    return out


def _table_of(place: Path) -> Path | None:
    """Return the table of the results in DIR/MPI/CPU, as `campaign.conclude.table_place` names it.

    A damaged table is taken for one: its reader says what is wrong.
    """
    place = place.resolve()
    base, mpi = place.parent.parent, place.parent.name
    for table in (base / f"{mpi}.{place.name}.table", base / f"{mpi}.table"):
        try:
            if table.is_file() and cpu_slug(read_table(table).cpu) == place.name:
                return table
        except StrettoError:
            return table
    return None


def apart(
    directory: Path, found: Sequence[File], own: Callable[[Path], list[File]], most: int
) -> list[tuple[Path, list[File]]]:
    """Return the systems in a directory: MPIs of a campaign, or directories of tune.

    `own`: returns the files of a directory. `most`: systems that can be compared.
    """
    places = sorted({p.parent for kind, p in found if kind == "bench"} - {directory})
    if len(places) < 2:
        return [(directory, list(found))]
    if len(places) > most:
        raise StrettoError(
            f"there are results in {len(places)} directories below, but a report covers one "
            "directory, or compares two",
            directory,
            f"name them: stretto report {places[0]} {places[1]}",
        )
    out: list[tuple[Path, list[File]]] = []
    for place in places:
        table = _table_of(place)
        files = own(place)
        files += [("table", p) for k, p in found if k == "table" and p.resolve() == table]
        # DIR/MPI/CPU: named after the MPI, where it differs
        names = {p.parent for p in places}
        out.append((place.parent if len(names) == len(places) else place, files))
    return out
