"""Options that several commands have."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from stretto.errors import UsageError

CommandLine = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- CMD...",
        help="The command as you would type it, the launcher included: mpirun -n 64 ./app",
        show_default=False,
    ),
]


def finite(option: typer.CallbackParam, value: float | None) -> float | None:
    """Refuse an option's value that is no number, or has no end: Typer's limits let NaN by.

    Parameters
    ----------
    option, value
        As Typer gives them.
    """
    if value is not None and not math.isfinite(value):
        raise UsageError(f"{value} is no number to go by", option.opts[0], "write for example 1.5")
    return value
