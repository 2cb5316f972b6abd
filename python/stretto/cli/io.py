"""``stretto io``: what ways to read or write a file take on the file system at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.errors import UsageError
from stretto.output import print_json, say

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
_Write = Annotated[bool, o.option(o.WHAT, "Measure writing, too.", "--write")]
_Launches = Annotated[
    int, o.option(o.RUNS, "Repeated launches (an interval needs six).", min=1, max=100)
]
_Out = Annotated[Path | None, o.option(o.OUTPUT, "File to write (NAME.io.json).", "--out", "-o")]
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
    launches: _Launches = 6,
    out: _Out = None,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Measure ways to read a file: all ranks, one rank and MPI_Bcast, collective MPI-IO.

    The file is taken out of the page caches of the nodes before each reading, where it is your own.

    Parameters
    ----------
    ranks, ppn, hosts, mpi, file, directory, size, write, launches, out, dry_run, as_json
        See the help text.
    """
    from stretto.counted import counted, duration
    from stretto.files.identity import collect_host, now
    from stretto.files.schema import encode
    from stretto.files.storage import IoFile, write_io
    from stretto.measure.request import where
    from stretto.measure.settings import parse_size
    from stretto.progress import Progress
    from stretto.storage.measure import (
        READ,
        WRITE,
        collected,
        expected_s,
        measure,
        target_of,
        variables,
    )  # fmt: skip
    from stretto.storage.show import answer, cache_words, change_lines, page
    from stretto.version import __version__

    if file is not None and (directory is not None or size is not None or write):
        raise UsageError(
            "--file is read as it is, without --dir, --bytes and --write", "--file",
            "to measure writing: --dir DIRECTORY --bytes SIZE --write",
        )  # fmt: skip
    place = where(ranks, ppn, hosts, mpi)
    target = target_of(file, directory, max(parse_size(size or "256M", _MOST), 1))
    ways = [*READ, *(WRITE if write else ())]
    cost = expected_s(target, place, ways, launches)
    if dry_run or cost > 10:
        say(f"stretto: {counted(len(ways), 'way')}, {counted(launches, 'launch')}: about "
            f"{duration(cost)} at 1 GB/s")  # fmt: skip
    if dry_run:
        return
    with Progress("reading and writing", cost) as bar:
        found = measure(
            place, target, ways, launches, lambda text, done: bar.update(done * cost, text)
        )
    if any(launch.cut for launch in found):
        remedy = "use a smaller --bytes" if target.made else "use a smaller file"
        say(f"stretto: a launch reached its time limit before all ways were measured: {remedy}")
    result = IoFile(
        __version__, now(), collect_host(), sys.argv[1:], place.installation.identity,
        list(found[0].hosts), str(target.path), target.made, found[0].own, found[0].bytes,
        found[0].system, variables(), collected(found, ways),
    )  # fmt: skip
    if out is not None:
        write_io(result, out)
    if as_json:
        print_json(
            {"answer": answer(result), "changes": list(change_lines(result)),
             "cache": cache_words(result), "file": None if out is None else str(out),
             **encode(result)}
        )  # fmt: skip
    else:
        print("\n".join(page(result)))
        if out is not None:
            print(f"file: {out}")
