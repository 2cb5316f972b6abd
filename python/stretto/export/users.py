"""Variables of the user's own that beat an export's files, or that its script replaces.

MPICH takes a forced algorithm before its files (5.0.2, run). Open MPI 4's rows come first, and a
forced algorithm holds wherever no row does (4.1.4, run); in 5 and 6 it beats the file (5.0.0 to
5.0.10 and 6.0, by coll_tuned_decision_dynamic.c). Intel MPI's files are variables, of which there
is one each. Open MPI looks at algorithms that are forced in coll/tuned only with its dynamic rules,
which the files turn on: one that did nothing until then comes alive, of collectives without rows as
well. In HAN a forced algorithm beats the one of a row, and `coll_han_reproducible` the rows of
allreduce and reduce (5.0.10, coll_han_dynamic.c).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stretto.kinds import Family
from stretto.mpi.algorithms.forced import DYNAMIC, HAN_DYNAMIC, exported
from stretto.mpi.algorithms.openmpi_names import TUNED

#: what decides whether coll/tuned is asked at all
_COMPONENTS = ("OMPI_MCA_coll", "OMPI_MCA_coll_tuned_priority", "OMPI_MCA_coll_han_priority")
#: components that come before coll/tuned and its files when they are given a higher priority
_OTHERS = tuple(
    f"OMPI_MCA_coll_{name}_priority"
    for name in ("acoll", "adapt", "basic", "hcoll", "sm", "ucc", "xhc")
)
_TUNED_PRIORITY = 30
#: collectives of which HAN's rows give way to the wish for results that are the same each time
_REPRODUCIBLE = ("allreduce", "reduce")
_MPICH = ("INTRA_ALGORITHM", "POSIX_INTRA_ALGORITHM", "COMPOSITION", "DEVICE_COLLECTIVE")


def family_of(target: str) -> Family:
    """Return the family of the MPIs that a target's files are for."""
    if target.startswith("openmpi"):
        return "openmpi"
    return "intel" if target == "intel" else "mpich"


def beating(target: str, collectives: Collection[str], variables: Collection[str]) -> list[str]:
    """Return the variables that an export's files must not meet."""
    names = list(dict.fromkeys(collectives))
    if target in ("mpich", "mvapich"):
        found = [f"MPIR_CVAR_{c.upper()}_{end}" for c in names for end in _MPICH]
        return [*found, "MPIR_CVAR_DEVICE_COLLECTIVES"] if found else []
    if target.startswith("openmpi") and names:
        of_han = HAN_DYNAMIC in variables
        found = [f"OMPI_MCA_coll_han_use_{c}_algorithm" for c in names if of_han]
        found += ["OMPI_MCA_coll_han_reproducible"] * (
            of_han and not set(_REPRODUCIBLE).isdisjoint(names)
        )
        return [*map(_forcing, names), *found, *_COMPONENTS, *_OTHERS]
    return []


def least(name: str) -> int | None:
    """Return the number from which on one of `beating` counts; None: any value does."""
    return _TUNED_PRIORITY + 1 if name in _OTHERS else None


def waking(target: str, collectives: Collection[str], variables: Collection[str]) -> list[str]:
    """Return the variables that take effect only with an export's files."""
    if not target.startswith("openmpi") or DYNAMIC not in variables:
        return []  # an export of HAN's rules alone turns nothing on
    return [_forcing(c) for c in TUNED if c not in collectives]


def _forcing(collective: str) -> str:
    return f"OMPI_MCA_coll_tuned_{collective}_algorithm"


def woken(
    target: str,
    collectives: Collection[str],
    variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> list[str]:
    """Return a sentence for each of the user's variables that these files make effective."""
    on = environ.get(DYNAMIC, "0") not in ("", "0")
    if on and DYNAMIC not in exported(family_of(target), environ):
        return []  # alive already, by the user's own wish
    return [
        f"{name}={environ[name]} is set here, and takes effect with these files, because they "
        "turn on dynamic rules: unset it"
        for name in waking(target, collectives, variables)
        if environ.get(name, "0") not in ("", "0")
    ]


def conflicts(
    target: str,
    collectives: Collection[str],
    variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> list[str]:
    """Return a sentence for each of the user's variables that does not go with an export."""
    out = [
        f"{name}={environ[name]} is set here: it may override these files in your jobs; unset it"
        for name in beating(target, collectives, variables)
        if name in environ and name not in variables and _counts(name, environ[name])
    ]
    out += woken(target, collectives, variables, environ)
    out += [
        f"{name}={environ[name]} is set here: the script replaces it"
        for name, value in variables.items()
        if environ.get(name, value) != value
    ]
    return out + [
        f"{name}={environ[name]} is set here by another export (an older one of these files?), "
        f"and still applies beside this one: source the script again, or unset {name}"
        for name in exported(family_of(target), environ)
        if name not in variables
    ]


def _counts(name: str, value: str) -> bool:
    bound = least(name)
    return bound is None or (value.strip().isdecimal() and int(value) >= bound)
