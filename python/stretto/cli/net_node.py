"""``stretto net node``: what a flag and a copy take between the cores of this node."""

from __future__ import annotations

from dataclasses import asdict
from errno import errorcode
from pathlib import Path
from typing import Annotated, Any

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.measured import NetOut, announce, busy_notes, finish, net_file
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.progress import Progress

with lazily():
    from stretto.check.facts import collect_facts
    from stretto.check.machine import cma_refusal
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


def command(
    sizes: _Bytes = None,
    all_pairs: _All = False,
    pairs: _Pairs = 6,
    runs: _Runs = 6,
    out: NetOut = None,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Measure between the cores of this node: flag latency and copies, without an MPI.

    Pairs of cores are grouped by what they share: core, last-level cache, NUMA domain, socket.
    Copies use shared memory and, where available, CMA and XPMEM. Root is not needed.
    """
    lengths = parse_sizes(sizes or (_SIZES_OF_ALL if all_pairs else _SIZES))
    if not all(1 <= size <= _MOST_BYTES for size in lengths) or len(lengths) > 16:
        raise UsageError("at most 16 sizes of 1 B to 1 GiB can be measured", "--bytes", _SIZES)
    cores = read_cores()
    wanted = chosen(cores, pairs, all_pairs)
    if not wanted:
        raise UsageError(
            "this process may use only one core", "the affinity of this process",
            "allow two: taskset -c 0,1, srun -c 2, docker --cpuset-cpus 0,1",
        )  # fmt: skip
    cost = expected_cores_s(len(wanted), lengths, runs)
    number = f"{counted(len(wanted), 'pair')} of {counted(len(cores), 'hardware thread')}"
    number += f", {counted(runs, 'run')} each"
    if not announce(number, cost, dry_run=dry_run, as_json=as_json):
        return
    notes = busy_notes()
    with Progress("measuring between cores", len(wanted) * runs, unit="measurements") as bar:
        found, errors = measure_cores(wanted, lengths, runs, bar.advance)
    node = _node(cores, found, errors)
    result = net_file(cores=node, notes=notes)
    finish(result, write_net, _document, lambda _: cores_page(node), out, as_json)


def _document(result: NetFile, file: str | None) -> dict[str, Any]:
    assert result.cores is not None
    return {
        "answer": list(cores_answer(result.cores)),
        "findings": [asdict(finding) for finding in cores_findings(result.cores)],
        "file": file,
        **encode(result),
    }


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
