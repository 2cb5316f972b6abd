"""``stretto bundle``: what a maintainer needs from a report of a fault, in one archive."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli import options as o
from stretto.cli.complete import files
from stretto.cli.lazy import lazily
from stretto.errors import StrettoError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.check import bundle

EXAMPLE = """\
stretto bundle
stretto bundle stretto-app/app.bench.jsonl job.log -o fault.tar.gz
stretto bundle --dry-run                     # only the list"""

CONTEXT = {"allow_interspersed_args": True}


def command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Results, tables and logs to add, unchanged.",
            autocompletion=files(""),
        ),
    ] = None,
    out: Annotated[
        Path | None, o.out_file("The archive (default: stretto-bundle-TIME.tar.gz).")
    ] = None,
    yes: o.Yes = False,
    dry_run: Annotated[
        bool, o.option(o.COST, "Print the list and write nothing.", "--dry-run")
    ] = False,
    as_json: o.Json = False,
) -> None:
    """Collect files for a bug report.

    The archive has versions, the MPIs on this machine, the findings of `stretto check`, variables
    of MPI, network and Stretto, the last tracebacks of Stretto, and the files that you name. The
    list is printed before anything is written. Only environment variables with a listed prefix are
    included, and none with a name like TOKEN or PASSWORD. User name, home directory and host name
    are replaced.
    """
    path = out or Path(bundle.default_name())
    if path.exists():
        raise StrettoError("this file already exists", path, "name another one: -o")
    with Progress("collecting"):
        items = bundle.collect(paths or [], os.environ)
    if not as_json:
        for item in items:
            print(f"{len(item.data):9d} bytes  {item.name}  ({item.origin})")
    if not dry_run:
        if not yes and sys.stdin.isatty() and sys.stderr.isatty():
            typer.confirm(f"stretto: write {path}?", default=True, abort=True, err=True)
        bundle.write(items, path)
    if as_json:
        listed = [{"name": i.name, "bytes": len(i.data), "origin": i.origin} for i in items]
        print_json({"file": None if dry_run else str(path), "items": listed})
    elif not dry_run:
        say(f"stretto: {path} is written; look into it before you send it: tar -xzf {path}")
