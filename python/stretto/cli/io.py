"""``stretto io``: what ways to read or write a file take on the file system at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.measured import IoOut, Launches, announce, busy_notes, finish
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.output import say
from stretto.progress import Progress
from stretto.version import __version__

with lazily():
    from stretto.files.identity import collect_host, now
    from stretto.files.storage import IoFile, write_io
    from stretto.measure.request import where
    from stretto.measure.settings import parse_size
    from stretto.storage.measure import (
        READ,
        WRITE,
        collected,
        expected_s,
        measure,
        target_of,
        variables,
    )
    from stretto.storage.show import as_json as encoded
    from stretto.storage.show import page

EXAMPLE = """\
stretto io -n 64 --ppn 32 --file input.nc          # a file that the job reads
stretto io -n 64 --ppn 32 --dir /scratch --bytes 2G
stretto io -n 64 --ppn 32 --dir /scratch --bytes 2G --write"""

_File = Annotated[
    Path | None, o.option(o.WHAT, "File to read (nothing is written to it).", "--file")
]
_Dir = Annotated[
    Path | None,
    o.option(o.WHAT, "Directory for a file of --bytes, removed at the end (default: here).",
             "--dir"),
]  # fmt: skip
_Bytes = Annotated[
    str | None, o.option(o.WHAT, f"Size of the file that is made: {o.SIZE} (256M).", "--bytes")
]
_Write = Annotated[bool, o.option(o.WHAT, "Also measure writing.", "--write")]
#: of one file
_MOST = 1 << 44


def command(
    ranks: o.Ranks = 2,
    ppn: o.Ppn = None,
    hosts: o.Hosts = None,
    mpi: o.Mpi = None,
    file: _File = None,
    directory: _Dir = None,
    size: _Bytes = None,
    write: _Write = False,
    launches: Launches = 6,
    out: IoOut = None,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Measure ways to read a file: all ranks, one rank and MPI_Bcast, collective MPI-IO.

    The file is taken out of the page caches of the nodes before each reading, where it is your own.
    """
    if file is not None and (directory is not None or size is not None or write):
        raise UsageError(
            "--file excludes --dir, --bytes and --write", "--file",
            "to measure writing: --dir DIRECTORY --bytes SIZE --write",
        )  # fmt: skip
    place = where(ranks, ppn, hosts, mpi)
    target = target_of(file, directory, max(parse_size(size or "256M", _MOST), 1))
    ways = [*READ, *(WRITE if write else ())]
    cost = expected_s(target, place, ways, launches)
    number = f"{counted(len(ways), 'way')}, {counted(launches, 'launch')}"
    if not announce(number, cost, " at 1 GB/s", dry_run=dry_run, as_json=as_json):
        return
    notes = busy_notes()
    with Progress("reading and writing", cost, unit="s") as bar:
        found = measure(
            place, target, ways, launches, lambda text, done: bar.update(done * cost, text)
        )
    if any(launch.cut for launch in found):
        remedy = "use a smaller --bytes" if target.made else "use a smaller file"
        say(f"stretto: a launch reached its time limit before all methods were measured: {remedy}")
    result = IoFile(
        __version__, now(), collect_host(), sys.argv[1:], place.installation.identity,
        list(found[0].hosts), str(target.path), target.made, found[0].own, found[0].bytes,
        found[0].system, variables(), collected(found, ways), notes,
    )  # fmt: skip
    finish(result, write_io, encoded, page, out, as_json)
