"""Options that several commands have, each with one meaning (docs/reference/cli.md)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stretto.cli.complete import choices, collectives, files, mpis, platforms
from stretto.errors import UsageError

if TYPE_CHECKING:
    from stretto.tune.place import Place

#: groups of options in --help
WHAT, JOB, RUNS, METRIC = "Measurement", "Job", "Runs of CMD", "Metric"
COST, OUTPUT = "Cost", "Output"

#: how every option writes numbers of ranks and nodes (`stretto.measure.settings.parse_counts`)
COUNTS = "64, 2,4,8 or 2:128 (doubling)"
#: one size (`stretto.measure.settings.parse_size`)
SIZE = "8, 64K or 1M"
#: and sizes (`stretto.measure.settings.parse_sizes`)
SIZES = "8, 8:1M (doubling), 8:1M:4 or 8,1K,64K"


def option(panel: str, help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def finite(option: typer.CallbackParam, value: float | None) -> float | None:
    """Refuse NaN and infinity, which Typer's limits let by."""
    if value is not None and not math.isfinite(value):
        raise UsageError(f"{value} is not a valid number", option.opts[0], "write for example 1.5")
    return value


def new(value: Path | None) -> Path | None:
    """Refuse a file or directory to be written whose parent is missing."""
    if value is not None:
        from stretto.files.room import require_parent

        require_parent(value)
    return value


def new_file(value: Path | None) -> Path | None:
    """Refuse a file that could not be written, before anything is measured."""
    if value is not None:
        from stretto.files.room import require_place

        require_place(value)
    return value


CommandLine = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- CMD...",
        help="Your usual command, including its launcher: mpirun -n 64 ./app",
        show_default=False,
    ),
]

# -- what is measured
Collective = Annotated[
    str | None,
    option(
        WHAT,
        "Collectives: allreduce,bcast (default: all).",
        "--collective",
        "-c",
        autocompletion=collectives,
    ),
]
Sizes = Annotated[str, option(WHAT, f"Sizes in bytes: {SIZES}.", "--bytes")]
Candidates = Annotated[
    str | None,
    option(
        WHAT,
        "Choices to try: ring,shm or native:ring (default: all that fit).",
        autocompletion=choices,
    ),
]
Choice = Annotated[
    str | None,
    option(WHAT, "Choices for all sizes; they override the table: 'allreduce=shm;bcast=ring'."),
]
Seed = Annotated[int, option(WHAT, "Random seed.")]
SeparateLaunches = Annotated[
    bool,
    option(
        WHAT,
        "Use one launch for each native algorithm, even if several could share it.",
        "--separate-launches",
    ),
]

# -- where
Ranks = Annotated[int, option(JOB, "Number of ranks.", "--ranks", "-n", min=1)]
Ppn = Annotated[
    int | None,
    option(
        JOB,
        "Ranks per node (default: the launcher's; a Slurm job of several nodes needs it or "
        "--hosts).",
        min=1,
    ),
]
Hosts = Annotated[str | None, option(JOB, "Nodes: a,b,c.")]
Mpi = Annotated[
    str | None,
    option(JOB, "MPI: openmpi, mpich, intel, a launcher, or a prefix.", autocompletion=mpis),
]
ScriptMpi = Annotated[
    str | None,
    option(
        JOB,
        "MPI, if CMD is a script: openmpi, mpich, intel, or a launcher's path.",
        "--mpi",
        autocompletion=mpis,
    ),
]
PlatformName = Annotated[
    str,
    option(
        JOB,
        "Name or file of a platform (stretto platform list).",
        "--platform",
        "-p",
        autocompletion=platforms,
    ),
]
AppliedTable = Annotated[
    Path | None,
    option(
        JOB, "Table to apply (default: the one found for this job).", autocompletion=files(".table")
    ),
]
AppliedSettings = Annotated[
    Path | None,
    option(
        JOB,
        "Settings of the MPI to apply (default: those found for CMD).",
        autocompletion=files(".settings.json"),
    ),
]

