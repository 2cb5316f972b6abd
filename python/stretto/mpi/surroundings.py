"""What of the environment decides how fast an MPI is: it belongs to what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stretto.kinds import Family

_NETWORK = r"UCX_\w+|FI_\w+"
#: names of variables that choose transports, their limits, or algorithms; launchers' are none
_DECIDING: dict[Family, str] = {
    "openmpi": rf"OMPI_MCA_(btl|pml|mtl|coll|bml|osc|smsc|opal_common|mpi)(_\w+)?|{_NETWORK}",
    "mpich": rf"MPIR_CVAR_\w+|MPICH_\w+|{_NETWORK}",
    "intel": rf"I_MPI_(FABRICS|OFI|ADJUST|TUNING|SHM|MULTIRAIL|COLL|THREAD)\w*|{_NETWORK}",
}
#: what they say, and how much of it
_TALK = re.compile(r"(?i)(^|_)(verbose|debug|log|print|show|help|stats|warn)")
#: names of all variables of an MPI, its launcher and its network libraries
_OWN: dict[Family, str] = {
    "openmpi": rf"(OMPI|PRTE)_MCA_\w+|{_NETWORK}",
    "mpich": rf"(MPIR_CVAR|MPICH|MV2|MVP)_\w+|{_NETWORK}",
    "intel": rf"(I_MPI|MPIR_CVAR)_\w+|{_NETWORK}",
}
#: they say where something is installed, or how the launcher reaches nodes
_PLACE = re.compile(
    r"_(ROOT|PATH|TMPDIR|HOME)$|_(mca_base_component_path|tmpdir_base)$|_MCA_(plm|oob|routed)_"
)


def deciding(family: Family, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that decide how fast an MPI is, by name."""
    name = re.compile(_DECIDING[family])
    return {n: v for n, v in sorted(environ.items()) if name.fullmatch(n) and not _TALK.search(n)}


def set_for(family: Family, environ: Mapping[str, str]) -> dict[str, str]:
    """Return all variables of the MPI, its launcher and its network libraries that are set."""
    name = re.compile(_OWN[family])
    return {
        n: v
        for n, v in sorted(environ.items())
        if name.fullmatch(n) and not _TALK.search(n) and not _PLACE.search(n)
    }


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return in what two of them differ, in words; None: in nothing."""
    out = [
        f"{n}={before[n]}" if n not in now else f"no {n}" if n not in before else
        f"{n}={before[n]} and not {now[n]}"
        for n in sorted({*before, *now})
        if before.get(n) != now.get(n)
    ]  # fmt: skip
    return ", ".join(out) or None
