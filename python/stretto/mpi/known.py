"""Whether an MPI knows a setting: a misspelt one changes nothing, and would be measured as the MPI.

No MPI says a word of an unknown variable in its environment. Its own list (MPI_T) tells them, as
far as it goes: Open MPI lists what the components that this machine has opened take, and not what
the launcher alone takes; MPICH all of its ``MPIR_CVAR_*``; Intel MPI few of its ``I_MPI_*``, but
all names stand in its files.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Mapping
from functools import lru_cache

from stretto.errors import StrettoError, UsageError
from stretto.mpi.base import MPIInstallation
from stretto.mpi.settings.memory import OF_MALLOC
from stretto.mpi.variables import Variable, control_variables

#: of mpirun, which lists none: names that begin so may exist
_LAUNCHER = ("prte", "pmix", "orte", "plm", "rmaps", "ras", "oob", "rml", "routed", "ess", "odls",
             "grpcomm", "schizo", "filem", "iof", "errmgr", "hwloc", "if", "mca")  # fmt: skip
_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|\d+(\.\d*)?)\s*[kKmMgGtT]?[bB]?")
_WHOLE = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_TRUTHS = ("true", "false", "yes", "no", "t", "f", "y", "n", "enabled", "disabled", "0", "1")


def check_settings(
    installation: MPIInstallation, environment: Mapping[str, str], place: str
) -> list[str]:
    """Refuse settings that the MPI does not know; return a sentence for what cannot be told."""
    known = _known(installation)
    if known is None:
        return []
    doubts = []
    for name, value in environment.items():
        plain = name.removeprefix("OMPI_MCA_") if installation.family == "openmpi" else name
        if plain in known:
            _check_value(installation, known[plain], value, place)
        elif plain in _written(installation) or name in OF_MALLOC:
            continue
        elif _must_be_listed(installation, name, plain, known):
            near = difflib.get_close_matches(plain, known, 1, 0.6)
            raise UsageError(
                f"{installation.name} knows no setting {plain!r}: it changes nothing",
                place,
                f"did you mean {near[0]!r}?" if near else "correct the name",
            )
        elif installation.family != "openmpi" or name.startswith("OMPI_MCA_"):
            other = near_name(installation, name)
            doubts.append(
                f"{installation.name} does not list {plain}"
                + (f" (it has {other})" if other else "")
                + ": if unknown, it has no effect"
            )
    return doubts


def near_name(installation: MPIInstallation, name: str) -> str | None:
    """Return a name that the MPI has and that a variable's name differs little from, if any."""
    plain = name.removeprefix("OMPI_MCA_") if installation.family == "openmpi" else name
    names = {*(_known(installation) or ()), *_written(installation)}
    return next(iter(difflib.get_close_matches(plain, sorted(names), 1, 0.9)), None)


@lru_cache(maxsize=16)
def _written(installation: MPIInstallation) -> frozenset[str]:
    """Return the names of settings that stand in the files of Intel MPI.

    One that ends in an underscore is the beginning of others, and no setting.
    """
    if installation.family != "intel":
        return frozenset()
    tools = ("mpirun", "mpiexec.hydra", "hydra_pmi_proxy")
    found: set[str] = set()
    for path in (installation.libmpi, *(installation.prefix / "bin" / tool for tool in tools)):
        with contextlib.suppress(OSError):
            data = path.read_bytes() if path is not None else b""
            found |= {name.decode() for name in re.findall(rb"\bI_MPI_[A-Z0-9_]+", data)}
    return frozenset(name for name in found if not name.endswith("_"))


@lru_cache(maxsize=16)
def _known(installation: MPIInstallation) -> dict[str, Variable] | None:
    try:
        return control_variables(installation) or None
    except StrettoError:
        return None  # it cannot be asked: what is given is taken


def _must_be_listed(
    installation: MPIInstallation, name: str, plain: str, known: Mapping[str, Variable]
) -> bool:
    """Return whether the MPI would list a setting of this name if it had it."""
    if installation.family == "mpich":
        return name.startswith("MPIR_CVAR_")
    if installation.family != "openmpi" or not name.startswith("OMPI_MCA_"):
        return False
    framework, _, rest = plain.partition("_")
    if framework in _LAUNCHER:
        return False
    if framework not in {k.partition("_")[0] for k in known}:
        return True
    component = f"{framework}_{rest.partition('_')[0]}_"
    # of a component that was not opened here, the nodes may have more
    return any(k.startswith(component) for k in known)


def _whole(value: str) -> int | None:
    """Return the whole number that a value stands for (``64k``, ``0x8``), None for others."""
    found = _WHOLE.fullmatch(value)
    if found is None:
        return None
    sign, digits, unit = found.groups()
    number = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    return (-number if sign == "-" else number) << 10 * " kmgt".index(unit.lower() or " ")


def _check_value(installation: MPIInstallation, variable: Variable, value: str, place: str) -> None:
    amount = _whole(value)
    if variable.limits is not None and not variable.items and amount is not None:
        low, high = variable.limits
        if not low <= amount <= high:
            raise UsageError(
                f"{variable.name} accepts integers from {low} to {high}, not {value!r}: "
                "the MPI would change it",
                place,
                "correct the value",
            )
    if installation.family != "openmpi" or variable.text:
        return  # MPICH has words for numbers that it does not list, and refuses others itself
    names = {item for _, item in variable.items}
    if not names:
        if not _NUMBER.fullmatch(value) and value.lower() not in _TRUTHS:
            raise UsageError(
                f"{variable.name} takes a number, and {value!r} is not one",
                place,
                "correct the value",
            )
        return
    numbers = [number for number, _ in variable.items]
    truths = names <= set(_TRUTHS)
    flags = not truths and all(n > 0 and n & (n - 1) == 0 for n in numbers)  # sums of them, too
    number = int(value) if re.fullmatch(r"-?\d+", value) else None
    fits = number in numbers or (flags and number is not None and 0 <= number <= sum(numbers))
    truth = truths and (number is not None or value.lower() in _TRUTHS)
    if value not in names and not truth and not fits:
        listed = ", ".join(f"{n} ({item})" for n, item in variable.items)
        raise UsageError(f"{variable.name} has no value {value!r}", place, f"there are {listed}")