# -- runs of CMD, again and again
MetricPattern = Annotated[
    str | None,
    option(
        METRIC,
        "Regular expression with one capture group; the last match in CMD's output is "
        "the metric (standard output before standard error).",
    ),
]
MetricBetter = Annotated[
    str | None,
    option(METRIC, "Which metric is better: lower (default) or higher. Required for rates (1/s)."),
]
MetricUnit = Annotated[str | None, option(METRIC, "Unit shown with the metric, e.g. steps/s.")]
Pairs = Annotated[
    int | None, option(RUNS, "Native and tuned runs of CMD, each (6; a test needs six).", min=0)
]
ResetCommand = Annotated[
    str | None, option(RUNS, "Command that restores the directory, instead of a fresh copy.")
]
InPlace = Annotated[
    bool, option(RUNS, "Run CMD in this directory instead of in fresh copies.", "--in-place")
]
Timeout = Annotated[
    str | None,
    option(
        RUNS, "Time limit of one run of CMD: 90s, 10m (default: 60 s + 10 times the first run)."
    ),
]
Ignore = Annotated[
    list[str] | None, option(RUNS, "Ignore matching lines (regular expression) of CMD's output.")
]
Compare = Annotated[
    list[str] | None, option(RUNS, "Compare only these files of CMD: '*.csv' (default: all).")
]
Verbose = Annotated[
    bool, option(RUNS, "Print which algorithm runs for each call, and why.", "--verbose", "-v")
]

# -- cost
Budget = Annotated[str | None, option(COST, "Time limit of the whole command: 90s, 10m, 1h.")]
Yes = Annotated[bool, option(COST, "Do not ask for confirmation.", "--yes", "-y")]
DryRun = Annotated[bool, option(COST, "Print the cost and run nothing.", "--dry-run")]
Restart = Annotated[bool, option(COST, "Start again instead of continuing.", "--restart")]
RestartFile = Annotated[
    bool, option(COST, "Start again; the old file becomes NAME.old.", "--restart")
]

# -- output
OutDirectory = Annotated[
    Path | None,
    option(OUTPUT, "Output directory (default: stretto-APP).", "--out", "-o", callback=new),
]
Json = Annotated[bool, option(OUTPUT, "Print JSON.", "--json")]
Svg = Annotated[Path | None, option(OUTPUT, "Directory for the charts as SVG.")]
Png = Annotated[Path | None, option(OUTPUT, "Directory for the charts as PNG.")]


def out_file(help: str, check: Callable[..., Any] | None = None) -> Any:
    """Return ``-o`` of a command; `check`: `new` or `new_file`, before it measures."""
    return option(OUTPUT, help, "--out", "-o", callback=check)


OutProfile = Annotated[
    Path | None,
    out_file(
        "Profile to write (default: PROGRAM.profile.json; if it exists, PROGRAM-2.profile.json).",
        new,
    ),
]


def sharing(common: Callable[..., None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of `common` as well; they arrive in its ``**given``.

    They come before its keyword-only options, and behind its others.
    """

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        shared = inspect.signature(common, eval_str=True).parameters
        own = inspect.signature(function, eval_str=True).parameters
        mine = [p for n, p in own.items() if n not in shared]
        before = [p for p in mine if p.kind == p.POSITIONAL_OR_KEYWORD]
        after = [p for p in mine if p.kind == p.KEYWORD_ONLY]
        options = [p.replace(kind=p.KEYWORD_ONLY) for p in (*before, *shared.values(), *after)]
        function.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        function.__annotations__ = {p.name: p.annotation for p in options}
        return function

    return take


def place_of(directory: Path, reset_command: str | None, in_place: bool) -> Place:
    """Return where CMD runs; refuse a directory that cannot hold its results."""
    from stretto.tune.place import COPIES, Place

    if reset_command is not None and in_place:
        raise UsageError("--reset-command and --in-place exclude each other", None, "take one")
    directory = directory.absolute()
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "--out", "name another")
    if directory.resolve() == Path.cwd().resolve():  # what lies in it would be taken for Stretto's
        raise UsageError(
            "the results directory must not contain files of the case", "--out",
            "give another directory, for example a new one",
        )  # fmt: skip
    return Place(Path.cwd(), directory / COPIES, reset_command, in_place)
