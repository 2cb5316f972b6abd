"""Sets of forced choices that together run everything the registry offers."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))  # where not installed

from stretto.plan import choices, collectives


def sets(nranks: int, nodes: int = 1) -> list[str]:
    """Return values of STRETTO_CHOICE: set i names the i-th choice of every collective.

    Parameters
    ----------
    nranks, nodes
        Of the world; the choices are those that `stretto tune` would try there. Collectives with
        fewer choices than others begin again.
    """
    offered = {c: choices(c, nranks, nodes) for c in collectives()}
    offered = {c: names for c, names in offered.items() if names}
    most = max(len(names) for names in offered.values())
    return [
        ";".join(f"{c}={names[i % len(names)]}" for c, names in offered.items())
        for i in range(most)
    ]
