"""What an environment says to an MPI's choice of algorithms before anything is measured.

An export of Stretto's that was sourced is told by the names of its files, and by the variable in
which its script says what it has set: Intel MPI's settings look like anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from stretto.files.table import TUNABLE
from stretto.kinds import Family

#: Open MPI's files of rules, each with the switch without which it is not read
RULES = {
    "OMPI_MCA_coll_tuned_dynamic_rules_filename": "OMPI_MCA_coll_tuned_use_dynamic_rules",
    "OMPI_MCA_coll_han_dynamic_rules_filename": "OMPI_MCA_coll_han_use_dynamic_file_rules",
}
DYNAMIC, HAN_DYNAMIC = RULES.values()
#: what Open MPI takes for no
OFF = ("", "0", "false", "f", "no", "n", "disabled")
#: how the variables of `mark_of` begin
MARKS = "STRETTO_EXPORT_"
#: the files that exports write, whatever directory they are in
_FILES = re.compile(r"stretto-(openmpi(-han)?\.rules|openmpi\.json|mpich-(posix|ch4|mpir)\.json)")
_JSON = "COLL_SELECTION_TUNING_JSON_FILE"
#: the variables that scripts of exports may set
_SETTABLE: dict[Family, tuple[str, ...]] = {
    "openmpi": (*RULES.values(), *RULES),
    "mpich": tuple(f"MPIR_CVAR_{layer}{_JSON}" for layer in ("CH4_POSIX_", "CH4_", "")),
    "intel": tuple(f"I_MPI_ADJUST_{c.upper()}" for c in TUNABLE),
}
#: what else forces algorithms, or decides who is asked for one
_FORCING: dict[Family, re.Pattern[str]] = {
    "openmpi": re.compile(
        r"OMPI_MCA_coll(_\w+_priority|_(tuned|han_use)_\w+_algorithm|_(tuned|han)_\w+_filename)?"
    ),
    "mpich": re.compile(
        r"MPIR_CVAR_(\w+_ALGORITHM|\w+_COMPOSITION|(\w+_)?DEVICE_COLLECTIVES?"
        r"|(\w+_)?TUNING_JSON_FILE)"
    ),
    "intel": re.compile(r"I_MPI_(ADJUST_(?!FAILURE_ON_)\w+|TUNING\w*)"),
}


def reads_rules(family: Family, name: str, environ: Mapping[str, str]) -> bool:
    """Tell whether a variable names a file of rules that the MPI reads.

    `environ`: all variables: Open MPI's files need a switch.
    """
    if family == "openmpi":
        return name in RULES and environ.get(RULES[name], "").lower() not in OFF
    if family == "intel":
        return name == "I_MPI_TUNING_BIN"
    return name.startswith("MPIR_CVAR_") and name.endswith(_JSON)


def mark_of(family: Family) -> str:
    """Return the variable in which an export's script names the variables that it has set."""
    return MARKS + family.upper()


def settable(family: Family) -> tuple[str, ...]:
    """Return all variables that the script of an export can set."""
    return _SETTABLE[family]


def exported(family: Family, environ: Mapping[str, str]) -> list[str]:
    """Return the variables of an export of Stretto's that are in force."""
    marked = environ.get(mark_of(family), "").split()
    found = {
        n
        for n in settable(family)
        if n in environ and (n in marked or _FILES.fullmatch(PurePath(environ[n]).name))
    }
    found |= {switch for name, switch in RULES.items() if name in found and switch in environ}
    return [n for n in settable(family) if n in found]


def forced(family: Family, environ: Mapping[str, str]) -> list[str]:
    """Return the other variables that force algorithms, or say who is asked for one.

    `environ`: of its launches. What Open MPI does not look at (an algorithm of coll/tuned without
    its dynamic rules) is left out.
    """
    ours = exported(family, environ)
    return sorted(
        n
        for n, value in environ.items()
        if n not in ours and value and _FORCING[family].fullmatch(n) and _counts(n, environ)
    )


def _counts(name: str, environ: Mapping[str, str]) -> bool:
    """Tell whether the MPI looks at a variable, and whether it says more than "as you like"."""
    algorithm = name.lower().endswith(("_algorithm", "_composition"))
    if algorithm and environ[name].lower() in ("0", "auto"):
        return False
    tuned = algorithm and name.startswith("OMPI_MCA_coll_tuned_")
    switch = RULES.get(name, DYNAMIC if tuned else None)
    return switch is None or environ.get(switch, "").lower() not in OFF
