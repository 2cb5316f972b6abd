"""What ``stretto run`` does once its options are understood; nothing here takes long to load."""

from __future__ import annotations

import os

from stretto.cli.apply import applied_to
from stretto.errors import EXIT_COMMAND, StrettoError, from_oserror
from stretto.launch.inject import prepare, with_settings
from stretto.launch.job import Job, understand
from stretto.launch.naming import learned_table
from stretto.light import TYPE_CHECKING, replace
from stretto.output import say
from stretto.paths import Path
from stretto.signals import unignore

if TYPE_CHECKING:
    from collections.abc import Sequence


def start(
    words: Sequence[str],
    table: Path | str | None = None,
    choice: str | None = None,
    settings: Path | str | None = None,
    mpi: str | None = None,
    verbose: bool = False,
    learn: bool = False,
    out: Path | None = None,
    fixed: bool = False,
) -> None:
    """Become the command, with what applies to it.

    `learn`, `out`, `fixed`: learning while it runs, the table that this leaves, and with the order
    of sums kept.
    """
    job = understand(words, mpi=mpi)
    if learn:
        job = _learning(job, out, fixed)
    for note in job.notes:
        say(f"stretto: note: {note}")
    files = [None if name is None else Path(name) for name in (table, settings)]
    applied = applied_to(job, files[0], choice, verbose, files[1])
    if applied.libraries and job.between:
        say(
            f"stretto: requested: {applied.words}; {', '.join(job.between)} may prevent it from "
            "reaching the ranks (--verbose prints which algorithm runs)"
        )
    else:
        say(f"stretto: {applied.words}")
    if learn and applied.libraries:  # the program may have redirected it: WRF to rsl.error.0000
        table_out = out or learned_table(job)
        say(
            "stretto: at the end rank 0 prints to its standard error what was learned, and writes "
            f"{table_out}"
        )
    job = with_settings(job, applied.settings)
    argv, environ = prepare(job, applied.libraries, applied.variables)
    execute(argv, environ)


def _learning(job: Job, out: Path | None, fixed: bool) -> Job:
    """Return the job with the variables by which the library learns."""
    path = job.cwd / (out or learned_table(job))
    try:
        os.makedirs(path.parent, exist_ok=True)  # noqa: PTH103
    except OSError as error:
        raise from_oserror(error, "cannot make the directory", path.parent) from error
    more = {"STRETTO_LEARN": "1", "STRETTO_LEARN_TABLE": str(path)}
    if fixed:
        more["STRETTO_REPRODUCIBLE"] = "1"
    return replace(job, environ={**job.environ, **more})


def execute(argv: list[str], environ: dict[str, str]) -> None:
    """Become the command: its exit code, its terminal, its signals."""
    unignore()
    try:
        os.execvpe(argv[0], argv, environ)
    except OSError as error:
        raise StrettoError(
            f"the command cannot be started: {error.strerror}",
            argv[0],
            "check its name, its permissions and PATH (`time` is a word of the shell)",
            EXIT_COMMAND,
        ) from error
