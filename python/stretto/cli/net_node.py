"""``stretto net node``: what a flag and a copy take between the cores of this node."""

from __future__ import annotations

import sys
from dataclasses import asdict
from errno import errorcode
from pathlib import Path
from typing import Annotated

from stretto.check.facts import collect_facts
from stretto.check.machine import cma_refusal
from stretto.cli import options as o
from stretto.counted import counted, duration
from stretto.errors import UsageError
from stretto.files.identity import collect_host, now
from stretto.files.net import CorePair, NetFile, NodeCore, NodeCores, write_net
from stretto.files.schema import encode
from stretto.measure.settings import parse_sizes
from stretto.net.cores import (
    chosen,
    cores_answer,
    cores_findings,
    cores_page,
    expected_cores_s,
    measure_cores,
    read_cores,
)
from stretto.output import print_json, say
from stretto.progress import Progress
from stretto.version import __version__

EXAMPLE = """\
stretto net node                          # some pairs of each class
stretto net node --all-pairs              # every pair of cores
srun -N 1 stretto net node -o node.net.json"""

_SIZES, _SIZES_OF_ALL, _MOST_BYTES = "64K,1M,32M", "64K", 1 << 30

_Bytes = Annotated[
    str | None,
    o.option(o.WHAT, f"Sizes of copies in bytes: {o.SIZES}. Default: {_SIZES}; with --all-pairs "
             f"{_SIZES_OF_ALL}.", "--bytes"),
]  # fmt: skip
_All = Annotated[bool, o.option(o.WHAT, "Measure every pair of cores.", "--all-pairs")]
_Pairs = Annotated[
    int, o.option(o.WHAT, "Pairs of each class, at least one of each two NUMA domains.", min=1)
]
_Runs = Annotated[
    int, o.option(o.RUNS, "Runs of each pair; below 6 no comparison is tested.", min=1, max=100)
]
_Out = Annotated[Path | None, o.option(o.OUTPUT, "File to write (NAME.net.json).", "--out", "-o")]


def command(
    sizes: _Bytes = None,
    all_pairs: _All = False,
    pairs: _Pairs = 6,
    runs: _Runs = 6,
    out: _Out = None,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Measure between the cores of this node: flag latency and copies, without an MPI.

    Pairs of cores are classed by what they share: core, last-level cache, NUMA domain, socket.
    Copies go through shared memory, by CMA and by XPMEM where they work. It needs no root.

    Parameters
    ----------
    sizes, all_pairs, pairs, runs, out, dry_run, as_json
        See the help text.
    """
    lengths = parse_sizes(sizes or (_SIZES_OF_ALL if all_pairs else _SIZES))
    if not all(1 <= size <= _MOST_BYTES for size in lengths) or len(lengths) > 16:
        raise UsageError("at most 16 sizes of 1 B to 1 GiB can be measured", "--bytes", _SIZES)
    cores = read_cores()
    wanted = chosen(cores, pairs, all_pairs)
    if not wanted:
        raise UsageError(
            "this process may use one core only", "the affinity of this process",
            "allow it two: taskset -c 0,1, srun -c 2, docker --cpuset-cpus 0,1",
        )  # fmt: skip
    cost = expected_cores_s(len(wanted), lengths, runs)
    if dry_run or cost > 10:
        say(f"stretto: {counted(len(wanted), 'pair')} of {counted(len(cores), 'hardware thread')}, "
            f"{counted(runs, 'run')} each: about {duration(cost)}")  # fmt: skip
    if dry_run:
        return
    with Progress("measuring between cores", len(wanted) * runs) as bar:
        found, errors = measure_cores(wanted, lengths, runs, bar.advance)
    node = _node(cores, found, errors)
    result = NetFile(
        __version__, now(), collect_host(), sys.argv[1:], 0, 0, None, [], cores=node
    )  # fmt: skip
    if out is not None:
        write_net(result, out)
    if as_json:
        print_json(
            {
                "answer": list(cores_answer(node)),
                "findings": [asdict(finding) for finding in cores_findings(node)],
                "file": None if out is None else str(out),
                **encode(result),
            }
        )
        return
    print("\n".join(cores_page(node)))
    if out is not None:
        print(f"file: {out}")


def _node(cores: list[NodeCore], found: list[CorePair], errors: tuple[int, int]) -> NodeCores:
    """Return the result, with the reasons why CMA and XPMEM do not work."""
    refused, strict = errors
    reason, remedy = cma_refusal(collect_facts()) if refused else ("", "")
    xpmem = any(copy.way == "xpmem" for pair in found for copy in pair.copies)
    module = Path("/dev/xpmem").exists()
    return NodeCores(
        cores, found,
        f"{reason} (errno {errorcode.get(refused, refused)})" if refused else "", remedy,
        bool(strict) and not refused,
        "" if xpmem else "no usable library (libxpmem.so.0 of version 2.2 or later)" if module
        else "no kernel module (/dev/xpmem)",
    )  # fmt: skip
