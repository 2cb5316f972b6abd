"""Options that several commands have."""

from __future__ import annotations

import math
from pathlib import Path
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

Budget = Annotated[str | None, typer.Option(help="Time for all of it: 90s, 10m, 1h.")]
Hosts = Annotated[str | None, typer.Option(help="Nodes: a,b,c.")]
Mpi = Annotated[str | None, typer.Option(help="openmpi, mpich, intel, a launcher, or a prefix.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the cost and measure nothing.")]
SeparateLaunches = Annotated[
    bool,
    typer.Option(
        "--separate-launches",
        help="One launch for each native:..., even where several could share one.",
    ),
]
AppliedTable = Annotated[
    Path | None, typer.Option(help="Table to apply; by default the one found for this job.")
]
AppliedSettings = Annotated[
    Path | None,
    typer.Option(help="Settings of the MPI to apply; by default those that were found for CMD."),
]
# of a command that is run again and again
MetricPattern = Annotated[
    str | None,
    typer.Option(
        help="Regular expression with one capture group; the last match in CMD's output is "
        "the metric (standard output before standard error)."
    ),
]
MetricBetter = Annotated[str, typer.Option(help="lower or higher.")]
MetricUnit = Annotated[str | None, typer.Option(help="Unit shown with the metric, e.g. steps/s.")]
ResetCommand = Annotated[
    str | None,
    typer.Option(help="Command that restores the directory, instead of a fresh copy."),
]
InPlace = Annotated[
    bool, typer.Option("--in-place", help="Run CMD in this directory instead of in fresh copies.")
]
Timeout = Annotated[
    str | None, typer.Option(help="Longest time of one run of CMD (60 s + 10 runs).")
]
RestartFile = Annotated[
    bool, typer.Option("--restart", help="Begin again; the old file becomes NAME.old.")
]
Svg = Annotated[Path | None, typer.Option(help="Directory for the charts as SVG.")]


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
