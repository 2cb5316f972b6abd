"""What `net` and `io` have in common: one file is measured, written and shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.counted import duration
from stretto.errors import StrettoError, UsageError
from stretto.output import print_json, say
from stretto.version import __version__

with lazily():
    from stretto.files.identity import collect_host, now
    from stretto.files.net import NetFile
    from stretto.measure.idle import idle_warning
    from stretto.mpi.base import MPIInstallation
    from stretto.mpi.surroundings import set_for

T = TypeVar("T")

Launches = Annotated[
    int, o.option(o.RUNS, "Repeated launches (an interval needs six).", min=1, max=100)
]
NetOut = Annotated[Path | None, o.out_file("File to write (NAME.net.json).", o.new_file)]
IoOut = Annotated[Path | None, o.out_file("File to write (NAME.io.json).", o.new_file)]


def announce(words: str, seconds: float, rate: str = "", *, dry_run: bool, as_json: bool) -> bool:
    """Say what is measured, if it takes long or is all that is wanted: then False."""
    if dry_run or seconds > 10:
        say(f"stretto: {words}: about {duration(seconds)}{rate}")
    if dry_run and as_json:
        print_json({"dry_run": True, "cost_s": round(seconds, 1)})
    return not dry_run


def refuse_odd(ranks: int) -> None:
    """Refuse ranks of which one has no partner: the pairs would not be between two nodes."""
    if ranks % 2 and ranks > 1:
        raise UsageError(
            f"{ranks} ranks cannot form pairs", "-n", f"use an even number: -n {ranks + 1}"
        )


def busy_notes() -> list[str]:
    """Return the warning of a busy machine, and print it."""
    return warned(idle_warning())


def warned(*notes: str | None) -> list[str]:
    found = [note for note in notes if note is not None]
    for note in found:
        say(f"stretto: warning: {note}")
    return found


def net_file(mpi: MPIInstallation | None = None, **parts: Any) -> NetFile:
    """Return a result of this call without an exchange of TCP; `mpi`: that was measured."""
    environment = {} if mpi is None else set_for(mpi.identity.family, os.environ)
    return NetFile(
        __version__, now(), collect_host(), sys.argv[1:], 0, 0, None, [],
        environment=environment, **parts,
    )  # fmt: skip


def finish(
    result: T,
    write: Callable[[T, Path], object],
    document: Callable[[T, str | None], dict[str, Any]],
    page: Callable[[T], Iterable[str]],
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a result where that is asked for, and print it, also where it cannot be written."""
    failed = None
    if out is not None:
        try:
            write(result, out)
        except StrettoError as error:
            failed, out = error, None
    if as_json:
        print_json(document(result, None if out is None else str(out)))
    else:
        print("\n".join(page(result)))
        if out is not None:
            print(f"file: {out}")
    if failed is not None:
        raise failed
