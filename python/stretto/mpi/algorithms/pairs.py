"""Settings of an MPI as candidates have them: ``NAME=VALUE,NAME=VALUE``."""

from __future__ import annotations

import re

from stretto.errors import UsageError

_BEGINS = re.compile(r"[A-Za-z_]\w*=")


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the names and values of settings, in their order.

    What does not begin with ``NAME=`` belongs to the value before it: lists of interfaces and
    components have commas (``btl=self,vader``). In front of all names it is one without a value.
    """
    out: list[tuple[str, str]] = []
    for part in text.split(","):
        name, _, value = part.partition("=")
        if _BEGINS.match(part) or not out:
            out.append((name, value))
        else:
            out[-1] = out[-1][0], f"{out[-1][1]},{part}"
    return out


def settings_environment(family: str, text: str) -> dict[str, str]:
    """Return the variables for a candidate ``native:NAME=VALUE,...``.

    `family`: of the MPI: Open MPI's parameters are set as ``OMPI_MCA_NAME``, the others' by their
    names.
    """
    if not _BEGINS.match(text):
        first = text.partition(",")[0]
        raise UsageError(f"{first!r} is not NAME=VALUE", "--candidates", "write native:NAME=VALUE")
    out = {}
    for name, value in pairs_of(text):
        if family == "openmpi" and not name.startswith("OMPI_"):
            name = f"OMPI_MCA_{name}"
            if name.startswith("OMPI_MCA_coll_tuned_"):
                out["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
        out[name] = value
    return out


def job_words(text: str) -> str:
    """Return how a job gets the settings of ``native:TEXT``: launcher options, or variables.

    Open MPI's are options of mpirun, those of the others variables in front of it.
    """
    if not re.match(r"(OMPI_MCA_)?[a-z]+_[a-z]", text):
        return " ".join(f"{name}={value}" for name, value in pairs_of(text))
    names = settings_environment("openmpi", text)
    return " ".join(f"--mca {n.removeprefix('OMPI_MCA_')} {v}" for n, v in sorted(names.items()))
