"""Which of the MPIs on this machine is the one that was measured: an export is for that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from stretto.campaign.begun import earlier
from stretto.errors import StrettoError
from stretto.files.identity import MPIIdentity, product_of
from stretto.kinds import Family
from stretto.mpi import MPIInstallation, find_installation, installations
from stretto.mpi.detect import TITLES

#: a campaign's results lie so deep in its directory, at most
_ABOVE = 4


@dataclass(frozen=True)
class TargetMPI:
    """An installation, None where there is none; and what to tell the user of the choice."""

    installation: MPIInstallation | None
    note: str | None = None


def _words(mpi: MPIInstallation) -> str:
    return f"{mpi.name} in {mpi.prefix}"


def places_of(results: Sequence[Path], commands: Iterable[Sequence[str]]) -> list[str]:
    """Return where the MPIs were that results are of, as far as they name places."""
    out: dict[str, None] = {}
    for words in commands:
        out |= dict.fromkeys(b for a, b in pairwise(words) if a == "--mpi")
        out |= dict.fromkeys(w.removeprefix("--mpi=") for w in words if w.startswith("--mpi="))
    for path in results:
        for directory in path.absolute().parents[:_ABOVE]:
            about = earlier(directory)
            out |= dict.fromkeys(about.mpis if about is not None else ())
    return [place for place in out if "/" in place]


def take(
    family: Family,
    measured: MPIIdentity,
    wanted: str | None,
    major: str = "",
    places: Sequence[str] = (),
) -> TargetMPI:
    """Return the installation that was measured, or the one that the user names.

    `wanted`: as for ``--mpi``: a launcher or a prefix is taken as it is, a family says nothing new.
    `places`: looked at where the measured one is not found otherwise: prefixes and launchers.
    Raises StrettoError: where only other versions are here: what is slow or wrong in one need not
    be in another.
    """
    if wanted is not None and wanted != family:
        return TargetMPI(find_installation(wanted))
    here = [i for i in installations() if i.family == family and i.version.startswith(major)]
    same = [i for i in here if i.version == measured.version]
    readable = measured.version.startswith(major)
    if readable and not same:
        found = next((f for p in places if (f := _measured_at(p, measured)) is not None), None)
        if found is not None:
            return TargetMPI(found, f"{_words(found)} is used: it is the MPI of the results")
    if not here:
        return TargetMPI(None if wanted is None else find_installation(wanted))
    title = TITLES[family]
    if readable and not same:
        others = ", ".join(map(_words, here))
        raise StrettoError(
            f"measured with {title} {measured.version}, but the installed version is another: "
            f"{others}",
            here[0].libmpi or here[0].prefix,
            f"name the MPI that was measured: --mpi PREFIX; --mpi {here[0].launcher or 'PREFIX'} "
            "uses another version anyway, for example after an update",
        )
    built = [i for i in same if measured.library and i.library == measured.library]
    chosen = (built or same or here)[0]
    others = ", ".join(_words(i) for i in here if i is not chosen)
    if not others:
        return TargetMPI(chosen)
    return TargetMPI(
        chosen,
        f"several {title} are here: {_words(chosen)} is used; --mpi PREFIX selects another "
        f"({others})",
    )


def for_mvapich(measured: MPIIdentity) -> MPIInstallation:
    """Return what an export to MVAPICH takes its trees from, where the user names nothing."""
    here = [i for i in installations() if i.family == "mpich"]
    if not here:
        raise StrettoError(
            "an export to MVAPICH needs the selection trees in its library, but no MVAPICH was "
            "found",
            "--mpi",
            "load the module of the site's MVAPICH, or name it: --mpi PREFIX",
        )
    return max(
        here,
        key=lambda i: (i.version == measured.version, product_of(i.family, i.library) == "mvapich"),
    )


def of_another_mpich(
    target: str, measured: MPIIdentity, trees: MPIInstallation | None
) -> list[str]:
    """Return sentences where MVAPICH's files are made from MPICH, or the other way round."""
    if target not in ("mpich", "mvapich"):
        return []
    mine, other = ("MVAPICH", "MPICH") if target == "mvapich" else ("MPICH", "MVAPICH")

    def others(library: str) -> bool:
        return bool(library) and product_of("mpich", library) != target

    out = []
    if others(measured.library):
        out.append(
            f"measured with {other} {measured.version}, and the files are for {mine}: the fastest "
            f"algorithm of one MPI need not be fast in another; measure with {mine}"
        )
    if trees is not None and others(trees.library):
        out.append(
            f"the trees are from {other} in {trees.prefix}, not from {mine}: give an installation "
            f"of {mine} with --mpi PREFIX"
        )
    return out


def _measured_at(place: str, measured: MPIIdentity) -> MPIInstallation | None:
    try:
        found = find_installation(place)
    except StrettoError:
        return None
    same = (found.family, found.version) == (measured.family, measured.version)
    return found if same else None
