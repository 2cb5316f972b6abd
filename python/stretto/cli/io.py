"""``stretto io``: what ways to read or write a file take on the file system at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.measured import IoOut, Launches, announce, busy_notes, finish
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.output import print_json, say
from stretto.progress import Progress
from stretto.version import __version__

with lazily():
    from stretto.files.identity import collect_host, now
    from stretto.files.storage import IoFile, write_io
    from stretto.measure.request import Where, where
    from stretto.measure.settings import parse_counts, parse_size
    from stretto.storage.compare import ENDING, compared, lines, results
    from stretto.storage.compare import as_json as compared_json
    from stretto.storage.measure import (
        READ,
        WRITE,
        Target,
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
stretto io -n 64 --ppn 32 --dir /scratch --bytes 2G --write
stretto io -n 16:256 --ppn 16 --file input.nc -o input.io.json   # input-16.io.json, ..."""

_Ranks = Annotated[
    str,
    o.option(
        o.JOB, f"Number of ranks, or several with a result for each: {o.COUNTS}.", "--ranks", "-n"
    ),
]

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
    ranks: _Ranks = "2",
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

    Before each read, the nodes drop the file from their page caches if you own it. Several
    numbers of ranks are measured one after the other and compared. Each has a result,
    NAME-RANKS.io.json.
    """
    if file is not None and (directory is not None or size is not None or write):
        raise UsageError(
            "--file excludes --dir, --bytes and --write", "--file",
            "to measure writing: --dir DIRECTORY --bytes SIZE --write",
        )  # fmt: skip
    places = [where(n, ppn, hosts, mpi) for n in dict.fromkeys(parse_counts(ranks, "--ranks"))]
    if len(places) > 1 and out is None and not dry_run:
        raise UsageError(
            "several numbers of ranks make several results", "--ranks",
            "add a name for their files: -o NAME.io.json",
        )  # fmt: skip
    target = target_of(file, directory, max(parse_size(size or "256M", _MOST), 1))
    ways = [*READ, *(WRITE if write else ())]
    costs = [expected_s(target, place, ways, launches) for place in places]
    cost = sum(costs)
    number = f"{counted(len(ways), 'way')}, {counted(launches, 'launch')}"
    if len(places) > 1:
        number += f", {len(places)} numbers of ranks"
    if not announce(number, cost, " at 1 GB/s", dry_run=dry_run, as_json=as_json):
        return
    notes = busy_notes()
    paths = []
    with Progress("reading and writing", cost, unit="s") as bar:
        for i, place in enumerate(places):

            def update(text: str, done: float, i: int = i) -> None:
                of = f"{counted(places[i].nranks, 'rank')}, " if len(places) > 1 else ""
                bar.update(sum(costs[:i]) + done * costs[i], of + text)

            result = _measured(place, target, ways, launches, notes, update)
            if len(places) > 1 and out is not None:
                stem = out.name.removesuffix(ENDING)
                paths.append(out.with_name(f"{stem}-{place.nranks}{ENDING}"))
                write_io(result, paths[-1])
    if not paths:
        finish(result, write_io, encoded, page, out, as_json)
        return
    found = compared(results(paths))
    if as_json:
        print_json(compared_json(found))
    else:
        print("\n".join([*lines(found), *(f"file: {path}" for path in paths)]))


def _measured(
    place: Where,
    target: Target,
    ways: Sequence[str],
    launches: int,
    notes: list[str],
    update: Callable[[str, float], None],
) -> IoFile:
    """Measure with one number of ranks."""
    found = measure(place, target, ways, launches, update)
    if any(launch.cut for launch in found):
        remedy = "use a smaller --bytes" if target.made else "use a smaller file"
        say(f"stretto: a launch reached its time limit before all methods were measured: {remedy}")
    return IoFile(
        __version__, now(), collect_host(), sys.argv[1:], place.installation.identity,
        list(found[0].hosts), str(target.path), target.made, found[0].own, found[0].bytes,
        found[0].system, variables(), collected(found, ways), notes,
    )  # fmt: skip
