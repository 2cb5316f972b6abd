"""Variables of the user's own that beat an export's files, or that its script replaces.

Seen by running (4.1.4, 5.0.11, MPICH 5.0.2): MPICH takes a forced algorithm before its files; of
Open MPI 4 and 5 the file's rows come first, and a forced algorithm holds wherever no row does; of
6 it beats the file (by its sources). Intel MPI's files are variables, of which there is one each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

#: what decides whether coll/tuned is asked at all
_COMPONENTS = ("OMPI_MCA_coll", "OMPI_MCA_coll_tuned_priority", "OMPI_MCA_coll_han_priority")
_MPICH = ("INTRA_ALGORITHM", "POSIX_INTRA_ALGORITHM", "COMPOSITION", "DEVICE_COLLECTIVE")


def beating(target: str, collectives: Collection[str]) -> list[str]:
    """Return the variables that an export's files must not meet.

    Parameters
    ----------
    target
        ``openmpi-5``, ...
    collectives
        Those that have rows.
    """
    names = list(dict.fromkeys(collectives))
    if target in ("mpich", "mvapich"):
        found = [f"MPIR_CVAR_{c.upper()}_{end}" for c in names for end in _MPICH]
        return [*found, "MPIR_CVAR_DEVICE_COLLECTIVES"] if found else []
    if target.startswith("openmpi"):
        found = [f"OMPI_MCA_coll_tuned_{c}_algorithm" for c in names]
        return [*found, *_COMPONENTS] if found else []
    return []


def conflicts(
    target: str,
    collectives: Collection[str],
    variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> list[str]:
    """Return a sentence for each of the user's variables that does not go with an export.

    Parameters
    ----------
    target, collectives
        As for `beating`.
    variables
        What the export's script sets.
    environ
        The user's.
    """
    out = [
        f"{name}={environ[name]} is set here: it may beat these files in your jobs; unset it"
        for name in beating(target, collectives)
        if name in environ and name not in variables
    ]
    out += [
        f"{name}={environ[name]} is set here: the script replaces it"
        for name, value in variables.items()
        if environ.get(name, value) != value
    ]
    return out
