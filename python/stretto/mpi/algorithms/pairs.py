"""Settings of an MPI as candidates have them: ``NAME=VALUE,NAME=VALUE``."""

from __future__ import annotations

import re

_BEGINS = re.compile(r"[A-Za-z_]\w*=")


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the names and values of settings, in their order.

    What does not begin with ``NAME=`` belongs to the value before it: lists of interfaces and
    components have commas (``btl=self,vader``). In front of all names it is one without a value.

    Parameters
    ----------
    text
        What follows ``native:``.
    """
    out: list[tuple[str, str]] = []
    for part in text.split(","):
        name, _, value = part.partition("=")
        if _BEGINS.match(part) or not out:
            out.append((name, value))
        else:
            out[-1] = out[-1][0], f"{out[-1][1]},{part}"
    return out
